"""A random number of NumPy's."""

import numpy as np

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(x):
    return x * np.random.rand()


f(Tensor([1.0, 2.0]))
