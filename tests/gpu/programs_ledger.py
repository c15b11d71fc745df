# SPDX-License-Identifier: MIT
"""What is on a card in eight situations. Argument: the situation. Prints one line of JSON when nothing changes any more,
holds everything until standard input ends, and leaves without freeing.
"""

import json
import os
import subprocess
import sys

MIB = 1 << 20
HELD = 512 * MIB


def say_and_wait(**facts):
    print(json.dumps(facts), flush=True)
    sys.stdin.read()
    os._exit(0)


def torch_facts():
    import torch
    torch.cuda.synchronize()
    return {"tensors": torch.cuda.memory_allocated(0), "reserved": torch.cuda.memory_reserved(0)}


def case_context():
    import torch
    x = torch.empty(1, device="cuda")
    say_and_wait(**torch_facts(), held=x.numel())


def case_cublas():
    import torch
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    products = [a @ a, a.float() @ a.float(), torch.nn.functional.linear(a, a, a[0])]
    say_and_wait(**torch_facts(), held=len(products))


def case_nccl():
    import torch
    import torch.distributed as dist
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29531", RANK="0", WORLD_SIZE="1")
    dist.init_process_group("nccl", device_id=torch.device("cuda:0"))
    x = torch.ones(16 * MIB, device="cuda")
    dist.all_reduce(x)
    say_and_wait(**torch_facts(), held=x.numel())


def case_graphs():
    import torch
    net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    x = torch.randn(512, 1024, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(3):
            net(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        y = net(x)
    for _ in range(10):
        graph.replay()
    say_and_wait(**torch_facts(), held=y.numel())


def case_expandable():
    import torch
    kept = []
    for i in range(64):
        x = torch.randn((i % 7 + 1) * MIB, device="cuda")
        if i % 3 == 0:
            kept.append(x)
    say_and_wait(**torch_facts(), held=len(kept))


OTHER = ("import sys, torch; x = torch.empty(3 << 30, dtype=torch.uint8, device='cuda'); torch.cuda.synchronize(); "
         "print('ready', flush=True); sys.stdin.read()")


def case_second():
    import torch
    other = subprocess.Popen([sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             env={**os.environ, "STORMLOG_DISABLE": "1"})
    other.stdout.readline()
    x = torch.empty(HELD, dtype=torch.uint8, device="cuda")
    say_and_wait(**torch_facts(), held=x.numel(), other_pid=other.pid)


def case_cupy():
    import cupy
    import torch
    x = torch.empty(HELD, dtype=torch.uint8, device="cuda")
    kept = [cupy.ones(64 * MIB // 4, dtype=cupy.float32) for _ in range(8)]  # cupy
    total = float(sum(part.sum() for part in kept))
    cupy.cuda.Device().synchronize()
    say_and_wait(**torch_facts(), held=x.numel(), total=total)


def case_cupy_alone():
    import cupy
    kept = [cupy.ones(64 * MIB // 4, dtype=cupy.float32) for _ in range(8)]  # cupy alone
    cupy.cuda.Device().synchronize()
    say_and_wait(held=len(kept))


def case_jax():
    os.environ.update(XLA_PYTHON_CLIENT_PREALLOCATE="false")
    import jax
    import jax.numpy as jnp
    x = jnp.ones((4096, 4096))  # jax
    f = jax.jit(lambda a, b: jnp.tanh(a @ b))
    kept = [f(x, x + i) for i in range(8)]  # jax
    for part in kept:
        part.block_until_ready()
    say_and_wait(held=len(kept), live=sum(array.nbytes for array in jax.live_arrays()))


if __name__ == "__main__":
    globals()["case_" + sys.argv[1]]()
