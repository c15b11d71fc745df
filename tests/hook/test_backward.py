# SPDX-License-Identifier: MIT
"""Backward allocations get the line of their forward operator. Arguments: the program, the folder of the fakes."""

import json
import os
import platform
import sys

import slog_totals
import tap

stormlog, fakes = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "backward_program.py")
ACCUMULATION = "<backward, gradient accumulation after this operator>"


def record(folder, case):
    if platform.machine() != "x86_64":
        tap.skip("torch's function cannot be called from C on this processor")
    out = os.path.join(folder, "run")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STORMLOG_")}
    result = tap.run([stormlog, "run", "-q", "-o", out, "--", "/usr/bin/python3", PROGRAM, fakes, case],
                     env={**clean, "LD_LIBRARY_PATH": fakes})
    tap.equal((result.returncode, set(result.stdout.split())), (0, {"True"}), f"references of the nodes; {result.stderr}")
    return slog_totals.load_all(out)[0]


def by_size(totals, depth=3):
    """The innermost functions of each stack by the size of its blocks; sizes of one site are added up."""
    return {site.alloc_bytes: [frame[0] for frame in site.stack][:depth] for site in totals.sites if site.alloc_bytes >= 2048}


@tap.test("a backward allocation gets the line of its node, or of the nearest earlier operator, and a frame says which")
def _(folder):
    totals = record(folder, "numbers")
    found = {site.alloc_bytes: [frame[0] for frame in site.stack][:3] for site in totals.sites}
    tap.equal(found, {
        512: ["allocate", "first_layer", "<module>"],
        1024: ["allocate", "second_layer", "<module>"],
        2048: ["<backward>", "allocate", "second_layer"],
        4096: ["<backward, nearest forward operator>", "allocate", "first_layer"],
        8192: ["<backward>", "allocate", "first_layer"],
        16384 + 32768: [],
    })
    tap.equal(totals.counters[("backward_bytes", -1)][0], 2048 + 4096 + 8192 + 16384 + 32768, "bytes of the backward pass")
    tap.equal(totals.counters[("backward_mapped_bytes", -1)][0], 2048 + 4096 + 8192, "the part with a line")


@tap.test("node numbers count per thread: a node is looked up among those of the thread that created it")
def _(folder):
    tap.equal(by_size(record(folder, "threads")), {
        2048: ["<backward>", "allocate", "second_layer"],
        4096: ["<backward>", "allocate", "other_layer"],
        8192: [],
    })


@tap.test("a node of an unknown thread gets its line if there was only one forward thread")
def _(folder):
    tap.equal(by_size(record(folder, "strange thread")), {2048: ["<backward>", "allocate", "second_layer"]})


@tap.test("a node without a number accumulates a gradient and gets the line of the operator just before it")
def _(folder):
    tap.equal(by_size(record(folder, "accumulate")), {
        16384: [],
        2048: ["<backward>", "allocate", "second_layer"],
        4096: [ACCUMULATION, "allocate", "second_layer"],
        8192: ["<backward>", "allocate", "first_layer"],
        32768: [ACCUMULATION, "allocate", "first_layer"],
    })


@tap.test("an allocation without a forward line gets the line that called backward, and is marked so")
def _(folder):
    totals = record(folder, "called")
    tap.equal(by_size(totals, 4), {
        2048: ["<backward>", "allocate", "second_layer", "<module>"],
        4096 + 8192: ["<backward, called here>", "backward", "call_backward", "<module>"],
    })
    tap.equal(totals.counters[("backward_mapped_bytes", -1)][0], 2048, "it does not count as a forward line")


@tap.test("a failed request has its forward line like a successful one")
def _(folder):
    totals = record(folder, "fails")
    tap.equal([[frame[0] for frame in oom["stack"]][:3] for oom in totals.ooms], [
        ["<backward>", "allocate", "second_layer"],
        ["<backward, nearest forward operator>", "allocate", "first_layer"],
        [ACCUMULATION, "allocate", "first_layer"],
        ["<backward, called here>", "backward", "call_backward"],
    ])
    tap.equal(totals.counters[("backward_bytes", -1)][0], 2048, "a request that failed has no bytes")
    report = json.loads(tap.run([stormlog, "analyze", "--format", "json", totals.path]).stdout)
    found = [finding for finding in report["findings"] if finding["kind"] == "oom"]
    tap.contains(json.dumps(found), "backward_program.py")


tap.main()
