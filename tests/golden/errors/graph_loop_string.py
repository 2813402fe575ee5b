"""A loop that changes a string."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, n):
    name = "x"
    for _ in range(int(n)):
        name = name + "'"
        x = x * 2
    return x, name


f(Tensor([1.0, 2.0]), Tensor(2))
