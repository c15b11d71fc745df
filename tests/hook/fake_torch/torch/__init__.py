# SPDX-License-Identifier: MIT
"""The parts of torch 2 that the recorder inspects, in Python, so that every interpreter can run it. The functions that
the recorder knows by name stand in files and classes of the same names as torch's."""

import ctypes
import itertools
import os

_cuda = ctypes.CDLL(os.environ["FAKES"] + "/libc10_cuda.so")
_cuda.fake_event.argtypes = [ctypes.c_uint64, ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
_python = ctypes.PyDLL(os.environ["FAKES"] + "/libtorch_python.so")  # called with the GIL held, as torch's own
_python.fake_set_grad_enabled.argtypes = [ctypes.c_int]
_addresses = itertools.count(0x10000000, 0x10000)


def allocate(nbytes):
    address = next(_addresses)
    _cuda.fake_event(address, nbytes, nbytes, nbytes, 0)
    return address


class Tensor:
    def __init__(self, nbytes, offset=0):
        self.address, self.offset, self.grad, self.is_leaf = allocate(nbytes), offset, None, True

    def data_ptr(self):
        return self.address + 4 * self.offset

    def storage_offset(self):
        return self.offset

    def element_size(self):
        return 4

    def get_device(self):
        return 0


def is_grad_enabled():
    return True


from torch.autograd.grad_mode import set_grad_enabled  # noqa: E402
