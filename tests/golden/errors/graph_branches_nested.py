"""A name that two branches leave of different types, used behind the block that they stand in."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, steps):
    y = x
    for _ in range(steps):
        if x.sum() > 0:
            y = x.sum()
    return y * 2


f(Tensor([1.0, 2.0]), 1)
