"""A recursion without end."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return f(x - 1)


f(Tensor(3.0))
