# SPDX-License-Identifier: MIT
"""Ranks of one job under real launchers: one folder, one file per rank, with rank, world size, host and job in each. Nothing is
configured. Argument: the program."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import tap
from plain_torch import PYTHON, need_torch

stormlog = os.path.abspath(sys.argv.pop(1))
ENV = {name: value for name, value in os.environ.items()
       if not re.match(r"STORMLOG_|LD_PRELOAD|RANK|LOCAL_RANK|WORLD_SIZE|SLURM_|OMPI_|PMI|MASTER_", name)}
TORCHRUN = "/usr/bin/torchrun"
# Debian's torch 1.13 under Python 3.11 cannot parse its own default of these two (its enumeration has no member 0 any more).
REDIRECTS = ["-r", "1", "-t", "1"]
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4"]

# Rank 2 keeps 256 KiB per step from step 9 on.
GLOO = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
kept = []
for step in range(1, 41):
    if dist.get_rank() == 2 and step >= 9:
        kept.append(torch.ones(1 << 16))
    model(torch.ones(8, 64)).sum().backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    optimizer.zero_grad()
"""

SMALL = """
import torch
kept = [torch.ones(1000) for _ in range(8)]
"""

# Ranks by fork alone; each says who it is before its first tensor.
FORKS = """
import os, torch
for rank in range(4):
    if os.fork() == 0:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="4")
        kept = [torch.ones(1000) for _ in range(8)]
        os._exit(0)
for _ in range(4):
    os.wait()
"""


def write(folder, source):
    need_torch(stormlog)
    path = Path(folder) / "train.py"
    path.write_text(source)
    return str(path)


def call(folder, *command, env=None):
    tap.skip_if_sanitized(stormlog)
    done = tap.run([str(part) for part in command], cwd=folder, env=env or ENV, timeout=300)
    tap.equal(done.returncode, 0, f"exit code of {command[0]}: {done.stderr[-2000:]}")
    return done


def run_folders(folder):
    return sorted(path for path in (Path(folder) / "stormlog-runs").iterdir() if not path.is_symlink())


def identities(folder):
    """(job, rank, local rank, world size, host is known) of each recording, by the telemetry that is made of it."""
    found = []
    for path in sorted(Path(folder).glob("*.slog")):
        done = tap.run([stormlog, "export", str(path), "--to", "telemetry-jsonl", "--every", "1h"], env=ENV)
        tap.equal(done.returncode, 0, done.stderr)
        record = json.loads(done.stdout.splitlines()[0])
        tap.true(record["pid"] > 0, f"process number: {record['pid']}")
        tap.equal(record["host"], os.uname().nodename, "host")
        found.append((record["job_id"], record["rank"], record["local_rank"], record["world_size"]))
    return found


def ranks_of_4(job):
    return [(job, rank, rank, 4) for rank in range(4)]


@tap.test("stormlog run around torchrun with four gloo ranks")
def _(folder):
    if not os.path.exists(TORCHRUN):
        tap.skip("no torchrun here")
    call(folder, stormlog, "run", "-q", "--", TORCHRUN, "--nproc_per_node", "4", "--master_port", "0", "--rdzv_backend", "c10d",
         "--rdzv_endpoint", "localhost:0", "--rdzv_id", "job-7", *REDIRECTS, write(folder, GLOO))
    folders = run_folders(folder)
    tap.equal(len(folders), 1, f"run folders: {folders}")
    tap.equal(identities(folders[0]), ranks_of_4("job-7"), "identities")


@tap.test("stormlog run under mpirun, four times: the ranks share one folder, and the next start has another")
def _(folder):
    if not shutil.which("mpirun"):
        tap.skip("no mpirun here (package openmpi-bin)")
    script = write(folder, SMALL)
    messages = call(folder, *MPIRUN, stormlog, "run", "--", PYTHON, script).stderr
    folders = run_folders(folder)
    tap.equal(len(folders), 1, f"run folders: {folders}")
    job = folders[0].name.split("-")[1]
    tap.equal(identities(folders[0]), ranks_of_4(job), "identities")
    tap.equal(messages.count("recorded"), 1, f"only rank 0 prints the closing lines: {messages}")
    tap.contains(messages, "next: stormlog ranks stormlog-runs/mpi-")
    call(folder, *MPIRUN[:-1], "1", stormlog, "run", "-q", "--", PYTHON, script)
    tap.equal(len(run_folders(folder)), 2, "run folders after a second start")


@tap.test("stormlog run around a program that forks its ranks")
def _(folder):
    call(folder, stormlog, "run", "-q", "--", PYTHON, write(folder, FORKS))
    folders = run_folders(folder)
    tap.equal(len(folders), 1, f"run folders: {folders}")
    found = [row for row in identities(folders[0]) if row[3] == 4]
    tap.equal(found, ranks_of_4(None), "identities")


@tap.test("STORMLOG_RUNS, as a scheduler sets it: run folders are made there, without a shortcut; -o wins; a place that cannot be is named")
def _(folder):
    script = write(folder, SMALL)
    shared = Path(folder) / "node" / "job-7"
    call(folder, stormlog, "run", "-q", "--", PYTHON, script, env={**ENV, "STORMLOG_RUNS": str(shared)})
    call(folder, stormlog, "run", "-q", "-o", f"{folder}/mine", "--", PYTHON, script, env={**ENV, "STORMLOG_RUNS": str(shared)})
    tap.true(re.fullmatch(r"\d{8}T\d{6}Z-train", " ".join(os.listdir(shared))), f"run folders: {os.listdir(shared)}")
    tap.equal(len(list(shared.glob("*/*.slog"))), 1, "recordings there")
    tap.equal(len(list(Path(folder).glob("mine/*.slog"))), 1, "recordings of -o")
    tap.equal(os.path.exists(f"{folder}/stormlog-runs"), False, "a folder stormlog-runs")
    done = call(folder, stormlog, "run", "--", PYTHON, script, env={**ENV, "STORMLOG_RUNS": f"{script}/x"})
    tap.contains(done.stderr, f"cannot create the folder '{script}/x/")


@tap.test("a launcher that gives two starts the same name: a rank that was here before belongs to the next start")
def _(folder):
    script = write(folder, SMALL)
    for rank in (1, 0, 0):
        call(folder, stormlog, "run", "-q", "--", PYTHON, script,
             env={**ENV, "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "node1", "MASTER_PORT": "29500"})
    folders = run_folders(folder)
    tap.equal([path.name for path in folders], ["torch-node1-29500-train", "torch-node1-29500-train.1"], "folders")
    tap.equal([row[1:] for row in identities(folders[0])], [(0, 0, 2), (1, 1, 2)], "ranks of the first start")
    tap.equal([row[1:] for row in identities(folders[1])], [(0, 0, 2)], "ranks of the second start")


tap.main()
