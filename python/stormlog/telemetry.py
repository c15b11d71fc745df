# SPDX-License-Identifier: MIT
"""Telemetry records, version 2: 22 fields, the form in which trackers write samples and analyses read them.

Checking, conversion of older records and reading of files are done in C and shared with the commands.
"""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Union

from . import _read
from ._files import write_text_whole
from ._identity import resolve_distributed_identity

__all__ = ["FIELD_NAMES", "SCHEMA_VERSION_V2", "TelemetryEventV2", "UNKNOWN_HOST", "UNKNOWN_PID", "load_telemetry_events",
           "resolve_distributed_identity", "telemetry_event_from_record", "telemetry_event_to_dict",
           "validate_telemetry_record", "write_telemetry_records"]

SCHEMA_VERSION_V2 = 2
UNKNOWN_PID = -1
UNKNOWN_HOST = "unknown"

FIELD_NAMES = _read.field_names()

_PathLike = Union[str, "os.PathLike[str]"]


@dataclass
class TelemetryEventV2:
    """One record. Construction checks every rule of the schema and raises ValueError naming the field."""

    schema_version: int
    timestamp_ns: int
    event_type: str
    collector: str
    sampling_interval_ms: int
    pid: int
    host: str
    device_id: int
    allocator_allocated_bytes: int
    allocator_reserved_bytes: int
    allocator_active_bytes: Optional[int]
    allocator_inactive_bytes: Optional[int]
    allocator_change_bytes: int
    device_used_bytes: int
    device_free_bytes: Optional[int]
    device_total_bytes: Optional[int]
    context: Optional[str]
    job_id: Optional[str] = None
    rank: int = 0
    local_rank: int = 0
    world_size: int = 1
    metadata: Dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _read.validate_record(self.__dict__)


def _event_from_checked(record: Dict[str, Any]) -> TelemetryEventV2:
    """Makes an event from fields that the C code has already checked."""
    event = TelemetryEventV2.__new__(TelemetryEventV2)
    event.__dict__.update(record)
    return event


def telemetry_event_to_dict(event: TelemetryEventV2) -> Dict[str, Any]:
    """The record as a dict, with its keys in the same order as in files."""
    record = {name: getattr(event, name) for name in FIELD_NAMES}
    record["metadata"] = dict(record["metadata"])
    return record


def validate_telemetry_record(record: Mapping[str, Any]) -> None:
    """Raises ValueError naming the first thing that is wrong with a version 2 record."""
    _read.validate_record(record)


def telemetry_event_from_record(record: Mapping[str, Any], permissive_legacy: bool = True,
                                default_collector: str = "legacy.unknown",
                                default_sampling_interval_ms: int = 0) -> TelemetryEventV2:
    """Makes an event from a mapping. One without ``schema_version`` is converted from the older forms, unless
    ``permissive_legacy`` is false. Raises ValueError."""
    converted = _read.convert_record(record, permissive_legacy, default_collector, default_sampling_interval_ms)
    if "schema_version" in record:
        # Values that JSON cannot express (tuples, numpy scalars) are kept as they are.
        converted["metadata"] = dict(record["metadata"])
    return _event_from_checked(converted)


def load_telemetry_events(path: _PathLike, permissive_legacy: bool = True,
                          events_key: Optional[str] = None) -> List[TelemetryEventV2]:
    """The events of a file: a JSON array, an object with a list (``events`` or ``events_key``), one record, JSON lines,
    CSV or a series of readings (``telemetry_timeline.json``); also compressed. A bad record is a ValueError that names its index, byte and field."""
    records, _, _, _ = _read.load_records(path, permissive_legacy, events_key)
    return [_event_from_checked(record) for record in records]


def write_telemetry_records(records: Iterable[Mapping[str, Any]], path: _PathLike, format: str = "json") -> None:
    """Writes version 2 records as ``json`` (an array), ``jsonl`` or ``csv``. The file appears whole or not at all; its
    folder is made."""
    writers = {"json": _as_json, "jsonl": _as_json_lines, "csv": _as_csv}
    if format not in writers:
        raise ValueError(f"Unsupported format: {format!r}; expected one of {', '.join(writers)}")
    write_text_whole(path, writers[format](records))


def _as_json(records: Iterable[Mapping[str, Any]]) -> str:
    return json.dumps(list(records), indent=2, default=str)


def _as_json_lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record, separators=(",", ":"), default=str) + "\n" for record in records)


def _as_csv(records: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELD_NAMES, lineterminator="\n")
    writer.writeheader()
    for record in records:
        # JSON, not repr: readers get the metadata back.
        writer.writerow({**record, "metadata": json.dumps(record["metadata"], default=str)})
    return text.getvalue()
