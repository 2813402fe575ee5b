"""A loop that changes a shape."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    y = x.sum()
    while y.sum() < 10:
        y = y + x
    return y


f(Tensor([1.0, 2.0]))
