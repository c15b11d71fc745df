# SPDX-License-Identifier: MIT
"""A small module that stands in for torch with a device: counters that a test sets, and nothing else.

    torch = standin_torch.install(backend="cuda")
    torch.state.allocate(100)
"""

import sys
import types


class OutOfMemoryError(RuntimeError):
    pass


class Device:
    def __init__(self, kind, index=None):
        if isinstance(kind, str) and ":" in kind:
            kind, index = kind.split(":")[0], int(kind.split(":")[1])
        self.type, self.index = kind, index

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"


class State:
    """An allocator that reserves what the test sets, and a driver that reports `hidden` bytes more."""

    def __init__(self):
        self.total = 16 << 30
        self.hidden = 0
        self.allocated = self.reserved = 0
        self.peak = self.reserved_peak = 0
        self.fails = False
        self.synchronized = self.emptied = 0

    def allocate(self, size):
        self.allocated += size
        self.reserved = max(self.reserved, self.allocated)
        self.peak = max(self.peak, self.allocated)
        self.reserved_peak = max(self.reserved_peak, self.reserved)

    def release(self, size):
        self.allocated -= size

    def stats(self, device=None):
        if self.fails:
            raise RuntimeError("the driver is gone")
        return {
            "allocated_bytes.all.current": self.allocated, "allocated_bytes.all.peak": self.peak,
            "reserved_bytes.all.current": self.reserved, "reserved_bytes.all.peak": self.reserved_peak,
            "active_bytes.all.current": self.allocated, "active_bytes.all.peak": self.peak,
            "inactive_split_bytes.all.current": self.reserved - self.allocated, "num_ooms": 0, "num_alloc_retries": 0,
        }

    def reset_peak(self, device=None):
        self.peak, self.reserved_peak = self.allocated, self.reserved


class Tensor:
    is_cuda = True


class Module:
    """As much of torch.nn.Module as wrapping needs."""

    def __getattr__(self, name):
        raise AttributeError(name)

    def __call__(self, *args):
        return self.forward(*args)


def _cuda(state, is_available):
    cuda = types.ModuleType("torch.cuda")
    properties = types.SimpleNamespace(total_memory=state.total, multi_processor_count=8)

    def count(name):
        def add(device=None):
            setattr(state, name, getattr(state, name) + 1)
        return add

    cuda.__dict__.update(
        is_available=lambda: is_available, is_initialized=lambda: True, device_count=lambda: 2,
        current_device=lambda: 0, memory_stats=state.stats, memory_allocated=lambda device=None: state.allocated,
        memory_reserved=lambda device=None: state.reserved, max_memory_allocated=lambda device=None: state.peak,
        max_memory_reserved=lambda device=None: state.reserved_peak, reset_peak_memory_stats=state.reset_peak,
        get_device_properties=lambda device=None: properties, get_device_name=lambda device=None: "Stand-in",
        get_device_capability=lambda device=None: (9, 0), synchronize=count("synchronized"),
        empty_cache=count("emptied"), OutOfMemoryError=OutOfMemoryError,
        mem_get_info=lambda device=None: (state.total - state.reserved - state.hidden, state.total))
    return cuda


def _mps(state):
    mps = types.ModuleType("torch.mps")
    mps.__dict__.update(current_allocated_memory=lambda: state.allocated, driver_allocated_memory=lambda: state.reserved,
                        recommended_max_memory=lambda: state.total, empty_cache=lambda: None, synchronize=lambda: None)
    return mps


def install(backend="cuda"):
    """Puts the module into sys.modules and returns it."""
    torch = types.ModuleType("torch")
    torch.state = state = State()
    has_cuda = backend in ("cuda", "rocm")
    torch.__version__ = "0.0-standin"
    torch.device = Device
    torch.Tensor = Tensor
    torch.cuda = _cuda(state, has_cuda)
    torch.mps = _mps(state)
    torch.nn = types.SimpleNamespace(Module=Module)
    torch.version = types.SimpleNamespace(cuda="13.0", hip="6.0" if backend == "rocm" else None)
    flags = types.SimpleNamespace(is_available=lambda: backend == "mps", is_built=lambda: backend == "mps")
    torch.backends = types.SimpleNamespace(mps=flags, cudnn=types.SimpleNamespace(version=lambda: 90000))
    sys.modules.update({"torch": torch, "torch.cuda": torch.cuda, "torch.mps": torch.mps})
    return torch
