# SPDX-License-Identifier: MIT
"""What looking at an optimizer costs: one look, one step's end without a look, and both as a share of a training step.

A look happens after steps 1, 2, 4, 8, ...; two recordings with as many looks and twice the steps tell the two apart.
Argument: the program stormlog.
"""

import glob
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/lib"))

PROGRAM = """
import sys, time, torch
torch.set_num_threads(1)
layers, width, steps = map(int, sys.argv[1:])
net = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)])
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
x = torch.randn(8, width)
times = []
for _ in range(steps):
    start = time.thread_time_ns()
    optimizer.zero_grad(set_to_none=True)
    net(x).square().mean().backward()
    optimizer.step()
    times.append(time.thread_time_ns() - start)
print(sorted(times)[len(times) // 2])
"""


def run(stormlog, folder, *arguments):
    """Median step in ns, and the recorder's own counters."""
    import slog_totals
    out = os.path.join(folder, "-".join(map(str, arguments)))
    command = [stormlog, "run", "-q", "-o", out, "--", sys.executable, "-c", PROGRAM, *map(str, arguments)]
    step_ns = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    counters = slog_totals.load(glob.glob(os.path.join(out, "*.slog"))[0]).counters
    return step_ns, *(counters[(name, -1)][0] for name in ("tag_scans", "tag_scan_calls", "tag_scan_ns"))


def best(stormlog, folder, *arguments):
    """Of two runs the one in which looking cost least."""
    runs = []
    for i in range(2):
        os.mkdir(os.path.join(folder, f"{arguments}-{i}"))
        runs.append(run(stormlog, os.path.join(folder, f"{arguments}-{i}"), *arguments))
    return min(runs, key=lambda run: run[-1])


def main(stormlog):
    print("tensors   one look  calls  per tensor   share of its step   a step without   share")
    with tempfile.TemporaryDirectory() as folder:
        for layers in (10, 100, 400):
            step_ns, scans, calls, short_ns = best(stormlog, folder, layers, 32, 64)
            _, long_scans, _, long_ns = best(stormlog, folder, layers, 32, 127)
            assert scans == long_scans == 7, (scans, long_scans)
            quiet_ns = max(long_ns - short_ns, 0) / 63
            look_ns = (short_ns - 64 * quiet_ns) / scans
            tensors = layers * 2 * 5  # parameter, gradient, two moments and a count of steps each
            print(f"{tensors:7} {look_ns / 1e3:7.0f} us {calls / scans:6.0f} {look_ns / tensors:8.0f} ns "
                  f"{look_ns / step_ns:16.1%} {quiet_ns / 1e3:16.2f} us {quiet_ns / step_ns:8.2%}")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
