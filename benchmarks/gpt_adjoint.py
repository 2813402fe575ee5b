"""Train a small GPT for some steps; print after each the seconds since the process began, and the loss.

    python benchmarks/gpt_adjoint.py eager|jit [LAYERS WIDTH LENGTH BATCH [STEPS]]
"""

from __future__ import annotations

import sys
import time

BEGUN = time.perf_counter()

import numpy as np  # noqa: E402  # the clock starts before the imports

import adjoint as ms  # noqa: E402
from adjoint import Tensor, nn, ops  # noqa: E402

LETTERS, HEADS = 65, 4


class Attention(nn.Cell):
    """Masked self-attention with several heads, [batch, length, width] to the same."""

    def __init__(self, width, length):
        super().__init__()
        self.qkv, self.out = nn.Dense(width, 3 * width), nn.Dense(width, width)
        self.mask = Tensor(np.triu(np.full((length, length), -1e9, np.float32), 1))

    def construct(self, x):
        n, t, c = x.shape
        q, k, v = ops.split(self.qkv(x), c, 2)
        q = q.reshape(n, t, HEADS, c // HEADS).transpose(0, 2, 1, 3)
        k = k.reshape(n, t, HEADS, c // HEADS).transpose(0, 2, 1, 3)
        v = v.reshape(n, t, HEADS, c // HEADS).transpose(0, 2, 1, 3)
        scores = ops.matmul(q, k.transpose(0, 1, 3, 2)) * (c // HEADS) ** -0.5 + self.mask
        y = ops.matmul(ops.softmax(scores, -1), v)
        return self.out(y.transpose(0, 2, 1, 3).reshape(n, t, c))


class Block(nn.Cell):
    """Attention and two dense layers, each after a layer norm and beside a residual connection."""

    def __init__(self, width, length):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.attention = Attention(width, length)
        self.wide, self.narrow, self.gelu = nn.Dense(width, 4 * width), nn.Dense(4 * width, width), nn.GELU()

    def construct(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(self.gelu(self.wide(self.norm2(x))))


class GPT(nn.Cell):
    """Letters [batch, length] to logits [batch, length, letters] of the next ones."""

    def __init__(self, layers, width, length):
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, width), nn.Embedding(length, width)
        self.blocks = nn.CellList([Block(width, length) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm((width,)), nn.Dense(width, LETTERS, has_bias=False)
        self.positions = Tensor(np.arange(length, dtype=np.int32))

    def construct(self, x):
        x = self.letters(x) + self.places(self.positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def main(mode: str = "eager", layers: int = 4, width: int = 128, length: int = 64, batch: int = 8, steps: int = 1) -> None:
    """Train in a mode, `eager` or `jit`."""
    ms.set_seed(0)
    net = GPT(layers, width, length)
    optimizer = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
    text = np.random.default_rng(0).integers(0, LETTERS, (batch, length + 1)).astype(np.int32)
    x, y = Tensor(text[:, :-1]), Tensor(text[:, 1:].copy())

    def forward(x, y):
        return ops.cross_entropy(net(x).reshape(-1, LETTERS), y.reshape(-1))

    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    def step(x, y):
        loss, grads = gradient(x, y)
        optimizer(grads)
        return loss

    step = ms.jit(step) if mode == "jit" else step
    for _ in range(steps):
        loss = float(step(x, y))
        print(f"{time.perf_counter() - BEGUN:.3f} {loss:.6f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:]))
