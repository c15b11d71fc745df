# SPDX-License-Identifier: MIT
"""What tests/gpu records on a real device. Argument: the case. Prints torch's own numbers as one line of JSON and ends
at once, so that nothing is freed after they were read.
"""

import json
import os
import sys
import time

import torch

DEVICE = "cuda:0"


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(width, 8, batch_first=True)
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def make_net(width=512, depth=4):
    return torch.nn.Sequential(*[Block(width) for _ in range(depth)]).to(DEVICE)


def train(steps, optimizer_of, net=None, batch=8):
    net = net or make_net()
    optimizer = optimizer_of(net.parameters())
    kept = []
    for i in range(steps):
        optimizer.zero_grad(set_to_none=True)
        x = torch.randn(batch + i % 3, 64, 512, device=DEVICE)
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        kept.append(torch.ones(4096, device=DEVICE))  # leak
    return net, optimizer, kept


ALIVE = []


def stats():
    """torch's counters. What the caller holds stays alive until the process is gone, so that no free comes after them."""
    ALIVE.append(dict(sys._getframe(1).f_locals))
    torch.cuda.synchronize()
    values = torch.cuda.memory_stats(0)
    return {
        "allocs": values["allocation.all.allocated"],
        "frees": values["allocation.all.freed"],
        "alloc_bytes": values["allocated_bytes.all.allocated"],
        "free_bytes": values["allocated_bytes.all.freed"],
        "live_bytes": values["allocated_bytes.all.current"],
        "peak_bytes": values["allocated_bytes.all.peak"],
        "reserved_bytes": values["reserved_bytes.all.current"],
        "reserved_peak_bytes": values["reserved_bytes.all.peak"],
        "ooms": values["num_ooms"],
        "torch": torch.__version__,
        "python": sys.version.split()[0],
    }


def case_train():
    held = train(30, lambda p: torch.optim.AdamW(p, lr=1e-4))
    time.sleep(0.5)  # the recorder reads its counters ten times a second
    return {**stats(), "steps": 30, "held": len(held)}


def case_sgd():
    held = train(10, lambda p: torch.optim.SGD(p, lr=1e-4))
    return {**stats(), "steps": 10, "held": len(held)}


def case_streams():
    streams = [torch.cuda.Stream() for _ in range(4)]
    kept = []
    for i in range(200):
        stream = streams[i % 4]
        with torch.cuda.stream(stream):
            x = torch.randn(1 << (10 + i % 8), device=DEVICE)
            y = x * 2
            y.record_stream(torch.cuda.current_stream())
            y.record_stream(streams[(i + 1) % 4])
        if i % 10 == 0:
            kept.append(y)
    return {**stats(), "held": len(kept)}


def case_compile():
    net = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).to(DEVICE)
    held = train(10, lambda p: torch.optim.SGD(p, lr=1e-4), net=torch.compile(net, dynamic=True))
    return {**stats(), "held": len(held)}


def case_oom():
    net, optimizer, kept = train(5, lambda p: torch.optim.AdamW(p, lr=1e-4))
    caught = 0
    for _ in range(2):
        try:
            torch.empty(1 << 40, dtype=torch.uint8, device=DEVICE)  # oom
        except torch.OutOfMemoryError:
            caught += 1
    return {**stats(), "caught": caught, "requested": 1 << 40}


def case_counters():
    block = torch.empty(1 << 30, dtype=torch.uint8, device=DEVICE)
    torch.cuda.synchronize()
    time.sleep(1.0)
    free, total = torch.cuda.mem_get_info(0)
    return {**stats(), "free": free, "total": total, "held": block.numel()}


def case_profiler():
    net = torch.nn.Linear(512, 512).to(DEVICE)
    x = torch.randn(64, 512, device=DEVICE)
    net(x).sum().backward()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profiler:
        net(x).sum().backward()
    events = [event.nbytes() for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    return {**stats(), "events": events}


def case_kill():
    kept = []
    number = 0
    while True:
        kept.append(torch.empty(4096, device=DEVICE))
        if len(kept) > 500:
            kept.clear()
        number += 1
        os.write(1, b"%d\n" % number)


def block_bytes():
    """Bytes of each block in use by its address, as torch's allocator has them."""
    found = {}
    for segment in torch.cuda.memory_snapshot():
        at = segment["address"]
        for block in segment["blocks"]:
            found[block.get("address", at)] = block["size"]
            at += block["size"]
    return found


def case_tags():
    net, optimizer, kept = train(9, lambda p: torch.optim.AdamW(p, lr=1e-4))
    blocks = block_bytes()

    def held(tensors):
        return sum(blocks[address] for address in {t.untyped_storage().data_ptr() for t in tensors if t is not None and t.is_cuda})

    state = [value for row in optimizer.state.values() for value in row.values() if torch.is_tensor(value)]
    return {**stats(), "parameter": held(net.parameters()), "gradient": held(p.grad for p in net.parameters()),
            "optimizer state": held(state), "kept": held(kept)}


def limit_memory(spare):
    """From now on torch may take this much more."""
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + spare) / total)


def case_backward_oom():
    """Batches that grow until they fail, again and again under another limit: in the backward pass, most of them."""
    net = make_net(256, 3)
    failed = {"forward": 0, "backward": 0}
    for i in range(40):
        limit_memory((64 << 20) + i * (3 << 20))
        batch = 4
        while True:
            net.zero_grad(set_to_none=True)
            where = "forward"
            try:
                x = torch.randn(batch, 128, 256, device=DEVICE)
                loss = net(x).square().mean()  # forward pass
                where = "backward"
                loss.backward()
            except torch.OutOfMemoryError:
                failed[where] += 1
                break
            batch = batch * 9 // 8 + 1
        x = loss = None
    return {**stats(), **failed}


class ConvNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Conv2d(64 if i else 3, 64, 3, padding=1),
                                                              torch.nn.BatchNorm2d(64), torch.nn.ReLU()) for i in range(8)])
        self.head = torch.nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


def case_closure():
    """Forward and backward inside the optimizer's step, as Lightning does it."""
    net = ConvNet().to(DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    x, y = torch.randn(16, 3, 64, 64, device=DEVICE), torch.randint(0, 10, (16,), device=DEVICE)

    def closure():
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        return loss

    for _ in range(5):
        optimizer.step(closure)
    torch.ones(1, device=DEVICE)  # outside: the last step is over
    return {**stats(), "steps": 5}


def case_checkpoint():
    """Forward once more inside the backward pass, on autograd's thread."""
    from torch.utils.checkpoint import checkpoint
    net = make_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    for _ in range(4):
        optimizer.zero_grad(set_to_none=True)
        x = torch.randn(8, 64, 512, device=DEVICE, requires_grad=True)
        for block in net:
            x = checkpoint(block, x, use_reentrant=True)
        x.square().mean().backward()
        optimizer.step()
    return {**stats(), "steps": 4}


def case_infer():
    """No optimizer; a parameter that is loaded while the program already runs."""
    net = make_net()
    own = torch.nn.Parameter(torch.randn(512, 512, device=DEVICE))
    with torch.no_grad():
        for i in range(12):
            if i == 2:
                late = torch.randn(512, 512, device=DEVICE)
            x = torch.randn(8, 64, 512, device=DEVICE)
            y = net(x) @ own @ (late if i > 2 else own)
    blocks = block_bytes()
    held = {"model": sum(blocks[p.data_ptr()] for p in net.parameters()), "late": blocks[late.data_ptr()],
            "own": blocks[own.data_ptr()], "batch": blocks[x.data_ptr()] + blocks[y.data_ptr()]}
    return {**stats(), **held}


def case_workspace():
    """cuBLAS's workspaces: what torch's allocator has back when they are given up."""
    held = train(5, lambda p: torch.optim.AdamW(p, lr=1e-4))
    other = torch.cuda.Stream()
    with torch.cuda.stream(other):
        torch.randn(512, 512, device=DEVICE) @ torch.randn(512, 512, device=DEVICE)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch._C._cuda_clearCublasWorkspaces()
    return {**stats(), "workspace": before - torch.cuda.memory_allocated(), "held": len(held)}


def case_late():
    """Recording begins in the running process, long after torch and CUDA did."""
    import ctypes
    torch.ones(10, device=DEVICE)
    before = stats()
    library = ctypes.CDLL(os.environ["RECORD_LIBRARY"])
    error = library.sl_record_start(None)
    held = train(5, lambda p: torch.optim.AdamW(p, lr=1e-4))
    after = stats()
    library.sl_record_stop()
    extra = torch.ones(10, device=DEVICE)
    return {"error": error, "steps": 5, "held": len(held) + extra.numel(),
            **{name: after[name] - before[name] for name in ("allocs", "alloc_bytes")}}


if __name__ == "__main__":
    result = globals()["case_" + sys.argv[1]]()
    print(json.dumps(result), flush=True)
    os._exit(0)
