"""A Kalman filter over a batch of tracks: written for one track, with a loop over its times and an `if` for measurements that are missing.

Objects move through a plane, and their positions are measured with noise, if at all. `vmap` filters all tracks at once, and the gradient
of the likelihood finds how large the noise is. A hook on that number shows its gradient.

    adjoint run examples/kalman_filter.py [--graph] [--epochs 20] [--picture tracks.png]
"""

import argparse

import mindspore as ms
import mindspore.nn as nn
import numpy as np
from mindspore import Parameter, Tensor, ops

TRACKS, TIMES, NOISE, PUSH = 24, 20, 0.5, 0.05
MOTION = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]], np.float32)  # position and velocity
SEES = np.eye(2, 4, dtype=np.float32)


def measured():
    """True states [tracks, times, 4], measured positions [tracks, times, 2], and which measurements exist [tracks, times]."""
    noise = np.random.default_rng(5)
    state = np.concatenate((noise.uniform(-5, 5, (TRACKS, 2)), noise.normal(0, 0.4, (TRACKS, 2))), 1)
    states = []
    for _ in range(TIMES):
        state = state @ MOTION.T
        state[:, 2:] += PUSH * noise.standard_normal((TRACKS, 2))
        states.append(state)
    states = np.stack(states, 1)
    positions = states[..., :2] + NOISE * noise.standard_normal((TRACKS, TIMES, 2))
    return states.astype(np.float32), positions.astype(np.float32), noise.random((TRACKS, TIMES)) < 0.7


def draw(states, positions, exists, found, path):
    """Save some tracks: the truth, the measurements and what the filter makes of them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 6))
    for i in range(6):
        (line,) = axes.plot(*found[i, :, :2].T)
        axes.plot(*states[i, :, :2].T, color="0.6", linestyle="dashed")
        axes.plot(*positions[i, exists[i]].T, ".", color=line.get_color(), alpha=0.4)
    axes.set(title="Tracks: true (dashed), measured (dots), filtered", aspect="equal")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


class Filter(nn.Cell):
    """The states [times, 4] of one track by its measurements, and minus the logarithm of their likelihood."""

    def __init__(self):
        super().__init__()
        self.noise = Parameter(Tensor(1.0, ms.float32), name="noise")
        self.motion, self.sees = Tensor(MOTION), Tensor(SEES)
        self.pushed = Tensor(np.diag([0, 0, PUSH**2, PUSH**2]).astype(np.float32))
        self.one = Tensor(np.eye(2, dtype=np.float32))

    def construct(self, positions, exists):
        state = ops.concat((positions[0], ops.zeros(2)))
        spread = ops.diag(Tensor([4.0, 4.0, 1.0, 1.0]))
        surprise = ops.zeros(())
        states = ops.zeros((TIMES, 4))
        for t in range(TIMES):
            state = self.motion @ state
            spread = self.motion @ spread @ self.motion.T + self.pushed
            if exists[t]:
                off = positions[t] - self.sees @ state
                expected = self.sees @ spread @ self.sees.T + self.noise * self.noise * self.one
                inverse = ops.inverse(expected)
                gain = spread @ self.sees.T @ inverse
                state = state + gain @ off
                spread = spread - gain @ self.sees @ spread
                surprise = surprise + 0.5 * (ops.dot(off[None], (inverse @ off)[:, None])[0, 0] - ops.log(ops.det(inverse)))
            states[t] = state
        return states, surprise


def main():
    parser = argparse.ArgumentParser(description="A Kalman filter over a batch of tracks")
    parser.add_argument("--graph", action="store_true", help="run in GRAPH_MODE")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--picture", help="save a picture in this file")
    args = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE if args.graph else ms.PYNATIVE_MODE)

    states, positions, exists = measured()
    net = Filter()
    tracks = (Tensor(positions), Tensor(exists))

    def loss(positions, exists):
        return ms.vmap(net)(positions, exists)[1].mean()

    step, optimizer = ms.value_and_grad(loss, None, net.trainable_params()), nn.Adam(net.trainable_params(), learning_rate=0.05)
    pulls = []
    net.noise.register_hook(lambda gradient: pulls.append(float(gradient)))
    for _ in range(args.epochs):
        _, gradients = step(*tracks)
        optimizer(gradients)
    print(f"gradient by the noise: {pulls[0]:.3f} at first, {pulls[-1]:.3f} at last; noise {float(net.noise):.2f}")
    found = ms.vmap(net)(*tracks)[0].asnumpy()
    if args.picture:
        draw(states, positions, exists, found, args.picture)
    measured_error, error = (np.sqrt(((x - states[..., :2]) ** 2).sum(-1).mean()) for x in (positions, found[..., :2]))
    print(f"error of measurements {measured_error:.2f}, of the filter {error:.2f}, so less by: {1 - error / measured_error:.3f}")


if __name__ == "__main__":
    main()
