"""A name that is assigned later."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    y = x * scale
    scale = 2
    return y


f(Tensor([1.0, 2.0]))
