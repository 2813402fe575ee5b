"""Operators as objects for boxes around objects in images."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import I32
from adjoint.ops import boxes, creation
from adjoint.ops.arguments import operand, real, wrong
from adjoint.ops.primitive import Primitive
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["IOU", "NMSWithMask"]


class IOU(Primitive):
    """How much boxes overlap; "iou": relative to what either has, "iof": to the true box."""

    def __init__(self, mode: str = "iou"):
        boxes.check_mode(mode)
        super().__init__(mode=mode)

    def __call__(self, anchor_boxes: Any, gt_boxes: Any) -> Tensor:
        return boxes.iou(anchor_boxes, gt_boxes, self.mode)


class NMSWithMask(Primitive):
    """Of boxes that overlap those of the highest scores (non-maximum suppression).

    Called with [n, 5], corners and scores, it returns the boxes by falling score (equal ones in their order), the numbers 0..n-1 (Int32),
    and which of them are kept: each that overlaps none kept before it by more than `iou_threshold` of what either has.
    """

    def __init__(self, iou_threshold: float = 0.5):
        super().__init__(iou_threshold=real("NMSWithMask", "iou_threshold", iou_threshold))

    def __call__(self, bboxes: Any) -> tuple[Tensor, Tensor, Tensor]:
        given = operand("NMSWithMask", bboxes, "bboxes")
        if not given.dtype.is_float:
            raise wrong("NMSWithMask", "bboxes", "a Tensor of a floating point type", given, TypeError)
        if given.ndim != 2 or given.shape[1] != 5:
            raise wrong("NMSWithMask", "bboxes", "of shape [n, 5]", given)
        ordered, kept = boxes.largest_of_overlapping(given, self.iou_threshold)
        return ordered, creation.arange(given.shape[0], dtype=I32), kept
