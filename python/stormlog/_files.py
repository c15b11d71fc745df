# SPDX-License-Identifier: MIT
"""Files that appear whole or not at all, and where this package's own binaries lie."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, List, Optional, Union

_PACKAGE = Path(__file__).resolve().parent


def write_text_whole(path: Union[str, "os.PathLike[str]"], text: str) -> None:
    """Writes beside the place, syncs, renames. Makes the folder."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def write_json_whole(path: Union[str, "os.PathLike[str]"], value: Any) -> None:
    """JSON with an indent of 2; what JSON does not know becomes its str()."""
    write_text_whole(path, json.dumps(value, indent=2, default=str))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _places(name: str, folder: str) -> List[Path]:
    """Wheel, build folder, `make install` below a prefix."""
    return [_PACKAGE / "_bin" / name, _PACKAGE.parents[1] / name, _PACKAGE.parents[2].parent / folder / name]


def find_library() -> Optional[Path]:
    """libstormlog_record.so, or None."""
    return next((path for path in _places("libstormlog_record.so", "lib") if path.is_file()), None)


def find_program(name: str) -> Optional[Path]:
    """The C program under one of its names, or None. A console script of the same name on PATH is not it."""
    for path in _places(name, "bin"):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    found = shutil.which(name)
    if found and not _is_script(found) and Path(found).resolve() != Path(sys.argv[0]).resolve():
        return Path(found)
    return None


def _is_script(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"
