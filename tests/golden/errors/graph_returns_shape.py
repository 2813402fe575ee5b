"""Returns of different shapes."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    if x.sum() > 0:
        return x
    return x.sum()


f(Tensor([1.0, 2.0]))
