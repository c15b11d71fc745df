# SPDX-License-Identifier: MIT
"""Acting as another user of the machine, and checking who may read a file."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import tap

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def need_other_user():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        tap.skip("another user can only be played by root")


def as_nobody(script):
    subprocess.run([*AS_NOBODY, "sh", "-c", script], check=True)


def shared_place(folder):
    """A folder with the mode of /tmp; skips if the test cannot act as another user."""
    need_other_user()
    os.chmod(folder, 0o755)
    place = Path(folder) / "tmp"
    place.mkdir()
    os.chmod(place, 0o1777)
    return place


def mode(path):
    return oct(stat.S_IMODE(os.lstat(path).st_mode))
