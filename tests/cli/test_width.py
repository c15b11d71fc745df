# SPDX-License-Identifier: MIT
"""Text is as wide as the terminal, from 40 to 200 columns, and 80 elsewhere. The path of a finding is whole at every width, and
a link on a terminal that takes links. Arguments: the program."""

import gzip
import json
import os
import pickle
import re
import shutil
import socket
from pathlib import Path

import tap
from cli import H200, ROOT, STORMLOG, commands
from terminal import Terminal

WIDTHS = (40, 80, 120, 200)
LINK = re.compile(r"\x1b\]8;;([^\x1b]*)\x1b\\")
CODES = re.compile(r"\x1b\[[0-9;]*[mK]|\x1b\]8;;[^\x1b]*\x1b\\")
LEAK = next(path for path in H200 if "s1_loss" in path.name)
CLOSED = ROOT / "tests" / "format" / "v1" / "closed.slog"


def at_terminal(columns, *arguments, env=None, cwd=None, codes=(0,)):
    """What the program writes to a terminal of this width, with all codes."""
    at = Terminal([STORMLOG, *arguments], columns=columns, env=env, cwd=cwd)
    code = at.finish()
    tap.true(code in codes, f"exit code {code} of {arguments}: {at.text('stderr')}")
    return at.text("stdout")


def plain(text):
    return CODES.sub("", text)


def is_where(lines, i):
    return lines[i].startswith("  where ")


def check_width(text, columns, what, excused=lambda lines, i: False):
    lines = plain(text).splitlines()
    for i, line in enumerate(lines):
        tap.true(len(line) <= columns or excused(lines, i), f"{what} at {columns}: {len(line)} columns: {line!r}")
    return max(map(len, lines), default=0)


@tap.test("analyze: no line is wider than the terminal, except the path of a finding; a wide terminal is filled")
def _():
    tap.needs("gzip")
    for columns in WIDTHS:
        widest = 0
        for path in [*H200, CLOSED]:
            for options in ([], ["--explain"], ["-g", "stack"]):
                text = at_terminal(columns, "analyze", path, *options)
                widest = max(widest, check_width(text, columns, f"{path.name} {options}", is_where))
        tap.true(widest > columns * 0.9, f"{widest} of {columns} columns are used")


def rank_files(folder):
    """Telemetry of three ranks of four; the second one grows first."""
    base = json.loads((ROOT / "tests" / "data" / "peer" / "baseline" / "events.json").read_text())[0]
    paths = []
    for rank, last in enumerate((1, 2, 1)):
        sizes = [1 << 30, 1 << 30, last << 30, 2 << 30]
        rows = [{**base, "event_type": "sample", "rank": rank, "local_rank": rank, "world_size": 4, "device_used_bytes": used,
                 "device_free_bytes": None, "timestamp_ns": 1700000000000000000 + i * 100000000} for i, used in enumerate(sizes)]
        paths.append(Path(folder) / f"rank{rank}.json")
        paths[-1].write_text(json.dumps(rows))
    return paths


@tap.test("no line of diff, check, runs, info, fsck, ranks and help is wider than the terminal")
def _(folder):
    tap.needs("gzip")
    run = Path(folder) / "stormlog-runs" / "20261115T120000Z-a_rather_long_name"
    run.mkdir(parents=True)
    shutil.copy(CLOSED, run)
    ranks = rank_files(folder)
    for columns in WIDTHS:
        check_width(at_terminal(columns, "diff", H200[0], H200[1]), columns, "diff")
        check_width(at_terminal(columns, "check", LEAK, "--max-peak", "1MiB", "--no-leak", codes=(1,)), columns, "check")
        check_width(at_terminal(columns, "runs", cwd=folder), columns, "runs")
        check_width(at_terminal(columns, "info"), columns, "info")
        check_width(at_terminal(columns, "fsck", CLOSED), columns, "fsck", lambda lines, i: lines[i].startswith("recording "))
        check_width(at_terminal(columns, "ranks", *ranks), columns, "ranks")
        check_width(at_terminal(columns, "--help"), columns, "--help")
        for name in commands():
            text = at_terminal(columns, name, "--help").split("\nexamples:\n")[0]  # commands to copy keep their lines
            check_width(text, columns, f"{name} --help")


@tap.test("without a terminal the width is 80 columns, or COLUMNS within limits")
def _():
    def widest(env):
        own = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        done = tap.run([STORMLOG, "analyze", LEAK], env={**own, **env})
        return done.stdout, max(map(len, done.stdout.splitlines()))
    text, width = widest({})
    tap.true(60 < width <= 80, f"{width} columns in a pipe")
    for value in ("80", "x", "", "-5", "80x"):
        tap.equal(widest({"COLUMNS": value})[0], text, f"COLUMNS={value!r}")
    tap.equal(widest({"COLUMNS": "10"})[0], widest({"COLUMNS": "40"})[0], "the least")
    tap.equal(widest({"COLUMNS": "9999999999999999999999"})[0], widest({"COLUMNS": "200"})[0], "the most")
    tap.true(widest({"COLUMNS": "120"})[1] > 80, "wider")
    tap.equal(plain(at_terminal(200, "analyze", LEAK, env={"COLUMNS": "80"})), text, "COLUMNS wins over the terminal")
    tap.equal(plain(at_terminal(80, "analyze", LEAK)), text, "a terminal of 80 columns says the same as a pipe")


def with_path(folder, path):
    """The snapshot with the user's file somewhere else."""
    with gzip.open(LEAK, "rb") as file:
        snapshot = pickle.load(file)

    def replace(value):
        if isinstance(value, dict):
            return {key: replace(item) for key, item in value.items()}
        if isinstance(value, list):
            return [replace(item) for item in value]
        return path if isinstance(value, str) and value.endswith("s1_loss_history.py") else value

    out = Path(folder) / "snapshot.pickle"
    with open(out, "wb") as file:
        pickle.dump(replace(snapshot), file)
    return out


@tap.test("the path of a finding is complete and on one line at every width, even with spaces")
def _(folder):
    path = "/home/me/a folder with spaces/" + "deep/" * 30 + "train.py"
    file = with_path(folder, path)
    for columns in WIDTHS:
        lines = plain(at_terminal(columns, "analyze", file)).splitlines()
        where = [line for line in lines if line.startswith("  where ")]
        tap.true(where != [], "a finding with a line")
        for line in where:
            tap.true(re.fullmatch(re.escape(f"  where       {path}:") + r"\d+( in \S+)?", line), f"at {columns}: {line!r}")
        after = lines[lines.index(where[0]) + 1]
        tap.true(" in " in where[0] or after.startswith("              in "), f"the function at {columns}: {after!r}")
        check_width("\n".join(lines), columns, "long path", is_where)


@tap.test("file:line is a link to the file on a terminal, and plain text elsewhere")
def _(folder):
    path = "/home/me/a b/trän.py"
    file = with_path(folder, path)
    url = f"file://{socket.gethostname()}/home/me/a%20b/tr%C3%A4n.py#"
    for columns in WIDTHS:
        found = LINK.findall(at_terminal(columns, "analyze", file))
        tap.true(any(link.startswith(url) and link[len(url):].isdigit() for link in found), f"links at {columns}: {found[:4]}")
        tap.equal(found[1::2], [""] * (len(found) // 2), "every link ends")
        tap.true(all(re.fullmatch(r"[!-~]*", link) for link in found), "only plain characters")
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
        text = at_terminal(80, "analyze", file, env=env)
        tap.true("\x1b" not in text, f"no code at all with {env}")
    tap.true("\x1b" not in tap.run([STORMLOG, "analyze", file]).stdout, "none in a pipe")
    out = Path(folder) / "out.txt"
    at_terminal(80, "analyze", file, "-o", out)
    tap.true("\x1b" not in out.read_text(), "none in a file")
    settings = Path(folder) / "home" / "stormlog"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text("[output]\nlinks = false\n")
    text = at_terminal(80, "analyze", file, env={"XDG_CONFIG_HOME": str(settings.parent), "STORMLOG_SETTINGS": ""})
    tap.true("\x1b]8" not in text and "\x1b[" in text, "output.links = false: colours stay")


tap.main()
