"""An op's ValueError likewise."""

import adjoint
from adjoint import Tensor, ops


@adjoint.jit
def f(x, y):
    return ops.relu(x) + ops.relu(y) * 2


f(Tensor([1.0, 2.0]), Tensor([1.0, 2.0, 3.0]))
