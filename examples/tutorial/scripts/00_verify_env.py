# SPDX-License-Identifier: MIT
"""Step 0: is everything here that the other scripts need?"""

import shutil
import sys


def main():
    if sys.version_info < (3, 9):
        return f"Python 3.9 or newer is needed, this is {sys.version.split()[0]}"
    try:
        import torch
    except ImportError:
        return "PyTorch is missing: pip install 'torch>=2.2', or apt install python3-torch"
    try:
        from stormlog import MemoryTracker  # noqa: F401
    except ImportError as error:
        return f"stormlog is missing ({error}): pip install ../.. here, or PYTHONPATH=../../build/python after `make`"
    for program in ("stormlog", "gpumemprof"):
        if shutil.which(program) is None:
            return f"'{program}' is not on PATH: pip install ../.. here, or PATH=../../build:$PATH after `make`"
    from training_job import job_for, pick_device

    device = pick_device()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    print(f"Python {sys.version.split()[0]}, PyTorch {torch.__version__}, device {device} ({name})")
    print(f"stormlog {shutil.which('stormlog')}; the job: {job_for(device)}")
    return None


problem = main()
if problem:
    sys.exit(f"not ready: {problem}")
