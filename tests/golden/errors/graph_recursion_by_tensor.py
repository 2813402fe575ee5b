"""A recursion that only a tensor ends."""

import adjoint
from adjoint import Tensor


def factorial(n):
    if n <= 1:
        return n
    return n * factorial(n - 1)


@adjoint.jit
def f(n):
    return factorial(n)


f(Tensor(3.0))
