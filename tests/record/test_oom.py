# SPDX-License-Identifier: MIT
"""Bundles of failed requests: a real torch on the CPU that runs out, and a recording of an H200 that did. Arguments: the
program."""

import json
import os
import signal
import sys

import frozen
import tap
from plain_torch import PYTHON, need_torch

stormlog = os.path.abspath(sys.argv.pop(1))
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "slog")
FILES = sorted(["manifest.json", "events.json", "metadata.json", "environment.json", "trace.json", "live_sites.json",
                "counters.json", "recent_events.txt", "report.json", "report.txt"])

# A request of 128 TiB fails wherever this runs: torch's CPU allocator reports it as the CUDA one does.
HEAD = """
import os, sys, time, torch
folder = sys.argv[1]
kept = []
def hold(n):
    kept.append(torch.ones(1 << 18))        # line 6: 1 MiB
def fail():
    try:
        torch.empty(1 << 45)                # line 9
    except RuntimeError:
        pass
def wait_for(number):
    deadline = time.monotonic() + 40
    while not any(name.endswith(f".oom-{number}") for name in os.listdir(folder)):
        assert time.monotonic() < deadline, "no bundle came"
        time.sleep(0.02)
"""


def clean_env(**more):
    return {**{name: value for name, value in os.environ.items() if not name.startswith(("STORMLOG_", "RANK", "WORLD_"))},
            **more}


def run(folder, source, options=(), **env):
    """Runs the source under `stormlog run`; its folder and the result."""
    need_torch(stormlog)
    program, out = os.path.join(folder, "program.py"), os.path.join(folder, "run")
    with open(program, "w") as file:
        file.write(HEAD + source)
    return out, tap.run([stormlog, "run", "-o", out, *options, "--", PYTHON, program, out], env=clean_env(**env))


def bundles(out):
    return sorted((os.path.join(out, name) for name in os.listdir(out) if ".oom-" in name),
                  key=lambda path: int(path.rsplit("-", 1)[1]))


def load(bundle, name):
    with open(os.path.join(bundle, name)) as file:
        return json.load(file) if name.endswith(".json") else file.read()


def analyze(path):
    result = tap.run([stormlog, "analyze", "--format", "json", path])
    tap.equal(result.returncode, 0, result.stderr)
    return json.loads(result.stdout)


def unpack(folder):
    return frozen.unpack(os.path.join(DATA, "oom.slog.xz"), os.path.join(folder, "oom.slog"))


def export(path, *options):
    return tap.run([stormlog, "export", path, "--to", "oom-bundle", *options])


@tap.test("after a failure that the program catches, the bundle appears while it runs and agrees with the recording")
def _(folder):
    out, result = run(folder, """
for i in range(20): hold(i)
fail()
wait_for(1)
kept.clear()
for i in range(3): hold(i)
print("went on")
""")
    tap.equal((result.returncode, result.stdout), (0, "went on\n"), result.stderr)
    bundle, = bundles(out)
    log = bundle[:-len(".oom-1")]
    tap.contains(result.stderr, f"stormlog: out of memory: evidence in {bundle}\n")
    tap.equal(sorted(os.listdir(bundle)), FILES, "files")
    tap.equal(sorted(load(bundle, "manifest.json")["files"]), FILES, "files of the manifest")
    tap.equal([name for name in os.listdir(out) if name.startswith(".")], [], "nothing half written")
    found, whole = analyze(bundle), analyze(log)
    tap.equal((found["inputs"][0]["kind"], found["verdict"], found["oom"]["cause"]),
              ("oom-bundle", whole["verdict"], whole["oom"]["cause"]), "kind, verdict and cause")
    for key in ("site", "requested_bytes", "allocated_bytes", "time_us", "holders", "device"):
        tap.equal(found["oom"][key], whole["oom"][key], key)
    tap.equal((found["oom"]["requested_bytes"], found["oom"]["allocated_bytes"]), (4 << 45, 20 << 20), "the truth")


@tap.test("a bundle has the request, stack, live blocks, environment, counters, newest events and report")
def _(folder):
    out, result = run(folder, "for i in range(20): hold(i)\nfail()\nwait_for(1)\n", RANK="3", LOCAL_RANK="1", WORLD_SIZE="4")
    bundle, = bundles(out)
    failure = load(bundle, "metadata.json")["custom_metadata"]
    tap.equal((failure["requested_bytes"], failure["allocated_bytes"], failure["device"], failure["number"]),
              (4 << 45, 20 << 20, -1, 1), "the request and what was allocated")
    tap.equal([frame["line"] for frame in failure["site"]["stack"]][:1], [9], "the stack that failed")
    sites = load(bundle, "live_sites.json")["sites"]
    tap.equal([(row["site"]["line"], row["bytes"], row["blocks"]) for row in sites], [(6, 20 << 20, 20)], "live set")
    system = load(bundle, "environment.json")["system"]
    tap.equal((system["rank"], system["local_rank"], system["world_size"]), (3, 1, 4), "identity")
    version = tap.run([PYTHON, "-c", "import torch; print(torch.__version__)"]).stdout.strip()
    tap.equal(system["torch_version"], version, "torch's version")
    counters = {row["name"]: row["value"] for row in load(bundle, "counters.json")["counters"] if row["device"] == -1}
    tap.equal(counters["allocated"], 20 << 20, "counter at the failure")
    tap.true(counters["host_rss"] > 1 << 20, "resident bytes")
    last = load(bundle, "recent_events.txt").splitlines()[-1]
    tap.true(last.split()[0] == "+0.000000" and " oom " in last, "the failure is the newest event: " + last)
    tap.contains(load(bundle, "report.txt"), "Out of memory: a request for 128 TiB failed")
    tap.equal(load(bundle, "report.json")["verdict"], "oom")
    events = load(bundle, "events.json")
    tap.equal((events[-2]["event_type"], events[-1]["rank"], events[-2]["memory_allocated"]), ("error", 3, 20 << 20),
              "samples for readers of the Python tool's bundles")


@tap.test("a program killed right after the failure still leaves a bundle")
def _(folder):
    out, result = run(folder, "for i in range(20): hold(i)\nfail()\nos.kill(os.getpid(), 9)\n")
    tap.equal(result.returncode, 128 + signal.SIGKILL, result.stderr)
    bundle, = bundles(out)
    report = analyze(bundle)
    tap.equal((report["verdict"], report["oom"]["allocated_bytes"]), ("oom", 20 << 20))


@tap.test("a program that really uses up its memory limit leaves a bundle")
def _(folder):
    out, result = run(folder, """
import resource
hold(0)
size = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (size + (256 << 20), resource.RLIM_INFINITY))
try:
    while True:
        kept.append(torch.empty(1 << 22))      # line 24: 16 MiB
except RuntimeError:
    count = len(kept)
    kept.clear()
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(count - 1)
""")
    tap.equal(result.returncode, 0, result.stderr)
    bundle, = bundles(out)
    report = analyze(bundle)
    tap.equal(report["oom"]["allocated_bytes"], (int(result.stdout) << 24) + (1 << 20), "what was held")
    tap.equal((report["oom"]["requested_bytes"], report["oom"]["site"]["line"]), (1 << 24, 24), "request and line")
    tap.equal(report["oom"]["holders"][0]["site"]["line"], 24, "who held it")


@tap.test("every failure has a bundle of its own moment, at most 8 per process")
def _(folder):
    out, result = run(folder, "for i in range(12):\n    hold(i)\n    fail()\nwait_for(8)\n")
    tap.equal([os.path.basename(path).split(".oom-")[1] for path in bundles(out)], list("12345678"), "bundles")
    tap.equal([analyze(path)["oom"]["allocated_bytes"] >> 20 for path in bundles(out)], list(range(1, 9)), "MiB held")
    lines = [line for line in result.stderr.splitlines() if "evidence" in line]
    tap.equal(len(lines), 2, "lines about it: " + result.stderr)
    tap.contains(lines[1], "12 requests failed in ")


@tap.test("a long history is kept, compressed, and gives the same verdict as the recording")
def _(folder):
    out, result = run(folder, "for i in range(15000): torch.empty(64)\nfor i in range(30): hold(i)\nfail()\nwait_for(1)\n")
    bundle, = bundles(out)
    has_zlib = "zlib: yes" in tap.run([stormlog, "info"]).stdout or os.path.exists(f"{bundle}/trace.json.gz")
    tap.true(os.path.exists(f"{bundle}/trace.json.gz" if has_zlib else f"{bundle}/trace.json"), f"{os.listdir(bundle)}")
    found, whole = analyze(bundle), analyze(bundle[:-len(".oom-1")])
    tap.equal((found["verdict"], found["oom"]), (whole["verdict"], whole["oom"]), "verdict and everything about the failure")
    tap.equal(found["inputs"][0]["events"], 15000 * 2 + 30 + 1, "events")


@tap.test("--quiet writes the bundle without a message")
def _(folder):
    out, result = run(folder, "hold(0)\nfail()\nwait_for(1)\n", options=["--quiet"])
    tap.equal((result.returncode, result.stderr, len(bundles(out))), (0, "", 1))


@tap.test("without disk space for a bundle there is one line, no incomplete bundle, and the program continues")
def _(folder):
    need_torch(stormlog)
    place = os.path.join(folder, "small")
    os.mkdir(place)
    if tap.run(["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", place]).returncode != 0:
        tap.skip("no small file system can be mounted here")
    program = os.path.join(folder, "program.py")
    with open(program, "w") as file:
        file.write(HEAD + """
hold(0)
time.sleep(0.3)                             # the recording takes what it needs
filler = os.open(os.path.join(folder, "filler"), os.O_WRONLY | os.O_CREAT)
try:
    while os.write(filler, b"x" * 4096): pass
except OSError:
    pass
fail()
while "no bundle" not in open(os.path.join(os.path.dirname(folder), "said")).read():  # the end of the program makes room
    time.sleep(0.05)
print("on", flush=True)
""")
    command = f"mount -t tmpfs -o size=40m tmpfs {place} && '{stormlog}' run -o {place} -- {PYTHON} {program} {place} 2> {folder}/said;" \
              f" echo exit $?; ls -A {place}"
    result = tap.run(["unshare", "-rm", "sh", "-c", command], env=clean_env())
    with open(os.path.join(folder, "said")) as file:
        said = file.read()
    tap.true(result.stdout.startswith("on\nexit 0\n"), result.stdout + said)
    tap.true(".oom-" not in result.stdout, "files left: " + result.stdout)
    lines = [line for line in said.splitlines() if "no bundle" in line]
    tap.equal(len(lines), 1, said)
    tap.contains(lines[0], "No space left on device")


@tap.test("a bundle exported from an H200 recording has the recording's verdict, cause and numbers")
def _(folder):
    path, out = unpack(folder), os.path.join(folder, "evidence")
    result = export(path, "-o", out)
    tap.equal((result.returncode, result.stdout), (0, f"{out}/oom.slog.oom-1\n"), result.stderr)
    found, whole = analyze(result.stdout.strip()), analyze(path)
    tap.equal((found["verdict"], found["oom"]), (whole["verdict"], whole["oom"]), "verdict and everything about the failure")
    tap.equal(found["oom"]["cause"], "leak")
    tap.equal(analyze(out)["oom"], whole["oom"], "the folder of bundles can be named too")
    counters = {(row["device"], row["name"]): row["value"] for row in load(f"{out}/oom.slog.oom-1", "counters.json")["counters"]}
    tap.equal(counters[0, "allocated"], whole["oom"]["allocated_bytes"], "counter of the card")
    tap.true((0, "other_processes") in counters, f"counters by name: {sorted(counters)}")
    again = export(path, "-o", out)
    tap.equal((again.returncode, again.stdout, again.stderr), (0, "", ""), "it is there already")
    beside = export(path)
    tap.equal(beside.stdout, f"{path}.oom-1\n", "without -o it stands beside the recording")


@tap.test("every command that reads a trace reads a bundle")
def _(folder):
    path = unpack(folder)
    bundle = export(path).stdout.strip()
    for command in (["export", "--to", "snapshot", "-o", f"{folder}/s.pickle"], ["export", "--to", "folded"], ["report", "-o",
                    f"{folder}/r.html"], ["check", "--max-peak", "200GiB"], ["analyze"]):
        result = tap.run([stormlog, *command, bundle])
        tap.equal(result.returncode, 0, f"{command}: {result.stderr}")


@tap.test("exporting a bundle of a recording without a failure is refused, and leaves no folder")
def _(folder):
    need_torch(stormlog)
    out, _ = run(folder, "hold(0)\n")
    name = next(name for name in os.listdir(out) if name.endswith(".slog"))
    result = export(os.path.join(out, name), "-o", f"{folder}/none")
    tap.equal((result.returncode, os.path.exists(f"{folder}/none")), (3, False), result.stderr)
    tap.contains(result.stderr, "no request for memory failed in ")


@tap.test("an incomplete or damaged bundle is refused in one line")
def _(folder):
    bundle = export(unpack(folder)).stdout.strip()

    def refused(what):
        result = tap.run([stormlog, "analyze", bundle])
        tap.equal((result.returncode, result.stdout, len(result.stderr.splitlines())), (3, "", 1), what + result.stderr)
        return result.stderr

    trace = os.path.join(bundle, "trace.json")
    whole = open(trace, "rb").read()
    for name, damage in {"cut": whole[:len(whole) // 2], "stack": whole.replace(b'"stacks":[', b'"stacks":[[99999],'),
                         "version": whole.replace(b"trace/1", b"trace/7"), "text": b"hello"}.items():
        with open(trace, "wb") as file:
            file.write(damage)
        tap.contains(refused(name), "trace.json: ")
    with open(trace, "wb") as file:
        file.write(whole)
    os.remove(os.path.join(bundle, "manifest.json"))
    tap.contains(refused("manifest"), "it has no manifest.json, which is written last: the bundle is incomplete")


@tap.test("an output folder that cannot be written to is refused in one line")
def _(folder):
    result = export(unpack(folder), "-o", "/proc/nowhere")
    tap.equal((result.returncode, result.stdout, len(result.stderr.splitlines())), (4, "", 1), result.stderr)
    tap.contains(result.stderr, "/proc/nowhere")


tap.main()
