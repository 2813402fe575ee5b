"""Windows of `M` weights, Float32: 1 in the middle, decreasing to both sides.

A window of at most one number is all ones.  Raise TypeError for an `M` that is not an int.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ir.types import F32, F64
from adjoint.numpy.dtypes import pi
from adjoint.ops.arguments import integer
from adjoint.ops.arithmetic import abs, cos
from adjoint.ops.creation import arange, ones
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["bartlett", "blackman", "hamming", "hanning"]


def _window(op: str, M: Any, weight: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the weights at `M` evenly spaced points from -1 to 1."""
    count = integer(op, "M", M)
    if count <= 1:
        return ones(max(0, count))
    return weight(arange(1 - count, count, 2, dtype=F64) / (count - 1)).astype(F32)


def bartlett(M: Any) -> Tensor:
    """Return the triangular window 1 - |x|, for x from -1 to 1."""
    return _window("bartlett", M, lambda x: 1.0 - abs(x))


def blackman(M: Any) -> Tensor:
    """Return the Blackman window 0.42 + 0.5 cos(pi x) + 0.08 cos(2 pi x), for x from -1 to 1."""
    return _window("blackman", M, lambda x: 0.42 + 0.5 * cos(pi * x) + 0.08 * cos(2.0 * pi * x))


def hamming(M: Any) -> Tensor:
    """Return the Hamming window 0.54 + 0.46 cos(pi x), for x from -1 to 1."""
    return _window("hamming", M, lambda x: 0.54 + 0.46 * cos(pi * x))


def hanning(M: Any) -> Tensor:
    """Return the Hann window 0.5 + 0.5 cos(pi x), for x from -1 to 1."""
    return _window("hanning", M, lambda x: 0.5 + 0.5 * cos(pi * x))
