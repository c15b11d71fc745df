# SPDX-License-Identifier: MIT
"""The former name of stormlog: every name is the same object as in stormlog, submodules included."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from typing import Any, List

import stormlog as _stormlog

__all__ = list(_stormlog.__all__)


class _Redirect(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """`import gpumemprof.tracker` gives the module stormlog.tracker itself, so that classes are the same ones."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if not fullname.startswith(__name__ + "."):
            return None
        if importlib.util.find_spec("stormlog" + fullname[len(__name__):]) is None:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: Any) -> Any:
        module = importlib.import_module("stormlog" + spec.name[len(__name__):])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: Any) -> None:
        # The import system has put the spec of the other name into the module.
        module.__spec__ = module.__spec__.loader_state


if not any(isinstance(finder, _Redirect) for finder in sys.meta_path):
    sys.meta_path.append(_Redirect())


def __getattr__(name: str) -> Any:
    try:
        return getattr(_stormlog, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> List[str]:
    return dir(_stormlog)
