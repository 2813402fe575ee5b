"""An attribute that is not there."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return x.summ()


f(Tensor([1.0, 2.0]))
