"""An axis."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, axis):
    return x.sum(axis=int(axis))


f(Tensor([[1.0, 2.0]]), Tensor(0))
