"""Resizing as objects: they take images [n, c, h, w] and their size."""

from __future__ import annotations

from typing import Any

from adjoint.ops import resizing
from adjoint.ops.arguments import choice, flag, operand, sizes_argument, wrong
from adjoint.ops.primitive import Primitive
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["ResizeBicubic", "ResizeBilinearV2", "ResizeLinear1D", "ResizeNearestNeighbor", "ResizeNearestNeighborV2"]


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
