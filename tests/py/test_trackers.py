# SPDX-License-Identifier: MIT
"""Trackers: on this process's own memory, and on a device that a stand-in plays. Time is the test's own where it matters:
ticks are called by hand."""

import csv
import json
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

import standin_torch
import tap

torch = standin_torch.install("cuda")

import stormlog  # noqa: E402
from stormlog import CPUMemoryTracker, MemoryTracker, load_telemetry_events, validate_telemetry_record  # noqa: E402
from stormlog import tracker as tracker_module  # noqa: E402
from stormlog.tracker import MemoryWatchdog, TrackingEvent  # noqa: E402

MIB = 1024 ** 2


def fresh(**options):
    """A tracker on an empty stand-in device whose thread never ticks."""
    torch.state.__init__()
    return MemoryTracker(**{"sampling_interval": 3600.0, **options})


def types_of(tracker):
    return [event.event_type for event in tracker.events]


def refused(kind, call, part):
    try:
        call()
    except kind as error:
        tap.contains(str(error), part)
        return
    raise AssertionError(f"expected {kind.__name__} with {part!r}")


@tap.test("constructors refuse invalid arguments before any device is used")
def _():
    for kind in (MemoryTracker, CPUMemoryTracker):
        for value in (0, -1):
            refused(ValueError, lambda: kind(sampling_interval=value), "sampling_interval")
            refused(ValueError, lambda: kind(max_events=value), "max_events")
    refused(ValueError, lambda: MemoryTracker(device="cuda:9"), "9")
    refused(ValueError, lambda: MemoryTracker(device="xpu"), "xpu")
    refused(ValueError, lambda: MemoryTracker(rank=3, world_size=2), "rank must be < world_size")


@tap.test("a tracker records start, samples, peak, allocation, deallocation and stop")
def _():
    tracker = fresh(job_id="job", rank=1, world_size=2)
    torch.state.allocate(50 * MIB)
    tracker.start_tracking()
    tracker.start_tracking()
    torch.state.allocate(10 * MIB)
    tracker._tick()
    torch.state.release(5 * MIB)
    tracker.stop_tracking()
    tracker.stop_tracking()
    tap.equal(types_of(tracker), ["start", "sample", "peak", "allocation", "sample", "deallocation", "stop"], "types")
    change = tracker.get_events("allocation")[0]
    tap.equal((change.memory_change, change.memory_allocated, change.backend, change.job_id, change.rank),
              (10 * MIB, 60 * MIB, "cuda", "job", 1), "what was there at the start is no allocation")
    tap.contains(change.context, "10.00 MB")
    statistics = tracker.get_statistics()
    tap.equal((statistics["total_allocations"], statistics["total_deallocation_bytes"], statistics["peak_memory"]),
              (1, 5 * MIB, 60 * MIB), "statistics")
    tap.equal(tracker.is_tracking, False, "stopped")


@tap.test("a peak between two samples is exact; a peak from before the tracking does not count")
def _():
    tracker = fresh()
    torch.state.allocate(900 * MIB)
    torch.state.release(900 * MIB)
    tracker.start_tracking()
    tracker._tick()
    tap.equal(tracker.stats["peak_memory"], 0, "900 MiB were before")
    torch.state.allocate(1000 * MIB)
    torch.state.release(1000 * MIB)
    tracker._tick()
    tap.equal(tracker.stats["peak_memory"], 1000 * MIB, "between two ticks")
    torch.state.reset_peak()
    torch.state.allocate(1100 * MIB)
    torch.state.release(1100 * MIB)
    tracker._tick()
    tap.equal(tracker.stats["peak_memory"], 1100 * MIB, "after somebody reset torch's counter")
    tracker.stop_tracking()


@tap.test("used bytes are those of the driver, so hidden memory is included")
def _(folder):
    tracker = fresh()
    times = iter(range(10 ** 18, 2 * 10 ** 18, 10 ** 8))
    tracker._clock.now_ns = lambda: next(times)
    tracker.start_tracking()
    for i in range(8):
        torch.state.hidden = (1 + i) * 512 * MIB
        tracker._tick()
    tracker.stop_tracking()
    samples = [event for event in tracker.get_telemetry_events() if event.event_type == "sample"]
    tap.equal(samples[-1].device_used_bytes - samples[-1].allocator_reserved_bytes, 8 * 512 * MIB, "gap")
    found = stormlog.MemoryAnalyzer().analyze_memory_gaps(samples)
    tap.true("persistent_drift" in [finding.classification for finding in found], "the analysis sees its own data")
    tap.equal(samples[0].metadata["device_used_source"], "driver", "source")


@tap.test("a failed query of the device is counted, not shown as 0 bytes")
def _():
    tracker = fresh()
    torch.state.allocate(50 * MIB)
    tracker.start_tracking()
    torch.state.fails = True
    tracker._tick()
    torch.state.fails = False
    tracker.stop_tracking()
    tap.equal(tracker.stats["sampling_failures"], 1, "failures")
    tap.equal("deallocation" in types_of(tracker), False, "nothing seems freed")


@tap.test("alerts have a level, an order and metadata, and call the callbacks")
def _():
    tracker = fresh()
    total = tracker.total_memory
    seen = []
    tracker.add_alert_callback(seen.append)
    tracker.add_alert_callback(lambda event: 1 / 0)
    tracker.start_tracking()
    torch.state.allocate(int(total * 0.85))
    tracker._tick()
    tap.equal([(event.event_type, sorted(set(event.metadata) - {"sequence"})) for event in seen],
              [("warning", ["usage_percent"]), ("warning", ["large_allocation"])], "first tick")
    tap.contains(seen[0].context, "85.0%")
    torch.state.allocate(int(total * 0.12))
    tracker._tick()
    tap.equal(seen[2].event_type, "critical", "97 percent")
    torch.state.release(int(total * 0.6))
    tracker._tick()
    tap.equal(seen[-1].metadata["fragmentation"] > 0.3, True, "reserved without use")
    tap.equal(tracker.get_statistics()["alert_count"], len(seen), "counted")
    tap.equal(len(tracker.get_alerts()), len(seen), "get_alerts")
    tap.equal(tracker.get_alerts(last_n=1), seen[-1:], "last")
    tracker.remove_alert_callback(seen.append)
    tracker.stop_tracking()


@tap.test("a cache with nothing allocated is not fragmentation")
def _():
    tracker = fresh()
    tracker.start_tracking()
    torch.state.allocate(40 * MIB)
    tracker._tick()
    torch.state.release(40 * MIB)
    tracker._tick()
    tap.true(tracker._last_sample.reserved_bytes >= 40 * MIB, "the cache is there")
    tap.equal([event.context for event in tracker.get_alerts()], [], "alerts")
    tracker.stop_tracking()


@tap.test("a lasting condition is reported once, and again only after it has ended or after a minute")
def _():
    tracker = fresh()
    tracker.set_threshold("memory_leak_threshold", 1e18)
    total = tracker.total_memory
    tracker.start_tracking()
    torch.state.allocate(int(total * 0.81))
    for _ in range(50):
        tracker._tick()
    tap.equal(len(tracker.get_alerts()), 1, "50 ticks above the threshold")
    torch.state.release(int(total * 0.02))  # 79: still within the margin
    tracker._tick()
    torch.state.allocate(int(total * 0.02))
    tracker._tick()
    tap.equal(len(tracker.get_alerts()), 1, "around the threshold")
    torch.state.release(int(total * 0.10))
    tracker._tick()
    torch.state.allocate(int(total * 0.10))
    tracker._tick()
    tap.equal(len(tracker.get_alerts()), 2, "gone and back")
    tracker._usage_alert._given_at -= tracker_module.ALERT_REPEAT_S
    tracker._tick()
    tap.equal(len(tracker.get_alerts()), 3, "a minute later")
    tracker.stop_tracking()
    silent = fresh(enable_alerts=False)
    silent.start_tracking()
    torch.state.allocate(int(total * 0.99))
    silent._tick()
    tap.equal(silent.get_alerts(), [], "disabled")
    silent.stop_tracking()


@tap.test("thresholds have defaults and can be set; an unknown one is refused")
def _():
    tracker = fresh()
    tap.equal(tracker.thresholds, {"memory_warning_percent": 80.0, "memory_critical_percent": 95.0,
                                   "memory_leak_threshold": 104857600.0, "fragmentation_threshold": 0.3}, "defaults")
    tracker.set_threshold("memory_warning_percent", 70.0)
    tap.equal(tracker.thresholds["memory_warning_percent"], 70.0, "set")
    refused(ValueError, lambda: tracker.set_threshold("nothing", 1), "nothing")


@tap.test("events can be filtered, limited and cleared, and dropped ones are counted")
def _():
    tracker = fresh(max_events=5)
    for number in range(8):
        tracker._add_event("sample", number)
    tap.equal((len(tracker.events), tracker.stats["dropped_events"]), (5, 3), "bounded, and it says so")
    tap.equal([event.memory_change for event in tracker.get_events(last_n=2)], [6, 7], "last")
    tap.equal(len(tracker.get_events(last_n=0)), 5, "0 is no limit")
    tap.equal(len(tracker.get_events(since=tracker.events[3].timestamp)), 2, "since")
    tap.equal(tracker.get_events("peak"), [], "type")
    times = [event.timestamp_ns for event in tracker.events]
    tap.equal(times, sorted(times), "time never goes back")
    tracker.clear_events()
    tap.equal((len(tracker.events), tracker.get_statistics()["peak_memory"], tracker.get_statistics()["total_events"],
               tracker.stats["total_events"]), (0, 0, 0, 0), "cleared")


@tap.test("the timeline has the last values of each bin, and is computed in one pass")
def _():
    tracker = fresh()
    tap.equal(tracker.get_memory_timeline(), {"timestamps": [], "allocated": [], "reserved": []}, "empty")
    for at, value in ((0.0, 1), (0.4, 2), (1.2, 3), (5.9, 4)):
        tracker.events.append(TrackingEvent(100.0 + at, "sample", value, 10 * value, 0, 0))
    tap.equal(tracker.get_memory_timeline(1.0),
              {"timestamps": [100.0, 101.0, 105.0], "allocated": [2, 3, 4], "reserved": [20, 30, 40]}, "bins")
    refused(ValueError, lambda: tracker.get_memory_timeline(0), "interval")

    class Counting(list):
        reads = 0

        def __iter__(self):
            for item in list.__iter__(self):
                Counting.reads += 1
                yield item

    from stormlog._tracking import binned_timeline

    binned_timeline(Counting(TrackingEvent(float(i), "sample", 1, 1, 0, 0) for i in range(2000)), 0.1)
    tap.equal(Counting.reads, 2000, "each event is looked at once, however many bins there are")


@tap.test("every exported record is valid in every format; without events there is no file")
def _(folder):
    tracker = fresh()
    empty = Path(folder) / "none.json"
    tracker.export_events(empty, format="json")
    tap.equal(empty.exists(), False, "no events, no file")
    with tracker:
        torch.state.allocate(MIB)
        tracker._tick()
    for form in ("json", "csv", "jsonl"):
        path = Path(folder) / "new" / f"events.{form}"
        tracker.export_events(path, format=form)
        tap.equal(len(load_telemetry_events(path)), len(tracker.events), form)
    rows = json.loads((Path(folder) / "new" / "events.json").read_text())
    for row in rows:
        validate_telemetry_record(row)
    tap.equal((rows[0]["collector"], rows[0]["sampling_interval_ms"], rows[0]["metadata"]["backend"],
               rows[0]["metadata"]["sampling_source"]),
              ("stormlog.cuda_tracker", 3600000, "cuda", "torch.cuda.memory_allocated/reserved"), "origin")
    with open(Path(folder) / "new" / "events.csv") as file:
        cells = list(csv.DictReader(file))
    tap.equal(json.loads(cells[0]["metadata"])["backend"], "cuda", "metadata in CSV is JSON")
    refused(ValueError, lambda: tracker.export_events(Path(folder) / "x", format="xml"), "xml")


@tap.test("statistics can be read while a thread adds events")
def _():
    tracker = fresh()
    tracker.start_tracking()
    stop = threading.Event()

    def add():
        while not stop.is_set():
            tracker._add_event("sample", 1)

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        tracker.get_statistics()
        tracker.get_memory_timeline()
        tracker.get_events(last_n=5)
    stop.set()
    for thread in threads:
        thread.join()
    tracker.stop_tracking()
    numbers = [event.metadata["sequence"] for event in tracker.events]
    tap.equal(numbers, list(range(numbers[0], numbers[0] + len(numbers))), "no event is lost or doubled")


@tap.test("the tracker's own thread takes the samples")
def _():
    torch.state.__init__()
    tracker = MemoryTracker(sampling_interval=0.001)
    done = threading.Event()
    original = tracker._tick

    def tick():
        original()
        if len(tracker.get_events("sample")) >= 5:
            done.set()

    tracker._tick = tick
    with tracker:
        tap.true(done.wait(30), "five samples")


KILLED = """
import os, signal, sys
sys.path.insert(0, {here!r})
import stormlog
from stormlog.tracker import MemoryTracker
tracker = MemoryTracker(device="cpu", sampling_interval=3600)
tracker.start_tracking()
for number in range(20):
    tracker._add_event("sample", number)
print(tracker.evidence_path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@tap.test("after kill -9 every event is on disk")
def _(folder):
    result = tap.run([sys.executable, "-c", KILLED.format(here=str(Path(__file__).parent))],
                     env={**os.environ, "STORMLOG_DIR": folder})
    tap.equal(result.returncode, -signal.SIGKILL, result.stderr)
    events = load_telemetry_events(result.stdout.strip())
    tap.equal([event.event_type for event in events], ["start"] + ["sample"] * 20, "events")


@tap.test("temporary evidence is removed after a normal end, and continues in a new file when one is full")
def _(folder):
    code = ("from stormlog import CPUMemoryTracker\nt = CPUMemoryTracker(sampling_interval=9)\n"
            "with t: print(t.evidence_path)")
    result = tap.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": folder})
    tap.equal(os.path.exists(result.stdout.strip()), False, result.stderr)
    from stormlog import _tracking

    evidence = _tracking.EvidenceFile(folder, "full")
    original, _tracking.EVIDENCE_MAX_BYTES = _tracking.EVIDENCE_MAX_BYTES, 100
    try:
        for number in range(5):
            evidence.append({"text": "x" * 60, "number": number})
    finally:
        _tracking.EVIDENCE_MAX_BYTES = original
    tap.contains(evidence.path.read_text(), '"number":4')
    tap.contains(evidence.path.with_suffix(".jsonl.old").read_text(), '"number":3')


@tap.test("the watchdog cleans up at most every 30 seconds")
def _():
    tracker = fresh()
    dog = MemoryWatchdog(tracker)
    tap.equal(dog.min_cleanup_interval, 30.0, "interval")
    total = tracker.total_memory
    tracker.start_tracking()
    torch.state.allocate(int(total * 0.97))
    tracker._tick()
    tap.equal((torch.state.emptied, torch.state.synchronized, dog.cleanup_count), (2, 1, 1), "aggressive")
    tracker._add_event("critical", 0, "again", {"usage_percent": 99.0})
    tap.equal(dog.cleanup_count, 1, "too soon")
    dog.force_cleanup()
    tap.equal((dog.cleanup_count, torch.state.emptied), (2, 3), "forced")
    dog.last_cleanup_time = 0
    tracker._add_event("warning", 0, "below", {"usage_percent": 85.0})
    tap.equal(dog.cleanup_count, 2, "below its own threshold")
    tracker._add_event("warning", 0, "above", {"usage_percent": 91.0})
    tap.equal((dog.cleanup_count, dog.get_cleanup_stats()["cleanup_count"]), (3, 3), "standard")
    tap.equal([e.context for e in tracker.get_events("cleanup")][-1], "Memory cleanup performed (standard)", "event")
    tracker.stop_tracking()


# --- other backends ----------------------------------------------------------------------------------------------


BACKENDS = """
import sys
sys.path.insert(0, {here!r})
import standin_torch
torch = standin_torch.install({backend!r})
from stormlog import MemoryTracker, build_device_memory_collector, detect_torch_runtime_backend
torch.state.allocate(1000)
collector = build_device_memory_collector()
sample, ability = collector.sample(), collector.capabilities()
print(detect_torch_runtime_backend(), collector.name(), sample.allocated_bytes, sample.total_bytes == torch.state.total,
      ability["telemetry_collector"], ability["sampling_source"])
with MemoryTracker(sampling_interval=9) as tracker: pass
print(tracker.backend, tracker.events[0].device_id)
"""


@tap.test("trackers work on simulated ROCm and MPS devices")
def _():
    for backend, source in (("rocm", "torch.cuda.memory_* (HIP runtime)"),
                            ("mps", "torch.mps.current_allocated_memory/driver_allocated_memory")):
        result = tap.run([sys.executable, "-c", BACKENDS.format(here=str(Path(__file__).parent), backend=backend)])
        tap.equal(result.stdout.splitlines(),
                  [f"{backend} {backend} 1000 True stormlog.{backend}_tracker {source}", f"{backend} 0"], result.stderr)


@tap.test("collectors resolve devices and refuse others")
def _():
    collector = stormlog.build_device_memory_collector(1)
    tap.equal((collector.device_id, str(collector.device)), (1, "cuda:1"), "index")
    refused(ValueError, lambda: stormlog.build_device_memory_collector("cpu"), "cpu")
    torch.state.__init__()
    torch.state.allocate(7)
    tap.equal(collector.sample().active_bytes, 7, "active")
    torch.cuda.is_initialized = lambda: False
    sample = collector.sample()
    torch.cuda.is_initialized = lambda: True
    tap.equal((sample.used_bytes, collector.used_source()), (7, "allocator"), "no CUDA context is made by asking")


# --- main memory -------------------------------------------------------------------------------------------------


@tap.test("CPUMemoryTracker follows this process")
def _(folder):
    tracker = CPUMemoryTracker(sampling_interval=3600)
    tracker.start_tracking()
    block = bytearray(64 * MIB)
    tracker._tick()
    tap.true(tracker.get_events("allocation")[0].memory_change >= 60 * MIB, "64 MiB are seen")
    del block
    tracker.stop_tracking()
    tap.equal(tracker.events[0].device_id, -1, "device")
    statistics = tracker.get_statistics()
    tap.equal((statistics["mode"], statistics["total_events"]), ("cpu", len(tracker.events)), "statistics")
    timeline = tracker.get_memory_timeline(5.0)
    tap.equal((len(timeline["timestamps"]), timeline["allocated"]), (len(tracker.events), timeline["reserved"]), "points")
    path = tracker.export_events_with_timestamp(folder, "json")
    row = json.loads(Path(path).read_text())[1]
    validate_telemetry_record(row)
    tap.equal((row["collector"], row["device_total_bytes"], row["device_used_bytes"]),
              ("stormlog.cpu_tracker", None, row["allocator_allocated_bytes"]), "record")
    tap.true(Path(path).name.startswith("cpu_tracker_"), "name")


@tap.test("MemoryTracker(device='cpu') works as on a device")
def _():
    with MemoryTracker(device="cpu", sampling_interval=3600) as tracker:
        tracker._tick()
    tap.equal((tracker.backend, tracker.events[0].device_id, tracker.total_memory > 0), ("cpu", -1, True), "backend")
    for event in tracker.get_telemetry_events():
        tap.true(event.device_used_bytes <= event.device_total_bytes, "used within total")


@tap.test("export_artifacts writes the whole set of a run; every file can be read")
def _(folder):
    tracker = fresh(job_id="set")
    tracker.set_threshold("memory_warning_percent", 10.0)
    refused(ValueError, lambda: tracker.export_artifacts(folder), "no events")
    tracker.start_tracking()
    torch.state.allocate(4 * 1024 ** 3)
    tracker._tick()
    tracker.stop_tracking()
    paths = tracker.export_artifacts(Path(folder) / "new" / "place")
    names = [os.path.basename(path) for path in paths]
    tap.equal(names[:5], ["events.json", "events.csv", "timeline.json", "stats.json", "alerts.json"], "data")
    tap.true(names[5] in ("timeline.png", "timeline.svg") and names[6] == "timeline.html", f"pictures: {names[5:]}")
    events, timeline, stats, alerts = (json.load(open(paths[i])) for i in (0, 2, 3, 4))
    tap.equal(len(load_telemetry_events(paths[1])), len(events), "events")
    tap.equal(max(timeline["allocated"]), 4 * 1024 ** 3, "timeline")
    tap.equal((stats["peak_memory"], stats["alert_count"]), (4 * 1024 ** 3, len(alerts)), "statistics")
    validate_telemetry_record(alerts[0])
    tap.equal(alerts[0]["event_type"], "warning", "alert")
    tap.contains(Path(paths[6]).read_text(), "<svg")


@tap.test("the contexts of CPUMemoryTracker's events are those of the Python tool")
def _():
    tracker = CPUMemoryTracker(sampling_interval=3600.0)
    with tracker:
        held = bytearray(b"x" * (64 * MIB))
        tracker._tick()
        del held
        tracker._tick()
    words = {event.event_type: re.sub(r"[\d.]+ [KMG]?B", "SIZE", event.context) for event in tracker.events if event.context}
    tap.equal(words, {"start": "CPU memory tracking started", "peak": "New CPU peak RSS: SIZE", "allocation": "RSS increased by SIZE",
                      "deallocation": "RSS decreased by SIZE", "stop": "CPU memory tracking stopped"}, "contexts")


tap.main()
