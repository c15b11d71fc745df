# SPDX-License-Identifier: MIT
"""What must hold on a machine with a real device, before anything is recorded. Argument: the program."""

import os
import sys

import tap

stormlog = sys.argv.pop(1)


@tap.test("stormlog info runs on a machine with a device")
def _():
    if not os.path.exists("/dev/nvidia0"):
        tap.skip("no /dev/nvidia0 on this machine")
    result = tap.run([stormlog, "info"])
    tap.equal(result.returncode, 0, "exit code of 'stormlog info'")
    tap.equal(result.stderr, "", "stderr")


tap.main()
