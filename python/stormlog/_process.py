# SPDX-License-Identifier: MIT
"""This process and this machine, from /proc: the few functions that trackers and utilities need."""

from __future__ import annotations

import os
import time
from typing import Dict, NamedTuple, Optional

from . import _record

# A native thread watches the peak between two readings; an interval of 5 ms costs 0.1 % of one core.
WATCH_INTERVAL_S = 0.005
# The kernel counts pages per processor and sums them up only from time to time: a smaller increase is not a new maximum.
_KERNEL_NOISE = 1024 ** 2


class MemoryInfo(NamedTuple):
    """Bytes. peak_rss is the kernel's own maximum since the process began, None if it does not keep one."""

    rss: int
    vms: int
    peak_rss: Optional[int] = None


class Process:
    """The running process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._last = (time.monotonic(), time.process_time())

    def memory_info(self) -> MemoryInfo:
        return MemoryInfo(*_record.process_memory())

    def cpu_percent(self, interval: Optional[float] = None) -> float:
        """CPU time over wall time since the last call, in percent of one core; 0.0 when called again at once."""
        if interval:
            time.sleep(interval)
        now = (time.monotonic(), time.process_time())
        wall, cpu = now[0] - self._last[0], now[1] - self._last[1]
        self._last = now
        return 100.0 * cpu / wall if wall > 0 else 0.0


def read_meminfo() -> Dict[str, int]:
    """/proc/meminfo in bytes, by name; {} where there is none."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            pairs = [line.split(":", 1) for line in lines]
    except OSError:
        return {}
    return {name: int(rest.split()[0]) * 1024 for name, rest in pairs if rest.split()}


def total_memory() -> int:
    """Bytes of main memory that this process may use: the machine's, or its control group's limit when that is lower."""
    total = read_meminfo().get("MemTotal", 0)
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, encoding="ascii") as file:
                limit = file.read().strip()
        except OSError:
            continue
        if limit.isdigit() and 0 < int(limit) < (total or 1 << 62):
            return int(limit)
    return total


def used_memory() -> int:
    """Bytes of main memory in use on the whole machine; 0 when unknown."""
    info = read_meminfo()
    return max(0, info.get("MemTotal", 0) - info.get("MemAvailable", info.get("MemFree", 0)))


def physical_cpu_count() -> Optional[int]:
    """Cores, without their hardware threads; None when the kernel does not report it."""
    cores = set()
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            package = ""
            for line in lines:
                if line.startswith("physical id"):
                    package = line.split(":", 1)[1].strip()
                elif line.startswith("core id"):
                    cores.add((package, line.split(":", 1)[1].strip()))
    except OSError:
        return None
    return len(cores) or None


class PeakWatch:
    """The largest resident size between start() and stop(): exact where the kernel's own maximum rose meanwhile, and
    otherwise the largest of readings 5 ms apart."""

    def __init__(self) -> None:
        self._watch = _record.MemoryWatch(WATCH_INTERVAL_S)
        self._kernel_peak: Optional[int] = None

    def start(self) -> None:
        self._kernel_peak = _record.process_memory()[2]
        self._watch.start()

    def stop(self) -> int:
        return self._exact(self._watch.stop())

    @property
    def peak(self) -> int:
        """The same up to now; watching continues."""
        return self._exact(self._watch.peak)

    def _exact(self, sampled: int) -> int:
        rss, _, kernel = _record.process_memory()
        if kernel is not None and self._kernel_peak is not None and kernel > self._kernel_peak + _KERNEL_NOISE:
            return max(kernel, sampled)
        return max(rss, sampled)
