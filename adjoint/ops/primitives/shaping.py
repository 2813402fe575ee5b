"""Operators as objects that make tensors of other shapes, and new ones."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import F32, I64, DType
from adjoint.ops import creation, diagonals, parts, picking, shapes
from adjoint.ops.arguments import choice, dimension, integer, operand, sizes_argument, tensors_argument, whole, wrong
from adjoint.ops.primitive import Plain, Primitive, plain
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "BroadcastTo", "Concat", "EmbeddingLookup", "ExpandDims", "Eye", "Fill", "FillV2", "Flatten",
    "LinSpace", "Meshgrid", "MirrorPad", "OneHot", "Ones", "OnesLike", "Pad", "Range", "Rank", "Reshape", "ReverseV2",
    "ScalarToTensor", "Shape", "Size", "Slice", "Split", "Squeeze", "Stack", "StridedSlice", "TensorShape",
    "Tile", "Transpose", "Tril", "Triu", "TypeOf", "Unstack", "Zeros", "ZerosLike",
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
ExpandDims = plain("ExpandDims", shapes.expand_dims)


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
        x = operand("MirrorPad", input_x, "input_x")
        pairs = paddings.tolist() if isinstance(paddings, Tensor) else paddings
        two = isinstance(pairs, (tuple, list)) and all(isinstance(p, (tuple, list)) and len(p) == 2 for p in pairs)
        if not two or len(pairs) != x.ndim:
            raise wrong("MirrorPad", "paddings", f"{x.ndim} pairs of ints", paddings)
        for axis, given in enumerate(pairs):
            before, after = (integer("MirrorPad", "paddings", n) for n in given)
            edge = 1 if self.mode == "REFLECT" else 0
            n = x.shape[axis]
            if max(before, after) > n - edge:
                raise wrong("MirrorPad", "paddings", f"at most {n - edge} along axis {axis}", (before, after))
            head, tail = parts.narrow(x, axis, edge, before), parts.narrow(x, axis, n - edge - after, after)
            x = parts.concat((parts.flip(head, axis), x, parts.flip(tail, axis)), axis)
        return x


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


class ScalarToTensor(Plain):
    """A number as a tensor without dimensions."""

    def __call__(self, x: Any, dtype: DType = F32) -> Tensor:
        return creation.scalar_to_tensor(x, dtype)
