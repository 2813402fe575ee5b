"""An `if` in a comprehension."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    positive = [row for row in x if row > 0]
    return sum(positive)


f(Tensor([1.0, -2.0]))
