"""A `return` in a loop, and one of another type after it."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    while x.sum() < 10:
        x = x * 2
        if x.max() > 5:
            return x.max()
    return x


f(Tensor([1.0, 2.0]))
