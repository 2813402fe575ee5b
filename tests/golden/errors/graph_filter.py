"""The same by `filter`."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return sum(filter(lambda row: row > 0, x))


f(Tensor([1.0, -2.0]))
