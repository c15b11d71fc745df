# SPDX-License-Identifier: MIT
"""Programs whose allocator is recorded twice: by stormlog, and by torch's own history. The history's events go into the file
named by the second argument, one JSON object. Argument: the case."""

import json
import os
import sys

import torch

DEVICE = "cuda"


def case_train():
    net = torch.nn.Sequential(*[torch.nn.Linear(300, 300) for _ in range(8)]).to(DEVICE)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    kept = []
    for step in range(20):
        loss = net(torch.randn(37 + step, 300, device=DEVICE)).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        kept.append(torch.empty(1 + 997 * step, dtype=torch.uint8, device=DEVICE))
        if step % 7 == 6:
            kept.clear()
            torch.empty(64 << 20, dtype=torch.uint8, device=DEVICE)  # a segment that can go
            torch.cuda.empty_cache()
    return kept


def case_streams():
    streams = [torch.cuda.Stream() for _ in range(3)]
    kept = []
    for i in range(300):
        with torch.cuda.stream(streams[i % 3]):
            x = torch.randn((1 << (10 + i % 12)) + i, device=DEVICE)
            y = x * 2
            y.record_stream(streams[(i + 1) % 3])
        if i % 10 == 0:
            kept.append(y)
    torch.cuda.synchronize()
    kept.append(torch.ones(5, device=DEVICE))
    return kept


def case_pools():
    kept = [torch.ones(1000 * n, device=DEVICE) for n in range(1, 20)]
    if not os.environ.get("PYTORCH_CUDA_ALLOC_CONF"):  # torch refuses the two together
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            kept += [torch.ones(3333 * n, device=DEVICE) for n in range(1, 20)]
        kept.append(pool)
    graph = torch.cuda.CUDAGraph()
    x = torch.ones(12345, device=DEVICE)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x * 2
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        y = (x * 2).sin() + x
    graph.replay()
    torch.cuda.synchronize()
    return kept, y, graph


def case_settings():
    kept = [torch.ones(5000, device=DEVICE)]
    torch.cuda.memory._set_allocator_settings("garbage_collection_threshold:0.8")
    kept.append(torch.ones(5000, device=DEVICE))
    return kept


def case_oom():
    torch.cuda.set_per_process_memory_fraction(0.05)
    kept = []
    for _ in range(2):
        try:
            while True:
                kept.append(torch.empty((100 << 20) + 17, dtype=torch.uint8, device=DEVICE))
        except torch.OutOfMemoryError:
            kept = kept[:3]
    return kept


def plain(event):
    return [event["action"], event.get("addr", event.get("device_free", 0)), event["size"], event["stream"], event.get("pool_id")]


def main():
    name, path = sys.argv[1:3]
    torch.cuda.memory._record_memory_history(context=None, max_entries=1_000_000)
    kept = globals()["case_" + name]()
    torch.cuda.synchronize()
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    with open(path, "w") as file:
        json.dump({"events": [plain(event) for event in trace]}, file)
    sys.stdout.flush()
    os._exit(0 if kept is not None else 1)


main()
