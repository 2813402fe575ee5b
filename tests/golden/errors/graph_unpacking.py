"""More names than values."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    a, b, c = x
    return a + b + c


f(Tensor([1.0, 2.0]))
