"""A tensor that is an attribute, and no Parameter, is added to in a graph."""

import adjoint
from adjoint import Tensor, nn


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.total = Tensor([0.0])

    @adjoint.jit
    def construct(self, x):
        self.total += x.sum()
        return x * self.total


Net()(Tensor([1.0, 2.0]))
