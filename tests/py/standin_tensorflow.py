# SPDX-License-Identifier: MIT
"""A small module that stands in for TensorFlow: devices, counters that a test sets, Keras's clear_session."""

import sys
import types

MB = 1024 ** 2


class State:
    def __init__(self):
        self.current = self.peak = 0
        self.sessions_cleared = 0
        self.growth = []
        self.fails = False

    def set(self, megabytes):
        self.current = int(megabytes * MB)
        self.peak = max(self.peak, self.current)

    def info(self, device):
        if self.fails or device != "GPU:0":
            raise ValueError(f"no memory figures for {device}")
        return {"current": self.current, "peak": self.peak}


def install(gpus=1):
    tensorflow = types.ModuleType("tensorflow")
    tensorflow.state = state = State()
    tensorflow.__version__ = "0.0-standin"
    devices = [types.SimpleNamespace(name=f"/physical_device:GPU:{i}") for i in range(gpus)]

    def clear():
        state.sessions_cleared += 1

    tensorflow.config = types.SimpleNamespace(
        list_physical_devices=lambda kind=None: list(devices) if kind == "GPU" else [],
        experimental=types.SimpleNamespace(get_memory_info=state.info,
                                           set_memory_growth=lambda gpu, on: state.growth.append((gpu.name, on))))
    tensorflow.keras = types.SimpleNamespace(backend=types.SimpleNamespace(clear_session=clear))
    tensorflow.sysconfig = types.SimpleNamespace(get_build_info=lambda: {"is_cuda_build": True, "cuda_version": "12.0"})
    sys.modules["tensorflow"] = tensorflow
    return tensorflow
