"""A network that solves an equation: a damped oscillation, u'' + 2 d u' + w^2 u = 0 with u(0) = 1 and u'(0) = 0.

The loss is the square of the residual, with first and second derivatives of the network by the time at each point: `vmap` of `hessian`. A
hook on a weight shows how its gradient fades.

    adjoint run examples/physics_informed.py [--graph] [--epochs 400] [--picture oscillation.png]
"""

import argparse

import mindspore as ms
import mindspore.nn as nn
import numpy as np
from mindspore import Tensor, ops

DAMPING, FREQUENCY, END = 0.4, 3.0, 2.0


def exact(t):
    """The solution at times t."""
    w = np.sqrt(FREQUENCY**2 - DAMPING**2)
    return np.exp(-DAMPING * t) * (np.cos(w * t) + DAMPING / w * np.sin(w * t))


def draw(t, u, path):
    """Save the network's solution and the exact one."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, sharex=True, figsize=(7, 5))
    above.plot(t, exact(t), color="0.7", linewidth=6, label="exact")
    above.plot(t, u, label="network")
    above.set(title="A damped oscillation, learned from its equation", ylabel="u")
    above.legend()
    below.plot(t, u - exact(t))
    below.set(xlabel="t", ylabel="error")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description="A damped oscillation, learned from its equation")
    parser.add_argument("--graph", action="store_true", help="run in GRAPH_MODE")
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--picture", help="save a picture in this file")
    args = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE if args.graph else ms.PYNATIVE_MODE)
    ms.set_seed(3)

    net = nn.SequentialCell(nn.Dense(1, 24), nn.Tanh(), nn.Dense(24, 24), nn.Tanh(), nn.Dense(24, 1))
    weights = net.trainable_params()

    def u(t):
        return 1 + t * t * net(t.reshape((1, 1)))[0, 0]  # has the value and the slope at 0 for any weights

    def residual(t):
        return ms.hessian(u)(t) + 2 * DAMPING * ms.grad(u)(t) + FREQUENCY**2 * u(t)

    def loss(times):
        return (ms.vmap(residual)(times) ** 2).mean()

    times = Tensor(np.linspace(0, END, 40, dtype=np.float32))
    rate = nn.cosine_decay_lr(1e-4, 2e-2, args.epochs, args.epochs, 1)
    step, optimizer = ms.value_and_grad(loss, None, weights), nn.Adam(weights, learning_rate=rate)
    pulls = []
    net[0].weight.register_hook(lambda gradient: pulls.append(float(ops.norm(gradient))))
    for epoch in range(args.epochs):
        value, gradients = step(times)
        optimizer(gradients)
        if epoch % 100 == 0:
            print(f"epoch {epoch}: loss {float(value):.4f}")
    print(f"gradient of the first weight: {pulls[0]:.3f} at first, {pulls[-1]:.3f} at last")
    found = ms.vmap(u)(times).asnumpy()
    if args.picture:
        draw(times.asnumpy(), found, args.picture)
    error = np.abs(found - exact(times.asnumpy())).max()
    print(f"largest error {error:.4f}, so good to: {1 - error:.3f}")


if __name__ == "__main__":
    main()
