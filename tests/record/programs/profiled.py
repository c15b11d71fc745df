# SPDX-License-Identifier: MIT
"""A training step under torch.profiler; prints the memory events the profiler saw as JSON.

Which operator an event is counted to is left out: torch decides that by time stamps and comes to another result on
every run.
"""

import json
import sys

import torch

torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Linear(64, 64)
before = [torch.ones(100) for _ in range(10)]


def step():
    net.zero_grad(set_to_none=True)
    net(torch.randn(8, 64)).sum().backward()


step()
seen = []
for _ in range(2):
    with torch.profiler.profile(profile_memory=True) as profiler:
        step()
        if before:
            before.clear()  # blocks the profiler did not see being made
        outlives = torch.ones(77)
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            seen.append(event.nbytes())
json.dump(seen, sys.stdout)
