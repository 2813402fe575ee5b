"""A name that the path taken does not assign: at run time, as in Python."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    if x.sum() > 0:
        y = x * 2
    return y


f(Tensor([1.0, 2.0]))
f(Tensor([-1.0, -2.0]))
