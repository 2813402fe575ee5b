"""Sizes that values decide, while a graph is made: how many elements of a tensor are not 0."""

from __future__ import annotations

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Gather
from adjoint.ir.ops.nonzero import NonZero
from adjoint.ir.types import I64, tensor
from adjoint.runtime.process.tracer import emitter
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = ["columns", "nonzero_places"]


def nonzero_places(op: str, why: str, x: Tensor) -> Tensor:
    """Add a node to the graph that is being made whose result is the coordinates of the elements of `x` that are not 0, Int64 [n, rank].

    op, why  the operator's name, and why its result's shape depends on values, for the message

    RuntimeError where the graph cannot be split for that.
    """
    graph = emitter()
    assert graph is not None, "outside of graphs the numbers are known"
    name, size = graph.size_of_values(op, why, x)
    return apply(NonZero(tensor(I64, (size, x.ndim)), name), x)


def columns(found: Tensor) -> tuple[Tensor, ...]:
    """Return the coordinates along each axis, Int64 [n], of the result of `nonzero_places`."""
    return tuple([apply(made(Gather, 1), found, constant(axis, I64)) for axis in range(found.shape[1])])
