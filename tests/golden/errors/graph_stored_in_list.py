"""A tensor kept in a list of the module."""

import adjoint
from adjoint import Tensor


history = []


@adjoint.jit
def f(x):
    history.append(x.sum())
    return x * 2


f(Tensor([1.0, 2.0]))
