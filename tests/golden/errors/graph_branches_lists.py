"""Branches that leave lists of different lengths."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    steps = [x]
    if x.sum() > 0:
        steps.append(x * 2)
    return sum(steps)


f(Tensor([1.0, 2.0]))
