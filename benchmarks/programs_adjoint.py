"""The losses of `programs_data.py` in adjoint."""

from __future__ import annotations

import math

from programs_data import RESNET

import adjoint as ms
from adjoint import Parameter, Tensor, ops
from adjoint.scipy.linalg import solve_triangular


def logistic_regression(x, y):
    return lambda w, b: ops.cross_entropy(x @ w + b, y)


def resnet(x, y):
    running = {size: (ops.zeros(size), ops.ones(size)) for size in (64, 128, 256, 512)}

    def loss(*given):
        def convolution(x, at, stride=1):
            w = given[at]
            x = ops.conv2d(x, w, stride=stride, pad_mode="pad", padding=w.shape[-1] // 2)
            return ops.batch_norm(x, *running[x.shape[1]], given[at + 1], given[at + 2], training=True)

        h, channels, place = ops.relu(convolution(x, 0)), 64, 3
        for out, stride in RESNET:
            for block in range(2):
                step = stride if block == 0 else 1
                inner = convolution(ops.relu(convolution(h, place, step)), place + 3)
                place += 6
                if step > 1 or channels != out:
                    h = convolution(h, place, step)
                    place += 3
                h, channels = ops.relu(inner + h), out
        return ops.cross_entropy(h.mean((2, 3)) @ given[place] + given[place + 1], y)

    return loss


def gaussian_process(x, y):
    def loss(logs):
        length, scale, noise = ops.exp(logs)
        apart = ((x[:, None] - x[None]) ** 2).sum(-1)
        kernel = scale * ops.exp(-0.5 * apart / length**2) + noise * ops.eye(len(y))
        factor = ops.cholesky(kernel)
        solved = solve_triangular(factor, y, lower=True)
        return 0.5 * (solved**2).sum() + ops.log(ops.diagonal(factor)).sum()

    return loss


def sinkhorn(other):
    def loss(points):
        costs = ((points[:, None] - other[None]) ** 2).sum(-1)
        f, g = ops.zeros(len(points)), ops.zeros(len(other))
        for _ in range(30):
            f = -0.1 * ops.logsumexp((g[None] - costs) / 0.1, 1)
            g = -0.1 * ops.logsumexp((f[:, None] - costs) / 0.1, 0)
        return (ops.exp((f[:, None] + g[None] - costs) / 0.1) * costs).sum()

    return loss


def bodies(masses):
    def loss(places):
        apart = ((places[:, None] - places[None]) ** 2).sum(-1) + 0.01
        return -0.5 * (masses[:, None] * masses[None] / ops.sqrt(apart)).sum()

    return loss


def predators(start, wanted):
    def loss(rates):
        a, b, c, d = rates

        def change(state):
            x, y = state
            return ops.stack([a * x - b * x * y, c * x * y - d * y])

        state, total = start, 0.0
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
        def u(t, x):
            return (ops.tanh(ops.tanh(ops.cat([t, x], 1) @ w1 + b1) @ w2 + b2) @ w3 + b3).sum()

        def by_x(t, x):
            return ms.grad(u, 1)(t, x).sum()

        t, x = points[:, :1], points[:, 1:]
        return ((ms.grad(u, 0)(t, x) - 0.1 * ms.grad(by_x, 1)(t, x)) ** 2).mean()

    return loss


def autoencoder(x, noise):
    def loss(w1, b1, w2, b2, w3, b3, w4, b4):
        mean, log = ops.chunk(ops.relu(x @ w1 + b1) @ w2 + b2, 2, 1)
        code = mean + noise * ops.exp(0.5 * log)
        shown = ops.relu(code @ w3 + b3) @ w4 + b4
        lost = ops.binary_cross_entropy_with_logits(shown, x, reduction="sum")
        return (lost - 0.5 * (1 + log - mean**2 - ops.exp(log)).sum()) / len(x)

    return loss


def segmentation(x, y):
    def loss(w1, w2, w3, w4, w5):
        first = ops.relu(ops.conv2d(x, w1, pad_mode="same"))
        h = ops.relu(ops.conv2d(ops.max_pool2d(first, 2, 2), w2, pad_mode="same"))
        h = ops.relu(ops.conv2d(h, w3, pad_mode="same"))
        h = ops.cat([first, ops.interpolate(h, scale_factor=2.0, mode="nearest", recompute_scale_factor=True)], 1)
        return ops.cross_entropy(ops.conv2d(ops.relu(ops.conv2d(h, w4, pad_mode="same")), w5), y)

    return loss


def graph_network(x, sources, targets, y):
    def loss(w1, b1, w2, b2):
        def passed(h):
            return ops.unsorted_segment_sum(h[sources], targets, len(x))

        return ops.cross_entropy(passed(ops.relu(passed(x) @ w1 + b1)) @ w2 + b2, y)

    return loss


def causal(x):
    def loss(*weights):
        h = x
        for i in range(0, len(weights), 2):
            far = 2 ** (i // 2)
            gate, value = [ops.conv1d(ops.pad(h, (far, 0)), w, dilation=far) for w in weights[i : i + 2]]
            h = h + ops.sigmoid(gate) * ops.tanh(value)
        return (h**2).mean()

    return loss


def mixture(x):
    def loss(weights, means, logs):
        z = (x[:, None] - means[None]) * ops.exp(-logs)
        each = -0.5 * (z**2).sum(-1) - logs.sum(-1) + ops.log_softmax(weights, 0)
        return -ops.logsumexp(each, 1).mean()

    return loss


def words(middle, around):
    def loss(inner, outer):
        scores = (inner[middle][:, None] * outer[around]).sum(-1)
        return -(ops.logsigmoid(scores[:, 0]) + ops.logsigmoid(-scores[:, 1:]).sum(1)).mean()

    return loss


def chain(x):
    def loss(moves, weights):
        scores = x @ weights
        alpha = scores[0]
        for step in range(1, len(scores)):
            alpha = ops.logsumexp(alpha[:, :, None] + moves[None], 1) + scores[step]
        return ops.logsumexp(alpha, 1).mean()

    return loss


def separable(x):
    def loss(w1, w2, w3, w4):
        h = ops.relu(ops.conv2d(ops.conv2d(x, w1, pad_mode="same", groups=32), w2))
        return (ops.relu(ops.conv2d(ops.conv2d(h, w3, pad_mode="same", groups=64), w4)) ** 2).mean()

    return loss


def attention(x):
    places = ops.arange(64)[:, None] - ops.arange(64)[None] + 63

    def loss(w, relative):
        q, k, v = (x @ w).reshape(4, 64, 3, 4, 16).permute(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(16) + relative[places].permute(2, 0, 1)
        return ((ops.softmax(scores, -1) @ v) ** 2).mean()

    return loss


tensor = Tensor


def timed(loss, parameters, *, jit):
    """Return a call that computes the loss with its gradients."""
    given = [Parameter(Tensor(x), name=f"p{i}") for i, x in enumerate(parameters)]
    positions = tuple(range(len(given)))
    gradient = ms.value_and_grad(loss, positions)
    if jit:
        gradient = ms.jit(gradient)
    return lambda: gradient(*given)
