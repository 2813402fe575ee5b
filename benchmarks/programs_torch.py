"""The losses of `programs_data.py` in PyTorch."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from programs_data import RESNET


def logistic_regression(x, y):
    return lambda w, b: F.cross_entropy(x @ w + b, y.long())


def resnet(x, y):
    def loss(*given):
        parameters = iter(given)

        def convolution(x, stride=1):
            w = next(parameters)
            x = F.conv2d(x, w, stride=stride, padding=w.shape[-1] // 2)
            return F.batch_norm(x, None, None, next(parameters), next(parameters), training=True)

        h, channels = F.relu(convolution(x)), 64
        for out, stride in RESNET:
            for block in range(2):
                step = stride if block == 0 else 1
                inner = convolution(F.relu(convolution(h, step)))
                h = F.relu(inner + (convolution(h, step) if step > 1 or channels != out else h))
                channels = out
        return F.cross_entropy(h.mean((2, 3)) @ next(parameters) + next(parameters), y.long())

    return loss


def gaussian_process(x, y):
    def loss(logs):
        length, scale, noise = torch.exp(logs)
        apart = ((x[:, None] - x[None]) ** 2).sum(-1)
        kernel = scale * torch.exp(-0.5 * apart / length**2) + noise * torch.eye(len(y))
        factor = torch.linalg.cholesky(kernel)
        solved = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
        return 0.5 * (solved**2).sum() + torch.log(torch.diagonal(factor)).sum()

    return loss


def sinkhorn(other):
    def loss(points):
        costs = ((points[:, None] - other[None]) ** 2).sum(-1)
        f, g = torch.zeros(len(points)), torch.zeros(len(other))
        for _ in range(30):
            f = -0.1 * torch.logsumexp((g[None] - costs) / 0.1, 1)
            g = -0.1 * torch.logsumexp((f[:, None] - costs) / 0.1, 0)
        return (torch.exp((f[:, None] + g[None] - costs) / 0.1) * costs).sum()

    return loss


def bodies(masses):
    def loss(places):
        apart = ((places[:, None] - places[None]) ** 2).sum(-1) + 0.01
        return -0.5 * (masses[:, None] * masses[None] / torch.sqrt(apart)).sum()

    return loss


def predators(start, wanted):
    def loss(rates):
        a, b, c, d = rates

        def change(state):
            x, y = state
            return torch.stack([a * x - b * x * y, c * x * y - d * y])

        state, total = start, torch.zeros(())
        for step in range(200):
            k1 = change(state)
            k2 = change(state + 0.005 * k1)
            k3 = change(state + 0.005 * k2)
            k4 = change(state + 0.01 * k3)
            state = state + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            total = total + ((state - wanted[step]) ** 2).sum()
        return total / 200

    return loss


def heat(points):
    def loss(w1, b1, w2, b2, w3, b3):
        t, x = points[:, :1].clone().requires_grad_(), points[:, 1:].clone().requires_grad_()
        u = torch.tanh(torch.tanh(torch.cat([t, x], 1) @ w1 + b1) @ w2 + b2) @ w3 + b3
        by_t, by_x = torch.autograd.grad(u.sum(), (t, x), create_graph=True)
        (by_xx,) = torch.autograd.grad(by_x.sum(), x, create_graph=True)
        return ((by_t - 0.1 * by_xx) ** 2).mean()

    return loss


def autoencoder(x, noise):
    def loss(w1, b1, w2, b2, w3, b3, w4, b4):
        mean, log = (F.relu(x @ w1 + b1) @ w2 + b2).chunk(2, 1)
        code = mean + noise * torch.exp(0.5 * log)
        shown = F.relu(code @ w3 + b3) @ w4 + b4
        lost = F.binary_cross_entropy_with_logits(shown, x, reduction="sum")
        return (lost - 0.5 * (1 + log - mean**2 - torch.exp(log)).sum()) / len(x)

    return loss


def segmentation(x, y):
    def loss(w1, w2, w3, w4, w5):
        first = F.relu(F.conv2d(x, w1, padding=1))
        h = F.relu(F.conv2d(F.max_pool2d(first, 2), w2, padding=1))
        h = F.relu(F.conv2d(h, w3, padding=1))
        h = torch.cat([first, F.interpolate(h, scale_factor=2, mode="nearest")], 1)
        return F.cross_entropy(F.conv2d(F.relu(F.conv2d(h, w4, padding=1)), w5), y.long())

    return loss


def graph_network(x, sources, targets, y):
    def loss(w1, b1, w2, b2):
        def passed(h):
            return torch.zeros_like(h).index_add(0, targets.long(), h[sources.long()])

        return F.cross_entropy(passed(F.relu(passed(x) @ w1 + b1)) @ w2 + b2, y.long())

    return loss


def causal(x):
    def loss(*weights):
        h = x
        for i in range(0, len(weights), 2):
            far = 2 ** (i // 2)
            gate, value = (F.conv1d(F.pad(h, (far, 0)), w, dilation=far) for w in weights[i : i + 2])
            h = h + torch.sigmoid(gate) * torch.tanh(value)
        return (h**2).mean()

    return loss


def mixture(x):
    def loss(weights, means, logs):
        z = (x[:, None] - means[None]) * torch.exp(-logs)
        each = -0.5 * (z**2).sum(-1) - logs.sum(-1) + torch.log_softmax(weights, 0)
        return -torch.logsumexp(each, 1).mean()

    return loss


def words(middle, around):
    def loss(inner, outer):
        scores = (inner[middle.long()][:, None] * outer[around.long()]).sum(-1)
        return -(F.logsigmoid(scores[:, 0]) + F.logsigmoid(-scores[:, 1:]).sum(1)).mean()

    return loss


def chain(x):
    def loss(moves, weights):
        scores = x @ weights
        alpha = scores[0]
        for step in range(1, len(scores)):
            alpha = torch.logsumexp(alpha[:, :, None] + moves[None], 1) + scores[step]
        return torch.logsumexp(alpha, 1).mean()

    return loss


def separable(x):
    def loss(w1, w2, w3, w4):
        h = F.relu(F.conv2d(F.conv2d(x, w1, padding=1, groups=32), w2))
        return (F.relu(F.conv2d(F.conv2d(h, w3, padding=1, groups=64), w4)) ** 2).mean()

    return loss


def attention(x):
    places = torch.arange(64)[:, None] - torch.arange(64)[None] + 63

    def loss(w, relative):
        q, k, v = ((x @ w).reshape(4, 64, 3, 4, 16).permute(2, 0, 3, 1, 4))
        scores = q @ k.transpose(-1, -2) / math.sqrt(16) + relative[places].permute(2, 0, 1)
        return ((torch.softmax(scores, -1) @ v) ** 2).mean()

    return loss


def tensor(array):
    return torch.from_numpy(array)


def timed(loss, parameters):
    """Return a call that computes the loss with its gradients."""
    leaves = [torch.from_numpy(x.copy()).requires_grad_() for x in parameters]

    def call():
        value = loss(*leaves)
        return value, torch.autograd.grad(value, leaves, allow_unused=True, materialize_grads=True)

    return call
