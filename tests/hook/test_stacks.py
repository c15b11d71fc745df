# SPDX-License-Identifier: MIT
"""Stacks as Python itself sees them, under every interpreter of this machine. Arguments: the program, the fakes' folder."""

import glob
import json
import os
import sys

import slog_totals
import tap

stormlog, fakes = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
HERE = os.path.dirname(os.path.abspath(__file__))
VERSIONS = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"]
WHERE_TO_LOOK = ["/usr/bin/python{}", "/usr/local/bin/python{}", os.path.expanduser("~/.pyenv/versions/{}.*/bin/python3")]


def find(version):
    return next((path for pattern in WHERE_TO_LOOK for path in sorted(glob.glob(pattern.format(version)))), None)


def check(version, folder):
    python = find(version)
    if not python:
        tap.skip(f"there is no Python {version} on this machine")
    out = os.path.join(folder, "run")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STORMLOG_")}
    result = tap.run([stormlog, "run", "-o", out, "--", python, f"{HERE}/stacks_program.py", f"{fakes}/libc10_cuda.so"],
                     env={**clean, "LD_LIBRARY_PATH": fakes, "PYTHONDONTWRITEBYTECODE": "1"})
    tap.equal(result.returncode, 0, result.stderr)
    expected, found = {}, {}
    for size, frames in json.loads(result.stdout).items():
        stack = tuple(tuple(frame) for frame in frames)
        expected[stack] = expected.get(stack, 0) + int(size)
    totals = slog_totals.load_all(out)[0]
    for site in totals.sites:  # the innermost frame is report() itself; the caller's frames are the program's own list
        stack = tuple(site.stack[1:])
        found[stack] = found.get(stack, 0) + site.alloc_bytes
    tap.true(len(expected) > 15, "the program has cases")
    tap.equal([stack for stack in expected if found.get(stack) != expected[stack]][:1], [], "stacks not found")
    tap.equal([stack for stack in found if stack not in expected][:1], [], "stacks found that were not there")
    tap.equal(totals.health["stack_failure"], 0, "stacks that could not be read")


# 2 ** depth ways through two functions, each twice; the tables begin with room for 16,384 sites and 131,072 frames of stacks.
MANY_STACKS = """
import ctypes, os, subprocess, sys
event = ctypes.CDLL(sys.argv[1]).fake_event
depth = int(sys.argv[2])
event.argtypes = [ctypes.c_uint64, ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
def left(way, left_over, size):
    walk(way, left_over, size)
def right(way, left_over, size):
    walk(way, left_over, size)
def walk(way, left_over, size):
    if left_over == 0:
        event(0x1000 * (size + 1), size, size, size, 0)
        event(0x1000 * (size + 1), -size, 0, size, 0)
    else:
        (right if way & 1 else left)(way >> 1, left_over - 1, size)
tracer = None
if len(sys.argv) > 3:  # the recorder's thread is stopped, so nothing grows any more
    ctypes.CDLL(None).prctl(0x59616d61, -1)  # PR_SET_PTRACER: the child may
    tracer = subprocess.Popen([sys.executable, "-c", sys.argv[3]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    walk(0, 1, 1)
    helper = 0
    while not helper:  # until the thread has its name
        names = {int(tid): open(f"/proc/self/task/{tid}/comm").read().strip() for tid in os.listdir("/proc/self/task")}
        helper = next((tid for tid, name in names.items() if name == "stormlog"), 0)
    print(helper, file=tracer.stdin, flush=True)
    print(tracer.stdout.readline().strip(), flush=True)
for _ in range(2):
    for way in range(2 ** depth):
        walk(way, depth, way + 1)
if tracer:
    tracer.kill()
    tracer.wait()
"""
STOP_THREAD = """
import ctypes, os, time
tid = int(input())
if ctypes.CDLL(None).ptrace(16, tid, None, None) == 0:  # PTRACE_ATTACH stops this one thread
    os.waitpid(tid, 0x40000000)  # __WALL
    print("stopped", flush=True)
    time.sleep(60)  # until it is killed
else:
    print("refused", flush=True)
"""


def run_many_stacks(folder, depth, *more):
    """How many allocations are at another site than their stack's; any other mistake fails."""
    out = os.path.join(folder, "run")
    result = tap.run([stormlog, "run", "-q", "-o", out, "--", sys.executable, "-c", MANY_STACKS, f"{fakes}/libc10_cuda.so",
                      str(depth), *more], env={**os.environ, "LD_LIBRARY_PATH": fakes})
    tap.equal(result.returncode, 0, result.stderr)
    if "refused" in result.stdout:
        tap.skip("this machine lets no process stop a thread of another (ptrace)")
    totals = slog_totals.load_all(out)[0]
    found = {}
    for site in totals.sites:
        turns = [function for function, _, _ in reversed(site.stack) if function in ("left", "right")]
        way = sum(1 << i for i, function in enumerate(turns) if function == "right")
        if len(turns) > 1:
            tap.equal((len(turns), len(site.stack), site.live_bytes, way in found), (depth, 2 * depth + 2, 0, False), f"way {way}")
            tap.equal(site.alloc_bytes, site.alloc_cnt * (way + 1), f"bytes of way {way}")
            found[way] = site.alloc_cnt
    missing = {way: 2 - found.get(way, 0) for way in range(2 ** depth) if found.get(way, 0) != 2}
    lost = sum(missing.values())
    no_room = [totals.health["stack_overflow"], totals.health["site_overflow"]]  # one allocation may meet both
    tap.true(max(no_room) <= lost <= sum(no_room), f"{lost} allocations away from their site, {no_room} counted")
    tap.equal(totals.common_bytes + sum(site.alloc_bytes for site in totals.sites if not site.stack),
              sum(count * (way + 1) for way, count in missing.items()), "bytes without a stack")
    return lost


@tap.test("with more stacks than the recorder's tables have at first, each stack keeps its own totals")
def _(folder):
    run_many_stacks(folder, 15)  # on a starved machine some may come before there is room, and are told


@tap.test("stacks that do not fit are dropped and counted, and do not affect the others")
def _(folder):
    lost = run_many_stacks(folder, 16, STOP_THREAD)
    tap.true(lost > 2 ** 16, f"{lost} allocations found no room; the recorder's thread was stopped, so most should")


def check_training(version, folder):
    """Objects found in frames: the optimizer for its tensors, the modules for their paths."""
    python = find(version)
    if not python:
        tap.skip(f"there is no Python {version} on this machine")
    out = os.path.join(folder, "run")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STORMLOG_")}
    result = tap.run([stormlog, "run", "-q", "--modules", "-o", out, "--", python, f"{HERE}/fake_training.py"],
                     env={**clean, "LD_LIBRARY_PATH": fakes, "FAKES": fakes, "PYTHONPATH": f"{HERE}/fake_torch",
                          "PYTHONDONTWRITEBYTECODE": "1"})
    tap.equal(result.returncode, 0, result.stderr)
    expected = json.loads(result.stdout)
    layers = expected.pop("layers")
    recording, = glob.glob(f"{out}/*.slog")
    events = [json.loads(line) for line in
              tap.run([stormlog, "cat", "--stacks", "--format", "json", recording]).stdout.splitlines()]
    found = {}
    for event in events:
        if event["kind"] == "annotate" and event["addr"]:
            found[event["tag"]] = found.get(event["tag"], 0) + event["size"]
    tap.equal(found, expected, "annotated bytes by tag")
    paths = [frame["function"] for event in events if event["kind"] == "alloc"
             for frame in event["frames"] if frame["file"] == "<module>"]
    # The allocation that made the recorder ask for the paths has none yet.
    tap.equal([path for path in layers if not layers[path] - 1 <= paths.count(path) <= layers[path]], [], f"paths in {paths}")
    tap.equal(set(paths) - set(layers), set(), "paths that no module has")


@tap.test("Python does not warn about a fork, because the recorder's thread is stopped during it")
def _(folder):
    python = find("3.12") or find("3.13") or find("3.14")
    if not python:
        tap.skip("there is no Python that looks for threads before it forks (3.12 and later)")
    source = """
import ctypes, os, sys, time, warnings
warnings.simplefilter("error")
event = ctypes.CDLL(sys.argv[1]).fake_event
event.argtypes = [ctypes.c_uint64, ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
event(0x1000, 512, 512, 512, 0)
while len(os.listdir("/proc/self/task")) < 2:  # the program and the recorder, whose thread takes its time to start
    time.sleep(0.01)
if os.fork() == 0:
    event(0x2000, 512, 512, 512, 0)
    os._exit(0)
os.wait()
event(0x3000, 512, 512, 512, 0)
"""
    out = os.path.join(folder, "run")
    result = tap.run([stormlog, "run", "-q", "-o", out, "--", python, "-c", source, f"{fakes}/libc10_cuda.so"],
                     env={**os.environ, "LD_LIBRARY_PATH": fakes})
    tap.equal(result.returncode, 0, result.stderr)
    tap.equal(sorted(row.sum("alloc_cnt", 0) for row in slog_totals.load_all(out)), [1, 2], "allocations by process")


for name in VERSIONS:
    tap.test(f"Python {name}")(lambda folder, version=name: check(version, folder))
    tap.test(f"Python {name}: optimizers and modules are found in frames")(
        lambda folder, version=name: check_training(version, folder))

tap.main()
