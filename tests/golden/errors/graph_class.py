"""A class is defined outside of parsed code."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    class Pair:
        first = x

    return Pair.first


f(Tensor([1.0, 2.0]))
