# SPDX-License-Identifier: MIT
"""What the numbered scripts share: folders, the tracker, a recorded run with its figures, and the commands."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import stormlog

HERE = Path(__file__).resolve().parents[1]
ARTIFACTS = HERE / "artifacts"
WARM_UP = 20  # steps; the optimizer's state and the allocator's workspaces are made in the first ones
MIB = 1024 ** 2


def fresh_folder(name):
    folder = ARTIFACTS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def shown(path):
    """The path as one would type it here."""
    return os.path.relpath(path, HERE)


def make_tracker(device, **options):
    """A tracker with thresholds at which a risky run gives an alert, and with a bundle of evidence when memory runs out."""
    tracker = stormlog.MemoryTracker(device=device, enable_alerts=True, enable_oom_flight_recorder=True, job_id="stormlog-tutorial",
                                     **{"sampling_interval": 0.05, "oom_dump_dir": str(ARTIFACTS / "oom"), **options})
    tracker.set_threshold("memory_warning_percent", 70.0)
    tracker.set_threshold("memory_critical_percent", 85.0)
    return tracker


def command(*words, is_shown=True, **options):
    """Runs stormlog or gpumemprof and shows the line before."""
    if is_shown:
        print("$", " ".join(map(str, words)), flush=True)
    return subprocess.run([str(word) for word in words], cwd=HERE, check=options.pop("check", False), **options)


def find_recording(folder):
    return next(iter(sorted(Path(folder).rglob("*.slog"))))


def slope_mb_per_s(tracker):
    """The trend of the samples by least squares, as the walkthrough gives it: allocated MB per second, warm-up included."""
    samples = tracker.get_events("sample")
    times, sizes = [event.timestamp for event in samples], [event.memory_allocated / MIB for event in samples]
    if len(samples) < 3:
        return None
    middle, mean = sum(times) / len(times), sum(sizes) / len(sizes)
    spread = sum((time - middle) ** 2 for time in times)
    return sum((time - middle) * (size - mean) for time, size in zip(times, sizes)) / spread


def growth_per_step(recording, device, steps):
    """Exact: live bytes at the last step minus those after the warm-up, over the steps between."""
    done = command("stormlog", "diff", f"{recording}@step:{WARM_UP}", f"{recording}@step:{steps - 1}", "--device", str(device),
                   "--format", "json", is_shown=False, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["diffs"][0]["delta_bytes"] / (steps - 1 - WARM_UP)


def measured_run(name, retention):
    """Trains under the tracker and the recorder, writes artifacts/<name>/, prints and returns the run's figures."""
    from training_job import job_for, pick_device, train  # here, so that scripts without a training do not wait for torch

    device, folder = pick_device(), fresh_folder(name)
    start = time.monotonic()
    tracker = make_tracker(device)
    with stormlog.record(dir=folder / "recording"), tracker:
        accuracy = train(retention, device, on_step=stormlog.step)
    seconds = time.monotonic() - start
    tracker.export_artifacts(folder)
    recording = find_recording(folder / "recording")
    number = -1 if device.type == "cpu" else device.index or 0
    report = stormlog.analyze(recording, whatif=False)
    found = next(entry for entry in report["devices"] if entry["device"] == number)
    steps = job_for(device).steps
    figures = {"name": name, "device": str(device), "steps": steps, "seconds": round(seconds, 2), "accuracy": accuracy,
               "peak_bytes": found["peak_bytes"] or found["peak_requested_bytes"],
               "growth_bytes_per_step": growth_per_step(recording, number, steps),
               "slope_mb_per_s": slope_mb_per_s(tracker), "verdict": report["verdict"], "headline": report["headline"],
               "recording": shown(recording)}
    (folder / "run.json").write_text(json.dumps(figures, indent=1))
    print(f"validation accuracy  {accuracy:.2%}\npeak allocated       {figures['peak_bytes'] / MIB:,.1f} MiB")
    print(f"growth per step      {figures['growth_bytes_per_step'] / 1024:,.1f} KiB after the first {WARM_UP} of {steps} steps")
    print(f"verdict              {report['headline']}\nfiles                {shown(folder)}/", flush=True)
    return figures
