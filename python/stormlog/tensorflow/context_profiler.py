# SPDX-License-Identifier: MIT
"""Decorators and context managers that share one TensorFlow profiler for the whole process."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional

from .profiler import ProfileResult, TensorFlowProfiler, TFMemoryProfiler

__all__ = ["ProfiledLayer", "TensorFlowProfiler", "clear_global_profiler", "clear_profiles", "get_global_profiler",
           "get_profile_summaries", "profile_context", "profile_function", "profile_keras_training", "profile_model",
           "set_global_profiler"]

_global: Dict[str, TFMemoryProfiler] = {}


def get_global_profiler() -> TFMemoryProfiler:
    if "profiler" not in _global:
        _global["profiler"] = TFMemoryProfiler()
    return _global["profiler"]


def set_global_profiler(profiler: TFMemoryProfiler) -> None:
    _global["profiler"] = profiler


def clear_global_profiler() -> None:
    _global.clear()


def clear_profiles() -> None:
    """Clears what the process's profiler measured; does not create one."""
    if "profiler" in _global:
        _global["profiler"].reset()


def get_profile_summaries(limit: Optional[int] = None) -> List[Dict[str, Any]]:
    """One row per function or block, the newest first."""
    profiles = _global["profiler"].function_profiles if "profiler" in _global else {}
    rows = [{**{key: profile[key] for key in ("calls", "total_duration", "total_memory_used", "peak_memory")},
             "name": name, "last_timestamp": profile["snapshots"][-1].timestamp if profile["snapshots"] else 0.0}
            for name, profile in profiles.items()]
    rows.sort(key=lambda row: row["last_timestamp"], reverse=True)
    return rows[:limit] if limit else rows


def profile_function(func: Optional[Callable[..., Any]] = None, *, profiler: Optional[TFMemoryProfiler] = None,
                     name: Optional[str] = None) -> Any:
    """A decorator, bare or with arguments."""
    if func is None:
        return functools.partial(profile_function, profiler=profiler, name=name)
    function = func

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return (profiler or get_global_profiler()).profile_function(function, name=name)(*args, **kwargs)

    return wrapper


@contextmanager
def profile_context(name: str = "context", profiler: Optional[TFMemoryProfiler] = None) -> Iterator[TFMemoryProfiler]:
    with (profiler or get_global_profiler()).profile_context(name) as chosen:
        yield chosen


class ProfiledLayer:
    """Measures a layer's ``call`` under ``layer_<name>``."""

    def __init__(self, layer: Any, profiler: Optional[TFMemoryProfiler] = None, name: Optional[str] = None) -> None:
        self.layer = layer
        self.profiler = profiler or get_global_profiler()
        self.name = name or getattr(layer, "name", None) or type(layer).__name__
        self._original_call = layer.call
        layer.call = self._profiled_call

    def _profiled_call(self, *args: Any, **kwargs: Any) -> Any:
        with self.profiler.profile_context(f"layer_{self.name}"):
            return self._original_call(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.layer(*args, **kwargs)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self.__dict__["layer"], attribute)


def profile_model(model: Any, profiler: Optional[TFMemoryProfiler] = None) -> Any:
    """Measures every layer of the model; returns the model."""
    for layer in getattr(model, "layers", []):
        ProfiledLayer(layer, profiler)
    return model


def profile_keras_training(model: Any, x_train: Any, y_train: Any, epochs: int = 1, batch_size: int = 32,
                           validation_data: Any = None, profiler: Optional[TFMemoryProfiler] = None) -> ProfileResult:
    """model.fit in the context ``keras_training``."""
    chosen = profiler or get_global_profiler()
    with chosen.profile_context("keras_training"):
        model.fit(x_train, y_train, epochs=epochs, batch_size=batch_size, validation_data=validation_data)
    return chosen.get_results()
