# SPDX-License-Identifier: MIT
"""`stormlog run` with a real torch on the CPU. Arguments: the program, the oracle's library."""

import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys

import slog_totals
import tap
from plain_torch import PYTHON, need_torch

stormlog, oracle = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
LIBRARY = os.path.join(os.path.dirname(stormlog), "libstormlog_record.so")

def need_preload():
    tap.skip_if_sanitized(stormlog)


def clean_env(**more):
    env = {name: value for name, value in os.environ.items()
           if not re.match(r"STORMLOG_|LD_PRELOAD|RANK$|LOCAL_RANK$|WORLD_SIZE$|SLURM_|OMPI_|PMI", name)}
    return {**env, **more}


def record(folder, *command, options=(), check=True, **settings):
    """Runs a command under `stormlog run`; returns (result, totals of its recordings)."""
    need_torch(stormlog)
    settings.setdefault("env", clean_env())
    out = os.path.join(folder, "run")
    result = tap.run([stormlog, "run", "-o", out, *options, "--", *command], **settings)
    if check:
        tap.equal(result.returncode, 0, f"exit code; stderr was: {result.stderr}")
    return result, slog_totals.load_all(out)


def python(folder, source):
    """A command that runs this source from a file of its own."""
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write(source)
    return [PYTHON, path]


def one(totals):
    tap.equal(len(totals), 1, "number of recordings")
    return totals[0]


def sums(totals):
    return [totals.sum(name) for name in ("alloc_cnt", "alloc_bytes", "free_cnt", "free_bytes")]


def losses(totals):
    return {name: count for name, count in totals.health.items() if count and name != "sample_failure"}


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


@tap.test("with STORMLOG_DISABLE=1 nothing is recorded, and one line says so")
def _(folder):
    result, totals = record(folder, *python(folder, "import torch; print(torch.ones(1))"),
                            env=clean_env(STORMLOG_DISABLE="1"))
    tap.equal(result.stdout, "tensor([1.])\n")
    tap.equal(os.path.exists(os.path.join(folder, "run")), False, "a folder was left")
    tap.contains(result.stderr, "recording is disabled: STORMLOG_DISABLE is set")


@tap.test("--no-cpu records no CPU blocks, and --stacks none no stacks")
def _(folder):
    source = python(folder, "import torch; torch.ones(1)")
    result, totals = record(folder, *source, options=["--no-cpu"])
    tap.equal(len(totals), 0, "recordings")
    tap.contains(result.stderr, "this run had no memory events")
    _, totals = record(folder, *source, options=["--stacks", "none"])
    tap.equal([(site.alloc_cnt, site.stack) for site in one(totals).sites], [(1, [])])


@tap.test("a folder that cannot be written to gives one line, and the program continues")
def _(folder):
    need_torch(stormlog)
    result = tap.run(python(folder, "import torch; print(torch.ones(1), torch.ones(2))"),
                     env=clean_env(LD_PRELOAD=LIBRARY, STORMLOG_DIR="/proc/nowhere/run"))
    tap.equal(result.returncode, 0)
    tap.equal(result.stdout, "tensor([1.]) tensor([1., 1.])\n")
    tap.equal(len(result.stderr.splitlines()), 1, "lines on stderr: " + result.stderr)
    tap.contains(result.stderr, "/proc/nowhere/run")


@tap.test("without permission for the folder of -o there is one line, and the program runs unrecorded")
def _(folder):
    need_preload()
    closed = os.path.join(folder, "closed")
    os.mkdir(closed, 0o555)
    places = ["/proc/nowhere/run", os.path.join(folder, "closed", "run")]
    for place in places[:1] if os.geteuid() == 0 else places:
        result = tap.run([stormlog, "run", "-o", place, "--", "sh", "-c", "echo on; exit 6"], env=clean_env())
        tap.equal((result.returncode, result.stdout), (6, "on\n"), result.stderr)
        tap.equal(len(result.stderr.splitlines()), 1, result.stderr)
        tap.contains(result.stderr, f"cannot create the folder '{place}'")
        tap.contains(result.stderr, "it runs unrecorded")


@tap.test("a full disk gives one line at the start, or a counted loss later, and the program continues")
def _(folder):
    need_torch(stormlog)
    place, source = os.path.join(folder, "small"), python(folder, """
import torch
for i in range(400000):
    torch.empty(64)
print("done")
""")
    os.mkdir(place)
    if tap.run(["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place]).returncode != 0:
        tap.skip("no small file system can be mounted here")

    def run_in(size):
        command = f"mount -t tmpfs -o size={size} tmpfs {place} && '{stormlog}' run -o {place}/run -- {' '.join(source)};" \
                  f" echo exit $?; ls -A {place}; '{stormlog}' fsck {place}/run"
        return tap.run(["unshare", "-rm", "sh", "-c", command], env=clean_env())

    result = run_in("2m")
    tap.equal(result.stdout, "done\nexit 0\n", "nothing is left; " + result.stderr)
    tap.contains(result.stderr, "stormlog: not recording: cannot create ")
    tap.contains(result.stderr, "No space left on device; the program continues")
    result = run_in("24m")
    tap.true(result.stdout.startswith("done\nexit 0\n"), result.stdout + result.stderr)
    tap.contains(result.stdout, "regions that could not grow (disk full?)")
    tap.contains(result.stdout, "no damage found")


@tap.test("without space for the file there is one line, no file is left, and the program continues")
def _(folder):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    result, totals = record(folder, *python(folder, "import torch; print(torch.ones(1))"), preexec_fn=limit)
    tap.equal(result.stdout, "tensor([1.])\n")
    tap.contains(result.stderr, "stormlog: not recording: ")
    tap.equal(len(totals), 0, "recordings left")


@tap.test("the exit code is the program's, 127 if it does not exist, and 126 if it is not executable")
def _(folder):
    need_preload()
    env, out = clean_env(), os.path.join(folder, "x")

    def run(*command):
        result = tap.run([stormlog, "run", "-o", out, "--", *command], env=env)
        return result.returncode, result.stderr

    tap.equal(run("sh", "-c", "exit 7"),
              (7, "stormlog: nothing was recorded: this run had no memory events\n"))
    tap.equal(run("sh", "-c", "kill -SEGV $$")[0], 128 + signal.SIGSEGV)
    tap.equal(run("no-such-command"), (127, "stormlog: cannot run 'no-such-command': there is no such command in PATH\n"))
    tap.equal(run("/etc/passwd"), (126, "stormlog: cannot run '/etc/passwd': it is not executable\n"))
    tap.equal(os.path.exists(out), False, "an empty folder was left")


@tap.test("programs that cannot load a library run unrecorded, with a message")
def _(folder):
    source, static = os.path.join(folder, "s.c"), os.path.join(folder, "static")
    with open(source, "w") as file:
        file.write('#include <unistd.h>\nint main(void) { return write(1, "hello\\n", 6) == 6 ? 3 : 4; }\n')
    if not shutil.which("gcc") or tap.run(["gcc", "-static", "-o", static, source]).returncode != 0:
        tap.skip("no gcc, or no static libc, to build the case with")
    result = tap.run([stormlog, "run", "--", static], env=clean_env(), cwd=folder)
    tap.equal((result.returncode, result.stdout), (3, "hello\n"))
    tap.contains(result.stderr, "statically linked")
    tap.equal(sorted(os.listdir(folder)), ["s.c", "static"], "files left")


@tap.test("a 32-bit program runs unrecorded, with a message")
def _(folder):
    path = os.path.join(folder, "program32")
    code = bytes([0xb8, 1, 0, 0, 0, 0xbb, 5, 0, 0, 0, 0xcd, 0x80])      # exit(5), by the i386 system call
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 84 + len(code), 84 + len(code), 5, 0x1000)
    with open(path, "wb") as file:
        file.write(header + segment + code)
    os.chmod(path, 0o755)
    try:
        if subprocess.run([path]).returncode != 5:
            tap.skip("this kernel does not run 32-bit programs as expected")
    except OSError as error:
        tap.skip(f"this kernel runs no 32-bit programs: {error}")
    result = tap.run([stormlog, "run", "--", path], env=clean_env(), cwd=folder)
    tap.equal(result.returncode, 5, result.stderr)
    tap.contains(result.stderr, "it is not a 64-bit program for this processor; it runs unrecorded")
    tap.equal(os.listdir(folder), ["program32"], "files left")


@tap.test("a setuid program runs unrecorded, with a message")
def _(folder):
    path = os.path.join(folder, "id")
    shutil.copy("/usr/bin/id", path)
    if os.geteuid() != 0:
        tap.skip("only root can make a program of another owner")
    os.chown(path, 12345, -1)
    os.chmod(path, 0o4755)
    result = tap.run([stormlog, "run", "--", path, "-u"], env=clean_env(), cwd=folder)
    tap.equal((result.returncode, len(result.stderr.splitlines())), (0, 1), result.stderr)
    tap.contains(result.stderr, "it is setuid, setgid or has capabilities")
    tap.equal(os.listdir(folder), ["id"], "files left")
    os.chown(path, os.geteuid(), -1)
    os.chmod(path, 0o4755)
    result = tap.run([stormlog, "run", "--", path, "-u"], env=clean_env(), cwd=folder)
    tap.contains(result.stderr, "this run had no memory events", "the caller's own program gains no rights: it is recorded")


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


@tap.test("a run with an alert says so once, and top shows it")
def _(folder):
    source = python(folder, "import time, torch\nx = torch.ones(1)\ntime.sleep(0.5)\n")
    result, _ = record(folder, *source, options=["--alert-host", "1%"])
    lines = [line for line in result.stderr.splitlines() if "alert" in line]
    tap.equal(len(lines), 1, result.stderr)
    tap.contains(lines[0], "stormlog: alert: host: 1 % or more of the host's memory is used (")
    tap.contains(tap.run([stormlog, "top", f"{folder}/run"]).stdout, ": 1 % or more of the host's memory is used")
    os.mkdir(f"{folder}/off")
    result, totals = record(f"{folder}/off", *source, options=["--alert-host", "off", "--alert-device", "off"])
    tap.true("alert" not in result.stderr, result.stderr)
    for wrong in ("0", "101%", "9x", "-1"):
        result = tap.run([stormlog, "run", "--alert-device=" + wrong, "--", "true"])
        tap.equal((result.returncode, result.stderr),
                  (2, f"stormlog: option '--alert-device': expected 1% to 100%, or off, found '{wrong}'; see 'stormlog run --help'\n"))


@tap.test("a value outside its limits is refused before the command runs")
def _():
    for options, expected in (
            (["--interval", "9ms"], "option '--interval': expected 10 to 60000 milliseconds, found '9ms'"),
            (["--interval", "2min"], "option '--interval': expected 10 to 60000 milliseconds, found '2min'"),
            (["--ring", "2TiB"], "option '--ring': expected at most 1.00 TiB, such as 256MiB, found '2TiB'"),
            (["--cpu", "--no-cpu"], "give either --cpu or --no-cpu, not both")):
        result = tap.run([stormlog, "run", *options, "--", "echo", "ran"])
        tap.equal((result.returncode, result.stdout, result.stderr.split("; see")[0].strip()),
                  (2, "", "stormlog: " + expected), " ".join(options))


@tap.test("signals are passed on to the program")
def _(folder):
    need_preload()
    process = subprocess.Popen([stormlog, "run", "-o", os.path.join(folder, "run"), "--", PYTHON, "-u", "-c", """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(55))
print("ready")
signal.pause()
"""], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env())
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    tap.equal(process.returncode, 55, "the handler's own exit code")


@tap.test("`latest` in the default folder is the last recorded run; a run without memory events leaves nothing")
def _(folder):
    need_torch(stormlog)
    env = clean_env()
    tap.run([stormlog, "run", "--", "true"], env=env, cwd=folder, check=True)
    tap.equal(os.listdir(folder), [], "left after a run without memory")
    command = python(folder, "import torch; torch.ones(1)")
    tap.run([stormlog, "run", "--", *command], env=env, cwd=folder, check=True)
    runs = os.path.join(folder, "stormlog-runs")
    names = sorted(os.listdir(runs))
    tap.equal(len(names), 2, "entries")
    tap.true(re.fullmatch(r"\d{8}T\d{6}Z-program", names[0]), f"name of the run: {names[0]}")
    tap.equal(os.readlink(os.path.join(runs, "latest")), names[0], "latest")
    tap.run([stormlog, "run", "--", "true"], env=env, cwd=folder, check=True)
    tap.equal(sorted(os.listdir(runs)), names, "entries after a run without memory")
    tap.equal(os.readlink(os.path.join(runs, "latest")), names[0], "latest, restored")


@tap.test("the three lines at the end say where the run is, what it shows, and what to type next")
def _(folder):
    result, totals = record(folder, *python(folder, """
import os, torch
net = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
kept = []
for i in range(200):
    optimizer.zero_grad(); net(torch.randn(8, 64)).sum().backward(); optimizer.step()
    kept.append(torch.ones(1000))
os._exit(0)
"""))
    lines = result.stderr.splitlines()
    tap.equal(len(lines), 3, "closing lines: " + result.stderr)
    tap.equal(lines[0], f"stormlog: recorded 1 process in {folder}/run")
    tap.contains(lines[1], "stormlog: Leak: ")
    tap.contains(lines[1], "program.py:8 in <module> leaks 3.91 KiB per step")
    tap.equal(lines[2], f"stormlog: next: stormlog analyze {totals[0].path}")
    tap.equal(tap.run([stormlog, *lines[2].split()[3:]]).returncode, 0, "exit code of what it says to type")
    picture = tap.run([stormlog, "top", f"{folder}/run"])
    tap.equal(picture.returncode, 0, picture.stderr)
    tap.contains(picture.stdout, "781 KiB        200  ")
    tap.contains(picture.stdout, "program.py:8 in <module>\n")


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


@tap.test("top reports a process that is not recorded, or has recorded nothing yet")
def _(folder):
    plain = subprocess.Popen(["sleep", "60"], env=clean_env())
    idle = subprocess.Popen(["sleep", "60"], env={**clean_env(), "STORMLOG_DIR": folder})
    try:
        for process, words in ((plain, "nor a child of it is recorded"), (idle, "has not allocated PyTorch memory yet")):
            done = tap.run([stormlog, "top", "--once", str(process.pid)])
            tap.equal(done.returncode, 3, "exit code")
            tap.contains(done.stderr, words)
    finally:
        for process in (plain, idle):
            process.kill()
            process.wait()


@tap.test("the host's counters are recorded, and unknown ones have a reason")
def _(folder):
    _, totals = record(folder, *python(folder, "import time, torch\nx = torch.ones(1)\ntime.sleep(0.3)\n"))
    counters = one(totals).counters
    tap.true(counters[("host_rss", -1)][0] > 1 << 20, f"resident bytes: {counters}")
    for name, (value, why) in counters.items():
        tap.true(value is not None or why, f"{name} has a value or a reason")


tap.main()
