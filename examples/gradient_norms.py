"""The gradient norm of each example finds wrong labels: `vmap` of a gradient by the weights.

A network learns which of two half circles a point belongs to, from labels of which one in 20 is wrong. Afterwards the examples with the
largest gradients are those with wrong labels. A backward hook, which is called for each example, shows where a gradient is large.

    adjoint run examples/gradient_norms.py [--graph] [--epochs 150] [--picture norms.png]
"""

import argparse

import mindspore as ms
import mindspore.nn as nn
import numpy as np
from mindspore import Tensor, ops

WRONG = 10


def half_circles(count):
    """Points [count, 2] on two half circles, their labels [count], and which labels are wrong."""
    noise = np.random.default_rng(0)
    angle = np.pi * noise.random(count)
    label = np.arange(count) % 2
    points = np.stack((np.cos(angle) + label - 0.5, np.sin(angle) * (1 - 2 * label) + 0.25 * (2 * label - 1)), 1)
    wrong = np.zeros(count, bool)
    wrong[noise.choice(count, WRONG, replace=False)] = True
    points += 0.08 * noise.standard_normal(points.shape)
    return points.astype(np.float32), np.where(wrong, 1 - label, label).astype(np.int32), wrong


def draw(points, norms, wrong, path):
    """Save the points, as large as their gradients, with rings around the wrong labels."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    shown = axes.scatter(*points.T, s=10 + 60 * norms / norms.max(), c=norms, cmap="viridis")
    axes.scatter(*points[wrong].T, s=160, facecolors="none", edgecolors="tab:red", label="wrong label")
    figure.colorbar(shown, label="norm of the gradient of the example")
    axes.set(title="Gradients of single examples", aspect="equal")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description="Gradient norms of single examples")
    parser.add_argument("--graph", action="store_true", help="run in GRAPH_MODE")
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--picture", help="save a picture in this file")
    args = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE if args.graph else ms.PYNATIVE_MODE)
    ms.set_seed(1)

    points, labels, wrong = half_circles(200)
    x, y = Tensor(points), Tensor(labels)
    net = nn.SequentialCell(nn.Dense(2, 16), nn.Tanh(), nn.Dense(16, 2))
    weights = net.trainable_params()

    def loss(x, y):
        return ops.cross_entropy(net(x), y)

    gradient = ms.value_and_grad(loss, None, weights)
    optimizer = nn.Adam(weights, learning_rate=0.02)
    for _ in range(args.epochs):
        value, gradients = gradient(x, y)
        optimizer(gradients)

    def norm(x, y):
        gradients = ms.grad(lambda x, y: loss(x[None], y[None]), None, weights)(x, y)
        return ops.sqrt(sum((g * g).sum() for g in gradients))

    norms = ms.vmap(norm)(x, y).asnumpy()
    seen = []
    net[2].register_backward_hook(lambda cell, by_inputs, by_output: seen.append(float(ops.norm(by_output[0]))))
    again = ms.vmap(norm)(x[:20], y[:20]).asnumpy()
    print(f"the hook was called {len(seen)} times, with gradients up to {max(seen):.3f}; same norms: {(again == norms[:20]).all()}")
    print(f"loss {float(value):.4f}, median norm {np.median(norms):.4f}, largest {norms.max():.4f}")
    largest = np.argsort(-norms)[:WRONG]
    print(f"share of wrong labels among the {WRONG} largest gradients: {wrong[largest].mean():.2f}")
    if args.picture:
        draw(points, norms, wrong, args.picture)


if __name__ == "__main__":
    main()
