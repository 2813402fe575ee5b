"""A name that one branch deletes."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    y = x * 2
    if x.sum() > 0:
        del y
    return y


f(Tensor([1.0, 2.0]))
