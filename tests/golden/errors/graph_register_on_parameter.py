"""A hook on a Parameter is registered outside."""

import adjoint
from adjoint import Parameter, Tensor


w = Parameter(Tensor([1.0, 2.0]), name="w")


@adjoint.jit
def f(x):
    w.register_hook(lambda g: g * 2)
    return x * w


f(Tensor([1.0, 2.0]))
