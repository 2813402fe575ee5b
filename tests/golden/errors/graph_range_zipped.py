"""A `zip` over it."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, n):
    total = x
    for i, row in zip(range(int(n)), [x, x * 2], strict=False):
        total = total + row * i
    return total


f(Tensor([1.0, 2.0]), Tensor(2))
