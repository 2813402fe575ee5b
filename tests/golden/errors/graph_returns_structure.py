"""Returns of different structures."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    if x.sum() > 0:
        return x, x * 2
    return x


f(Tensor([1.0, 2.0]))
