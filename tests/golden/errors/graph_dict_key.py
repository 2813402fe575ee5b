"""A key of a dict."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    names = {int(x[0]): "first"}
    return x * len(names)


f(Tensor([1.0, 2.0]))
