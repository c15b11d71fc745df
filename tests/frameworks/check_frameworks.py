#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small real trainings with the frameworks of a virtual environment: each under `stormlog run` and through its integration. Writes the
table into docs/frameworks.md. Last line: N passed, N failed, N skipped.

    tests/frameworks/check_frameworks.py BUILD PYTHON [--only NAME]
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "frameworks" / "programs"
DOCUMENT = ROOT / "docs" / "frameworks.md"
MIB = 1 << 20
STEPS = 24
LEAK_LINE = next(number for number, line in enumerate((PROGRAMS / "common_frameworks.py").read_text().splitlines(), 1)
                 if "# the leak" in line)
BEGIN, END = "<!-- table: make check-frameworks -->", "<!-- end of the table -->"


class Failed(Exception):
    pass


def equal(found, expected, what):
    if found != expected:
        raise Failed(f"{what}: expected {expected!r}, found {found!r}")


class Runner:
    def __init__(self, build, python, folder):
        self.build, self.python, self.folder = Path(build).resolve(), python, folder
        self.count = 0

    def place(self):
        self.count += 1
        path = Path(self.folder, str(self.count))
        path.mkdir()
        return path

    def call(self, command, place, **env):
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("STORMLOG_", "LD_PRELOAD"))}
        env = {**inherited, "PYTHONPATH": str(self.build / "python"), "CUDA_VISIBLE_DEVICES": "-1", "HF_HUB_OFFLINE": "1",
               "OMP_NUM_THREADS": "1",
               "TOKENIZERS_PARALLELISM": "false", "HOME": str(place), **env}
        done = subprocess.run([str(word) for word in command], cwd=place, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=900)
        if done.returncode:
            raise Failed(f"{' '.join(map(str, command))} ended with {done.returncode}: {(done.stdout + done.stderr)[-1500:]}")
        return done

    def facts(self, program, mode, **env):
        """The program through its integration."""
        place = self.place()
        done = self.call([self.python, PROGRAMS / f"train_{program}.py", mode], place, **env)
        found = [line for line in done.stdout.splitlines() if line.startswith("FACTS ")]
        if not found:
            raise Failed(f"no facts from {program}: {(done.stdout + done.stderr)[-800:]}")
        return json.loads(found[-1][len("FACTS "):])

    def recorded(self, program, *options, **env):
        """The program under `stormlog run`, and the reports of its recordings."""
        place = self.place()
        done = self.call([self.build / "stormlog", "run", "-o", "out", *options, "--", self.python, PROGRAMS / f"train_{program}.py"],
                         place, **env)
        paths = sorted(Path(place, "out").glob("*.slog"))
        reports = [json.loads(self.call([self.build / "stormlog", "analyze", path, "-f", "json", "--no-whatif"], place).stdout)
                   for path in paths]
        return [report for report in reports if report["devices"]], done.stderr


# --- what a training must show -----------------------------------------------------------------------------------------


def check_leak(verdict, site_file, site_line, rate, steps, what):
    equal((verdict, os.path.basename(site_file), site_line, rate), ("leak", "common_frameworks.py", LEAK_LINE, MIB), what)
    if steps < STEPS:
        raise Failed(f"{what}: expected at least {STEPS} steps, found {steps}")


def check_recorded(runner, program, processes=1):
    """The line that leaks, to the byte per step; and nothing in the training that does not leak."""
    reports, _ = runner.recorded(program, "--modules")
    leaky = [report for report in reports if report["verdict"] == "leak"]
    equal(len(leaky), processes, "processes with a leak")
    for report in leaky:
        finding = next(finding for finding in report["findings"] if finding["kind"] == "leak")
        check_leak(report["verdict"], finding["site"]["file"], finding["site"]["line"], finding["bytes_per_step"],
                   report["devices"][0]["steps"], program)
    clean, _ = runner.recorded(program, FRAMEWORK_LEAKS="0")
    equal({report["verdict"] for report in clean}, {"healthy"}, f"{program} without the leak")
    peak = max(device["peak_requested_bytes"] for report in leaky for device in report["devices"])
    return f"leak at the line, 1 MiB per step; peak {peak:,} bytes; healthy without it"


def check_facts(facts, what):
    equal((facts["verdict"], os.path.basename(facts["leak"][0]), facts["leak"][1], facts["leak"][2]),
          ("leak", "common_frameworks.py", "keep_one", MIB), what)
    if facts["steps"] < STEPS:
        raise Failed(f"{what}: expected at least {STEPS} steps, found {facts['steps']}")


# The cases of train_rough.py: their words in the table, and what each must come to.
ROUGH = {
    "lightning_spawned": ("two ranks of `ddp_spawn`", {"ranks": ["sink-0.json", "sink-1.json"], "recordings": 2}),
    "lightning_resumed": ("resumed from a checkpoint", {"steps": [list(range(STEPS)), list(range(STEPS, 2 * STEPS))]}),
    "lightning_workers": ("DataLoader workers", {"steps": STEPS, "failures": []}),
    "lightning_broken": ("a logger and a sink that fail", {
        "said": [f"{what} failed: OSError: [Errno 28] No space left on device" for what in ("sink 1", "the curves")]}),
    "lightning_unwritable": ("a folder that cannot be written", {"evidence": None}),
    "transformers_resumed": ("resumed from a checkpoint", {"steps": [list(range(STEPS // 2)), list(range(STEPS // 2, STEPS))]}),
    "transformers_pickled": ("pickled while it runs", {"running": False, "evidence": None, "steps": STEPS}),
    "accelerate_twice": ("ended twice", {"steps": STEPS}),
    "ray_callback": ("Lightning's callback sent to a worker", {"steps": STEPS, "name": True}),
}


def check_rough(framework, runner):
    cases = [case for case in ROUGH if case.startswith(framework)]
    for case in cases:
        facts, expected = runner.facts("rough", "use", ROUGH_CASE=case, FRAMEWORK_LEAKS="0"), ROUGH[case][1]
        equal({name: facts.get(name, "missing") for name in expected}, expected, case)
    return ", ".join(ROUGH[case][0] for case in cases)


def use_torch(runner):
    facts = runner.facts("torch", "use")
    check_facts(facts, "torch")
    equal((facts["trace_verdict"], facts["trace_overlaps"], facts["trace_steps"] >= STEPS - 1), ("leak", True, True),
          "the profiler's trace")
    return f"`record()`: the same line; {facts['trace_steps']} steps and the verdict in the profiler's trace"


def use_callback(program, runner):
    facts = runner.facts(program, "use")
    check_facts(facts, program)
    failed = runner.facts(program, "use", FRAMEWORK_FAILS="1")
    equal(failed["failure"], ["report.html", "report.json", "report.txt", "snapshot.pickle"], f"evidence of a failed {program}")
    return f"callback: the same line; a training that raises leaves its evidence; also {check_rough(program, runner)}"


def use_lightning(runner):
    text = use_callback("lightning", runner)
    facts = runner.facts("lightning", "use", FRAMEWORK_LEAKS="0")
    equal((facts["verdict"], facts["steps"], facts["page"], facts["logged"]), ("healthy", STEPS, True, True), "lightning")
    return f"{text}; {STEPS} steps, page, curves in the logger"


def use_simple(program, what, runner):
    check_facts(runner.facts(program, "use"), program)
    rough = check_rough(program, runner)
    return f"{what}: the same line" + (f"; also {rough}" if rough else "")


def use_ray(runner):
    facts = runner.facts("ray", "use")
    for one in (facts, facts["second"]):
        check_facts(one, "ray")
    return f"`record()` in the training function: the same line in both workers; also {check_rough('ray', runner)}"


def use_logger(name, runner, cache={}):  # noqa: B006
    """One training for all of them."""
    if not cache:
        cache.update(runner.facts("loggers", "use"))
    check_facts(cache, "loggers")
    found = cache[name]
    equal((found["curve"], found["page"]), (cache["truth"], True), f"what {name} reads back")
    return f"sink: {len(found['curve'])} points read back to the byte, and the page (no ledger on the CPU)"


def run_nothing(program, runner):
    reports, said = runner.recorded(program)
    equal((reports, "nothing was recorded: no process wrote memory events" in said), ([], True), f"{program} on the CPU")
    return "nothing on the CPU, and says so: it allocates from libc, not from PyTorch"


def use_tensorflow(runner):
    facts = runner.facts("tensorflow", "use")
    equal((facts["device"], facts["backend"], facts["profiled"]), ("/CPU:0", "cpu", ["train"]), "tensorflow")
    if not facts["tensor_mib"] <= facts["grown_mib"] <= facts["tensor_mib"] + 64:
        raise Failed(f"a tensor of {facts['tensor_mib']} MiB: expected that and at most 64 MiB more, found {facts['grown_mib']}")
    if facts["samples"] < 2:
        raise Failed(f"the tracker: expected samples, found {facts['samples']}")
    place = runner.place()
    runner.call([runner.build / "tfmemprof", "track", "--device", "/CPU:0", "--interval", "0.2", "--output", "t.json", "--", runner.python,
                 PROGRAMS / "train_tensorflow.py"], place)
    tracked = json.loads(Path(place, "t.json").read_text())
    if tracked["peak_memory"] < 100:
        raise Failed(f"tfmemprof: expected a peak above 100 MB, found {tracked['peak_memory']}")
    return (f"`stormlog.tensorflow`: the process's size; a tensor of {facts['tensor_mib']:.0f} MiB shows as {facts['grown_mib']:.0f} MiB; "
            f"`tfmemprof track`: peak {tracked['peak_memory']:.0f} MB")


def use_jax(runner):
    facts = runner.facts("jax", "use")
    equal((facts["learned"], facts["backend"]), (True, "cpu"), "jax")
    return "nothing on the CPU; on a card its pool is recorded"


def run_jupyter(runner):
    reports, _ = runner.recorded("jupyter")
    found = [(report["verdict"], report["findings"][0]["bytes_per_step"]) for report in reports if report["findings"]]
    equal(found, [("leak", MIB)], "the kernel under stormlog run")
    return "the kernel's process: leak at the cell's line, 1 MiB per step"


def use_jupyter(runner):
    facts = runner.facts("jupyter", "use")
    equal((facts["table"], facts["page"], facts["seen"]), (True, True, "['leak', 1048576, 11]"), "notebook")
    return "`%%memory`: leak at its line of the cell; table and page in the cell"


def run_pytest(runner):
    done = subprocess.run([runner.python, ROOT / "tests" / "py" / "test_integrations.py", "pytest"], capture_output=True, text=True, env={
        **os.environ, "PYTHONPATH": f"{runner.build / 'python'}:{ROOT / 'tests' / 'lib'}", "STORMLOG_BUILD": str(runner.build),
        "STORMLOG_SOURCE": str(ROOT),
        "STORMLOG_TEST_PYTHON": runner.python}, timeout=600)
    if done.returncode or "not ok" in done.stdout or "SKIP" in done.stdout:
        raise Failed(f"the plugin's tests: {done.stdout[-1500:]}{done.stderr[-500:]}")
    return "plugin: limits and leaks name their line, in any order of the tests"


def pairs():
    """(name, packages, under stormlog run, through the integration); None: there is nothing to run."""
    return [
        ("torch", ["torch"], lambda r: check_recorded(r, "torch"), use_torch),
        ("lightning", ["lightning"], lambda r: check_recorded(r, "lightning"), use_lightning),
        ("transformers", ["transformers"], lambda r: check_recorded(r, "transformers"), lambda r: use_callback("transformers", r)),
        ("trl", ["trl"], lambda r: check_recorded(r, "trl"), lambda r: use_simple("trl", "transformers' callback", r)),
        ("accelerate", ["accelerate"], lambda r: check_recorded(r, "accelerate"), lambda r: use_simple("accelerate", "tracker", r)),
        ("torchvision", ["torchvision"], lambda r: check_recorded(r, "torchvision"), lambda r: use_simple("torchvision", "`record()`", r)),
        ("geometric", ["torch-geometric"], lambda r: check_recorded(r, "geometric"), lambda r: use_simple("geometric", "`record()`", r)),
        ("ray", ["ray"], lambda r: check_recorded(r, "ray", processes=2), use_ray),
        ("tensorflow", ["tensorflow", "tensorflow-cpu"], lambda r: run_nothing("tensorflow", r), use_tensorflow),
        ("jax", ["jax"], lambda r: run_nothing("jax", r), use_jax),
        ("jupyter", ["ipython", "ipykernel"], run_jupyter, use_jupyter),
        ("tensorboard", ["tensorboard"], None, lambda r: use_logger("tensorboard", r)),
        ("tensorboardX", ["tensorboardX"], None, lambda r: use_logger("tensorboardX", r)),
        ("mlflow", ["mlflow"], None, lambda r: use_logger("mlflow", r)),
        ("wandb", ["wandb"], None, lambda r: use_logger("wandb", r)),
        ("pytest", ["pytest"], None, run_pytest),
        ("mypy", ["mypy"], None, run_mypy),
    ]


def run_mypy(runner):
    done = subprocess.run([runner.python, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", runner.folder,
                           "stormlog/integrations"],
                          cwd=ROOT / "python", capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stdout[-1500:])
    return "strict mode finds nothing in the integrations, against the packages' own types"


# --- the table ---------------------------------------------------------------------------------------------------------


def versions(python, names):
    code = "import json, sys; from importlib import metadata as m\n" \
        "def v(n):\n    try: return m.version(n)\n    except m.PackageNotFoundError: return None\n" \
        "print(json.dumps({n: v(n) for n in sys.argv[1:]}))"
    found = json.loads(subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=True).stdout)
    return ", ".join(f"{name} {version}" for name, version in found.items() if version)


def one_cell(check, runner, what):
    if check is None:
        return "–", 0
    try:
        return check(runner), 1
    except (Failed, subprocess.TimeoutExpired, OSError, ValueError, KeyError, TypeError) as error:
        print(f"not ok: {what}: {type(error).__name__}: {error}", flush=True)
        return "**failed**", -1


def names_of(packages):
    """``ipython 9.1, ipykernel 7.0`` without the versions."""
    return tuple(part.split(" ")[0] for part in packages.split(", "))


def merged(text, new):
    """The rows of the document, with new ones in the place of those for the same packages."""
    cells = [line.strip("| ").split(" | ") for line in text[text.index(BEGIN):text.index(END)].splitlines() if line.startswith("| ")][2:]
    kept = {names_of(row[0]): tuple(row) for row in cells if len(row) == 3}
    kept.update({names_of(row[0]): row for row in new})
    order = [name for _, packages, _, _ in pairs() for name in packages]
    return sorted(kept.values(), key=lambda row: order.index(names_of(row[0])[0]))


def write_table(new, python):
    text = DOCUMENT.read_text(encoding="utf-8")
    rows = merged(text, new)
    own = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    table = ["", f"{own}, CPU only.", "", "| packages | under `stormlog run` | through the integration |", "| --- | --- | --- |",
             *(f"| {packages} | {run} | {use} |" for packages, run, use in rows), ""]
    made = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: BEGIN + "\n".join(table) + "\n" + END, text, flags=re.S)
    DOCUMENT.write_text(made, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("python")
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    rows, results, skipped = [], [], 0
    with tempfile.TemporaryDirectory(prefix="stormlog-frameworks-", ignore_cleanup_errors=True) as folder:
        runner = Runner(given.build, given.python, folder)
        for name, packages, run, use in pairs():
            if given.only and name not in given.only:
                continue
            installed = versions(given.python, packages)
            if not installed:
                print(f"skipped: {name}: not in this environment", flush=True)
                skipped += 1
                continue
            cells = [one_cell(check, runner, f"{name}, {what}") for check, what in ((run, "under stormlog run"), (use, "integration"))]
            results += [score for _, score in cells]
            rows.append((installed, cells[0][0], cells[1][0]))
            write_table(rows, given.python)  # at once: what was measured stays if the rest is interrupted
            print(f"{'not ok' if -1 in [score for _, score in cells] else 'ok'}: {installed}: {cells[0][0]} | {cells[1][0]}", flush=True)
    print(f"{results.count(1)} passed, {results.count(-1)} failed, {skipped} skipped")
    return 1 if -1 in results or 1 not in results else 0


if __name__ == "__main__":
    sys.exit(main())
