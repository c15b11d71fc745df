# SPDX-License-Identifier: MIT
"""Ranks on what clusters run: a Slurm of one node, started here with its own keys and ports and stopped again, and nodes that
are network namespaces with hostnames of their own and a shared folder. `make check-cluster`; needs root, and for Slurm the
packages slurmctld, slurmd, slurm-client and munge, which nothing here installs. Argument: the program."""

import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import tap
from plain_torch import PYTHON, need_torch

stormlog = os.path.abspath(sys.argv.pop(1))
ENV = {name: value for name, value in os.environ.items()
       if not re.match(r"STORMLOG_|LD_PRELOAD|RANK|LOCAL_RANK|WORLD_SIZE|SLURM_|OMPI_|PMI|MASTER_", name)}
SECONDS = 120

# Rank 2 keeps 512 KiB per step from its ninth step on, which is step 8: optimizers' steps are counted from 0. The rank is the launcher's.
PROGRAM = """
import os, torch
rank = int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0")))
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
kept = []
for step in range(1, 41):
    if rank == 2 and step >= 9:
        kept.append(torch.ones(1 << 17))
    model(torch.ones(8, 64)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""

CONF = """
ClusterName=stormlog
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctl_port}
SlurmdPort={d_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/ctl.pid
SlurmdPidFile={folder}/d.pid
SlurmctldLogFile={folder}/ctl.log
SlurmdLogFile={folder}/d.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
ReturnToService=2
SlurmdParameters=config_overrides
TaskProlog={folder}/prolog
Epilog={folder}/epilog
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=node1 Default=YES MaxTime=INFINITE State=UP
"""

# The scripts of contrib/slurm with this test's folders; the prolog only for jobs that ask for it.
SLURM = Path(__file__).resolve().parents[2] / "contrib" / "slurm"
PROLOG = """#!/bin/sh
[ -n "$WITH_PROLOG" ] || exit 0
STORMLOG_RECORDINGS={folder}/recordings exec {slurm}/prolog.sh
"""
EPILOG = """#!/bin/sh
export STORMLOG_RECORDINGS={folder}/recordings STORMLOG_PUSH=http://127.0.0.1:{port} STORMLOG_STATE={folder}/agent PATH={bin}
exec {slurm}/epilog.sh >{folder}/epilog.log 2>&1
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    """A daemon in the foreground, ended by its process number."""

    def __init__(self, *command, env=None):
        self.name = os.path.basename(command[0])
        self.process = subprocess.Popen(command, env=env or ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.stdout.read()[-2000:]


def wait_for(what, condition):
    for _ in range(SECONDS * 5):
        if condition():
            return True
        time.sleep(0.2)
    return False


def start_slurm(folder, daemons, port):
    """The environment for srun; skips aloud when a daemon does not start."""
    for name in ("munged", "slurmctld", "slurmd", "srun"):
        if not shutil.which(name):
            tap.skip(f"no {name} here (packages slurmctld, slurmd, slurm-client, munge)")
    os.chmod(folder, 0o755)
    for name in ("state", "spool"):
        os.mkdir(f"{folder}/{name}")
    with open(f"{folder}/key", "wb") as file:
        file.write(os.urandom(1024))
    os.chmod(f"{folder}/key", 0o400)
    for name, text in (("prolog", PROLOG), ("epilog", EPILOG)):
        Path(f"{folder}/{name}").write_text(text.format(folder=folder, slurm=SLURM, port=port, bin=os.path.dirname(stormlog)))
        os.chmod(f"{folder}/{name}", 0o755)
    conf = CONF.format(folder=folder, host=os.uname().nodename, ctl_port=free_port(), d_port=free_port())
    Path(f"{folder}/slurm.conf").write_text(conf)
    daemons.append(Daemon(shutil.which("munged"), "--foreground", "--force", f"--key-file={folder}/key", f"--socket={folder}/munge.sock",
                          f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log", f"--seed-file={folder}/seed"))
    if not wait_for("munge", lambda: os.path.exists(f"{folder}/munge.sock")):
        tap.skip(f"munged did not start: {daemons[-1].stop()}")
    env = {**ENV, "SLURM_CONF": f"{folder}/slurm.conf"}
    daemons.append(Daemon(shutil.which("slurmctld"), "-D", "-f", f"{folder}/slurm.conf", env=env))
    daemons.append(Daemon(shutil.which("slurmd"), "-D", "-f", f"{folder}/slurm.conf", "-N", "node1", env=env))

    def is_idle():
        done = tap.run(["sinfo", "-h", "-o", "%t"], env=env)
        return done.returncode == 0 and done.stdout.strip() in ("idle", "alloc", "mix")

    if not wait_for("node1", is_idle):
        logs = "\n".join(daemon.stop() for daemon in daemons[1:])
        tap.skip(f"Slurm did not start here: {logs[-1500:]}")
    return env


def check_ranks(run_folder, job, hosts):
    done = tap.run([stormlog, "ranks", str(run_folder), "--format", "json"], env=ENV)
    tap.equal(done.returncode, 0, done.stderr)
    answer = json.loads(done.stdout)
    tap.equal([row["rank"] for row in answer["ranks"]], [0, 1, 2, 3], "ranks")
    tap.equal([row["host"] for row in answer["ranks"]], hosts, "hosts")
    tap.equal((answer["ranks_expected"], answer["ranks_missing"]), (4, 0), "world size")
    if job:
        tap.equal(answer["job_id"], job, "job")
    cause = answer["first_cause"]
    tap.true(cause, answer["sentence"])
    tap.equal((cause["fault"], cause["rank"], cause["step"]), ("leak", 2, 8), answer["sentence"])
    tap.contains(cause["line"], "train.py:9")


def need_root():
    tap.skip_if_sanitized(stormlog)
    need_torch(stormlog)
    if os.geteuid() != 0:
        tap.skip("only root can start the daemons and make namespaces")


@tap.test("srun: four tasks, each with its own stormlog run, record into one folder; the job and its ranks are Slurm's")
def _(folder):
    need_root()
    daemons = []
    try:
        env = start_slurm(folder, daemons, 1)
        Path(f"{folder}/train.py").write_text(PROGRAM)
        for how in (("srun", "-n", "4", "--overcommit", stormlog, "run", "--", PYTHON, "train.py"),
                    (stormlog, "run", "-q", "--", "srun", "-n", "4", "--overcommit", PYTHON, "train.py")):
            work = Path(folder) / f"work-{how[0].rsplit('/', 1)[-1]}"
            work.mkdir()
            shutil.copy(f"{folder}/train.py", work)
            done = tap.run(list(how), env=env, cwd=work, timeout=300)
            tap.equal(done.returncode, 0, done.stderr[-2000:])
            runs = [path for path in (work / "stormlog-runs").iterdir() if not path.is_symlink()]
            tap.equal(len(runs), 1, f"run folders: {runs}")
            tap.equal(len(list(runs[0].glob("rank*.slog"))), 4, f"recordings: {os.listdir(runs[0])}")
            job = runs[0].name.split("-")[1] if how[0] == "srun" else None
            check_ranks(runs[0], job, [os.uname().nodename] * 4)
            if how[0] == "srun":
                tap.true(re.match(r"slurm-\d+-0-train$", runs[0].name), f"name of the folder: {runs[0].name}")
    finally:
        for daemon in reversed(daemons):
            daemon.stop()


class Sink(ThreadingHTTPServer):
    """Keeps the lines that are pushed to it."""

    def __init__(self):
        lines = self.lines = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                lines.extend(body.decode().splitlines())
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


@tap.test("contrib/slurm's TaskProlog and Epilog: tasks record where the agent looks, and the rest is pushed at the job's end")
def _(folder):
    need_root()
    daemons, sink = [], Sink()
    try:
        env = {**start_slurm(folder, daemons, sink.server_address[1]), "WITH_PROLOG": "1"}
        os.mkdir(f"{folder}/recordings")
        os.chmod(f"{folder}/recordings", 0o1777)
        Path(f"{folder}/train.py").write_text(PROGRAM)
        done = tap.run(["srun", "-n", "4", "--overcommit", stormlog, "run", "--", PYTHON, "train.py"], env=env, cwd=folder, timeout=300)
        tap.equal(done.returncode, 0, done.stderr[-2000:])
        runs = list(Path(f"{folder}/recordings").glob("root/job-*/slurm-*-0-train"))
        tap.equal(len(runs), 1, f"run folders: {list(Path(folder).glob('recordings/*/*/*'))} {list(Path(folder).glob('stormlog-runs/*'))}")
        job = runs[0].name.split("-")[1]
        check_ranks(runs[0], job, [os.uname().nodename] * 4)

        def pushed():
            return {(re.search('job="([^"]*)"', line)[1], re.search('rank="([^"]*)"', line)[1], line.split("} ")[1].split()[0])
                    for line in sink.lines if line.startswith("stormlog_step{")}
        wanted = {(job, str(rank), "39") for rank in range(4)}
        log = Path(f"{folder}/epilog.log")
        is_pushed = wait_for("the epilog", lambda: wanted <= pushed())
        tap.true(is_pushed, f"the last steps: {pushed()} {log.read_text() if log.exists() else ''}")
    finally:
        sink.shutdown()
        for daemon in reversed(daemons):
            daemon.stop()


@tap.test("two nodes as namespaces with hostnames of their own and a shared folder: one folder, four ranks, two hosts")
def _(folder):
    need_root()
    if not shutil.which("unshare"):
        tap.skip("no unshare here (package util-linux)")
    Path(f"{folder}/train.py").write_text(PROGRAM)
    started = []
    for rank in range(4):
        env = {**ENV, "RANK": str(rank), "LOCAL_RANK": str(rank % 2), "WORLD_SIZE": "4", "MASTER_ADDR": "nodeA", "MASTER_PORT": "29500"}
        host = "nodeA" if rank < 2 else "nodeB"
        command = f"hostname {host} && exec '{stormlog}' run -q -- {PYTHON} train.py"
        started.append(subprocess.Popen(["unshare", "--uts", "--net", "--pid", "--fork", "--mount-proc", "bash", "-c", command], env=env,
                                        cwd=folder, stderr=subprocess.PIPE, text=True))
    for process in started:
        _, errors = process.communicate(timeout=300)
        if "unshare failed" in errors or "Operation not permitted" in errors:
            tap.skip(f"no namespaces here: {errors.strip()}")
        tap.equal(process.returncode, 0, errors)
    runs = [path for path in Path(f"{folder}/stormlog-runs").iterdir() if not path.is_symlink()]
    tap.equal([path.name for path in runs], ["torch-nodeA-29500-train"], "run folders")
    check_ranks(runs[0], None, ["nodeA", "nodeA", "nodeB", "nodeB"])


tap.main()
