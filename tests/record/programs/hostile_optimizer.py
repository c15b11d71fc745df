# SPDX-License-Identifier: MIT
"""Optimizers and tensors that notice, or fail on, being inspected. Argument: which. Prints the result."""

import gc
import sys
import warnings

import torch

warnings.simplefilter("error")
torch.set_num_threads(1)
torch.manual_seed(0)
kind = sys.argv[1]
model = torch.nn.Linear(32, 16)
seen = []


class Base(torch.optim.SGD):
    pass


class RaisesInGetattr(Base):
    def __getattr__(self, name):
        seen.append(name)
        raise AttributeError(name)


class RaisesInGetattribute(Base):
    def __getattribute__(self, name):
        if sys._getframe(1).f_globals["__name__"] == "__main__":
            seen.append(name)
        return super().__getattribute__(name)


class HasNoLists(Base):
    """Its groups are a property that counts who asks."""

    @property
    def param_groups(self):
        seen.append(sys._getframe(1).f_code.co_name)
        return self.__dict__["hidden"]

    @param_groups.setter
    def param_groups(self, value):
        self.__dict__["hidden"] = value


class StrangeLists(Base):
    def step(self, closure=None):
        super().step(closure)
        self.state["not a tensor"] = "not a dictionary"
        self.state[self] = {"nothing": None, "number": 3, "text": "x", "loop": [[], (), {}]}


class Failing(Base):
    def step(self, closure=None):
        try:
            super().step(closure)
        finally:
            raise KeyError("from the step")


class Watched(torch.Tensor):
    """A tensor that sees every call made on it."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        seen.append(function.__name__)
        return super().__torch_function__(function, types, args, kwargs or {})


parameters = list(model.parameters())
if kind == "Watched":
    leaf = torch.ones(5).as_subclass(Watched).requires_grad_()
    parameters.append(leaf)
optimizer = {"Watched": Base}.get(kind, globals().get(kind, Base))(parameters, lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 32)).sum()
    if kind == "Watched":
        loss = loss + leaf.sum()
    loss.backward()
    try:
        optimizer.step()
    except KeyError as error:
        seen.append(str(error))
print(kind, seen, float(loss), gc.isenabled(), sys.getrefcount(optimizer), [sys.getrefcount(p) for p in parameters])
