"""Operators as objects that pick elements, and that put elements where indices say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ops import picking, scattering
from adjoint.ops.arguments import choice, flag, integer
from adjoint.ops.primitive import Primitive, plain
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "Gather", "GatherD", "GatherNd", "GatherV2", "MaskedSelect", "ScatterAdd", "ScatterDiv", "ScatterMax", "ScatterMin", "ScatterMul",
    "ScatterNd", "ScatterNdAdd", "ScatterNdDiv", "ScatterNdMax", "ScatterNdMin", "ScatterNdMul", "ScatterNdSub", "ScatterNdUpdate",
    "ScatterSub", "ScatterUpdate", "TensorScatterAdd", "TensorScatterDiv", "TensorScatterElements", "TensorScatterMax",
    "TensorScatterMin", "TensorScatterMul", "TensorScatterSub", "TensorScatterUpdate", "Unique", "UnsortedSegmentSum",
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
