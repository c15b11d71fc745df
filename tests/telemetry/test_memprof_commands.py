#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gpumemprof and tfmemprof: flags, words, files and exit codes as users of the Python tool know them."""

import json
import os
import sys

import tap

BUILD = os.environ["STORMLOG_BUILD"]
PEER = os.path.join(os.environ["STORMLOG_TEST_DATA"], "peer")
LEAKY = os.path.join(PEER, "leaky", "events.json")


def gpumemprof(*words, **options):
    return tap.run([os.path.join(BUILD, "gpumemprof"), *words], **options)


def tfmemprof(*words, **options):
    return tap.run([os.path.join(BUILD, "tfmemprof"), *words], **options)


# words, exit code, a part of stdout or None, a part of stderr or None.
USAGE = [
    ([], 0, "commands:", None),
    (["--help"], 0, "commands:", None),
    (["track", "--help"], 0, "--oom-flight-recorder", None),
    (["nothing"], 2, None, "invalid choice: 'nothing' (choose from 'info', 'monitor', 'track', 'analyze', 'diagnose')"),
    (["--nothing"], 2, None, "unrecognized arguments: --nothing"),
    (["track", "--nothing"], 2, None, "unrecognized arguments: --nothing"),
    (["track", "--duration", "x"], 2, None, "argument --duration: invalid float value: 'x'"),
    (["track", "--rank", "1.5"], 2, None, "argument --rank: invalid int value: '1.5'"),
    (["track", "--format", "xml"], 2, None, "argument --format: invalid choice: 'xml' (choose from 'csv', 'json')"),
    (["track", "--oom", "x"], 2, None, "ambiguous option: --oom could match --oom-flight-recorder"),
    (["track", "--output"], 2, None, "argument --output: expected one argument"),
    (["track", "--output", "--watchdog"], 2, None, "argument --output: expected one argument"),
    (["track", "--output", ".", "--duration", "0.2"], 2, None, "cannot write '.': it is a folder; give a file name"),
    (["analyze"], 2, None, "the following arguments are required: input_file"),
    (["analyze", "a", "b"], 2, None, "unrecognized arguments: b"),
    (["monitor", "--interval", "0"], 1, "Error: sampling_interval must be > 0", None),
    (["track", "--interval", "-1"], 1, "Error: sampling_interval must be > 0", None),
    (["track", "--rank", "3", "--duration", "1"], 1, "Error: rank must be < world_size", None),
    (["track", "--pid", "999999999"], 1, "Error: there is no process 999999999", None),
    (["track", "--", "/no/such/program"], 1, "Error: cannot start '/no/such/program'", None),
    (["diagnose", "--duration", "-1"], 1, None, "--duration"),
    (["diagnose", "--interval", "0"], 1, None, "--interval"),
]

for _words, _code, _out, _err in USAGE:

    @tap.test(f"gpumemprof {' '.join(_words) or '(no arguments)'} exits with {_code}")
    def _(folder, words=_words, code=_code, out=_out, err=_err):
        result = gpumemprof(*words, cwd=folder)
        tap.equal(result.returncode, code, f"exit code ({result.stdout}{result.stderr})")
        if out:
            tap.contains(result.stdout, out, "stdout")
        if err:
            tap.contains(result.stderr, err, "stderr")
        if code == 2:
            tap.contains(result.stderr, "usage: gpumemprof", "stderr")
        tap.equal(os.listdir(folder), [], "files left behind")


@tap.test("info prints its lines, without Python or torch")
def _():
    result = gpumemprof("info", env={"PATH": "/nonexistent"})
    tap.equal(result.returncode, 0, "exit code")
    for label in ("Platform:", "Python Version:", "CUDA Available:", "Detected Backend:"):
        tap.contains(result.stdout, label)
    tap.contains(result.stdout, "=" * 50)
    if "Detected Backend: cpu" in result.stdout:
        for label in ("MPS Built:", "Falling back to CPU-only profiling.", "Process RSS:", "CPU Count:"):
            tap.contains(result.stdout, label)


@tap.test("info reports the python3 of PATH, even if it is a script, or the interpreter that called it")
def _(folder):
    version = ".".join(map(str, sys.version_info[:3]))
    shim = os.path.join(folder, "python3")
    open(shim, "w").write(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    os.chmod(shim, 0o755)
    tap.contains(gpumemprof("info", env={"PATH": f"{folder}:/usr/bin:/bin"}).stdout, f"Python Version: {version}\n")
    open(shim, "w").write("#!/bin/sh\nexit 1\n")
    tap.true(f"Python Version: {version}" not in gpumemprof("info", env={"PATH": folder}).stdout, "one that does not answer")
    env = {"PATH": folder, "STORMLOG_PYTHON": sys.executable}
    tap.contains(gpumemprof("info", env=env).stdout, f"Python Version: {version}\n", "the caller")


@tap.test("diagnose saves its whole command line")
def _(folder):
    for program, duration in (("gpumemprof", "0"), ("stormlog", "1ms")):
        out = os.path.join(folder, program)
        command = [os.path.join(BUILD, program), "diagnose", "--duration", duration, "--output", out]
        result = tap.run(command)
        tap.true(os.path.isdir(out), result.stdout + result.stderr)
        tap.equal(json.load(open(os.path.join(out, "manifest.json")))["command_line"], " ".join(command), program)


@tap.test("analyze writes the report's keys and the text, and creates the parent folders of the output")
def _(folder):
    out = os.path.join(folder, "a", "b", "report.json")
    result = gpumemprof("analyze", LEAKY, "--output", out)
    tap.equal(result.returncode, 0, "exit code")
    for part in (f"Analyzing profiling results from: {LEAKY}", "Basic Analysis:", "Gap findings: 0", "Verdict: leak", "Drift: ",
                 f"File size: {os.path.getsize(LEAKY)} bytes", f"Analysis report saved to: {out}"):
        tap.contains(result.stdout, part)
    report = json.load(open(out))
    tap.equal(list(report), ["summary", "critical_issues", "high_impact_insights", "all_patterns", "all_insights",
                             "recommendations", "optimization_score", "gap_analysis", "collective_attribution"], "keys")
    tap.true(report["optimization_score"]["score"] < 100, "a leak costs points")
    tap.true("cross_rank_analysis" not in report, "one rank has no cross-rank part")


def growing(count=60, **more):
    """A card that fills within a minute: 256 MiB more every second, of 16 GiB."""
    return [{"schema_version": 2, "timestamp_ns": 1_700_000_000_000_000_000 + i * 10 ** 9, "event_type": "sample",
             "collector": "stormlog.cuda_tracker", "sampling_interval_ms": 1000, "pid": 1, "host": "h", "job_id": None,
             "rank": 0, "local_rank": 0, "world_size": 1, "device_id": 0, "allocator_allocated_bytes": (i + 1) << 28,
             "allocator_reserved_bytes": (i + 1) << 28, "allocator_active_bytes": None, "allocator_inactive_bytes": None,
             "allocator_change_bytes": 1 << 28, "device_used_bytes": (i + 1) << 28, "device_free_bytes": None,
             "device_total_bytes": 16 << 30, "context": None, "metadata": {}, **more} for i in range(count)]


@tap.test("analyze: the score agrees with the verdict; an input without records has no score")
def _(folder):
    path, out = os.path.join(folder, "in.json"), os.path.join(folder, "out.json")
    json.dump(growing(), open(path, "w"))
    printed = gpumemprof("analyze", path, "--output", out).stdout
    tap.contains(printed, "Verdict: leak")
    score = json.load(open(out))["optimization_score"]
    tap.true(score["score"] < 60 and score["grade"] == "F", f"a card that fills within a minute: {score}")
    for content in ("[]", '{"events": []}', '[{"a": 1}]'):
        open(path, "w").write(content)
        printed = gpumemprof("analyze", path, "--output", out).stdout
        tap.true("Score" not in printed and "healthy" not in printed, f"{content}: {printed}")
        tap.true("optimization_score" not in json.load(open(out)), f"{content}: no score in the file")


@tap.test("analyze: records that begin with a long text are recognised as telemetry")
def _(folder):
    path = os.path.join(folder, "in.json")
    records = [{"metadata": {"note": "y" * 9000}, **{k: v for k, v in r.items() if k != "metadata"}} for r in growing()]
    json.dump(records, open(path, "w"))
    tap.contains(gpumemprof("analyze", path).stdout, "Verdict: leak")


@tap.test("analyze: an empty cache is not reported as fragmentation")
def _(folder):
    path = os.path.join(folder, "in.json")
    json.dump(growing(allocator_allocated_bytes=0, allocator_reserved_bytes=12 << 30, device_used_bytes=13 << 30), open(path, "w"))
    printed = gpumemprof("analyze", path).stdout
    tap.true("fragmentation" not in printed, printed)


@tap.test("analyze: advice about the host's memory does not mention a card")
def _(folder):
    path, out = os.path.join(folder, "in.json"), os.path.join(folder, "out.json")
    records = growing(12, device_id=-1, allocator_allocated_bytes=1 << 30, device_used_bytes=1 << 30)
    records[-1].update(event_type="error", context="out of memory", metadata={"oom_reason": "python.MemoryError"})
    json.dump(records, open(path, "w"))
    tap.contains(gpumemprof("analyze", path, "--output", out).stdout, "Verdict: oom")
    advice = json.load(open(out))["recommendations"][0]["suggestions"][0]
    tap.contains(advice, "a machine with more memory")
    tap.true("card" not in advice and "CUDA" not in advice, advice)


@tap.test("analyze --visualization draws memory over time, by rank if there are several")
def _(folder):
    path, plots = os.path.join(folder, "in.json"), os.path.join(folder, "a", "plots")
    for ranks, name in ((1, "memory_timeline.png"), (3, "cross_rank_timeline.png")):
        records = [record for rank in range(ranks) for record in growing(12, rank=rank, local_rank=rank, world_size=ranks)]
        json.dump(records, open(path, "w"))
        printed = gpumemprof("analyze", path, "--visualization", "--plot-dir", plots).stdout
        if "without cairo" in printed:
            tap.skip("this build has no cairo")
        tap.contains(printed, f"Visualization saved to: {plots}/{name}")
        tap.equal(open(os.path.join(plots, name), "rb").read(4), b"\x89PNG", name)
    tap.contains(gpumemprof("analyze", path, "--visualization", "--plot-dir", path).stdout, "Visualization skipped: ")
    open(path, "w").write(json.dumps({"memory_usage": [1, 2, 3], "timestamps": [0, 1, 2]}))
    printed = tfmemprof("analyze", "--input", path, "--visualize", cwd=folder).stdout
    tap.contains(printed, "Timeline plot saved as memory_timeline.png")
    tap.equal(open(os.path.join(folder, "memory_timeline.png"), "rb").read(4), b"\x89PNG", "tfmemprof")


@tap.test("analyze --format txt writes what is printed")
def _(folder):
    out = os.path.join(folder, "report.txt")
    result = gpumemprof("analyze", LEAKY, "--output", out, "--format", "txt")
    tap.equal(open(out).read(), result.stdout.rsplit("Analysis report saved to:", 1)[0], "text")


# name: content, exit code, a part of stdout.
INPUTS = {
    "not JSON": ("{", 1, "Error loading input file: "),
    "a record that is none": ('[{"timestamp": "x"}]', 1, "Error parsing telemetry events: "),
    "another object": ('{"b": 1, "a": [1]}', 0, "JSON payload does not contain telemetry events"),
    "a scalar": ("3", 0, "JSON payload does not contain telemetry events"),
    "no events": ("[]", 0, "JSON payload does not contain telemetry events"),
    "an array of something else": ('[{"a": 1}, {"b": 2}]', 0, "JSON payload does not contain telemetry events"),
}

for _name, (_content, _code, _out) in INPUTS.items():

    @tap.test(f"analyze: {_name}")
    def _(folder, content=_content, code=_code, out=_out):
        path = os.path.join(folder, "in.json")
        open(path, "w").write(content)
        result = gpumemprof("analyze", path)
        tap.contains(result.stdout, out, "stdout")
        tap.equal(result.returncode, code, "exit code")


@tap.test("analyze: a file that does not exist is refused")
def _():
    result = gpumemprof("analyze", "/no/such/file")
    tap.equal(result.returncode, 1, "exit code")
    tap.contains(result.stdout, "Error: Input file '/no/such/file' not found")


@tap.test("analyze --skip-bad skips bad records and counts them")
def _(folder):
    records = json.load(open(LEAKY))
    records[5]["host"] = ""
    del records[9]["context"]
    path = os.path.join(folder, "in.json")
    json.dump(records, open(path, "w"))
    tap.equal(gpumemprof("analyze", path).returncode, 1, "exit code without")
    result = gpumemprof("analyze", path, "--skip-bad")
    tap.equal(result.returncode, 0, "exit code with")
    tap.contains(result.stdout, "Skipped 2 bad records")
    tap.contains(result.stdout, f"Records: {len(records) - 2}")


@tap.test("analyze reads the same kinds of files as stormlog analyze")
def _():
    snapshots = os.path.join(os.environ["STORMLOG_TEST_DATA"], "h200")
    for name in sorted(os.listdir(snapshots)):
        if name.endswith((".pickle", ".pickle.gz", ".pickle.zst")):
            result = gpumemprof("analyze", os.path.join(snapshots, name))
            tap.equal(result.returncode, 0, f"exit code ({result.stdout})")
            tap.contains(result.stdout, "Verdict: ")
            return
    tap.skip("there is no snapshot in tests/data/h200")


@tap.test("diagnose creates a new folder, makes a subfolder in an existing one, and refuses a file")
def _(folder):
    new = os.path.join(folder, "x", "new")
    result = gpumemprof("diagnose", "--duration", "0", "--output", new)
    tap.true(result.returncode in (0, 2), f"exit code {result.returncode}")
    names = ["diagnostic_summary.json", "environment.json", "manifest.json", "telemetry_timeline.json"]
    tap.equal(sorted(os.listdir(new)), names, "files")
    manifest = json.load(open(os.path.join(new, "manifest.json")))
    tap.equal(manifest["version"], 1, "version")
    tap.equal(manifest["exit_code"], result.returncode, "exit code in the manifest")
    tap.equal(manifest["files"][-1], "manifest.json", "last file")
    tap.equal(json.load(open(os.path.join(new, "telemetry_timeline.json"))),
              {"timestamps": [], "allocated": [], "reserved": []}, "timeline of no time")
    tap.contains(result.stdout, f"Artifact: {os.path.realpath(new)}")
    gpumemprof("diagnose", "--duration", "0", "--output", new)
    children = [name for name in os.listdir(new) if name.startswith("stormlog-diagnose-")]
    tap.equal(len(children), 1, "children")
    result = gpumemprof("diagnose", "--duration", "0", "--output", os.path.join(new, "manifest.json"))
    tap.equal(result.returncode, 1, "exit code for a file")
    tap.true(not [name for name in os.listdir(folder) if name.startswith(".")], "nothing half-written is left")


@tap.test("diagnose has at most one sample per interval")
def _(folder):
    result = gpumemprof("diagnose", "--duration", "1.1", "--interval", "0.2", "--output", os.path.join(folder, "d"))
    tap.true(result.returncode in (0, 2), "exit code")
    timeline = json.load(open(os.path.join(folder, "d", "telemetry_timeline.json")))
    tap.true(1 <= len(timeline["timestamps"]) <= 6, f"{len(timeline['timestamps'])} points")
    tap.true(all(value > 0 for value in timeline["allocated"]), "real figures")


@tap.test("tfmemprof takes -v before the command, and refuses a missing option and lists of unequal length")
def _(folder):
    tap.equal(tfmemprof("-v", "info").returncode, 0, "exit code of info")
    result = tfmemprof("track")
    tap.equal(result.returncode, 2, "exit code without --output")
    tap.contains(result.stderr, "the following arguments are required: --output")
    path = os.path.join(folder, "in.json")
    json.dump({"memory_usage": [1.0, 2.0], "timestamps": [1.0]}, open(path, "w"))
    result = tfmemprof("analyze", "--input", path)
    tap.equal(result.returncode, 1, "exit code for lists of unequal length")
    tap.contains(result.stdout, "must have equal length")


@tap.test("tfmemprof analyze finds growth and spikes, and gives a score")
def _(folder):
    path, out = os.path.join(folder, "in.json"), os.path.join(folder, "report.txt")
    usage = [100.0 + 10 * i for i in range(20)]
    json.dump({"memory_usage": usage, "timestamps": [float(i) for i in range(20)], "peak_memory": 290.0,
               "average_memory": 195.0, "duration": 19.0}, open(path, "w"))
    result = tfmemprof("analyze", "--input", path, "--detect-leaks", "--optimize", "--report", out)
    tap.equal(result.returncode, 0, "exit code")
    for part in ("Basic Analysis:", "Peak Memory: 290.00 MB", "Memory Allocations: 19", "- monotonic_increase: ",
                 "- insufficient_cleanup: ", "Overall Score: "):
        tap.contains(result.stdout, part)
    tap.contains(open(out).read(), "monotonic_increase")


@tap.test("the titles and headings are those of version 0.2.9 of the Python tool")
def _(folder):
    tap.contains(gpumemprof("info").stdout, "Stormlog - System Information\n" + "=" * 50 + "\n")
    printed = tfmemprof("info").stdout
    for part in ("TensorFlow Stormlog - System Information\n" + "=" * 50, "\nGPU Information:\n" + "-" * 20 + "\n",
                 "\nTensorFlow Backend Diagnostics:\n" + "-" * 30 + "\n", "\nRuntime Backend: ", "\nRuntime GPU Count: ",
                 "\nApple Silicon: False\n"):
        tap.contains(printed, part)
    path = os.path.join(folder, "in.json")
    json.dump({"memory_usage": [1.0] * 12, "timestamps": [float(i) for i in range(12)]}, open(path, "w"))
    printed = tfmemprof("analyze", "--input", path, "--detect-leaks", "--optimize").stdout
    tap.contains(printed, f"Analyzing results from {path}...\n\nBasic Analysis:\n" + "-" * 15 + "\nPeak Memory: 1.00 MB\n")
    tap.contains(printed, "\nMemory Leak Analysis:\n" + "-" * 22 + "\nNo memory leaks detected\n")
    tap.contains(printed, "\nOptimization Analysis:\n" + "-" * 22 + "\nOverall Score: ")
    tap.contains(printed, "/10\n\nCategory Scores:\n  memory_efficiency: ")
    tap.contains(tfmemprof("analyze", "--input", "/no/such").stdout, "Error: Input file /no/such not found\n")


tap.main()
