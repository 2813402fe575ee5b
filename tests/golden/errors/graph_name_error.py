"""A name that is not there."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return x * scale


f(Tensor([1.0, 2.0]))
