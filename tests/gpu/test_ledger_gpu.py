# SPDX-License-Identifier: MIT
"""The ledger on a real card: every byte the driver says is used has a row. Argument: the program.

A situation of programs_ledger.py is set up under `stormlog run`; while it stands still, the rows of `stormlog top` are
held against what NVML tells this test. With STORMLOG_GPU_LEDGER set, the rows go there as a Markdown table.
"""

import ctypes
import json
import os
import subprocess
import sys
import time

import slog_totals
import tap
from device import find_python, need_device, need_module

stormlog = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "programs_ledger.py")
MIB = 1 << 20
HELD = 512 * MIB
ROWS = ("tensors", "cache", "libraries", "context", "other_processes", "driver", "rest")
REST_SHARE = 0.01  # of the card

table = []
bare = {}  # the context's bytes in the first situation


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def read_used():
    """Used bytes of the first card, from NVML itself."""
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    handle = ctypes.c_void_p()
    memory = Memory()
    tap.equal(nvml.nvmlInit_v2(), 0, "nvmlInit")
    tap.equal(nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)), 0, "nvmlDeviceGetHandleByIndex")
    tap.equal(nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)), 0, "nvmlDeviceGetMemoryInfo")
    return memory.used


def ask_top(folder):
    result = tap.run([stormlog, "top", "--once", "--format", "json", folder])
    tap.equal(result.returncode, 0, result.stderr)
    recordings = json.loads(result.stdout)
    tap.equal(len(recordings), 1, "recordings")
    return next(device for device in recordings[0]["devices"] if device["device"] == 0)


def read_settled(folder):
    """The ledger once it shows what NVML shows; after five seconds as it then is."""
    for _ in range(50):
        ledger = ask_top(folder)
        used = read_used()
        if ledger["card_used_bytes"] == used:
            break
        time.sleep(0.1)
    return ledger, used


def observe(folder, case, env=None):
    """Facts the program printed, its ledger, the used bytes of NVML, and the recording's totals."""
    need_device()
    out = os.path.join(folder, "run")
    errors = open(os.path.join(folder, "stderr"), "w+")
    process = subprocess.Popen([stormlog, "run", "-o", out, "--", find_python(), PROGRAM, case], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                               env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})})
    try:
        line = process.stdout.readline()
        while line and not line.startswith("{"):
            line = process.stdout.readline()
        errors.seek(0)
        tap.true(line, f"'{case}' says that it is ready; stderr: {errors.read()[-2000:]}")
        ledger, used = read_settled(out)
    finally:
        process.communicate("", timeout=60)
    return json.loads(line), ledger, used, slog_totals.load_all(out)[0]


def check(case, ledger, used):
    """Checks that hold in every situation."""
    values = [ledger[row + "_bytes"] or 0 for row in ROWS]
    libraries = ", ".join(f"{row['name']} {row['bytes'] / MIB:,.1f}" for row in ledger["libraries"])
    beyond = ledger["context_bytes"] - bare.get("context", ledger["context_bytes"])
    table.append((case, *values, used, ledger["card_total_bytes"], beyond, libraries))
    tap.equal(ledger["card_used_bytes"], used, "used bytes of the card, recorder against NVML")
    tap.equal(sum(values), used, f"the rows add up: {ledger}")
    limit = ledger["card_total_bytes"] * REST_SHARE
    tap.true(ledger["rest_bytes"] <= limit, f"rest at most 1 % of the card ({limit:.0f}): {ledger}")
    # A context larger than an empty one holds modules, or memory that was not recorded: it has the same limit.
    tap.true(abs(beyond) <= limit, f"context within 1 % of the card of a bare one ({bare}): {ledger}")


def check_torch(facts, ledger):
    tap.equal((ledger["tensors_bytes"], ledger["tensors_bytes"] + ledger["cache_bytes"]),
              (facts["tensors"], facts["reserved"]), "tensors and reserve, recorder against torch")


def library_bytes(ledger, part):
    return sum(row["bytes"] for row in ledger["libraries"] if part in row["name"])


def through(totals, mark, label=None):
    """Driver bytes asked for below lines of the program that end with this mark, and of all."""
    with open(PROGRAM) as file:
        lines = {i for i, line in enumerate(file, 1) if line.rstrip().endswith("# " + mark)}
    sites = [site for site in totals.select(0, slog_totals.DRIVER) if label is None or label in site.label]
    found = sum(site.alloc_bytes for site in sites
                if any(frame[1] == PROGRAM and frame[2] in lines for frame in site.stack))
    return found, sum(site.alloc_bytes for site in sites)


@tap.test("ledger: an empty context adds up to what the driver reports")
def _(folder):
    facts, ledger, used, _ = observe(folder, "context")
    bare["context"] = ledger["context_bytes"]
    check("context", ledger, used)
    check_torch(facts, ledger)
    tap.true(100 * MIB < ledger["context_bytes"] < 2048 * MIB, f"a context of some hundred MiB: {ledger}")


@tap.test("ledger: cuBLAS has a row of its own")
def _(folder):
    facts, ledger, used, _ = observe(folder, "cublas")
    check("cuBLAS matmul", ledger, used)
    check_torch(facts, ledger)
    tap.true(library_bytes(ledger, "libcublas") > 0, f"bytes of libcublas: {ledger['libraries']}")


@tap.test("ledger: NCCL has a row of its own")
def _(folder):
    facts, ledger, used, _ = observe(folder, "nccl")
    check("NCCL all-reduce", ledger, used)
    check_torch(facts, ledger)
    tap.true(library_bytes(ledger, "libnccl") > 0, f"bytes of libnccl: {ledger['libraries']}")


@tap.test("ledger: a program with CUDA graphs adds up to what the driver reports")
def _(folder):
    facts, ledger, used, _ = observe(folder, "graphs")
    check("CUDA graphs", ledger, used)
    check_torch(facts, ledger)


@tap.test("ledger: a program with expandable segments adds up to what the driver reports")
def _(folder):
    conf = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "PYTORCH_ALLOC_CONF": "expandable_segments:True"}
    facts, ledger, used, totals = observe(folder, "expandable", conf)
    check("expandable segments", ledger, used)
    check_torch(facts, ledger)
    driver = sum(site.live_bytes for site in totals.select(0, slog_totals.DRIVER) if site.label == "libc10_cuda")
    tap.equal(driver, facts["reserved"], "physical pieces made for them")


@tap.test("ledger: 3 GiB held by a second process are in the row of other processes")
def _(folder):
    facts, ledger, used, _ = observe(folder, "second")
    check("second process", ledger, used)
    check_torch(facts, ledger)
    beyond = ledger["other_processes_bytes"] - (3 << 30)
    tap.true(0 < beyond < 2048 * MIB, f"3 GiB and a context in other processes: {ledger}")


@tap.test("ledger: memory of CuPy, used with PyTorch, has a row, a line and a stack")
def _(folder):
    need_module("cupy")
    facts, ledger, used, totals = observe(folder, "cupy")
    check("CuPy beside torch", ledger, used)
    check_torch(facts, ledger)
    tap.true(ledger["libraries_bytes"] >= HELD, f"bytes of CuPy: {ledger['libraries']}")
    tap.true(through(totals, "cupy")[0] >= HELD, f"bytes asked for at CuPy's line: {through(totals, 'cupy')}")


@tap.test("CuPy without PyTorch is recorded")
def _(folder):
    need_module("cupy")
    _, ledger, used, totals = observe(folder, "cupy_alone")
    check("CuPy alone", ledger, used)
    tap.equal(ledger["tensors_bytes"], None, "tensors")
    tap.true(ledger["libraries_bytes"] >= HELD, f"bytes of CuPy: {ledger['libraries']}")
    tap.true(through(totals, "cupy alone")[0] >= HELD, f"bytes asked for at its line: {through(totals, 'cupy alone')}")


@tap.test("ledger: memory of JAX has a row, a line and a stack")
def _(folder):
    need_module("jax")
    facts, ledger, used, totals = observe(folder, "jax")
    check("JAX", ledger, used)
    tap.true(library_bytes(ledger, "xla") >= facts["live"], f"bytes of XLA: {ledger['libraries']}, live {facts['live']}")
    found, every = through(totals, "jax")
    # XLA asks for most of its memory on threads of its own, which have no Python frames (0.18 on an H200).
    tap.true(found >= every / 10, f"bytes asked for at JAX's lines: {found} of {every}")


def write_table():
    path = os.environ.get("STORMLOG_GPU_LEDGER")
    if not path:
        return
    with open(path, "w") as file:
        file.write("| MiB in | tensors | allocator's cache | other libraries | context, modules | other processes | driver | rest "
                   "| sum = NVML's used | rest, share of card | context beyond a bare one | libraries |\n"
                   "| --- " + "| ---: " * 10 + "| --- |\n")
        for case, *values, used, total, beyond, libraries in table:
            cells = [f"{value / MIB:,.1f}" for value in (*values, used)]
            file.write(f"| {case} | {' | '.join(cells)} | {values[-1] / total:.2%} | {beyond / MIB:,.1f} | {libraries} |\n")


try:
    tap.main()
finally:
    write_table()
