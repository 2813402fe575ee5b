"""Boxes (x0, y0, x1, y1) around objects in images."""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.boxes import Suppress
from adjoint.ir.ops.conversion import Select
from adjoint.ops.arguments import operand, wrong
from adjoint.ops.arithmetic import maximum, minimum, stop_gradient
from adjoint.ops.ordering import sort
from adjoint.ops.parts import narrow
from adjoint.ops.picking import gathered
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["iou"]

_SELECT = Select()


def iou(anchor_boxes: Any, gt_boxes: Any, mode: str = "iou") -> Tensor:
    """Return the overlap of each of m true boxes [m, 4] with each of n anchors [n, 4], [m, n].

    Both corners count as pixels of a box, so that it is x1 - x0 + 1 wide.  No gradient flows, as in MindSpore.

    mode  "iou": intersection divided by union; "iof": intersection divided by the true box
    """
    op = "IOU"
    anchors, truths = operand(op, anchor_boxes, "anchor_boxes"), operand(op, gt_boxes, "gt_boxes")
    check_mode(mode)
    for name, boxes in (("anchor_boxes", anchors), ("gt_boxes", truths)):
        if not boxes.dtype.is_float:
            raise wrong(op, name, "a Tensor of a floating point type", boxes, TypeError)
        if boxes.ndim != 2 or boxes.shape[1] != 4:
            raise wrong(op, name, "of shape [n, 4]", boxes)
    if truths.dtype is not anchors.dtype:
        raise wrong(op, "gt_boxes", f"of the dtype of 'anchor_boxes', {anchors.dtype}", truths, TypeError)
    both, of_truths, of_anchors = _areas(truths, anchors, 1.0)
    return stop_gradient(both / (of_truths + of_anchors - both if mode == "iou" else of_truths))


def check_mode(mode: Any) -> None:
    """Raise KeyError for a mode that `iou` does not have."""
    if not isinstance(mode, str) or mode not in ("iou", "iof"):
        raise wrong("IOU", "mode", "'iou' or 'iof'", repr(mode), KeyError)


def _areas(rows: Tensor, columns: Tensor, margin: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return the areas of the intersections of boxes [m, 4] and [n, 4], [m, n], and their own areas, [m, 1] and [n]."""
    first = [narrow(rows, 1, i, 1) for i in range(4)]
    second = [reshape(narrow(columns, 1, i, 1), (-1,)) for i in range(4)]
    sides = [maximum(minimum(first[i + 2], second[i + 2]) - maximum(first[i], second[i]) + margin, 0.0) for i in (0, 1)]
    of_first, of_second = ((box[2] - box[0] + margin) * (box[3] - box[1] + margin) for box in (first, second))
    return sides[0] * sides[1], of_first, of_second


def largest_of_overlapping(boxes: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Return boxes followed by their scores, [n, 5], by falling score; and which are kept: those that do not overlap a kept one too much.
    """
    scores = reshape(narrow(boxes, 1, 4, 1), (-1,))
    ordered = gathered("NMSWithMask", boxes, sort(scores, 0, True)[1], 0)
    both, own, others = _areas(ordered, ordered, 0.0)
    joined = own + others - both
    overlaps = apply(_SELECT, joined > 0, both / joined, both * 0)
    return ordered, apply(made(Suppress, threshold), overlaps)
