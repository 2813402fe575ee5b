"""Operators as objects that compute special functions of several operands."""

from __future__ import annotations

from typing import Any

from adjoint.ir.ops import gamma
from adjoint.ops import special
from adjoint.ops.arguments import whole
from adjoint.ops.primitive import Primitive, plain
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Betainc", "Mvlgamma", "Polygamma", "Zeta"]

Betainc = plain("Betainc", special.betainc)
Polygamma = plain("Polygamma", special.polygamma)
Zeta = plain("Zeta", special.zeta)


class Mvlgamma(Primitive):
    """The logarithm of the multivariate gamma function of dimension `p`."""

    def __init__(self, p: int):
        super().__init__(p=gamma.Mvlgamma(whole("Mvlgamma", "p", p)).p)

    def __call__(self, x: Any) -> Tensor:
        return special.mvlgamma(x, self.p)
