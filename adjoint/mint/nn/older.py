"""Layers under the names that MindSpore's `nn` has for them, which loads them from here."""

from __future__ import annotations

from adjoint.mint.nn.activation import PReLU
from adjoint.mint.nn.linear import Dropout2d
from adjoint.mint.nn.normalization import LayerNorm

__all__ = ["Dropout2dExt", "LayerNormExt", "PReLUExt"]


class Dropout2dExt(Dropout2d):
    """`mint.nn.Dropout2d`."""


class LayerNormExt(LayerNorm):
    """`mint.nn.LayerNorm`."""


class PReLUExt(PReLU):
    """`mint.nn.PReLU`."""
