# SPDX-License-Identifier: MIT
"""Allocates until it is killed by the test; prints the number of each block to standard output, unbuffered."""

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
