# SPDX-License-Identifier: MIT
"""Real answers against docs/schemas/whatif-1.json: test_schema.py STORMLOG."""

import json
import sys
from pathlib import Path

import json_schema
import tap

stormlog = sys.argv.pop(1)
ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data"
SCHEMA = json.loads((ROOT / "docs/schemas/whatif-1.json").read_text())

# A healthy run, failures with and without a limit, streams, repairs, no stacks, a late start, a refusal, a recording.
ANSWERS = [
    ["h200/s4_fixed.pickle.gz"], ["h200/s5_oom.pickle.gz"], ["h200/s5_oom.pickle.gz", "--card", "1GiB", "--free", "s5_oom"],
    ["corpus/c24_oom_leak_varying.pickle.gz"], ["corpus/c25_oom_other_process.pickle.gz", "--quick"],
    ["corpus/c40_record_stream.pickle.gz", "--early"], ["corpus/x3_context_none.pickle.gz"], ["corpus/x5_late_start.pickle.gz"],
    ["corpus/x2_overflow.pickle.gz", "--without", "."], ["whatif/repairs/rec.pickle.gz"],
    ["whatif/repairs/rec.pickle.gz", "--no-record-stream", "--card", "100MiB"], ["whatif/repairs/copy.pickle.gz", "--one-stream"],
    ["corpus/c35_cuda_graph_train.pickle.gz", "--set", "garbage_collection_threshold=0.5,per_process_memory_fraction=0.5",
     "--card", "1GiB"],
    ["--batch", "8=$DATA/whatif/batch-gpt-8.pickle.gz", "--batch", "16=$DATA/whatif/batch-gpt-16.pickle.gz",
     "--at", "4,24", "--card", "900MiB"],
    ["--batch", "16=$DATA/whatif/batch-lstm-16.pickle.gz", "--batch", "32=$DATA/whatif/batch-convnet-32.pickle.gz", "--at", "48"],
]


def paths(args):
    first = args[0] if args[0].startswith("--") else f"$DATA/{args[0]}"
    return [arg.replace("$DATA", str(DATA)) for arg in (first, *args[1:])]


def answer(args):
    result = tap.run([stormlog, "whatif", "--format", "json", "--placements", "1", *paths(args)])
    tap.equal(result.returncode in (0, 3), True, f"exit code {result.returncode} for {args}: {result.stderr}")
    return json.loads(result.stdout)


@tap.test("every answer matches the schema, and the schema has every field")
def _():
    for args in ANSWERS:
        tap.equal(json_schema.problems(answer(args), SCHEMA), [], f"what differs for {args}")


@tap.test("every field of the schema is in at least one answer")
def _():
    seen = set()
    for args in ANSWERS:
        json_schema.problems(answer(args), SCHEMA, seen=seen)
    missing = sorted(name for place, name in json_schema.described(SCHEMA) - seen)
    tap.equal(missing, [], "fields that no answer has")


@tap.test("docs/whatif.md names every field of the schema")
def _():
    text = (ROOT / "docs/whatif.md").read_text()
    names = {name for _, name in json_schema.described(SCHEMA)} - {"file", "line", "function", "label", "stack"}
    tap.equal(sorted(name for name in names if f"`{name}`" not in text and f"`{name}[]`" not in text), [], "fields without a word")


tap.main()
