"""A random choice of Python's."""

import random

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return x * random.choice([1.0, 2.0])


f(Tensor([1.0, 2.0]))
