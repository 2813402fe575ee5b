"""So do its functions of one number."""

import math

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return x * math.sqrt(float(x.sum()))


f(Tensor([1.0, 2.0]))
