# SPDX-License-Identifier: MIT
"""A run folder is one run: the processes of real programs, their roles and how they ended. Argument: the program."""

import json
import os
import re
import sys

import tap

stormlog = os.path.abspath(sys.argv.pop(1))
PYTHON = "/usr/bin/python3"
ENV = {name: value for name, value in os.environ.items()
       if not re.match(r"STORMLOG_|LD_PRELOAD|RANK|LOCAL_RANK|WORLD_SIZE|SLURM_|OMPI_|PMI", name)}

LOADER = """
import os, sys, torch
from torch.utils.data import DataLoader, Dataset
class Numbers(Dataset):
    def __len__(self): return 16
    def __getitem__(self, i): return torch.ones(1000)
def main():
    model = torch.nn.Linear(1000, 4)
    for x in DataLoader(Numbers(), batch_size=2, num_workers=int(sys.argv[1]), multiprocessing_context=sys.argv[2]):
        model(x).sum().backward()
if __name__ == "__main__":
    main()
"""

# As a launcher such as torchrun does it: one process for each rank, with variables; each has a worker of its own.
RANKS = """
import os, subprocess, sys
if "RANK" not in os.environ:
    ranks = [subprocess.Popen([sys.executable, __file__], env=dict(os.environ, RANK=str(r), LOCAL_RANK=str(r), WORLD_SIZE="2"))
             for r in range(2)]
    sys.exit(max(p.wait() for p in ranks))
import torch, torch.distributed as dist
from torch.utils.data import DataLoader
rank = int(os.environ["RANK"])
dist.init_process_group("gloo", init_method="file://" + os.path.join(os.getcwd(), "meeting"), rank=rank, world_size=2)
for x in DataLoader(torch.ones(8, 1000 * (rank + 1)), batch_size=2, num_workers=1, collate_fn=torch.stack):
    x + 1
dist.all_reduce(torch.ones(8))
dist.barrier()
"""

SPAWN = """
import os, torch, torch.multiprocessing as mp
def work(rank, cnt):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(cnt))
    kept = torch.ones(1000 * (rank + 1))
if __name__ == "__main__":
    kept = torch.ones(10)
    mp.spawn(work, args=(2,), nprocs=2)
"""

# Ends as told, without the handlers of exit(): by os._exit, in a signal's handler, killed, as another program.
ENDING = """
import os, signal, sys, torch
kept = torch.ones(1000)
how = sys.argv[1]
if how == "left":
    os._exit(3)
if how == "handler":
    signal.signal(signal.SIGUSR1, lambda *_: os._exit(0))
    os.kill(os.getpid(), signal.SIGUSR1)
if how == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if how == "exec":
    os.execv(sys.executable, [sys.executable, __file__, "exit"])
if how == "child":  # a vfork that fails ends by _exit in its parent's memory
    import subprocess
    try:
        subprocess.run(["/nonexistent"])
    except FileNotFoundError:
        os.kill(os.getpid(), signal.SIGKILL)
"""

# As setproctitle does it for Ray and vLLM: each child writes another title over the memory of argv[0], which the C library's name of the
# program points into.
TITLES = """
import ctypes, os, torch
libc = ctypes.CDLL(None)
name = ctypes.c_char_p.in_dll(libc, "program_invocation_short_name")
for title in (b"", b"-o", b"ray::train/loop", b"a\\nb", b"a title"):
    pid = os.fork()
    if pid == 0:
        name.value = title
        kept = torch.ones(1000)
        os._exit(0)
    os.waitpid(pid, 0)
"""

_has_torch = None


def record(folder, source, *arguments, code=0):
    """Records the program; returns what the report says about each process, by the name of its input."""
    global _has_torch
    tap.skip_if_sanitized(stormlog)
    if _has_torch is None:
        _has_torch = os.path.exists(PYTHON) and tap.run([PYTHON, "-c", "import torch"]).returncode == 0
    if not _has_torch:
        tap.skip("this machine has no torch for " + PYTHON)
    path, out = os.path.join(folder, "program.py"), os.path.join(folder, "run")
    with open(path, "w") as file:
        file.write(source)
    done = tap.run([stormlog, "run", "-q", "--cpu", "-o", out, "--", PYTHON, path, *arguments], env=ENV, cwd=folder)
    tap.equal(done.returncode, code, done.stderr)
    return analyze(out, "--format", "json")


def analyze(*arguments):
    done = tap.run([stormlog, "analyze", *arguments])
    tap.equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout) if "json" in arguments else done.stdout


def of_role(report, role):
    return [row for row in report["inputs"] if row["process"]["role"] == role]


def check_loader(folder, workers, context, endings):
    report = record(folder, LOADER, str(workers), context)
    mains, found = of_role(report, "main"), of_role(report, "worker")
    tap.equal((len(report["inputs"]), len(mains), len(found)), (1 + workers, 1, workers), "processes, mains, workers")
    for row in found:
        process = row["process"]
        tap.true(process["ended"] in endings, f"{row['path']}: {process}")
        tap.equal(process["parent_pid"], mains[0]["process"]["pid"], row["path"])
        tap.equal(report["inputs"][process["parent_input"]]["path"], mains[0]["path"], "the input of its parent")
        tap.equal(row["notes"], [], "a worker that ended by itself has nothing to explain")
    text = analyze(os.path.join(folder, "run"))
    if len({row["process"]["ended"] for row in found}) == 1:
        tap.contains(text, f"{workers} DataLoader workers (")
    tap.contains(text, "main process ")
    tap.true("without closing" not in text, text)
    words = " ".join(text.split())
    tap.true("inputs:" not in text.splitlines()[0], f"the first line is the verdict of the main process: {text}")
    tap.contains(words, f"{workers} DataLoader workers without a finding; the highest peak was ")
    tap.equal(text.count("Host memory of "), 1, text)
    everything = analyze(os.path.join(folder, "run"), "--explain")
    tap.equal(everything.count("Host memory of "), 1 + workers, everything)


@tap.test("two workers of a DataLoader that end with os._exit are reported as ended normally")
def _(folder):
    check_loader(folder, 2, "fork", ["left"])


@tap.test("four workers of a DataLoader are shown in one row")
def _(folder):
    check_loader(folder, 4, "fork", ["left"])


@tap.test("spawned workers are recognised as workers")
def _(folder):
    check_loader(folder, 2, "spawn", ["exited", "left"])  # torch's handler of SIGTERM may be faster than its exit


@tap.test("two ranks with gloo are ranks, and the worker of each is not")
def _(folder):
    report = record(folder, RANKS)
    ranks, workers = of_role(report, "rank"), of_role(report, "worker")
    tap.equal([row["process"]["rank"] for row in ranks], [0, 1], "ranks")
    tap.equal([row["process"]["world_size"] for row in ranks], [2, 2], "world size")
    tap.equal(len(workers), 2, "workers")
    for row in workers:
        parent = report["inputs"][row["process"]["parent_input"]]["process"]
        tap.equal((parent["role"], parent["rank"]), ("rank", row["process"]["rank"]), "a worker's parent")


@tap.test("ranks started by torch.multiprocessing.spawn are children of the main process")
def _(folder):
    report = record(folder, SPAWN)
    main, = of_role(report, "main")
    ranks = of_role(report, "rank")
    tap.equal([row["process"]["rank"] for row in ranks], [0, 1], "ranks")
    tap.equal({row["process"]["parent_pid"] for row in ranks}, {main["process"]["pid"]}, "their parent")


@tap.test("a program that writes a title over its name is recorded, in a file whose name can be typed")
def _(folder):
    record(folder, TITLES)
    program = os.path.basename(os.path.realpath(PYTHON))
    names = [re.sub(r"-\d+[.]slog$", "", name) for name in os.listdir(os.path.join(folder, "run")) if name.endswith(".slog")]
    tap.equal(sorted(names), sorted([program] * 4 + ["a title"]), "names of the files")


@tap.test("the report says how a process ended: exit, _exit with its status, a signal, or exec")
def _(folder):
    note = "the recorded process ended without closing its recording"
    for how, code, ended, status in [("left", 3, "left", 3), ("handler", 0, "left", 0),
                                     ("killed", 137, "killed", None), ("child", 137, "killed", None)]:
        here = os.path.join(folder, how)
        os.makedirs(here)
        report = record(here, ENDING, how, code=code)
        row, = report["inputs"]
        tap.equal((row["process"]["ended"], row["process"]["exit_status"]), (ended, status), how)
        tap.equal(row["notes"], [note] if ended == "killed" else [], how)


@tap.test("a program that is replaced by exec does not count as killed")
def _(folder):
    report = record(folder, ENDING, "exec")
    tap.equal(sorted((row["process"]["role"], row["process"]["ended"]) for row in report["inputs"]),
              [("helper", "replaced"), ("main", "exited")], "roles and ends")
    tap.true("without closing" not in analyze(os.path.join(folder, "run")), "no note about a kill")


tap.main()
