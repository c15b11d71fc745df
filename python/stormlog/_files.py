# SPDX-License-Identifier: MIT
"""Files that appear whole or not at all, and where this package's own binaries are."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any, BinaryIO, Callable, Dict, Iterable, List, Optional, Tuple, Union

_PACKAGE = Path(__file__).resolve().parent


_fallback: Dict[int, Path] = {}  # by process: a child of fork() has its own
_SHARE_ENV = "STORMLOG_SHARE"
_NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def is_shared() -> bool:
    """Whether other users may read recordings, evidence and bundles. They hold command lines and source paths, so they are
    private unless STORMLOG_SHARE is set."""
    return os.environ.get(_SHARE_ENV, "") not in ("", "0")


def private_file_mode() -> int:
    """0600, or 0644 when shared. The kernel applies the umask, which this package never changes: it belongs to the process."""
    return 0o644 if is_shared() else 0o600


def private_folder_mode() -> int:
    return 0o755 if is_shared() else 0o700


def create_file(path: Union[str, "os.PathLike[str]"], flags: int, mode: int) -> int:
    """A new file's descriptor. FileExistsError when anything of this name exists, even a broken link."""
    return os.open(path, flags | _NEW, mode)


def open_beside(target: Path, mode: int = 0o666) -> Tuple[BinaryIO, Path]:
    """A new file for writing, with a name nobody can guess, in the folder of the target that it will replace."""
    while True:
        path = target.with_name(f".{target.name[:200]}.tmp-{secrets.token_hex(6)}")
        try:
            return os.fdopen(create_file(path, os.O_WRONLY, mode), "wb"), path
        except FileExistsError:
            continue


def write_bytes_whole(path: Union[str, "os.PathLike[str]"], write: Callable[[BinaryIO], Any], mode: int = 0o666) -> None:
    """Calls ``write`` with a temporary file in the target's folder, syncs, renames. A link at the target is replaced, never
    followed."""
    target = Path(path)
    file, temporary = open_beside(target, mode)
    try:
        with file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def write_text_whole(path: Union[str, "os.PathLike[str]"], text: str, mode: int = 0o666) -> None:
    """Writes a temporary file in the target's folder, syncs, renames. Makes the folder."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_bytes_whole(path, lambda file: file.write(text.encode("utf-8")), mode)


def own_temporary_folder() -> Path:
    """A folder below the system's temporary one that only this user can write. Its name is always the same, so that the
    evidence of a killed process can be found; if another user made it (everybody may write /tmp), or it is a link or open to
    others, a folder with a random name is used."""
    path = Path(tempfile.gettempdir()) / f"stormlog-{os.geteuid()}"
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        pass
    found = path.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022:
        return path
    if os.getpid() not in _fallback:
        _fallback[os.getpid()] = Path(tempfile.mkdtemp(prefix=f"{path.name}-"))
    return _fallback[os.getpid()]


def remove_temporary(paths: Iterable[Path]) -> None:
    """Removes files of own_temporary_folder(), and the folder when its name was random: nobody else writes there."""
    for path in paths:
        path.unlink(missing_ok=True)
    try:
        if os.getpid() in _fallback:
            _fallback[os.getpid()].rmdir()
    except OSError:
        pass


def write_json_whole(path: Union[str, "os.PathLike[str]"], value: Any, mode: int = 0o666) -> None:
    """JSON with an indent of 2; values that JSON cannot express become their str()."""
    write_text_whole(path, json.dumps(value, indent=2, default=str), mode)


def _places(name: str, folder: str) -> List[Path]:
    """The paths to try: wheel, build folder, `make install` below a prefix."""
    return [_PACKAGE / "_bin" / name, _PACKAGE.parents[1] / name, _PACKAGE.parents[2].parent / folder / name]


def find_library() -> Optional[Path]:
    """libstormlog_record.so, or None."""
    return next((path for path in _places("libstormlog_record.so", "lib") if path.is_file()), None)


def find_program() -> Optional[Path]:
    """The C program, or None. Never a console script of the same name on PATH."""
    for path in _places("stormlog", "bin"):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    found = shutil.which("stormlog")
    if found and not _is_script(found) and Path(found).resolve() != Path(sys.argv[0]).resolve():
        return Path(found)
    return None


def _is_script(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"
