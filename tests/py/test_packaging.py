# SPDX-License-Identifier: MIT
"""A wheel is built and installed without a network, and works from there."""

import os
import re
import shutil
import sys
import zipfile
from pathlib import Path

import tap

SOURCE = Path(os.environ["STORMLOG_SOURCE"])
# Parts of the source tree that are not copied: build results, and large files that are not part of the package.
LEFT_OUT_AT_TOP = re.compile(r"\.git|build(-.*)?|stormlog-runs|out")
LEFT_OUT = ("data", "__pycache__", "node_modules")
NEEDED = ("build", "setuptools", "wheel", "pip", "venv")
# A clean environment: packages on PYTHONPATH must not be found.
CLEAN = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "STORMLOG_BUILD")}

state = {}


def need_tools():
    missing = [name for name in NEEDED if tap.run([sys.executable, "-c", f"import {name}"]).returncode]
    missing += [name for name in ("meson", "ninja") if not shutil.which(name)]
    if missing:
        tap.skip(f"not installed: {', '.join(missing)}")


def run(*command, **options):
    result = tap.run([str(part) for part in command], env=CLEAN, timeout=1500, **options)
    if result.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}")
    return result.stdout


@tap.test("python3 -m build --wheel --no-isolation makes a wheel for every CPython from 3.9 on")
def _():
    need_tools()
    import tempfile

    state["folder"] = folder = Path(tempfile.mkdtemp(prefix="stormlog-test-"))
    copy = folder / "source"
    shutil.copytree(SOURCE, copy, symlinks=True, ignore=lambda place, names: [
        name for name in names if name in LEFT_OUT or (place == str(SOURCE) and LEFT_OUT_AT_TOP.fullmatch(name))])
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist", copy)
    wheels = list((folder / "dist").glob("*.whl"))
    tap.equal(len(wheels), 1, "wheels")
    tap.contains(wheels[0].name, "-cp39-abi3-linux_", "name")
    state["wheel"] = wheels[0]


@tap.test("the wheel contains both packages, both modules, stubs, the program and the recorder")
def _():
    if "wheel" not in state:
        tap.skip("there is no wheel")
    names = set(zipfile.ZipFile(state["wheel"]).namelist())
    expected = {"stormlog/__init__.py", "stormlog/_read.abi3.so", "stormlog/_record.abi3.so", "stormlog/_read.pyi",
                "stormlog/py.typed", "gpumemprof/__init__.py", "stormlog/tensorflow/__init__.py",
                "stormlog/_bin/stormlog", "stormlog/_bin/libstormlog_record.so"}
    tap.equal(sorted(expected - names), [], "missing files")
    tap.equal([name for name in names if ".p/" in name or name.endswith(".pyc")], [], "leftovers")
    sources = {f"stormlog/{path.relative_to(SOURCE / 'python' / 'stormlog')}" for path in
               (SOURCE / "python" / "stormlog").rglob("*.py*") if "__pycache__" not in str(path)}
    tap.equal(sorted(sources - names), [], "files of the package that the build does not list")


@tap.test("the installed wheel can be imported, records, and its commands run")
def _():
    if "wheel" not in state:
        tap.skip("there is no wheel")
    place = state["folder"] / "venv"
    run(sys.executable, "-m", "venv", "--system-site-packages", place)
    python = place / "bin" / "python"
    run(python, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet", state["wheel"])
    version = run(python, "-c", "import stormlog; print(stormlog.__version__, stormlog.__file__)", cwd=state["folder"])
    tap.contains(version, "0.1.0")
    tap.contains(version, str(place))
    for name in ("stormlog", "gpumemprof", "tfmemprof"):
        tap.contains(run(place / "bin" / name, "--help"), name, f"{name} --help")
    tap.contains(run(python, "-m", "stormlog.cli", "--help"), "gpumemprof")
    tap.equal(run(python, "-c", "from stormlog.cli import main; print(main(['--help']))").splitlines()[-1], "0", "main()")
    out = run(python, "-c", "import stormlog\nwith stormlog.record(dir='runs', cpu=True) as r:\n"
              "    import torch\n    x = torch.zeros(9)\n    print(r.path)", cwd=state["folder"])
    tap.contains(out, "runs/", "a recording by the packaged library")
    if tap.run([python, "-c", "import pytest"]).returncode == 0:
        tap.contains(run(python, "-m", "pytest", "--markers", cwd=state["folder"]), "stormlog(max_peak", "pytest finds the plugin")


@tap.test("pip is asked for meson and ninja when there is none, or one that does not run")
def _(folder):
    code = "import backend; print(sorted(set(backend.get_requires_for_build_wheel()) & {'meson>=1.0', 'ninja'}))"
    for exit_code, expected in ((None, "['meson>=1.0', 'ninja']"), (1, "['meson>=1.0', 'ninja']"), (0, "[]")):
        if exit_code is not None:
            for name in ("meson", "ninja"):
                Path(folder, name).write_text(f"#!/bin/sh\nexit {exit_code}\n")
                Path(folder, name).chmod(0o755)
        result = tap.run([sys.executable, "-c", code], cwd=SOURCE, env={**CLEAN, "PATH": folder, "PYTHONPATH": "packaging"})
        tap.equal((result.returncode, result.stdout.strip().splitlines()[-1:]), (0, [expected]), f"{exit_code}: {result.stderr}")


@tap.test("pip install . works without a network")
def _():
    if "wheel" not in state:
        tap.skip("there is no wheel")
    place = state["folder"] / "venv2"
    run(sys.executable, "-m", "venv", "--system-site-packages", place)
    run(place / "bin" / "python", "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation", "--quiet",
        state["folder"] / "source")
    tap.contains(run(place / "bin" / "python", "-c", "import gpumemprof; print(gpumemprof.__file__)",
                     cwd=state["folder"]), str(place))


try:
    tap.main()
finally:
    if "folder" in state:
        shutil.rmtree(state["folder"], ignore_errors=True)
