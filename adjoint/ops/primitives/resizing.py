"""Resizing as objects: they take images [n, c, h, w] and their size."""

from __future__ import annotations

from typing import Any

from adjoint.ops import resizing, sampling, scaling
from adjoint.ops.arguments import choice, flag, operand, sizes_argument, wrong
from adjoint.ops.primitive import Plain, Primitive
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "ResizeArea", "ResizeBicubic", "ResizeBilinearV2", "ResizeLinear1D", "ResizeNearestNeighbor", "ResizeNearestNeighborV2",
    "ScaleAndTranslate", "UpsampleNearest3D", "UpsampleTrilinear3D",
]


class _Resize(Primitive):
    """How the places of the result lie: `align_corners` or `half_pixel_centers`, or asymmetric without both."""

    def __init__(self, align_corners: bool = False, half_pixel_centers: bool = False):
        name = type(self).__name__
        super().__init__(align_corners=flag(name, "align_corners", align_corners),
                         half_pixel_centers=flag(name, "half_pixel_centers", half_pixel_centers))

    @property
    def lie(self) -> str:
        if self.align_corners and self.half_pixel_centers:
            raise wrong(self.name, "half_pixel_centers", "False where 'align_corners' is True", True)
        return "align_corners" if self.align_corners else "half_pixel" if self.half_pixel_centers else "asymmetric"

    def checked(self, image: Any, size: Any, argument: str = "image", *, floats: bool = True) -> tuple[Tensor, tuple[int, ...]]:
        """Return the images, and the size that they are brought to."""
        x, sizes = operand(self.name, image, argument), sizes_argument(self.name, "size", size, least=1)
        if x.ndim != 4:
            raise wrong(self.name, argument, "of 4 dimensions", x)
        if floats and not x.dtype.is_float:
            raise wrong(self.name, argument, "a Tensor of a floating point type", x, TypeError)
        if len(sizes) != 2:
            raise wrong(self.name, "size", "two ints, height and width", sizes)
        return x, resizing.checked_sizes(self.name, x, sizes)


class ResizeNearestNeighbor(_Resize):
    """Images [n, c, h, w] of any dtype with `size` (height, width): each element is the nearest one."""

    def __init__(self, size: Any, align_corners: bool = False, half_pixel_centers: bool = False):
        if not isinstance(size, (tuple, list)):
            raise wrong("ResizeNearestNeighbor", "size", "a tuple or list of two ints", size, TypeError)
        super().__init__(align_corners, half_pixel_centers)
        flags = dict(self.attrs)
        Primitive.__init__(self, None, size=tuple(sizes_argument("ResizeNearestNeighbor", "size", size, least=None)), **flags)

    def __call__(self, input_x: Any) -> Tensor:
        return resizing.nearest(*self.checked(input_x, self.size, "input_x", floats=False), self.lie)


class ResizeNearestNeighborV2(_Resize):
    """Images [n, c, h, w] of any dtype in a size (height, width): each element is the nearest one."""

    def __call__(self, image: Any, size: Any) -> Tensor:
        return resizing.nearest(*self.checked(image, size, floats=False), self.lie)


class ResizeBilinearV2(_Resize):
    """Images [n, c, h, w] in a size (height, width): each element lies between two along each axis."""

    def __call__(self, image: Any, size: Any) -> Tensor:
        return resizing.weighted(*self.checked(image, size), resizing.linear_table, self.lie)


class ResizeBicubic(_Resize):
    """Images [n, c, h, w] in a size (height, width): each element lies between four along each axis."""

    def __call__(self, image: Any, size: Any) -> Tensor:
        return resizing.weighted(*self.checked(image, size), resizing.cubic_table, self.lie)


class ResizeLinear1D(Primitive):
    """Sequences [n, c, l] in a size: each element lies between two."""

    def __init__(self, coordinate_transformation_mode: str = "align_corners"):
        super().__init__(coordinate_transformation_mode=choice(
            "ResizeLinear1D", "coordinate_transformation_mode", coordinate_transformation_mode, ("align_corners", "half_pixel")))

    def __call__(self, x: Any, size: Any) -> Tensor:
        given, sizes = operand("ResizeLinear1D", x, "x"), sizes_argument("ResizeLinear1D", "size", size, least=1)
        if given.ndim != 3 or len(sizes) != 1:
            raise wrong("ResizeLinear1D", "x", "of 3 dimensions, for a size of one int", given)
        if not given.dtype.is_float:
            raise wrong("ResizeLinear1D", "x", "a Tensor of a floating point type", given, TypeError)
        wanted = resizing.checked_sizes("ResizeLinear1D", given, sizes)
        return resizing.weighted(given, wanted, resizing.linear_table, self.coordinate_transformation_mode)


def _upsampled(op: str, x: Any, output_size: Any, scales: Any, mode: str, align_corners: bool | None) -> Tensor:
    """Return volumes in another size; a size and factors are three numbers, and one of both is given."""
    volume = operand(op, x, "x")
    if not volume.dtype.is_float:
        raise wrong(op, "x", "a Tensor of a floating point type", volume, TypeError)
    if volume.ndim != 5:
        raise wrong(op, "x", "of 5 dimensions", volume)
    if (output_size is None) == (scales is None):
        raise wrong(op, "output_size", "given, or 'scales', and not both", (output_size, scales))
    argument, given = ("output_size", output_size) if scales is None else ("scales", scales)
    if not isinstance(given, (tuple, list)):
        raise wrong(op, argument, "a tuple or list of three numbers", given, TypeError)
    if len(given) != 3:
        raise wrong(op, argument, "three numbers, for depth, height and width", given)
    return resizing.resized(volume, output_size, scales, mode, align_corners, None)


class UpsampleNearest3D(Plain):
    """Volumes [n, c, d, h, w] of floats in another size, or in one times `scales`: each element is the one at or before its place."""

    def __call__(self, x: Any, output_size: Any = None, scales: Any = None) -> Tensor:
        return _upsampled(self.name, x, output_size, scales, "nearest", None)


class UpsampleTrilinear3D(Primitive):
    """Volumes [n, c, d, h, w] of floats in another size, or in one times `scales`: each element lies between two along each axis.

    align_corners  whether the middles of the corner elements meet, not the corners of the volumes
    """

    def __init__(self, align_corners: bool = False):
        super().__init__(align_corners=flag("UpsampleTrilinear3D", "align_corners", align_corners))

    def __call__(self, x: Any, output_size: Any = None, scales: Any = None) -> Tensor:
        return _upsampled(self.name, x, output_size, scales, "trilinear", self.align_corners)


class ResizeArea(Primitive):
    """Images [n, h, w, c] of numbers in a size (height, width), an Int32 Tensor: each element is the mean of the area that it covers.

    The result is Float32.

    align_corners  True to have the step between elements of the result (h - 1) / (height - 1), not h / height
    """

    def __init__(self, align_corners: bool = False):
        super().__init__(align_corners=flag("ResizeArea", "align_corners", align_corners))

    def __call__(self, images: Any, size: Any) -> Tensor:
        return scaling.resized_by_area(images, size, self.align_corners)


class ScaleAndTranslate(Primitive):
    """Images [n, h, w, c] of numbers scaled and moved, in Float32; it is called on the images, size, scale and translation.

    kernel_type  "lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic" or "mitchellcubic"
    antialias    True to make the kernel as wide as an element of the result where that is larger
    size         height and width of the result, Int32
    scale        factors of height and width, Float32, above 0
    translation  how far down and to the right, Float32; there is no gradient by both
    """

    def __init__(self, kernel_type: str = "lanczos3", antialias: bool = True):
        super().__init__(kernel_type=sampling.word("ScaleAndTranslate", "kernel_type", kernel_type, tuple(scaling.KERNELS)),
                         antialias=flag("ScaleAndTranslate", "antialias", antialias))

    def __call__(self, images: Any, size: Any, scale: Any, translation: Any) -> Tensor:
        return scaling.scaled_and_translated(images, size, scale, translation, self.kernel_type, self.antialias)
