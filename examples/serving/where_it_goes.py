# SPDX-License-Identifier: MIT
"""Where the memory of serve_decoder.py goes: weights, cache reserved and used, activations, graphs, NCCL, the rest.

    python3 where_it_goes.py RUN [serving.json]

Everything but the used part of the cache comes from the recording, at its peak; what was not measured is shown as unknown.
"""

import json
import sys

import stormlog

MIB = 1024 ** 2


def tagged(rows, tag):
    return next((row["bytes"] for row in rows or [] if row["tag"] == tag), None)


def at_function(rows, name):
    """Bytes of the lines in a function."""
    found = [row["bytes"] for row in rows if (row["site"]["function"] or "").startswith(name)]
    return sum(found) if found else None


def of_ledger(device, *names):
    """Bytes of the ledger's rows whose name contains one of these; None without a ledger."""
    rows = (device["ledger"] or {}).get("rows")
    return None if rows is None else sum(row["bytes"] for row in rows if any(name in row["name"] for name in names))


def rows_of(device, facts):
    cache = at_function(device["top_peak"], "KVCache")
    return [
        ("weights", tagged(device["peak_by_tag"], "parameter"), "tag parameter"),
        ("KV cache, reserved", cache, "blocks of KVCache.__init__"),
        ("KV cache, used", facts["cache_used_bytes"], f"what {facts['sessions']} sessions have filled; only the program knows it"),
        ("activations", tagged(device["peak_by_tag"], "activation"), "tag activation"),
        ("graphs", (device["fragmentation"] or {}).get("private_pool_bytes"), "private pools of CUDA graphs"),
        ("NCCL", of_ledger(device, "nccl"), "the driver's calls, by library"),
        ("other libraries", of_ledger(device, "cublas", "cudnn", "cufft"), "the same"),
        ("context and driver", of_ledger(device, "context", "driver"), "NVML"),
        ("rest", next((row["bytes"] for row in (device["ledger"] or {}).get("rows", []) if row["kind"] == "rest"), None), "NVML"),
    ]


def main(run, facts_path="serving.json"):
    report = stormlog.analyze(run, top=20, whatif=False)
    device = max(report["devices"], key=lambda entry: entry["device"])
    with open(facts_path, encoding="utf-8") as file:
        facts = json.load(file)
    for name, value, source in rows_of(device, facts):
        print(f"{name:24} {'unknown' if value is None else f'{value / MIB:,.1f} MiB':>14}  {source}")
    print(report["headline"])
    return 0 if report["verdict"] == "leak" and "serve_decoder.py" in report["headline"] else 1


if not 2 <= len(sys.argv) <= 3:
    sys.exit("usage: where_it_goes.py RUN [serving.json]")
sys.exit(main(*sys.argv[1:]))
