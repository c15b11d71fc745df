# SPDX-License-Identifier: MIT
"""Eight hours of 50,000 events per second, without the pauses: fixed memory, bounded file, exact totals, losses counted.

Arguments: the program, the library of bench/record. STORMLOG_SOAK_MILLIONS sets another number of events.
"""

import json
import os
import sys

import slog_totals
import tap

stormlog, library = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "soak_program.py")
MILLIONS = os.environ.get("STORMLOG_SOAK_MILLIONS", str(8 * 3600 * 50000 // 1000000))
RING = 64 << 20


@tap.test(f"{MILLIONS} million events: fixed memory, a bounded file, exact totals")
def _(folder):
    out = os.path.join(folder, "run")
    result = tap.run([stormlog, "run", "-q", "-o", out, "--ring", "64MiB", "--", "/usr/bin/python3", PROGRAM, library,
                      MILLIONS], timeout=3000)
    tap.equal(result.returncode, 0, result.stderr)
    facts = json.loads(result.stdout)
    totals = slog_totals.load_all(out)[0]
    counted = totals.sum("alloc_cnt", 0) + totals.sum("free_cnt", 0)
    print(f"# {facts['events']:,} events; private memory {facts['before']:,} to {facts['peak']:,} bytes; "
          f"file {os.stat(totals.path).st_blocks * 512:,} bytes; dropped {totals.health['dropped']:,}")
    tap.equal(counted, facts["events"], "allocs and frees counted at their sites")
    tap.equal(totals.sum("live_bytes", 0), 0, "live bytes")
    tap.true(facts["peak"] - facts["before"] < 4 << 20, "private memory does not grow")
    tap.true(os.stat(totals.path).st_blocks * 512 < RING + (64 << 20), "the file stays near the size of its ring")
    checked = tap.run([stormlog, "fsck", totals.path], timeout=600)
    tap.equal(checked.returncode, 0, checked.stdout + checked.stderr)


tap.main()
