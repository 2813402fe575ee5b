"""An op's TypeError keeps its type, and shows the line."""

import adjoint
from adjoint import Tensor, ops


@adjoint.jit
def f(x):
    y = x * 2
    return ops.matmul(y, "two")


f(Tensor([[1.0, 2.0]]))
