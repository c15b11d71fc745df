# SPDX-License-Identifier: MIT
"""Trains a fake model (fake_torch) with two optimizers: one as torch's own are wrapped, one by no_grad. Prints the bytes of
each tag, and the number of allocations of each layer."""

import json
import os

import torch
from torch.autograd.grad_mode import no_grad
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter
from torch.optim.optimizer import Optimizer, _use_grad_for_differentiable

STEPS, LAYERS = 9, 4


class Layer(Module):
    def __init__(self, number):
        super().__init__()
        self.weight = Parameter(1000 + number, offset=number)  # some begin inside their storage

    def forward(self):
        return torch.Tensor(64)


class Net(Module):
    def __init__(self):
        super().__init__()
        self.layers = Module()
        for number in range(LAYERS):
            setattr(self.layers, str(number), Layer(number))

    def forward(self):
        return [layer() for layer in self.layers._modules.values()]


def update(self):
    for parameter in self.param_groups[0]["params"]:
        if parameter not in self.state:
            self.state[parameter] = {"step": 0, "buffers": [torch.Tensor(50), torch.Tensor(60)]}


class Usual(Optimizer):
    step = Optimizer.profile_hook_step(_use_grad_for_differentiable(update))


class Foreign(Optimizer):
    step = Optimizer.profile_hook_step(no_grad()(update))


net = Net()
parameters = [layer.weight for layer in net.layers._modules.values()]
optimizers = [Usual(parameters[:2]), Foreign(parameters[2:])]
for _ in range(STEPS):
    net()
    for parameter in parameters:
        parameter.grad = parameter.grad or torch.Tensor(200)
    for optimizer in optimizers:
        optimizer.step()
print(json.dumps({"parameter": sum(1000 + i for i in range(LAYERS)), "gradient": 200 * LAYERS, "optimizer state": 110 * LAYERS,
                  "layers": {f"layers.{i}": STEPS for i in range(LAYERS)}}), flush=True)
os._exit(0)
