"""`and` gives one of its operands."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    y = x.sum() > 0 and x
    return y


f(Tensor([1.0, 2.0]))
