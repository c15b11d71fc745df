# SPDX-License-Identifier: MIT
"""The one exact type of parameters."""

import torch


class Parameter(torch.Tensor):
    pass
