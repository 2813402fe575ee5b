"""What is called is no function."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    scale = 2
    return scale(x)


f(Tensor([1.0, 2.0]))
