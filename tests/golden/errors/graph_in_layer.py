"""The mistake of a layer shows the line that called it."""

import adjoint
from adjoint import Tensor, nn


dense = nn.Dense(3, 2)


@adjoint.jit
def f(x):
    return dense(x)


f(Tensor([[1.0, 2.0]]))
