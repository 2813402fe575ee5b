"""A layer whose first values are drawn is made once, outside."""

import adjoint
from adjoint import Tensor, nn


@adjoint.jit
def f(x):
    return nn.Dense(2, 3)(x)


f(Tensor([[1.0, 2.0]]))
