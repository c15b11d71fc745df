# SPDX-License-Identifier: MIT
from __future__ import annotations

from . import run_app

if __name__ == "__main__":
    run_app()
