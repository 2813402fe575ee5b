"""The keyboard."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return x * float(input("scale: "))


f(Tensor([1.0, 2.0]))
