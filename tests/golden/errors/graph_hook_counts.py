"""A hook that assigns a name of the parsed function around it."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    calls = 0

    def count(gradient):
        nonlocal calls
        calls += 1

    x.register_hook(count)
    return x * 2


f(Tensor([1.0, 2.0]))
