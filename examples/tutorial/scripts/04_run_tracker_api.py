# SPDX-License-Identifier: MIT
"""Step 4: the tracker API: thresholds, alerts while the run lives, evidence when memory runs out, files to keep."""

from retention import DeviceTensorRetention
from stormlog.metrics import get_memory_stats
from tracking_helpers import fresh_folder, make_tracker, shown
from training_job import pick_device, train

device, folder = pick_device(), fresh_folder("tracker")
tracker = make_tracker(device, sampling_interval=0.02)
# The leak is far below 70 % of this machine. An alert at the memory of now plus a few per mille shows one while the run lives.
used = 100 * get_memory_stats(device)["allocated_gb"] * 1024 ** 3 / tracker.total_memory
tracker.set_threshold("memory_warning_percent", used + 0.2)
tracker.add_alert_callback(lambda event: tracker.stats["alert_count"] > 3 or print(f"alert: {event.context}", flush=True))
tracker.start_tracking()
try:
    with tracker.capture_oom(context="leaky-training"):
        train(DeviceTensorRetention(), device)
finally:
    tracker.stop_tracking()

stats = tracker.get_statistics()
print(f"samples {len(tracker.get_events('sample'))}, alerts {stats['alert_count']}, peak {stats['peak_memory'] / 1024 ** 2:.1f} MiB")
for path in tracker.export_artifacts(folder):
    print(" ", shown(path))
