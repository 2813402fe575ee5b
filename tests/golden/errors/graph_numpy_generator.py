"""A generator of NumPy's."""

import numpy as np

import adjoint
from adjoint import Tensor


generator = np.random.default_rng(7)


@adjoint.jit
def f(x):
    return x * generator.normal()


f(Tensor([1.0, 2.0]))
