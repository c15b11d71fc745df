# SPDX-License-Identifier: MIT
"""The tutorial and the programs of examples/ on a card. Argument: the build folder. STORMLOG_GPU_EXAMPLES names a file for what
they print, for docs/tutorial.md and the other walks."""

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


def environment(folder):
    python = tap.python_with("torch")
    names = Path(folder, "bin")
    names.mkdir(exist_ok=True)
    (names / "python3").write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
    (names / "python3").chmod(0o755)
    env = {**os.environ, "PATH": f"{names}:{build}:{os.environ['PATH']}", "PYTHONPATH": str(build / "python"),
           "PYTHONDONTWRITEBYTECODE": "1"}
    if tap.run(["python3", "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"], env=env).returncode:
        tap.skip("torch sees no CUDA device here")
    return env


def run(folder, env, command):
    done = tap.run(["bash", "-c", command], cwd=folder, env=env, timeout=400)
    tap.equal(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
    if place := os.environ.get("STORMLOG_GPU_EXAMPLES"):
        with open(place, "a", encoding="utf-8") as file:
            file.write(f"$ {command}\n{done.stdout}{done.stderr}\n")
    return done.stdout + done.stderr


@tap.test("the tutorial: the comparison holds on a card, and the replay says what the leak costs")
def _(folder):
    env = environment(folder)
    place = Path(folder, "examples", "tutorial")
    shutil.copytree(EXAMPLES / "tutorial", place, ignore=shutil.ignore_patterns("artifacts", "logs"))
    Path(folder, "tests").symlink_to(ROOT / "tests")
    printed = run(place, env, "bash run_all.sh")
    tap.contains(printed, "The story holds")
    tap.true(re.search(r"What if retention\.py:\d+ kept nothing: [\d,]+ MiB reserved instead of [\d,]+", printed), printed[-1500:])


@tap.test("serving: weights, cache, graphs and NCCL are known, and the rest is small")
def _(folder):
    env = environment(folder)
    printed = run(folder, env, f"stormlog run --replay -o run -- python3 {EXAMPLES / 'serving'}/serve_decoder.py && "
                               f"python3 {EXAMPLES / 'serving'}/where_it_goes.py run")
    rows = dict(re.findall(r"^(.+?) {2,}(unknown|[\d.,]+ MiB)", printed, re.M))
    tap.equal([name for name, value in rows.items() if value == "unknown"], [], printed)
    tap.equal(rows["KV cache, reserved"], "6,144.0 MiB", printed)


def need(env, module):
    if tap.run(["python3", "-c", f"import {module}"], env=env).returncode:
        tap.skip(f"this Python has no {module}")


@tap.test("JAX and CuPy: the line that keeps arrays on the card")
def _(folder):
    env = environment(folder)
    programs = (("jax", "XLA_PYTHON_CLIENT_ALLOCATOR=platform", "jax_training.py", r"jax_training\.py:\d+ in main"),
                ("cupy", "", "cupy_pipeline.py", r"cupy_pipeline\.py:\d+ in smooth"),
                ("cupy", "", "cupy_pipeline.py --pool", r"cupy_pipeline\.py:\d+ in smooth"))
    for module, setting, script, line in programs:
        need(env, module)
        printed = run(folder, env, f"{setting} stormlog run -o '{script}' -- python3 {EXAMPLES / 'jax_cupy' / script}")
        tap.true(re.search(rf"Leak: .*{line} leaks", printed), printed)


@tap.test("an allocator of a program's own on the card: its leak, its live bytes, the request that failed")
def _(folder):
    env = environment(folder)
    program = Path(folder, "pool_card")
    source = Path(__file__).with_name("pool_card.c")
    run(folder, env, f"cc -O2 -g -I{ROOT}/include {source} -L{build} -lstormlog_record -Wl,-rpath,{build} -ldl -o {program}")
    printed = run(folder, env, f"stormlog run -q --stacks native -o pool -- {program}")
    steps, live = map(int, re.search(r"^(\d+) (\d+)$", printed, re.M).groups())
    report = json.loads(tap.run([str(build / "stormlog"), "analyze", "-f", "json", "pool"], cwd=folder, env=env).stdout)
    card = next(device for device in report["devices"] if device["device"] == 0)
    tap.equal((card["steps"], card["live_bytes"], report["verdict"]), (steps, live, "oom"), report["headline"])
    tap.equal((report["oom"]["cause"], report["oom"]["requested_bytes"]), ("leak", 64 << 20), report["headline"])
    leak = next(finding for finding in report["findings"] if finding["kind"] == "leak")
    tap.equal((leak["subkind"], leak["bytes_per_step"]), ("block retention", 16 << 20), leak["title"])
    tap.true(leak["site"]["function"].startswith("keep+"), f"{leak['site']}")
    run(folder, env, "stormlog analyze pool")


tap.main()
