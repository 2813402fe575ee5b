"""`try` has no meaning in a graph."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    try:
        y = 1 / x
    except ZeroDivisionError:
        y = x
    return y


f(Tensor([1.0, 2.0]))
