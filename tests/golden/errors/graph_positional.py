"""A function under `jit` called with too many arguments."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, *, by=2):
    return x * by


f(Tensor([1.0, 2.0]), 3)
