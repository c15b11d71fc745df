# SPDX-License-Identifier: MIT
"""A trainer with memory in its log: figures of every step, each interval's own peak, and one snapshot for the viewer.

    python3 scripts/train.py configs/train/debug.toml

MetricsTracker reads the peak of the run so far and never resets it; DeviceMemoryMonitor.report() resets it, so that the
next line has the peak of its own interval.
"""

import logging
import sys
import tomllib

import stormlog
import torch
from stormlog.metrics import DeviceMemoryMonitor, MetricsTracker
from torch import nn


def build_model(config):
    sizes = [config["features"], *[config["hidden"]] * config["layers"]]
    layers = [layer for i in range(config["layers"]) for layer in (nn.Linear(sizes[i], sizes[i + 1]), nn.GELU())]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 1))


def main(path):
    with open(path, "rb") as file:
        config = tomllib.load(file)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu":
        torch.set_num_threads(1)
        stormlog.record(dir="stormlog-runs/train")  # PyTorch has no history of its own on the CPU
    model = build_model(config["model"]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["train"]["learning_rate"])
    metrics = config["metrics"]
    tracker = MetricsTracker(device=device, log_interval=metrics["log_interval"])
    monitor = DeviceMemoryMonitor(device=device, snapshot_step=metrics["snapshot_step"], snapshot_dir=metrics["snapshot_dir"])
    for step in range(config["train"]["steps"]):
        tracker.start_step()
        inputs = torch.randn(config["train"]["batch"], config["model"]["features"], device=device)
        loss = model(inputs).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tracker.end_step(step, loss.item(), float(norm), config["train"]["learning_rate"], len(inputs))
        if step % metrics["log_interval"] == 0:
            monitor.report(step)
    return 0 if monitor.snapshot_path else 1


if len(sys.argv) != 2:
    sys.exit("usage: train.py CONFIG.toml")
sys.exit(main(sys.argv[1]))
