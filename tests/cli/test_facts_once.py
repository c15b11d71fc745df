# SPDX-License-Identifier: MIT
"""Every command computes each fact of a run once: one replay, at most one ledger and at most one sweep of allocator
settings for each device of each input."""

import os
import sys
from pathlib import Path

import tap

counting = sys.argv.pop(1)
DATA = Path(__file__).resolve().parent.parent / "data"
LEAK, FIXED = DATA / "h200/s2_retention.pickle.gz", DATA / "h200/s4_fixed.pickle.gz"
# fontconfig never frees what it has read.
FONTS = {"LSAN_OPTIONS": f"suppressions={Path(__file__).resolve().parent}/lsan_fonts.supp:print_suppressions=0"}
OOM = DATA / "h200/s5_oom.pickle.gz"
SLOG = sorted((DATA / "slog").glob("*.slog*"))[0]

SWEPT = [OOM]  # findings that settings might mend

# command line, inputs it makes a replay of; {} is a folder for its output.
COMMANDS = [
    (("analyze", LEAK), [LEAK]),
    (("analyze", SLOG, "--format", "json"), [SLOG]),
    (("analyze", LEAK, FIXED, "--format", "md"), [LEAK, FIXED]),
    (("analyze", LEAK, "--since", "peak", "--filter", "mlp", "--group-by", "function"), [LEAK]),
    (("analyze", OOM), [OOM]),
    (("report", OOM, "-o", "{}/page.html"), [OOM]),
    (("report", LEAK, "-o", "{}/page.html"), [LEAK]),
    (("report", LEAK, FIXED, "--diff", "-o", "{}/page.html"), [LEAK, FIXED]),
    (("report", SLOG, "-o", "{}/page.html"), [SLOG]),
    (("check", LEAK, "--no-leak"), [LEAK]),
    (("diff", LEAK, FIXED), [LEAK, FIXED]),
    (("diff", f"{LEAK}@step:3", f"{LEAK}@end"), [LEAK]),
    (("export", LEAK, "--to", "folded", "--at", "peak", "-o", "{}/x"), [LEAK]),
    *[(("export", SLOG, "--to", kind, "-o", "{}/x"), [SLOG])
      for kind in ("snapshot", "speedscope", "pprof", "perfetto", "prometheus", "telemetry-json")],
    *[(("plot", LEAK, "--kind", kind, "-o", "{}/x.svg"), [LEAK]) for kind in ("timeline", "sites", "flame")],
    (("plot", LEAK, FIXED, "-o", "{}/x.png"), [LEAK, FIXED]),
    (("plot", OOM, "--kind", "whatif", "-o", "{}/x.svg"), [OOM]),
]


for command, inputs in COMMANDS:
    @tap.test("each fact is computed once: stormlog " + " ".join(str(part).replace(str(DATA) + "/", "") for part in command))
    def _(folder, command=command, inputs=inputs):
        counts = os.path.join(folder, "counts")
        result = tap.run([counting, *[str(part).replace("{}", folder) for part in command]],
                         env={**os.environ, **FONTS, "COUNT_FACTS": counts}, timeout=200)
        if "this build has no cairo" in result.stderr:
            tap.skip("this build has no cairo, which draws the pictures")
        tap.true(result.returncode in (0, 1), f"exit code {result.returncode}: {result.stderr}")
        rows = [line.split("\t") for line in Path(counts).read_text().splitlines()]
        tap.equal([row for row in rows if row[3] != "1"], [], "facts that were made more than once")
        swept = {row[1] for row in rows if row[0] == "whatif"}
        wanted = {str(path) for path in SWEPT if path in inputs and command[0] in ("analyze", "report", "plot")}
        tap.true(swept >= wanted, f"sweeps of {swept}")
        tap.equal(sorted({row[1] for row in rows if row[0] == "replay"}), sorted(str(path) for path in inputs), "inputs replayed")


tap.main()
