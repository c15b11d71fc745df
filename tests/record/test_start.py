# SPDX-License-Identifier: MIT
"""Recording that a running process starts itself (stormlog/record.h), through ctypes. Argument: the program."""

import os
import sys

import slog_totals
import tap
from plain_torch import PYTHON, need_torch

stormlog = os.path.abspath(sys.argv.pop(1))
LIBRARY = os.path.join(os.path.dirname(stormlog), "libstormlog_record.so")

PRELUDE = """
import ctypes, os, sys, time
library = ctypes.CDLL(os.environ["LIBRARY"])
library.sl_record_path.restype = ctypes.c_char_p
library.sl_record_step.argtypes = [ctypes.c_uint64]
class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("cpu", ctypes.c_uint32), ("stacks", ctypes.c_uint32),
                ("interval_ms", ctypes.c_uint32), ("ring_bytes", ctypes.c_uint64), ("dir", ctypes.c_char_p)]
def start(cpu=1, **more):
    options = Options(struct_size=ctypes.sizeof(Options), cpu=cpu, **more)
    return library.sl_record_start(ctypes.byref(options))
"""

def run(folder, source, command=(), **env):
    need_torch(stormlog)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STORMLOG_")}
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write(PRELUDE + source)
    result = tap.run([*command, PYTHON, path], cwd=folder,
                     env={**clean, "LIBRARY": LIBRARY, "STORMLOG_DIR": os.path.join(folder, "out"), **env})
    tap.equal(result.returncode, 0, result.stderr)
    return result, slog_totals.load_all(os.path.join(folder, "out"))


def sizes(totals):
    return {site.alloc_bytes: (site.alloc_cnt, site.free_cnt) for site in totals.sites}


@tap.test("a recording started after torch has everything from then until the stop, with lines")
def _(folder):
    result, totals = run(folder, """
import torch
before = torch.ones(10)
print(start(), library.sl_record_is_on(), library.sl_record_path())
x = torch.ones(100)
print(library.sl_record_path().decode().startswith(os.environ["STORMLOG_DIR"]))
del x
library.sl_record_stop()
after = torch.ones(1000)
print(library.sl_record_is_on())
""")
    tap.equal(result.stdout, "0 1 b''\nTrue\n0\n")
    tap.equal(len(totals), 1, "recordings")
    tap.equal(sizes(totals[0]), {400: (1, 1)}, "blocks between start and stop")
    tap.equal(totals[0].sites[0].stack[0][:1], ("<module>",), "its stack")
    tap.true(totals[0].is_closed, "closed by stop")


@tap.test("a recording started before torch hooks its libraries as they are loaded")
def _(folder):
    result, totals = run(folder, """
print(start())
import torch
x = torch.ones(100)
library.sl_record_stop()
""")
    tap.equal(result.stdout, "0\n")
    tap.equal(len(totals), 1, "recordings")
    tap.true(400 in sizes(totals[0]), f"the block is there: {sizes(totals[0])}")


@tap.test("stop restores every import slot, and start works again")
def _(folder):
    _, totals = run(folder, """
import torch
def slots():
    # The words of libc10's writable memory: that is where its import slots are.
    found = []
    for line in open("/proc/self/maps"):
        if "libc10" in line and line.split()[1] in ("rw-p", "r--p"):
            low, high = (int(part, 16) for part in line.split()[0].split("-"))
            found.append((line.split()[1], bytes((ctypes.c_char * (high - low)).from_address(low))))
    return found
torch.ones(1)
before = slots()
for i in range(3):
    assert start() == 0
    changed = slots()
    x = torch.ones(100 + i)
    del x
    library.sl_record_stop()
import struct
own = [int(line.split("-")[0], 16) for line in open("/proc/self/maps") if "libstormlog_record" in line]
low, high = min(own), max(own) + (1 << 20)
def ours(memory):
    return sum(low <= word < high for _, data in memory for (word,) in struct.iter_unpack("<Q", data[:len(data) // 8 * 8]))
assert ours(before) == 0, ours(before)
assert ours(changed) > 0, "nothing was patched"
assert ours(slots()) == 0, ours(slots())
assert [kind for kind, _ in slots()] == [kind for kind, _ in before], "protection of the pages"
""")
    tap.equal(sorted(size for row in totals for size in sizes(row)), [400, 404, 408], "one recording for each start")


@tap.test("start is refused while recording, with STORMLOG_DISABLE, and under stormlog run")
def _(folder):
    source = "import torch\nprint(start(), start())\ntorch.ones(1)\nlibrary.sl_record_stop()\n"
    tap.equal(run(folder, source)[0].stdout, "0 -1\n")
    tap.equal(run(folder, source, STORMLOG_DISABLE="1")[0].stdout, "-1 -1\n")
    command = [stormlog, "run", "-q", "-o", os.path.join(folder, "other"), "--"]
    tap.equal(run(folder, source, command=command)[0].stdout, "-1 -1\n")


@tap.test("native stacks are recorded when asked for, and not in the next recording")
def _(folder):
    if os.uname().machine != "x86_64":
        tap.skip("native stacks are for x86-64 only")
    _, totals = run(folder, """
import torch
for stacks in (2, 0):
    assert start(stacks=stacks) == 0
    x = torch.ones(100 + stacks)
    del x
    library.sl_record_stop()
""")
    found = {size: row.sites[0].stack for row in totals for size in sizes(row)}
    tap.equal(sorted(found), [400, 408])
    native = [frame for frame in found[408] if "libtorch_cpu" in frame[1]]
    tap.true(native, f"frames of libtorch_cpu: {found[408]}")
    tap.equal([frame[0] for frame in found[400]], ["<module>"])


@tap.test("invalid options are refused")
def _(folder):
    result, _ = run(folder, """
print(start(cpu=7), start(stacks=9), start(interval_ms=3), start(dir=b"x" * 5000))
print(library.sl_record_is_on())
""")
    tap.equal(result.stdout, "-2 -2 -2 -2\n0\n")


@tap.test("steps and marks set by the program are recorded")
def _(folder):
    _, totals = run(folder, """
import torch
start()
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.Adam(net.parameters())
for i in range(4):
    library.sl_record_mark_begin(b"load")
    x = torch.ones(2, 4)
    library.sl_record_mark_end(b"load")
    optimizer.zero_grad(); net(x).sum().backward(); optimizer.step()
    library.sl_record_step(100 + i)
library.sl_record_mark(b"done")
library.sl_record_stop()
""")
    row = totals[0]
    tap.equal(row.steps, [100, 101, 102, 103], "the program's own steps, and no found ones beside them")
    tap.equal([name for _, name in row.marks], ["load"] * 8 + ["done"], "marks")


@tap.test("without a folder given, stormlog-runs is used")
def _(folder):
    run(folder, "import torch\nstart()\ntorch.ones(1)\nlibrary.sl_record_stop()\n", STORMLOG_DIR="")
    tap.equal(len(slog_totals.load_all(os.path.join(folder, "stormlog-runs"))), 1)


@tap.test("the child of a fork has its own file")
def _(folder):
    _, totals = run(folder, """
import torch
start()
x = torch.ones(100)
if os.fork() == 0:
    y = torch.ones(200)
    os._exit(0)
os.wait()
z = torch.ones(300)
library.sl_record_stop()
""")
    tap.equal(sorted(sorted(sizes(row)) for row in totals), [[400, 1200], [800]])


@tap.test("an allocator of the program's own is recorded, from many threads; nonsense is ignored, errno stays")
def _(folder):
    result, totals = run(folder, """
import threading
library = ctypes.CDLL(os.environ["LIBRARY"], use_errno=True)
for name, kinds in (("alloc", [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p]),
                    ("free", [ctypes.c_int, ctypes.c_void_p]), ("oom", [ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p])):
    getattr(library, "sl_record_" + name).argtypes = kinds
library.sl_record_alloc(-1, 0x1000, 64, None)  # nothing is recorded yet
start()
def work(first):
    for at in range(first, first + 500 * 64, 64):
        library.sl_record_alloc(-1, at, 64, 0xdead)
        if at % 128:
            library.sl_record_free(-1, at)
threads = [threading.Thread(target=work, args=(0x100000 * n,)) for n in range(1, 5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
ctypes.set_errno(77)
library.sl_record_alloc(3, 0x1000, 1 << 20, None)
library.sl_record_alloc(-1, None, 64, None)
for device in (-2, 128, 1 << 30):
    library.sl_record_alloc(device, 0x2000, 64, None)
    library.sl_record_free(device, 0x2000)
library.sl_record_free(-1, None)
library.sl_record_oom(-1, 4096, None)
print(ctypes.get_errno(), library.sl_record_oom_count())
library.sl_record_stop()
""")
    tap.equal(result.stdout, "77 1\n", "errno, failed requests")
    found = {site.alloc_cnt: site.free_cnt for site in totals[0].sites if site.alloc_bytes == 2000 * 64}
    tap.equal((found, sum(site.alloc_bytes for site in totals[0].sites)), ({2000: 1000}, 2000 * 64 + (1 << 20)), "blocks")


tap.main()
