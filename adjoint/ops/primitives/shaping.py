"""Operators as objects that make tensors of other shapes, and new ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ir.types import F32, I64, DType
from adjoint.ops import blocks, creation, diagonals, parts, picking, scalars, shapes, tensor_writes, window_functions
from adjoint.ops.arguments import (
    choice,
    dimension,
    dtype_or,
    flag,
    float_only,
    integer,
    operand,
    sizes_argument,
    tensors_argument,
    whole,
    wrong,
)
from adjoint.ops.primitive import Plain, Primitive, plain
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "BartlettWindow", "BatchToSpaceND", "BlackmanWindow", "BroadcastTo", "Concat", "ConjugateTranspose", "EmbeddingLookup", "Expand",
    "ExpandDims", "Eye", "Fill", "FillDiagonal", "FillV2", "Flatten", "HammingWindow", "InvertPermutation", "LinSpace", "LogSpace",
    "Meshgrid", "MirrorPad", "OneHot", "Ones", "OnesLike", "Pack", "Pad", "Padding", "ParallelConcat", "Range", "Rank", "Reshape",
    "ReverseSequence", "ReverseV2", "ScalarToArray", "ScalarToTensor", "Shape", "Size", "Slice", "SpaceToBatchND", "Split", "Squeeze",
    "Stack", "StridedSlice", "TensorShape", "Tile", "Transpose", "Tril", "Triu", "TupleToArray", "TypeOf", "Unpack", "Unstack", "Zeros",
    "ZerosLike",
]

# Shapes --------------------------------------------------------------------------------------------------------------


class Shape(Plain):
    """The sizes, as a tuple of ints."""

    def __call__(self, x: Any) -> tuple[int, ...]:
        return shapes.shape(x)


class Rank(Plain):
    """The number of dimensions."""

    def __call__(self, x: Any) -> int:
        return shapes.rank(x)


Size = plain("Size", shapes.size)


class TypeOf(Plain):
    """The dtype of a tensor; called DType in MindSpore."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "DType"

    def __call__(self, x: Any) -> DType:
        return operand("DType", x, "x").dtype


class TensorShape(Plain):
    """The sizes as an Int64 tensor."""

    def __call__(self, input_x: Any) -> Tensor:
        return Tensor(list(shapes.shape(input_x)), I64)


Reshape = plain("Reshape", shapes.reshape)


class Flatten(Plain):
    """All axes behind the first made one."""

    def __call__(self, input_x: Any) -> Tensor:
        x = operand("Flatten", input_x, "input_x")
        if x.ndim == 0:
            raise wrong("Flatten", "input_x", "of at least 1 dimension", x)
        return shapes.reshape(x, (x.shape[0], -1) if x.size else (x.shape[0], _rest(x)))


def _rest(x: Tensor) -> int:
    count = 1
    for size in x.shape[1:]:
        count *= size
    return count


Transpose = plain("Transpose", shapes.transpose)
ConjugateTranspose = plain("ConjugateTranspose", shapes.conjugate_transpose)
ExpandDims = plain("ExpandDims", shapes.expand_dims)
Expand = plain("Expand", shapes.expand)


class Squeeze(Primitive):
    """The tensor without its axes of 1, or without those of `axis` that are 1."""

    def __init__(self, axis: Any = ()):
        super().__init__(axis=sizes_argument("Squeeze", "axis", axis, least=None))

    def __call__(self, input: Any) -> Tensor:
        return shapes.squeeze(input, self.axis)


class Concat(Primitive):
    """Concatenates tensors along an axis."""

    def __init__(self, axis: int = 0):
        super().__init__(axis=integer("Concat", "axis", axis))

    def __call__(self, *tensors: Any) -> Tensor:
        return parts.concat(tensors[0] if len(tensors) == 1 else tensors, self.axis)


class ParallelConcat(Plain):
    """Concatenates a tuple or list of tensors of one dtype along the first axis."""

    def __call__(self, values: Any) -> Tensor:
        given = tensors_argument("ParallelConcat", "values", values)
        for x in given:
            if x.dtype is not given[0].dtype:
                raise wrong("ParallelConcat", "values", f"of one dtype, {given[0].dtype}", x, TypeError)
            if not x.ndim or x.shape[1:] != given[0].shape[1:]:
                raise wrong("ParallelConcat", "values", "of at least 1 dimension, and of one shape but for the first", x)
        return parts.concat(given, 0)


class Stack(Primitive):
    """Stacks tensors along a new axis."""

    def __init__(self, axis: int = 0):
        super().__init__(axis=integer("Stack", "axis", axis))

    def __call__(self, input_x: Any) -> Tensor:
        return parts.stack(input_x, self.axis)


class Unstack(Primitive):
    """The slices along an axis, without it."""

    def __init__(self, axis: int = 0, num: int | None = None):
        super().__init__(axis=integer("Unstack", "axis", axis), num=None if num is None else integer("Unstack", "num", num))

    def __call__(self, input_x: Any) -> tuple[Tensor, ...]:
        found = parts.unstack(input_x, self.axis)
        if self.num is not None and self.num != len(found):
            raise wrong("Unstack", "num", f"the size along axis {self.axis}, {len(found)}", self.num)
        return found


class Pack(Stack):
    """As `Stack`."""


class Unpack(Unstack):
    """As `Unstack`, without `num`."""

    def __init__(self, axis: int = 0):
        super().__init__(axis)


class Split(Primitive):
    """The given number of parts of one size along an axis."""

    def __init__(self, axis: int = 0, output_num: int = 1):
        super().__init__(axis=integer("Split", "axis", axis), output_num=integer("Split", "output_num", output_num))
        if self.output_num < 1:
            raise wrong("Split", "output_num", "at least 1", output_num)

    def __call__(self, input_x: Any) -> tuple[Tensor, ...]:
        x = operand("Split", input_x, "input_x")
        return parts.equally_split("Split", x, dimension("Split", self.axis, x, tensor="input_x"), self.output_num)


class Slice(Plain):
    """The part of a size that begins at a place."""

    def __call__(self, input: Any, begin: Any, size: Any) -> Tensor:
        return parts.slice(input, begin, size)


class StridedSlice(Primitive):
    """Elements that begin, end and strides name; the masks are those of `strided_slice`."""

    def __init__(self, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0):
        masks = {"begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask, "new_axis_mask": new_axis_mask,
                 "shrink_axis_mask": shrink_axis_mask}
        super().__init__(None, **{key: integer("StridedSlice", key, mask) for key, mask in masks.items()})

    def __call__(self, input_x: Any, begin: Any, end: Any, strides: Any) -> Tensor:
        return parts.strided_slice(input_x, begin, end, strides, **self.attrs)


Tile = plain("Tile", shapes.tile)


class BroadcastTo(Primitive):
    """The elements repeated to a shape."""

    def __init__(self, shape: Any):
        super().__init__(shape=sizes_argument("BroadcastTo", "shape", shape, least=-1))

    def __call__(self, input: Any) -> Tensor:
        return shapes.broadcast_to(input, self.shape)


class ReverseV2(Primitive):
    """The elements in opposite order along axes."""

    def __init__(self, axis: Any):
        super().__init__(axis=sizes_argument("ReverseV2", "axis", axis, least=None))

    def __call__(self, input: Any) -> Tensor:
        return parts.flip(input, self.axis)


class Pad(Primitive):
    """The tensor with zeros around it: paddings[i] is (before, after) for axis i; negative ones cut off."""

    def __init__(self, paddings: Any):
        if not isinstance(paddings, (tuple, list)):
            raise wrong("Pad", "paddings", "a tuple of pairs", paddings, TypeError)
        if any(not isinstance(p, (tuple, list)) or len(p) != 2 for p in paddings):
            raise wrong("Pad", "paddings", "a tuple of pairs", paddings)
        super().__init__(paddings=tuple((integer("Pad", "paddings", a), integer("Pad", "paddings", b)) for a, b in paddings))

    def __call__(self, input_x: Any) -> Tensor:
        x = operand("Pad", input_x, "input_x")
        if len(self.paddings) != x.ndim:
            raise wrong("Pad", "paddings", f"a pair for each of {x.ndim} axes", self.paddings)
        return parts.framed(x, self.paddings, 0)


class MirrorPad(Primitive):
    """The tensor continued by its mirror image: paddings [n, 2]; "REFLECT" leaves the edge out, "SYMMETRIC" repeats it."""

    def __init__(self, mode: str = "REFLECT"):
        super().__init__(mode=choice("MirrorPad", "mode", mode, ("reflect", "symmetric")).upper())

    def __call__(self, input_x: Any, paddings: Any) -> Tensor:
        return blocks.mirror_pad(input_x, paddings, self.mode)


class Padding(Primitive):
    """The tensor, whose last axis has one element, with zeros behind it up to `pad_dim_size`."""

    def __init__(self, pad_dim_size: int = 8):
        super().__init__(pad_dim_size=integer("Padding", "pad_dim_size", pad_dim_size))
        if self.pad_dim_size < 1:
            raise wrong("Padding", "pad_dim_size", "at least 1", pad_dim_size)

    def __call__(self, x: Any) -> Tensor:
        return blocks.padding(x, self.pad_dim_size)


class ReverseSequence(Primitive):
    """The tensor with elements along `seq_dim` reversed, for each slice along `batch_dim` the first `seq_lengths` ones."""

    def __init__(self, seq_dim: int, batch_dim: int = 0):
        super().__init__(seq_dim=integer("ReverseSequence", "seq_dim", seq_dim),
                         batch_dim=integer("ReverseSequence", "batch_dim", batch_dim))

    def __call__(self, x: Any, seq_lengths: Any) -> Tensor:
        return blocks.reverse_sequence(x, seq_lengths, self.seq_dim, self.batch_dim)


class SpaceToBatchND(Primitive):
    """Blocks of the last axes, padded with zeros, as slices along axis 0."""

    def __init__(self, block_shape: Any, paddings: Any):
        super().__init__(None, **dict(zip(("block_shape", "paddings"), blocks.block(
            "SpaceToBatchND", "block_shape", block_shape, "paddings", paddings), strict=True)))

    def __call__(self, input_x: Any) -> Tensor:
        return blocks.space_to_batch_nd(input_x, self.block_shape, self.paddings)


class BatchToSpaceND(Primitive):
    """Slices along axis 0 put together to blocks of the last axes, cut off at the ends."""

    def __init__(self, block_shape: Any, crops: Any):
        super().__init__(None, **dict(zip(("block_shape", "crops"), blocks.block(
            "BatchToSpaceND", "block_shape", block_shape, "crops", crops), strict=True)))

    def __call__(self, input_x: Any) -> Tensor:
        return blocks.batch_to_space_nd(input_x, self.block_shape, self.crops)


class InvertPermutation(Plain):
    """The inverse of a permutation, a tuple or list of the numbers 0..n-1, as a tuple."""

    def __call__(self, input_x: Any) -> tuple[int, ...]:
        if not isinstance(input_x, (tuple, list)):
            kind = ValueError if isinstance(input_x, Tensor) else TypeError
            raise wrong("InvertPermutation", "input_x", "a tuple or list of ints", input_x, kind)
        places = [integer("InvertPermutation", "input_x", place) for place in input_x]
        if sorted(places) != [*range(len(places))]:
            raise wrong("InvertPermutation", "input_x", f"the numbers 0..{len(places) - 1}, each once", tuple(places))
        return tuple(places.index(place) for place in range(len(places)))


class TupleToArray(Plain):
    """The numbers in a tuple, of one kind, as a tensor of one dimension: Int32 or Float32."""

    def __call__(self, input_x: Any) -> Tensor:
        return creation.tuple_to_array(input_x)


class EmbeddingLookup(Plain):
    """The rows of a table that the indices name, less `offset`; zeros for an index that names none."""

    def __call__(self, input_params: Any, input_indices: Any, offset: int) -> Tensor:
        table = operand("EmbeddingLookup", input_params, "input_params")
        if not table.ndim:
            raise wrong("EmbeddingLookup", "input_params", "of at least 1 dimension", table)
        indices = picking.indices_argument("EmbeddingLookup", "input_indices", input_indices)
        return picking.looked_up("EmbeddingLookup", table, indices, whole("EmbeddingLookup", "offset", offset))


class OneHot(Primitive):
    """`depth` elements for each index, along a new axis."""

    def __init__(self, axis: int = -1):
        super().__init__(axis=integer("OneHot", "axis", axis))

    def __call__(self, indices: Any, depth: Any, on_value: Any, off_value: Any) -> Tensor:
        return picking.one_hot(indices, depth, on_value, off_value, self.axis)


class Meshgrid(Primitive):
    """Coordinates of a grid."""

    def __init__(self, indexing: str = "xy"):
        super().__init__(indexing=choice("Meshgrid", "indexing", indexing, ("xy", "ij")))

    def __call__(self, inputs: Any) -> tuple[Tensor, ...]:
        return parts.meshgrid(*tensors_argument("Meshgrid", "inputs", inputs), indexing=self.indexing)


class Tril(Primitive):
    """Lower triangles."""

    def __init__(self, diagonal: int = 0):
        super().__init__(diagonal=integer("Tril", "diagonal", diagonal))

    def __call__(self, x: Any) -> Tensor:
        return diagonals.tril(x, self.diagonal)


class Triu(Primitive):
    """Upper triangles."""

    def __init__(self, diagonal: int = 0):
        super().__init__(diagonal=integer("Triu", "diagonal", diagonal))

    def __call__(self, input: Any) -> Tensor:
        return diagonals.triu(input, self.diagonal)


# New tensors ---------------------------------------------------------------------------------------------------------


class ZerosLike(Plain):
    """Zeros in the shape and dtype of a tensor."""

    def __call__(self, x: Any) -> Tensor:
        return creation.zeros_like(x)


class OnesLike(Plain):
    """Ones in the shape and dtype of a tensor."""

    def __call__(self, x: Any) -> Tensor:
        return creation.ones_like(x)


Zeros = plain("Zeros", creation.zeros)
Ones = plain("Ones", creation.ones)


class Fill(Plain):
    """One number everywhere, in a dtype and a shape."""

    def __call__(self, dtype: DType, dims: Any, x: Any) -> Tensor:
        return creation.full(dims, x, dtype=dtype)


class FillDiagonal(Primitive):
    """One number where all coordinates are equal: see `Tensor.fill_diagonal`.

    fill_value  a float
    """

    def __init__(self, fill_value: float, wrap: bool = False):
        op = "FillDiagonal"
        super().__init__(fill_value=float_only(op, "fill_value", fill_value), wrap=flag(op, "wrap", wrap))

    def __call__(self, input_x: Any) -> Tensor:
        return tensor_writes.fill_diagonal(operand("FillDiagonal", input_x, "input_x"), self.fill_value, self.wrap)


class FillV2(Plain):
    """One number everywhere, in a shape."""

    def __call__(self, shape: Any, value: Any) -> Tensor:
        return creation.full(shape, value)


class Eye(Plain):
    """Ones on the diagonal, zeros elsewhere."""

    def __call__(self, n: Any, m: Any, dtype: DType) -> Tensor:
        return creation.eye(n, m, dtype)


class Range(Primitive):
    """Numbers at equal distances, at most `maxlen`."""

    def __init__(self, maxlen: int = 1000000):
        super().__init__(maxlen=integer("Range", "maxlen", maxlen))

    def __call__(self, start: Any, end: Any, step: Any) -> Tensor:
        return creation.range(start, end, step, self.maxlen)


class LinSpace(Plain):
    """Numbers at equal distances, both ends included."""

    def __call__(self, start: Any, stop: Any, num: Any) -> Tensor:
        return creation.linspace(start, stop, num)


class LogSpace(Primitive):
    """`base` to the power of `steps` numbers at equal distances, both ends included, which are Tensors."""

    def __init__(self, steps: int = 10, base: int = 10, dtype: DType = F32):
        super().__init__(steps=integer("LogSpace", "steps", steps), base=integer("LogSpace", "base", base),
                         dtype=dtype_or("LogSpace", dtype, F32))
        if self.steps < 0:
            raise wrong("LogSpace", "steps", "at least 0", steps)

    def __call__(self, start: Any, end: Any) -> Tensor:
        return creation.logspace(start, end, self.steps, self.base, dtype=self.dtype)


class _Window(Primitive):
    """Weights that decrease from the middle to both ends."""

    _function: Callable[..., Tensor]

    def __init__(self, periodic: bool = True, dtype: DType = F32):
        name = type(self).__name__
        super().__init__(periodic=flag(name, "periodic", periodic), dtype=dtype_or(name, dtype, F32))

    def __call__(self, window_length: Any) -> Tensor:
        return type(self)._function(window_length, self.periodic, dtype=self.dtype)


class BartlettWindow(_Window):
    """The triangular window."""

    _function = staticmethod(window_functions.bartlett_window)


class BlackmanWindow(_Window):
    """The Blackman window."""

    _function = staticmethod(window_functions.blackman_window)


class HammingWindow(Primitive):
    """The Hamming window alpha - beta cos(2 pi t), t from 0 to 1, of the length in a Tensor of one integer."""

    def __init__(self, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, dtype: DType = F32):
        name = "HammingWindow"
        super().__init__(periodic=flag(name, "periodic", periodic), alpha=float_only(name, "alpha", alpha),
                         beta=float_only(name, "beta", beta), dtype=window_functions.float_dtype(name, dtype, F32))

    def __call__(self, length: Any) -> Tensor:
        count = window_functions.length_argument("HammingWindow", length, "length")
        return window_functions.hamming(count, self.periodic, self.alpha, self.beta, self.dtype)


class ScalarToArray(Plain):
    """A number as a Tensor without dimensions: Float32 for a float, else Int64."""

    def __call__(self, input_x: Any) -> Tensor:
        return scalars.scalar_to_array(input_x)


class ScalarToTensor(Plain):
    """A number as a tensor without dimensions."""

    def __call__(self, x: Any, dtype: DType = F32) -> Tensor:
        return creation.scalar_to_tensor(x, dtype)
