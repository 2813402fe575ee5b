"""What another library answers."""

import os

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return x * os.getpid()


f(Tensor([1.0, 2.0]))
