# SPDX-License-Identifier: MIT
"""What TensorFlow, the driver and the kernel report about one device, in bytes."""

from __future__ import annotations

import importlib
import logging
from typing import Any, Dict, NamedTuple, Optional

from .. import _process, _read

logger = logging.getLogger(__name__)

MB = 1024 ** 2


def tensorflow_or_none() -> Any:
    try:
        return importlib.import_module("tensorflow")
    except ImportError:
        return None


def need_tensorflow() -> Any:
    tensorflow = tensorflow_or_none()
    if tensorflow is None:
        raise ImportError("TensorFlow not available; pip install 'stormlog[tf]'")
    return tensorflow


def default_device(tensorflow: Any) -> str:
    """``/GPU:0`` where there is one, else ``/CPU:0``."""
    return "/GPU:0" if tensorflow.config.list_physical_devices("GPU") else "/CPU:0"


def is_cpu(device: str) -> bool:
    return "cpu" in device.lower()


def device_index(device: str) -> int:
    tail = device.rsplit(":", 1)[-1]
    return int(tail) if tail.isdigit() else 0


class Reading(NamedTuple):
    """``peak`` is TensorFlow's own since the last reset; ``used`` and ``total`` are the driver's, None when unknown."""

    current: int
    peak: int
    used: Optional[int] = None
    total: Optional[int] = None


def _driver(device: str) -> Dict[str, Any]:
    try:
        return _read.device_counters(device_index(device))
    except _read.StormlogError:
        return {}


def read_device(device: str) -> Optional[Reading]:
    """None, and a line in the log, when TensorFlow does not report it."""
    if is_cpu(device):
        memory = _process.Process().memory_info()
        return Reading(memory.rss, memory.peak_rss or memory.rss)
    try:
        info = need_tensorflow().config.experimental.get_memory_info(device.lstrip("/"))
    except Exception as error:
        logger.warning("TensorFlow has no memory figures for %s: %s", device, error)
        return None
    driver = _driver(device)
    return Reading(int(info["current"]), int(info["peak"]), driver.get("used_bytes"), driver.get("total_bytes"))
