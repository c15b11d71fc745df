# SPDX-License-Identifier: MIT
"""--stacks native: which code allocated the memory, in programs with and without Python.

Arguments: the program, the target, the folder of the fakes.
"""

import json
import os
import shutil
import subprocess
import sys

import slog_totals
import tap

stormlog, target, fakes = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
PYTHON = "/usr/bin/python3"


def record(folder, command, options=("--stacks", "native"), **env):
    """Standard output as facts, and for each alloc its frames (file, line, function), innermost first."""
    out = os.path.join(folder, "run")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("STORMLOG_", "CUDA_"))}
    result = tap.run([stormlog, "run", "-o", out, *options, "--", *command],
                     env={**clean, "LD_LIBRARY_PATH": fakes, **env})
    tap.equal(result.returncode, 0, result.stderr)
    facts = dict(line.split() for line in result.stdout.splitlines())
    path = next(entry.path for entry in os.scandir(out) if entry.name.endswith(".slog"))
    return facts, path


def stacks_of(path):
    result = tap.run([stormlog, "export", "--to", "events-json", path])
    tap.equal(result.returncode, 0, result.stderr)
    data = json.loads(result.stdout)
    frames = [(file, line, function) for function, file, line in data["frames"]]
    return [[frames[i] for i in stack] for stack in data["stacks"] if stack]


def functions(stack):
    return [function.rsplit("+0x", 1)[0] for _, _, function in stack]


def analyze(path):
    result = tap.run([stormlog, "analyze", path])
    tap.equal(result.returncode, 0, result.stderr)
    return result.stdout


@tap.test("a C program's own function is the user's line")
def _(folder):
    _, path = record(folder, [target, "user"])
    stack = stacks_of(path)[0]
    tap.equal(functions(stack)[:4], ["inner_take", "outer_take", "user", "main"], stack)
    tap.equal({os.path.basename(file) for file, _, _ in stack[:4]}, {"native_target"})
    tap.contains(analyze(path), "native_target in inner_take+0x")


@tap.test("frames of the CUDA runtime are not taken for the user's")
def _(folder):
    facts, path = record(folder, [target, "runtime"])
    tap.equal(facts["result"], "0")
    tap.contains(analyze(path), "native_target in own_buffers+0x")


@tap.test("stripped code is shown as its library and offset")
def _(folder):
    stripped = os.path.join(folder, "stripped")
    subprocess.run(["strip", "-o", stripped, target], check=True)
    _, path = record(folder, [stripped, "user"])
    stack = stacks_of(path)[0]
    tap.equal(os.path.basename(stack[0][0]), "stripped")
    tap.equal(stack[0][2][:3], "+0x", stack)
    tap.contains(analyze(path), "stripped in +0x")


@tap.test("no wrong names are shown for a program that was replaced on disk")
def _(folder):
    copy = os.path.join(folder, "copy")
    shutil.copy(target, copy)
    # It is gone by the time its names would be read.
    _, path = record(folder, ["/bin/sh", "-c", f"exec 3< {copy}; rm {copy}; exec /proc/self/fd/3 user"])
    stack = stacks_of(path)[0]
    tap.equal(functions(stack)[:3], ["", "", ""], stack)


@tap.test("recording an event makes no system call, takes no lock and allocates nothing")
def _(folder):
    for stacks in ("native", "python"):
        facts, path = record(os.path.join(folder, stacks), [target, "steady"], options=("--stacks", stacks))
        tap.equal(facts, {"mallocs": "0", "locks": "0"}, stacks)
        tap.equal(slog_totals.load_all(os.path.dirname(path))[0].sum("alloc_cnt", 0), 20002, stacks)


@tap.test("the stack ends at JIT-compiled code, with a frame that says so")
def _(folder):
    _, path = record(folder, [target, "jit"])
    tap.equal(functions(stacks_of(path)[0]), ["inner_take", "<code outside any library>"])


@tap.test("a library loaded at the address of an unloaded one has its own names")
def _(folder):
    facts, path = record(folder, [target, "reload"])
    stacks = stacks_of(path)
    tap.equal([functions(stack)[:3] for stack in stacks], [["first_plugin", "plugin_entry", "reload"],
                                                            ["second_plugin", "plugin_entry", "reload"]], facts)


@tap.test("the stack of a thread reaches its start function")
def _(folder):
    _, path = record(folder, [target, "threads"])
    for stack in stacks_of(path):
        tap.equal(functions(stack)[:3], ["inner_take", "outer_take", "take_in_thread"], stack)


@tap.test("the child of a fork has function names, too")
def _(folder):
    facts, path = record(folder, [target, "fork"])
    tap.equal(facts, {"child": "0"})
    files = [entry.path for entry in os.scandir(os.path.dirname(path)) if entry.name.endswith(".slog")]
    tap.equal([functions(stacks_of(file)[0])[:3] for file in files], [["inner_take", "outer_take", "fork_and_take"]] * 2)


@tap.test("without the option there are no native frames")
def _(folder):
    _, path = record(folder, [target, "user"], options=())
    tap.equal(stacks_of(path), [])


TORCH_PROGRAM = """
import torch
def make():
    return torch.ones(300, 300)
kept = [make() for _ in range(3)]
layer = torch.nn.Linear(64, 64)
(layer(torch.randn(8, 64)) ** 2).sum().backward()
"""


@tap.test("torch: native frames are inside the Python ones, and the user's line is still a Python line")
def _(folder):
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0:
        tap.skip("no torch")
    program = os.path.join(folder, "train.py")
    with open(program, "w", encoding="ascii") as out:
        out.write(TORCH_PROGRAM)
    _, path = record(folder, [PYTHON, program], options=("--cpu", "--stacks", "native"))
    ends = {name for stack in stacks_of(path) for name in functions(stack) if name.startswith("<")}
    tap.equal(ends & {"<code outside any library>", "<code without call frame information>"}, set(), "walks that ended early")
    made = [stack for stack in stacks_of(path) if any(name == "make" for name in functions(stack))]
    tap.true(made, "stacks through make()")
    for stack in made:
        is_native = [".so" in file for file, _, _ in stack]
        border = is_native.index(False)
        tap.true(border >= 5 and not any(is_native[border:]), f"native frames come first: {stack}")
        tap.contains("".join(file for file, _, _ in stack[:border]), "libtorch_cpu.so")
        tap.contains(functions(stack), "at::_ops::ones::call")
        tap.equal((os.path.basename(stack[border][0]), stack[border][1:]), ("train.py", (4, "make")))
    text = analyze(path)
    tap.contains(text, "train.py:4 in make")
    tap.true("+0x" not in text, text)
    events = tap.run([stormlog, "cat", "--stacks", path]).stdout
    tap.contains(events, " at::_ops::ones::call+0x")
    tap.equal([line for line in events.splitlines() if " _ZN2at" in line][:1], [], "names as only a linker reads them")


tap.main()
