# SPDX-License-Identifier: MIT
"""Every way to make a process while others allocate."""

import glob
import os

import tap
from hostile_run import Case, Outcome

MIB = 1 << 20

# At the end the helper thread of a recording must be there again.
HELPERS = """
def helpers():
    import os
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open("/proc/self/task/%s/comm" % task) as file:
                names.append(file.read().strip())
        except OSError:
            pass
    return names.count("stormlog")
def check_helper(churn, is_recorded):
    import time
    for _ in range(100):
        churn(100)
        if not is_recorded or helpers() == 1:
            return "as it should be"
        time.sleep(0.05)
    return "%d helper threads" % helpers()
"""

STORM = HELPERS + """
import sys, time
from hostile_events import IS_RECORDED, begin, churn, kit, say
begin()
kit.kit_start(3)
say("children that failed:", kit.kit_fork_storm(4, int(sys.argv[1])))
kit.kit_stop()
say("helper:", check_helper(churn, IS_RECORDED))
"""

STORM_TORCH = HELPERS + """
import os, threading
from hostile_events import IS_RECORDED, begin, churn, say
begin()
is_over = []
def allocate():
    while not is_over:
        churn(20)
threads = [threading.Thread(target=allocate) for _ in range(3)]
[thread.start() for thread in threads]
bad = 0
for i in range(40):
    child = os.fork()
    if child == 0:
        churn(3)
        os._exit(0)
    bad += os.waitpid(child, 0)[1] != 0
is_over.append(1)
[thread.join() for thread in threads]
say("children that failed:", bad)
say("helper:", check_helper(churn, IS_RECORDED))
"""

START_STOP = """
import os, sys, threading
from hostile_events import churn, record, say
is_over = []
bad = []
def fork():
    while not is_over:
        child = os.fork()
        if child == 0:
            os._exit(0)
        bad.append(os.waitpid(child, 0)[1])
thread = threading.Thread(target=fork)
thread.start()
for i in range(int(sys.argv[1])):
    recording = record()
    churn(10)
    recording.stop()
    if recording.path and os.path.exists(recording.path):
        os.unlink(recording.path)
is_over.append(1)
thread.join()
say(any(bad))
"""

SLOW_LIBRARY = HELPERS + """
import os, time
from hostile_events import IS_RECORDED, begin, churn, native, say
path = os.environ["HOSTILE_SLOW"].encode()
def is_there(name, limit=20):
    for _ in range(limit * 20):
        if os.path.exists(name):
            return True
        time.sleep(0.05)
    return False
begin()
time.sleep(0.1)
os.environ["HOSTILE_RELEASE"], os.environ["HOSTILE_LOADED"] = os.path.abspath("release"), os.path.abspath("loaded")
native.native_dlopen(path)
time.sleep(0.3)  # the library's constructor waits now, with the linker's lock held
for _ in range(31):  # a fork that waits does so for 2 s, and the constructor for 60 s
    if os.fork() == 0:
        os._exit(0)
    os.wait()
churn(1000)
say("forked while the library was loading:", not os.path.exists("loaded"))
open("release", "w").close()
say("loaded:", is_there("loaded"))
say("helper:", check_helper(churn, IS_RECORDED))
"""

MULTIPROCESSING = """
import multiprocessing, sys
def work(number):
    from hostile_events import churn
    churn(100)
    return number * number
if __name__ == "__main__":
    from hostile_events import begin, churn, say
    begin()
    with multiprocessing.get_context(sys.argv[1]).Pool(3) as pool:
        say(pool.map(work, range(10)))
    process = multiprocessing.get_context(sys.argv[1]).Process(target=work, args=(1,))
    process.start()
    process.join()
    say(process.exitcode)
    churn(100)
"""

LOADER = """
import torch
from torch.utils.data import DataLoader, Dataset
from hostile_events import begin, say
class Data(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, i):
        return torch.randn(64) + i
if __name__ == "__main__":
    begin()
    count = 0
    for epoch in range(20):
        for batch in DataLoader(Data(), batch_size=8, num_workers=4):
            count += len(batch)
    say(count)
"""

BEFORE_CUDA = """
import os
import torch
from hostile_events import begin, churn, say
child = os.fork()  # CUDA is initialised after it, in both
begin()
churn(100)
if child == 0:
    os._exit(0)
say(os.waitpid(child, 0)[1])
"""


def cap_is_kept(found: Outcome) -> None:
    """The parent, 256 children, and one line about those after them."""
    paths = glob.glob(os.path.join(glob.escape(found.run), "*.slog"))
    tap.equal(len(paths), 257, "recordings")
    tap.equal(found.own_lines.count("recorded 256 forked children"), 1, "lines about it")


def disk_use_below(limit: int):
    def check(found: Outcome) -> None:
        paths = glob.glob(os.path.join(glob.escape(found.run), "**"), recursive=True)
        used = sum(os.lstat(path).st_blocks * 512 for path in paths)
        tap.true(used <= limit, f"{len(paths)} files use {used / MIB:.1f} MiB; at most {limit / MIB:.0f} MiB")
    return check


CASES = [
    Case("fork storm", "4 threads fork at once while 3 allocate: no child fails, the helper thread is back", STORM, args=["10"],
         soak=15),
    Case("fork storm torch", "children forked while 3 threads make tensors: torch's own locks are not held in them", STORM_TORCH,
         kind="torch", timeout_s=40, soak=10),
    Case("start and stop against fork", "recordings begin and end while another thread forks", START_STOP, args=["30"],
         modes=("api",), allocs=None, soak=10),
    Case("slow library", "a fork does not wait for a library that loads slowly, and the helper thread comes back", SLOW_LIBRARY),
    *[Case(f"native {name}", proves, ["hostile_fork", name], soak=10) for name, proves in {
        "vfork": "vfork and exec", "spawn": "posix_spawn and system", "daemon": "a double fork",
        "deep": "12 generations of children", "threads": "a child with threads of its own"}.items()],
    Case("200 forks", "200 children, one after the other, each with events: the disk stays nearly empty",
         ["hostile_fork", "many", "alone"], check=disk_use_below(200 * MIB)),
    Case("200 forks beside threads", "the same while two threads allocate: no child hangs", ["hostile_fork", "many"],
         check=disk_use_below(500 * MIB)),  # the parent's ring alone has 256
    Case("fork handlers", "handlers of another library that allocate while the process forks: the child's signals are its own",
         ["hostile_fork", "handlers"], env={"HOSTILE_HANDLERS": "1"}),
    Case("cancelled thread", "the first event comes on a thread that is being cancelled: it ends where it would have ended, no fork hangs",
         ["hostile_fork", "cancel", "alone"]),
    Case("260 forks", "260 children without events, then 256 that are recorded and four more: one line says so",
         ["hostile_fork", "cap", "alone"], check=cap_is_kept, options=(), timeout_s=120),
    *[Case(f"multiprocessing {how}", f"a pool made by {how}", MULTIPROCESSING, args=[how]) for how in ("fork", "forkserver", "spawn")],
    Case("loader epochs", "20 epochs with 4 workers each: the disk stays nearly empty", LOADER, kind="torch",
         check=disk_use_below(120 * MIB)),
    Case("fork first", "a fork before the first event, as a program does that uses CUDA in its children", BEFORE_CUDA, kind="torch",
         has_cuda=True, allocs=200),
]
