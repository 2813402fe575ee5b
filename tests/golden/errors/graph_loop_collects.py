"""A loop that makes a list longer."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    steps = []
    while x.sum() > 1:
        x = x / 2
        steps.append(x)
    return steps


f(Tensor([1.0, 2.0]))
