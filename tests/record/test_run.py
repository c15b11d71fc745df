# SPDX-License-Identifier: MIT
"""`stormlog run` with a real torch on the CPU: what is recorded. Arguments: the program, the oracle's library."""

import json
import os
import signal
import socket
import subprocess
import sys

import slog_totals
import tap
from plain_torch import PYTHON, need_torch
from recorded_run import PROGRAMS, clean_env, losses, one, python, record, stormlog, sums

oracle = os.path.abspath(sys.argv.pop(1))


@tap.test("counts and bytes equal those of the independent counter")
def _(folder):
    need_torch(stormlog)
    out = os.path.join(folder, "oracle.txt")
    command = [PYTHON, f"{PROGRAMS}/train.py", "Adam", "50"]
    tap.run(command, check=True, env=clean_env(LD_PRELOAD=oracle, ORACLE_OUT=out))
    expected = [int(number) for number in open(out).read().split()]
    _, totals = record(folder, *command)
    tap.true(expected[0] > 1000, f"a program with many allocations, not {expected[0]}")
    tap.equal(sums(one(totals)), expected, "allocs, bytes, frees, bytes")
    tap.equal(losses(totals[0]), {}, "health")
    tap.true(totals[0].is_closed, "the recording is closed after a normal end")


@tap.test("the site of a leak has the right line and the right bytes")
def _(folder):
    result, totals = record(folder, *python(folder, """
import os, torch
kept = []
def keep(n):
    kept.append(torch.ones(n))      # line 5
for i in range(20):
    keep(1000)
torch.ones(10)                      # line 8
os._exit(0)                         # leaves the blocks live
"""))
    sites = one(totals).at_line("program.py", 5)
    tap.equal([(site.alloc_cnt, site.live_bytes, site.free_cnt) for site in sites], [(20, 80000, 0)])
    tap.equal([frame[0] for frame in sites[0].stack], ["keep", "<module>"], "functions, innermost first")
    tap.equal([frame[2] for frame in sites[0].stack], [5, 7], "lines")
    tap.equal([(s.alloc_cnt, s.live_bytes) for s in totals[0].at_line("program.py", 8)], [(1, 0)])


@tap.test("lines are right in loops, generators, lambdas, comprehensions and long functions")
def _(folder):
    source = """import torch
def generator():
    yield torch.ones(1)
    x = (1 +
         2)
    yield torch.ones(2)
make = lambda n: torch.ones(n)
class Maker:
    def __call__(self, n):
        return torch.ones(n)
def long():
""" + "    pass\n" * 3 + "".join(f"    a{i} = [{i}, {i}]\n" for i in range(400)) + """    return torch.ones(
        5)
list(generator())
make(3)
Maker()(4)
long()
try:
    raise ValueError
except ValueError:
    torch.ones(6)
"""
    sizes = {4: (3, "generator"), 8: (6, "generator"), 12: (7, "<lambda>"), 16: (10, "Maker.__call__"),
             20: (415, "long"), 24: (424, "<module>")}
    _, totals = record(folder, *python(folder, source))
    found = {site.alloc_bytes: (site.stack[0][2], site.stack[0][0]) for site in one(totals).sites}
    tap.equal({size: found.get(size) for size in sizes}, sizes, "line and function by size")


@tap.test("names that are not ASCII are kept, and stacks deeper than the limit are cut")
def _(folder):
    _, totals = record(folder, *python(folder, """
import sys, torch
sys.setrecursionlimit(10000)
def größe(n):
    return torch.ones(7) if n == 0 else größe(n - 1)
größe(3)
def 深い(n):
    return torch.ones(9) if n == 0 else 深い(n - 1)
深い(500)
"""))
    by_size = {site.alloc_bytes: site.stack for site in one(totals).sites}
    tap.equal([frame[0] for frame in by_size[28]], ["größe"] * 4 + ["<module>"], "short stack")
    tap.equal(len(by_size[36]), 161, "frames of the deep stack and the mark that more were there")
    tap.equal((by_size[36][0][0], by_size[36][-1][0]), ("深い", "<more frames>"), "its ends")


@tap.test("code objects that reuse the address of a freed one have their own lines")
def _(folder):
    _, totals = record(folder, *python(folder, """
import torch
for i in range(300):
    scope = {"torch": torch}
    exec(compile("\\n" * (i % 7) + f"def f{i}():\\n    return torch.ones({1000 + i})\\nf{i}()", f"made_{i}.py", "exec"), scope)
    del scope
"""))
    wrong = [site.stack[:1] for site in one(totals).sites if site.alloc_bytes >= 4000
             and site.stack[0] != (f"f{site.alloc_bytes // 4 - 1000}", f"made_{site.alloc_bytes // 4 - 1000}.py",
                                   (site.alloc_bytes // 4 - 1000) % 7 + 2)]
    tap.equal(wrong, [], "sites with another function's line")


@tap.test("after kill -9 nothing that was reported before is lost")
def _(folder):
    need_torch(stormlog)
    out = os.path.join(folder, "run")
    process = subprocess.Popen([stormlog, "run", "-o", out, "--", PYTHON, f"{PROGRAMS}/kill_me.py"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env())
    last = 0
    while last < 20000:
        last = int(process.stdout.readline() or 1e9)
    tracked = slog_totals.load_all(out)
    os.kill(one(tracked).pid, signal.SIGKILL)
    last = int((process.stdout.read().split() or [last])[-1])
    process.wait(60)
    tap.equal(process.returncode, 128 + signal.SIGKILL, "exit code")
    totals = one(slog_totals.load_all(out))
    tap.true(totals.sum("alloc_cnt") in (last, last + 1), f"{totals.sum('alloc_cnt')} recorded, {last} were told")
    tap.equal(totals.is_closed, False, "closed")
    tap.equal(losses(totals), {}, "health")


@tap.test("torch.profiler sees the same memory events with and without the recorder")
def _(folder):
    need_torch(stormlog)
    command = [PYTHON, f"{PROGRAMS}/profiled.py"]
    alone = json.loads(tap.run(command, check=True, env=clean_env()).stdout)
    result, _ = record(folder, *command)
    tap.true(len(alone) > 10, "the profiler sees events at all")
    tap.equal(json.loads(result.stdout), alone, "memory events")


@tap.test("steps are found without a change to the program")
def _(folder):
    for name in ("SGD", "Adam", "RMSprop"):
        sub = os.path.join(folder, name)
        os.mkdir(sub)
        _, totals = record(sub, PYTHON, f"{PROGRAMS}/train.py", name, "7")
        tap.equal(one(totals).steps, list(range(1, 8)), f"steps of {name}")


@tap.test("two optimizers in one loop give one step per iteration")
def _(folder):
    _, totals = record(folder, *python(folder, """
import torch
a, b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
first, second = torch.optim.SGD(a.parameters(), 0.1), torch.optim.Adam(b.parameters(), 0.1)
for i in range(5):
    for net, optimizer in ((a, first),):
        optimizer.zero_grad(); net(torch.ones(2, 4)).sum().backward(); optimizer.step()
    second.zero_grad(); b(torch.ones(2, 4)).sum().backward(); second.step()
"""))
    tap.equal(one(totals).steps, [1, 2, 3, 4, 5])


@tap.test("forked children and DataLoader workers get a file each")
def _(folder):
    _, totals = record(folder, *python(folder, """
import os, torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return torch.ones(100 + i)     # line 5
x = torch.ones(50)
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        y = torch.ones(60)     # line 10
        os._exit(0)
    os.waitpid(pid, 0)
n = sum(len(b) for b in torch.utils.data.DataLoader(Data(), batch_size=None, num_workers=2))
z = torch.ones(70)             # line 14
"""))
    tap.equal(len(totals), 5, "files: the program, two children, two workers")
    tap.equal(len({row.pid for row in totals}), 5, "different processes")
    tap.equal(sum(len(row.at_line("program.py", 10)) for row in totals), 2, "children with their own line")
    worked = sum(site.alloc_cnt for row in totals for site in row.at_line("program.py", 5))
    tap.equal(worked, 8, "items made in the workers")
    parent = [row for row in totals if row.at_line("program.py", 14)]
    tap.equal(len(parent), 1, "files with the line after the forks")
    tap.equal([losses(row) for row in parent], [{}], "health of the parent")


@tap.test("with many threads nothing is lost, and the counts are exact")
def _(folder):
    _, totals = record(folder, *python(folder, """
import threading, torch
def work():
    for i in range(2000):
        torch.empty(64)        # line 5
threads = [threading.Thread(target=work) for _ in range(16)]
[t.start() for t in threads]; [t.join() for t in threads]
"""))
    sites = one(totals).at_line("program.py", 5)
    tap.equal(sum(site.alloc_cnt for site in sites), 32000)
    tap.equal(sum(site.free_cnt for site in sites), 32000)
    tap.equal(losses(totals[0]), {}, "health")


@tap.test("a process that replaces itself with exec has one file for each program")
def _(folder):
    _, totals = record(folder, *python(folder, """
import os, sys, torch
x = torch.ones(100)
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, __file__, "again"])
"""))
    tap.equal(len(totals), 2, "files")
    tap.equal(len({row.pid for row in totals}), 1, "processes")


@tap.test("os._exit and an uncaught exception leave a readable file")
def _(folder):
    result, totals = record(folder, *python(folder, "import torch\nx = torch.ones(100)\nraise KeyError('mine')\n"),
                            check=False)
    tap.equal(result.returncode, 1, "exit code")
    tap.contains(result.stderr, "KeyError: 'mine'")
    tap.equal(one(totals).sum("alloc_cnt"), 1)


@tap.test("identity comes from the launcher's variables")
def _(folder):
    env = clean_env(RANK="5", LOCAL_RANK="1", WORLD_SIZE="8", SLURM_JOB_ID="4711")
    _, totals = record(folder, *python(folder, "import torch; torch.ones(1)"), env=env)
    row = one(totals)
    tap.equal((row.rank, row.local_rank, row.world_size, row.job), (5, 1, 8, "4711"))
    tap.true(os.path.basename(row.path).startswith("rank5-"), f"the rank is in the name {row.path}")


@tap.test("--no-cpu records no CPU blocks, and --stacks none no stacks")
def _(folder):
    source = python(folder, "import torch; torch.ones(1)")
    result, totals = record(folder, *source, options=["--no-cpu"])
    tap.equal(len(totals), 0, "recordings")
    tap.contains(result.stderr, "no process wrote memory events")
    _, totals = record(folder, *source, options=["--stacks", "none"])
    tap.equal([(site.alloc_cnt, site.stack) for site in one(totals).sites], [(1, [])])


@tap.test("torchrun: each rank has its file, named after it")
def _(folder):
    need_torch(stormlog)
    store = "from torch.distributed import TCPStore; TCPStore('127.0.0.1', 0, 1, True)"
    if "without libuv" in tap.run([PYTHON, "-c", store]).stderr:
        tap.skip("this torch was built without libuv, and its launcher cannot do without")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = python(folder, """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
x = torch.ones(1000 * (1 + dist.get_rank()))      # line 4
dist.barrier()
""")[1]
    # The launcher of torch 1.13 cannot do without these two under Python 3.11.
    launcher = ["-m", "torch.distributed.run", "--redirects", "1", "--tee", "1", "--log_dir", f"{folder}/logs"]
    _, totals = record(folder, PYTHON, *launcher, "--nproc_per_node", "2", "--master_port", str(port), program,
                       env=clean_env(OMP_NUM_THREADS="1"), timeout=120)
    tap.equal(sorted((row.rank, row.local_rank, row.world_size) for row in totals), [(0, 0, 2), (1, 1, 2)], "ranks")
    for row in totals:
        tap.true(os.path.basename(row.path).startswith(f"rank{row.rank}-"), row.path)
        tap.equal([site.alloc_bytes for site in row.at_line("program.py", 4)], [4000 * (1 + row.rank)], "its own line")


@tap.test("a leak is found although the program frees everything when it ends")
def _(folder):
    result, _ = record(folder, PYTHON, f"{PROGRAMS}/train.py", "Adam", "200")
    line = json.loads(result.stdout)["leak_line"]
    report = json.loads(tap.run([stormlog, "analyze", "--format", "json", f"{folder}/run"], check=True).stdout)
    tap.equal((report["verdict"], report["findings"][0]["site"]["line"]), ("leak", line), "verdict and line")
    tap.equal(report["devices"][0]["steps"], 200, "steps")


@tap.test("a recording can be read while it is written")
def _(folder):
    need_torch(stormlog)
    out = os.path.join(folder, "run")
    command = python(folder, "import sys, torch\nx = torch.ones(100)\nprint('ready', flush=True)\nsys.stdin.read()\n")
    process = subprocess.Popen([stormlog, "run", "-o", out, "--", *command], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env())
    process.stdout.readline()
    live = one(slog_totals.load_all(out))
    tap.equal((live.sum("live_bytes"), live.is_closed), (400, False))
    picture = tap.run([stormlog, "top", "--once", str(live.pid)])
    tap.equal(picture.returncode, 0, picture.stderr)
    tap.contains(picture.stdout, f"process {live.pid}, live, ")
    recording = json.loads(tap.run([stormlog, "top", "--format", "json", str(live.pid)], check=True).stdout)[0]
    tap.equal([(row["device"], row["tensors_bytes"], row["card_used_bytes"]) for row in recording["devices"]], [(-1, 400, None)],
              "the host's memory in JSON")
    launcher = tap.run([stormlog, "top", "--once", str(process.pid)])
    tap.contains(launcher.stdout, f"process {live.pid}, live, ", f"the launcher's number: {launcher.stderr}")
    process.communicate(b"", timeout=60)
    tap.equal(one(slog_totals.load_all(out)).is_closed, True, "closed at the end")
    gone = tap.run([stormlog, "top", "--once", str(process.pid)])
    tap.contains(gone.stderr, f"there is no process {process.pid}; for a run that has ended, give its folder")


@tap.test("the host's counters are recorded, and unknown ones have a reason")
def _(folder):
    _, totals = record(folder, *python(folder, "import time, torch\nx = torch.ones(1)\ntime.sleep(0.3)\n"))
    counters = one(totals).counters
    tap.true(counters[("host_rss", -1)][0] > 1 << 20, f"resident bytes: {counters}")
    for name, (value, why) in counters.items():
        tap.true(value is not None or why, f"{name} has a value or a reason")


tap.main()
