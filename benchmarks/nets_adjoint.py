"""The networks and training steps that are timed, in adjoint."""

from __future__ import annotations

import numpy as np

import adjoint as ms
from adjoint import Tensor, nn


class LeNet(nn.Cell):
    """LeNet-5 for [n, 1, 32, 32]."""

    def __init__(self):
        super().__init__()
        self.c1, self.r1, self.p1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2)
        self.c2, self.r2, self.p2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2)
        self.flatten = nn.Flatten()
        self.f1, self.r3, self.f2, self.r4, self.f3 = nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(), nn.Dense(84, 10)

    def construct(self, x):
        x = self.p1(self.r1(self.c1(x)))
        x = self.flatten(self.p2(self.r2(self.c2(x))))
        return self.f3(self.r4(self.f2(self.r3(self.f1(x)))))


def mlp():
    """784-256-256-10."""
    return nn.SequentialCell(nn.Dense(784, 256), nn.ReLU(), nn.Dense(256, 256), nn.ReLU(), nn.Dense(256, 10))


def images(batch):
    return np.random.default_rng(0).standard_normal((batch, 1, 32, 32)).astype(np.float32)


def step_of(net, x, classes=10):
    """One step of momentum SGD on fixed data."""
    net.set_train()
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), 1e-4, 0.9)
    data, labels = Tensor(x), Tensor((np.arange(len(x)) % classes).astype(np.int32))
    gradient = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)

    def step():
        loss, grads = gradient(data, labels)
        optimizer(grads)
        return loss

    return step
