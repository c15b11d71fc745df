# SPDX-License-Identifier: MIT
"""A small training that ends with its memory still in use; prints what it holds, by its own count, as JSON.

Arguments: the optimizers (a comma between several), none or zero for what zero_grad does, the number of steps, and
where to stop: "step" behind the last step, "forward" in the forward pass after it, "exit" with a normal end,
"kill" by a signal behind the last step. A fifth one, "closure": forward and backward run inside the optimizer's step, as
Lightning does it, and the last forward pass too.
"""

import json
import os
import signal
import sys

import torch

names, zero, steps, stop = sys.argv[1].split(","), sys.argv[2], int(sys.argv[3]), sys.argv[4]
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 96), torch.nn.ReLU(),
                            torch.nn.Linear(96, 10))
MAKERS = {"Adam": lambda p: torch.optim.Adam(p, lr=1e-3), "SGD": lambda p: torch.optim.SGD(p, lr=1e-3),
          "momentum": lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9),
          "Adagrad": lambda p: torch.optim.Adagrad(p), "LBFGS": lambda p: torch.optim.LBFGS(p, max_iter=3)}
parameters = list(model.parameters())
share = -(-len(parameters) // len(names))
optimizers = [MAKERS[name](parameters[i * share:(i + 1) * share]) for i, name in enumerate(names)]
outputs = []


def batch():
    return torch.randn(32, 64), torch.randint(0, 10, (32,))


def backward():
    x, y = batch()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    return loss


def closure():
    optimizers[0].zero_grad(set_to_none=zero == "none")
    return backward()


for step in range(steps):
    if sys.argv[5:] == ["closure"]:
        optimizers[0].step(closure)
        continue
    for optimizer in optimizers:
        optimizer.zero_grad(set_to_none=zero == "none")
    for _ in range(2):  # gradients of two batches add up
        backward()
    for i, optimizer in enumerate(optimizers):
        if step % (i + 1) == 0:
            optimizer.step(*[backward] * (names[i] == "LBFGS"))


def tensors_in(value):
    if torch.is_tensor(value):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def held(tensors):
    storages = {t.storage().data_ptr(): t.storage().nbytes() for t in tensors if t is not None}
    return sum(storages.values())


def print_and_end(_=None):
    state = [t for o in optimizers for s in o.state.values() for v in s.values() for t in tensors_in(v)]
    result = {"parameter": held(parameters), "gradient": held(p.grad for p in parameters), "optimizer state": held(state),
              "activation": held(outputs), "input": held([x, y]) if stop == "forward" else 0}
    print(json.dumps(result), flush=True)
    if stop == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if stop != "exit":
        os._exit(0)


if stop == "forward":
    for layer in model:
        layer.register_forward_hook(lambda module, given, output: outputs.append(output))
    x, y = batch()
    if sys.argv[5:] == ["closure"]:
        optimizers[0].step(lambda: print_and_end(model(x)))
    model(x)
print_and_end()
