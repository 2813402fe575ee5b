"""The same small GPT in PyTorch, with the same arguments (`eager` is the only mode)."""

from __future__ import annotations

import sys
import time

BEGUN = time.perf_counter()

import numpy as np  # noqa: E402  # the clock starts before the imports
import torch  # noqa: E402
from torch import nn  # noqa: E402

LETTERS, HEADS = 65, 4


class Attention(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("mask", torch.triu(torch.full((length, length), -1e9), 1))

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(x).split(c, 2)
        q = q.reshape(n, t, HEADS, c // HEADS).transpose(1, 2)
        k = k.reshape(n, t, HEADS, c // HEADS).transpose(1, 2)
        v = v.reshape(n, t, HEADS, c // HEADS).transpose(1, 2)
        scores = q @ k.transpose(2, 3) * (c // HEADS) ** -0.5 + self.mask
        y = torch.softmax(scores, -1) @ v
        return self.out(y.transpose(1, 2).reshape(n, t, c))


class Block(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.attention = Attention(width, length)
        self.wide, self.narrow, self.gelu = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.GELU(approximate="tanh")

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(self.gelu(self.wide(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, layers, width, length):
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, length) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm((width,)), nn.Linear(width, LETTERS, bias=False)
        self.register_buffer("positions", torch.arange(length))

    def forward(self, x):
        x = self.letters(x) + self.places(self.positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def main(mode: str = "eager", layers: int = 4, width: int = 128, length: int = 64, batch: int = 8, steps: int = 1) -> None:
    torch.manual_seed(0)
    net = GPT(layers, width, length)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
    text = torch.from_numpy(np.random.default_rng(0).integers(0, LETTERS, (batch, length + 1)))
    x, y = text[:, :-1], text[:, 1:]
    for _ in range(steps):
        loss = nn.functional.cross_entropy(net(x).reshape(-1, LETTERS), y.reshape(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"{time.perf_counter() - BEGUN:.3f} {loss.item():.6f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:]))
