"""The two sides of a conditional expression."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return x * (x if x.sum() > 0 else x.astype(adjoint.int32)) + 1


f(Tensor([1.0, 2.0]))
