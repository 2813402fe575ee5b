"""Nor is one that is defined inside of a parsed function."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    async def doubled(y):
        return y * 2

    return doubled(x)


f(Tensor([1.0, 2.0]))
