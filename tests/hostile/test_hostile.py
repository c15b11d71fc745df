# SPDX-License-Identifier: MIT
"""Hostile programs, plain and recorded. What each proves: README.md beside this file.

Arguments: the program, the folder of the built C programs, the folder of the fakes, the groups ("all", or names such as
file,exit). Then options: --device cuda, --python PATH, --soak, --list; then parts of names of cases.
"""

import argparse
import os
import sys
import tempfile

import tap

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import case_api  # noqa: E402
import case_descriptors  # noqa: E402
import case_exit  # noqa: E402
import case_file  # noqa: E402
import case_fork  # noqa: E402
import case_identity  # noqa: E402
import case_memory  # noqa: E402
import case_signals  # noqa: E402
import case_two  # noqa: E402
from hostile_run import DEBIAN_PYTHON, Case, Setting, expand, run_case  # noqa: E402

GROUPS = {
    "descriptors": case_descriptors.CASES, "file": case_file.CASES, "exit": case_exit.CASES, "two": case_two.CASES,
    "fork": case_fork.CASES, "api": case_api.CASES, "signals": case_signals.CASES, "identity": case_identity.CASES,
    "memory": case_memory.CASES,
}


def find_python(wanted: str, device: str) -> str:
    if wanted:
        return wanted
    if device == "cuda":
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpu"))
        import device as gpu
        return gpu.find_python() or DEBIAN_PYTHON
    return DEBIAN_PYTHON if os.path.exists(DEBIAN_PYTHON) else sys.executable


def forget_fakes(fakes: str) -> None:
    """Meson puts the folder of the stand-ins on the library path; a real torch would find the stand-in of its driver there."""
    paths = os.environ.pop("LD_LIBRARY_PATH", "").split(":")
    kept = [path for path in paths if path and os.path.realpath(path) != os.path.realpath(fakes)]
    if kept:
        os.environ["LD_LIBRARY_PATH"] = ":".join(kept)


def register(case: Case, setting: Setting) -> None:
    tap.test(f"{case.name}: {case.proves}")(lambda folder: run_case(case, setting, folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stormlog")
    parser.add_argument("programs")
    parser.add_argument("fakes")
    parser.add_argument("groups")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--python", default="")
    parser.add_argument("--soak", action="store_true")
    parser.add_argument("--list", action="store_true", help="print the table of the README and end")
    args = parser.parse_intermixed_args()
    if args.list:
        for group, cases in GROUPS.items():
            for case in cases:
                print(f"| {group} | {case.name} | {', '.join(case.modes)} | {case.proves} |")
        return
    forget_fakes(args.fakes)
    setting = Setting(os.path.abspath(args.stormlog), os.path.abspath(args.programs), os.path.abspath(args.fakes), args.device,
                      find_python(args.python, args.device), args.soak)
    groups = list(GROUPS) if args.groups == "all" else args.groups.split(",")
    for group in groups:
        for case in expand(GROUPS[group], setting):
            register(case, setting)
    sys.argv[1:] = args.names
    os.environ["TMPDIR"] = tempfile.gettempdir()
    tap.main()


main()
