"""A loop that changes a dtype."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    n = Tensor(0)
    while n < 3:
        n = n + x.max()
    return n


f(Tensor([1.0, 2.0]))
