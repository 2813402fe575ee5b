"""Operators as objects on indices, layouts of axes, bits and sequences of words."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.types import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, DType
from adjoint.ops import parts, scalars
from adjoint.ops.arguments import ArgumentMistake, choice, flag, number, operand, sizes_argument, whole, wrong
from adjoint.ops.arithmetic import LARGEST, equal, greater, logical_and, where
from adjoint.ops.creation import full, ones, zeros
from adjoint.ops.picking import index_check, index_select, masked_select, nonzero
from adjoint.ops.primitive import Plain, Primitive, plain
from adjoint.ops.reduction import cumprod, sum
from adjoint.ops.scattering import tensor_scatter_elements
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.run_time_checks import Range, checked_on_host, needs_values
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "CompareAndBitpack", "DataFormatDimMap", "DataFormatVecPermute", "MapUniform", "NoRepeatNGram", "PadV3", "ScalarCast", "SubAndFilter",
    "UnravelIndex",
]

ScalarCast = plain("ScalarCast", scalars.scalar_cast)

# Indices and layouts -------------------------------------------------------------------------------------------------


def _whole_numbers(op: str, argument: str, x: Any, kinds: tuple[DType, ...]) -> Tensor:
    given = operand(op, x, argument)
    if given.dtype not in kinds:
        raise wrong(op, argument, f"a Tensor of {', '.join(kind.long_name for kind in kinds)}", given, TypeError)
    return given


class MapUniform(Plain):
    """Numbers spread over groups: number x is element x // group_num of group x % group_num, which begins at that times per_group_size.

    It is called on a Tensor of Int16, Int32 or Int64 and two ints above 0.
    """

    def __call__(self, input: Any, per_group_size: Any, group_num: Any) -> Tensor:
        x = _whole_numbers(self.name, "input", input, (I16, I32, I64))
        size, groups = whole(self.name, "per_group_size", per_group_size), whole(self.name, "group_num", group_num)
        for argument, value in (("per_group_size", size), ("group_num", groups)):
            if value < 1:
                raise wrong(self.name, argument, "at least 1", value)
        wide = x.astype(I64, copy=False)
        return (wide % groups * size + wide // groups).astype(x.dtype, copy=False)


class SubAndFilter(Plain):
    """The numbers less `offset` of those where that is from 0 up to and without `max_num`, and their places in the flattened tensor.

    It is called on a Tensor of Int32 or Int64, whose dtype both results have, and two ints.
    """

    def __call__(self, input_x: Any, max_num: Any, offset: Any) -> tuple[Tensor, Tensor]:
        x = _whole_numbers(self.name, "input_x", input_x, (I32, I64))
        most, less = whole(self.name, "max_num", max_num), whole(self.name, "offset", offset)
        needs_values(self.name, "it has as many numbers as are in range")
        moved = reshape(x, (-1,)).astype(I64, copy=False) - less
        fine = logical_and(moved >= 0, moved < most)
        places = reshape(nonzero(fine), (-1,))
        return masked_select(moved, fine).astype(x.dtype, copy=False), places.astype(x.dtype, copy=False)


class UnravelIndex(Plain):
    """The coordinates of elements of a tensor, read row by row: [rank, n] for n indices, [rank] for one without dimensions.

    indices  a Tensor of at most 1 dimension, Int32 or Int64; ArgumentMistake (a ValueError) for one that the shape does not have
    dims     the shape, a vector of the dtype of the indices
    """

    def __call__(self, indices: Any, dims: Any) -> Tensor:
        op = self.name
        places, sizes = operand(op, indices, "indices"), operand(op, dims, "dims")
        if places.dtype not in (I32, I64):
            raise wrong(op, "indices", "a Tensor of Int32 or Int64", places, TypeError)
        if sizes.dtype is not places.dtype:
            raise wrong(op, "dims", f"of the dtype of 'indices', {places.dtype}", sizes, TypeError)
        if places.ndim > 1:
            raise wrong(op, "indices", "of at most 1 dimension", places)
        if sizes.ndim != 1 or not sizes.size:
            raise wrong(op, "dims", "a vector of at least 1 element", sizes)

        def inside(found: Tensor, shape: Tensor) -> None:
            count, numbers = int(np.prod(shape.asnumpy(), dtype=np.int64)), found.asnumpy().reshape(-1)
            for beyond in numbers[(numbers < 0) | (numbers >= count)][:1]:
                raise wrong(op, "indices", f"in [0, {count}), for a shape of {shape.tolist()}", int(beyond), ArgumentMistake)

        # How many elements a step along each axis passes: the product of the sizes behind it.
        behind = parts.flip(cumprod(parts.flip(sizes.astype(I64), (0,)), 0), (0,))
        wide, last = reshape(places, (-1,)).astype(I64), Range(0, 2**63 - 1)
        checked_on_host(inside, places, sizes, conditions=lambda: [(wide, last), (behind[0] - 1 - wide, last)])
        steps = reshape(parts.concat((behind[1:], ones((1,), I64))), (-1, 1))
        found = (reshape(wide, (1, -1)) // steps) % reshape(sizes.astype(I64), (-1, 1))
        return reshape(found, (sizes.size, *places.shape)).astype(places.dtype)


_LAYOUTS = ("NHWC", "NCHW")


class _Layouts(Primitive):
    """From one layout of images to another: "NHWC" or "NCHW"."""

    def __init__(self, src_format: str = "NHWC", dst_format: str = "NCHW"):
        name = type(self).__name__
        for argument, value in (("src_format", src_format), ("dst_format", dst_format)):
            if not isinstance(value, str) or value not in _LAYOUTS:
                raise wrong(name, argument, f"one of {list(_LAYOUTS)}", repr(value) if isinstance(value, str) else value)
        super().__init__(src_format=src_format, dst_format=dst_format)

    def checked(self, x: Any, argument: str) -> Tensor:
        found = operand(self.name, x, argument)
        if found.dtype not in (I32, I64):
            raise wrong(self.name, argument, "a Tensor of Int32 or Int64", found, TypeError)
        return found


class DataFormatDimMap(_Layouts):
    """Where the axes of the second layout, given by number, are in the first; numbers count modulo 4, so that -1 is the last."""

    def __call__(self, input_x: Any) -> Tensor:
        axes = self.checked(input_x, "input_x")
        table = Tensor([self.src_format.index(axis) for axis in self.dst_format], axes.dtype)
        return reshape(index_select(table, 0, reshape(axes % 4, (-1,))), axes.shape)


class DataFormatVecPermute(_Layouts):
    """Numbers for the axes of the first layout, [4] or [4, 2], in the order of the second."""

    def __call__(self, input_x: Any) -> Tensor:
        x = self.checked(input_x, "input_x")
        if x.shape not in ((4,), (4, 2)):
            raise wrong(self.name, "input_x", "of shape (4,) or (4, 2)", x)
        return index_select(x, 0, Tensor([self.src_format.index(axis) for axis in self.dst_format], I32))


class CompareAndBitpack(Plain):
    """Bits that say which elements are above a threshold, 8 in a UInt8 along the last axis, the first in the highest bit.

    x          of at least 1 dimension, the last one divisible by 8; Bool too, of which True is above False
    threshold  a Tensor without dimensions, of the dtype of x

    MindSpore's kernel packs Bool in the other order.
    """

    def __call__(self, x: Any, threshold: Any) -> Tensor:
        op = self.name
        values, limit = operand(op, x, "x"), operand(op, threshold, "threshold")
        if values.dtype not in (BOOL, F16, F32, F64, I8, I16, I32, I64):
            raise wrong(op, "x", "a Tensor of Bool, of floats or of signed integers", values, TypeError)
        if limit.dtype is not values.dtype:
            raise wrong(op, "threshold", f"of the dtype of 'x', {values.dtype}", limit, TypeError)
        if limit.ndim:
            raise wrong(op, "threshold", "without dimensions", limit)
        if not values.ndim or values.shape[-1] % 8:
            raise wrong(op, "x", "of at least 1 dimension, the last one divisible by 8", values)
        if values.dtype is BOOL:
            values, limit = values.astype(U8), limit.astype(U8)
        bits = reshape(greater(values, limit), (*values.shape[:-1], values.shape[-1] // 8, 8)).astype(I32)
        return sum(bits * Tensor([1 << bit for bit in range(7, -1, -1)], I32), -1).astype(U8)


# Padding -------------------------------------------------------------------------------------------------------------


class PadV3(Primitive):
    """A tensor padded at the ends of its last axes.

    mode                 "constant": filled with `constant_value`, 0 without one; "reflect": mirrored without the edge; "edge": the edge
                         repeated; "circular": continued from the other side.  All but "constant" take [n, c, ...] of 3 to 5 dimensions,
                         "reflect" of 3 or 4, and numbers for all axes but the first two
    paddings_contiguous  how the numbers lie, a vector, which begin with the last axis: True for [before, after, before, after, ...],
                         False for [before, before, ..., after, after, ...].  Negative ones cut off
    constant_value       a number, or a Tensor without dimensions of the dtype of x
    """

    def __init__(self, mode: str = "constant", paddings_contiguous: bool = True):
        op = "PadV3"
        super().__init__(mode=choice(op, "mode", mode, ("constant", "reflect", "edge", "circular")),
                         paddings_contiguous=flag(op, "paddings_contiguous", paddings_contiguous))

    def __call__(self, x: Any, paddings: Any, constant_value: Any = None) -> Tensor:
        op, kind = self.name, self.mode
        given, widths = operand(op, x, "x"), sizes_argument(op, "paddings", paddings, least=None)
        if len(widths) % 2 or len(widths) > 2 * given.ndim:
            raise wrong(op, "paddings", f"pairs for at most {given.ndim} axes", widths)
        if not self.paddings_contiguous:
            count = len(widths) // 2
            widths = tuple(width for pair in zip(widths[:count], widths[count:], strict=True) for width in pair)
        if kind != "constant":
            if not 3 <= given.ndim <= (4 if kind == "reflect" else 5):
                raise wrong(op, "x", f"of 3 to {4 if kind == 'reflect' else 5} dimensions in mode '{kind}'", given)
            if len(widths) != 2 * (given.ndim - 2):
                raise wrong(op, "paddings", f"{2 * (given.ndim - 2)} numbers, for all axes but the first two, in mode '{kind}'", widths)
            if constant_value is not None:
                raise wrong(op, "constant_value", f"None in mode '{kind}'", constant_value)
            return parts.padded(op, "paddings", given, widths, "replicate" if kind == "edge" else kind)
        if not isinstance(constant_value, Tensor):
            filling = 0 if constant_value is None else number(op, "constant_value", constant_value)
            return parts.padded(op, "paddings", given, widths, value=filling)
        if constant_value.size != 1:
            raise wrong(op, "constant_value", "a number or a Tensor of one element", constant_value)
        if constant_value.dtype is not given.dtype:
            raise wrong(op, "constant_value", f"of the dtype of 'x', {given.dtype}", constant_value, TypeError)
        inside = parts.padded(op, "paddings", full(given.shape, True, dtype=BOOL), widths)
        return where(inside, parts.padded(op, "paddings", given, widths), reshape(constant_value, ()))


# Words ---------------------------------------------------------------------------------------------------------------


class NoRepeatNGram(Primitive):
    """Log-probabilities of the next word, with the least number of the dtype for words that would repeat a group of `ngram_size` words.

    state_seq  the words so far, [batch, beams, words], integers; at least `ngram_size` of them
    log_probs  [batch, beams, vocabulary], floats: the result's type
    """

    def __init__(self, ngram_size: int = 1):
        super().__init__(ngram_size=whole("NoRepeatNGram", "ngram_size", ngram_size))
        if self.ngram_size < 1:
            raise wrong("NoRepeatNGram", "ngram_size", "at least 1", ngram_size)

    def __call__(self, state_seq: Any, log_probs: Any) -> Tensor:
        op, size = self.name, self.ngram_size
        words, scores = operand(op, state_seq, "state_seq"), operand(op, log_probs, "log_probs")
        if not words.dtype.is_integer:
            raise wrong(op, "state_seq", "a Tensor of integers", words, TypeError)
        if not scores.dtype.is_float:
            raise wrong(op, "log_probs", "a Tensor of a floating point type", scores, TypeError)
        for argument, x in (("state_seq", words), ("log_probs", scores)):
            if x.ndim != 3:
                raise wrong(op, argument, "of 3 dimensions", x)
        if words.shape[:2] != scores.shape[:2]:
            raise wrong(op, "log_probs", f"of a shape that begins with {words.shape[:2]}, as that of 'state_seq'", scores)
        length = words.shape[2]
        if size > length:
            raise wrong(op, "ngram_size", f"at most {length}, the number of words", size)
        # Each group of earlier words that are the last size - 1 ones rules out the word that followed it.
        count = length - size + 1
        repeats = full((*words.shape[:2], count), True, dtype=BOOL)
        for i in range(size - 1):
            repeats = logical_and(repeats, equal(words[..., i : i + count], words[..., count + i : count + i + 1]))
        following = words[..., size - 1 :].astype(I64)
        checked_on_host(index_check(op, "state_seq", 0, scores.shape[2]), words)
        hits = tensor_scatter_elements(zeros(scores.shape, I32), following, repeats.astype(I32), 2, "add")
        return where(hits > 0, -LARGEST[scores.dtype], scores).astype(scores.dtype, copy=False)
