# SPDX-License-Identifier: MIT
"""Reports blocks of different sizes from different places, and says what Python itself thinks its stack is there.

Argument: the fake libc10_cuda. Needs no torch, so that it runs under every Python there is.
"""

import ctypes
import json
import os
import sys
import threading

library = ctypes.CDLL(sys.argv[1])
library.fake_event.argtypes = [ctypes.c_uint64, ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
expected = {}
lock = threading.Lock()


def report():
    frames = []
    frame = sys._getframe(1)
    while frame:
        code = frame.f_code
        frames.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    with lock:
        size = 512 * (len(expected) + 1)
        # The caller's frames as they are now; the line of the call below is added by the test.
        expected[size] = frames
    library.fake_event(0x10000 * size, size, size, size, 0)


def plain():
    report()


def with_arguments(a, *args, key=None, **more):
    x = [a for a in range(3)]
    if key:
        for i in range(2):
            report()
    return x, args, more


class Thing:
    def method(self):
        report()

    @property
    def value(self):
        report()
        return 1

    @staticmethod
    def static():
        (lambda: report())()

    def __enter__(self):
        report()
        return self

    def __exit__(self, *_):
        report()


class Made:
    def __init__(self):
        report()


def make_many():
    """From 3.12 on Python soon enters __init__ without leaving its own loop, with a frame of its own around it."""
    for _ in range(200):
        Made()


def generator():
    report()
    yield 1
    x = (1 +
         2)
    report()
    yield x


def closure():
    n = 5

    def inner():
        nonlocal n
        n += 1
        report()
    inner()


async def coroutine():
    report()


def recursive(n):
    if n:
        recursive(n - 1)
    else:
        report()


def raises():
    try:
        {}["missing"]
    except KeyError:
        report()
    finally:
        report()


def größe():
    report()


def main():
    plain()
    with_arguments(1, 2, key=3, other=4)
    thing = Thing()
    thing.method()
    thing.value
    Thing.static()
    with thing:
        report()
    make_many()
    list(generator())
    sorted([3, 1, 2], key=lambda _: report() or 0)
    [report() for _ in range(2)]
    closure()
    try:
        coroutine().send(None)
    except StopIteration:
        pass
    recursive(40)
    raises()
    größe()
    exec(compile("\n\n\nreport()", "made up.py", "exec"), {"report": report})
    threads = [threading.Thread(target=plain) for _ in range(3)]
    for thread in threads:
        thread.start()
        thread.join()
    source = "def far():\n" + "    x = 1\n" * 5000 + "    report()\n"
    scope = {"report": report}
    exec(compile(source, "far.py", "exec"), scope)
    scope["far"]()


main()
print(json.dumps(expected))
sys.stdout.flush()
os._exit(0)
