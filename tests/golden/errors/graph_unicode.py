"""Columns count characters, not bytes."""

import adjoint
from adjoint import Tensor


@adjoint.jit
def f(größe):
    return größe + "größer", größe[5]


f(Tensor([1.0, 2.0]))
