# SPDX-License-Identifier: MIT
"""Texts of the program: a count agrees with its noun, and no message is longer than three lines of 80 columns."""

import re
import subprocess
from pathlib import Path

import tap

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / name for name in subprocess.run(["git", "ls-files", "src/*.c", "src/*.h"], cwd=ROOT, capture_output=True,
                                                text=True).stdout.split()]

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
BETWEEN = re.compile(r"(\s|PRI\w+|\\)*")
# A number, then a plural that does not depend on it. `%s` may be sl_human_count().
COUNT = r"(?:%(?:zu|u|d|lld|llu|lu|ld|i)?|%s)"
NOUNS = ("allocations alerts blocks calls cards children commands devices events failures files findings frees functions gates inputs "
         "lines marks operations parts pieces processes ranks records recordings replays requests retries rows runs samples sections "
         "segments settings sites slots stacks steps stretches suspects threads times").split()
PLURAL = re.compile(rf"{COUNT} (?:more |other |older |live |damaged |bad |failed )?(?:{'|'.join(NOUNS)})\b")
# Where one is impossible, or the noun belongs to the larger of two numbers ("1 of 3 steps").
ALWAYS_SEVERAL = [
    "%zu recordings",  # named one by one, from two on
    "%zu inputs",
    "of % blocks",  # a build-up has many
    "allocated % blocks in a row",
    "%zu of %zu",
    "of %llu events",
    "of % parts",
    "%u replays",  # 16, unless the setting is certain
    "more than %",
    "at most %",
    "a world of %d ranks",
    "%zu processes, name",  # several, from two on
    "Passed: all %zu gates",  # one has its own sentence
    "of %s allocations",  # of thousands
    "allocates % times",  # in training runs
    "and % times with",
    "expected %llu records",  # of a damaged file
    "over %zu calls",  # at least min_calls_for_analysis
    "% events of this run",  # at a limit of millions
    "the trace has %zu events",
]
CALL = re.compile(r"\b(sl_\w+)\s*\(")
MESSAGES = re.compile(r"sl_fail\w*|sl_cli_complain|sl_error_prefix|sl_record_complain|sl_trace_note")
LINES, COLUMNS = 3, 80
# What a conversion takes on the screen: paths and names are the user's own and do not count.
WIDTH = {"s": 16, "u": 6, "d": 6, "x": 6, "g": 6, "f": 6, "c": 1, "zu": 6}


def literals(text):
    """(position, joined text) of every literal; a format's PRIu64 is left out, so that "%" PRIu64 " blocks" is "% blocks"."""
    found = []
    for match in TOKEN.finditer(text):
        token = match.group()
        if token[0] != '"':
            continue
        if found and BETWEEN.fullmatch(text, found[-1][2], match.start()):
            found[-1][1] += token[1:-1]
            found[-1][2] = match.end()
        else:
            found.append([match.start(), token[1:-1], match.end()])
    return [(start, literal) for start, literal, _ in found]


def callee(text, at):
    """The function of our own that the literal at this position is an argument of; "" = another one."""
    calls = [match for match in CALL.finditer(text, max(0, at - 2000), at)]
    return calls[-1][1] if calls and ";" not in TOKEN.sub("", text[calls[-1].end():at]) else ""


def place(path, text, at):
    return f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, at) + 1}"


def shown_width(literal):
    """Columns of a message with short names and numbers in it."""
    plain = re.sub(r"%[-+ 0#.*\d]*(?:ll|l|z|h)?([a-zA-Z%])?", lambda m: "" if m[1] == "%" else "x" * WIDTH.get(m[1] or "u", 8), literal)
    return len(re.sub(r"\\.", "x", plain))


@tap.test("a count agrees with its noun: the text uses sl_plural, or its number is never 1")
def _():
    wrong = []
    for path in FILES:
        text = path.read_text()
        for at, literal in literals(text):
            if callee(text, at) == "sl_fail_no_memory":  # nobody runs out of memory for one record
                continue
            if re.search(r"%\w* \w+\(s\)", literal):
                wrong.append(f"{place(path, text, at)}: {literal!r}")
            for match in PLURAL.finditer(literal):
                near = literal[max(0, match.start() - 24):match.end() + 24]
                if not any(phrase in near for phrase in ALWAYS_SEVERAL):
                    wrong.append(f"{place(path, text, at)}: {near!r}")
    tap.equal(wrong, [], "texts that say \"1 steps\"")


@tap.test("no message is longer than three lines")
def _():
    wrong = []
    for path in FILES:
        text = path.read_text()
        for at, literal in literals(text):
            if shown_width(literal) > LINES * COLUMNS and MESSAGES.fullmatch(callee(text, at)):
                wrong.append(f"{place(path, text, at)}: {shown_width(literal)} columns: {literal!r}")
    tap.equal(wrong, [], "messages that are too long")


tap.main()
