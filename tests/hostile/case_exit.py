# SPDX-License-Identifier: MIT
"""Every way a program can end, while threads allocate."""

import glob
import os

import slog_totals
import tap
from hostile_run import Case, Outcome

PYTHON_END = """
import atexit, os, signal, sys, threading, time
from hostile_events import KIND, begin, churn, hold, say, native
how = sys.argv[1]
begin()
if KIND == "fake":
    from hostile_events import kit
    kit.kit_start(2)
elif KIND != "cuda":  # CUDA ends a process by itself whose threads use it while it exits
    for _ in range(2):
        threading.Thread(target=native.native_alloc, args=(-1, False), daemon=True).start()
hold(1000)
def in_thread(function):
    thread = threading.Thread(target=function, name="worker")
    thread.start()
    thread.join()
def late():
    churn(100)
    say("atexit")
if how == "thread_exit":
    in_thread(lambda: sys.exit(5))
    sys.exit(6)
elif how == "thread_error":
    def fail():
        churn(10)
        raise KeyError("mine")
    in_thread(fail)
elif how == "error":
    raise KeyError("mine")
elif how == "_exit":
    os._exit(5)
elif how == "abort":
    os.abort()
elif how == "term":
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)
elif how == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
elif how == "int":
    signal.raise_signal(signal.SIGINT)
elif how == "atexit":
    atexit.register(late)
    sys.exit(3)
elif how == "atexit_exit":
    def leave():
        churn(100)
        os._exit(9)
    atexit.register(leave)
elif how == "del":
    class Late:
        def __del__(self, churn=churn, write=os.write):
            churn(100)
            write(1, b"deleted\\n")
    sys.keep = Late()
elif how == "exec":
    if len(sys.argv) < 4:
        os.execv(sys.executable, [sys.executable] + sys.argv + ["again", "more"])
    say("second life")
elif how == "exit_in_thread":
    threading.Thread(target=lambda: os._exit(8)).start()
    time.sleep(30)
"""

# Daemon threads allocate in native code while the interpreter is torn down, and other code takes the memory it gives back.
FINALIZED = """
import ctypes, os, sys, threading, time
from hostile_events import KIND, begin, churn, say, native
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
class Slow:
    def __del__(self, sleep=time.sleep, malloc=libc.malloc, fill=libc.memset, write=os.write):
        for size in range(200, 600, 8):
            for _ in range(40):
                fill(malloc(size), 0x41, size)
        sleep(0.7)
        write(1, b"finalized\\n")
sys.keep = Slow()
begin()
def deep(depth, number):
    if depth:
        return deep(depth - 1, number)
    if KIND == "fake":
        from hostile_events import kit
        kit.kit_spin(number)
    else:
        native.native_alloc(-1, KIND == "cuda")
for i in range(3):
    threading.Thread(target=deep, args=(30, i), daemon=True).start()
time.sleep(0.1)
say("ends")
"""

DAEMONS = """
import threading, time
from hostile_events import KIND, begin, native, say
begin()
def deep(depth):
    if depth:
        return deep(depth - 1)
    native.native_alloc(-1, KIND == "cuda")
for _ in range(3):
    threading.Thread(target=deep, args=(30,), daemon=True).start()
time.sleep(0.1)
say("ends")
"""

# Children count in shared memory what they have done; the counts go beside the recordings.
KILLED = """
import mmap, os, random, signal, struct, sys, time
from hostile_events import RUN_FOLDER, begin, churn, say
begin()
shared = mmap.mmap(-1, 4096)
dice = random.Random(5)
lines = []
for _ in range(12):
    shared[0:8] = struct.pack("<Q", 0)
    child = os.fork()
    if child == 0:
        done = 0
        while True:
            churn(1)
            done += 1
            shared[0:8] = struct.pack("<Q", done)
    time.sleep(dice.uniform(0.003, 0.1))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    lines.append("%d %d" % (child, struct.unpack("<Q", shared[0:8])[0]))
if RUN_FOLDER:
    with open(os.path.join(RUN_FOLDER, "counts"), "w") as file:
        file.write("\\n".join(lines))
say("killed")
"""


def nothing_lost(found: Outcome) -> None:
    """A child that is killed before its first allocation has ended may leave a file without a header."""
    recorded = {}
    for path in glob.glob(os.path.join(glob.escape(found.run), "*.slog")):
        try:
            totals = slog_totals.load(path)
            recorded[totals.pid] = totals.sum("alloc_cnt")
        except ValueError:
            continue
    with open(os.path.join(found.run, "counts")) as file:
        done = dict(tuple(int(word) for word in line.split()) for line in file)
    lost = {pid: (count, recorded.get(pid)) for pid, count in done.items() if count and not count <= recorded.get(pid, 0) <= count + 1}
    tap.equal(lost, {}, "children with allocations done and allocations recorded that do not agree")


PYTHON_ENDS = {
    "thread_exit": (6, "sys.exit in a thread ends the thread only"),
    "thread_error": (0, "an exception in a thread prints its own text"),
    "error": (1, "an exception of the main thread"),
    "_exit": (5, "os._exit"),
    "abort": (134, "os.abort is SIGABRT"),
    "term": (143, "SIGTERM without a handler"),
    "kill": (137, "SIGKILL"),
    "int": (130, "SIGINT is Python's KeyboardInterrupt, then the signal"),
    "atexit": (3, "an atexit handler that allocates"),
    "atexit_exit": (9, "os._exit in an atexit handler"),
    "del": (0, "a destructor that allocates while the interpreter ends"),
    "exec": (0, "a program that replaces itself"),
    "exit_in_thread": (8, "os._exit in a thread"),
}
NATIVE_ENDS = {
    "return": (3, "return from main while threads allocate"),
    "exit": (3, "exit() while threads allocate"),
    "exit_thread": (3, "exit() on another thread than main"),
    "_exit": (4, "_exit()"),
    "quick_exit": (5, "quick_exit() with a handler that allocates"),
    "abort": (134, "abort()"),
    "term": (143, "SIGTERM without a handler"),
    "kill": (137, "SIGKILL"),
    "segv": (139, "SIGSEGV of the program's own"),
    "pthread_exit": (0, "the main thread ends, another one goes on and ends the program"),
    "exec": (6, "execv of itself while threads allocate"),
    "atexit": (3, "atexit handlers registered before and after the first event allocate"),
    "atexit_exit": (7, "_exit in an atexit handler that allocates"),
    "destructor": (3, "a destructor of the program allocates"),
    "destructor_exit": (8, "exit() inside a destructor"),
    "library_destructor": (3, "a library's destructor allocates, at dlclose and at exit"),
    "thread_key": (3, "destructors of thread-specific data allocate"),
    "two_exits": (3, "two threads call exit at once"),
    "late_thread": (3, "a thread is made by an atexit handler and allocates"),
}

CASES = [
    *[Case(f"Python {how}", proves, PYTHON_END, args=[how], exit=code, has_cuda=how in ("error", "_exit", "term", "kill", "atexit"))
      for how, (code, proves) in PYTHON_ENDS.items()],
    *[Case(f"native {how}", proves, ["hostile_exit", how], exit=code, timeout_s=40)
      for how, (code, proves) in NATIVE_ENDS.items()],
    Case("daemons finalized", "daemon threads in native code read no stack of an interpreter that is gone", FINALIZED,
         every_python=True, soak=30),
    Case("daemons finalized torch", "the same with a real torch", FINALIZED, kind="torch", soak=20),
    Case("daemons torch", "threads that allocate through the end of the process", DAEMONS, kind="torch", repeat=3, soak=40),
    Case("closing lines", "stormlog run prints its last lines to standard error and returns the program's exit code", PYTHON_END,
         args=["thread_exit"], exit=6, modes=("run",), options=()),
    Case("static program", "a program that cannot be recorded runs as it is", ["hostile_static"], exit=3, modes=("run",), allocs=None),
    Case("killed children", "kill -9 at any moment loses nothing that was recorded", KILLED, modes=("run",), allocs=None,
         check=nothing_lost, soak=10),
    Case("embedded twice", "a program that ends its Python and begins another", ["hostile_embed", "twice"]),
    Case("embedded early", "a program that looks for a module's start before it begins its Python", ["hostile_embed", "early"]),
    Case("embedded threads", "native threads allocate while the embedded Python comes and goes", ["hostile_embed", "threads"]),
]
