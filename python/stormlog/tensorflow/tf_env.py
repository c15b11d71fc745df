# SPDX-License-Identifier: MIT
"""What TensorFlow reads from the environment when it is imported."""

from __future__ import annotations

import os


def configure_tensorflow_logging() -> None:
    """Hides TensorFlow's informational messages, unless the user has set a level."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
