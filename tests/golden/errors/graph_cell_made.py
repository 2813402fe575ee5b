"""A layer whose first values each call draws is trained outside only."""

import adjoint
from adjoint import Tensor, nn


@adjoint.jit
def f(x):
    net = nn.Dense(2, 3)
    return adjoint.grad(net, None, net.trainable_params())(x)


f(Tensor([[1.0, 2.0]]))
