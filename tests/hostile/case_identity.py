# SPDX-License-Identifier: MIT
"""Programs that change who they are, what they may do and what they see."""

from hostile_run import Case

EXPORTS = """
import os, threading
from hostile_events import IS_RECORDED, churn, record, say
os.umask(0o077)
is_over = []
recording = record()
churn(100)
def export(number):
    import stormlog
    data = os.path.join(os.environ["HOSTILE_SOURCES"], "..", "data", "corpus", "c22_oom_capacity_build.pickle.gz")
    while not is_over:
        path = "export-%d.txt" % number
        stormlog.export(data, "folded", path)
        os.unlink(path)
threads = [threading.Thread(target=export, args=(i,)) for i in range(2 if IS_RECORDED else 0)]
[thread.start() for thread in threads]
modes = set()
for i in range(8000):
    fd = os.open("secret.key", os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o666)
    modes.add(oct(os.fstat(fd).st_mode & 0o777))
    os.close(fd)
    os.unlink("secret.key")
is_over.append(1)
[thread.join() for thread in threads]
say(sorted(modes), oct(os.umask(0)))
recording.stop()
"""

EXPORT_ONCE = """
import os
from hostile_events import IS_RECORDED, churn, hold, record, say
recording = record()
hold(150000)
if IS_RECORDED:
    import stormlog
    data = os.path.join(os.environ["HOSTILE_SOURCES"], "..", "data", "corpus", "c22_oom_capacity_build.pickle.gz")
    stormlog.export(data, "folded", "export.txt")
    os.unlink("export.txt")
recording.stop()
say("goes on")
"""

ROWS = {
    "nobody": ("becomes nobody", ["root"]),
    "chroot": ("changes its root folder", ["root"]),
    "folder_gone": ("its working folder is deleted", []),
    "no_new_privs": ("gives up new privileges and core dumps", []),
    "no_threads": ("may make no thread and no process (RLIMIT_NPROC 0)", ["root"]),
    "no_proc": ("has no /proc", ["root", "unshare"]),
    "no_environment": ("clears its environment", []),
    "title": ("overwrites the memory of its arguments and environment", []),
    "locked": ("locks all memory to come, with 64 KiB allowed", ["root"]),
}


def rows():
    for name, (proves, needs) in ROWS.items():
        for when in ("first", "later"):
            yield Case(f"{name} {when}", f"{proves} {'before' if when == 'first' else 'after'} the first event: all goes on",
                       ["hostile_identity", name, when], exit=7, needs=needs, allocs=None if when == "first" else 1,
                       is_checked=when == "later")


CASES = [
    *rows(),
    Case("facts", "umask, priority, processors, name and limits are the program's own", ["hostile_identity", "facts"], exit=7,
         allocs=150000),
    *[Case(f"seccomp {calls}", f"a filter that refuses {calls} system calls", ["hostile_identity", "facts"], exit=7, allocs=0,
           inner=["PROGRAMS/hostile_seccomp", calls]) for calls in ("few", "many")],
    Case("umask untouched", "umask, which affects the whole process, is never called", EXPORT_ONCE, modes=("api",),
         inner=["PROGRAMS/hostile_seccomp", "umask"]),
    Case("umask", "the umask is the program's own, also while threads export", EXPORTS, modes=("api",)),
]
