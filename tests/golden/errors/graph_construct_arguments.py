"""A Cell called with too many arguments."""

import adjoint
from adjoint import Tensor, nn


class Net(nn.Cell):
    def construct(self, x):
        return x * 2


net = Net()


@adjoint.jit
def f(x):
    return net(x, x)


f(Tensor([1.0, 2.0]))
