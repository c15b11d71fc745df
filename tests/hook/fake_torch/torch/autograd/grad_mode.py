# SPDX-License-Identifier: MIT
"""Turns gradients on and off."""

import torch


class set_grad_enabled:
    def __init__(self, mode):
        torch._python.fake_set_grad_enabled(mode)


class no_grad:
    def __enter__(self):
        torch.set_grad_enabled(False)

    def __exit__(self, *_):
        torch.set_grad_enabled(True)

    def __call__(self, function):
        def decorate_context(*args, **kwargs):
            with no_grad():
                return function(*args, **kwargs)
        return decorate_context
