"""An IndexError likewise."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return x[0] + x[2]


f(Tensor([1.0, 2.0]))
