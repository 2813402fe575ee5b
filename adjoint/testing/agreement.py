"""Compare the results of a kernel with those of the reference, exactly or within a stated error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.storage import from_compute, to_compute
from adjoint.ir.types import BF16, F16, F32, F64, DType, TensorType, tensor
from adjoint.testing.cases import Array, Case

__all__ = ["Tolerance", "assert_agree", "spacing"]


@dataclass(frozen=True)
class Tolerance:
    """How far a kernel may be from the reference.

    ulps  units in the last place; twice as many in float64, where the reference itself is NumPy in float64
    unit whose last place it is. "element": that of the element, of the larger part of a complex number. "largest": that of the largest
          element of the result, for ops that sum or compose. The sign of a zero is then not compared: it may depend on the processor, as
          that of a product that underflows and is added to 0. "sizes": the larger one of the element and of a given size, such as that of
          the operands, which may cancel
    """

    ulps: float = 0.0
    unit: Literal["element", "largest", "sizes"] = "element"


def assert_agree(
    case: Case, stored: Array, expected: Array, type_: TensorType, tolerance: Tolerance, operands: Sequence[Array] = (),
    sizes: Array | None = None,
) -> None:
    """Raise AssertionError unless a kernel's result is the reference's, exactly or within a stated error; the sign of zero counts.

    stored    the result, as it is stored
    expected  that of the reference, before it is rounded to its dtype
    operands  of the shape of the result, for the message
    sizes     for "largest" the sums of the sizes of what is summed, if they are not those of the result; for "sizes" those of the operands
    """
    dtype = type_.dtype
    expected = np.asarray(expected)
    got = to_compute(stored, dtype)

    def fail(wrong: Array) -> None:
        where = tuple(np.argwhere(wrong)[0].tolist())  # () in a result of no dimensions
        of = [to_compute(x, t.dtype)[where] for x, t in zip(operands, case.types, strict=False)]
        raise AssertionError(
            f"{case.name} {case.op} {case.types}: {np.count_nonzero(wrong)} of {wrong.size} differ; at {where} of {of} C gives "
            f"{got[where]!r}, the reference {expected[where]!r}"
        )

    if dtype.is_complex:
        _assert_parts_agree(case, got, expected, type_, tolerance, operands, sizes)
        return
    if not dtype.is_float:
        if np.any(wrong := got != expected):
            fail(wrong)
        return
    with np.errstate(all="ignore"):
        rounded = to_compute(from_compute(expected.astype(dtype.compute.array), dtype), dtype)
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        zero = (got == 0) & (rounded == 0) & (np.signbit(got) != np.signbit(rounded))
        allowed = tolerance.ulps * (2 if dtype is F64 else 1)
        size = rounded if sizes is None else to_compute(from_compute(sizes.astype(dtype.compute.array), dtype), dtype)
        match tolerance.unit:
            case "element":
                unit = spacing(rounded, dtype)
            case "largest":
                finite = np.abs(size[np.isfinite(size)])
                unit = spacing(np.full_like(rounded, np.max(finite, initial=0.0)), dtype)
                zero = np.zeros_like(zero)
            case "sizes":
                unit = spacing(np.fmax(np.abs(rounded), np.where(np.isfinite(size), np.abs(size), 0)), dtype)
        near = np.abs(got.astype(np.float64) - expected.astype(np.float64)) <= allowed * unit.astype(np.float64)
        if np.any(wrong := ~(same | near) | zero):
            fail(wrong)


def _assert_parts_agree(
    case: Case, got: Array, expected: Array, type_: TensorType, tolerance: Tolerance, operands: Sequence[Array], sizes: Array | None
) -> None:
    """Compare complex numbers as tensors whose last axis has both parts.

    A rounded product of complex numbers is within sqrt(5) units of the exact one, where a real one is within one: R. Brent, C. Percival and
    P. Zimmermann, Error bounds on complex floating-point multiplication, Mathematics of Computation 76 (2007).
    """
    pairs = tensor(type_.dtype.part, (*type_.sizes, 2))
    parts = [np.stack([x.real, x.imag], -1) for x in (got, expected)]
    large = expected if sizes is None else sizes
    size = np.maximum(np.abs(large.real), np.abs(large.imag))
    unit = "sizes" if tolerance.unit == "element" else tolerance.unit
    exact = tolerance.ulps == 0
    assert_agree(case, parts[0], parts[1], pairs, tolerance if exact else Tolerance(math.sqrt(5.0) * tolerance.ulps, unit), (),
                 None if exact else np.stack([size, size], -1))


def spacing(array: Array, dtype: DType) -> Array:
    """Return the distance to the next number of the dtype, at each element."""
    bits = {F64: 52, F32: 23, F16: 10, BF16: 7}[dtype]
    lowest = {F64: -1022, F32: -126, F16: -14, BF16: -126}[dtype]
    _, exponent = np.frexp(array)
    return np.ldexp(np.float64(1.0), np.maximum(exponent - 1, lowest) - bits)
