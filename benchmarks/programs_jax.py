"""The losses of `programs_data.py` in JAX."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax
from programs_data import RESNET


def cross_entropy(scores, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), y[:, None], 1).mean()


def convolved(x, w, stride=1, padding=None, groups=1, dilation=1):
    spatial = x.ndim - 2
    padding = [(w.shape[-1] // 2,) * 2] * spatial if padding is None else padding
    return lax.conv_general_dilated(x, w, (stride,) * spatial, padding, rhs_dilation=(dilation,) * spatial, feature_group_count=groups)


def logistic_regression(x, y):
    return lambda w, b: cross_entropy(x @ w + b, y)


def resnet(x, y):
    def loss(*given):
        parameters = iter(given)

        def convolution(x, stride=1):
            x = convolved(x, next(parameters), stride)
            scale, shift = next(parameters), next(parameters)
            mean, spread = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
            return (x - mean) * lax.rsqrt(spread + 1e-5) * scale[:, None, None] + shift[:, None, None]

        h, channels = jax.nn.relu(convolution(x)), 64
        for out, stride in RESNET:
            for block in range(2):
                step = stride if block == 0 else 1
                inner = convolution(jax.nn.relu(convolution(h, step)))
                h = jax.nn.relu(inner + (convolution(h, step) if step > 1 or channels != out else h))
                channels = out
        return cross_entropy(h.mean((2, 3)) @ next(parameters) + next(parameters), y)

    return loss


def gaussian_process(x, y):
    def loss(logs):
        length, scale, noise = jnp.exp(logs)
        apart = ((x[:, None] - x[None]) ** 2).sum(-1)
        kernel = scale * jnp.exp(-0.5 * apart / length**2) + noise * jnp.eye(len(y))
        factor = jnp.linalg.cholesky(kernel)
        solved = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return 0.5 * (solved**2).sum() + jnp.log(jnp.diagonal(factor)).sum()

    return loss


def sinkhorn(other):
    def loss(points):
        costs = ((points[:, None] - other[None]) ** 2).sum(-1)
        f, g = jnp.zeros(len(points)), jnp.zeros(len(other))

        def round_(potentials, _):
            f, g = potentials
            f = -0.1 * jax.nn.logsumexp((g[None] - costs) / 0.1, 1)
            g = -0.1 * jax.nn.logsumexp((f[:, None] - costs) / 0.1, 0)
            return (f, g), None

        (f, g), _ = lax.scan(round_, (f, g), length=30)
        return (jnp.exp((f[:, None] + g[None] - costs) / 0.1) * costs).sum()

    return loss


def bodies(masses):
    def loss(places):
        apart = ((places[:, None] - places[None]) ** 2).sum(-1) + 0.01
        return -0.5 * (masses[:, None] * masses[None] / jnp.sqrt(apart)).sum()

    return loss


def predators(start, wanted):
    def loss(rates):
        a, b, c, d = rates

        def change(state):
            x, y = state
            return jnp.stack([a * x - b * x * y, c * x * y - d * y])

        def step(state, wanted):
            k1 = change(state)
            k2 = change(state + 0.005 * k1)
            k3 = change(state + 0.005 * k2)
            k4 = change(state + 0.01 * k3)
            state = state + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return state, ((state - wanted) ** 2).sum()

        return lax.scan(step, start, wanted)[1].sum() / 200

    return loss


def heat(points):
    def loss(w1, b1, w2, b2, w3, b3):
        def u(t, x):
            return jnp.tanh(jnp.tanh(jnp.concatenate([t, x], 1) @ w1 + b1) @ w2 + b2) @ w3 + b3

        def by_x(t, x):
            return jax.grad(lambda x: u(t, x).sum())(x)

        t, x = points[:, :1], points[:, 1:]
        by_t = jax.grad(lambda t: u(t, x).sum())(t)
        by_xx = jax.grad(lambda x: by_x(t, x).sum())(x)
        return ((by_t - 0.1 * by_xx) ** 2).mean()

    return loss


def autoencoder(x, noise):
    def loss(w1, b1, w2, b2, w3, b3, w4, b4):
        mean, log = jnp.split(jax.nn.relu(x @ w1 + b1) @ w2 + b2, 2, 1)
        code = mean + noise * jnp.exp(0.5 * log)
        shown = jax.nn.relu(code @ w3 + b3) @ w4 + b4
        lost = (jax.nn.softplus(shown) - x * shown).sum()
        return (lost - 0.5 * (1 + log - mean**2 - jnp.exp(log)).sum()) / len(x)

    return loss


def segmentation(x, y):
    def loss(w1, w2, w3, w4, w5):
        first = jax.nn.relu(convolved(x, w1))
        h = lax.reduce_window(first, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        h = jax.nn.relu(convolved(jax.nn.relu(convolved(h, w2)), w3))
        h = jnp.concatenate([first, h.repeat(2, 2).repeat(2, 3)], 1)
        scores = convolved(jax.nn.relu(convolved(h, w4)), w5)
        return -jnp.take_along_axis(jax.nn.log_softmax(scores, 1), y[:, None], 1).mean()

    return loss


def graph_network(x, sources, targets, y):
    def loss(w1, b1, w2, b2):
        def passed(h):
            return jax.ops.segment_sum(h[sources], targets, len(x))

        return cross_entropy(passed(jax.nn.relu(passed(x) @ w1 + b1)) @ w2 + b2, y)

    return loss


def causal(x):
    def loss(*weights):
        h = x
        for i in range(0, len(weights), 2):
            far = 2 ** (i // 2)
            gate, value = (convolved(h, w, padding=[(far, 0)], dilation=far) for w in weights[i : i + 2])
            h = h + jax.nn.sigmoid(gate) * jnp.tanh(value)
        return (h**2).mean()

    return loss


def mixture(x):
    def loss(weights, means, logs):
        z = (x[:, None] - means[None]) * jnp.exp(-logs)
        each = -0.5 * (z**2).sum(-1) - logs.sum(-1) + jax.nn.log_softmax(weights)
        return -jax.nn.logsumexp(each, 1).mean()

    return loss


def words(middle, around):
    def loss(inner, outer):
        scores = (inner[middle][:, None] * outer[around]).sum(-1)
        return -(jax.nn.log_sigmoid(scores[:, 0]) + jax.nn.log_sigmoid(-scores[:, 1:]).sum(1)).mean()

    return loss


def chain(x):
    def loss(moves, weights):
        scores = x @ weights

        def step(alpha, score):
            return jax.nn.logsumexp(alpha[:, :, None] + moves[None], 1) + score, None

        return jax.nn.logsumexp(lax.scan(step, scores[0], scores[1:])[0], 1).mean()

    return loss


def separable(x):
    def loss(w1, w2, w3, w4):
        h = jax.nn.relu(convolved(convolved(x, w1, groups=32), w2))
        return (jax.nn.relu(convolved(convolved(h, w3, groups=64), w4)) ** 2).mean()

    return loss


def attention(x):
    places = jnp.arange(64)[:, None] - jnp.arange(64)[None] + 63

    def loss(w, relative):
        q, k, v = (x @ w).reshape(4, 64, 3, 4, 16).transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(16) + relative[places].transpose(2, 0, 1)
        return ((jax.nn.softmax(scores, -1) @ v) ** 2).mean()

    return loss


tensor = jnp.asarray


def timed(loss, parameters):
    """Return a call that computes the loss with its gradients."""
    given = [jnp.asarray(x) for x in parameters]
    compiled = jax.jit(jax.value_and_grad(loss, tuple(range(len(given)))))
    return lambda: jax.block_until_ready(compiled(*given))
