"""Rules of `batch`: how an op computes a batch of examples at once.

    y = op(x)        x: T[s], y: T[t]               for one example
    y = op'(x)       x: T[n, s], y: T[n, t]         for n examples, along a new first axis

An operand is *mapped* if it differs from example to example; then it has that axis.  Each rule here serves many classes, which name it as
their `batch`; an op whose rule is its own has a method.  A rule returns None where it does not hold: then, and for ops without a rule, a
loop over the examples runs the op itself (see `passes/batch.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adjoint.ir.core import tensor_type
from adjoint.ir.types import I64, Dim, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.op import Op

__all__ = [
    "along_axes", "broadcasting", "for_all", "in_rows", "leading", "merged", "moved", "of_items", "padded", "repeated", "rows_of_all",
    "rows_of_one", "split",
]

_Results = Sequence["Atom"]


def broadcasting(self: Op, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> _Results:
    """The rule of ops whose operands broadcast: axes of size 1 are put behind that of the examples, where a mapped operand has fewer."""
    rank = max(tensor_type(x).rank for x in node.operands)
    return b.emit_node(self, [padded(b, x, rank) if is_mapped else x for x, is_mapped in zip(operands, mapped, strict=True)]).results


def padded(b: Builder, x: Atom, rank: int) -> Atom:
    """Return a mapped operand with axes of size 1 behind its first one, so that an example has `rank` axes."""
    type_ = tensor_type(x)
    lacking = rank - (type_.rank - 1)
    if lacking <= 0:
        return x
    return b.reshape(x, to=type_.with_shape((type_.shape[0], *(1,) * lacking, *type_.shape[1:])))


def leading(self: Op, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> _Results:
    """The rule of ops of the last axes, such as matrices or rows: those before are free."""
    return b.emit_node(self, for_all(b, operands, mapped, size)).results


_AXIS = ("axis", "begin")
_AXES = ("axes",)
_ENDS = {"low": 0, "high": 0, "interior": 0, "shifts": 0}


def along_axes(self: Op, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> _Results:
    """The rule of ops with axes among their attributes, whose operands all have them: each axis is one further back."""
    changed: dict[str, Any] = {}
    for name in type(self).fields:
        value = getattr(self, name)
        if name in _AXIS:
            changed[name] = value + 1
        elif name in _AXES:
            changed[name] = tuple([axis + 1 for axis in value])
        elif name in _ENDS and isinstance(value, tuple):
            changed[name] = (_ENDS[name], *value)
        elif isinstance(value, TensorType):
            changed[name] = value.with_shape((size, *value.shape))
    return b.emit_node(dataclasses.replace(self, **changed), for_all(b, operands, mapped, size)).results


def of_items(self: Op, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> _Results:
    """The rule of ops that compute each item along the first axis by itself: the items of all examples are one list."""
    changed = {name: value.with_shape((value.shape[0] * size, *value.shape[1:]))
               for name in type(self).fields if isinstance(value := getattr(self, name), TensorType)}
    whole = dataclasses.replace(self, **changed) if changed else self
    results = b.emit_node(whole, [merged(b, x) for x in for_all(b, operands, mapped, size)]).results
    return [split(b, x, size, tensor_type(one)) for x, one in zip(results, node.results, strict=True)]


def for_all(b: Builder, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> list[Atom]:
    """Return the operands with those that are not mapped repeated for each example."""
    return [x if is_mapped else repeated(b, x, size) for x, is_mapped in zip(operands, mapped, strict=True)]


def repeated(b: Builder, x: Atom, size: Dim) -> Atom:
    """Return a tensor that is the same for each example with an axis for the examples."""
    type_ = tensor_type(x)
    return b.broadcast(x, to=type_.with_shape((size, *type_.shape)))


def merged(b: Builder, x: Atom, at: int = 0) -> Atom:
    """Return a tensor with its axes `at` and `at + 1` as one."""
    type_ = tensor_type(x)
    return b.reshape(x, to=type_.with_shape((*type_.shape[:at], type_.shape[at] * type_.shape[at + 1], *type_.shape[at + 2 :])))


def split(b: Builder, x: Atom, size: Dim, one: TensorType) -> Atom:
    """Return a tensor whose first axis has the items of all examples with an axis for the examples before it; `one` is one example's type.
    """
    return b.reshape(x, to=one.with_shape((size, *one.shape)))


def moved(b: Builder, x: Atom, axis: int, to: int) -> Atom:
    """Return a tensor whose axis `axis` is at the place `to`, with the others in their order."""
    if axis == to:
        return x
    order = [other for other in range(tensor_type(x).rank) if other != axis]
    order.insert(to, axis)
    return b.transpose(x, permutation=tuple(order))


def rows_of_one(b: Builder, indices: Atom, mapped: bool, size: Dim, outer: Sequence[Dim], length: int) -> Atom:
    """Return indices along an axis of each example as indices of rows of one matrix: of the examples, and of the axes before that axis.

    indices  I[r], or I[n, r] if they are mapped
    outer    the axes before the indexed one
    length   the size of that axis; an index out of its range stays one
    result   i64[n, outer, r]
    """
    type_ = tensor_type(indices)
    wide, own = b.cast(indices, to=I64) if type_.dtype is not I64 else indices, type_.shape[1:] if mapped else type_.shape
    end = b.constant(length, I64)
    first = b.constant(0 if type_.dtype.kind == "u" else -length, I64)
    inside = b.logical_and(b.greater_equal(wide, first), b.less(wide, end))
    place = b.select(b.less(wide, b.constant(0, I64)), b.add(wide, end), wide)
    place = b.select(inside, place, b.constant(_OUTSIDE, I64))
    lead = size
    for each in outer:
        lead = lead * each
    starts = b.mul(b.iota(to=tensor(I64, (lead,)), axis=0), end)
    starts = b.reshape(starts, to=tensor(I64, (size, *outer, *(1,) * len(own))))
    place = b.reshape(place, to=tensor(I64, (size if mapped else 1, *(1,) * len(outer), *own)))
    return b.add(starts, place)


_OUTSIDE = 2**62
"""An index that is out of range of every axis, also with a start added."""


def rows_of_all(b: Builder, x: Atom, axis: int) -> Atom:
    """Return a tensor with the axis of the examples first as rows of one matrix, whose first axis is all axes of `x` up to `axis`."""
    type_ = tensor_type(x)
    count = type_.shape[0]
    for each in type_.shape[1 : axis + 1]:
        count = count * each
    return b.reshape(x, to=type_.with_shape((count, *type_.shape[axis + 1 :])))


def in_rows(self: Op, b: Builder, operands: Sequence[Atom], axes: Sequence[int], size: Dim, node: Node, results: Sequence[int]) -> _Results:
    """Compute an op for the rows of all examples as for more rows of one; the operands have the axis of the examples.

    axes     for each operand the axis of its rows, in one example; `results` are those of the results
    """
    whole = [merged(b, moved(b, x, 0, axis), axis) for x, axis in zip(operands, axes, strict=True)]
    made = b.emit_node(self, whole).results
    split_ = [b.reshape(x, to=type_.with_shape((*type_.shape[:axis], size, *type_.shape[axis:])))
              for x, axis, type_ in zip(made, results, map(tensor_type, node.results), strict=True)]
    return [moved(b, x, axis, 0) for x, axis in zip(split_, results, strict=True)]
