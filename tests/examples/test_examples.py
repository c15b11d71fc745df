# SPDX-License-Identifier: MIT
"""The programs of examples/ do what their texts say, on a machine without a GPU. Argument: the build folder."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import tap

build = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
STORMLOG = build / "stormlog"


def environment():
    own = {name: value for name, value in os.environ.items() if not name.startswith(("STORMLOG", "PYTHON", "CUDA"))}
    return {**own, "PATH": f"{build}:{own['PATH']}", "PYTHONPATH": str(build / "python"), "PYTHONDONTWRITEBYTECODE": "1",
            "CUDA_VISIBLE_DEVICES": "", "LC_ALL": "C.UTF-8"}


def run(folder, *words, code=0):
    done = tap.run(list(map(str, words)), cwd=folder, env=environment())
    tap.equal(done.returncode, code, f"{words}\n{done.stdout}{done.stderr}")
    return done.stdout


def need_package():
    if not (build / "python" / "stormlog").exists():
        tap.skip("the Python package was not built")


# --- C and C++ ---------------------------------------------------------------------------------------------------------

def need_compiler(name):
    found = shutil.which(name)
    if not found:
        tap.skip(f"there is no {name} here")
    return found


FLAGS = ["-g", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", f"-I{EXAMPLES / 'c'}"]
LINK = [f"-L{build}", "-lstormlog_record", f"-Wl,-rpath,{build}"]


def report_of(folder, *words):
    return json.loads(run(folder, STORMLOG, "analyze", *words, "--format", "json"))


@tap.test("a pool allocator reports through record.h: the function that leaks, the failed request, what was live")
def _(folder):
    compiler = need_compiler("cc")
    run(folder, compiler, "-std=c17", *FLAGS, EXAMPLES / "c" / "render.c", EXAMPLES / "c" / "pool.c", *LINK, "-o", "render")
    printed = run(folder, "./render")
    path = re.search(r"recorded in (\S+)", printed)[1]
    tap.contains(printed, "requests that failed: 1")
    run(folder, STORMLOG, "run", "-o", "run", "--stacks", "native", "--", "./render")
    for report in (report_of(folder, path), report_of(folder, "run")):
        device = report["devices"][0]
        tap.equal((report["verdict"], device["device"], device["steps"]), ("oom", -1, 60), report["headline"])
        tap.equal((device["live_requested_bytes"], device["allocs"], device["frees"]), (59 << 20, 119, 60), "the pool's blocks")
        tap.equal((report["oom"]["requested_bytes"], report["oom"]["cause"]), (1 << 20, "leak"), "the failed request")
        if not report["oom"]["site"]["stack"]:
            continue  # no native stacks on this system
        tap.true(report["oom"]["site"]["function"].startswith("load_texture+0x"), f"the caller of the pool: {report['oom']['site']}")
        leak = next(finding for finding in report["findings"] if finding["kind"] == "leak")
        tap.equal((leak["site"]["function"].split("+")[0], leak["bytes_per_step"]), ("load_texture", 1 << 20), "the leak")


@tap.test("without a recording the same program runs, and records nothing")
def _(folder):
    compiler = need_compiler("cc")
    run(folder, compiler, "-std=c17", *FLAGS, EXAMPLES / "c" / "render.c", EXAMPLES / "c" / "pool.c", *LINK, "-o", "render")
    done = tap.run(["./render"], cwd=folder, env={**environment(), "STORMLOG_DISABLE": "1"})
    tap.equal((done.returncode, os.listdir(folder)), (0, ["render"]), done.stdout + done.stderr)
    tap.contains(done.stdout, "frame 59; requests that failed: 0")


@tap.test("C++ containers on the pool are recorded through a memory_resource")
def _(folder):
    compiler = need_compiler("c++")
    run(folder, need_compiler("cc"), "-std=c17", *FLAGS, "-c", EXAMPLES / "c" / "pool.c")
    run(folder, compiler, "-std=c++17", *FLAGS, "-c", EXAMPLES / "c" / "resource.cpp")
    run(folder, compiler, "resource.o", "pool.o", *LINK, "-o", "resource")
    run(folder, STORMLOG, "run", "-o", "run", "--stacks", "native", "--", "./resource")
    device = report_of(folder, "run")["devices"][0]
    tap.equal((device["allocs"], device["frees"], device["live_requested_bytes"]), (18, 18, 0), "a vector that grew 18 times")


# --- Trainers, servers, CI -----------------------------------------------------------------------------------------------

def commands_of(name):
    """The lines of a CI file that call stormlog."""
    lines = (line.strip().removeprefix("- ") for line in (EXAMPLES / "ci" / name).read_text().splitlines())
    return [line for line in lines if line.startswith("stormlog ")]


@tap.test("the commands of both CI files pass on the trainer of examples/training, which leaves a snapshot, and fail on a leak")
def _(folder):
    need_package()
    python = tap.python_with("torch")
    names = Path(folder, "bin")
    names.mkdir()
    (names / "python3").symlink_to(python)
    shutil.copy(ROOT / "tests" / "data" / "h200" / "s4_fixed.pickle.gz", Path(folder, "nightly.pickle.gz"))
    shutil.copytree(EXAMPLES / "training", folder, dirs_exist_ok=True)
    train = Path(folder, "train.py")
    train.write_text("import runpy, sys\nsys.argv[1:] = ['configs/train/debug.toml']\nrunpy.run_path('scripts/train.py')\n")
    env = {**environment(), "PATH": f"{names}:{environment()['PATH']}", "GITHUB_STEP_SUMMARY": str(Path(folder, "summary.md"))}

    def ci(command):
        if command.startswith("stormlog run"):
            shutil.rmtree(Path(folder, "runs"), ignore_errors=True)
        return tap.run(["bash", "-ec", command], cwd=folder, env=env)

    gitlab, github = commands_of("gitlab-ci.yml"), commands_of("github-actions.yml")
    tap.equal((len(gitlab), len(github)), (5, 5), "commands")
    for command in gitlab[3:] + gitlab[1:3] + github[1:]:  # the baseline first; its run serves all
        done = ci(command)
        tap.equal(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        if command.startswith("stormlog run"):
            tap.contains(done.stderr, "[step 100] Memory snapshot saved: memory_snapshots/snapshot_step_100_device_cpu.pickle")
    tap.equal(report_of(folder, "memory_snapshots/snapshot_step_100_device_cpu.pickle")["verdict"], "healthy", "the snapshot")
    tap.contains(Path(folder, "summary.md").read_text(), "max-peak")
    tap.contains(Path(folder, "memory.xml").read_text(), "<testsuite")
    train.write_text("import torch\nkept = []\nmodel = torch.nn.Linear(64, 64)\nfor _ in range(40):\n"
                     "    model(torch.ones(8, 64)).sum().backward()\n"
                     "    kept.append(torch.ones(1 << 16))\n")
    ci(github[0])
    done = ci(github[1])
    tap.equal(done.returncode, 1, done.stdout + done.stderr)
    tap.contains(done.stdout, "train.py:6")


@tap.test("a decoder whose KV caches are never evicted: weights, cache reserved and used, the line of the leak")
def _(folder):
    need_package()
    tap.skip_if_sanitized(STORMLOG)
    python = tap.python_with("torch")
    run(folder, STORMLOG, "run", "-o", "runs/serving", "--", python, EXAMPLES / "serving" / "serve_decoder.py", "16")
    printed = run(folder, python, EXAMPLES / "serving" / "where_it_goes.py", "runs/serving")
    facts = json.loads(Path(folder, "serving.json").read_text())
    rows = dict(re.findall(r"^(.+?) {2,}(unknown|[\d.,]+ MiB)", printed, re.M))
    tap.equal(rows["KV cache, reserved"], "8.0 MiB", printed)
    tap.equal(rows["weights"], f"{facts['weights_bytes'] / 1024 ** 2:.1f} MiB", printed)
    tap.equal((rows["NCCL"], rows["graphs"]), ("unknown", "unknown"), "of a card only")


@tap.test("every step of the tutorial is run by run_all.sh and described in docs/tutorial.md")
def _():
    scripts = sorted(path.name for path in (EXAMPLES / "tutorial" / "scripts").glob("[0-9]*.py"))
    tap.equal([name[:2] for name in scripts], [f"{number:02}" for number in range(11)], "00 to 10")
    text = (ROOT / "docs" / "tutorial.md").read_text()
    tap.equal([name for name in scripts if name not in text], [], "scripts that docs/tutorial.md does not name")


tap.main()
