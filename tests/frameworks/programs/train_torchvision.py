# SPDX-License-Identifier: MIT
"""torchvision: ResNet-18 from scratch on made-up pictures; through stormlog.record()."""

import torch
import torchvision
from common_frameworks import DEVICE, STEPS, keep_one, run


def train(on_step):
    model = torchvision.models.resnet18(num_classes=10).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(STEPS):
        x, y = torch.randn(8, 3, 64, 64, device=DEVICE), torch.randint(0, 10, (8,), device=DEVICE)
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        keep_one(loss)
        on_step()
    return model, optimizer, x, y, loss


if __name__ == "__main__":
    kept_to_the_end = run(train)
