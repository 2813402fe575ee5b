"""Tensors; see `adjoint.runtime.tensor`."""

from adjoint.runtime.tensor import Tensor

__all__ = ["Tensor"]
