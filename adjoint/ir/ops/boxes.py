"""Ops on boxes, for object detectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.types import BOOL, F32, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer, Kernel

__all__ = ["Suppress"]

Array = np.ndarray[Any, Any]
_OVERLAPS = [[1.0, 0.6, 0.2, 0.0], [0.6, 1.0, 0.7, 0.0], [0.2, 0.7, 1.0, 0.9], [0.0, 0.0, 0.9, 1.0]]


@operation
class Suppress(Op):
    """Which of n boxes are kept: in order, each one that overlaps no box kept before by more than the threshold.

    overlaps   T[n, n], T a floating point type; element [i, j], i < j, says how much i and j overlap
    result     bool[n]; a NaN is no overlap
    gradient   none: piecewise constant
    errors     ValueError: not a square matrix; TypeError: not floating point
    """

    threshold: float
    cuts = "suppress is piecewise constant"
    samples = (
        sample(tensor(F32, (4, 4)), values={0: _OVERLAPS}, threshold=0.5, smooth=False, note="a choice"),
        sample(tensor(F32, (37, 37)), domain=(0.0, 1.0), threshold=0.9, smooth=False, note="a choice"),
        sample(tensor(F32, (0, 0)), threshold=0.5, smooth=False, note="a choice"),
    )

    def infer(self, overlaps: Any) -> TensorType:
        if not isinstance(overlaps, TensorType) or not overlaps.dtype.is_float:
            raise mistake(self, "overlaps", "a tensor of floating point numbers", overlaps, TypeError)
        if overlaps.rank != 2 or overlaps.shape[0] != overlaps.shape[1]:
            raise mistake(self, "overlaps", "a square matrix", overlaps)
        return tensor(BOOL, overlaps.shape[:1])

    def reference(self, overlaps: Array) -> Array:
        kept = np.ones(len(overlaps), bool)
        for i in range(len(kept)):
            if kept[i]:
                kept[i + 1 :] &= ~(overlaps[i, i + 1 :] > overlaps.dtype.type(self.threshold))
        return kept

    def lower(self, k: Kernel, overlaps: Buffer, out: Buffer) -> None:
        count, threshold = k.size(overlaps.shape[0], "n"), k.literal(self.threshold, overlaps.dtype.compute)
        with k.stage(1 if out.count else 0, 1, "whole"):
            with k.loop(0, count, "i") as i:
                k.store(out, i, k.literal(True, BOOL))
            with k.loop(0, count, "i") as i, k.when(out[i]):
                row = k.let(i * count, "row")
                with k.loop(i + 1, count, "j") as j, k.when(k.greater(overlaps[row + j], threshold)):
                    k.store(out, j, k.literal(False, BOOL))
