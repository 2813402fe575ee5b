"""A tensor of several elements is neither true nor false."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    if x > 0:
        return x
    return -x


f(Tensor([1.0, -2.0]))
