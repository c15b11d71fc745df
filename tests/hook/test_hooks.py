# SPDX-License-Identifier: MIT
"""The hooks against libraries made for the purpose: torch 2, the CUDA driver and NVML without a GPU.

Arguments: the program, the target, the folder of the fakes.
"""

import json
import os
import subprocess
import sys
import time

import slog_totals
import tap

stormlog, target, fakes = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
MIB = 1 << 20


def record(folder, scenario, options=(), **env):
    out = os.path.join(folder, "run")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("STORMLOG_", "CUDA_"))}
    result = tap.run([stormlog, "run", "-o", out, *options, "--", target, scenario],
                     env={**clean, "LD_LIBRARY_PATH": fakes, **env})
    tap.equal(result.returncode, 0, result.stderr)
    facts = dict(line.split() for line in result.stdout.splitlines())
    return facts, slog_totals.load_all(out)


@tap.test("torch 2: every report is recorded with its device, and the original function is called once")
def _(folder):
    facts, totals = record(folder, "torch")
    tap.equal(facts, {"errno": "77", "reports": "161", "ooms": "1", "bytes": str(40 * 512 + 1024),
                      "allocated": "1024", "device": "dead0301"}, "what the original saw, errno as it left it")
    row = totals[0]
    tap.equal((row.sum("alloc_cnt", 0), row.sum("free_cnt", 0), row.sum("live_bytes", 0)), (100, 60, 40 * 512))
    tap.equal((row.sum("alloc_cnt", 3), row.sum("live_bytes", 3)), (1, 1024), "device 3")
    tap.equal((row.peak("allocated", 0), row.peak("reserved", 0)), (51200, 2 * MIB), "peaks of torch's totals")
    tap.equal([(oom["device"], oom["requested"], oom["allocated"]) for oom in row.ooms], [(0, 5 * MIB, 40 * 512)])


@tap.test("the end of a C program's work is marked when exit() begins, before earlier exit handlers run")
def _(folder):
    _, totals = record(folder, "exit")
    lines = tap.run([stormlog, "cat", "--format", "json", totals[0].path]).stdout.splitlines()
    events = [(event["kind"], event["size"]) for event in map(json.loads, lines)
              if event["device"] in (0, -1) and event["kind"] != "settings"]
    tap.equal(events, [("alloc", 512)] * 3 + [("work_end", 3 * 512)] + [("free", 512)] * 3)


@tap.test("an unknown version of torch is named in one line, no folder is left, and the program continues")
def _(folder):
    libraries = os.path.join(folder, "lib")
    os.mkdir(libraries)
    os.symlink(os.path.join(fakes, "unknown_c10.so"), os.path.join(libraries, "libc10.so"))
    out = os.path.join(folder, "run")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("STORMLOG_", "CUDA_"))}
    command = ["/usr/bin/python3", "-c", "import ctypes; ctypes.CDLL('libc10.so'); print('on')"]
    result = tap.run([stormlog, "run", "-o", out, "--", *command], env={**clean, "LD_LIBRARY_PATH": libraries})
    tap.equal((result.returncode, result.stdout), (0, "on\n"), result.stderr)
    tap.equal(len(result.stderr.splitlines()), 2, result.stderr)
    tap.contains(result.stderr, "libc10.so' has none of the functions that report PyTorch's memory")
    tap.contains(result.stderr, "no process wrote memory events")
    tap.equal(os.path.exists(out), False, "a folder was left")


@tap.test("the driver's functions are found through dlsym and cuGetProcAddress, by calling library")
def _(folder):
    facts, totals = record(folder, "driver")
    tap.equal(facts, {"start": "0", "too_much": "1", "calls": "8", "other": "1", "all": "1"})
    sites = {(site.label, site.device): (site.alloc_cnt, site.live_bytes)
             for site in totals[0].select(domain=slog_totals.DRIVER)}
    tap.equal(sites, {("libcublas", 0): (2, 64 * MIB), ("libcublas", 1): (2, 20 * MIB), ("target", 1): (2, 8 * MIB)})
    curves = {key: value for key, (value, _) in totals[0].counters.items() if key in sites}
    tap.equal(curves, {key: live for key, (_, live) in sites.items()}, "what they have is a curve too, which outlives the ring")


@tap.test("--no-driver does not hook the driver")
def _(folder):
    facts, totals = record(folder, "driver", options=["--no-driver"])
    tap.equal(facts["calls"], "8", "calls that reach the driver")
    tap.equal(len(totals), 0, "recordings")


@tap.test("a virtual memory allocation is live until both its handle is released and it is unmapped")
def _(folder):
    _, totals = record(folder, "vmm")
    tap.equal(totals[0].sum("alloc_cnt", 2, slog_totals.DRIVER), 4, "pieces made on device 2")
    tap.equal(totals[0].sum("free_cnt", 2, slog_totals.DRIVER), 2, "pieces gone: 1 and 3")
    tap.equal(totals[0].sum("live_bytes", 2, slog_totals.DRIVER), 4 * MIB)


@tap.test("calls of a library loaded with RTLD_DEEPBIND are recorded once, and its functions are restored at the stop")
def _(folder):
    for binding in ("now", "lazy"):
        facts, totals = record(os.path.join(folder, binding), "deepbind_" + binding)
        tap.equal(facts, {"first": "0", "second": "0", "restored": "1", "third": "0"}, binding)
        sites = [(site.label, site.alloc_cnt, site.live_bytes) for site in totals[0].select(domain=slog_totals.DRIVER)]
        tap.equal(sites, [("libdeep", 2, 8 * MIB)], binding)


@tap.test("HIP: every kind of allocation, virtual memory included, is recorded with its calling library and device")
def _(folder):
    facts, totals = record(folder, "hip")
    tap.equal(facts, {"calls_failed": "0", "pieces_failed": "0", "own": "0", "calls": "25"})
    sites = {}
    for site in totals[0].select(domain=slog_totals.DRIVER):
        cnt, live = sites.get((site.label, site.device), (0, 0))
        sites[site.label, site.device] = (cnt + site.alloc_cnt, live + site.live_bytes)
    tap.equal(sites, {("libc10_hip", 0): (4, 7 * MIB), ("libc10_hip", -1): (2, 3 * MIB),
                      ("libc10_hip", 1): (7, 23 * MIB), ("target", 1): (1, 11 * MIB)})
    tap.equal(totals[0].sum("live_bytes", 1), 512, "torch's tensors have the device type HIP there")


@tap.test("without a driver no program finds one, and dlsym answers as if its caller had asked")
def _(folder):
    facts, totals = record(folder, "without_driver")
    tap.equal(facts, {"default": "1", "runtime": "1", "next": "1", "none": "1", "plain": "1"})
    tap.equal(len(totals), 0, "recordings")


def all_counters(folder, scenario="wait", devices=(1,), **env):
    """Counters by name and device once the recorder has read them, in a process that waits meanwhile."""
    out = os.path.join(folder, "run")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("STORMLOG_", "CUDA_"))}
    process = subprocess.Popen([stormlog, "run", "-o", out, "--interval", "10ms", "--", target, scenario],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**clean, "LD_LIBRARY_PATH": fakes, **env})
    process.stdout.readline()
    deadline = time.monotonic() + 30
    counters = {}
    while any(("power", device) not in counters for device in devices) and time.monotonic() < deadline:
        counters = slog_totals.load_all(out)[0].counters
    process.communicate("", timeout=60)
    return counters


def device_counters(folder, **env):
    return {name: value for (name, device), value in all_counters(folder, **env).items() if device == 1}


@tap.test("two threads on two devices: each block is on its thread's device, and both cards are read")
def _(folder):
    counters = all_counters(folder, "two_devices", devices=(0, 1), FAKE_NVML_PID="own")
    tap.equal([counters["device_used", device][0] for device in (0, 1)], [1 << 30, 2 << 30])
    row = slog_totals.load_all(os.path.join(folder, "run"))[0]
    tap.equal([(row.sum("alloc_cnt", device, slog_totals.DRIVER), row.sum("live_bytes", device, slog_totals.DRIVER))
               for device in (0, 1)], [(50, 50 * MIB), (50, 100 * MIB)])


@tap.test("NVML: the card, this process and the other processes are read; a missing value has a reason")
def _(folder):
    counters = device_counters(folder, FAKE_NVML_PID="own")
    tap.equal(counters["device_used"], (2 << 30, ""), "of the second card")
    tap.equal(counters["device_total"], (8 << 30, ""))
    tap.equal(counters["process_used"], (300 * MIB, ""))
    tap.equal(counters["other_processes"], (100 * MIB, ""))
    tap.equal(counters["driver_reserved"], (600 * MIB, ""))
    tap.equal(counters["temperature"], (None, "not available on this machine"))


@tap.test("top: every byte of the card has a row, and they add up")
def _(folder):
    device_counters(folder, FAKE_NVML_PID="own")
    result = tap.run([stormlog, "top", os.path.join(folder, "run")])
    tap.equal(result.returncode, 0, result.stderr)
    tap.contains(result.stdout, """Device 1
    2.00 GiB  of 8.00 GiB in use on the card
       512 B  tensors
    2.00 MiB  allocator's cache
     298 MiB  CUDA context and modules
     100 MiB  other processes
     600 MiB  kept by the driver
    1.02 GiB  rest
""")


@tap.test("top --format json has the same rows in bytes, and they add up to the card")
def _(folder):
    device_counters(folder, FAKE_NVML_PID="own")
    result = tap.run([stormlog, "top", "--format", "json", os.path.join(folder, "run")])
    tap.equal(result.returncode, 0, result.stderr)
    recording = json.loads(result.stdout)[0]
    device = next(row for row in recording["devices"] if row["device"] == 1)
    rows = ("tensors", "cache", "libraries", "context", "other_processes", "driver", "rest")
    tap.equal(sum(device[row + "_bytes"] for row in rows), device["card_used_bytes"])
    tap.equal((device["tensors_bytes"], device["card_used_bytes"], recording["rank"]), (512, 2 << 30, None))


@tap.test("a nearly full card raises one alert, not one per reading")
def _(folder):
    device_counters(folder, FAKE_NVML_PID="own", FAKE_NVML_FULL="1")
    result = tap.run([stormlog, "top", os.path.join(folder, "run")])
    lines = [line for line in result.stdout.splitlines() if "alert after" in line]
    tap.equal(len(lines), 1, result.stdout)
    tap.contains(lines[0], "device 1: 95 % or more of the card is used")
    result = tap.run([stormlog, "analyze", "--format", "json", os.path.join(folder, "run")])
    alerts = [(alert["device"], alert["severity"], alert["text"]) for alert in json.loads(result.stdout)["alerts"]]
    tap.equal(alerts, [(1, "warning", "95 % or more of the card is used")], "the report has it too")


@tap.test("top shows values that were not measured as unknown, and libraries by name")
def _(folder):
    record(folder, "driver")
    result = tap.run([stormlog, "top", os.path.join(folder, "run")])
    tap.equal(result.returncode, 0, result.stderr)
    tap.contains(result.stdout, "    64.0 MiB  libcublas\n")
    tap.contains(result.stdout, "     unknown  tensors\n")
    tap.contains(result.stdout, "     unknown  other processes\n")


@tap.test("NVML: memory of a process that the driver lists under another pid is unknown, not 0")
def _(folder):
    counters = device_counters(folder, FAKE_NVML_PID="none")
    tap.equal(counters["process_used"][0], None)
    tap.contains(counters["process_used"][1], "does not list this process")
    tap.equal(counters["other_processes"][0], None, "one of the others may be this process")


@tap.test("NVML: clients of the multi-process service are found, and no process is counted twice")
def _(folder):
    counters = device_counters(folder, FAKE_NVML_PID="mps")
    tap.equal(counters["process_used"], (200 * MIB, ""))
    tap.equal(counters["other_processes"], (150 * MIB, ""))


@tap.test("NVML: CUDA_VISIBLE_DEVICES renumbers the cards, and a card that does not exist is unknown")
def _(folder):
    counters = device_counters(folder, CUDA_VISIBLE_DEVICES="1,0", FAKE_NVML_PID="own")
    tap.equal(counters["device_used"], (1 << 30, ""), "of the card the program calls 1")
    os.rename(os.path.join(folder, "run"), os.path.join(folder, "first"))
    counters = device_counters(folder, CUDA_VISIBLE_DEVICES="1", FAKE_NVML_PID="own")
    tap.equal(counters["device_used"][0], None)
    tap.contains(counters["device_used"][1], "there is no device 1")


@tap.test("when NVML cannot start, the reason is recorded and nothing fails")
def _(folder):
    counters = device_counters(folder, FAKE_NVML_INIT="9")
    tap.equal(counters["device_used"][0], None)
    tap.contains(counters["device_used"][1], "nvmlInit failed with code 9")


tap.main()
