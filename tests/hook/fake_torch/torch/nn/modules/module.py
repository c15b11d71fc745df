# SPDX-License-Identifier: MIT
"""The call of a module: two functions around forward; the inner one keeps its arguments for a function of its own."""


class Module:
    def __init__(self):
        self._modules = {}

    def __setattr__(self, name, value):
        if isinstance(value, Module):
            self._modules[name] = value
        super().__setattr__(name, value)

    def _wrapped_call_impl(self, *args, **kwargs):
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        result = None

        def inner():
            nonlocal result
            result = self.forward(*args, **kwargs)
            return result

        if not getattr(self, "hooks", None):
            return self.forward(*args, **kwargs)
        return inner()

    __call__ = _wrapped_call_impl
