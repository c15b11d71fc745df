# SPDX-License-Identifier: MIT
"""A step has one number in every command: the program's own, or counted from 0. What `stormlog ranks` says is pasted into the others,
and must be the same step there. Argument: the program."""

import csv
import io
import json
import os
import sys
from pathlib import Path

import tap
from plain_torch import PYTHON, need_torch

stormlog = os.path.abspath(sys.argv.pop(1))
KEPT = 1 << 20
KEPT_FROM = 9  # counted from 0

# Rank 1 of 3 keeps 1 MiB per step; how steps are numbered is the argument.
PROGRAM = f"""
import os, sys, torch, stormlog
number = {{"optimizer": None, "given": lambda i: 1000 + i, "epochs": lambda i: i % 10, "every_10": lambda i: 10 * i}}[sys.argv[1]]
def train(rank):
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.Adam(model.parameters())
    kept = []
    for i in range(30):
        if rank == 1 and i >= {KEPT_FROM}:
            kept.append(torch.ones({KEPT // 4}))  # the line
        model(torch.ones(8, 64)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        if number:
            stormlog.step(number(i))
for rank in range(3):
    if os.fork() == 0:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="3")
        train(rank)
        os._exit(0)
for _ in range(3):
    os.wait()
"""
LINE = next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if "# the line" in line)


def good(*arguments):
    done = tap.run([stormlog, *map(str, arguments)])
    tap.equal(done.returncode, 0, f"{arguments}: {done.stderr}")
    return done.stdout


def grown(recording, before, after):
    """Bytes by which the line that keeps grew between the ends of two steps."""
    answer = json.loads(good("diff", f"{recording}@step:{before}", f"{recording}@step:{after}", "--format", "json"))
    return sum(row["delta_bytes"] for pair in answer["diffs"] for row in pair["rows"]
               if row["site"] and row["site"].get("line") == LINE)


def check_round_trip(folder, way, numbers):
    """numbers: those of all steps, ascending, as the user should see them."""
    need_torch(stormlog)
    tap.skip_if_sanitized(stormlog)
    script = Path(folder) / "train.py"
    script.write_text(PROGRAM)
    run = Path(folder) / "run"
    env = {**os.environ, "PYTHONPATH": str(Path(stormlog).parent / "python")}
    done = tap.run([stormlog, "run", "-q", "-o", str(run), "--", PYTHON, str(script), way], env=env, timeout=300)
    tap.equal(done.returncode, 0, done.stderr)

    answer = json.loads(good("ranks", run, "--format", "json"))
    cause = answer["first_cause"]
    tap.equal((cause["rank"], cause["fault"]), (1, "leak"), answer["sentence"])
    step = cause["step"]
    tap.equal(step, numbers[KEPT_FROM], f"the step in JSON: {answer['sentence']}")
    for form in ("txt", "md", "html"):
        tap.contains(" ".join(good("ranks", run, "--format", form).split()), f"at step {step}")
    row = next(row for row in answer["ranks"] if row["rank"] == 1)
    tap.equal((row["last_step"], row["steps"]), (numbers[-1], len(numbers)), "last step and steps")

    recording = row["path"]
    before, earlier = numbers[KEPT_FROM - 1], numbers[KEPT_FROM - 2]
    tap.equal(grown(recording, before, step), KEPT, f"what the line keeps in step {step}")
    tap.equal(grown(recording, earlier, before), 0, "what it keeps in the step before")
    table = [json.loads(line) for line in good("export", recording, "--to", "jsonl").splitlines()]
    tap.equal(sorted({row["step"] for row in table if row["part"] == "step"}), numbers, "steps of the table")
    steps = [row["step"] for row in table if row["line"] == LINE and row["part"] == "step"]
    tap.equal(min(steps), step, "first step of the line in the table")
    curve = list(csv.DictReader(io.StringIO(good("export", recording, "--to", "steps-csv"))))
    tap.equal([int(row["step"]) for row in curve], numbers, "steps-csv")
    tap.equal(json.loads(good("analyze", recording, "--format", "json"))["devices"][0]["steps"], len(numbers), "steps of the report")
    good("analyze", recording, "--since", f"step:{step}")
    wrong = tap.run([stormlog, "diff", f"{recording}@step:{numbers[-1] + 1}", str(recording)])
    tap.equal(wrong.returncode, 2, "a step that there is not")
    tap.contains(wrong.stderr, f"has steps {numbers[0]} to {numbers[-1]}, not {numbers[-1] + 1}")


for name, how, expected in (
        ("the recorder counts them by the optimizer: from 0", "optimizer", range(30)),
        ("the program gives numbers of its own", "given", range(1000, 1030)),
        ("numbers that begin anew in each epoch: counted from 0", "epochs", range(30)),
        ("a number for every tenth", "every_10", range(0, 300, 10))):

    @tap.test(f"the step that `ranks` names is that step in every command; {name}")
    def _(folder, how=how, expected=expected):
        check_round_trip(folder, how, list(expected))


tap.main()
