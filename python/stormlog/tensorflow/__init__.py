# SPDX-License-Identifier: MIT
"""For TensorFlow: profiler, tracker and analyzer, based on tf.config.experimental.get_memory_info and the driver's figures.

TensorFlow is imported when an object is made, not when this package is imported.
"""

from __future__ import annotations

import importlib
from typing import Any, List

from .tf_env import configure_tensorflow_logging

configure_tensorflow_logging()

# name: (module, name in it)
_EXPORTS = {
    "TensorFlowProfiler": ("profiler", "TensorFlowProfiler"),
    "TFMemoryProfiler": ("profiler", "TFMemoryProfiler"),
    "TensorFlowMemoryTracker": ("tracker", "MemoryTracker"),
    "TensorFlowVisualizer": ("visualizer", "MemoryVisualizer"),
    "TensorFlowAnalyzer": ("analyzer", "MemoryAnalyzer"),
    "TensorFlowGapFinding": ("analyzer", "GapFinding"),
    "get_system_info": ("utils", "get_system_info"),
}

__all__ = ["__version__", *_EXPORTS]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = importlib.import_module("stormlog").__version__
    elif name in _EXPORTS:
        module, attribute = _EXPORTS[name]
        value = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
