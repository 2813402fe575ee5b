"""Thirty-two networks trained at once: `functional` and `vmap`. Where they differ, nobody measured.

Each network begins with other weights, and has a learning rate of its own. Their spread is large in the gap between the measurements. The
values are those that each gets when it is trained alone, to the bit.

    adjoint run examples/ensemble.py [--graph] [--epochs 300] [--picture ensemble.png]
"""

import argparse

import mindspore as ms
import mindspore.nn as nn
import numpy as np
from mindspore import Tensor, ops

COUNT = 32


def make():
    return nn.SequentialCell(nn.Dense(1, 24), nn.Tanh(), nn.Dense(24, 24), nn.Tanh(), nn.Dense(24, 1))


def draw(x, y, places, results, path):
    """Save the measurements, the networks, and their mean."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    mean, spread = results.mean(0), results.std(0)
    axes.plot(places, results.T, color="tab:blue", alpha=0.15, linewidth=1)
    axes.fill_between(places, mean - 2 * spread, mean + 2 * spread, alpha=0.2)
    axes.plot(places, mean, color="tab:blue")
    axes.plot(x, y, "k.")
    axes.set(title=f"{COUNT} networks, their mean and twice their spread", ylim=(-2.5, 2.5))
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description="An ensemble of networks, trained at once")
    parser.add_argument("--graph", action="store_true", help="run in GRAPH_MODE")
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--picture", help="save a picture in this file")
    args = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE if args.graph else ms.PYNATIVE_MODE)
    ms.set_seed(2)

    noise = np.random.default_rng(0)
    x = np.concatenate((noise.uniform(-2, -0.5, 20), noise.uniform(0.8, 2, 20))).astype(np.float32)[:, None]
    y = (np.sin(3 * x) + 0.05 * noise.standard_normal(x.shape)).astype(np.float32)
    data = (Tensor(x), Tensor(y))

    networks = [make() for _ in range(COUNT)]
    rates = np.geomspace(0.005, 0.02, COUNT)
    predict, weights = ms.functional(networks)
    step, state = ms.functional([nn.Adam(net.trainable_params(), float(rate)) for net, rate in zip(networks, rates)])

    def loss(weights, x, y):
        return ((predict(weights, x) - y) ** 2).mean()

    def train(weights, state, x, y):
        value, gradients = ms.value_and_grad(loss)(weights, x, y)
        weights, state = step(gradients, state, weights)
        return value, weights, state

    train_all = ms.vmap(train, in_axes=(0, 0, None, None))
    for _ in range(args.epochs):
        losses, weights, state = train_all(weights, state, *data)

    net = networks[0]
    optimizer = nn.Adam(net.trainable_params(), float(rates[0]))
    gradient = ms.grad(lambda x, y: ((net(x) - y) ** 2).mean(), None, net.trainable_params())
    calls = []
    net[4].register_backward_hook(lambda cell, by_inputs, by_output: calls.append(float(ops.norm(by_output[0]))))
    for _ in range(args.epochs):
        optimizer(gradient(*data))
    same = (net[4].weight.asnumpy() == weights["4"]["weight"][0].asnumpy()).all()
    print(f"one network alone, gradient of its result {calls[0]:.3f} at first, {calls[-1]:.4f} at last; the same weights: {same}")

    places = np.linspace(-2.2, 2.2, 111).astype(np.float32)
    results = ms.vmap(predict, (0, None))(weights, Tensor(places[:, None])).asnumpy()[..., 0]
    if args.picture:
        draw(x, y, places, results, args.picture)
    gap = (places > -0.3) & (places < 0.6)
    near = (np.abs(places) > 1) & (np.abs(places) < 1.8)
    spread = results.std(0)
    print(f"spread in the gap {spread[gap].mean():.3f}, among measurements {spread[near].mean():.3f}")
    print(f"explained by a network, on average: {1 - float(losses.mean()) / y.var():.3f}")


if __name__ == "__main__":
    main()
