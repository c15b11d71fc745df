# SPDX-License-Identifier: MIT
"""Bundles of evidence written when memory runs out: the last events, the error, the environment.

A bundle is a folder that appears whole (written under another name, synced, renamed) with its manifest written last.
Retention never removes the newest bundle, nor one that another running process wrote. A bundle that alone exceeds the limit is
made smaller: the oldest events are removed first, then the caller's metadata.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import tempfile
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Deque, Dict, List, Mapping, Optional

from ._files import is_shared, private_file_mode, private_folder_mode, write_json_whole

logger = logging.getLogger(__name__)

_BUNDLE_PREFIX = "oom_dump_"
_SHRINK_MARGIN = 256  # for the two counts that are added
_TORCH_REASON = "torch.cuda.OutOfMemoryError"

@dataclass(frozen=True)
class OOMExceptionClassification:
    """Whether an exception means that memory ran out, and how that was recognised."""

    is_oom: bool
    reason: Optional[str] = None


def _torch_oom_type() -> Any:
    import sys

    torch = sys.modules.get("torch")
    return getattr(getattr(torch, "cuda", None), "OutOfMemoryError", None)


def classify_oom_exception(exc: BaseException) -> OOMExceptionClassification:
    """Recognised by type if the framework has one, else by the text of the message."""
    torch_type = _torch_oom_type()
    if isinstance(torch_type, type) and isinstance(exc, torch_type):
        return OOMExceptionClassification(True, _TORCH_REASON)
    # Loaded only after an error: a process that records does not need the reading module.
    from . import _read

    kind = "MemoryError" if isinstance(exc, MemoryError) else type(exc).__name__
    reason = _read.classify_oom(kind, type(exc).__module__ or "", str(exc))
    return OOMExceptionClassification(reason is not None, reason)


@dataclass(frozen=True)
class OOMFlightRecorderConfig:
    """Limits of 0 or below mean no limit."""

    enabled: bool = False
    dump_dir: str = "oom_dumps"
    buffer_size: int = 10000
    max_dumps: int = 5
    max_total_mb: int = 256


class OOMFlightRecorder:
    """A ring of events and the writer of bundles. Thread-safe."""

    def __init__(self, config: Optional[OOMFlightRecorderConfig] = None) -> None:
        self.config = config or OOMFlightRecorderConfig()
        self._events: Deque[Dict[str, Any]] = deque(maxlen=max(1, self.config.buffer_size))
        self._lock = threading.Lock()
        self._sequence = 0

    def record_event(self, event: Mapping[str, Any]) -> None:
        with self._lock:
            self._events.append(dict(event))

    def snapshot_events(self) -> List[Dict[str, Any]]:
        """Oldest first."""
        with self._lock:
            return [dict(event) for event in self._events]

    def dump(self, *, reason: str, exception: Optional[BaseException], context: Optional[str], backend: str,
             metadata: Optional[Mapping[str, Any]] = None) -> Optional[str]:
        """Writes a bundle and returns its folder; None when the recorder is disabled."""
        if not self.config.enabled:
            return None
        events = self.snapshot_events()
        root = Path(self.config.dump_dir)
        root.mkdir(parents=True, exist_ok=True)
        now = time.gmtime()
        final = self._free_name(root, now, backend)
        parts = {
            "events": events,
            "metadata": _error_part(reason, exception, context, backend, events, metadata),
            "environment": _environment_part(),
            "manifest": _manifest_part(final.name, now, reason, backend, events),
        }
        if self.config.max_total_mb > 0:
            _shrink(parts, self.config.max_total_mb * 1024 ** 2)
        _write_bundle(final, parts)
        _apply_retention(root, final, self.config)
        return str(final)

    def _free_name(self, root: Path, now: time.struct_time, backend: str) -> Path:
        clean = re.sub(r"[^A-Za-z0-9_-]+", "_", backend) or "unknown"
        stamp = time.strftime("%Y%m%dT%H%M%SZ", now)
        with self._lock:
            while True:
                self._sequence += 1
                path = root / f"{_BUNDLE_PREFIX}{stamp}_{os.getpid()}_{clean}_{self._sequence}"
                if not os.path.lexists(path):
                    return path


def _error_part(reason: str, exception: Optional[BaseException], context: Optional[str], backend: str,
                events: List[Dict[str, Any]], metadata: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    kind = type(exception) if exception is not None else None
    return {
        "reason": reason,
        "exception_type": kind.__name__ if kind else None,
        "exception_module": kind.__module__ if kind else None,
        "exception_message": str(exception) if exception is not None else None,
        "context": context,
        "backend": backend,
        "captured_event_count": len(events),
        "custom_metadata": dict(metadata or {}),
    }


def _environment_part() -> Dict[str, Any]:
    from .utils import get_system_info

    try:
        system = get_system_info()
    except Exception as error:  # the bundle matters more than this part of it
        system = {"error": str(error)}
    return {"pid": os.getpid(), "cwd": os.getcwd(), "system": system}


def _manifest_part(name: str, now: time.struct_time, reason: str, backend: str,
                   events: List[Dict[str, Any]]) -> Dict[str, Any]:
    return {
        "schema_version": 1,
        "bundle_name": name,
        "created_at_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", now),
        "reason": reason,
        "backend": backend,
        "event_count": len(events),
        "files": ["manifest.json", "events.json", "metadata.json", "environment.json"],
    }


def _json_bytes(part: Any) -> int:
    return len(json.dumps(part, indent=2, default=str).encode("utf-8"))


def _shrink(parts: Dict[str, Any], limit: int) -> None:
    """Drops events, the oldest first, until the bundle fits; if that is not enough, the caller's metadata."""
    rest = sum(_json_bytes(part) for name, part in parts.items() if name != "events") + _SHRINK_MARGIN
    if rest > limit:
        parts["metadata"]["custom_metadata"] = {"left_out": "larger than max_total_mb"}
        rest = sum(_json_bytes(part) for name, part in parts.items() if name != "events") + _SHRINK_MARGIN
    kept = 0
    for event in reversed(parts["events"]):
        rest += _json_bytes([event])
        if rest > limit:
            break
        kept += 1
    left_out = len(parts["events"]) - kept
    if left_out:
        parts["events"] = parts["events"][left_out:]
        parts["metadata"].update(captured_event_count=kept, left_out_event_count=left_out)
        parts["manifest"]["event_count"] = kept


def _write_bundle(final: Path, parts: Mapping[str, Any]) -> None:
    temporary = Path(tempfile.mkdtemp(prefix=f".{final.name}.tmp-", dir=final.parent))
    try:
        for name, part in parts.items():
            write_json_whole(temporary / f"{name}.json", part, private_file_mode())
        if is_shared():
            temporary.chmod(private_folder_mode())
        os.rename(temporary, final)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _may_remove(bundle: Path) -> bool:
    """Bundles of this process, and those whose process has ended."""
    match = re.match(rf"{_BUNDLE_PREFIX}[^_]+_(\d+)_", bundle.name)
    if match is None or int(match[1]) == os.getpid():
        return True
    return not os.path.exists(f"/proc/{match[1]}")


def _apply_retention(root: Path, newest: Path, config: OOMFlightRecorderConfig) -> None:
    try:
        bundles = sorted((path for path in root.iterdir()
                          if path.name.startswith(_BUNDLE_PREFIX) and path.is_dir() and not path.is_symlink()),
                         key=lambda path: path.stat().st_mtime_ns)
        sizes = {path: _folder_bytes(path) for path in bundles}
    except OSError as error:
        logger.warning("cannot list the bundles in '%s': %s", root, error)
        return
    limit = config.max_total_mb * 1024 ** 2
    kept = list(bundles)
    for bundle in bundles:
        over_count = 0 < config.max_dumps < len(kept)
        over_size = 0 < limit < sum(sizes[path] for path in kept)
        if not (over_count or over_size):
            return
        if bundle != newest and _may_remove(bundle):
            shutil.rmtree(bundle, ignore_errors=True)
            kept.remove(bundle)
