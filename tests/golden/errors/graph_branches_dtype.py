"""Branches that leave values of different dtypes."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    y = x
    if x.sum() > 0:
        y = x.astype(adjoint.float16)
    return y


f(Tensor([1.0, 2.0]))
