# SPDX-License-Identifier: MIT
"""The cost of scanning an optimizer, in CPU time of the program's thread: one scan, the end of a step without one, and both as
a share of a training step.

A scan happens after steps 1, 2, 4, 8, ...: in very many steps of a tiny optimizer nearly all steps end without one, in 64 steps
of a model there are seven. Argument: the program stormlog.
"""

import glob
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/lib"))

import slog_totals  # noqa: E402

TRAIN = """
import sys, time, torch
torch.set_num_threads(1)
layers, steps = map(int, sys.argv[1:])
net = torch.nn.Sequential(*[torch.nn.Linear(32, 32) for _ in range(layers)])
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
x = torch.randn(8, 32)
times = []
for _ in range(steps):
    start = time.thread_time_ns()
    optimizer.zero_grad(set_to_none=True)
    net(x).square().mean().backward()
    optimizer.step()
    times.append(time.thread_time_ns() - start)
print(sorted(times)[len(times) // 2])
"""

ONLY_STEP = """
import sys, torch
torch.set_num_threads(1)
parameter = torch.nn.Parameter(torch.zeros(4))
parameter.grad = torch.ones(4)
optimizer = torch.optim.SGD([parameter], lr=0.1)
for _ in range(int(sys.argv[1])):
    optimizer.step()
print(0)
"""


def run(stormlog, program, *arguments):
    """What the program printed, and the recorder's own counters."""
    with tempfile.TemporaryDirectory() as folder:
        command = [stormlog, "run", "-q", "-o", f"{folder}/run", "--", sys.executable, "-c", program, *map(str, arguments)]
        printed = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        counters = slog_totals.load(glob.glob(f"{folder}/run/*.slog")[0]).counters
    return printed, *(counters[(name, -1)][0] for name in ("tag_scans", "tag_scan_calls", "tag_scan_ns"))


def main(stormlog):
    steps = 1 << 15
    *_, total_ns = run(stormlog, ONLY_STEP, steps)
    quiet_ns = total_ns / steps
    print(f"the end of a step without a look at the optimizer: {quiet_ns / 1e3:.1f} us")
    print("tensors    one look   calls  per tensor  of its step   without a look, of a step")
    for layers in (10, 100, 400):
        step_ns, scans, calls, ns = min((run(stormlog, TRAIN, layers, 64) for _ in range(3)), key=lambda row: row[-1])
        look_ns = (ns - 64 * quiet_ns) / scans
        tensors = layers * 2 * 5  # parameter, gradient, two moments and a count of steps each
        print(f"{tensors:7} {look_ns / 1e3:8.0f} us {calls / scans:7.0f} {look_ns / tensors:8.0f} ns {look_ns / step_ns:11.1%} "
              f"{quiet_ns / step_ns:26.3%}")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
