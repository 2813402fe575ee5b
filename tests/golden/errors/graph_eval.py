"""Code in a string."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return eval("x * 2")


f(Tensor([1.0, 2.0]))
