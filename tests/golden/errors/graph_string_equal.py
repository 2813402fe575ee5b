"""Whether such a text is another."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    if f"{x.sum()}" == "3.0":
        return x
    return x * 2


f(Tensor([1.0, 2.0]))
