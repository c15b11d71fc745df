#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recorded snapshots: each equals a walk with Python's own pickle, event by event and block by block.

The files of tests/data are our own recordings; those of ../shared/data/public were checked to hold plain data only.
"""

import gzip
import pickle
from pathlib import Path

import snapshots
import tap

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = ROOT.parent / "shared" / "data" / "public"

# From the last section of the format notes: events per device.
PUBLIC_EVENTS = {"cran.pickle.gz": {0: 10307}, "kk_fullstep.pickle.gz": {0: 19342}, "npu_multi.pkl.gz": {0: 8132, 1: 9700}}


def register(path, label):
    @tap.test(label)
    def _():
        dump = snapshots.load(path)
        with gzip.open(path) as file:
            snapshots.check(dump, pickle.load(file))


for data in sorted((ROOT / "tests" / "data").glob("**/*.pickle.gz")):
    register(data, str(data.relative_to(ROOT / "tests" / "data")))


@tap.test("public snapshots equal an independent reading of them")
def _():
    if not PUBLIC.is_dir():
        tap.skip("../shared/data/public is not here")
    for name, events in PUBLIC_EVENTS.items():
        dump = snapshots.load(PUBLIC / name)
        found = {d["device"]: len(d["events"]) for d in dump["devices"] if d["events"]}
        tap.equal(found, events, f"events of {name}")
        with gzip.open(PUBLIC / name) as file:
            snapshots.check(dump, pickle.load(file))


tap.main()
