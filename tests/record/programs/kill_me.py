# SPDX-License-Identifier: MIT
"""Allocates for ever; after each block its number goes to standard output, unbuffered. Somebody kills it."""

import os

import torch

torch.set_num_threads(1)
kept = []
number = 0
while True:
    kept.append(torch.empty(256))
    if len(kept) > 1000:
        kept.clear()
    number += 1
    os.write(1, b"%d\n" % number)
