"""An index of a list."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, i):
    steps = [x, [x * 2], x * 3]
    return steps[int(i)]


f(Tensor([1.0, 2.0]), Tensor(1))
