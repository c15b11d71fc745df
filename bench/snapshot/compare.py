# SPDX-License-Identifier: MIT
"""compare.py BUILD FILE REPEATS: time and peak memory of reading one snapshot, by us and by others.

The readers take turns, so that load on the machine affects all of them. Each runs in a separate process; time is what the
process measured itself, without its start (a command measures nothing, so its time includes its start), memory is the
process's peak as the system counted it. A ratio is the median of the ratios of the turns; the spread is their smallest and
largest.

STORMLOG_MOSAIC names a checkout of facebookresearch/mosaic, STORMLOG_MOSAIC_PYTHON an interpreter with the packages it wants
(pandas, altair, click, omegaconf); its command that finds the peak is then measured, too.
"""

import os
import statistics
import subprocess
import sys
import time

PYTHON_LIMIT = 4_500_000_000  # bytes of a file that Python still loads into ordinary memory

PICKLE_LOAD = """
import pickle, sys, time
start = time.perf_counter()
with open(sys.argv[1], 'rb') as file:
    snapshot = pickle.load(file)
count = total = 0
for trace in snapshot['device_traces']:
    for event in trace:
        count += 1
        if event['action'] == 'alloc':
            total += event['size']
print(count, time.perf_counter() - start)
"""

# torch's own viewer, as a library: what `python -m torch.cuda._memory_viz trace_plot` does before it writes its page.
MEMORY_VIZ = """
import importlib.util, pickle, sys, time
spec = importlib.util.find_spec('torch')
viz = importlib.util.spec_from_file_location('viz', spec.submodule_search_locations[0] + '/cuda/_memory_viz.py')
module = importlib.util.module_from_spec(viz)
viz.loader.exec_module(module)
start = time.perf_counter()
with open(sys.argv[1], 'rb') as file:
    snapshot = pickle.load(file)
module.trace_plot(snapshot)
print(sum(map(len, snapshot['device_traces'])), time.perf_counter() - start)
"""


def is_whole_run(command):
    """A command of a tool, as a user types it; the others print what they measured."""
    return "analyze" in command or "-m" in command


def measure(command):
    """(events, seconds, peak in MiB), or None when the program cannot do it."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss / 1024
    if is_whole_run(command):
        return None if process.returncode != 0 else (0, time.perf_counter() - start, peak)
    fields = output.split()
    return None if process.returncode != 0 else (int(fields[0]), float(fields[1]), peak)


def readers(build, file):
    """name: command."""
    found = {"stormlog, read": [f"{build}/bench/bench_snapshot", file],
             "stormlog analyze, whole run": [f"{build}/stormlog", "analyze", file]}
    if not os.path.exists(f"{build}/stormlog"):
        del found["stormlog analyze, whole run"]
    if os.path.getsize(file) <= PYTHON_LIMIT:
        found["pickle.load + one loop"] = [sys.executable, "-c", PICKLE_LOAD, file]
        found["torch._memory_viz trace_plot"] = [sys.executable, "-c", MEMORY_VIZ, file]
    if mosaic := os.environ.get("STORMLOG_MOSAIC"):
        found["mosaic, peak, whole run"] = ["env", f"PYTHONPATH={mosaic}", os.environ.get("STORMLOG_MOSAIC_PYTHON", sys.executable),
                                            "-m", "mosaic.cmd.get_memory_usage_peak", "--snapshot", file]
    return found


def line(name, runs):
    seconds, peaks = [r[1] for r in runs], [r[2] for r in runs]
    return (f"{name:30} {statistics.median(seconds):8.3f} s  ({min(seconds):.3f}..{max(seconds):.3f})"
            f"  {statistics.median(peaks):8.1f} MiB")


def ratio(our_name, ours, name, theirs):
    times = [t[1] / o[1] for o, t in zip(ours, theirs)]
    peaks = [t[2] / o[2] for o, t in zip(ours, theirs)]
    print(f"{our_name} against {name}: {statistics.median(times):.1f} times faster ({min(times):.1f}..{max(times):.1f}), "
          f"1/{statistics.median(peaks):.1f} of its memory")


def main():
    build, file, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
    commands = readers(build, file)
    results = {name: [] for name in commands}
    for name in list(commands):
        if measure(commands[name]) is None:  # also warms the page cache
            print(f"{name:30} cannot be measured here")
            del commands[name], results[name]
    for _ in range(repeats):
        for name, command in commands.items():
            results[name].append(measure(command))
    ours = next(iter(results.values()))
    size = os.path.getsize(file)
    print(f"{ours[0][0]:,} events, {size:,} bytes, {repeats} turns; median (spread), peak memory")
    for name, runs in results.items():
        print(line(name, runs))
    print(f"read: {ours[0][0] / statistics.median(r[1] for r in ours) / 1e6:.1f} M events/s, "
          f"{size / statistics.median(r[1] for r in ours) / 1e6:.0f} MB/s")
    for our_name in (name for name in results if name.startswith("stormlog")):
        for name, runs in results.items():
            if not name.startswith("stormlog"):
                ratio(our_name, results[our_name], name, runs)


if __name__ == "__main__":
    main()
