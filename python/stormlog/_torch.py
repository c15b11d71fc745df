# SPDX-License-Identifier: MIT
"""torch, where it is installed, imported at first use."""

from __future__ import annotations

import importlib
from typing import Any


def torch_or_none() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None
