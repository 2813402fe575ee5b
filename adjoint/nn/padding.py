"""Padding layers."""

from __future__ import annotations

from typing import ClassVar

from adjoint.nn.checks import choice, integer, number, tensor_argument
from adjoint.ops import parts
from adjoint.ops.arguments import wrong
from adjoint.ops.primitives.shaping import MirrorPad
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "Pad", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad2d",
]


class Pad(Cell):
    """Pads a tensor: paddings[i] is (before, after) for axis i.

    mode  "CONSTANT": of zeros; "REFLECT": mirrored without the edge; "SYMMETRIC": mirrored with it
    """

    def __init__(self, paddings: tuple[tuple[int, int], ...], mode: str = "CONSTANT"):
        super().__init__()
        self.mode = choice(self, "mode", mode, ("CONSTANT", "REFLECT", "SYMMETRIC"))
        if not isinstance(paddings, tuple):
            raise TypeError(f"For 'Pad', the argument 'paddings' must be a tuple of pairs, "
                            f"but got {paddings!r} of type {type(paddings).__name__}.")
        if any(not isinstance(side, (tuple, list)) or len(side) != 2 for side in paddings):
            raise ValueError(f"For 'Pad', the argument 'paddings' must be a tuple of pairs, but got {paddings!r}.")
        self.paddings = tuple((integer(self, "paddings", before), integer(self, "paddings", after)) for before, after in paddings)
        if any(n < 0 for side in self.paddings for n in side):
            raise ValueError(f"For 'Pad', the argument 'paddings' must not be negative, but got {paddings!r}.")

    def construct(self, x: Tensor) -> Tensor:
        if tensor_argument(self, "x", x).ndim != len(self.paddings):
            raise ValueError(f"For 'Pad', the argument 'paddings' must be a pair for each of {x.ndim} axes, but got {self.paddings}.")
        return parts.framed(x, self.paddings, 0) if self.mode == "CONSTANT" else MirrorPad(self.mode)(x, self.paddings)


class _Frame(Cell):
    """Pads the last axes.

    padding  an int for all sides, or (before, after) pairs that begin with the last axis: (left, right, top, bottom, ...)
    """

    axes: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: int | tuple[int, ...]):
        super().__init__()
        widths = padding if isinstance(padding, tuple) else (padding,) * 2 * self.axes
        self.padding = tuple(integer(self, "padding", width) for width in widths)
        if len(widths) % 2 or not 0 < len(widths) <= 2 * self.axes:
            raise ValueError(f"For '{type(self).__name__}', the argument 'padding' must be an int or a tuple of pairs for at most "
                             f"{self.axes} axes, but got {padding!r}.")

    def construct(self, x: Tensor) -> Tensor:
        return parts.pad(tensor_argument(self, "x", x), self.padding, self.mode)


class _Constant(_Frame):
    """Negative numbers cut off.

    value  the value to pad with
    """

    mode = "constant"

    def __init__(self, padding: int | tuple[int, ...], value: float):
        super().__init__(padding)
        self.value = value
        number(self, "value", value)

    def construct(self, x: Tensor) -> Tensor:
        out = parts.pad(tensor_argument(self, "x", x), self.padding, "constant", self.value)
        if not all(out.shape):
            raise wrong(type(self).__name__, "padding", f"such that something of {x.shape} is left", self.padding)
        return out


class ConstantPad1d(_Constant):
    """A frame of one value around the last axis, (left, right); negative numbers cut off."""

    axes = 1


class ConstantPad2d(_Constant):
    """A frame of one value around the last two axes, (left, right, top, bottom); negative numbers cut off."""

    axes = 2


class ConstantPad3d(_Constant):
    """A frame of one value around the last three axes, (left, right, top, bottom, front, back); negative numbers cut off."""

    axes = 3


class ZeroPad2d(_Constant):
    """A frame of zeros around the last two axes, (left, right, top, bottom); negative numbers cut off."""

    axes = 2

    def __init__(self, padding: int | tuple[int, ...]):
        super().__init__(padding, 0)


class _Mirrored(_Frame):
    mode = "reflect"

    def __init__(self, padding: int | tuple[int, ...]):
        super().__init__(padding)
        if min(self.padding) < 0:
            raise ValueError(f"For '{type(self).__name__}', the argument 'padding' must not be negative, but got {padding!r}.")


class ReflectionPad1d(_Mirrored):
    """The last axis continued by its mirror image, without the edge: (left, right), each less than the axis."""

    axes = 1


class ReflectionPad2d(_Mirrored):
    """The last two axes continued by their mirror images, without the edges: (left, right, top, bottom), each less than its axis."""

    axes = 2


class ReflectionPad3d(_Mirrored):
    """The last three axes continued by their mirror images, without the edges: (left, right, top, bottom, front, back)."""

    axes = 3


class ReplicationPad1d(_Frame):
    """The first and the last element repeated along the last axis: (left, right); negative numbers cut off."""

    axes, mode = 1, "replicate"


class ReplicationPad2d(_Frame):
    """The edges repeated along the last two axes: (left, right, top, bottom); negative numbers cut off."""

    axes, mode = 2, "replicate"


class ReplicationPad3d(_Frame):
    """The edges repeated along the last three axes: (left, right, top, bottom, front, back); negative numbers cut off."""

    axes, mode = 3, "replicate"
