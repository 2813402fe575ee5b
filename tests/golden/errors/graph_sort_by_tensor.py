"""The order of a list."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return sorted([x[0], x[1]])


f(Tensor([2.0, 1.0]))
