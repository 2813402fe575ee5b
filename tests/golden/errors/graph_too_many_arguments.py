"""Too many arguments, to a function that parsed code calls."""

import adjoint
from adjoint import Tensor


def doubled(x):
    return x * 2


@adjoint.jit
def f(x):
    return doubled(x, 3)


f(Tensor([1.0, 2.0]))
