"""Writing in place to what a tensor has chosen."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    a, b = x * 1, x * 2
    y = a if x.sum() > 0 else b
    y[0] = 1
    return a, b


f(Tensor([1.0, 2.0]))
