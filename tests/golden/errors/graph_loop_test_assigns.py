"""A test that assigns a name."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    while (s := x.sum()) > 1:
        x = x / s
    return x


f(Tensor([1.0, 2.0]))
