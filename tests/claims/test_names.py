# SPDX-License-Identifier: MIT
"""What README.md and the documents name is there: links, files, options, targets of make, variables, fields of JSON, figures.

Argument: the build folder."""

import functools
import json
import re
import subprocess

import tap
from pages import PAGES, ROOT, STORMLOG, codes, prose

DATA = ROOT / "tests" / "data"
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
GENERATED = {"CHANGELOG.md"}  # what was there when it was written
# Options of other programs that the documents name.
FOREIGN_OPTIONS = {"--no-build-isolation", "--wheel", "--no-isolation", "--headless", "--screenshot", "--nproc-per-node", "--suite",
                   "--exclude-suite", "--update", "--out", "--dir", "--speed", "--list", "--version", "--help", "--gpus"}


def pages():
    return [page for page in PAGES if page.name not in GENERATED]


def name_of(page):
    return page.relative_to(ROOT)


# --- Links -----------------------------------------------------------------------------------------------------------

def anchors(page):
    """The names that a heading gets."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.replace("`", "").lower()).strip().replace(" ", "-") for head in heads}


@tap.test("every link has a target that exists")
def _():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
            if re.match(r"https?:", target):
                continue
            path, _, anchor = target.partition("#")
            there = (page.parent / path).resolve() if path else page
            tap.true(there.exists(), f"{name_of(page)}: {target}")
            if anchor:
                tap.true(anchor in anchors(there), f"{name_of(page)}: {target}; there are {sorted(anchors(there))}")


# --- Files -----------------------------------------------------------------------------------------------------------

@tap.test("files that are named exist in this repository")
def _():
    if not TRACKED:
        tap.skip("this is not a git checkout")
    tops = {path.split("/")[0] for path in TRACKED if "/" in path} - {"build"}
    for page in pages():
        for code in codes(page):
            if re.fullmatch(r"[\w.-]+(/[\w.*-]+)+/?", code) and code.split("/")[0] in tops:
                tap.true(any(ROOT.glob(code.rstrip("/"))), f"{name_of(page)} names {code}")


@tap.test("make targets that are named exist")
def _():
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    known |= {f"bench-{path.parent.name}" for path in ROOT.glob("bench/*/run.sh")} | {"check-torch2"}
    for page in pages():
        for code in codes(page):
            for target in re.findall(r"(?:^|[ =…])make ([a-z][\w-]*)", code):
                tap.true(target in known or target == "bench-", f"{name_of(page)}: make {target}")


@tap.test("environment variables that are named are read by the code")
def _():
    if not TRACKED:
        tap.skip("this is not a git checkout")
    sources = "".join((ROOT / path).read_text(errors="replace") for path in TRACKED
                      if path.split("/")[0] in ("src", "python", "bench", "tools", "tests", "setup.py", "include")
                      and path.endswith((".c", ".h", ".py", ".sh", ".mjs")))
    for page in pages():
        for code in codes(page):
            for variable in re.findall(r"\bSTORMLOG_[A-Z_]+", code):
                tap.true(variable in sources, f"{name_of(page)}: {variable}")


# --- Commands and options --------------------------------------------------------------------------------------------

def help_of(program, *words):
    done = tap.run([STORMLOG.parent / program, *words, "--help"])
    return done.stdout if done.returncode == 0 else None


@functools.cache
def options_of(program, command):
    text = help_of(program, command)
    return None if text is None else set(re.findall(r"--[a-z][a-z-]*", text))


@functools.cache
def commands_of(program):
    listing = help_of(program).split("\ncommands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listing.splitlines() if line[2] != " "]


@tap.test("commands that are named exist and have the options shown with them")
def _():
    for page in pages():
        for code in codes(page):
            if page.name == "troubleshooting.md" and "…" in code:
                continue  # a message, which test_messages.py compares with the sources
            for program, command, rest in re.findall(r"(?<![\w/])(stormlog|gpumemprof|tfmemprof) ([a-z]+)\b([^|;]*)", code):
                options = options_of(program, command)
                tap.true(options is not None, f"{name_of(page)}: `{code}`: there is no command '{command}'")
                for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", rest.split(" -- ")[0]):
                    tap.true(option in options, f"{name_of(page)}: `{code}`: {command} has no {option}")


@tap.test("an option that is named without a command is an option of some command")
def _():
    known = set(FOREIGN_OPTIONS)
    for program in ("stormlog", "gpumemprof", "tfmemprof"):
        for command in commands_of(program):
            known |= options_of(program, command)
    for page in pages():
        for code in codes(page):
            if code.startswith("--"):
                option = re.match(r"--[a-z][a-z-]*", code)
                negated = option and option[0].replace("--no-", "--", 1) in known
                tap.true(not option or option[0] in known or negated, f"{name_of(page)}: {code}")


# --- Fields of JSON --------------------------------------------------------------------------------------------------

def keys(value):
    """Every key of every object in it."""
    if isinstance(value, dict):
        return set(value) | set().union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def output(*arguments):
    done = tap.run([STORMLOG, *map(str, arguments)])
    tap.true(done.returncode in (0, 1), f"{arguments}: {done.stderr}")
    return json.loads(done.stdout)


@functools.cache
def keys_of_reports():
    h200, slog = DATA / "h200", DATA / "slog"
    inputs = [h200 / "s1_loss_history.pickle.gz", h200 / "s5_oom.pickle.gz", *sorted(slog.glob("*.slog.xz"))]
    found = set()
    for path in inputs:
        found |= keys(output("analyze", path, "--format", "json"))
    return found


def keys_of_schema(schema):
    """The fields that a schema names; tests hold real outputs against it."""
    own = set(schema.get("properties", {})) if isinstance(schema, dict) else set()
    return own.union(*(keys_of_schema(v) for v in (schema.values() if isinstance(schema, dict) else ()) if isinstance(v, dict)))


@functools.cache
def keys_of_others():
    first, second = DATA / "h200" / "s1_loss_history.pickle.gz", DATA / "h200" / "s4_fixed.pickle.gz"
    oom = DATA / "slog" / "oom.slog.xz"
    found = keys(output("diff", first, second, "--format", "json")) | keys(output("check", first, "--no-leak", "--format", "json"))
    found |= keys(output("export", second, "--to", "events-json")) | keys(output("top", oom, "--format", "json"))
    # What top shows of a process that runs, and the lines of alerts.jsonl: tests/cli/test_top.py has real ones.
    found |= keys_of_schema(json.loads((ROOT / "docs/schemas/top-1.json").read_text())) | {"kind", "time_s", "recording"}
    with tap.tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/20261115T120000Z-train"
        subprocess.run(["bash", "-c", f"mkdir {run}; xz -dc '{oom}' > {run}/python3-1.slog"], check=True)
        return found | keys(output("runs", "--dir", folder, "--format", "json"))


def need_xz():
    if not re.search(r"^liblzma +yes", tap.run([STORMLOG, "info"]).stdout, re.MULTILINE):
        tap.skip("built without liblzma")


def first_column(text):
    """The names in the first column of its tables."""
    cells = re.findall(r"^\| (`[^|]+`) \|", text, re.MULTILINE)
    return [name.removesuffix("[]").split(".")[-1].removesuffix("[]") for cell in cells for name in re.findall(r"`([\w.\[\]]+)`", cell)]


# Values, not fields, that the tables list in their first column: kinds of rows in the ledger.
VALUES = {"tensors", "cache", "library", "context", "driver", "rest"}


@tap.test("docs/report.md lists exactly the fields that reports have")
def _():
    need_xz()
    text = (ROOT / "docs" / "report.md").read_text()
    listed = set(first_column(text)) - VALUES
    tap.true(len(listed) > 50, f"fields were found: {len(listed)}")
    tap.equal(sorted(listed - keys_of_reports()), [], "listed, but in no report")
    named = set(re.findall(r"\b[a-z][a-z_0-9]+\b", " ".join(re.findall(r"`([^`]+)`", text))))
    tap.equal(sorted(keys_of_reports() - named), [], "in a report, but nowhere in docs/report.md")


@tap.test("docs/report.md lists the fields of the other outputs")
def _():
    need_xz()
    text = (ROOT / "docs" / "report.md").read_text()
    other = text.split("## Other outputs")[1]
    said = set(re.findall(r"`([a-z_]+)(?:\[\])?`", other))
    values = {"finished", "running", "unclear", "empty", "broken", "forward", "backward", "optimizer", "outside", "null", "fits",
              "card", "tensors", "pool"}  # the last one is a field, of traces of a PyTorch that tells the pool of an event
    tap.equal(sorted(said - values - keys_of_others() - keys_of_reports()), [], "named, but in no output")


@tap.test("docs/whatif.md lists exactly the fields that answers have")
def _():
    text = (ROOT / "docs" / "whatif.md").read_text().split("## JSON")[1]
    found = keys(output("whatif", "--quick", "--format", "json", DATA / "h200" / "s5_oom.pickle.gz"))
    found |= keys(output("whatif", "--format", "json", DATA / "corpus" / "c25_oom_other_process.pickle.gz"))
    found |= keys(output("whatif", "--format", "json", DATA / "h200" / "s3_baseline.pickle.gz"))
    small, large = (DATA / "whatif" / f"batch-big_lstm-{size}.pickle.gz" for size in (16, 32))
    found |= keys(output("whatif", "--batch", f"16={small}", "--batch", f"32={large}", "--at", 64, "--card", "4GiB", "--format", "json"))
    listed = set(first_column(text))
    tap.true(len(listed) > 30, f"fields were found: {len(listed)}")
    tap.equal(sorted(listed - found), [], "listed, but in no answer")
    named = set(re.findall(r"[a-z][a-z_0-9]+", " ".join(re.findall(r"`([^`]+)`", text))))
    stack = {"file", "line", "function", "stack", "label"}  # of a site: docs/report.md
    tap.equal(sorted(found - named - stack - {"generator"}), [], "in an answer, but nowhere in docs/whatif.md")


# --- Figures ---------------------------------------------------------------------------------------------------------

@tap.test("README.md: each figure in the comparison is in the document its row links to")
def _():
    section = (ROOT / "README.md").read_text().split("## Compared with")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and "](docs/" in line]
    tap.true(len(rows) >= 6, "rows with a document")
    for row in rows:
        document = (ROOT / re.search(r"\]\((docs/[\w.-]+)\)", row)[1]).read_text()
        cells = " ".join(row.split(" | ")[:3])
        for figure in re.findall(r"[+-]?\d[\d.,]*\d(?: %)?|\d+ [kM]\b", re.sub(r"[HA]\d+", "", cells)):
            tap.true(figure in document, f"{figure} of: {row}")


@tap.test("README.md: figures are only in transcripts and in the comparison table")
def _():
    text = prose(ROOT / "README.md")
    table = text.split("## Compared with")[1].split("\n## ")[0]
    rest = re.sub(r"`[^`]*`|\([^)]*\)|H200|Debian 12|60 seconds|\b200 steps|code is 1", "", text.replace(table, ""))
    tap.equal(re.findall(r"\d[\d.,]*", rest), [], "figures")


tap.main()
