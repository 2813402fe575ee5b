"""Operators as objects for boxes around objects in images, and for images read at positions between their elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.types import F16, F32, I32
from adjoint.ops import boxes, creation, sampling
from adjoint.ops.arguments import flag, float_only, integer, operand, real, wrong
from adjoint.ops.primitive import Plain, Primitive, plain
from adjoint.ops.primitives.network import combined_seed
from adjoint.runtime.tensor.run_time_checks import needs_values
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "AffineGrid", "BoundingBoxDecode", "BoundingBoxEncode", "CheckValid", "CropAndResize", "GridSampler2D", "GridSampler3D", "IOU",
    "MaxUnpool2D", "MaxUnpool3D", "NMSWithMask", "NonMaxSuppressionWithOverlaps", "ROIAlign", "SampleDistortedBoundingBoxV2",
]


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


class NonMaxSuppressionWithOverlaps(Plain):
    """The indices, Int32, of boxes in the order of their scores, without those that overlap a better one that was taken; not in a graph.

    overlaps           [n, n], how much each box overlaps each other
    scores             [n], of that dtype
    max_output_size    how many indices at most, an Int32 Tensor of one element; ValueError for a negative one
    overlap_threshold  the overlap from which on a box is left out, a Tensor of one element
    score_threshold    the score that a box must exceed, a Tensor of one element
    """

    def __call__(self, overlaps: Any, scores: Any, max_output_size: Any, overlap_threshold: Any, score_threshold: Any) -> Tensor:
        op = self.name
        table, each = operand(op, overlaps, "overlaps"), operand(op, scores, "scores")
        needs_values(op, "it has as many elements as boxes are taken")
        if table.dtype not in (F16, F32):
            raise wrong(op, "overlaps", "a Tensor of Float16 or Float32", table, TypeError)
        if each.dtype is not table.dtype:
            raise wrong(op, "scores", f"of the dtype of 'overlaps', {table.dtype}", each, TypeError)
        if table.ndim != 2 or table.shape[0] != table.shape[1] or each.shape != table.shape[:1]:
            raise wrong(op, "overlaps", "of shape [n, n] for scores [n]", table)
        bounds = [operand(op, x, name) for name, x in (("max_output_size", max_output_size), ("overlap_threshold", overlap_threshold),
                                                       ("score_threshold", score_threshold))]
        if bounds[0].dtype is not I32 or any(x.size != 1 for x in bounds):
            raise wrong(op, "max_output_size", "an Int32 Tensor of one element, as the thresholds are of floats", bounds[0], TypeError)
        most, near, least = int(bounds[0]), float(bounds[1]), float(bounds[2])
        if most < 0:
            raise wrong(op, "max_output_size", "at least 0", most)
        found: list[int] = []
        numbers, values = table.asnumpy(), each.asnumpy()
        for place in np.argsort(-values, kind="stable"):
            if len(found) == most or not values[place] > least:
                break
            if not (numbers[place, found] >= near).any():
                found.append(int(place))
        return Tensor(found, I32)


class BoundingBoxEncode(Primitive):
    """How true boxes differ from anchors; less `means`, divided by `stds`."""

    def __init__(self, means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0)):
        super().__init__(means=boxes.four("BoundingBoxEncode", "means", means), stds=boxes.four("BoundingBoxEncode", "stds", stds))

    def __call__(self, anchor_box: Any, groundtruth_box: Any) -> Tensor:
        return boxes.bounding_box_encode(anchor_box, groundtruth_box, self.means, self.stds)


class BoundingBoxDecode(Primitive):
    """The boxes that differ from anchors by deltas, limited to an image."""

    def __init__(self, max_shape: Any, means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0), wh_ratio_clip: float = 0.016):
        op = "BoundingBoxDecode"
        if not isinstance(max_shape, (tuple, list)):
            raise wrong(op, "max_shape", "a tuple of two ints", max_shape, TypeError)
        super().__init__(max_shape=boxes.two_sizes(op, max_shape), means=boxes.four(op, "means", means), stds=boxes.four(op, "stds", stds),
                         wh_ratio_clip=float_only(op, "wh_ratio_clip", wh_ratio_clip))

    def __call__(self, anchor_box: Any, deltas: Any) -> Tensor:
        return boxes.bounding_box_decode(anchor_box, deltas, self.max_shape, self.means, self.stds, self.wh_ratio_clip)


CheckValid = plain("CheckValid", boxes.check_valid)


class ROIAlign(Primitive):
    """The means of samples in bins of regions of images.

    sample_num    how many samples a bin has along each axis
    roi_end_mode  1: a region ends one element behind where `rois` says; 0: there, but it is at least 1 wide and high
    """

    def __init__(self, pooled_height: int, pooled_width: int, spatial_scale: float, sample_num: int = 2, roi_end_mode: int = 1):
        op = "ROIAlign"
        super().__init__(
            pooled_height=integer(op, "pooled_height", pooled_height), pooled_width=integer(op, "pooled_width", pooled_width),
            spatial_scale=float_only(op, "spatial_scale", spatial_scale), sample_num=integer(op, "sample_num", sample_num),
            roi_end_mode=integer(op, "roi_end_mode", roi_end_mode))
        for name, least in (("pooled_height", 1), ("pooled_width", 1), ("sample_num", 0)):
            if not least <= self.attrs[name] < 2**24:
                raise wrong(op, name, f"in [{least}, 2**24)", self.attrs[name])
        if self.roi_end_mode not in (0, 1):
            raise wrong(op, "roi_end_mode", "0 or 1", roi_end_mode)

    def __call__(self, features: Any, rois: Any) -> Tensor:
        sizes = self.pooled_height, self.pooled_width
        return sampling.regions(features, rois, *sizes, self.spatial_scale, self.sample_num, self.roi_end_mode)


class CropAndResize(Primitive):
    """Parts of images [n, h, w, c] resized to one size."""

    def __init__(self, method: str = "bilinear", extrapolation_value: float = 0.0):
        super().__init__(method=sampling.word("CropAndResize", "method", method, ("bilinear", "nearest", "bilinear_v2")),
                         extrapolation_value=float_only("CropAndResize", "extrapolation_value", extrapolation_value))

    def __call__(self, x: Any, boxes: Any, box_index: Any, crop_size: Any) -> Tensor:
        return sampling.crop_and_resize(x, boxes, box_index, crop_size, self.method, self.extrapolation_value)


class _GridSampler(Primitive):
    """Images at the positions of a grid."""

    rank: int

    def __init__(self, interpolation_mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = False):
        name = type(self).__name__
        super().__init__(interpolation_mode=sampling.word(name, "interpolation_mode", interpolation_mode, ("bilinear", "nearest")),
                         padding_mode=sampling.word(name, "padding_mode", padding_mode, ("zeros", "border", "reflection")),
                         align_corners=flag(name, "align_corners", align_corners))

    def __call__(self, input_x: Any, grid: Any) -> Tensor:
        return sampling.sampled(self.name, input_x, grid, self.interpolation_mode, self.padding_mode, self.align_corners, self.rank)


class GridSampler2D(_GridSampler):
    """Images [n, c, h, w] at the positions of a grid."""

    rank = 4


class GridSampler3D(_GridSampler):
    """Volumes [n, c, d, h, w] at the positions of a grid."""

    rank = 5


class AffineGrid(Primitive):
    """The grid that maps images by affine transforms."""

    def __init__(self, align_corners: bool = False):
        super().__init__(align_corners=flag("AffineGrid", "align_corners", align_corners))

    def __call__(self, theta: Any, output_size: Any) -> Tensor:
        return sampling.affine_grid(theta, output_size, self.align_corners)


class _MaxUnpool(Primitive):
    """Maxima put where they were taken, and zeros elsewhere."""

    count: int

    def _made(self, ksize: Any, strides: Any, pads: Any, output_shape: Any, data_format: Any, allowed: str) -> None:
        name = type(self).__name__
        Primitive.__init__(
            self, None, ksize=sampling.window_sizes(name, "ksize", ksize, 1), strides=sampling.window_sizes(name, "strides", strides, 0),
            pads=sampling.window_sizes(name, "pads", pads, 0), output_shape=sampling.window_sizes(name, "output_shape", output_shape, 1),
            data_format=sampling.word(name, "data_format", data_format, (allowed,)))

    def __call__(self, x: Any, argmax: Any) -> Tensor:
        given = operand(self.name, x, "x")
        if given.ndim != self.count + 2:
            raise wrong(self.name, "x", f"of {self.count + 2} dimensions", given)
        return sampling.unpooled(self.name, given, argmax, self.ksize, self.strides, self.pads, self.output_shape or None, self.count,
                                 ("x", "argmax", "ksize", "strides", "pads", "output_shape"))


class MaxUnpool2D(_MaxUnpool):
    """Images with maxima put where they were taken, and zeros elsewhere."""

    count = 2

    def __init__(self, ksize: Any, strides: Any = 0, pads: Any = 0, output_shape: Any = (), data_format: str = "NCHW"):
        self._made(ksize, strides, pads, output_shape, data_format, "NCHW")


class MaxUnpool3D(_MaxUnpool):
    """Volumes with maxima put where they were taken, and zeros elsewhere."""

    count = 3

    def __init__(self, ksize: Any, strides: Any = 0, pads: Any = 0, output_shape: Any = (), data_format: str = "NCDHW"):
        self._made(ksize, strides, pads, output_shape, data_format, "NCDHW")


class SampleDistortedBoundingBoxV2(Primitive):
    """A random part of an image that has some of an object in it: where it begins, its size, and its box; see `boxes.random_part`.

    seed, seed2                     unless both are 0, they take the global seed's place
    aspect_ratio_range              the least and the largest ratio of width and height
    area_range                      the least and the largest share of the image's area
    max_attempts                    how many parts are tried, before the whole image is taken
    use_image_if_no_bounding_boxes  True to take the image as the box where there is none
    """

    def __init__(
        self, seed: int = 0, seed2: int = 0, aspect_ratio_range: Any = (0.75, 1.33), area_range: Any = (0.05, 1.0), max_attempts: int = 100,
        use_image_if_no_bounding_boxes: bool = False,
    ):
        op = "SampleDistortedBoundingBoxV2"
        ranges: dict[str, tuple[float, float]] = {}
        for name, value in (("aspect_ratio_range", aspect_ratio_range), ("area_range", area_range)):
            if not isinstance(value, (tuple, list)) or not all(isinstance(number, float) for number in value):
                raise wrong(op, name, "a tuple of two floats", value, TypeError)
            if len(value) != 2 or not 0.0 < value[0] <= value[1] or (name == "area_range" and value[1] > 1.0):
                raise wrong(op, name, f"two ascending numbers above 0{', at most 1' if name == 'area_range' else ''}", value)
            ranges[name] = (value[0], value[1])
        seeds = {"seed": integer(op, "seed", seed), "seed2": integer(op, "seed2", seed2)}
        super().__init__(None, **seeds, **ranges, max_attempts=integer(op, "max_attempts", max_attempts),
                         use_image_if_no_bounding_boxes=flag(op, "use_image_if_no_bounding_boxes", use_image_if_no_bounding_boxes))
        if min(seeds.values()) < 0:
            raise wrong(op, "seed", "at least 0, as 'seed2'", (seed, seed2))
        if self.max_attempts < 1:
            raise wrong(op, "max_attempts", "at least 1", max_attempts)

    def __call__(self, image_size: Any, bounding_boxes: Any, min_object_covered: Any) -> tuple[Tensor, Tensor, Tensor]:
        return boxes.random_part(
            self.name, image_size, bounding_boxes, min_object_covered, ratios=self.aspect_ratio_range, areas=self.area_range,
            attempts=self.max_attempts, whole_image=self.use_image_if_no_bounding_boxes, seed=combined_seed(self.seed, self.seed2))
