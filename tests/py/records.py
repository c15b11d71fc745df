# SPDX-License-Identifier: MIT
"""Records and events of known shape for the tests."""

BASE_NS = 1_700_000_000_000_000_000
STEP_NS = 100_000_000
GIB = 1024 ** 3
TOTAL = 16 * GIB


def record(**changes):
    made = {
        "schema_version": 2, "timestamp_ns": BASE_NS, "event_type": "sample", "collector": "stormlog.cuda_tracker",
        "sampling_interval_ms": 100, "pid": 7, "host": "node", "job_id": None, "rank": 0, "local_rank": 0,
        "world_size": 1, "device_id": 0, "allocator_allocated_bytes": 10, "allocator_reserved_bytes": 20,
        "allocator_active_bytes": None, "allocator_inactive_bytes": None, "allocator_change_bytes": 0,
        "device_used_bytes": 30, "device_free_bytes": None, "device_total_bytes": None, "context": None, "metadata": {},
    }
    made.update(changes)
    return made


def event(**changes):
    from stormlog import telemetry_event_from_record

    return telemetry_event_from_record(record(**changes))


def sample(index, used, reserved, allocated=None, **changes):
    return event(timestamp_ns=BASE_NS + index * STEP_NS, device_used_bytes=int(used),
                 allocator_reserved_bytes=int(reserved),
                 allocator_allocated_bytes=int(reserved if allocated is None else allocated),
                 **{"device_total_bytes": TOTAL, **changes})
