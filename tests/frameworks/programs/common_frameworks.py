# SPDX-License-Identifier: MIT
"""What the trainings share: sizes, data, the deliberate leak, and how facts are reported."""

import gc
import json
import os
import sys

import torch

STEPS = 24
KEPT_BYTES = 1 << 20
MODE = sys.argv[1] if len(sys.argv) > 1 else "plain"
IS_USED = MODE == "use"  # through the integration; else nothing of stormlog is imported
LEAKS = os.environ.get("FRAMEWORK_LEAKS", "1") == "1"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

torch.manual_seed(0)
torch.set_num_threads(1)
_kept = []
_counters = {}


def keep_one(like):
    """What a training does by mistake: one MiB per step that nobody frees."""
    if LEAKS:
        _kept.append(torch.ones(KEPT_BYTES // 4, device=like.device))  # the leak


class Net(torch.nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width))
        self.head = torch.nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.body(x))


def dataset(count=STEPS * 8, width=64):
    x = torch.randn(count, width)
    return torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))


def note_counters(evidence=None):
    """torch's own counters where there is a card. As a sink it is called when the recording has just ended; frameworks free memory
    later."""
    if DEVICE == "cuda" and "torch_peak" not in _counters:
        _counters.update(torch_peak=torch.cuda.max_memory_allocated(), torch_end=torch.cuda.memory_allocated(),
                         torch_reserved=torch.cuda.max_memory_reserved())


def note_base():
    """What is live when a recording begins inside the program is not part of it."""
    if DEVICE == "cuda":
        torch.cuda.reset_peak_memory_stats()
        _counters["torch_base"] = torch.cuda.memory_allocated()


def report(**facts):
    """The last line of output. Cycles are collected first: under `stormlog run` they might be collected after the counters were read."""
    gc.collect()
    note_counters()
    facts.update(_counters)
    print("FACTS " + json.dumps(facts), flush=True)


def facts_of(evidence):
    """What the integration saw."""
    report_ = evidence.report
    device = max(report_["devices"], key=lambda row: row["device"])
    leaks = [finding for finding in report_["findings"] if finding["kind"] == "leak"]
    modules = {frame["function"] for row in device["top_peak"] for frame in (row["site"] or {}).get("stack", ())
               if frame["file"] == "<module>"}
    return {"verdict": report_["verdict"], "steps": device["steps"],
            "peak": device["peak_allocated_bytes"] or device["peak_requested_bytes"],
            "end": device["allocated_bytes"] or device["live_requested_bytes"], "path": evidence.path, "base": device["base_bytes"],
            "modules": sorted(modules),
            "leak": [leaks[0]["site"]["file"], leaks[0]["site"]["function"], leaks[0]["bytes_per_step"]] if leaks else None}


def run(train):
    """train(on_step) alone, or through stormlog.record(). Returns what it returns, to be held until the process ends."""
    if not IS_USED:
        kept = train(lambda: None)
        report(steps=STEPS)
        return kept
    from stormlog.integrations._session import Session

    session = Session(sinks=[note_counters])
    session.start()
    kept = train(session.step)
    report(**facts_of(session.finish()))
    return kept
