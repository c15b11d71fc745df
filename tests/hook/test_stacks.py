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


@tap.test("more stacks than the recorder's table begins with: each keeps its own totals")
def _(folder):
    depth = 12  # 4,096 ways through two functions
    source = f"""
import ctypes, sys
event = ctypes.CDLL(sys.argv[1]).fake_event
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
for _ in range(3):
    for way in range(2 ** {depth}):
        walk(way, {depth}, way + 1)
"""
    out = os.path.join(folder, "run")
    result = tap.run([stormlog, "run", "-q", "-o", out, "--", sys.executable, "-c", source, f"{fakes}/libc10_cuda.so"],
                     env={**os.environ, "LD_LIBRARY_PATH": fakes})
    tap.equal(result.returncode, 0, result.stderr)
    found = {}
    for site in slog_totals.load_all(out)[0].sites:
        turns = [function for function, _, _ in reversed(site.stack) if function in ("left", "right")]
        way = sum(1 << i for i, function in enumerate(turns) if function == "right")
        found[way] = (len(turns), site.alloc_cnt, site.alloc_bytes, site.live_bytes)
    tap.equal(found, {way: (depth, 3, 3 * (way + 1), 0) for way in range(2 ** depth)}, "totals by way")


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


@tap.test("a fork is not warned about: the recorder's thread is gone while the program forks")
def _(folder):
    python = find("3.12") or find("3.13") or find("3.14")
    if not python:
        tap.skip("there is no Python that looks for threads before it forks (3.12 and later)")
    source = """
import ctypes, os, sys, warnings
warnings.simplefilter("error")
event = ctypes.CDLL(sys.argv[1]).fake_event
event.argtypes = [ctypes.c_uint64, ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
event(0x1000, 512, 512, 512, 0)
assert len(os.listdir("/proc/self/task")) == 2, "the program's thread and the recorder's"
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
