# SPDX-License-Identifier: MIT
"""Signals of every kind while events come."""

from hostile_run import Case

ROWS = {
    "coroutines": (0, "events on stacks of 16 to 64 KiB and in a handler on a stack of its own, every 200 µs"),
    "coroutines_guarded": (0, "the same with nothing mapped below the stacks"),
    "in_malloc": (0, "events in a handler that interrupts malloc"),
    "first_in_handler": (0, "the recording begins inside a handler"),
    "profile_storm": (0, "SIGPROF every 100 µs while threads allocate"),
    "own_faults": (0, "a program that handles its SIGBUS and SIGSEGV sees exactly its own"),
    "bus_by_default": (135, "a SIGBUS of the program's own still ends it"),
    "state": (0, "handlers, mask, alternate stack and timer are the program's own, in threads and children, too"),
    "all_blocked": (5, "signals that every thread blocks stay pending"),
    "children_ignored": (0, "SIGCHLD ignored: no child is left, and wait says so"),
    "fork_in_handler": (0, "a handler forks while events come"),
    "vfork_handlers": (0, "a child of vfork that sets its SIGBUS handler back leaves the parent's alone"),
}

CASES = [
    Case(name, proves, ["hostile_signals", name], exit=code, soak=20 if name not in ("state", "own_faults", "bus_by_default") else 0)
    for name, (code, proves) in ROWS.items()
] + [
    Case(f"{name} native stacks", "the same with --stacks native", ["hostile_signals", name, "2"], modes=("run",),
         options=["-q", "--stacks", "native"], soak=20) for name in ("coroutines", "coroutines_guarded", "profile_storm")
]
