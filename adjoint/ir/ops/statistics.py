"""Statistics of a tensor: what `adjoint.watch.statistics` shows of it, by one op that reads it once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.types import F32, F64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer, Kernel

__all__ = ["Statistics"]

Array = np.ndarray[Any, Any]

_BLOCK = 4096
"""The numbers of a block, which has partial results of its own; as in `codegen/c/statistics.h`."""
_PARTS = 5
"""How many partial results a block has."""


@operation
class Statistics(Op):
    """Six statistics of all elements.  Of those that are finite: the Euclidean norm, the mean, the standard deviation (the root of the mean
    square) and the largest magnitude, NaN if there are none.  Then the share of zeros and of numbers that are not finite, NaN of nothing.

    Blocks are combined as in T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing
    sample variances", 1979.

    x         T[s], T f32 or f64
    result    f64[6]
    gradient  none
    batch     of the elements of all examples
    errors    TypeError: neither f32 nor f64
    """

    cuts = "statistics are for looking at a tensor"
    watches = True
    samples = (
        sample(tensor(F32, (2, 3)), values={0: [[0.0, 2.0, -0.0], [np.nan, np.inf, -1.0]]}, smooth=False, note="zeros, NaN and infinity"),
        sample(tensor(F64, (4, 3)), smooth=False),
        sample(tensor(F32), smooth=False, note="one number"),
        sample(tensor(F32, (0, 3)), smooth=False, note="NaN: statistics of nothing"),
        sample(tensor(F64, (2,)), values={0: [np.nan, -np.inf]}, smooth=False, note="nothing finite"),
        sample(tensor(F32, (3, 4101)), smooth=False, note="several blocks, the last one short"),
        sample(tensor(F64, (5,)), values={0: [1e8, 1e8 + 1, 1e8 - 1, 1e8, 1e8]}, smooth=False, note="a mean that is large"),
    )

    def infer(self, x: Any) -> TensorType:
        if not isinstance(x, TensorType) or x.dtype not in (F32, F64):
            raise mistake(self, "x", "a tensor of float32 or float64", x, TypeError)
        return tensor(F64, (6,))

    def reference(self, x: Array) -> Array:
        finite = x[np.isfinite(x)].astype(np.float64)
        with np.errstate(all="ignore"):
            of_finite = [np.linalg.norm(finite), finite.mean(), finite.std(), np.abs(finite).max()] if finite.size else [np.nan] * 4
            shares = [np.sum(x == 0) / x.size, (x.size - finite.size) / x.size] if x.size else [np.nan] * 2
        return np.array([*of_finite, *shares])

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        n = k.size(x.count, "n")
        blocks = -(-x.count // _BLOCK)
        parts = k.scratch(F64, blocks * _PARTS, "parts")
        with k.stage_range(k.size(blocks, "blocks"), 16) as (begin, end):
            k.run(f"adjoint_statistics_{x.dtype.name}", x, parts, n, begin, end)
        with k.stage_range(1, 1):
            k.run(f"adjoint_statistics_combined_{x.dtype.name}", parts, out, n)
