"""Its length."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, n):
    return x * len(range(int(n)))


f(Tensor([1.0, 2.0]), Tensor(3))
