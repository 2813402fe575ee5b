"""A lambda's default is computed when the lambda is."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    scale = lambda y, by=missing: y * by
    return scale(x)


f(Tensor([1.0, 2.0]))
