"""Fills a cache of keys and values on the device until the card is full."""
import torch

net = torch.nn.Linear(1024, 1024).cuda()
x = torch.randn(8, 1024, device="cuda")
cache = []


def remember(number):
    cache.append(torch.empty(4 << 30, dtype=torch.uint8, device="cuda"))
    return net(x) * number


for number in range(100):
    remember(number)
