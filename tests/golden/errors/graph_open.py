"""A file."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    scale = open("scale.txt").read()
    return x * float(scale)


f(Tensor([1.0, 2.0]))
