# SPDX-License-Identifier: MIT
"""Every block in README.md and the documents is executed, or there is a stated reason why not.

Argument: the build folder. A block's kind says what happens to it:

    sh        each line is a command that must succeed; what is indented below it explains it
    console   "$ COMMAND" and what it prints; "[...]" is anything. Times, numbers of processes and names of runs may differ
    python    is run with a torch on the CPU
    toml      is a settings file that the program accepts
    sql       is asked of a table by tests/engines/test_tables.py
    text      nothing; a picture, or output that no machine repeats

With --update the transcripts in README.md are written anew: as many lines as there are now, the rest is "[...]".
"""

import atexit
import functools
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import frozen
import tap
from pages import BUILD, PAGES, ROOT, STORMLOG, blocks

DATA = ROOT / "tests" / "data"
HOME = "/home/newcomer/demo"  # as long as the name of the folder that stands for it, so that lines break at the same words
KINDS = ("sh", "console", "python", "toml", "sql", "text")
# Commands that are not executed here: part of the line, and why.
NOT_RUN = {
    "make test": "this is a part of it",
    "make install": "tests/build/check_install.py does",
    "pip install": "tests/py/test_packaging.py does, without a network",
    "-m build": "tests/py/test_packaging.py does",
    "tests/corpus/record_all.py": "needs a GPU",
    "python3 …": "no command",
    "run_all.sh": "make demo does",
    "jax_cupy/": "needs a card, JAX and CuPy",
    "examples/serving/": "tests/examples does",
    "torchrun": "needs several GPUs",
    "--open": "opens a browser",
    "stormlog tui": "needs a terminal; tests/tui has one",
    "stormlog top 4711": "tests/walk does, with a process that is recorded",
    "stormlog agent": "tests/agent does, with real servers",
    "--push http": "tests/engines does, with a server",
    "stormlog ship": "tests/engines does",
    "s3://": "make check-engines does, with real servers",
    "memprof monitor": "tests/telemetry watches processes and commands",
    "memprof track": "tests/telemetry watches processes and commands",
}
# Text that is replaced by something else on this machine.
STANDS_FOR = [("make demo", f"TUTORIAL_STEPS=80 {ROOT}/tools/demo.sh {BUILD}"), ("python-4711.slog", "python*.slog"),
              ('device="cuda"', 'device="cpu"'),
              ("--duration 10s --pid 4711", "--duration 0s --pid $$"), 
              ("--since 30s --filter 'model\\.py'", "--since 1s --filter 'mlp\\.py'"),
              ("pickle@10s", "pickle@1s"), ("--at-a 10s", "--at-a 1s"), ("'train.py:12 '", "'mlp.py:9 '"), ("jq .size", "head -n 1")]
# Pages whose train.py must do something other than leak.
PROGRAMS = {"bundles.md": ROOT / "tests" / "walk" / "home" / "too_large.py"}
TRAIN = ('def train():\n    import torch\n    model = torch.nn.Linear(8, 8)\n'
         '    for _ in range(3):\n        model(torch.ones(4, 8)).sum().backward()\n')


@functools.cache
def template():
    """A folder with the files that the documents name."""
    folder = tempfile.mkdtemp(prefix="stormlog-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for snapshot in (DATA / "h200").glob("*.pickle.gz"):
        shutil.copy(snapshot, folder)
    snapshot = gzip.decompress((DATA / "h200" / "s4_fixed.pickle.gz").read_bytes())
    for name in ("s", "snap", "before", "after", "good", "new", "rank0", "rank1"):
        Path(folder, f"{name}.pickle").write_bytes(snapshot)
    shutil.copy(DATA / "h200" / "s4_fixed.pickle.gz", Path(folder, "snap.pickle.gz"))
    for name, size in (("a", 16), ("b", 32)):
        Path(folder, f"{name}.pickle").write_bytes(gzip.decompress((DATA / "whatif" / f"batch-big_lstm-{size}.pickle.gz").read_bytes()))
    run = Path(folder, "stormlog-runs", "20261115T120000Z-train")
    run.mkdir(parents=True)
    recording = frozen.unpack(DATA / "slog" / "oom.slog.xz", Path(folder, "run.slog"))
    subprocess.run(["cp", "-a", recording, run], check=True)
    Path(folder, "stormlog-runs", "latest").symlink_to(run.name)
    telemetry = tap.run([STORMLOG, "export", Path(folder, "run.slog"), "--to", "telemetry-json"], check=True).stdout
    Path(folder, "runs", "telemetry").mkdir(parents=True)
    for name in ("rank0.json", "rank1.json", "events.json", "runs/telemetry/rank0.json"):
        Path(folder, name).write_text(telemetry)
    for name in ("tests", "examples", "include"):
        Path(folder, name).symlink_to(ROOT / name)
    Path(folder, "build").symlink_to(BUILD)
    return folder


def fill(folder, page):
    subprocess.run(["cp", "-a", f"{template()}/.", folder], check=True)
    shutil.copy(PROGRAMS.get(page.name, ROOT / "tools" / "demo_train.py"), Path(folder, "train.py"))


def environment(folder):
    names = Path(folder, ".bin")
    Path(names, ".config/fish/completions").mkdir(parents=True)
    for name in ("python", "python3"):
        (names / name).symlink_to(tap.python_with("torch"))
    own = {name: value for name, value in os.environ.items() if not name.startswith(("STORMLOG", "XDG_", "COLUMNS", "PYTHON"))}
    return {**own, "PATH": f"{names}:{BUILD}:{own['PATH']}", "HOME": str(names), "PYTHONPATH": str(BUILD / "python"),
            "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


class Place:
    """A folder in /tmp whose path is as long as HOME."""

    def __init__(self, page):
        self.page = page

    def __enter__(self):
        self.above = tempfile.mkdtemp(prefix="s", dir="/tmp")
        self.folder = os.path.join(self.above, os.path.basename(HOME))
        os.mkdir(self.folder)
        fill(self.folder, self.page)
        self.env = environment(self.folder)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.above, ignore_errors=True)

    def run(self, command):
        for there, here in STANDS_FOR:
            command = command.replace(there, here)
        done = tap.run(["bash", "-c", command], cwd=self.folder, env=self.env, stderr=subprocess.STDOUT, stdout=subprocess.PIPE,
                       capture_output=False)
        return done.returncode, done.stdout.replace(self.folder, HOME)


def reason_not_to(command):
    return next((reason for part, reason in NOT_RUN.items() if part in command), None)


# --- What differs from run to run ------------------------------------------------------------------------------------

VARIES = [(r"\d{8}T\d{6}Z", "RUN"), (r"python3-\d+", "PID"), (r"[\d.]+ (ms|s|min)\b( \d+ s)?", "TIME"),
          (r"\+?[\d.,]+ ?[KMGT]?i?B (a|per) second", "RATE"), (r"of [\d.]+ GiB", "CAPACITY"), (r"[\d.]+ KiB \([\d,]+ bytes\)", "SIZE"),
          (r"[\d,]+ events", "EVENTS"), (r"\s+", " ")]


def settle(text):
    for pattern, word in VARIES:
        text = re.sub(pattern, word, text)
    return text.strip()


def matches(wanted, found):
    parts = [re.escape(settle(part)) for part in wanted.split("[...]")]
    return re.fullmatch(r"\s*.*?\s*".join(parts), settle(found), re.DOTALL) is not None


def transcript(text):
    """[(command, what it prints)]."""
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]


# --- Kinds -----------------------------------------------------------------------------------------------------------

def check_sh(place, block):
    for line in block.text.splitlines():
        if not line.startswith("  ") and not reason_not_to(line):
            code, text = place.run(line)
            tap.equal(code if "run -- " not in line else 0, 0, f"{block}: exit code of {line}\n{text}")


def check_console(place, block):
    for command, wanted in transcript(block.text):
        _, found = place.run(command)
        if not matches(wanted, found):
            raise AssertionError(f"{block}: $ {command}\n{tap.text_diff(wanted, found)}\n"
                                 "make golden-update writes the transcripts of README.md anew")


def check_python(place, block):
    code = block.text
    for there, here in STANDS_FOR:
        code = code.replace(there, here)
    Path(place.folder, "block.py").write_text("import stormlog\n" + TRAIN + code)
    done, text = place.run("python3 block.py")
    tap.equal(done, 0, f"{block}\n{text}")


def check_toml(place, block):
    Path(place.folder, "stormlog.toml").write_text(block.text)
    _, text = place.run("stormlog info")
    tap.contains(text, "stormlog.toml (read)", str(block))
    os.unlink(Path(place.folder, "stormlog.toml"))


CHECKS = {"sh": check_sh, "console": check_console, "python": check_python, "toml": check_toml}


@tap.test("every fenced block names its kind after the backticks")
def _():
    unknown = [str(block) for page in PAGES for block in blocks(page) if block.kind not in KINDS]
    tap.equal(unknown, [], f"blocks that are none of {KINDS}")


def need_torch(found):
    """A transcript of a training has the lines of the torch that it was written with."""
    python = tap.python_with("torch")
    version = tap.run([python, "-c", "import torch; print(torch.__version__)"]).stdout
    if any("stormlog run" in block.text and block.kind == "console" for block in found) and not version.startswith("1.13"):
        tap.skip(f"the transcripts are of torch 1.13, this is {version.strip()}")


def add(page, found):
    @tap.test(f"{page.relative_to(ROOT)}: {len(found)} block{'s' if len(found) != 1 else ''}")
    def _():
        if not (BUILD / "python" / "stormlog").exists():
            tap.skip("the Python package was not built")
        need_torch(found)
        with Place(page) as place:
            for block in found:
                CHECKS[block.kind](place, block)


# --- Rewriting transcripts -------------------------------------------------------------------------------------------

def renew(wanted, found):
    """Keeps as many lines as before; a transcript that was only "[...]" gets all of them."""
    lines, keep = found.rstrip("\n").split("\n"), wanted.rstrip("\n").split("\n")
    if "[...]" not in keep:
        return found
    cut = len(keep) - 1 if len(keep) > 1 else len(lines)
    return "\n".join(lines[:cut]).rstrip("\n") + "\n" + ("[...]\n" if cut < len(lines) else "")


def update():
    page = ROOT / "README.md"
    text = page.read_text()
    with Place(page) as place:
        for block in blocks(page):
            if block.kind == "console":
                fresh = "".join(f"$ {command}\n{renew(wanted, place.run(command)[1])}" for command, wanted in transcript(block.text))
                text = text.replace(f"```console\n{block.text}```", f"```console\n{fresh}```")
    page.write_text(text)


if "--update" in sys.argv:
    update()
else:
    for document in PAGES:
        if runnable := [block for block in blocks(document) if block.kind in CHECKS]:
            add(document, runnable)
    tap.main()
