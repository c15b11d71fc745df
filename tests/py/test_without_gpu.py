# SPDX-License-Identifier: MIT
"""A machine without a GPU, with and without PyTorch: what works there, and the one-line errors of the rest."""

import os
import sys

import tap

PYTHON = tap.python_with("torch") if os.path.exists("/usr/bin/python3") else sys.executable

NO_TORCH = "import sys\nsys.modules['torch'] = None\n"


def script(code, **env):
    """Runs the code in a process that sees no GPU; its standard output."""
    result = tap.run([PYTHON, "-c", code], env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **env})
    tap.equal(result.returncode, 0, result.stdout + result.stderr)
    return result.stdout


# what is called, the words of its error.
REFUSED = {
    "stormlog.MemoryTracker('cuda')": 'MemoryTracker("cpu") watches main memory',
    "stormlog.MemoryTracker()": 'MemoryTracker("cpu") watches main memory',
    "stormlog.MemoryTracker(0)": 'MemoryTracker("cpu") watches main memory',
    "stormlog.GPUMemoryProfiler()": "stormlog.CPUMemoryProfiler() measures main memory",
    "stormlog.profile_function(lambda: 1)()": "profiler=stormlog.CPUMemoryProfiler() measures main memory",
}

for _call, _words in REFUSED.items():

    @tap.test(f"{_call} without CUDA raises a one-line error that suggests the CPU")
    def _(folder, call=_call, words=_words):
        found = script(f"import stormlog\ntry:\n    {call}\nexcept (RuntimeError, ValueError) as error:\n    print(error)\n")
        tap.contains(found, words)
        tap.equal(found.count("\n"), 1, f"lines of {found!r}")


@tap.test("what the error suggests works: a decorator, a with block and a tracker on main memory")
def _():
    script("""
import stormlog
profiler = stormlog.CPUMemoryProfiler()
@stormlog.profile_function(profiler=profiler)
def work():
    return 7
assert work() == 7
with stormlog.profile_context("block", profiler=profiler):
    pass
assert [result.name for result in profiler.results] == ["work", "block"]
with stormlog.MemoryTracker("cpu"):
    pass
""")


@tap.test("MemoryVisualizer and MemoryAnalyzer take a CPUMemoryProfiler")
def _(folder):
    script(f"""
import json, os, stormlog
os.chdir({folder!r})
profiler = stormlog.CPUMemoryProfiler()
for _ in range(3):
    profiler.profile_function(lambda: bytearray(1 << 24))
profiler._keep_snapshot()
pictures = stormlog.MemoryVisualizer(profiler)
assert "Resident" in pictures.plot_memory_timeline(save_path="t.svg").svg()
pictures.plot_function_comparison(save_path="c.svg", metric="peak_memory")
pictures.plot_memory_heatmap(save_path="h.svg")
pictures.create_dashboard(save_path="d.svg")
rows = open(pictures.export_data(save_path="x")).read().splitlines()
assert len(rows) == 4 and rows[0].startswith("function_name,execution_time"), rows
assert len(json.load(open(pictures.export_data(save_path="x", format="json")))["results"]) == 3
stormlog.MemoryAnalyzer(profiler).generate_optimization_report()
""")


@tap.test("reset_peak_memory on the CPU starts a new interval")
def _():
    script("""
from stormlog import metrics
MIB = 1 << 20
def touch(size):
    block = bytearray(size)
    for at in range(0, size, 4096):
        block[at] = 1
    return block
touch(200 * MIB)
first = metrics.get_memory_stats("cpu")["peak_gb"]
metrics.reset_peak_memory("cpu")
second = metrics.get_memory_stats("cpu")["peak_gb"]
assert second < first - 0.1, (first, second)
kept = touch(100 * MIB)
third = metrics.get_memory_stats("cpu")["peak_gb"]
assert second + 0.05 < third < first, (first, second, third)
""")


@tap.test("without PyTorch the CPU tracker works")
def _(folder):
    script(NO_TORCH + f"""
import os, stormlog
os.chdir({folder!r})
with stormlog.CPUMemoryTracker(sampling_interval=0.01) as tracker:
    pass
assert tracker.get_statistics()["total_events"] >= 2
tracker.export_events("events.json", "json")
assert os.path.getsize("events.json") > 0
from stormlog.tracker import MemoryTracker
assert MemoryTracker("cpu").get_statistics()["total_events"] == 0
""")


tap.main()
