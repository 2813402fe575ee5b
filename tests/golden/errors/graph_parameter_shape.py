"""A Parameter keeps its type in a graph."""

import adjoint
from adjoint import Parameter, Tensor, nn


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]), name="w")

    def construct(self, x):
        self.w = x.sum()
        return x * self.w


net = Net()
adjoint.jit(lambda x: net(x))(Tensor([1.0, 2.0]))
