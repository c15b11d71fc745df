"""Trains on batches of varying length with expandable segments; ends by itself."""
import torch

net = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True), 1,
                                  enable_nested_tensor=False).cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)

for step in range(12):
    x = torch.randn(8, 32 + 16 * (step % 4), 128, device="cuda")
    optimizer.zero_grad(set_to_none=True)
    net(x).square().mean().backward()
    optimizer.step()
