"""A keyword that the function does not have."""

import adjoint
from adjoint import Tensor


def scaled(x, by=2):
    return x * by


@adjoint.jit
def f(x):
    return scaled(x, scale=3)


f(Tensor([1.0, 2.0]))
