"""A hook on a cell likewise."""

import adjoint
from adjoint import Tensor, nn


def report(cell, inputs, output):
    print(output)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()

    @adjoint.jit
    def construct(self, x):
        self.relu.register_forward_hook(report)
        return self.relu(x)


Net()(Tensor([1.0, -2.0]))
