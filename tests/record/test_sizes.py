# SPDX-License-Identifier: MIT
"""How large the files of a run are, as `ls -l` shows them, and who compacts them. Argument: the program."""

import json
import os
import re
import signal
import sys
from pathlib import Path

import tap
from plain_torch import PYTHON, need_torch

stormlog = os.path.abspath(sys.argv.pop(1))
ONE_TENSOR_MAX, LOADER_MAX = 256 << 10, 4 << 20
ZSTD_MAGIC, MAGIC = b"\x28\xb5\x2f\xfd", b"\x89SLOG\r\n\x1a"
HAS_ZSTD = json.loads(tap.run([stormlog, "info", "--format", "json"]).stdout)["libraries"]["zstd"]

LOADER = """
import os, sys, time, torch
from torch.utils.data import DataLoader, Dataset
class Items(Dataset):
    def __len__(self):
        return 100000
    def __getitem__(self, i):
        return torch.randn(64), torch.tensor(i % 10)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.Adam(model.parameters())
for step, (x, y) in enumerate(DataLoader(Items(), batch_size=32, num_workers=2)):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 2000:  # more than five seconds' worth here
        break
"""


def clean_env(**more):
    env = {name: value for name, value in os.environ.items()
           if not re.match(r"STORMLOG_|LD_PRELOAD|RANK$|LOCAL_RANK$|WORLD_SIZE$|SLURM_|OMPI_|PMI", name)}
    return {**env, **more}


def run(folder, source, *options, code=0):
    """The recordings of a run of this source, and its result."""
    need_torch(stormlog)
    out, program = Path(folder) / "run", Path(folder) / "program.py"
    program.write_text(source)
    result = tap.run([stormlog, "run", "-o", str(out), *options, "--", PYTHON, str(program)], env=clean_env(), timeout=240)
    tap.equal(result.returncode, code, result.stderr)
    return sorted(out.iterdir()), result


def fsck(path):
    result = tap.run([stormlog, "fsck", "--format", "json", str(path)])
    tap.equal(result.returncode, 0, result.stderr)
    return json.loads(result.stdout)


def total(paths):
    return sum(path.stat().st_size for path in paths)


def needs_zstd():
    if not HAS_ZSTD:
        tap.skip("this build has no zstd")


@tap.test("a program with one tensor has a small file with everything in it")
def _(folder):
    needs_zstd()
    paths, _ = run(folder, "import torch; x = torch.ones(1000)")
    tap.equal(len(paths), 1, "files")
    tap.true(total(paths) <= ONE_TENSOR_MAX, f"{total(paths)} bytes, at most {ONE_TENSOR_MAX}")
    report = fsck(paths[0])
    tap.equal((report["ending"], report["replay"], report["problems"]), ("closed", "equal", []))
    tap.true(report["events"] >= 2, f"{report['events']} events")


@tap.test("two workers of a DataLoader give three small files, even if a worker never closed its file")
def _(folder):
    needs_zstd()
    paths, _ = run(folder, LOADER)
    tap.equal(len(paths), 3, "files")
    tap.true(total(paths) <= LOADER_MAX, f"{total(paths)} bytes, at most {LOADER_MAX}")
    reports = [fsck(path) for path in paths]
    events = sum(report["events"] for report in reports)
    tap.true(events > 200_000, f"{events} events")
    tap.true(total(paths) / events <= 12, f"{total(paths) / events:.1f} bytes per event")
    tap.equal([report["overwritten"] for report in reports], [0] * 3)


@tap.test("the launcher compacts the recording of a killed process, and the exit code is the signal's")
def _(folder):
    paths, _ = run(folder, "import os, signal, torch\nkept = [torch.ones(1000) for _ in range(100)]\n"
                   "os.kill(os.getpid(), signal.SIGKILL)\n", code=128 + signal.SIGKILL)
    tap.equal(len(paths), 1, "files")
    tap.equal(paths[0].read_bytes()[:4], ZSTD_MAGIC if HAS_ZSTD else MAGIC[:4])
    report = fsck(paths[0])
    tap.equal((report["ending"], report["live_blocks"], report["problems"]), ("killed", 100, []))


@tap.test("--no-compact leaves the file as the process wrote it; compacting it later makes it as small")
def _(folder):
    needs_zstd()
    paths, _ = run(folder, "import torch; x = torch.ones(1000)", "--no-compact")
    tap.equal(paths[0].read_bytes()[:8], MAGIC)
    before = fsck(paths[0])
    tap.run([stormlog, "compact", str(paths[0])], check=True)
    tap.true(total(paths) <= ONE_TENSOR_MAX, f"{total(paths)} bytes")
    after = fsck(paths[0])
    for report in before, after:
        del report["regions"]
    tap.equal(after, before)


@tap.test("the file of a process that outlives the command is not compacted, and later events are in it")
def _(folder):
    source = """
import os, sys, time, torch
x = torch.ones(1000)
if os.fork() == 0:
    os.setsid()
    os.close(0), os.close(1), os.close(2)
    y = torch.ones(3000)
    open("ready", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.01)
    kept = [torch.ones(5000) for _ in range(50)]
    os._exit(0)
while not os.path.exists("ready"):
    time.sleep(0.01)
"""
    cwd = os.getcwd()
    os.chdir(folder)
    try:
        paths, _ = run(folder, source)
        forms = {path: path.read_bytes()[:4] for path in paths}
        tap.equal(sorted(forms.values()), sorted([ZSTD_MAGIC if HAS_ZSTD else MAGIC[:4], MAGIC[:4]]))
        live = next(path for path, magic in forms.items() if fsck(path)["ending"] == "live")
        open("go", "w").close()
        while fsck(live)["ending"] == "live":
            pass
        tap.equal(fsck(live)["live_blocks"] >= 51, True, "what was written after the command's end")
    finally:
        open("go", "w").close()
        os.chdir(cwd)


@tap.test("without space to compact there is one line, the recording is kept, and the exit code is the command's")
def _(folder):
    place, program = Path(folder) / "small", Path(folder) / "program.py"
    place.mkdir()
    tap.skip_if_sanitized(stormlog)
    # Fills the file system to its last byte; the launcher then finds no room for a second file.
    program.write_text(f"import os, torch\nx = [torch.ones(10) for _ in range(20000)]\n"
                       f"fd = os.open('{place}/filler', os.O_CREAT | os.O_WRONLY)\n"
                       "try:\n    while os.write(fd, bytes(4096)): pass\nexcept OSError: pass\nos._exit(7)\n")
    if tap.run(["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]).returncode != 0:
        tap.skip("no small file system can be mounted here")
    command = (f"mount -t tmpfs -o size=64m tmpfs {place} && '{stormlog}' run -o {place}/run -- {PYTHON} {program};"
               f" echo exit $?; ls -A {place}/run; '{stormlog}' fsck {place}/run")
    result = tap.run(["unshare", "-rm", "sh", "-c", command], env=clean_env())
    lines = result.stdout.splitlines()
    tap.equal(lines[0], "exit 7", result.stderr)
    tap.true(re.fullmatch(r"python3-\d+\.slog", lines[1]) and lines[2].startswith("recording"), result.stdout)
    tap.contains(result.stdout, "no damage found")
    tap.contains(result.stderr, "was not compacted: ")
    tap.contains(result.stderr, "No space left on device")


@tap.test("the recording is compacted even after Ctrl+C during the command")
def _(folder):
    needs_zstd()
    tap.skip_if_sanitized(stormlog)
    source = "import os, signal, torch\nx = torch.ones(1000)\nos.kill(os.getppid(), signal.SIGINT)\nsignal.pause()\n"
    paths, _ = run(folder, source, code=128 + signal.SIGINT)
    tap.equal(paths[0].read_bytes()[:4], ZSTD_MAGIC)


tap.main()
