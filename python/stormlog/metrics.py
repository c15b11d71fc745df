# SPDX-License-Identifier: MIT
"""Memory figures for training logs: cheap enough for every step.

On a machine without CUDA the figures are those of this process's main memory, and the line says "CPU mem".
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional

from . import _process
from ._identity import resolve_distributed_identity
from ._torch import torch_or_none

logger = logging.getLogger(__name__)

GIB = 1024 ** 3
# Of main memory, since the last reset; empty before the first.
_host_watch: List[_process.PeakWatch] = []


def _cuda(device: Any) -> Any:
    """torch.cuda for a CUDA device, else None."""
    torch = None if str(device).startswith("cpu") else torch_or_none()
    return torch.cuda if torch is not None and torch.cuda.is_available() else None


def _bytes(device: Any) -> Dict[str, int]:
    cuda = _cuda(device)
    if cuda is None:
        memory = _process.Process().memory_info()
        peak = _host_watch[0].peak if _host_watch else memory.peak_rss or memory.rss
        return {"allocated": memory.rss, "peak": max(peak, memory.rss), "reserved": memory.rss,
                "total": _process.total_memory()}
    return {"allocated": cuda.memory_allocated(device), "peak": cuda.max_memory_allocated(device),
            "reserved": cuda.memory_reserved(device),
            "total": cuda.get_device_properties(cuda.current_device() if device is None else device).total_memory}


def get_memory_stats(device: Any = None) -> Dict[str, float]:
    """``allocated_gb``, ``peak_gb`` (since the last reset), ``reserved_gb``, ``total_gb``; 1 GB = 1024^3 bytes."""
    return {f"{name}_gb": value / GIB for name, value in _bytes(device).items()}


def get_memory_utilization(device: Any = None) -> float:
    """Peak over total, 0 to 1."""
    found = _bytes(device)
    return found["peak"] / found["total"] if found["total"] else 0.0


def format_memory_stats(device: Any = None) -> str:
    """``GPU mem: 12.3GB allocated, 14.8GB peak, 16.0GB reserved / 80.0GB total (19%)``."""
    stats = get_memory_stats(device)
    share = stats["peak_gb"] / stats["total_gb"] if stats["total_gb"] else 0.0
    return (f"{'CPU' if _cuda(device) is None else 'GPU'} mem: {stats['allocated_gb']:.1f}GB allocated, "
            f"{stats['peak_gb']:.1f}GB peak, {stats['reserved_gb']:.1f}GB reserved / {stats['total_gb']:.1f}GB total "
            f"({share:.0%})")


def reset_peak_memory(device: Any = None) -> None:
    """The next ``peak_gb`` counts from now. Without CUDA a thread watches this process from the first reset on (0.1 % of a
    core): the kernel's own peak is not reset, because other code may use it."""
    cuda = _cuda(device)
    if cuda is not None:
        cuda.reset_peak_memory_stats(device)
        return
    while _host_watch:
        _host_watch.pop().stop()
    watch = _process.PeakWatch()
    watch.start()
    _host_watch.append(watch)


class DeviceMemoryMonitor:
    """A log line for each interval with that interval's own peak, and one snapshot at a chosen step."""

    def __init__(self, device: Any = None, snapshot_step: Optional[int] = None,
                 snapshot_dir: Any = "memory_snapshots") -> None:
        self.device = device
        self.snapshot_step = snapshot_step
        self.snapshot_dir = Path(snapshot_dir)
        self.snapshot_path: Optional[str] = None
        self._has_captured = False

    def report(self, step: int) -> Dict[str, float]:
        """Logs ``[step N] GPU mem: ... (X%)``, takes the snapshot when this is its step, resets the peak. Returns the
        figures. Never raises because of a snapshot."""
        stats = get_memory_stats(self.device)
        logger.info("[step %d] %s", step, format_memory_stats(self.device))
        if step == self.snapshot_step and not self._has_captured:
            self._has_captured = True
            self.capture_snapshot(step)
        reset_peak_memory(self.device)
        return stats

    def _device_name(self) -> str:
        cuda = _cuda(self.device)
        if cuda is None:
            return "cpu"
        number = str(self.device).rsplit(":", 1)[-1]
        return number if number.isdigit() else str(cuda.current_device())  # None and "cuda" are the current device

    def snapshot_name(self, step: int) -> str:
        """``snapshot_step_<N>_device_<D>.pickle``; with several ranks ``snapshot_step_<N>_rank_<R>_device_<D>.pickle``."""
        identity = resolve_distributed_identity()
        rank = f"_rank_{identity['rank']}" if identity["world_size"] > 1 else ""
        return f"snapshot_step_{step}{rank}_device_{self._device_name()}.pickle"

    def capture_snapshot(self, step: int) -> Optional[str]:
        """Writes a snapshot in PyTorch's format and returns its path; a failure is logged, and None is returned."""
        from .recording import snapshot

        path = os.fspath(self.snapshot_dir / self.snapshot_name(step))
        try:
            self.snapshot_path = snapshot(path, add_rank=False)
        except Exception as error:
            logger.warning("[step %d] the memory snapshot failed: %s", step, error)
            return None
        logger.info("[step %d] Memory snapshot saved: %s", step, self.snapshot_path)
        return self.snapshot_path


@dataclass
class StepMetrics:
    """One step of training. ``peak_gb`` is the highest since the last reset of the peak, which nobody but a
    DeviceMemoryMonitor or reset_peak_memory() makes: in a run without them, that of the whole run. What was not given or
    cannot be measured is None."""

    step: int
    step_time_sec: Optional[float]
    loss: Optional[float]
    grad_norm: Optional[float]
    lr: Optional[float]
    tokens_per_sec: Optional[float]
    allocated_gb: float
    peak_gb: float
    reserved_gb: float
    total_gb: float
    mem_utilization: float

    def to_dict(self) -> Dict[str, Any]:
        return asdict(self)


class MetricsTracker:
    """Figures of every step, memory included; reads the peak and never resets it. Calls stormlog.step(), so a recording has
    the same steps."""

    def __init__(self, device: Any = None, log_interval: int = 10) -> None:
        if log_interval < 1:
            raise ValueError(f"log_interval must be >= 1, found {log_interval}")
        self.device = device
        self.log_interval = log_interval
        self._started: Optional[float] = None

    def start_step(self) -> None:
        self._started = time.perf_counter()

    def end_step(self, step: int, loss: Optional[float] = None, grad_norm: Optional[float] = None, lr: Optional[float] = None,
                 tokens_in_step: Optional[int] = None) -> StepMetrics:
        """The figures of the step; logged when ``step`` is a multiple of ``log_interval``."""
        from .recording import step as record_step

        seconds = None if self._started is None else time.perf_counter() - self._started
        self._started = None
        record_step(step)
        found = StepMetrics(step=step, step_time_sec=seconds, loss=loss, grad_norm=grad_norm, lr=lr,
                            tokens_per_sec=tokens_in_step / seconds if tokens_in_step is not None and seconds else None,
                            mem_utilization=get_memory_utilization(self.device), **get_memory_stats(self.device))
        if step % self.log_interval == 0:
            logger.info("[step %d] %s", step, self._line(found))
        return found

    @staticmethod
    def _line(found: StepMetrics) -> str:
        parts = [f"{name} {value:.4g}" for name, value in (("loss", found.loss), ("grad_norm", found.grad_norm), ("lr", found.lr),
                                                           ("tok/s", found.tokens_per_sec), ("s", found.step_time_sec))
                 if value is not None]
        return ", ".join([*parts, f"mem {found.peak_gb:.1f}/{found.total_gb:.0f}GB"])
