# SPDX-License-Identifier: MIT
"""The full-screen program beside a training on a card: the list of processes, the live figures and the ledger, against the driver and
torch. Argument: the path of stormlog. STORMLOG_SCREEN names another one with the full-screen program (that of a wheel) where this
build has none; STORMLOG_GPU_SCREENS a folder for what was on the screen."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import tap
from device import find_python, need_device

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "walk"))

from screen import Screen  # noqa: E402

STORMLOG = os.path.abspath(sys.argv.pop(1))
SCREEN = os.environ.get("STORMLOG_SCREEN", STORMLOG)
PATIENCE_S = 40
TRAIN = """
import torch
block = torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(40):
    model(torch.randn(64, 4096, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print("ready", torch.cuda.memory_allocated(), flush=True)
input()
"""


class Live:
    """A training under the recorder that has done its steps and waits, and the full-screen program open on it."""

    def __init__(self, folder):
        need_device()
        path = Path(folder, "train.py")
        path.write_text(TRAIN)
        self.folder = folder
        self.training = subprocess.Popen([STORMLOG, "run", "-q", "--no-cpu", "-o", "run", "--", find_python(), str(path)], cwd=folder,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.training.stdout.readline()
        tap.true(line.startswith("ready "), f"the training's line: {line!r}")
        self.allocated = int(line.split()[1])
        self.screen = None

    def __enter__(self):
        if tap.run([SCREEN, "tui", "--help"]).returncode or "no full-screen" in tap.run([SCREEN, "tui"], stdin=subprocess.DEVNULL).stderr:
            tap.skip("this build has no full-screen program; STORMLOG_SCREEN names another")
        env = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        self.screen = Screen(f"exec '{SCREEN}' tui run", 160, self.folder, env)
        return self

    def __exit__(self, *_):
        self.training.communicate("\n")
        if self.screen:
            self.screen.press(b"q")
            tap.equal(self.screen.finish(PATIENCE_S), 0, "the program's end")
            self.screen.close()
        tap.equal(self.training.returncode, 0, "the training's end")

    def show(self, keys, *texts):
        """The screen after these keys, as the program itself saves it, when it has all of these texts."""
        for key in keys:
            self.screen.press(key.encode())
        found = ""
        for _ in range(PATIENCE_S):
            for old in Path(self.folder).glob("stormlog-screen*"):
                old.unlink()
            self.screen.press(b"S")
            self.screen.wait_for(lambda _: any(Path(self.folder).glob("stormlog-screen*.svg")), 1)
            found = "".join(path.read_text() for path in Path(self.folder).glob("stormlog-screen*.txt"))
            if all(re.search(text, found) for text in texts):
                break
        if place := os.environ.get("STORMLOG_GPU_SCREENS"):
            for path in Path(self.folder).glob("stormlog-screen*"):
                shutil.copy(path, Path(place, f"screen{keys}{path.suffix}"))
        for text in texts:
            tap.true(re.search(text, found), f"{text!r} on the screen\n{found}")
        return found


def processes_of_card():
    """{pid: MiB} as nvidia-smi has it; empty when the driver lists none, as in a container with process numbers of its own."""
    done = tap.run(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"])
    rows = [line.split(", ") for line in done.stdout.splitlines() if "," in line]
    return {int(pid): int(used) for pid, used in rows if used.isdigit()}


def sum_of_tensors(shown):
    units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (B|[KMG]iB) +[\d.]+ % +tensors", shown))


@tap.test("live: torch's allocated bytes, and the card's memory by the driver")
def _(folder):
    with Live(folder) as live:
        gib = live.allocated / (1 << 30)
        live.show("2", rf"{gib:.2f} GiB")
        shown = live.show("5", "tensors: optimizer state", "CUDA context and modules")
        # Each row has three digits.
        tap.true(abs(sum_of_tensors(shown) - live.allocated) <= 24 << 20, f"the rows of tensors are torch's bytes\n{shown}")


@tap.test("the processes of the card are those of nvidia-smi, with their memory")
def _(folder):
    with Live(folder) as live:
        listed = processes_of_card()
        if not listed:
            found = live.show("1v", "host")
            tap.contains(found, "(recorded)", "the training, though the driver lists no process here")
            tap.skip("nvidia-smi lists no process here (process numbers of its own?); only our own process is shown")
        pid, used_mib = max(listed.items(), key=lambda row: row[1])
        live.show("1v", rf"{pid} +0 +{used_mib / 1024:.2f} GiB")


tap.main()
