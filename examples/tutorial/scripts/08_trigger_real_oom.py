# SPDX-License-Identifier: MIT
"""Step 8: a real out-of-memory, in a process of its own so that it cannot end the walk, and its evidence, read again.

The worker leaks 64 MiB per step against a limit: a fraction of the card on CUDA and MPS, of the address space on the CPU. It runs
under `stormlog run`, which writes the recorder's evidence from outside: a process without memory cannot be relied on to do so.
"""

import resource
import sys

import stormlog
import torch
from tracking_helpers import MIB, command, fresh_folder, make_tracker, shown
from training_job import pick_device

BLOCK_BYTES = 64 * MIB
CPU_LIMIT_BYTES = 1024 * MIB  # beyond what the process has when it begins


def set_limit(device):
    if device.type == "cuda":
        torch.cuda.set_per_process_memory_fraction(0.02, device)
    elif device.type == "mps":
        torch.mps.set_per_process_memory_fraction(0.2)
    else:
        with open("/proc/self/statm", encoding="ascii") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + CPU_LIMIT_BYTES, resource.RLIM_INFINITY))


def fill(device):
    kept = []
    for step in range(10_000):
        kept.append(torch.ones(BLOCK_BYTES // 4, device=device))
        stormlog.step(step)


def work():
    device = pick_device()
    tracker = make_tracker(device, sampling_interval=0.02)
    with tracker:
        torch.zeros(1, device=device)  # the context and the recording exist before the limit is set
        set_limit(device)
        with tracker.capture_oom(context="forced-oom"):
            try:
                fill(device)
            finally:  # or the tracker has no memory to write its bundle
                if device.type == "cpu":
                    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)


def read_again(bundle, must_name_line):
    report = stormlog.analyze(bundle)
    oom = report["oom"]
    if report["verdict"] != "oom" or oom is None:
        sys.exit(f"{shown(bundle)} does not say that memory ran out: {report['headline']}")
    print(f"{shown(bundle)}\n  {report['headline']}")
    if must_name_line and "08_trigger_real_oom.py" not in str(oom["site"]):
        sys.exit(f"{shown(bundle)} does not name the line: {oom['site']}")


def main():
    folder = fresh_folder("oom")
    done = command("stormlog", "run", "-o", shown(folder / "recording"), "--", sys.executable, shown(__file__), "--worker",
                   capture_output=True, text=True)
    message = next((line for line in reversed(done.stderr.splitlines()) if "rror:" in line), "no message")
    print(f"the worker ended with exit code {done.returncode}\n  {message[:200]}")
    if done.returncode == 0:
        sys.exit("the worker was expected to run out of memory")
    of_tracker = sorted(path.parent for path in folder.glob("oom_dump_*/manifest.json"))
    of_recorder = sorted((folder / "recording").glob("*.oom-*"))
    if not of_tracker or not of_recorder:
        sys.exit(f"no bundle was written: {sorted(map(str, folder.rglob('*')))}\n{done.stderr}")
    read_again(of_tracker[-1], must_name_line=False)  # samples around the failure
    read_again(of_recorder[-1], must_name_line=True)  # every block that was live, and its line


if "--worker" in sys.argv:
    work()
else:
    main()
