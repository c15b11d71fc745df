# SPDX-License-Identifier: MIT
"""The Python package from many threads at once. In the plain program record() does nothing."""

from hostile_run import Case

BEGIN = """
import os, sys, threading, time
from hostile_events import MODE, KIND, IS_RECORDED, begin, churn, hold, record, say
is_over = []
def until_over(function):
    def run():
        while not is_over:
            function()
    return run
def side_by_side(seconds, *functions):
    threads = [threading.Thread(target=until_over(function)) for function in functions]
    [thread.start() for thread in threads]
    time.sleep(seconds)
    is_over.append(1)
    [thread.join() for thread in threads]
if IS_RECORDED:
    import stormlog
"""

CYCLES = BEGIN + """
def cycle():
    recording = record()
    churn(10)
    recording.stop()
side_by_side(1.5, *[lambda: churn(10)] * 2, *[cycle] * 4)
say("done")
"""

AT_ONCE = BEGIN + """
barrier = threading.Barrier(8)
def start():
    for _ in range(20):
        barrier.wait()
        recording = record()
        barrier.wait()
        churn(10)
        recording.stop()
        barrier.wait()
threads = [threading.Thread(target=start) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
say("done")
"""

STOP_TWICE = BEGIN + """
recording = record()
churn(10)
threads = [threading.Thread(target=recording.stop) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
recording.stop()
if IS_RECORDED:
    stormlog._record.stop()
    stormlog._record.stop()
churn(10)
recording = record()
churn(10)
recording.stop()
say("done")
"""

STOP_IN_CHILD = BEGIN + """
recording = record()
churn(1000)
for how in range(3):
    child = os.fork()
    if child == 0:
        if how == 0:
            recording.stop()
        elif how == 1:
            churn(10)
            recording.stop()
        else:
            recording.stop()
            again = record()
            churn(10)
            again.stop()
        churn(10)
        os._exit(0)
    say(os.waitpid(child, 0)[1])
hold(1000)
recording.stop()
"""

MARKS = BEGIN + """
def mark():
    if IS_RECORDED:
        stormlog.mark("here")
        stormlog.step()
        with stormlog.phase("a phase"):
            churn(1)
def look():
    if IS_RECORDED:
        stormlog.health()
        recording.path, recording.is_on
recording = record()
def cycle():
    global recording
    churn(10)
    recording.stop()
    recording = record()
side_by_side(1.5, cycle, mark, mark, mark, look, look, lambda: churn(10))
recording.stop()
say("done")
"""

NAMES = BEGIN + """
recording = record()
if IS_RECORDED:
    for name in ("", "x" * 100000, "\\u00e9\\u6df1\\U0001f600" * 300, "a\\nb\\tc", "%s%n%s", "/../.."):
        stormlog.mark(name)
        with stormlog.phase(name):
            churn(1)
    for number in (0, -1, 2 ** 63, 2 ** 64, 2 ** 200):
        try:
            stormlog.step(number)
        except (OverflowError, ValueError):
            pass
churn(10)
recording.stop()
say("done")
"""

AT_EXIT = BEGIN + """
recording = record()
churn(10)
def work():
    while True:
        churn(10)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
import atexit
atexit.register(recording.stop)
say("done")
"""

CASES = [
    Case("cycles", "4 threads start and stop recordings, 2 allocate", CYCLES, modes=("api",), allocs=None, soak=20),
    Case("cycles torch", "the same with a real torch", CYCLES, kind="torch", modes=("api",), allocs=None, soak=10),
    Case("all at once", "8 threads call record() at the same moment, 20 times", AT_ONCE, modes=("api",), allocs=None, soak=10),
    Case("stop twice", "stop() on 8 threads, again, and below the package", STOP_TWICE, modes=("api",)),
    Case("stop in a child", "stop() in forked children leaves the parent's recording whole", STOP_IN_CHILD, modes=("api",),
         allocs=2000),
    Case("marks during stop", "mark, step, phase, health and path while recordings end and begin", MARKS, modes=("api",),
         allocs=None, soak=10),
    Case("names", "names and numbers of any kind for marks and steps", NAMES, modes=("api", "both")),
    Case("stop at exit", "stop() in an atexit handler while daemon threads allocate", AT_EXIT, modes=("api",), soak=10),
]
