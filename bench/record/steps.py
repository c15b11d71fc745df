# SPDX-License-Identifier: MIT
"""Slowdown of a training step: of one limited by the CPU, which is the worst case, and on a GPU also of one limited by the GPU.

All ways of one process take turns in blocks of a few steps: the recorder's functions are taken out of torch's import slots
and put back by slot_switch.c, torch's own history is turned on and off by torch. The order is random in every round. A
round gives one ratio for each way, its block against the mean of the two blocks with nothing on; shown are the median of the
ratios and its 95 % interval (order statistics, as in the sign test). "nothing" is listed twice: the ratio of the second to the
first is the error of the method. On a shared machine that error is several percent; then rely on the time measured around each
report: it does not include what the recorder's use of the caches costs the program, but nothing else disturbs it.

The processes are measured one after the other: one under `stormlog run`, one that called sl_record_start, one that calls
sl_record_start and sl_record_stop around every block, so that the recorder's own thread is started and stopped as well, and
with a GPU one whose step takes longer on the GPU than in Python.

Arguments: build folder, rounds, steps per block, rounds of the third process and of the large step.
"""

import ctypes
import gc
import glob
import math
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time

TORCH, RECORDER, REPORTED, COUNTED, TIMED, TIMED_0 = range(6)  # slot_state of slot_switch.c
SAMPLE_MAX = 1 << 20
CLOCKS = {"wall": time.perf_counter_ns, "main thread": time.thread_time_ns, "process": time.process_time_ns}


# --- What is measured -----------------------------------------------------------------------------


CPU_BOUND = {"cpu": (32, 2, 8, "float32"), "cuda": (128, 8, 32, "float32")}  # width, batch, length, type
GPU_BOUND = {"cuda": (1024, 64, 512, "bfloat16")}


def make_step(torch, device, sizes=CPU_BOUND):
    """A small transformer, which spends its time on kernel launches, where a recorder can slow it down; or a large one.
    Gradients are freed at the end, so that no block has to free memory of the one before."""
    width, batch, length, dtype = sizes[device]
    place = {"device": device, "dtype": getattr(torch, dtype)}
    layer = torch.nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
    net = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).to(**place)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x = torch.randn(batch, length, width, **place)

    def step():
        net(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


class Options(ctypes.Structure):
    """sl_record_options of stormlog/record.h."""

    _fields_ = [("struct_size", ctypes.c_uint32), ("cpu", ctypes.c_uint32), ("stacks", ctypes.c_uint32),
                ("interval_ms", ctypes.c_uint32), ("ring_bytes", ctypes.c_uint64), ("dir", ctypes.c_char_p)]


class Recorder:
    """A recording started by sl_record_start, or the one of `stormlog run`."""

    def __init__(self, build, folder):
        self.library = ctypes.CDLL(os.path.join(build, "libstormlog_record.so"))
        self.options = Options(struct_size=ctypes.sizeof(Options), dir=folder.encode())
        self.folder = folder

    def start(self):
        if not self.library.sl_record_is_on() and self.library.sl_record_start(ctypes.byref(self.options)) != 0:
            sys.exit("sl_record_start refused")

    def stop(self):
        self.library.sl_record_stop()
        for path in glob.glob(os.path.join(self.folder, "*")):
            os.unlink(path)


def recorder_thread_ns():
    """CPU time of the recorder's own thread."""
    for task in glob.glob("/proc/self/task/*"):
        with open(task + "/comm") as file:
            if file.read() == "stormlog\n":
                with open(task + "/schedstat") as file:
                    return int(file.read().split()[0])
    return 0


def switched_ways(torch, switch):
    """Name of each way, with what turns it on and what turns it off again."""

    def slots(state):
        return lambda: switch.slot_switch_set(state)

    def history(stacks):
        return lambda: torch.cuda.memory._record_memory_history(stacks=stacks, max_entries=1000000)

    def no_history():
        torch.cuda.memory._record_memory_history(enabled=None)

    ways = {"nothing": (slots(TORCH), slots(TORCH)), "nothing, again": (slots(TORCH), slots(TORCH)),
            "stormlog": (slots(RECORDER), slots(TORCH))}
    if torch.cuda.is_available():
        ways["torch history, python stacks"] = (history("python"), no_history)
        ways["torch history, all stacks"] = (history("all"), no_history)
    else:
        ways["torch reports, nobody listens"] = (slots(REPORTED), slots(TORCH))
    return ways


def started_ways(recorder):
    def nothing():
        pass

    return {"nothing": (nothing, nothing), "nothing, again": (nothing, nothing),
            "stormlog": (recorder.start, recorder.stop)}


# --- Measuring ------------------------------------------------------------------------------------


def pin_main_thread():
    """To one processor, the last one; the threads that exist already keep all of them."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def time_block(step, wait, block):
    wait()
    before = [read() for read in CLOCKS.values()]
    for _ in range(block):
        step()
    wait()
    return [(read() - start) / block / 1000 for read, start in zip(CLOCKS.values(), before)]


def take_turns(ways, step, wait, rounds, block, warm):
    """For each way a list of (time of a step by each clock), one for each round."""
    times = {name: [] for name in ways}
    order = random.Random(1)
    gc.disable()
    for number in range(rounds + 2):  # two warm-up rounds
        if number % 16 == 0:
            gc.collect()
        for name in order.sample(list(ways), len(ways)):
            turn_on, turn_off = ways[name]
            turn_on()
            for _ in range(warm):
                step()
            measured = time_block(step, wait, block)
            turn_off()
            if number >= 2:
                times[name].append(measured)
    return times


def count_events(switch, step):
    switch.slot_switch_set(COUNTED)
    switch.slot_switch_count()
    step()
    cnt = switch.slot_switch_count()
    switch.slot_switch_set(TORCH)
    return cnt


class TimedReports:
    """Times every report while training runs: the direct cost of events, with the program's own work and use of the caches in
    between. Blocks with and without the recorder alternate; the clock's own cost is subtracted."""

    def __init__(self, switch):
        self.switch = switch
        self.rows = []
        self.buffer = (ctypes.c_int64 * SAMPLE_MAX)()
        self.switch.slot_switch_ticks.restype = ctypes.c_uint64

    def block(self, state, step, steps):
        self.switch.slot_switch_set(state)
        step()
        self.switch.slot_switch_samples(self.buffer)
        for _ in range(steps):
            step()
        cnt = self.switch.slot_switch_samples(self.buffer)
        self.switch.slot_switch_set(TORCH)
        ticks = self.buffer[:cnt]
        return {"alloc": [t for t in ticks if t >= 0], "free": [-t for t in ticks if t < 0]}

    def measure(self, step, blocks, steps, other_bytes):
        self.switch.slot_switch_use_caches(ctypes.c_size_t(other_bytes))
        start_ns, start_ticks = time.perf_counter_ns(), self.switch.slot_switch_ticks()
        seen = {state: {"alloc": [], "free": []} for state in (TIMED, TIMED_0)}
        for _ in range(blocks):
            for state in seen:
                for kind, values in self.block(state, step, steps).items():
                    seen[state][kind] += values
        tick_ns = (time.perf_counter_ns() - start_ns) / (self.switch.slot_switch_ticks() - start_ticks)
        for kind in ("alloc", "free"):
            own, clock = ([measure(seen[state][kind]) * tick_ns for measure in
                           (lowest_tenth, statistics.median, highest_tenth, mean_uninterrupted)] for state in seen)
            self.rows.append([kind, f"{other_bytes >> 10} KiB", f"{len(seen[TIMED][kind]):,}",
                              *(f"{a - b:.0f}" for a, b in zip(own, clock))])

    def show(self):
        print("| a clock around each | other memory read before | reports | 10 % below, ns | median, ns | 90 % below, ns "
              "| mean without the slowest 2 %, ns |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for row in self.rows:
            print("| " + " | ".join(row) + " |")


PRELOADED, STARTED = "stormlog run", "sl_record_start"
RESTARTED, LARGE = "sl_record_start and sl_record_stop around each block", "stormlog run, a step bound by the GPU"


def work(kind, build, folder, rounds, block):
    import torch
    has_gpu = torch.cuda.is_available()
    if kind == LARGE and not has_gpu:
        return
    wait = torch.cuda.synchronize if has_gpu else lambda: None
    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = make_step(torch, "cuda" if has_gpu else "cpu", GPU_BOUND if kind == LARGE else CPU_BOUND)
    recorder = Recorder(build, folder)
    for _ in range(5):  # binds every slot
        step()
    recorder.start()
    for _ in range(20):
        step()
    switch = ctypes.CDLL(os.path.join(build, "bench/libslot_switch.so"))
    if switch.slot_switch_find() == 0:
        sys.exit("no slot of torch holds a function of the recorder")
    events = count_events(switch, step)
    print(f"\n{kind}: {rounds} rounds of {block} steps on {'cuda' if has_gpu else 'cpu'}, torch {torch.__version__}, Python "
          f"{platform.python_version()}, {events} allocs and frees a step")
    if kind == RESTARTED:
        switch.slot_switch_set(RECORDER)
        recorder.stop()
        ways, warm = started_ways(recorder), 10  # a new file: stacks are seen for the first time again
    else:
        ways, warm = switched_ways(torch, switch), 1  # caches are cold after the other blocks
    pin_main_thread()
    if kind in (PRELOADED, STARTED):
        timed = TimedReports(switch)
        timed.measure(step, 8, 5, 0)
        timed.measure(step, 8, 1, 512 << 10)  # a program that uses more memory between two events
        timed.show()
    start_ns, start_helper_ns = time.perf_counter_ns(), recorder_thread_ns()
    times = take_turns(ways, step, wait, rounds, block, warm)
    helper_ns = recorder_thread_ns() - start_helper_ns
    show(times, events)
    if helper_ns > 0:
        print(f"the recorder's own thread: {helper_ns / (time.perf_counter_ns() - start_ns) * 100:.2f} % of one processor")
    if not has_gpu:
        print("torch's own history needs a CUDA device: not measured. While its CPU memory is recorded, torch keeps a table of "
              "block sizes" + (", which is \"torch reports, nobody listens\"." if len(ways) > 3 else "."))
    sys.stdout.flush()
    os._exit(0)


# --- Showing --------------------------------------------------------------------------------------


def lowest_tenth(values):
    return statistics.quantiles(values, n=10)[0]


def highest_tenth(values):
    return statistics.quantiles(values, n=10)[-1]


def mean_uninterrupted(values):
    """Without the slowest 2 %, which include those that another program interrupted."""
    return statistics.fmean(sorted(values)[:int(len(values) * 0.98)])


def median_interval(values):
    """Median and 95 % interval of it: from the k-th smallest to the k-th largest."""
    ordered = sorted(values)
    low = max(0, math.floor(len(ordered) / 2 - 0.98 * math.sqrt(len(ordered))))
    return statistics.median(ordered), ordered[low], ordered[-1 - low]


def ratios_of(times, name, clock):
    """Percent by which each block of a way was slower than nothing in the same round."""
    pairs = zip(times[name], times["nothing"], times["nothing, again"])
    if name.startswith("nothing"):
        return [(own[clock] / first[clock] - 1) * 100 for own, first, _ in pairs]
    return [(own[clock] * 2 / (first[clock] + again[clock]) - 1) * 100 for own, first, again in pairs]


def show(times, events):
    print("| way | clock | median step, us | slowdown, median of rounds | 95 % interval | ns an event |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    slowdown, least = {}, {}
    for clock, clock_name in enumerate(CLOCKS):
        for name in list(times)[1:]:
            middle, low, high = median_interval(ratios_of(times, name, clock))
            step_us = statistics.median(row[clock] for row in times[name])
            nothing_us = statistics.median(row[clock] for row in times["nothing"])
            slowdown[name, clock_name], least[name, clock_name] = middle, low
            print(f"| {name} | {clock_name} | {step_us:.1f} | {middle:+.2f} % | {low:+.2f} to {high:+.2f} % "
                  f"| {middle / 100 * nothing_us * 1000 / events:.0f} |")
    for name, clock_name in slowdown:
        if name.startswith("torch history") and clock_name == "wall":
            print(f"{name}: " + (f"{slowdown[name, clock_name] / slowdown['stormlog', clock_name]:.1f} times the recorder's slowdown"
                                 if least["stormlog", clock_name] > 0 else "the recorder's slowdown cannot be told from 0"))


def main():
    build, rounds, block, start_rounds, large_rounds = os.path.abspath(sys.argv[1]), *sys.argv[2:6]
    with tempfile.TemporaryDirectory(prefix="stormlog-bench-") as folder:
        own = [sys.executable, os.path.abspath(__file__), "--work"]
        preload = [os.path.join(build, "stormlog"), "run", "-q", "-o", folder, "--"]
        subprocess.run([*preload, *own, PRELOADED, build, folder, rounds, block], check=True)
        subprocess.run([*own, STARTED, build, folder, rounds, block], check=True)
        subprocess.run([*own, RESTARTED, build, folder, start_rounds, "20"], check=True)
        subprocess.run([*preload, *own, LARGE, build, folder, large_rounds, block], check=True)


if sys.argv[1] == "--work":
    work(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), int(sys.argv[6]))
else:
    main()
