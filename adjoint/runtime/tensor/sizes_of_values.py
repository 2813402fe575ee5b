"""Sizes that values decide, while a graph is made: how many elements of a tensor are not 0, and numbers that are computed."""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.counted import CountedOp, NonZero, UpTo
from adjoint.ir.ops.indexing import Gather
from adjoint.ir.types import I64, tensor
from adjoint.runtime.process.tracer import emitter
from adjoint.runtime.tensor.run_time_checks import emitting
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = ["columns", "decides_later", "nonzero_places", "numbers_up_to"]


def decides_later(x: Any) -> bool:
    """Return True for a tensor whose numbers are known only when the graph that is being made runs."""
    return emitting() and isinstance(x, Tensor) and getattr(x, "known", None) is None


def nonzero_places(op: str, why: str, x: Tensor) -> Tensor:
    """Add a node to the graph that is being made whose result is the coordinates of the elements of `x` that are not 0, Int64 [n, rank].

    op, why  the operator's name, and why its result's shape depends on values, for the message

    RuntimeError where the graph cannot be split for that.
    """
    return _counted(op, why, NonZero, x, x.ndim)


def numbers_up_to(op: str, why: str, n: Tensor) -> Tensor:
    """Add a node to the graph that is being made whose result is the numbers from 0 on below `n`, an Int64 of shape (): Int64 [n].

    op, why  as in `nonzero_places`

    RuntimeError where the graph cannot be split for that.
    """
    return _counted(op, why, UpTo, n)


def _counted(op: str, why: str, kind: type[CountedOp], x: Tensor, *columns: int) -> Tensor:
    graph = emitter()
    assert graph is not None, "outside of graphs the numbers are known"
    name, size = graph.size_of_values(op, why, kind, x)
    found = apply(kind(tensor(I64, (size, *columns)), name), x)
    graph.size_is_asked()
    return found


def columns(found: Tensor) -> tuple[Tensor, ...]:
    """Return the coordinates along each axis, Int64 [n], of the result of `nonzero_places`."""
    return tuple([apply(made(Gather, 1), found, constant(axis, I64)) for axis in range(found.shape[1])])
