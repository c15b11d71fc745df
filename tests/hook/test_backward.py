# SPDX-License-Identifier: MIT
"""Backward allocations get the line of their forward operator. Arguments: the program, the folder of the fakes."""

import os
import platform
import sys

import slog_totals
import tap

stormlog, fakes = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "backward_program.py")


def record(folder, threads):
    if platform.machine() != "x86_64":
        tap.skip("torch's function cannot be called from C on this processor")
    out = os.path.join(folder, "run")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STORMLOG_")}
    result = tap.run([stormlog, "run", "-q", "-o", out, "--", "/usr/bin/python3", PROGRAM, fakes,
                      threads], env={**clean, "LD_LIBRARY_PATH": fakes})
    tap.equal((result.returncode, result.stdout), (0, "[1, 1, 1, 1, 1]\n"), f"references of the nodes; {result.stderr}")
    return slog_totals.load_all(out)[0]


@tap.test("by the node's number, or the nearest earlier one, which is said")
def _(folder):
    totals = record(folder, "1")
    found = {site.alloc_bytes: [frame[0] for frame in site.stack][:3] for site in totals.sites}
    tap.equal(found, {
        512: ["allocate", "first_layer", "<module>"],
        1024: ["allocate", "second_layer", "<module>"],
        2048: ["<backward>", "allocate", "second_layer"],
        4096: ["<backward, nearest forward operator>", "allocate", "first_layer"],
        8192: ["<backward>", "allocate", "first_layer"],
        16384 + 32768: [],
    })
    tap.equal(totals.counters[("backward_bytes", -1)][0], 2048 + 4096 + 8192 + 16384, "bytes of the backward pass")
    tap.equal(totals.counters[("backward_mapped_bytes", -1)][0], 2048 + 4096 + 8192, "the part with a line")


@tap.test("with two forward threads nothing is mapped: their numbers would be mixed up")
def _(folder):
    totals = record(folder, "2")
    found = {site.alloc_bytes for site in totals.sites if site.stack}
    tap.true(not found & {2048, 4096, 8192}, f"sites with a stack: {found}")


tap.main()
