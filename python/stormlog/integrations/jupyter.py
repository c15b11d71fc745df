# SPDX-License-Identifier: MIT
"""IPython and Jupyter: ``%load_ext stormlog``, then ``%%memory`` at the top of a cell, or ``%memory statement``.

    %%memory                     the verdict, the peak and the lines that held it
    %%memory --page              the whole page in the cell
    %%memory -o NAME             and the result as a variable: NAME.report, NAME.path, NAME.page()
"""

from __future__ import annotations

import shlex
import sys
from typing import Any, List, Optional, Tuple

from ..recording import health, record
from ._evidence import Evidence, Page

_USAGE = "usage: %%memory [--page] [-o NAME]"


def _split(line: str) -> Tuple[bool, Optional[str], str]:
    """(page, name, the rest of the line)"""
    words: List[str] = line.split(" ")
    page, name = False, None
    while words and (not words[0] or words[0].startswith("-")):
        word = words.pop(0)
        if word == "--page":
            page = True
        elif word == "-o" and words and words[0].isidentifier():
            name = words.pop(0)
        elif word:
            raise ValueError(f"unknown option {shlex.quote(word)}; {_USAGE}")
    return page, name, " ".join(words)


def _measure(shell: Any, code: str) -> Optional[Evidence]:
    """Records while the code runs, in a file of its own; None when nothing was allocated."""
    if health()["is_on"]:
        raise RuntimeError("this process is recorded already (stormlog run or stormlog.record()): stormlog.analyze() reports on it")
    with record(modules=True) as recording:
        shell.run_cell(code)  # shows the error of a cell that fails
        path = recording.path
    return Evidence(path) if path else None


def memory(line: str, cell: Optional[str] = None) -> Any:
    from IPython import get_ipython
    from IPython.display import display

    shell = get_ipython()
    page, name, rest = _split(line)
    if cell is not None and rest.strip():
        raise ValueError(f"unknown argument {shlex.quote(rest.strip())}; {_USAGE}")
    evidence = _measure(shell, rest if cell is None else cell)
    if name is not None:
        shell.user_ns[name] = evidence
    if evidence is None:
        sys.stderr.write("stormlog: no allocation of PyTorch was seen\n")
    else:
        display(  # type: ignore[no-untyped-call, unused-ignore]
            Page(evidence.page()) if page else evidence)


def load_ipython_extension(shell: Any) -> None:
    shell.register_magic_function(memory, magic_kind="line_cell", magic_name="memory")


def unload_ipython_extension(shell: Any) -> None:
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("memory", None)
