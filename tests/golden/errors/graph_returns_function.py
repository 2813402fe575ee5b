"""A function that is returned and assigns a name around it: each call would have to have a name of its own."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    count = 0

    def counted(y):
        nonlocal count
        count += 1
        return x * y * count

    return counted


f(Tensor([1.0, 2.0]))
