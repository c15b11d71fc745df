# SPDX-License-Identifier: MIT
"""The two wrappers that torch puts around every optimizer's step."""

import torch


def _use_grad_for_differentiable(func):
    def _use_grad(*args, **kwargs):
        prev_grad = torch.is_grad_enabled()
        try:
            torch.set_grad_enabled(False)
            ret = func(*args, **kwargs)
        finally:
            torch.set_grad_enabled(prev_grad)
        return ret
    return _use_grad


class Optimizer:
    def __init__(self, params):
        self.state, self.param_groups = {}, [{"params": list(params)}]

    @staticmethod
    def profile_hook_step(func):
        def wrapper(*args, **kwargs):
            self, *_ = args
            return func(*args, **kwargs)
        return wrapper
