# SPDX-License-Identifier: MIT
"""The training job of this walk: a small MLP on synthetic classification data. Plain PyTorch; nothing here knows stormlog.

    python3 scripts/training_job.py [clean|leak|fixed]

TUTORIAL_DEVICE=cpu|cuda|mps overrides the choice of the device, TUTORIAL_STEPS the number of steps.
"""

import os
import sys
import time
from dataclasses import dataclass

import torch
from retention import RETENTIONS
from torch import nn

FEATURES, CLASSES = 32, 8
NOISE = 2.2  # of the data: the classes overlap, so that no model reaches 100 %


@dataclass
class Job:
    """Sizes by device: a leak of 512 KiB per step on a laptop's CPU, of 16 MiB on a GPU."""

    batch: int
    hidden: int
    steps: int


JOBS = {"cpu": Job(256, 512, 240), "mps": Job(1024, 2048, 240), "cuda": Job(2048, 2048, 240)}


def pick_device():
    wanted = os.environ.get("TUTORIAL_DEVICE")
    if wanted:
        return torch.device(wanted)
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    mps = getattr(torch.backends, "mps", None)
    return torch.device("mps" if mps is not None and mps.is_available() else "cpu")


def job_for(device):
    job = JOBS[device.type]
    return Job(job.batch, job.hidden, int(os.environ.get("TUTORIAL_STEPS", job.steps)))


class Classifier(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, CLASSES)

    def forward(self, features, return_hidden=False):
        hidden = self.body(features)
        logits = self.head(hidden)
        return (logits, hidden) if return_hidden else logits


def make_data(count, seed):
    """Points around one centre per class; the centres are the same for every seed."""
    centres = 1.5 * torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(7))
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (count,), generator=generator)
    return centres[labels] + NOISE * torch.randn(count, FEATURES, generator=generator), labels


def make_loader(device, job, data):
    """Batches on the device, one per step."""
    features, labels = data
    for step in range(job.steps):
        first = step * job.batch % (len(labels) - job.batch + 1)
        rows = slice(first, first + job.batch)
        yield features[rows].to(device), labels[rows].to(device)


@torch.no_grad()
def accuracy_of(model, device):
    features, labels = make_data(4096, seed=2)
    return float((model(features.to(device)).argmax(1).cpu() == labels).float().mean())


def train(retention, device, on_step=None):
    """Trains one model and returns its validation accuracy; `retention` sees every step's tensors."""
    if device.type == "cpu":
        torch.set_num_threads(1)  # so small a model is slower on several cores
    torch.manual_seed(0)
    job = job_for(device)
    model = Classifier(job.hidden).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for step, (features, labels) in enumerate(make_loader(device, job, make_data(16 * job.batch, seed=1))):
        logits, hidden = model(features, return_hidden=True)
        loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        retention.observe(hidden=hidden, logits=logits, loss=loss, step=step)
        if on_step is not None:
            on_step(step)
    return accuracy_of(model, device)


if __name__ == "__main__":
    kind = sys.argv[1] if len(sys.argv) > 1 else "clean"
    start = time.monotonic()
    accuracy = train(RETENTIONS[kind](), pick_device())
    print(f"{kind}: validation accuracy {accuracy:.2%} after {time.monotonic() - start:.1f} s")
