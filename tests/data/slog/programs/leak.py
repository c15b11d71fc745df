"""Trains a small classifier and keeps every batch's output on the device; killed in the middle."""
import os
import signal

import torch

net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
outputs = []

for step in range(60):
    x = torch.randn(64 + step % 5, 256, device="cuda")
    optimizer.zero_grad(set_to_none=True)
    y = net(x)
    loss = torch.nn.functional.cross_entropy(y, torch.zeros(len(x), dtype=torch.long, device="cuda"))
    loss.backward()
    optimizer.step()
    outputs.append(torch.softmax(y.detach(), dim=1).repeat(1, 40))

os.kill(os.getpid(), signal.SIGKILL)
