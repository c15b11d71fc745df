# SPDX-License-Identifier: MIT
"""Forward and backward passes as the recorder sees them. Arguments: the folder of the fakes, the case."""

import ctypes
import os
import sys
import threading

torch_cpu = ctypes.CDLL(os.path.join(sys.argv[1], "libtorch_cpu.so"))
cuda = ctypes.CDLL(os.path.join(sys.argv[1], "libc10_cuda.so"))
torch_cpu.fake_set_next.argtypes = [ctypes.c_uint64]
cuda.fake_event.argtypes = [ctypes.c_uint64, ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
current_thread_id = getattr(torch_cpu, "_ZN2at14RecordFunction15currentThreadIdEv")
current_thread_id.restype = ctypes.c_uint64
NO_NUMBER = (1 << 64) - 1
FAILS = 0


class Request(ctypes.Structure):
    _fields_ = [("sequence", ctypes.c_uint64), ("thread_id", ctypes.c_uint64), ("size", ctypes.c_int64), ("is_broken", ctypes.c_int)]


def backward(*requests):
    """A backward pass on an autograd thread: (number of the node, size, thread that made it[, is broken]) each."""
    array = (Request * len(requests))(*[Request(row[0], row[2], row[1], *row[3:]) for row in requests])
    event, oom = (ctypes.cast(function, ctypes.c_void_p) for function in (cuda.fake_event, cuda.fake_oom))
    print(torch_cpu.fake_backward(event, oom, array, ctypes.c_size_t(len(requests))) == len(requests), flush=True)


def allocate(sequence, size):
    torch_cpu.fake_set_next(sequence + 1)  # as while an operator with this number runs
    cuda.fake_event(0x10000 * size, size, size, size, 0)


def first_layer():
    allocate(4, 512)


def second_layer():
    allocate(7, 1024)


def other_layer():
    global other
    allocate(7, 1536)
    other = current_thread_id()


def run_other_thread():
    thread = threading.Thread(target=other_layer)
    thread.start()
    thread.join()


def call_backward():
    # The function that torch/_tensor.py has: the first gradient is made inside it, on the calling thread.
    code = compile("def backward(size):\n    fake_event(size * 65536, size, size, size, 0)\n", "torch/_tensor.py", "exec")
    names = {"fake_event": cuda.fake_event}
    exec(code, names)
    torch_cpu.fake_set_next(0)
    names["backward"](768)


first_layer()
second_layer()
me, case = current_thread_id(), sys.argv[2]
if case == "numbers":
    backward((7, 2048, me))        # exactly second_layer's
    backward((6, 4096, me))        # no such operator: the nearest earlier one is first_layer's
    backward((4, 8192, me))        # exactly first_layer's
    backward((3, 16384, me))       # earlier than everything that was seen
    backward((4, 32768, me, 1))    # a node that does not look like one
elif case == "strange thread":
    backward((7, 2048, 99))        # not where a thread's number is: there is one forward thread, so it is its number
elif case == "threads":
    run_other_thread()
    backward((7, 2048, me), (7, 4096, other), (7, 8192, 99))
elif case == "accumulate":
    backward((NO_NUMBER, 16384, me))  # nothing before it
    backward((7, 2048, me), (NO_NUMBER, 4096, me), (4, 8192, me), (NO_NUMBER, 32768, me))
elif case == "called":
    call_backward()
    backward((7, 2048, me), (3, 4096, me), (4, 8192, me, 1))
elif case == "fails":
    call_backward()
    backward((7, FAILS, me))
    backward((6, FAILS, me))
    backward((4, 2048, me), (NO_NUMBER, FAILS, me))
    backward((3, FAILS, me))
