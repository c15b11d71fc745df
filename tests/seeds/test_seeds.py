# SPDX-License-Identifier: MIT
"""The five texts that people know this kind of tool from: every block of code and of shell in them, as it is, run against our
packages. Arguments: the build folder, and which blocks: `quick` (no training scripts), `all`, or `cuda` (those that need a card).

The texts are not part of this project. They are looked for in ../shared/seeds beside the checkout, or in STORMLOG_SEEDS; without
them everything is skipped. seed_blocks.py has the line numbers. By hand, with the table:

    make check-seeds
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tap

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "walk"))

from screen import Screen  # noqa: E402
from seed_blocks import BLOCKS  # noqa: E402

BUILD, MODE = Path(sys.argv[1]).resolve(), sys.argv[2]
del sys.argv[1:3]
SEEDS = Path(os.environ.get("STORMLOG_SEEDS", ROOT.parent / "shared" / "seeds"))
LIMIT_S = 600
# Lines that look like code and are not a block: output that a text shows, and sentences that begin with a name.
SHOWN = {"000": {128}, "002": {*range(19, 22), 36, 38, *range(40, 42), 43, 46, 55, 56, 65, 77, 78, 79, 90, 91},
         "004": {2, *range(136, 139), *range(157, 172)}}
CODE = re.compile(r"(import |from \w+ import|def |class |for .*:$|if .*:$|with .*:$|try:|except|finally:|return |raise$|break$"
                  r"|[\w.\"'\[\]]+ = |[\w.]+\(.*\)?,?$|python3? |bash |git |conda |pip |gpumemprof |stormlog$|uv |open \w+\.|#|\"\w+\":)")


def text_of(source):
    return next(SEEDS.glob(f"{source}_*.txt")).read_text(encoding="utf-8").split("\n")


def code_of(block):
    """The block as it is in the text, with its indentation restored."""
    lines = text_of(block.source)[block.first - 1:block.last]
    if block.cut is not None:
        lines[-1] = lines[-1][:block.cut]
    if block.indent:
        tap.equal(len(block.indent), len(lines), f"{block}: digits of indent")
        lines = ["    " * int(depth) + line for depth, line in zip(block.indent, lines)]
    return "\n".join(lines) + "\n"


class Place:
    """A folder for all blocks: the tutorial and the training example as in a checkout, and the names that the texts use."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.python = tap.python_with("torch")
        self.done = {}
        for name in ("tutorial", "training"):
            shutil.copytree(ROOT / "examples" / name, self.folder / "examples" / name, 
                            ignore=shutil.ignore_patterns("artifacts", "logs", "memory_snapshots", "stormlog-runs"))
        (self.folder / "tests").symlink_to(ROOT / "tests")
        metrics = self.folder / "names" / "kempnerforge"
        metrics.mkdir(parents=True)
        (metrics / "metrics.py").write_text("from stormlog.metrics import *\n")
        self._make_commands(self.folder / "bin")
        paths = (BUILD / "python", self.folder / "examples" / "tutorial" / "scripts", self.folder / "names")
        self.env = {**os.environ, "PATH": f"{self.folder / 'bin'}:{BUILD}:{os.environ['PATH']}", "HOME": str(self.folder),
                    "PYTHONPATH": ":".join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        asked = tap.run([self.python, "-c", "import torch; print(torch.cuda.is_available(), torch.__version__)"], env=self.env)
        self.device = "cuda" if asked.stdout.startswith("True") else "cpu"

    def _make_commands(self, folder):
        folder.mkdir()
        # No links to the interpreter: one of a virtual environment would not find its packages.
        python = f'exec "{self.python}" "$@"'
        for name, script in (("python", python), ("python3", python), ("open", 'test -s "$1"'), ("uv", 'shift; exec "$@"')):
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)

    def cwd(self, block):
        return self.folder / "examples" / ("training" if block.source == "002" else "tutorial")

    # --- shell ---------------------------------------------------------------------------------------------------------

    def shell(self, block):
        """The problem, "" or "refused: …". A line that several blocks have runs once."""
        commands, refused = [code_of(block)], ""
        if all(line.startswith("python3 scripts/") for line in commands[0].splitlines()):
            commands = commands[0].splitlines()
        for command in [*commands, block.after]:
            key = (self.cwd(block), command)
            if command and key not in self.done:
                done = tap.run(["bash", "-ec", command], cwd=key[0], env=self.env, timeout=LIMIT_S)
                self.done[key] = "" if done.returncode == 0 else f"{command}\nexit code {done.returncode}\n{done.stdout}{done.stderr}"
            problem = self.done.get(key, "")
            if block.refused and command != block.after and block.refused in problem:
                refused = f"refused: {problem.strip().splitlines()[-1]}"
            elif problem:
                return problem
        return refused

    def terminal(self, block):
        screen = Screen(code_of(block).strip(), 100, self.cwd(block), {**self.env, "TERM": "xterm-256color"})
        try:
            if not screen.wait_for(lambda text: "quit" in text.lower() or "help" in text.lower(), LIMIT_S):
                return f"nothing to see: {screen.text()}"
            screen.press(b"q")
            code = screen.finish(60)
            return "" if code == 0 else f"exit code {code}: {screen.text()}"
        finally:
            screen.close()

    # --- Python --------------------------------------------------------------------------------------------------------

    def python_blocks(self, blocks):
        """{block: problem} of the blocks of one chain."""
        cwd = self.cwd(blocks[0])
        chain = [{"id": str(block), "file": str(cwd / f"seed-{block.source}.py"), "line": block.first, "error": block.error,
                  "code": code_of(block).replace('device="mps"', f'device="{self.device}"'), "before": block.before,
                  "after": block.after} for block in blocks]
        path = self.folder / f"chain-{blocks[0]}.json"
        path.write_text(json.dumps(chain))
        command = [self.python, HERE / "run_chain.py", path]
        if blocks[0].source == "004":  # torch's history and our recorder in one process
            command = [BUILD / "stormlog", "run", "-o", self.folder / f"run-{blocks[0]}", "--", *command]
        done = tap.run(command, cwd=cwd, env=self.env, timeout=LIMIT_S)
        found = Path(f"{path}.done")
        rows = {row["id"]: row["problem"] for row in map(json.loads, found.read_text().splitlines())} if found.exists() else {}
        return {block: rows.get(str(block), f"the process ended before\n{done.stdout[-2000:]}{done.stderr[-2000:]}") for block in blocks}


def reason_to_skip(block, device):
    """Why this block cannot run here, or ""."""
    if block.needs == "network":
        return f"needs a network: {block.note}"
    if block.chain == "none":
        return block.note
    if block.needs == "cuda" and device != "cuda":
        return "needs CUDA: make check-gpu"
    if MODE == "quick" and block.kind == "shell":
        return "" if block.first in (81, 83) and block.source == "001" else "make check-seeds"
    if MODE == "cuda" and block.kind == "shell" and block.needs != "cuda":
        return "the tutorial runs on its own"
    return ""


def run_all(place):
    """{block: (result, seconds)}; a result is "works", "skipped: why", "refused: by whom" (not by us), or a problem."""
    results, chains = {}, {}
    for block in BLOCKS:
        reason = reason_to_skip(block, place.device)
        if reason:
            results[block.source, block.first] = (f"skipped: {reason}", 0.0)
        elif block.kind == "python":
            chains.setdefault(block.chain or block.source, []).append(block)
    shells = [block for block in BLOCKS if block.kind == "shell" and (block.source, block.first) not in results]
    for blocks in chains.values():
        start = time.monotonic()
        for block, problem in place.python_blocks(blocks).items():
            results[block.source, block.first] = (problem or "works", (time.monotonic() - start) / len(blocks))
    for block in shells:
        start = time.monotonic()
        problem = place.terminal(block) if block.needs == "terminal" else place.shell(block)
        results[block.source, block.first] = (problem or "works", time.monotonic() - start)
    return results


def show(results, device):
    print(f"# {'block':14} {'kind':7} {'s':>5}  result on {device}")
    for block in BLOCKS:
        result, seconds = results[block.source, block.first]
        first = result.strip().splitlines()[-1] if result not in ("works",) else "works"
        swapped = f" ({device} for mps)" if block.needs == "mps" and result == "works" else ""
        note = f" ({block.note})" if block.note and result == "works" else ""
        print(f"# {str(block):14} {block.kind:7} {seconds:5.1f}  {first}{swapped}{note}")
    kinds = [kind_of(result) for result, _ in results.values()]
    print(f"# {kinds.count('works')} of {len(BLOCKS)} blocks work, {kinds.count('refused')} refused by PyTorch itself, "
          f"{kinds.count('skipped')} skipped, {kinds.count('fails')} fail")


def kind_of(result):
    return result if result == "works" else next((kind for kind in ("skipped", "refused") if result.startswith(f"{kind}:")), "fails")


def need_texts():
    if not SEEDS.is_dir():
        tap.skip(f"the source texts are not here ({SEEDS}); they are not part of this project")


@tap.test("every line of code in the texts belongs to a block")
def _():
    need_texts()
    for source in ("000", "001", "002", "003", "004"):
        known = set(SHOWN.get(source, ()))
        for block in BLOCKS:
            if block.source == source:
                known |= set(range(block.first, block.last + 1))
        loose = [number for number, line in enumerate(text_of(source), 1) if number not in known and CODE.match(line.strip())]
        tap.equal(loose, [], f"{source}: lines that look like code outside of blocks")


@tap.test("every block that can run here does what its text says")
def _(folder):
    need_texts()
    if not (BUILD / "python" / "stormlog").exists():
        tap.skip("the Python package was not built")
    place = Place(folder)
    if MODE == "cuda" and place.device != "cuda":
        tap.skip("torch sees no CUDA device here")
    results = run_all(place)
    show(results, place.device)
    broken = [f"{source}:{first}\n{result}" for (source, first), (result, _) in sorted(results.items())
              if kind_of(result) == "fails"]
    tap.true(not broken, "no block fails:\n" + "\n".join(broken))


if __name__ == "__main__":
    tap.main()
