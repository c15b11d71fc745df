# SPDX-License-Identifier: MIT
"""tools/check_layers.py finds what it promises to find, on trees made for the purpose."""

import sys
from pathlib import Path

import tap

CHECK = Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"


def header(stem, *includes):
    lines = "".join(f"#include {target}\n" for target in includes)
    return f"#ifndef SL_{stem.upper()}_H\n#define SL_{stem.upper()}_H\n{lines}#endif\n"


def check(folder, files):
    """Returns the breaches in a tree of these files as one text."""
    for name, text in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    result = tap.run([sys.executable, str(CHECK), folder])
    breaches = result.stdout if result.returncode else ""
    tap.equal(result.stderr, "", "stderr")
    return breaches


@tap.test("a tree without breaches passes")
def _(folder):
    tap.equal(check(folder, {
        "src/base/core/status.h": header("status", "<stdint.h>"),
        "src/base/core/status.c": '#include "base/core/status.h"\n\n#include <stdio.h>\n',
        "src/model/event.h": header("event", '"base/core/status.h"', '"stormlog/version.h"'),
        "include/stormlog/version.h": header("version"),
    }), "", "breaches")


BREACHES = {
    # name: (files, part of the message)
    "an arrow upwards": (
        {"src/base/a.h": header("a", '"model/event.h"'), "src/model/event.h": header("event")},
        "base may include nothing; 'model/event.h' is not among them"),
    "an analysis that reads the clock": (
        {"src/analyze/an_x.c": "#include <time.h>\n"}, "facts and findings are pure"),
    "JSON inside the target": (
        {"src/record/r.c": '#include "base/text/json_out.h"\n', "src/base/text/json_out.h": header("json_out")},
        "text formats stay out"),
    "Python outside its folder": ({"src/cli/core/main.c": "#include <Python.h>\n"}, "may be included only by src/pyext"),
    "ncurses outside its file": ({"src/tui/cells.c": "#include <ncurses.h>\n"}, "may be included only by"),
    "its own header not first": (
        {"src/base/a.c": '#include <stdio.h>\n#include "base/a.h"\n', "src/base/a.h": header("a")},
        "the first include must be its own header 'base/a.h'"),
    "system headers after project headers": (
        {"src/base/b.c": '#include "base/a.h"\n#include <stdio.h>\n', "src/base/a.h": header("a")},
        "system headers come first"),
    "a wrong guard": ({"src/base/a.h": "#ifndef A_H\n#define A_H\n#endif\n"}, "expected the header guard SL_A_H, found A_H"),
    "an include without its folder": (
        {"src/base/a.c": '#include "b.h"\n', "src/base/b.h": header("b")}, "write the folder too"),
    "the same name twice": (
        {"src/base/a.c": "\n", "src/model/a.c": "\n"}, "a second file of this name; the first is src/base/a.c"),
    "a folder of too many files": (
        {f"src/base/f{i}.c": "\n" for i in range(27)}, "src/base: 27 files, at most 26"),
    "a name that says nothing": ({"src/base/utils.c": "\n"}, "the name 'utils' says nothing"),
    "a public header that needs a private one": (
        {"include/stormlog/a.h": header("a", '"base/b.h"')}, "a public header may not include 'base/b.h'"),
    "a folder nobody planned": (
        {"src/extra/a.c": '#include "extra/b.h"\n', "src/extra/b.h": header("b")}, "src/extra is not in the table"),
}


def add(name, files, message):
    @tap.test(f"finds {name}")
    def _(folder):
        tap.contains(check(folder, files), message, "breaches")


for breach, (its_files, its_message) in BREACHES.items():
    add(breach, its_files, its_message)

tap.main()
