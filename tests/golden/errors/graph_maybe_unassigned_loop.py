"""A name that the body of a loop assigns."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    while x.sum() < 10:
        x = x * 2
        last = x
    return last


f(Tensor([1.0, 2.0]))
