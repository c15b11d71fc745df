# SPDX-License-Identifier: MIT
"""Decorators and context managers that share one profiler for the whole process."""

from __future__ import annotations

import functools
import json
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional

from ._files import write_json_whole
from ._torch import torch_or_none
from .profiler import GPUMemoryProfiler, ProfileResult

_global: Dict[str, GPUMemoryProfiler] = {}
_MAX_BATCHES = 11

_NOTHING = {"message": "No profiling results available"}


def get_global_profiler(device: Any = None) -> GPUMemoryProfiler:
    """The process's profiler, made at first use."""
    if "profiler" not in _global:
        try:
            _global["profiler"] = GPUMemoryProfiler(device=device)
        except RuntimeError as error:
            raise RuntimeError("CUDA is not available here; profiler=stormlog.CPUMemoryProfiler() measures main memory") from error
    return _global["profiler"]


def set_global_profiler(profiler: Optional[GPUMemoryProfiler]) -> None:
    if profiler is None:
        _global.clear()
    else:
        _global["profiler"] = profiler


def profile_function(func: Optional[Callable[..., Any]] = None, *, name: Optional[str] = None, device: Any = None,
                     profiler: Optional[GPUMemoryProfiler] = None) -> Any:
    """A decorator, bare or with arguments. The wrapper calls the function once and returns its value."""
    if func is None:
        return functools.partial(profile_function, name=name, device=device, profiler=profiler)
    function = func
    label = name or getattr(function, "__name__", None) or type(function).__name__

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with (profiler or get_global_profiler(device)).profile_context(label):
            return function(*args, **kwargs)

    wrapper._is_profiled = True  # type: ignore[attr-defined]
    wrapper._profile_name = label  # type: ignore[attr-defined]
    return wrapper


@contextmanager
def profile_context(name: str = "context", device: Any = None,
                    profiler: Optional[GPUMemoryProfiler] = None) -> Iterator[GPUMemoryProfiler]:
    """Measures a block; yields the profiler."""
    chosen = profiler or get_global_profiler(device)
    with chosen.profile_context(name):
        yield chosen


def start_monitoring(interval: float = 0.1, device: Any = None) -> None:
    get_global_profiler(device).start_monitoring(interval)


def stop_monitoring() -> None:
    if "profiler" in _global:
        _global["profiler"].stop_monitoring()


def get_summary() -> Dict[str, Any]:
    return _global["profiler"].get_summary() if "profiler" in _global else dict(_NOTHING)


def clear_results() -> None:
    if "profiler" in _global:
        _global["profiler"].clear_results()


def get_profile_results(limit: Optional[int] = None) -> List[ProfileResult]:
    """The last ``limit`` results of the process's profiler."""
    results = list(_global["profiler"].results) if "profiler" in _global else []
    return results[-limit:] if limit else results


def _profiled_module_class() -> Any:
    nn = torch_or_none().nn

    class ProfiledModule(nn.Module):  # type: ignore[misc, name-defined]
        """A module whose forward is measured under ``<name>_forward``; other attributes are the wrapped module's."""

        def __init__(self, module: Any, name: Optional[str] = None, device: Any = None,
                     profiler: Optional[GPUMemoryProfiler] = None) -> None:
            super().__init__()
            self.module = module
            self.name = name or type(module).__name__
            self._profiler = profiler or get_global_profiler(device)

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            with self._profiler.profile_context(f"{self.name}_forward"):
                return self.module(*args, **kwargs)

        def __getattr__(self, attribute: str) -> Any:
            wrapped = self.__dict__.get("_modules", self.__dict__).get("module")
            try:
                return super().__getattr__(attribute)
            except AttributeError:
                if wrapped is None:
                    raise
                return getattr(wrapped, attribute)

    return ProfiledModule


def __getattr__(name: str) -> Any:
    # The class is made at first use: its base is in torch.nn, which importing this module must not require.
    if name != "ProfiledModule":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = _profiled_module_class()
    return globals()[name]


class MemoryProfiler:
    """The functions of this module as one object."""

    def __init__(self, device: Any = None) -> None:
        self.profiler = GPUMemoryProfiler(device=device)

    def start_monitoring(self, interval: float = 0.1) -> None:
        self.profiler.start_monitoring(interval)

    def stop_monitoring(self) -> None:
        self.profiler.stop_monitoring()

    def profile(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> ProfileResult:
        return self.profiler.profile_function(func, *args, **kwargs)

    def context(self, name: str = "context") -> Any:
        return self.profiler.profile_context(name)

    def wrap_module(self, module: Any, name: Optional[str] = None) -> Any:
        return __getattr__("ProfiledModule")(module, name=name, profiler=self.profiler)

    def get_summary(self) -> Dict[str, Any]:
        return self.profiler.get_summary()

    def clear(self) -> None:
        self.profiler.clear_results()

    def save_results(self, filename: Any) -> None:
        """JSON: ``summary``, ``results``, ``snapshots``."""
        write_json_whole(filename, {
            "summary": self.get_summary(),
            "results": [result.to_dict() for result in self.profiler.results],
            "snapshots": [snapshot.to_dict() for snapshot in self.profiler.snapshots],
        })

    def load_results(self, filename: Any) -> Dict[str, Any]:
        with open(filename, encoding="utf-8") as file:
            return json.load(file)

    def __enter__(self) -> "MemoryProfiler":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop_monitoring()


def _run_batch(model: Any, batch: Any, device: Any) -> None:
    """Forward and backward of one batch. Weights do not change: there is no optimizer, and gradients are dropped."""
    inputs = batch[0] if isinstance(batch, (tuple, list)) else batch
    output = model(inputs.to(device) if hasattr(inputs, "to") else inputs)
    if getattr(output, "requires_grad", False):
        output.float().sum().backward()
        model.zero_grad(set_to_none=True)


def profile_model_training(model: Any, train_loader: Any, epochs: int = 1, device: Any = None) -> Dict[str, Any]:
    """Measures forward and backward of up to 11 batches per epoch, in the contexts ``training_setup``, ``epoch_<e>``,
    ``batch_<e>_<b>``. The model is not trained."""
    profiler = GPUMemoryProfiler(device=device)
    summaries: List[Dict[str, Any]] = []
    with profiler.profile_context("training_setup"):
        model.to(profiler.device)
        model.train()
    for epoch in range(epochs):
        with profiler.profile_context(f"epoch_{epoch}"):
            for number, batch in enumerate(train_loader):
                if number >= _MAX_BATCHES:
                    break
                with profiler.profile_context(f"batch_{epoch}_{number}"):
                    _run_batch(model, batch, profiler.device)
        summaries.append({"epoch": epoch, **profiler.results[-1].to_dict()})
    batches = [result.to_dict() for result in profiler.results if result.function_name.startswith("batch_")]
    return {"total_epochs": epochs, "batch_results": batches, "epoch_summaries": summaries,
            "overall_summary": profiler.get_summary()}
