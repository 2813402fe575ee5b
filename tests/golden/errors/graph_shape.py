"""A shape."""

import adjoint
from adjoint import Tensor, ops


@adjoint.jit
def f(x, n):
    return ops.zeros((int(n), 2)) + x


f(Tensor([1.0, 2.0]), Tensor(3))
