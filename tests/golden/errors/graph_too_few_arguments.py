"""Too few arguments."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, y):
    return x + y


f(Tensor([1.0, 2.0]))
