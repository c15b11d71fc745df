# SPDX-License-Identifier: MIT
"""IPython and Jupyter: ``%load_ext stormlog``, then ``%%memory`` at the top of a cell, or ``%memory statement``.

    %%memory                     the verdict, the peak and the lines that held it
    %%memory --page              the whole page in the cell
    %%memory -o NAME             and the result as a variable: NAME.report, NAME.path, NAME.page()

Lines of cells are shown as ``In[3]:2``: line 2 of the cell with the number 3, counted with the line of ``%%memory`` itself.
"""

from __future__ import annotations

import html
import shlex
import sys
from types import FrameType
from typing import Any, Callable, Dict, List, Optional, Tuple

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


class CellEvidence(Evidence):
    """The names of the files that IPython makes up for cells (/tmp/ipykernel_812/2941.py) mean nothing to a reader; their numbers do."""

    def __init__(self, path: str, cells: Dict[str, int]) -> None:
        super().__init__(path)
        self._cells = cells

    def _with_cells(self, text: str, quote: Callable[[str], str] = str) -> str:
        for name, number in self._cells.items():
            text = text.replace(quote(f"{name}:"), f"In[{number}]:")
        return text

    def __repr__(self) -> str:
        return self._with_cells(super().__repr__())

    def _repr_html_(self) -> str:
        return self._with_cells(super()._repr_html_(), html.escape)


def _cells(shell: Any) -> Dict[str, int]:
    """The number of each cell by the name of its file."""
    return dict(getattr(shell.compile, "_filename_map", {}))


def _number_here(cells: Dict[str, int]) -> int:
    """Of the cell that is running. IPython 9 counts on while it runs, so that code run from it would have the next cell's number."""
    frame: Optional[FrameType] = sys._getframe()
    while frame is not None and frame.f_code.co_filename not in cells:
        frame = frame.f_back
    return cells[frame.f_code.co_filename] if frame is not None else 0


def _measure(shell: Any, code: str) -> Optional[CellEvidence]:
    """Records while the code runs, in a file of its own; None when nothing was allocated."""
    if health()["is_on"]:
        raise RuntimeError("this process is recorded already (stormlog run or stormlog.record()): stormlog.analyze() reports on it")
    before = _cells(shell)
    here = _number_here(before)
    with record(modules=True) as recording:
        shell.run_cell(code)  # shows the error of a cell that fails
        path = recording.path
    cells = {name: number if before.get(name) == number else here or number for name, number in _cells(shell).items()}
    return CellEvidence(path, cells) if path else None


def memory(line: str, cell: Optional[str] = None) -> Any:
    from IPython import get_ipython
    from IPython.display import display

    shell = get_ipython()
    page, name, rest = _split(line)
    if cell is not None and rest.strip():
        raise ValueError(f"unknown argument {shlex.quote(rest.strip())}; {_USAGE}")
    # The comment is where the line of the magic was, so that numbers of lines are those that the reader sees. Magics of cells
    # can be first only.
    evidence = _measure(shell, rest if cell is None else cell if cell.lstrip().startswith("%%") else f"# %%memory\n{cell}")
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
