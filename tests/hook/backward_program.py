# SPDX-License-Identifier: MIT
"""A forward and a backward pass as the recorder sees them. Arguments: the folder of the fakes, how many forward threads."""

import ctypes
import os
import sys
import threading

torch_cpu = ctypes.CDLL(os.path.join(sys.argv[1], "libtorch_cpu.so"))
cuda = ctypes.CDLL(os.path.join(sys.argv[1], "libc10_cuda.so"))
torch_cpu.fake_set_next.argtypes = [ctypes.c_uint64]
torch_cpu.fake_backward.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int64, ctypes.c_int]
cuda.fake_event.argtypes = [ctypes.c_uint64, ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
event = ctypes.cast(cuda.fake_event, ctypes.c_void_p).value


def allocate(sequence, size):
    torch_cpu.fake_set_next(sequence + 1)  # as while an operator with this number runs
    cuda.fake_event(0x10000 * size, size, size, size, 0)


def first_layer():
    allocate(4, 512)  # first


def second_layer():
    allocate(7, 1024)  # second


first_layer()
second_layer()
if sys.argv[2] == "2":
    thread = threading.Thread(target=first_layer)
    thread.start()
    thread.join()
counts = [torch_cpu.fake_backward(event, 7, 2048, 0),    # exactly second_layer's
          torch_cpu.fake_backward(event, 6, 4096, 0),    # no such operator: the nearest earlier one is first_layer's
          torch_cpu.fake_backward(event, 4, 8192, 0),    # exactly first_layer's
          torch_cpu.fake_backward(event, 3, 16384, 0),   # earlier than everything that was seen
          torch_cpu.fake_backward(event, 4, 32768, 1)]   # a node that does not look like one
print(counts, flush=True)
