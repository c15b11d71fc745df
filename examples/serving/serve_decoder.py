# SPDX-License-Identifier: MIT
"""A server of a small decoder whose KV caches are never evicted: a session that ended keeps its cache.

    stormlog run --replay -o runs/serving -- python3 serve_decoder.py [REQUESTS]
    python3 where_it_goes.py runs/serving

Each request is a step. What the program alone knows, how much of each cache is filled, goes to serving.json.
"""

import json
import os
import sys
from dataclasses import dataclass

import stormlog
import torch
from torch import nn


@dataclass
class Sizes:
    layers: int
    width: int
    heads: int
    words: int
    most_tokens: int  # a cache has room for so many


SIZES = {"cpu": Sizes(2, 128, 4, 1000, 256), "cuda": Sizes(8, 1024, 16, 32000, 2048)}


class KVCache:
    """Keys and values of one session, allocated for the longest answer."""

    def __init__(self, sizes, device):
        shape = (sizes.layers, 2, sizes.heads, sizes.most_tokens, sizes.width // sizes.heads)
        self.store = torch.empty(shape, device=device)
        self.length = 0

    def token_bytes(self):
        return self.store.nelement() // self.store.shape[3] * self.store.element_size()


class Layer(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.heads = sizes.heads
        self.norm = nn.LayerNorm(sizes.width)
        self.qkv = nn.Linear(sizes.width, 3 * sizes.width)
        self.out = nn.Linear(sizes.width, sizes.width)
        self.feed = nn.Sequential(nn.Linear(sizes.width, 4 * sizes.width), nn.GELU(), nn.Linear(4 * sizes.width, sizes.width))

    def forward(self, x, cache, begin):
        query, key, value = (part.view(len(x), self.heads, -1).transpose(0, 1) for part in self.qkv(self.norm(x)).chunk(3, -1))
        end = begin + len(x)
        cache[0, :, begin:end], cache[1, :, begin:end] = key, value
        scores = query @ cache[0, :, :end].transpose(1, 2) * query.shape[-1] ** -0.5
        mixed = scores.softmax(-1) @ cache[1, :, :end]
        x = x + self.out(mixed.transpose(0, 1).reshape(len(x), -1))
        return x + self.feed(x)


class Decoder(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.embed = nn.Embedding(sizes.words, sizes.width)
        self.layers = nn.ModuleList(Layer(sizes) for _ in range(sizes.layers))
        self.head = nn.Linear(sizes.width, sizes.words)

    def forward(self, tokens, cache):
        x = self.embed(tokens)
        for number, layer in enumerate(self.layers):
            x = layer(x, cache.store[number], cache.length)
        cache.length += len(tokens)
        return self.head(x[-1:]).argmax(-1)


class Server:
    def __init__(self, device):
        self.device, self.sizes = device, SIZES[device.type]
        self.model = Decoder(self.sizes).to(device).eval()
        self.sessions = {}

    @torch.no_grad()
    def answer(self, session, prompt, tokens):
        cache = self.sessions.setdefault(session, KVCache(self.sizes, self.device))  # the bug: nobody takes it out again
        token = self.model(prompt, cache)
        for _ in range(tokens):
            token = self.model(token, cache)
        return int(token)


def capture_graph(server):
    """The scoring of a batch as a CUDA graph, which keeps its memory in a pool of its own."""
    still = torch.zeros(4096, server.sizes.width, device=server.device)
    score = nn.Sequential(server.model.head, nn.Softmax(-1))
    with torch.no_grad():
        score(still)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = score(still)
    return graph, result


def join_ranks(device):
    """One rank, as a server with tensor parallelism would have it: NCCL takes its buffers at the first collective."""
    import torch.distributed as dist

    os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29521")
    dist.init_process_group("nccl")
    dist.all_reduce(torch.ones(1 << 20, device=device))


def main(requests):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    server = Server(device)
    kept = []
    if device.type == "cuda":
        join_ranks(device)
        kept = capture_graph(server)
    else:
        torch.set_num_threads(1)
    for request in range(requests):
        prompt = torch.randint(server.sizes.words, (16 + request % 16,), device=device)
        server.answer(request, prompt, tokens=8)
        stormlog.step(request)
    caches = server.sessions.values()
    used = sum(cache.length * cache.token_bytes() for cache in caches)
    facts = {"sessions": len(caches), "cache_used_bytes": used,
             "weights_bytes": sum(p.nelement() * p.element_size() for p in server.model.parameters())}
    with open("serving.json", "w", encoding="utf-8") as file:
        json.dump(facts, file)
    print(f"{requests} requests answered, {facts}")
    if kept:
        torch.distributed.destroy_process_group()


main(int(sys.argv[1]) if len(sys.argv) > 1 else 48)
