"""A Python number in an attribute would count graphs, not calls."""

import adjoint
from adjoint import Tensor, nn


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def step(self):
        self.calls += 1
        return self.calls

    @adjoint.jit
    def construct(self, x):
        return x * self.step()


Net()(Tensor([1.0, 2.0]))
