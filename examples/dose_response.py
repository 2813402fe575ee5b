"""An operator of one's own: the Hill curve of a dose and its effect, fitted to measurements by its gradient.

`hill` is written once in NumPy, once as a line of C, and its gradient in Tensors. A check compares them before anything is fitted. A hook
shows how the gradient of the dose at half the effect fades while the fit comes near.

    adjoint run examples/dose_response.py [--graph] [--epochs 300]
"""

import argparse

import mindspore as ms
import mindspore.nn as nn
import numpy as np
from mindspore import Parameter, Tensor, ops

from adjoint import operator
from adjoint.testing import check_operator, sample


def hill_bprop(dose, half, out, dout, *, steepness):
    """The slopes of the curve: n (1 - y) y / x, and the opposite with `half` in the place of x."""
    slope = steepness * out * (1 - out) * dout
    return slope / dose, -slope / half


@operator(
    "hill(dose, half, *, steepness=2.0)",
    c="1 / (1 + pow(half / dose, steepness))",
    bprop=hill_bprop,
    samples=[sample((2, 3), (3,), domain=(0.5, 4.0), steepness=steepness) for steepness in (2.0, 1.5)],
)
def hill(dose, half, *, steepness):
    """The effect of a dose > 0, between 0 and 1; it is 1/2 where the dose is `half`."""
    return 1 / (1 + (half / dose) ** steepness)


class Curve(nn.Cell):
    """The effect of doses [n], with the largest effect and the dose at half of it as parameters."""

    def __init__(self):
        super().__init__()
        self.largest = Parameter(Tensor(1.0, ms.float32), name="largest")
        self.half = Parameter(Tensor(1.0, ms.float32), name="half")

    def construct(self, dose):
        return self.largest * hill(dose, self.half, steepness=2.0)


def main():
    parser = argparse.ArgumentParser(description="A Hill curve, fitted to measurements")
    parser.add_argument("--graph", action="store_true", help="run in GRAPH_MODE")
    parser.add_argument("--epochs", type=int, default=300)
    args = parser.parse_args()
    ms.set_context(mode=ms.GRAPH_MODE if args.graph else ms.PYNATIVE_MODE)

    print(check_operator(hill))
    noise = np.random.default_rng(1)
    dose = np.geomspace(0.1, 30, 40).astype(np.float32)
    effect = 3 / (1 + (2 / dose) ** 2) + 0.03 * noise.standard_normal(40)
    dose, effect = Tensor(dose), Tensor(effect.astype(np.float32))

    net = Curve()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params(), learning_rate=0.05))
    pulls = []
    net.half.register_hook(lambda gradient: pulls.append(float(gradient)))
    for _ in range(args.epochs):
        loss = step(dose, effect)
    print(f"gradient by the dose at half the effect: {pulls[0]:.3f} at first, {abs(pulls[-1]):.3f} at last")
    print(f"largest effect {float(net.largest):.2f}, loss {float(loss):.5f}")
    print(f"explained: {1 - float(loss) / float(ops.var(effect)):.3f}")


if __name__ == "__main__":
    main()
