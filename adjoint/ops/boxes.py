"""Boxes (x0, y0, x1, y1) around objects in images."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.boxes import Suppress
from adjoint.ir.ops.conversion import Select
from adjoint.ir.ops.random import RandomUniform
from adjoint.ir.types import BOOL, F32, F64, I8, I16, I32, I64, U8, tensor
from adjoint.ops.arguments import float_only, float_tensor, operand, real, sizes_argument, wrong
from adjoint.ops.arithmetic import cast, clamp, exp, floor, log, logical_and, maximum, minimum, round, sqrt, stop_gradient, trunc, where
from adjoint.ops.ordering import sort
from adjoint.ops.parts import narrow, stack, unstack
from adjoint.ops.picking import gathered
from adjoint.ops.reduction import any as any_true
from adjoint.ops.reduction import argmax
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.run_time_checks import Range, RangeCheck, checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["bounding_box_decode", "bounding_box_encode", "check_valid", "iou"]

_SELECT = Select()


@fusible
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


# Anchors -------------------------------------------------------------------------------------------------------------


def four(op: str, argument: str, values: Any) -> tuple[float, ...]:
    """Return four numbers."""
    if not isinstance(values, (tuple, list)):
        raise wrong(op, argument, "a tuple of four numbers", values, TypeError)
    if len(values) != 4:
        raise wrong(op, argument, "four numbers", tuple(values))
    return tuple(real(op, argument, value) for value in values)


def _two_of_boxes(op: str, first_name: str, first: Any, second_name: str, second: Any) -> tuple[Tensor, Tensor]:
    found = []
    for name, boxes in ((first_name, first), (second_name, second)):
        given = float_tensor(op, boxes, name)
        if given.ndim != 2 or given.shape[1] != 4:
            raise wrong(op, name, "of shape [n, 4]", given)
        found.append(given)
    if found[0].type is not found[1].type:
        kind = TypeError if found[0].dtype is not found[1].dtype else ValueError
        raise wrong(op, second_name, f"of the type of '{first_name}', {found[0].type}", found[1], kind)
    return found[0], found[1]


def _centers(boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the coordinates of the centers of boxes and their sizes; both corners count as pixels."""
    x0, y0, x1, y1 = unstack(boxes, 1)
    return (x0 + x1) * 0.5, (y0 + y1) * 0.5, x1 - x0 + 1.0, y1 - y0 + 1.0


@fusible
def bounding_box_encode(
    anchor_box: Any, groundtruth_box: Any, means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0)
) -> Tensor:
    """Return how true boxes [n, 4] differ from anchors: by the distance of their centers in sizes of the anchor, and the logarithms of the
    ratios of their sizes; less `means`, divided by `stds`."""
    op = "BoundingBoxEncode"
    anchors, truths = _two_of_boxes(op, "anchor_box", anchor_box, "groundtruth_box", groundtruth_box)
    center, spread = four(op, "means", means), four(op, "stds", stds)
    if 0.0 in spread:
        raise wrong(op, "stds", "numbers other than 0", spread)
    px, py, pw, ph = _centers(anchors)
    gx, gy, gw, gh = _centers(truths)
    found = ((gx - px) / pw, (gy - py) / ph, log(gw / pw), log(gh / ph))
    return stack([(delta - m) / s for delta, m, s in zip(found, center, spread, strict=True)], 1)


@fusible
def bounding_box_decode(
    anchor_box: Any, deltas: Any, max_shape: Any, means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0),
    wh_ratio_clip: float = 0.016,
) -> Tensor:
    """Return the boxes [n, 4] that differ from anchors by deltas, the inverse of `bounding_box_encode`, limited to an image.

    max_shape      height and width of the image
    wh_ratio_clip  the smallest ratio of sizes; its inverse is the largest
    """
    op = "BoundingBoxDecode"
    anchors, changes = _two_of_boxes(op, "anchor_box", anchor_box, "deltas", deltas)
    center, spread, ratio = four(op, "means", means), four(op, "stds", stds), float_only(op, "wh_ratio_clip", wh_ratio_clip)
    if not ratio > 0:
        raise wrong(op, "wh_ratio_clip", "above 0", ratio)
    if not isinstance(max_shape, (tuple, list)):
        raise wrong(op, "max_shape", "a tuple of two ints", max_shape, TypeError)
    height, width = (float(size) for size in two_sizes(op, max_shape))
    dx, dy, dw, dh = (delta * s + m for delta, m, s in zip(unstack(changes, 1), center, spread, strict=True))
    most = abs(math.log(ratio))
    px, py, pw, ph = _centers(anchors)
    gw, gh = pw * exp(clamp(dw, -most, most)), ph * exp(clamp(dh, -most, most))
    gx, gy = px + pw * dx, py + ph * dy
    ends = ((gx - gw * 0.5 + 0.5, width), (gy - gh * 0.5 + 0.5, height), (gx + gw * 0.5 - 0.5, width), (gy + gh * 0.5 - 0.5, height))
    return stack([clamp(end, 0.0, size) for end, size in ends], 1)


def two_sizes(op: str, max_shape: Any) -> tuple[int, ...]:
    """Return the sizes of an image."""
    sizes = sizes_argument(op, "max_shape", max_shape, least=1)
    if len(sizes) != 2:
        raise wrong(op, "max_shape", "two ints", sizes)
    return sizes


@fusible
def check_valid(bboxes: Any, img_metas: Any) -> Tensor:
    """Return which boxes [n, 4] lie in an image: of the height and width in `img_metas`, each times the third number there."""
    op = "CheckValid"
    boxes, about = operand(op, bboxes, "bboxes"), operand(op, img_metas, "img_metas")
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise wrong(op, "bboxes", "of shape [n, 4]", boxes)
    if about.shape != (3,):
        raise wrong(op, "img_metas", "of shape [3]", about)
    if about.dtype is not boxes.dtype or boxes.dtype is BOOL:
        raise wrong(op, "img_metas", f"a Tensor of numbers, of the dtype of 'bboxes', {boxes.dtype}", about, TypeError)
    height, width, ratio = unstack(about, 0)
    x0, y0, x1, y1 = unstack(boxes, 1)
    return logical_and(x0 >= 0, logical_and(y0 >= 0, logical_and(width * ratio - 1 >= x1, height * ratio - 1 >= y1)))


# Random parts --------------------------------------------------------------------------------------------------------


def random_part(
    op: str, image_size: Any, bounding_boxes: Any, min_object_covered: Any, *, ratios: tuple[float, float], areas: tuple[float, float],
    attempts: int, whole_image: bool, seed: int | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return a random part of an image that has some of an object in it: where it begins, its size, and its box, [1, 1, 4].

    image_size          [3], integers: height, width, channels
    bounding_boxes      [n, m, 4], Float32: the boxes of objects, y0, x0, y1, x1 in 0..1
    min_object_covered  a Tensor of one number: how much of one of the boxes is in the part
    ratios              the least and the largest ratio of width and height
    areas               the least and the largest share of the image's area
    attempts            how many parts are drawn at once; the first that is as wanted is taken, or else the whole image
    whole_image         True to take the image as the box where there is none
    """
    given, boxes, least = operand(op, image_size, "image_size"), operand(op, bounding_boxes, "bounding_boxes"), operand(
        op, min_object_covered, "min_object_covered")
    if given.dtype not in (U8, I8, I16, I32, I64):
        raise wrong(op, "image_size", "a Tensor of UInt8, Int8, Int16, Int32 or Int64", given, TypeError)
    for name, x in (("bounding_boxes", boxes), ("min_object_covered", least)):
        if x.dtype is not F32:
            raise wrong(op, name, "a Tensor of Float32", x, TypeError)
    if given.shape != (3,):
        raise wrong(op, "image_size", "of shape (3,): height, width and channels", given)
    if boxes.ndim != 3 or (boxes.size and boxes.shape[2] != 4):
        raise wrong(op, "bounding_boxes", "of shape [n, m, 4]", boxes)
    if least.size != 1:
        raise wrong(op, "min_object_covered", "of one element", least)
    if not boxes.size and not whole_image:
        raise wrong(op, "bounding_boxes", "at least one box, unless 'use_image_if_no_bounding_boxes' is True", boxes)
    checked_on_host(RangeCheck(Range(1, 2**62), lambda x, _: _check_range(op, "image_size", x, 1, math.inf)), given)
    checked_on_host(lambda x: _check_range(op, "bounding_boxes", x, 0, 1), boxes,
                    conditions=lambda: [((boxes >= 0).logical_and(boxes <= 1), Range(1, 1))])
    size = cast(given, F64)
    high, wide = size[0], size[1]
    draws = unstack(apply(made(RandomUniform, tensor(F64, (4, attempts))), next_key(seed)), 0)
    ratio = draws[0] * (ratios[1] - ratios[0]) + ratios[0]
    smallest, largest = (high * wide * share for share in areas)
    tallest = round(sqrt(largest / ratio))
    narrowed = floor((wide + 0.5 - 1e-7) / ratio)
    narrowed = narrowed - cast(round(narrowed * ratio) > wide, F64)
    tallest = minimum(where(round(tallest * ratio) > wide, narrowed, tallest), high)
    height = minimum(round(sqrt(smallest / ratio)), tallest)
    height = minimum(height + floor(draws[1] * (tallest - height + 1.0)), tallest)
    height = height + cast(height * round(height * ratio) < smallest, F64)
    height = height - cast(height * round(height * ratio) > largest, F64)
    width = round(height * ratio)
    y, x = floor(draws[2] * (high - height)), floor(draws[3] * (wide - width))
    fine = (height * width >= smallest).logical_and(height * width <= largest)
    fine = fine.logical_and(height <= high).logical_and(width <= wide).logical_and(minimum(height, width) > 0.0)
    objects = reshape(boxes, (-1, 4)) if boxes.size else Tensor([[0.0, 0.0, 1.0, 1.0]])
    corners = trunc(cast(objects, F64) * stack([high, wide, high, wide]))
    both, _, of_objects = _areas(stack([y, x, y + height, x + width], 1), corners, 0.0)
    held = (of_objects >= 1.0).logical_and(both / maximum(of_objects, 1.0) >= cast(reshape(least, ()), F64))
    fine = fine.logical_and(any_true(held, 1))
    number, found = argmax(fine.astype(I32)), any_true(fine)
    zero = high * 0.0
    top, left, down, across = (where(found, gathered(op, part, number, 0), whole) for part, whole in (
        (y, zero), (x, zero), (height, high), (width, wide)))
    box = stack([top / high, left / wide, (top + down) / high, (left + across) / wide])
    return (cast(stack([top, left, zero]), given.dtype), cast(cast(stack([down, across, zero - 1.0]), I64), given.dtype),
            reshape(cast(box, F32), (1, 1, 4)))


def _check_range(op: str, argument: str, x: Tensor, least: float, most: float) -> None:
    numbers = x.asnumpy()
    outside = ~((numbers >= least) & (numbers <= most))
    if outside.any():
        raise wrong(op, argument, f"numbers from {least} to {most}", numbers[outside][0].item())
