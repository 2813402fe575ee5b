"""Branches that leave different strings."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    if x.sum() > 0:
        mode = "up"
    else:
        mode = "down"
    return x, mode


f(Tensor([1.0, 2.0]))
