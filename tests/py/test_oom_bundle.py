# SPDX-License-Identifier: MIT
"""Out of memory: which errors count, the bundle, retention, and uncaught errors."""

import json
import os
import sys
import time
from pathlib import Path

import tap
from stormlog import OOMFlightRecorder, OOMFlightRecorderConfig, classify_oom_exception, load_telemetry_events
from stormlog.tracker import MemoryTracker

FILES = ["environment.json", "events.json", "manifest.json", "metadata.json"]


class ResourceExhaustedError(Exception):
    pass


OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch.cuda"})

CASES = [
    (RuntimeError("CUDA out of memory. Tried to allocate 20 MiB"), "message_pattern:out of memory"),
    (RuntimeError("HIP out of memory"), "message_pattern:out of memory"),
    (ValueError("RESOURCE EXHAUSTED: no room"), "message_pattern:resource exhausted"),
    (RuntimeError("failed to allocate 5 bytes"), "message_pattern:failed to allocate"),
    (RuntimeError("memory allocation failed"), "message_pattern:allocation failed"),
    (ResourceExhaustedError("x"), "tensorflow.ResourceExhaustedError"),
    (OutOfMemoryError("x"), "torch.cuda.OutOfMemoryError"),
    (RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"), "message_pattern:cublas_status_alloc_failed"),
    (OSError(12, "Cannot allocate memory"), "message_pattern:cannot allocate memory"),
    (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "message_pattern:can't allocate memory"),
    (MemoryError(), "python.MemoryError"),
    (RuntimeError("shape mismatch"), None),
    (KeyboardInterrupt(), None),
]


@tap.test("exceptions are classified as out of memory or not, with the reason")
def _():
    for error, reason in CASES:
        found = classify_oom_exception(error)
        tap.equal((found.is_oom, found.reason), (reason is not None, reason), repr(error))


def recorder(folder, **options):
    return OOMFlightRecorder(OOMFlightRecorderConfig(**{"enabled": True, "dump_dir": str(folder), **options}))


def dump(target, **options):
    return target.dump(**{"reason": "r", "exception": RuntimeError("x"), "context": "c", "backend": "cuda", **options})


@tap.test("the buffer keeps copies of the newest events, oldest first")
def _():
    ring = OOMFlightRecorder(OOMFlightRecorderConfig(buffer_size=2))
    event = {"n": 0}
    for number in range(3):
        event["n"] = number
        ring.record_event(event)
    event["n"] = 99
    tap.equal(ring.snapshot_events(), [{"n": 1}, {"n": 2}], "events")
    tap.equal(dump(ring), None, "disabled")


@tap.test("a bundle has its four files, named and filled as specified")
def _(folder):
    target = recorder(Path(folder) / "deep" / "dumps")
    target.record_event({"timestamp": 1.0, "event_type": "sample", "memory_allocated": 5})
    path = Path(dump(target, backend="cu da!", metadata={"object": object()}))
    tap.equal(sorted(file.name for file in path.iterdir()), FILES, "files")
    parts = path.name.split("_")
    tap.equal((path.name[:9], parts[3], parts[-1]), ("oom_dump_", str(os.getpid()), "1"), "name")
    tap.true("cu_da_" in path.name, "backend in the name")
    manifest = json.loads((path / "manifest.json").read_text())
    tap.equal((manifest["schema_version"], manifest["bundle_name"], manifest["event_count"], manifest["reason"],
               sorted(manifest["files"])), (1, path.name, 1, "r", FILES), "manifest")
    metadata = json.loads((path / "metadata.json").read_text())
    tap.equal((metadata["exception_type"], metadata["exception_message"], metadata["context"],
               metadata["captured_event_count"]), ("RuntimeError", "x", "c", 1), "metadata")
    environment = json.loads((path / "environment.json").read_text())
    tap.equal((environment["pid"], "detected_backend" in environment["system"]), (os.getpid(), True), "environment")
    tap.equal([name for name in os.listdir(path.parent) if name.startswith(".")], [], "no leftovers")


def size_of(bundle):
    return sum(path.stat().st_size for path in Path(bundle).iterdir())


@tap.test("retention keeps the newest bundle, and bundles of other living processes")
def _(folder):
    target = recorder(folder, max_dumps=2, max_total_mb=0)
    paths = []
    for _ in range(4):
        paths.append(dump(target))
        os.utime(paths[-1], (time.time() + len(paths), time.time() + len(paths)))
    tap.equal([os.path.exists(path) for path in paths], [False, False, True, True], "by count")
    big = recorder(Path(folder) / "big", max_dumps=0, max_total_mb=1)
    for _ in range(2):
        big.record_event({"text": "x" * 2_000_000})
        last = dump(big)
    tap.true(os.path.exists(last), "by size: the one just written stays")
    tap.true(size_of(last) <= 1024 ** 2, f"the limit is kept: {size_of(last)} bytes")
    tap.equal(json.load(open(os.path.join(last, "metadata.json")))["left_out_event_count"], 2, "the events that were left out")
    for number in range(40):
        big.record_event({"number": number, "text": "x" * 50_000})
    last = dump(big)
    numbers = [event["number"] for event in json.load(open(os.path.join(last, "events.json")))]
    tap.true(size_of(last) <= 1024 ** 2 and len(numbers) >= 15, f"as many as fit: {numbers}")
    tap.equal(numbers, list(range(40 - len(numbers), 40)), "the newest ones")
    total = sum(size_of(path) for path in (Path(folder) / "big").iterdir())
    tap.true(total <= 1024 ** 2, f"all bundles together: {total} bytes")
    tap.equal(json.load(open(os.path.join(last, "manifest.json")))["event_count"], len(numbers), "counted")
    shared = Path(folder) / "shared"
    foreign = shared / f"oom_dump_20200101T000000Z_{os.getppid()}_cuda_1"
    dead = shared / "oom_dump_20200101T000000Z_99999999_cuda_1"
    for path in (foreign, dead):
        path.mkdir(parents=True)
    dump(recorder(shared, max_dumps=1))
    tap.equal((foreign.exists(), dead.exists()), (True, False), "another process's, a dead process's")


@tap.test("capture_oom writes a bundle and raises the error again; other errors leave nothing")
def _(folder):
    tracker = MemoryTracker(device="cpu", sampling_interval=3600, enable_oom_flight_recorder=True, oom_dump_dir=folder,
                            job_id="j")
    alerts = []
    tracker.add_alert_callback(alerts.append)
    with tracker:
        error = RuntimeError("CUDA out of memory.")
        try:
            with tracker.capture_oom(context="train", metadata={"step": 3}):
                raise error
        except RuntimeError as caught:
            tap.true(caught is error, "the same error")
        path = Path(tracker.last_oom_dump_path)
        try:
            with tracker.capture_oom():
                raise KeyError("x")
        except KeyError:
            pass
    tap.equal(str(path), tracker.last_oom_dump_path, "a KeyError is none")
    tap.equal([(alert.event_type, alert.metadata["oom_reason"]) for alert in alerts],
              [("error", "message_pattern:out of memory")], "error event")
    metadata = json.loads((path / "metadata.json").read_text())["custom_metadata"]
    tap.equal((metadata["step"], metadata["job_id"], metadata["sample_device_id"], metadata["sampling_interval_s"],
               "peak_memory" in metadata["tracker_stats"]), (3, "j", -1, 3600, True), "custom metadata")
    events = json.loads((path / "events.json").read_text())
    tap.equal(set(events[0]), set("timestamp event_type memory_allocated memory_reserved memory_change device_id context "
                                  "job_id rank local_rank world_size metadata active_memory inactive_memory device_used "
                                  "device_free device_total backend".split()), "names in events.json")
    tap.equal(len(load_telemetry_events(path / "events.json")), len(events), "it loads as telemetry")


@tap.test("without the flight recorder no bundle and no event is written; the buffer has the size that was given")
def _(folder):
    tracker = MemoryTracker(device="cpu", sampling_interval=3600, oom_dump_dir=folder, max_events=77)
    tap.equal(tracker.handle_exception(RuntimeError("out of memory")), None, "path")
    tap.equal((len(tracker.events), os.listdir(folder), tracker.oom_buffer_size), (0, [], 77), "nothing")
    tap.equal(MemoryTracker(device="cpu", oom_buffer_size=5).oom_buffer_size, 5, "given")
    tap.equal(MemoryTracker(device="cpu", oom_buffer_size=0).oom_buffer_size, 10000, "0 means the default")


@tap.test("a bundle that cannot be written does not raise a second error")
def _(folder):
    file = Path(folder) / "file"
    file.write_text("")
    tracker = MemoryTracker(device="cpu", sampling_interval=3600, enable_oom_flight_recorder=True, oom_dump_dir=str(file))
    tap.equal(tracker.handle_exception(RuntimeError("out of memory")), None, "path")


UNCAUGHT = """
import threading, sys
from stormlog.tracker import MemoryTracker
tracker = MemoryTracker(device="cpu", sampling_interval=3600, enable_oom_flight_recorder=True, oom_dump_dir={folder!r})
tracker.start_tracking()
def fail():
    raise RuntimeError("CUDA out of memory.")
if {in_thread}:
    thread = threading.Thread(target=fail); thread.start(); thread.join()
else:
    fail()
"""


@tap.test("an uncaught out-of-memory error leaves one bundle, in the main thread and in others")
def _(folder):
    for number, in_thread in enumerate((False, True)):
        place = os.path.join(folder, str(number))
        result = tap.run([sys.executable, "-c", UNCAUGHT.format(folder=place, in_thread=in_thread)])
        tap.contains(result.stderr, "CUDA out of memory.", "the usual report")
        tap.equal(len([name for name in os.listdir(place) if name.startswith("oom_dump_")]), 1, f"thread: {in_thread}")


@tap.test("the exception hooks are removed again")
def _(folder):
    before = sys.excepthook
    with MemoryTracker(device="cpu", sampling_interval=3600, enable_oom_flight_recorder=True, oom_dump_dir=folder):
        tap.true(sys.excepthook is not before, "in")
    tap.true(sys.excepthook is before, "out")


tap.main()
