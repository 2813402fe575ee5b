"""Two Parameters of one name in a net, as a graph."""

import adjoint
from adjoint import Parameter, Tensor, nn


class Scaled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scale, self.shift = Parameter(Tensor([2.0]), name="w"), Parameter(Tensor([1.0]), name="w")

    def construct(self, x):
        return x * self.scale + self.shift


net = Scaled()
adjoint.jit(lambda x: net(x))(Tensor([3.0]))
