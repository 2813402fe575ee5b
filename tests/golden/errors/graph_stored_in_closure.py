"""An object with a tensor, kept in a name of the function around."""

from types import SimpleNamespace

import adjoint
from adjoint import Tensor


def made():
    last = None

    @adjoint.jit
    def f(x):
        nonlocal last
        last = SimpleNamespace(last=x * 2)
        return x

    return f


made()(Tensor([1.0, 2.0]))
