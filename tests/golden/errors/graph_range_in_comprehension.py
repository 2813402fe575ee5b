"""A comprehension over it."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, n):
    return sum([x * i for i in range(int(n))])


f(Tensor([1.0, 2.0]), Tensor(3))
