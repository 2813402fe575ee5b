"""A number of the run that has more than 64 bits."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, n):
    return x * 10 ** int(n)


f(Tensor([1.0, 2.0]), Tensor(30))
