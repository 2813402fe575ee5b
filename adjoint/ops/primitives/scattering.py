"""Operators as objects that pick elements, and that put elements where indices say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ir.types import I64
from adjoint.ops import counts, picking, scattering, segments
from adjoint.ops.arguments import choice, flag, integer, sizes_argument, wrong
from adjoint.ops.primitive import Plain, Primitive, plain
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = [
    "Gather", "GatherD", "GatherNd", "GatherV2", "IndexAdd", "IndexFill", "IndexPut", "InplaceAdd", "InplaceIndexAdd", "InplaceSub",
    "InplaceUpdate", "InplaceUpdateV2", "MaskedScatter", "MaskedSelect", "NonZero", "ScatterAdd", "ScatterAddWithAxis", "ScatterDiv",
    "ScatterMax", "ScatterMin", "ScatterMul", "ScatterNd", "ScatterNdAdd", "ScatterNdDiv", "ScatterNdMax", "ScatterNdMin",
    "ScatterNdMul", "ScatterNdSub", "ScatterNdUpdate", "ScatterSub", "ScatterUpdate", "SegmentMax", "SegmentMean", "SegmentMin",
    "SegmentProd", "SegmentSum", "TensorScatterAdd", "TensorScatterDiv", "TensorScatterElements", "TensorScatterMax",
    "TensorScatterMin", "TensorScatterMul", "TensorScatterSub", "TensorScatterUpdate", "Unique", "UniqueConsecutive", "UniqueWithPad",
    "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd", "UnsortedSegmentSum",
]


class Gather(Primitive):
    """The slices along an axis that indices name."""

    def __init__(self, batch_dims: int = 0):
        super().__init__(batch_dims=integer("Gather", "batch_dims", batch_dims))

    def __call__(self, input_params: Any, input_indices: Any, axis: Any) -> Tensor:
        return picking.gather(input_params, input_indices, axis, self.batch_dims)


GatherV2 = Gather
GatherD = plain("GatherD", picking.gather_d)
GatherNd = plain("GatherNd", picking.gather_nd)
MaskedSelect = plain("MaskedSelect", picking.masked_select)
Unique = plain("Unique", picking.unique)
UniqueWithPad = plain("UniqueWithPad", counts.unique_with_pad)
MaskedScatter = plain("MaskedScatter", scattering.masked_scatter)


class NonZero(Plain):
    """The coordinates of the elements that are not 0, a row for each, Int64."""

    def __call__(self, input: Any) -> Tensor:
        return picking.argwhere(input)


class UniqueConsecutive(Primitive):
    """The elements, or slices along `dim`, without those equal to the one before, their indices and the lengths of runs."""

    def __init__(self, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None):
        super().__init__(return_inverse=flag("UniqueConsecutive", "return_inverse", return_inverse),
                         return_counts=flag("UniqueConsecutive", "return_counts", return_counts),
                         dim=None if dim is None else integer("UniqueConsecutive", "dim", dim))

    def __call__(self, input: Any) -> tuple[Tensor, ...]:
        found, inverse, counts = picking.unique_consecutive(input, True, True, self.dim)
        return found, inverse if self.return_inverse else constant(0, I64), counts if self.return_counts else constant(0, I64)


UnsortedSegmentSum = plain("UnsortedSegmentSum", picking.unsorted_segment_sum)

ScatterNd = plain("ScatterNd", scattering.scatter_nd)
TensorScatterUpdate = plain("TensorScatterUpdate", scattering.tensor_scatter_update)
TensorScatterAdd = plain("TensorScatterAdd", scattering.tensor_scatter_add)
TensorScatterSub = plain("TensorScatterSub", scattering.tensor_scatter_sub)
TensorScatterMax = plain("TensorScatterMax", scattering.tensor_scatter_max)
TensorScatterMin = plain("TensorScatterMin", scattering.tensor_scatter_min)
TensorScatterMul = plain("TensorScatterMul", scattering.tensor_scatter_mul)
TensorScatterDiv = plain("TensorScatterDiv", scattering.tensor_scatter_div)


class TensorScatterElements(Primitive):
    """A tensor with updates at their own places, but with an index in place of the coordinate along an axis."""

    def __init__(self, axis: int = 0, reduction: str = "none"):
        super().__init__(axis=integer("TensorScatterElements", "axis", axis),
                         reduction=choice("TensorScatterElements", "reduction", reduction, ("none", "add")))

    def __call__(self, data: Any, indices: Any, updates: Any) -> Tensor:
        return scattering.tensor_scatter_elements(data, indices, updates, self.axis, self.reduction)


class _Writing(Primitive):
    """Writes its first operand; `use_locking` has no meaning, since one operator runs at a time."""

    _function: Callable[..., Tensor]

    def __init__(self, use_locking: bool = False):
        super().__init__(use_locking=flag(type(self).__name__, "use_locking", use_locking))

    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor:
        return type(self)._function(input_x, indices, updates)


def _writing(name: str, function: Callable[..., Tensor], locking: bool = False) -> type[_Writing]:
    def __init__(self: _Writing, use_locking: bool = locking) -> None:
        _Writing.__init__(self, use_locking)

    return type(name, (_Writing,), {
        "__init__": __init__, "__doc__": function.__doc__, "_function": staticmethod(function), "__module__": "adjoint.ops.operations"})


ScatterUpdate = _writing("ScatterUpdate", scattering.scatter_update, locking=True)
ScatterAdd, ScatterSub = _writing("ScatterAdd", scattering.scatter_add), _writing("ScatterSub", scattering.scatter_sub)
ScatterMax, ScatterMin = _writing("ScatterMax", scattering.scatter_max), _writing("ScatterMin", scattering.scatter_min)
ScatterNdUpdate = _writing("ScatterNdUpdate", scattering.scatter_nd_update, locking=True)
ScatterNdAdd, ScatterNdSub = _writing("ScatterNdAdd", scattering.scatter_nd_add), _writing("ScatterNdSub", scattering.scatter_nd_sub)
ScatterNdMax, ScatterNdMin = _writing("ScatterNdMax", scattering.scatter_nd_max), _writing("ScatterNdMin", scattering.scatter_nd_min)
ScatterMul, ScatterDiv = _writing("ScatterMul", scattering.scatter_mul), _writing("ScatterDiv", scattering.scatter_div)
ScatterNdMul, ScatterNdDiv = _writing("ScatterNdMul", scattering.scatter_nd_mul), _writing("ScatterNdDiv", scattering.scatter_nd_div)


# By segment ----------------------------------------------------------------------------------------------------------

UnsortedSegmentMax = plain("UnsortedSegmentMax", segments.unsorted_segment_max)
UnsortedSegmentMin = plain("UnsortedSegmentMin", segments.unsorted_segment_min)
UnsortedSegmentProd = plain("UnsortedSegmentProd", segments.unsorted_segment_prod)


def _segments(name: str, kind: str, text: str) -> type[Plain]:
    function = segments.of_ascending(name, kind)
    function.__doc__ = f"{text} of the slices of each segment, for ascending segments; {1 if kind == 'mul' else 0} of one without slices."
    return plain(name, function)


SegmentSum, SegmentMean = _segments("SegmentSum", "sum", "The sums"), _segments("SegmentMean", "mean", "The means")
SegmentMax, SegmentMin = _segments("SegmentMax", "max", "The largest elements"), _segments("SegmentMin", "min", "The smallest elements")
SegmentProd = _segments("SegmentProd", "mul", "The products")


# Put -----------------------------------------------------------------------------------------------------------------


class IndexAdd(Primitive):
    """`x` with the slices of `y` along an axis added where the indices say; a Parameter is written."""

    def __init__(self, axis: int, use_lock: bool = True, check_index_bound: bool = True):
        super().__init__(axis=integer("IndexAdd", "axis", axis), use_lock=flag("IndexAdd", "use_lock", use_lock),
                         check_index_bound=flag("IndexAdd", "check_index_bound", check_index_bound))

    def __call__(self, x: Any, indices: Any, y: Any) -> Tensor:
        return scattering.index_add(x, indices, y, self.axis, self.use_lock, self.check_index_bound)


class IndexFill(Plain):
    """`x` with one number in its slices along an axis at the indices."""

    def __call__(self, x: Any, dim: Any, index: Any, value: Any) -> Tensor:
        return scattering.index_fill(x, dim, index, value)


class IndexPut(Primitive):
    """`x1` with `x2` put where tensors of coordinates say for the first axes; with `accumulate` 1 added there."""

    def __init__(self, accumulate: int = 0):
        super().__init__(accumulate=integer("IndexPut", "accumulate", accumulate))
        if self.accumulate not in (0, 1):
            raise wrong("IndexPut", "accumulate", "0 or 1", accumulate)

    def __call__(self, x1: Any, x2: Any, indices: Any) -> Tensor:
        return scattering.index_put(x1, x2, indices, bool(self.accumulate))


class _InPlace(Primitive):
    """`x` with slices put along axis 0 at the indices, an int or a tuple of ints; `x` stays as it is."""

    def __init__(self, indices: Any):
        super().__init__(indices=sizes_argument(type(self).__name__, "indices", indices, least=0))


class InplaceAdd(_InPlace):
    """`x` with the slices of `input_v` added along axis 0 at the indices."""

    def __call__(self, x: Any, input_v: Any) -> Tensor:
        return scattering.inplace_add(x, input_v, self.indices)


class InplaceSub(_InPlace):
    """`x` with the slices of `input_v` subtracted along axis 0 at the indices."""

    def __call__(self, x: Any, input_v: Any) -> Tensor:
        return scattering.inplace_sub(x, input_v, self.indices)


class InplaceUpdate(_InPlace):
    """`x` with the slices of `v` in place of those along axis 0 at the indices."""

    def __call__(self, x: Any, v: Any) -> Tensor:
        return scattering.inplace_update(x, v, self.indices)


class InplaceUpdateV2(Plain):
    """`x` with the slices of `v` in place of those along axis 0 at the indices."""

    def __call__(self, x: Any, indices: Any, v: Any) -> Tensor:
        return scattering.inplace_update(x, v, indices)


class InplaceIndexAdd(Primitive):
    """Writes `var`: the slices of `updates` along an axis are added where the indices say."""

    def __init__(self, axis: int):
        super().__init__(axis=integer("InplaceIndexAdd", "axis", axis))

    def __call__(self, var: Any, indices: Any, updates: Any) -> Tensor:
        return scattering.inplace_index_add(var, indices, updates, self.axis)


class ScatterAddWithAxis(Primitive):
    """A tensor with updates added at their own places, but with an index in place of the coordinate along an axis."""

    def __init__(self, axis: int = 0):
        super().__init__(axis=integer("ScatterAddWithAxis", "axis", axis))

    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor:
        return scattering.tensor_scatter_elements(input_x, indices, updates, self.axis, "add")
