# SPDX-License-Identifier: MIT
"""Step 10: the three runs side by side. Ends with exit code 1 when the story does not hold."""

import json
import os
import sys

import stormlog
from tracking_helpers import ARTIFACTS, HERE, MIB, find_recording

LEAK_TIMES, FIXED_TIMES, ACCURACY_POINTS = 20, 1.5, 0.01
NOISE_BYTES = 1024  # per step; a clean run grows by 0, and nothing can be compared with that
SNAPSHOT = HERE.parents[1] / "tests" / "data" / "h200" / "s2_retention.pickle.gz"


def load(name):
    path = ARTIFACTS / name / "run.json"
    if not path.exists():
        sys.exit(f"artifacts/{name}/run.json is missing: run the scripts in order, or run_all.sh")
    return json.loads(path.read_text())


def show(runs):
    print(f"{'run':10}{'accuracy':>10}{'peak MiB':>12}{'KiB per step':>14}{'sampled MB/s':>14}  verdict")
    for run in runs:
        slope = run["slope_mb_per_s"]
        print(f"{run['name']:10}{run['accuracy']:>10.2%}{run['peak_bytes'] / MIB:>12,.1f}{run['growth_bytes_per_step'] / 1024:>14,.1f}"
              f"{'-' if slope is None else format(slope, ',.1f'):>14}  {run['verdict']}")


def what_if(run):
    """One line: what the replayed allocator would have needed without the leaking line."""
    is_card = run["device"].startswith("cuda")
    path = find_recording(ARTIFACTS / "no_code_change") if is_card else SNAPSHOT
    if not path.exists():
        return "What if: needs the history of a card; there is none here."
    answer = stormlog.whatif(path)["answers"][0]
    where = "" if is_card else " (the same leak recorded on an H200; a replay needs the history of a card)"
    best = next(iter((answer.get("lines") or {}).get("best") or []), None)
    if best is None:
        return f"What if{where}: {answer.get('refusal') or 'no repair of a single line lowers the reserved peak'}"
    site, before = best["site"], best["reserved_peak_bytes"] + best["saves_bytes"]
    return (f"What if {os.path.basename(site['file'])}:{site['line']} kept nothing{where}: "
            f"{best['reserved_peak_bytes'] / MIB:,.0f} MiB reserved instead of {before / MIB:,.0f}")


def judge(baseline, leak, fixed):
    """The claims of the walk that these runs do not keep."""
    clean = max(baseline["growth_bytes_per_step"], NOISE_BYTES)
    spread = max(run["accuracy"] for run in (baseline, leak, fixed)) - min(run["accuracy"] for run in (baseline, leak, fixed))
    claims = [
        (leak["growth_bytes_per_step"] >= LEAK_TIMES * clean, f"the leak grows at least {LEAK_TIMES} times as fast as the clean run"),
        (fixed["growth_bytes_per_step"] <= FIXED_TIMES * clean, f"the fixed run grows at most {FIXED_TIMES} times as fast as that"),
        (spread <= ACCURACY_POINTS, "all three have the same accuracy within one point"),
        (baseline["verdict"] == fixed["verdict"] == "healthy", "the clean and the fixed run are judged healthy"),
        (leak["verdict"] == "leak" and "retention.py" in leak["headline"], "the leak is found, and its line is in retention.py"),
    ]
    return [text for holds, text in claims if not holds]


def main():
    runs = [load(name) for name in ("baseline", "leak", "fixed")]
    show(runs)
    print(f"\n{runs[1]['headline']}\n{what_if(runs[1])}")
    broken = judge(*runs)
    for text in broken:
        print(f"DOES NOT HOLD: {text}", file=sys.stderr)
    if not broken:
        print("The story holds: same accuracy, the leak found by its line, the fixed run as flat as the clean one.")
    return 1 if broken else 0


sys.exit(main())
