"""Branches that leave values of different shapes."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    if x.sum() > 0:
        y = x
    else:
        y = x.sum()
    return y * 2


f(Tensor([1.0, 2.0]))
