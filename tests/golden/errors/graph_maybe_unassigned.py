"""A name that one branch assigns, used behind the block that it stands in."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, steps):
    for _ in range(steps):
        if x.sum() > 0:
            y = x * 2
    return y


f(Tensor([1.0, 2.0]), 2)
