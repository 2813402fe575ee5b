"""A range whose length is not known is not a list."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x, n):
    rounds = list(range(int(n)))
    return x * len(rounds)


f(Tensor([1.0, 2.0]), Tensor(3))
