"""A list of tensors kept in a global name."""

import adjoint
from adjoint import Tensor


last = None


@adjoint.jit
def f(x):
    global last
    last = [x * 2]
    return last


f(Tensor([1.0, 2.0]))
