# SPDX-License-Identifier: MIT
"""Small training programs; the replay is compared with their real memory peaks. Fixed seeds: every run does the same.

card_programs.py NAME SIZE RESULT.json [SNAPSHOT.pickle [python|all]]

Runs one program and writes torch's own counters. LIMIT_BYTES in the environment is a limit of the process; the allocator's
settings are PYTORCH_CUDA_ALLOC_CONF, as everywhere. With a snapshot the history is recorded, with stacks where they are named.
"""

import json
import math
import os
import random
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def attention(q, k, v, is_math):
    """Scaled dot products; computed step by step if the scores must be separate tensors."""
    if not is_math:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    return torch.softmax(scores, dim=-1) @ v


class Block(nn.Module):
    """One layer of a transformer."""

    def __init__(self, width, heads, is_math=False):
        super().__init__()
        self.heads, self.is_math = heads, is_math
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = attention(q, k, v, self.is_math).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(y)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """Token embedding, layers, logits."""

    def __init__(self, vocab, width, layers, longest, is_math=False, is_checkpointed=False):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab, width), nn.Embedding(longest, width)
        self.blocks = nn.ModuleList(Block(width, width // 64, is_math) for _ in range(layers))
        self.head = nn.Linear(width, vocab)
        self.is_checkpointed = is_checkpointed

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.size(1), device=ids.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.is_checkpointed else block(x)
        return self.head(x)


def token_loss(model, ids, vocab):
    logits = model(ids)
    return F.cross_entropy(logits.view(-1, vocab).float(), ids.view(-1))


def gpt(size, steps=3, vocab=8192, width=512, layers=6, length=256):
    """A GPT with AdamW and bfloat16; `size` is the batch."""
    model = Transformer(vocab, width, layers, length).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(steps):
        ids = torch.randint(vocab, (size, length), device=DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16):
            loss = token_loss(model, ids, vocab)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def big_gpt(size):
    """The same at a size that people train."""
    gpt(size, vocab=32000, width=1024, layers=12, length=512)


def checkpointed(size, steps=3, vocab=8192, width=512, layers=8, length=256):
    """The same with activation checkpointing, float16 and a gradient scaler."""
    model = Transformer(vocab, width, layers, length, is_checkpointed=True).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler(DEVICE)
    for _ in range(steps):
        ids = torch.randint(vocab, (size, length), device=DEVICE)
        with torch.autocast(DEVICE, torch.float16 if DEVICE == "cuda" else torch.bfloat16):
            loss = token_loss(model, ids, vocab)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def big_checkpointed(size):
    """The same at a size that people train."""
    checkpointed(size, vocab=32000, width=1024, layers=16, length=512)


def encoder(size, steps=3, vocab=4096, width=256, layers=4, batch=16):
    """A transformer whose attention scores are written out; `size` is the sequence length."""
    model = Transformer(vocab, width, layers, 2048, is_math=True).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(steps):
        loss = token_loss(model, torch.randint(vocab, (batch, size), device=DEVICE), vocab)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def big_encoder(size):
    """The same at a size that people train."""
    encoder(size, vocab=16000, width=768, layers=8, batch=8)


class Residual(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.short = nn.Conv2d(before, after, 1, stride, bias=False) if before != after else nn.Identity()

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.short(x))


def train_images(model, size, side, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(steps):
        images = torch.randn(size, 3, side, side, device=DEVICE)
        labels = torch.randint(1000, (size,), device=DEVICE)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def convnet(size, steps=3):
    """A residual network with SGD; `size` is the batch."""
    parts = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for before, after, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
        parts += [Residual(before, after, stride), Residual(after, after, 1)]
    train_images(nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).to(DEVICE), size, 160, steps)


def resnet50(size, steps=3):
    """torchvision's; `size` is the batch."""
    import torchvision

    train_images(torchvision.models.resnet50().to(DEVICE), size, 224, steps)


class Language(nn.Module):
    """A language model of LSTM layers."""

    def __init__(self, vocab, width):
        super().__init__()
        self.tokens, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab)
        self.lstm = nn.LSTM(width, width, 2, dropout=0.2)

    def forward(self, ids, hidden):
        out, hidden = self.lstm(self.tokens(ids), hidden)
        return self.head(out), hidden


def lstm(size, steps=3, vocab=10000, width=512, length=35):
    """Truncated backpropagation through time, and an evaluation; `size` is the batch."""
    model = Language(vocab, width).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    hidden = None
    for _ in range(steps):
        ids = torch.randint(vocab, (length, size), device=DEVICE)
        logits, hidden = model(ids, hidden)
        hidden = tuple(h.detach() for h in hidden)
        loss = F.cross_entropy(logits.view(-1, vocab), ids.view(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        model(torch.randint(vocab, (length, size), device=DEVICE), None)


def big_lstm(size):
    """The same at a size that people train."""
    lstm(size, vocab=32000, width=1024, length=128)


class Scale(nn.Module):
    """One level of a U-net and everything below it."""

    def __init__(self, width, levels):
        super().__init__()
        self.down = Residual(width, 2 * width, 2)
        self.inner = Scale(2 * width, levels - 1) if levels > 1 else Residual(2 * width, 2 * width, 1)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.mix = Residual(2 * width, width, 1)

    def forward(self, x):
        return self.mix(torch.cat([x, self.up(self.inner(self.down(x)))], dim=1))


def unet(size, steps=3, width=32):
    """A denoiser; `size` is the side of the images, so that most tensors grow with its square."""
    model = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1), Scale(width, 3), nn.Conv2d(width, 3, 3, 1, 1)).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for _ in range(steps):
        images = torch.randn(8, 3, size, size, device=DEVICE)
        noise = torch.randn_like(images)
        loss = F.mse_loss(model(images + noise), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def big_unet(size):
    """The same at a size that people train."""
    unet(size, width=96)


def lengths(size, steps=14):
    """Batches of varying length, the worst case for the allocator; `size` is the batch."""
    model = Transformer(8192, 384, 3, 1024).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(steps):
        ids = torch.randint(8192, (size, random.randint(60, 640)), device=DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16):
            loss = token_loss(model, ids, 8192)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def prefetch(size, steps=8):
    """Batches are copied on a second stream while the first one computes, and handed over with record_stream."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 96 * 96, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                          nn.Linear(1024, 10)).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    side = torch.cuda.Stream() if DEVICE == "cuda" else None

    def load():
        batch = torch.randn(random.choice((size, 2 * size)), 3, 96, 96)
        if side is None:
            return batch * 2
        with torch.cuda.stream(side):
            return batch.pin_memory().to(DEVICE, non_blocking=True) * 2

    batch = load()
    for _ in range(steps):
        if side is not None:
            torch.cuda.current_stream().wait_stream(side)
            batch.record_stream(torch.cuda.current_stream())
        following = load()
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        batch = following


def graph(size, steps=12):
    """Messages along the edges of random graphs: every step has other sizes; `size` is the number of nodes, about."""
    layers = nn.ModuleList(nn.Linear(128, 128) for _ in range(3)).to(DEVICE)
    head = nn.Linear(128, 16).to(DEVICE)
    optimizer = torch.optim.Adam([*layers.parameters(), *head.parameters()], lr=1e-3)
    for _ in range(steps):
        nodes = random.randint(size // 2, 2 * size)
        edges = nodes * random.randint(4, 12)
        x = torch.randn(nodes, 128, device=DEVICE)
        source, target = torch.randint(nodes, (2, edges), device=DEVICE)
        for layer in layers:
            x = F.relu(layer(x) + torch.zeros_like(x).index_add(0, target, layer(x)[source]))
        loss = head(x).logsumexp(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def serve(size, steps=10):
    """Requests of varying length whose keys and values grow token by token; `size` is the batch."""
    model = Transformer(8192, 512, 4, 1024).to(DEVICE).eval()
    kept = []
    with torch.no_grad():
        for step in range(steps):
            keys = model.tokens(torch.randint(8192, (size, random.randint(100, 500)), device=DEVICE))
            model(torch.randint(8192, (size, keys.size(1)), device=DEVICE)).argmax(-1)
            for _ in range(12):
                token = model.tokens(torch.randint(8192, (size, 16), device=DEVICE))
                keys = torch.cat([keys, token], dim=1)
                model.head(model.blocks[0](keys)).argmax(-1)
            kept = [*kept[-2:], keys]
            if step == steps // 2 and DEVICE == "cuda":
                torch.cuda.empty_cache()


def experts(size, steps=6):
    """Tokens sent to experts in groups of uneven size, on three streams; `size` is the number of tokens, in thousands."""
    parts = nn.ModuleList(nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)) for _ in range(6)).to(DEVICE)
    optimizer = torch.optim.AdamW(parts.parameters(), lr=1e-4)
    streams = [torch.cuda.Stream() for _ in range(2)] if DEVICE == "cuda" else []
    for _ in range(steps):
        x = torch.randn(size * 1000, 256, device=DEVICE)
        weights = [random.random() ** 2 + 0.02 for _ in parts]
        counts = [int(size * 1000 * w / sum(weights)) for w in weights]
        pieces = x[: sum(counts)].split(counts)
        outs = []
        for i, (part, piece) in enumerate(zip(parts, pieces)):
            if streams and i % 3:
                stream = streams[i % 3 - 1]
                stream.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(stream):
                    outs.append(part(piece * 2))
            else:
                outs.append(part(piece * 2))
        for stream in streams:
            torch.cuda.current_stream().wait_stream(stream)
        loss = torch.cat(outs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


PROGRAMS = {f.__name__: f for f in (gpt, checkpointed, encoder, convnet, lstm, unet, lengths, prefetch, graph, serve, experts, big_gpt,
                                    big_checkpointed, big_encoder, big_lstm, big_unet, resnet50)}


def limit_process():
    limit = int(os.environ.get("LIMIT_BYTES", "0"))
    total = torch.cuda.get_device_properties(0).total_memory
    if limit:
        torch.cuda.set_per_process_memory_fraction(limit / total)
    return total


def main():
    name, size, result = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    snapshot = sys.argv[4] if len(sys.argv) > 4 else None
    random.seed(0)
    torch.manual_seed(0)
    if DEVICE == "cpu":
        PROGRAMS[name](size)
        return
    total = limit_process()
    if snapshot:
        stacks = sys.argv[5] if len(sys.argv) > 5 else None
        torch.cuda.memory._record_memory_history("all", context="alloc" if stacks else None, stacks=stacks or "python", max_entries=1 << 20)
    error = None
    try:
        PROGRAMS[name](size)
    except torch.OutOfMemoryError as failure:
        error = str(failure)[:300]
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    if snapshot:
        torch.cuda.memory._dump_snapshot(snapshot)
    with open(result, "w", encoding="utf-8") as out:
        json.dump({"program": name, "size": size, "conf": os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""),
                   "limit_bytes": int(os.environ.get("LIMIT_BYTES", "0")) or None, "total_bytes": total, "error": error,
                   "reserved_peak": stats["reserved_bytes.all.peak"], "active_peak": stats["active_bytes.all.peak"],
                   "allocated_peak": stats["allocated_bytes.all.peak"], "retries": stats["num_alloc_retries"],
                   "device_allocs": stats["num_device_alloc"], "device_frees": stats["num_device_free"]}, out)


if __name__ == "__main__":
    main()
