# SPDX-License-Identifier: MIT
"""Operators with workspaces, as the recorder sees them. Arguments: the folder of the fakes; "mixed" for one line that first
takes workspaces of one size only, then tensors of that size, then both."""

import ctypes
import os
import sys

cuda = ctypes.CDLL(os.path.join(sys.argv[1], "libtorch_cuda.so"))
resize = getattr(cuda, "_ZN2at6native17resize_bytes_cudaEv")
MIB = 1 << 20


def run(output, workspace=0):
    cuda.fake_operator(ctypes.c_size_t(output), ctypes.c_size_t(workspace))


if sys.argv[2:] == ["mixed"]:
    for output, workspace in [(0, 7)] * 40 + [(7, 0)] * 40 + [(7, 7)] * 20:
        run(output * MIB, workspace * MIB)
    os._exit(0)
for number in range(6):
    run(32 * MIB, 32 * MIB if number == 0 else 0)  # cuBLAS: an output of the workspace's size, before and after it
for number in range(20):
    run(3 * MIB, (1 + number % 2) * MIB)  # cuDNN: a workspace each time
for size in range(4, 14):
    run(0, size * MIB)  # more sizes than are remembered
run(MIB, 4096)  # too small to be looked at
for number in range(40):
    run(5 * MIB)
run(5 * MIB, 32 * MIB)  # another thread's or stream's: the size is known
resize(ctypes.c_size_t(32 * MIB))  # a tensor's storage
os._exit(0)
