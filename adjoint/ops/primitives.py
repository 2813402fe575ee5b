"""Operators as objects: each takes its attributes once and is then called on tensors.

Where the class says no more, the call is that of the function of the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ir.ops.along import ArgMax, ArgMin
from adjoint.ir.ops.along import CumSum as CumSumOp
from adjoint.ir.ops.elementwise import Cast as CastOp
from adjoint.ir.ops.normalize import BatchNormInference
from adjoint.ir.ops.pooling import AvgPool as AvgPoolOp
from adjoint.ir.ops.pooling import MaxPool as MaxPoolOp
from adjoint.ir.ops.pooling import MaxPoolIndices
from adjoint.ir.ops.random import Dropout as DropoutOp
from adjoint.ir.ops.reduce import All, Any_, Mean, Prod, Sum
from adjoint.ir.ops.reduce import ReduceMax as ReduceMaxOp
from adjoint.ir.ops.reduce import ReduceMin as ReduceMinOp
from adjoint.ir.types import BOOL, F32, I32, I64, DType
from adjoint.ops import (
    activations,
    arithmetic,
    creation,
    diagonals,
    linear,
    losses,
    network,
    ordering,
    parts,
    picking,
    random_numbers,
    reduction,
    shapes,
    state,
)
from adjoint.ops.arguments import (
    axes_argument,
    axis_argument,
    choice,
    dimension,
    dtype_or,
    flag,
    integer,
    number,
    operand,
    pair,
    sizes_argument,
    tensors_argument,
    whole,
    wrong,
)
from adjoint.ops.primitive import Primitive
from adjoint.runtime.host_checks import checked_on_host
from adjoint.runtime.interned import made
from adjoint.runtime.random import next_key
from adjoint.runtime.tensor import Tensor, apply, constant

__all__ = [
    "ACos", "Abs", "Add", "AddN", "ApproximateEqual", "ArgMaxWithValue", "ArgMinWithValue", "Argmax", "Argmin", "Asin", "Assign",
    "AssignAdd", "AssignSub", "Atan", "Atan2", "AvgPool", "BCEWithLogitsLoss", "BatchMatMul", "BatchNorm", "BiasAdd", "BinaryCrossEntropy",
    "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BroadcastTo", "Cast", "Ceil", "Concat", "Conv2D", "Cos", "Cosh", "CumSum", "Depend", "Div",
    "DivNoNan", "Dropout", "Elu", "Equal", "Erf", "Erfc", "Exp", "ExpandDims", "Expm1", "Eye", "FastGeLU", "Fill", "FillV2", "Flatten",
    "Floor", "FloorDiv", "FloorMod", "GELU", "Gather", "GatherD", "GatherNd", "GeLU", "Gelu", "Greater", "GreaterEqual", "HSigmoid",
    "HSwish", "Identity", "Inv", "Invert", "IsFinite", "IsInf", "IsNan", "KLDivLoss", "L2Loss", "L2Normalize", "LayerNorm", "Lerp", "Less",
    "LessEqual", "LinSpace", "Log", "Log1p", "LogSoftmax", "LogicalAnd", "LogicalNot", "LogicalOr", "LogicalXor", "MaskedFill", "MatMul",
    "MaxPool", "MaxPoolWithArgmax", "Maximum", "Meshgrid", "Minimum", "MirrorPad", "Mish", "Mod", "Mul", "NLLLoss", "Neg", "NotEqual",
    "OneHot", "Ones", "OnesLike", "PReLU", "Pad", "Pow", "Print", "Range", "Rank", "ReLU", "ReLU6", "RealDiv", "Reciprocal", "ReduceAll",
    "ReduceAny", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "ReverseV2", "Rint", "Round", "Rsqrt",
    "ScalarToTensor", "SeLU", "Select", "Shape", "Sigmoid", "SigmoidCrossEntropyWithLogits", "Sign", "Sin", "Sinh", "Size", "Slice",
    "SmoothL1Loss", "Softmax", "SoftmaxCrossEntropyWithLogits", "Softplus", "Softsign", "Sort", "SparseSoftmaxCrossEntropyWithLogits",
    "Split", "Sqrt", "Square", "SquaredDifference", "Squeeze", "Stack", "StandardNormal", "StopGradient", "StridedSlice", "Sub", "Tan",
    "Tanh", "TensorAdd", "TensorScatterAdd", "TensorShape", "Tile", "TopK", "Transpose", "Tril", "Triu", "Trunc", "TypeOf", "UniformInt",
    "UniformReal", "UnsortedSegmentSum", "Unstack", "Xlogy", "Zeros", "ZerosLike",
]

# Arithmetic ---------------------------------------------------------------------------------------------------------


class _Plain(Primitive):
    """An operator without attributes."""

    def __init__(self) -> None:
        super().__init__()


def plain(name: str, function: Callable[..., Any]) -> type[_Plain]:
    """The class of operators without attributes whose call is that of a function."""
    return type(name, (_Plain,), {"__call__": staticmethod(function), "__doc__": function.__doc__, "__module__": __name__})


Add = plain("Add", arithmetic.add)
TensorAdd = plain("TensorAdd", arithmetic.add)
Sub = plain("Sub", arithmetic.sub)
Mul = plain("Mul", arithmetic.mul)


class RealDiv(_Plain):
    """x / y, of integers in Float32."""

    def __call__(self, x: Any, y: Any) -> Tensor:
        return arithmetic.true_divide(x, y)


Div = plain("Div", arithmetic.true_divide)
FloorDiv = plain("FloorDiv", arithmetic.floor_div)
Mod = plain("Mod", arithmetic.mod)
FloorMod = plain("FloorMod", arithmetic.floor_mod)


class DivNoNan(_Plain):
    """x1 / x2, 0 where x2 is 0."""

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        quotient = arithmetic.true_divide(x1, arithmetic.where(arithmetic.equal(x2, 0), 1, x2))
        return arithmetic.where(arithmetic.equal(x2, 0), constant(0.0, quotient.dtype), quotient)


class SquaredDifference(_Plain):
    """(x - y) ** 2."""

    def __call__(self, x: Any, y: Any) -> Tensor:
        return arithmetic.square(arithmetic.sub(x, y))


AddN = plain("AddN", arithmetic.addn)
Neg = plain("Neg", arithmetic.neg)
Pow = plain("Pow", arithmetic.pow)
Exp = plain("Exp", arithmetic.exp)
Expm1 = plain("Expm1", arithmetic.expm1)
Log = plain("Log", arithmetic.log)
Log1p = plain("Log1p", arithmetic.log1p)
Sqrt = plain("Sqrt", arithmetic.sqrt)
Rsqrt = plain("Rsqrt", arithmetic.rsqrt)
Square = plain("Square", arithmetic.square)
Reciprocal = plain("Reciprocal", arithmetic.reciprocal)
Inv = plain("Inv", arithmetic.reciprocal)
Abs = plain("Abs", arithmetic.abs)
Sign = plain("Sign", arithmetic.sign)
Floor = plain("Floor", arithmetic.floor)
Ceil = plain("Ceil", arithmetic.ceil)


class Round(_Plain):
    """The nearest whole number, or one of so many decimals, the even one of two."""

    def __call__(self, input: Any, decimals: int = 0) -> Tensor:
        return arithmetic.round(input, decimals=decimals)


class Rint(_Plain):
    """The nearest whole number, the even one of two."""

    def __call__(self, input_x: Any) -> Tensor:
        return arithmetic.round(input_x)


Trunc = plain("Trunc", arithmetic.trunc)
Sin = plain("Sin", arithmetic.sin)
Cos = plain("Cos", arithmetic.cos)
Tan = plain("Tan", arithmetic.tan)
Sinh = plain("Sinh", arithmetic.sinh)
Cosh = plain("Cosh", arithmetic.cosh)
Asin = plain("Asin", arithmetic.asin)
ACos = plain("ACos", arithmetic.acos)
Atan = plain("Atan", arithmetic.atan)
Atan2 = plain("Atan2", arithmetic.atan2)
Erf = plain("Erf", arithmetic.erf)
Erfc = plain("Erfc", arithmetic.erfc)
Maximum = plain("Maximum", arithmetic.maximum)
Minimum = plain("Minimum", arithmetic.minimum)
Xlogy = plain("Xlogy", arithmetic.xlogy)
Lerp = plain("Lerp", arithmetic.lerp)


# Comparison and logic -----------------------------------------------------------------------------------------------


Equal = plain("Equal", arithmetic.equal)
NotEqual = plain("NotEqual", arithmetic.not_equal)
Less = plain("Less", arithmetic.less)
LessEqual = plain("LessEqual", arithmetic.less_equal)
Greater = plain("Greater", arithmetic.greater)
GreaterEqual = plain("GreaterEqual", arithmetic.greater_equal)
LogicalAnd = plain("LogicalAnd", arithmetic.logical_and)
LogicalOr = plain("LogicalOr", arithmetic.logical_or)
LogicalNot = plain("LogicalNot", arithmetic.logical_not)
LogicalXor = plain("LogicalXor", arithmetic.logical_xor)
BitwiseAnd = plain("BitwiseAnd", arithmetic.bitwise_and)
BitwiseOr = plain("BitwiseOr", arithmetic.bitwise_or)
BitwiseXor = plain("BitwiseXor", arithmetic.bitwise_xor)
Invert = plain("Invert", arithmetic.invert)
IsNan = plain("IsNan", arithmetic.isnan)
IsInf = plain("IsInf", arithmetic.isinf)
IsFinite = plain("IsFinite", arithmetic.isfinite)


class ApproximateEqual(Primitive):
    """Whether two numbers differ by less than a tolerance."""

    def __init__(self, tolerance: float = 1e-05):
        super().__init__(tolerance=float(number("ApproximateEqual", "tolerance", tolerance)))

    def __call__(self, x: Any, y: Any) -> Tensor:
        return arithmetic.less(arithmetic.abs(arithmetic.sub(x, y)), self.tolerance)


Select = plain("Select", arithmetic.select)
MaskedFill = plain("MaskedFill", arithmetic.masked_fill)


class Cast(_Plain):
    """The numbers in another dtype."""

    def __call__(self, input_x: Any, dtype: DType) -> Tensor:
        return arithmetic.cast(input_x, dtype)


Identity = plain("Identity", arithmetic.identity)
StopGradient = plain("StopGradient", arithmetic.stop_gradient)


Depend = plain("Depend", arithmetic.depend)


# Reductions ---------------------------------------------------------------------------------------------------------


class _Reduce(Primitive):
    """A reduction over `axis`: () or [] for all axes, an int, or several."""

    def __init__(self, keep_dims: bool = False):
        super().__init__(keep_dims=flag(type(self).__name__, "keep_dims", keep_dims))

    def _axes(self, x: Tensor, axis: Any) -> tuple[int, ...]:
        return axes_argument(self.name, axis, x.ndim)


class ReduceSum(_Reduce):
    """The sum over axes, in the operand's dtype.  With `skip_mode` an empty tuple of axes means none."""

    def __init__(self, keep_dims: bool = False, skip_mode: bool = False):
        super().__init__(keep_dims)
        self.add_prim_attr("skip_mode", flag("ReduceSum", "skip_mode", skip_mode))

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceSum", x, "x")
        if self.skip_mode and isinstance(axis, (tuple, list)) and not axis:
            return arithmetic.identity(x)
        axes = self._axes(x, axis)
        return apply(made(Any_ if x.dtype is BOOL else Sum, axes, self.keep_dims), x)


class ReduceMean(_Reduce):
    """The mean over axes; of integers in their dtype, truncated."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceMean", x, "x")
        if x.dtype.is_float:
            return apply(made(Mean, self._axes(x, axis), self.keep_dims), x)
        return reduction.mean(x, axis, self.keep_dims)


class ReduceProd(_Reduce):
    """The product over axes, in the operand's dtype."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceProd", x, "x")
        axes = self._axes(x, axis)
        return apply(made(All if x.dtype is BOOL else Prod, axes, self.keep_dims), x)


class ReduceMax(_Reduce):
    """The largest element over axes; equal ones share the gradient."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceMax", x, "x")
        axes = self._axes(x, axis)
        return apply(made(Any_ if x.dtype is BOOL else ReduceMaxOp, axes, self.keep_dims), x)


class ReduceMin(_Reduce):
    """The smallest element over axes; equal ones share the gradient."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceMin", x, "x")
        axes = self._axes(x, axis)
        return apply(made(All if x.dtype is BOOL else ReduceMinOp, axes, self.keep_dims), x)


class ReduceAll(_Reduce):
    """Whether all elements over axes are true."""

    def __call__(self, input: Any, axis: Any = None) -> Tensor:
        return reduction.all(input, axis, self.keep_dims)


class ReduceAny(_Reduce):
    """Whether an element over axes is true."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return reduction.any(x, axis, self.keep_dims)


class _Argument(Primitive):
    """The place of an extreme along an axis."""

    place: Any

    def __init__(self, axis: int = -1, output_type: DType = I32):
        name = type(self).__name__
        super().__init__(axis=integer(name, "axis", axis), output_type=dtype_or(name, output_type, I32))

    def _found(self, x: Any) -> Tensor:
        x = operand(self.name, x, "input_x")
        place = axis_argument(self.name, self.axis, x.ndim)
        return apply(made(self.place, place, self.output_type), x) if x.ndim else constant(0, self.output_type)


class Argmax(_Argument):
    """The place of the largest element along an axis, the first of equal ones."""

    place = ArgMax

    def __call__(self, input_x: Any) -> Tensor:
        return self._found(input_x)


class Argmin(_Argument):
    """The place of the smallest element along an axis, the first of equal ones."""

    place = ArgMin

    def __call__(self, input_x: Any) -> Tensor:
        return self._found(input_x)


class ArgMaxWithValue(Primitive):
    """The place (Int64) of the largest element along an axis, and the element."""

    def __init__(self, axis: int = 0, keep_dims: bool = False):
        super().__init__(axis=integer("ArgMaxWithValue", "axis", axis), keep_dims=flag("ArgMaxWithValue", "keep_dims", keep_dims))

    def __call__(self, input: Any) -> tuple[Tensor, Tensor]:
        values, places = reduction.chosen(ArgMax, input, self.axis, self.keep_dims, I64)
        return places, values


class ArgMinWithValue(Primitive):
    """The place (Int64) of the smallest element along an axis, and the element."""

    def __init__(self, axis: int = 0, keep_dims: bool = False):
        super().__init__(axis=integer("ArgMinWithValue", "axis", axis), keep_dims=flag("ArgMinWithValue", "keep_dims", keep_dims))

    def __call__(self, input: Any) -> tuple[Tensor, Tensor]:
        values, places = reduction.chosen(ArgMin, input, self.axis, self.keep_dims, I64)
        return places, values


class CumSum(Primitive):
    """The running sum along an axis; `exclusive` leaves each element itself out, `reverse` runs from the end."""

    def __init__(self, exclusive: bool = False, reverse: bool = False):
        super().__init__(exclusive=flag("CumSum", "exclusive", exclusive), reverse=flag("CumSum", "reverse", reverse))

    def __call__(self, input: Any, axis: Any) -> Tensor:
        x = operand("CumSum", input)
        place = axis_argument("CumSum", axis, x.ndim)
        return apply(made(CumSumOp, place, self.exclusive, self.reverse), x)


class L2Loss(_Plain):
    """Half the sum of squares."""

    def __call__(self, input_x: Any) -> Tensor:
        return reduction.sum(arithmetic.square(operand("L2Loss", input_x, "input_x"))) * 0.5


class L2Normalize(Primitive):
    """The input divided by the length of its vectors along an axis; the square of a length counts as at least `epsilon`."""

    def __init__(self, axis: Any = 0, epsilon: float = 0.0001):
        super().__init__(axis=axis, epsilon=float(number("L2Normalize", "epsilon", epsilon)))

    def __call__(self, x: Any) -> Tensor:
        total = reduction.sum(arithmetic.square(operand("L2Normalize", x, "x")), self.axis, True)
        return x * arithmetic.rsqrt(arithmetic.maximum(total, self.epsilon))


class TopK(Primitive):
    """The `k` largest elements along the last axis, and their places."""

    def __init__(self, sorted: bool = True):
        super().__init__(sorted=flag("TopK", "sorted", sorted))

    def __call__(self, input_x: Any, k: Any) -> tuple[Tensor, Tensor]:
        return ordering.top_k(input_x, k, self.sorted)


class Sort(Primitive):
    """The elements in order along an axis, and their places."""

    def __init__(self, axis: int = -1, descending: bool = False):
        super().__init__(axis=integer("Sort", "axis", axis), descending=flag("Sort", "descending", descending))

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        return ordering.sort(x, self.axis, self.descending)


# Shapes -------------------------------------------------------------------------------------------------------------


Shape = plain("Shape", shapes.shape)
Rank = plain("Rank", shapes.rank)
Size = plain("Size", shapes.size)


class TypeOf(_Plain):
    """The dtype of a tensor; called DType in MindSpore."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "DType"

    def __call__(self, x: Any) -> DType:
        return operand("DType", x, "x").dtype


class TensorShape(_Plain):
    """The sizes as an Int64 tensor."""

    def __call__(self, input_x: Any) -> Tensor:
        return Tensor(list(shapes.shape(input_x)), I64)


Reshape = plain("Reshape", shapes.reshape)


class Flatten(_Plain):
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
    """Tensors one behind the other along an axis."""

    def __init__(self, axis: int = 0):
        super().__init__(axis=integer("Concat", "axis", axis))

    def __call__(self, *tensors: Any) -> Tensor:
        return parts.concat(tensors[0] if len(tensors) == 1 else tensors, self.axis)


class Stack(Primitive):
    """Tensors one behind the other along a new axis."""

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
    """So many parts of one size along an axis."""

    def __init__(self, axis: int = 0, output_num: int = 1):
        super().__init__(axis=integer("Split", "axis", axis), output_num=integer("Split", "output_num", output_num))
        if self.output_num < 1:
            raise wrong("Split", "output_num", "at least 1", output_num)

    def __call__(self, input_x: Any) -> tuple[Tensor, ...]:
        x = operand("Split", input_x, "input_x")
        return parts.equally_split("Split", x, dimension("Split", self.axis, x, tensor="input_x"), self.output_num)


Slice = plain("Slice", parts.slice)


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


class Gather(Primitive):
    """The slices along an axis that indices name."""

    def __init__(self, batch_dims: int = 0):
        super().__init__(batch_dims=integer("Gather", "batch_dims", batch_dims))

    def __call__(self, input_params: Any, input_indices: Any, axis: Any) -> Tensor:
        return picking.gather(input_params, input_indices, axis, self.batch_dims)


GatherD = plain("GatherD", picking.gather_d)
GatherNd = plain("GatherNd", picking.gather_nd)
TensorScatterAdd = plain("TensorScatterAdd", picking.tensor_scatter_add)
UnsortedSegmentSum = plain("UnsortedSegmentSum", picking.unsorted_segment_sum)


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


# New tensors --------------------------------------------------------------------------------------------------------


class ZerosLike(_Plain):
    """Zeros in the shape and dtype of a tensor."""

    def __call__(self, x: Any) -> Tensor:
        return creation.zeros_like(x)


class OnesLike(_Plain):
    """Ones in the shape and dtype of a tensor."""

    def __call__(self, x: Any) -> Tensor:
        return creation.ones_like(x)


Zeros = plain("Zeros", creation.zeros)
Ones = plain("Ones", creation.ones)


class Fill(_Plain):
    """One number everywhere, in a dtype and a shape."""

    def __call__(self, dtype: DType, dims: Any, x: Any) -> Tensor:
        return creation.full(dims, x, dtype=dtype)


class FillV2(_Plain):
    """One number everywhere, in a shape."""

    def __call__(self, shape: Any, value: Any) -> Tensor:
        return creation.full(shape, value)


class Eye(_Plain):
    """Ones on the diagonal, zeros elsewhere."""

    def __call__(self, n: Any, m: Any, dtype: DType) -> Tensor:
        return creation.eye(n, m, dtype)


class Range(Primitive):
    """Numbers at equal distances, at most `maxlen`."""

    def __init__(self, maxlen: int = 1000000):
        super().__init__(maxlen=integer("Range", "maxlen", maxlen))

    def __call__(self, start: Any, end: Any, step: Any) -> Tensor:
        return creation.range(start, end, step, self.maxlen)


class LinSpace(_Plain):
    """Numbers at equal distances, both ends included."""

    def __call__(self, start: Any, stop: Any, num: Any) -> Tensor:
        return creation.linspace(start, stop, num)


class ScalarToTensor(_Plain):
    """A number as a tensor without dimensions."""

    def __call__(self, x: Any, dtype: DType = F32) -> Tensor:
        return creation.scalar_to_tensor(x, dtype)


# Products and convolution -------------------------------------------------------------------------------------------


class MatMul(Primitive):
    """The product of two matrices, either transposed first; `mat2` has the dtype of `input`."""

    rank = 2

    def __init__(self, transpose_a: bool = False, transpose_b: bool = False):
        given = {"transpose_a": transpose_a, "transpose_b": transpose_b}
        super().__init__(None, **{name: flag(type(self).__name__, name, value) for name, value in given.items()})

    def __call__(self, input: Any, mat2: Any) -> Tensor:
        a, b = operand(self.name, input), operand(self.name, mat2, "mat2")
        if a.ndim != b.ndim or a.ndim < 2 or (self.rank == 2 and a.ndim != 2):
            raise wrong(self.name, "input", f"matrices of {self.rank} dimensions, as 'mat2'", (a.shape, b.shape))
        if a.dtype is not b.dtype:
            raise wrong(self.name, "mat2", f"of the dtype of 'input', {a.dtype}", b, TypeError)
        return linear.product(self.name, a, b, ta=self.transpose_a, tb=self.transpose_b)


class BatchMatMul(MatMul):
    """The products of two stacks of matrices, either transposed first."""

    rank = 3

    def __call__(self, x: Any, y: Any) -> Tensor:
        a, b = operand("BatchMatMul", x, "x"), operand("BatchMatMul", y, "y")
        if a.ndim < 2 or b.ndim < 2:
            raise wrong("BatchMatMul", "x", "of at least 2 dimensions, as 'y'", (a.shape, b.shape))
        if a.dtype is not b.dtype:
            raise wrong("BatchMatMul", "y", f"of the dtype of 'x', {a.dtype}", b, TypeError)
        return linear.product("BatchMatMul", a, b, ta=self.transpose_a, tb=self.transpose_b)


class BiasAdd(Primitive):
    """A bias for each channel added: along axis 1, or the last of four for "NHWC"."""

    def __init__(self, data_format: str = "NCHW"):
        super().__init__(data_format=_nchw("BiasAdd", data_format, ("nchw", "nhwc", "ncdhw")))

    def __call__(self, input_x: Any, bias: Any) -> Tensor:
        if self.data_format != "NHWC":
            return linear.bias_add(input_x, bias)
        x = operand("BiasAdd", input_x, "input_x")
        if x.ndim != 4:
            raise wrong("BiasAdd", "input_x", "of 4 dimensions where 'data_format' is 'NHWC'", x)
        return shapes.transpose(linear.bias_add(shapes.transpose(x, (0, 3, 1, 2)), bias), (0, 2, 3, 1))


def _nchw(op: str, data_format: Any, allowed: tuple[str, ...] = ("nchw",)) -> str:
    return choice(op, "data_format", data_format, allowed).upper()


class Conv2D(Primitive):
    """Cross-correlation of images [n, c, h, w] with kernels [out_channel, c / group, kh, kw].

    pad_mode  "valid", "same", or "pad" with `pad` zeros around: an int, or (top, bottom, left, right)
    mode      1, cross-correlation, is the only one
    """

    def __init__(
        self, out_channel: int, kernel_size: Any, mode: int = 1, pad_mode: str = "valid", pad: Any = 0, stride: Any = 1, dilation: Any = 1,
        group: int = 1, data_format: str = "NCHW",
    ):
        outputs, groups = integer("Conv2D", "out_channel", out_channel), integer("Conv2D", "group", group)
        if outputs < 1 or groups < 1:
            raise wrong("Conv2D", "out_channel", "at least 1, as 'group'", (out_channel, group))
        if integer("Conv2D", "mode", mode) != 1:
            raise wrong("Conv2D", "mode", "1", mode)
        self._kernel = pair("Conv2D", "kernel_size", kernel_size)
        self._padding = linear.padding_argument("Conv2D", pad_mode, pad)
        self._stride, self._dilation = pair("Conv2D", "stride", stride), pair("Conv2D", "dilation", dilation)
        widths = ((0, 0), (0, 0)) if isinstance(self._padding, str) else self._padding
        super().__init__(out_channel=outputs, kernel_size=kernel_size, mode=mode, pad_mode=pad_mode.lower(), pad=(*widths[0], *widths[1]),
                         stride=(1, 1, *self._stride), dilation=(1, 1, *self._dilation), group=groups,
                         data_format=_nchw("Conv2D", data_format), groups=groups)

    def __call__(self, x: Any, weight: Any) -> Tensor:
        kernel = operand("Conv2D", weight, "weight")
        if kernel.ndim == 4 and (kernel.shape[0] != self.out_channel or kernel.shape[2:] != self._kernel):
            raise wrong("Conv2D", "weight", f"of {self.out_channel} outputs and kernels of {self._kernel}", kernel)
        return linear.convolution(
            "Conv2D", x, kernel, stride=self._stride, padding=self._padding, dilation=self._dilation, groups=self.group)


# Layers -------------------------------------------------------------------------------------------------------------


class ReLU(_Plain):
    """The element, or 0 where it is negative."""

    def __call__(self, input: Any) -> Tensor:
        return activations.relu(input)


ReLU6 = plain("ReLU6", activations.relu6)


class Elu(Primitive):
    """x, or alpha * (exp(x) - 1) where it is negative."""

    def __init__(self, alpha: float = 1.0):
        super().__init__(alpha=float(number("Elu", "alpha", alpha)))

    def __call__(self, input_x: Any) -> Tensor:
        return activations.elu(input_x, self.alpha)


SeLU = plain("SeLU", activations.selu)
PReLU = plain("PReLU", activations.prelu)
Sigmoid = plain("Sigmoid", activations.sigmoid)
Tanh = plain("Tanh", activations.tanh)


class GeLU(_Plain):
    """x * P(X <= x), approximated by a tanh."""

    def __call__(self, input: Any) -> Tensor:
        return activations.gelu(input, "tanh")


class Gelu(GeLU):
    """`GeLU`."""


class GELU(GeLU):
    """`GeLU`."""


FastGeLU = plain("FastGeLU", activations.fast_gelu)
Mish = plain("Mish", activations.mish)
HSwish = plain("HSwish", activations.hardswish)
HSigmoid = plain("HSigmoid", activations.hardsigmoid)


class Softplus(_Plain):
    """log(1 + exp(x))."""

    def __call__(self, input_x: Any) -> Tensor:
        return activations.softplus(input_x)


Softsign = plain("Softsign", activations.softsign)


class Softmax(Primitive):
    """Softmax along one axis."""

    def __init__(self, axis: Any = -1):
        super().__init__(axis=sizes_argument("Softmax", "axis", axis, least=None))
        if len(self.axis) != 1:
            raise wrong("Softmax", "axis", "one axis", axis)

    def __call__(self, input: Any) -> Tensor:
        return activations.softmax(input, self.axis[0])


class LogSoftmax(Primitive):
    """The logarithm of softmax along one axis."""

    def __init__(self, axis: int = -1):
        super().__init__(axis=integer("LogSoftmax", "axis", axis))

    def __call__(self, logits: Any) -> Tensor:
        return activations.log_softmax(logits, self.axis)


class _Pool(Primitive):
    """Windows over the last two axes of [n, c, h, w]; pad_mode "valid" or "same"."""

    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid", data_format: str = "NCHW"):
        name = type(self).__name__
        kernel, stride = pair(name, "kernel_size", kernel_size), pair(name, "strides", strides)
        super().__init__(kernel_size=(1, 1, *kernel), strides=(1, 1, *stride),
                         pad_mode=choice(name, "pad_mode", pad_mode, ("valid", "same")).upper(), data_format=_nchw(name, data_format))

    def _geometry(self, x: Any) -> tuple[Tensor, Any]:
        image = operand(self.name, x, "x")
        if image.ndim != 4:
            raise wrong(self.name, "x", "of 4 dimensions", image)
        kernel, stride = self.kernel_size[2:], self.strides[2:]
        return image, (kernel, stride, network.window_padding(self.name, image, self.pad_mode.lower(), kernel, stride))


class MaxPool(_Pool):
    """The largest element of each window."""

    def __call__(self, x: Any) -> Tensor:
        image, geometry = self._geometry(x)
        return apply(made(MaxPoolOp, *geometry), image)


class MaxPoolWithArgmax(_Pool):
    """The largest element of each window, and where it stands in its plane (Int32)."""

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        image, geometry = self._geometry(x)
        return apply(made(MaxPoolOp, *geometry), image), apply(made(CastOp, I32), apply(made(MaxPoolIndices, *geometry), image))


class AvgPool(_Pool):
    """The average of each window; the padding does not count."""

    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "VALID", data_format: str = "NCHW"):
        super().__init__(kernel_size, strides, pad_mode, data_format)

    def __call__(self, x: Any) -> Tensor:
        image, geometry = self._geometry(x)
        return apply(made(AvgPoolOp, *geometry), image)


class BatchNorm(Primitive):
    """The input [n, c, ...] normalised channel by channel.

    Returns five tensors: the result, then mean and variance, twice: those of the batch while training, else the ones given.
    While training the given mean and variance are moved towards the batch's by `momentum`.
    """

    def __init__(self, is_training: bool = False, epsilon: float = 1e-05, momentum: float = 0.1, data_format: str = "NCHW"):
        super().__init__(is_training=flag("BatchNorm", "is_training", is_training), epsilon=float(number("BatchNorm", "epsilon", epsilon)),
                         momentum=float(number("BatchNorm", "momentum", momentum)), data_format=_nchw("BatchNorm", data_format))

    def __call__(self, input_x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> tuple[Tensor, ...]:
        op = "BatchNorm"
        x, gamma, beta = operand(op, input_x, "input_x"), operand(op, scale, "scale"), operand(op, bias, "bias")
        center, spread = operand(op, mean, "mean"), operand(op, variance, "variance")
        network.check_channels(op, x, scale=gamma, bias=beta, mean=center, variance=spread)
        if not self.is_training:
            return apply(made(BatchNormInference, self.epsilon), x, gamma, beta, center, spread), center, spread, center, spread
        y, batch_mean, batch_variance = network.batch_normalized(
            x, center, spread, gamma, beta, self.epsilon, 1.0 - self.momentum, self.momentum)
        return y, batch_mean, batch_variance, batch_mean, batch_variance


class LayerNorm(Primitive):
    """The input normalised over its axes from `begin_norm_axis` on, with its mean and variance.

    `begin_params_axis` says from where on gamma and beta have the input's sizes; it must be begin_norm_axis.
    """

    def __init__(self, begin_norm_axis: int = 1, begin_params_axis: int = 1, epsilon: float = 1e-07):
        super().__init__(begin_norm_axis=integer("LayerNorm", "begin_norm_axis", begin_norm_axis),
                         begin_params_axis=integer("LayerNorm", "begin_params_axis", begin_params_axis),
                         epsilon=float(number("LayerNorm", "epsilon", epsilon)))

    def __call__(self, input_x: Any, gamma: Any, beta: Any) -> tuple[Tensor, Tensor, Tensor]:
        x = operand("LayerNorm", input_x, "input_x")
        begin = axis_argument("LayerNorm", self.begin_norm_axis, x.ndim, "begin_norm_axis")
        if axis_argument("LayerNorm", self.begin_params_axis, x.ndim, "begin_params_axis") != begin:
            raise wrong("LayerNorm", "begin_params_axis", f"begin_norm_axis, {self.begin_norm_axis}", self.begin_params_axis)
        y, mean, inverse = network.normalized(
            x, operand("LayerNorm", gamma, "gamma"), operand("LayerNorm", beta, "beta"), begin, self.epsilon)
        return y, mean, arithmetic.reciprocal(arithmetic.square(inverse)) - self.epsilon


class Dropout(Primitive):
    """Each element kept with probability `keep_prob` and divided by it, or else 0; and which were kept, as ones and zeros."""

    def __init__(self, keep_prob: float = 0.5, Seed0: int = 0, Seed1: int = 0):
        super().__init__(keep_prob=number("Dropout", "keep_prob", keep_prob), Seed0=integer("Dropout", "Seed0", Seed0),
                         Seed1=integer("Dropout", "Seed1", Seed1))
        if not 0.0 < self.keep_prob <= 1.0:
            raise wrong("Dropout", "keep_prob", "in (0, 1]", keep_prob)

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        y, kept = apply(made(DropoutOp, float(self.keep_prob)), operand("Dropout", x, "x"), next_key(_seed(self.Seed0, self.Seed1)))
        return y, apply(made(CastOp, y.dtype), kept)


def _seed(first: int, second: int) -> int | None:
    """Two seeds as one; None when both are 0."""
    return ((first & 0x7FFFFFFF) << 32 | (second & 0xFFFFFFFF)) or None


# Losses -------------------------------------------------------------------------------------------------------------


class SoftmaxCrossEntropyWithLogits(_Plain):
    """Cross entropies of softmax of logits [n, k] with distributions [n, k]: [n]; and softmax less labels, the gradient of their sum."""

    def __call__(self, logits: Any, labels: Any) -> tuple[Tensor, Tensor]:
        found = losses.softmax_cross_entropy_with_logits(logits, labels)
        return found, arithmetic.stop_gradient(activations.softmax(logits) - labels)


class SparseSoftmaxCrossEntropyWithLogits(Primitive):
    """The mean cross entropy of softmax of logits [n, k] with classes [n]; with `is_grad` its gradient by the logits."""

    def __init__(self, is_grad: bool = False):
        super().__init__(is_grad=flag("SparseSoftmaxCrossEntropyWithLogits", "is_grad", is_grad))

    def __call__(self, logits: Any, labels: Any) -> Tensor:
        found = losses.sparse_softmax_cross_entropy_with_logits(logits, labels)
        if not self.is_grad:
            return reduction.mean(found)
        wanted = picking.one_hot(labels, logits.shape[1], constant(1.0, logits.dtype), constant(0.0, logits.dtype))
        return (activations.softmax(logits) - wanted) / float(max(1, logits.shape[0]))


class _Loss(Primitive):
    """A loss with a `reduction`."""

    def __init__(self, reduction: str = "mean"):
        super().__init__(reduction=choice(type(self).__name__, "reduction", reduction, ("none", "mean", "sum")))


class BinaryCrossEntropy(_Loss):
    """Binary cross entropy of probabilities."""

    def __call__(self, logits: Any, labels: Any, weight: Any = None) -> Tensor:
        return losses.binary_cross_entropy(logits, labels, weight, self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of sigmoid of logits."""

    def __call__(self, input: Any, target: Any, weight: Any = None, posWeight: Any = None) -> Tensor:
        return losses.binary_cross_entropy_with_logits(input, target, weight, posWeight, self.reduction)


class SigmoidCrossEntropyWithLogits(_Plain):
    """Binary cross entropies of sigmoid of logits, element by element."""

    def __call__(self, logits: Any, label: Any) -> Tensor:
        return losses.binary_cross_entropy_with_logits(logits, label, reduction="none")


class KLDivLoss(_Loss):
    """labels * (log(labels) - logits)."""

    def __call__(self, logits: Any, labels: Any) -> Tensor:
        return losses.kl_div(logits, labels, self.reduction)


class SmoothL1Loss(Primitive):
    """Squares of small distances, large ones as they are."""

    def __init__(self, beta: float = 1.0, reduction: str = "none"):
        super().__init__(beta=float(number("SmoothL1Loss", "beta", beta)),
                         reduction=choice("SmoothL1Loss", "reduction", reduction, ("none", "mean", "sum")))

    def __call__(self, prediction: Any, target: Any) -> Tensor:
        return losses.smooth_l1_loss(prediction, target, self.beta, self.reduction)


class NLLLoss(Primitive):
    """The negative log likelihood of classes, and the sum of the weights that count."""

    def __init__(self, reduction: str = "mean", ignore_index: int = -100):
        super().__init__(reduction=choice("NLLLoss", "reduction", reduction, ("none", "mean", "sum")),
                         ignore_index=whole("NLLLoss", "ignore_index", ignore_index))

    def __call__(self, logits: Any, labels: Any, weight: Any) -> tuple[Tensor, Tensor]:
        found = losses.nll_loss(logits, labels, weight, self.ignore_index, self.reduction)
        counts = arithmetic.not_equal(labels, self.ignore_index)
        taken = picking.gather(weight, arithmetic.where(counts, labels, 0), 0)
        return found, reduction.sum(arithmetic.where(counts, taken, constant(0.0, weight.dtype)))


# Random numbers -----------------------------------------------------------------------------------------------------


class _Random(Primitive):
    """A draw; seed and seed2, unless both are 0, take the global seed's place."""

    def __init__(self, seed: int = 0, seed2: int = 0):
        name = type(self).__name__
        super().__init__(seed=integer(name, "seed", seed), seed2=integer(name, "seed2", seed2))
        if self.seed < 0 or self.seed2 < 0:
            raise wrong(name, "seed", "at least 0, as 'seed2'", (seed, seed2))


class StandardNormal(_Random):
    """Normally distributed numbers of mean 0 and deviation 1."""

    def __call__(self, shape: Any) -> Tensor:
        return random_numbers.standard_normal(shape, _seed(self.seed, self.seed2))


class UniformReal(_Random):
    """Uniformly random numbers in [0, 1)."""

    def __call__(self, shape: Any) -> Tensor:
        return random_numbers.uniform(shape, 0.0, 1.0, _seed(self.seed, self.seed2))


class UniformInt(_Random):
    """Uniformly random Int32 from `minval` up to and without `maxval`."""

    def __call__(self, shape: Any, minval: Any, maxval: Any) -> Tensor:
        return random_numbers.uniform(shape, minval, maxval, _seed(self.seed, self.seed2), I32)


# State --------------------------------------------------------------------------------------------------------------


Assign = plain("Assign", state.assign)
AssignAdd = plain("AssignAdd", state.assign_add)
AssignSub = plain("AssignSub", state.assign_sub)


class Print(_Plain):
    """Prints its operands, one below the other, and returns the first."""

    def __call__(self, *input_x: Any) -> Any:
        checked_on_host(lambda *items: print(*items, sep="\n"), *input_x)
        return input_x[0] if input_x else None
