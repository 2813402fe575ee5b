"""What such a text says."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    if str(x).startswith("["):
        return x
    return x * 2


f(Tensor([1.0, 2.0]))
