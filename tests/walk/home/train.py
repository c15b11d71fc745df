import sys

import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 40
model = torch.nn.Linear(256, 256)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
history = []

for step in range(steps):
    output = model(torch.randn(64, 256))
    loss = output.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(output)  # the leak
    if step % 20 == 19:
        print(f"step {step + 1}", flush=True)
