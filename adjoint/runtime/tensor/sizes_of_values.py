"""Sizes that values decide: how many elements of a tensor are not 0, how many different ones there are, and numbers that are computed.

In eager mode an op finds what there is and how much in one pass (`ir/ops/counted.py`), and the result is cut to that size.  While a graph
is made, the size gets a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ir.op import Op, made
from adjoint.ir.ops.counted import CountedOp, NonZero, UpTo
from adjoint.ir.ops.indexing import Gather
from adjoint.ir.types import I64, TensorType, tensor
from adjoint.runtime.memory.machine import Memory, ffi, machine, number_of
from adjoint.runtime.memory.op_plans import plan_for, plans
from adjoint.runtime.process.tracer import emitter
from adjoint.runtime.tensor.run_time_checks import emitting
from adjoint.runtime.tensor.tensor import Tensor, apply, constant, wrap

__all__ = ["beginning", "columns", "decides_later", "found_by", "nonzero_places", "numbers_up_to", "run_finding"]


def found_by(op: Op, x: Tensor, *more: Tensor) -> tuple[Tensor, ...]:
    """Run an op of `ir/ops/counted.py` whose last result is how many things it has found; return the other results.

    The first is cut to what was found.  Nothing is recorded: no gradient flows through what is found.
    """
    types, made, count = run_finding(op, x, *more)
    first = beginning(types[0], made[0], count)
    return (first,) if len(made) == 2 else (first, *map(wrap, types[1:-1], made[1:-1]))


def run_finding(op: Op, x: Tensor, *more: Tensor) -> tuple[Sequence[TensorType], Sequence[Memory], int]:
    """Run an op of `ir/ops/counted.py`; return the types and the memory of its results, and the number that the last one holds."""
    # One operand by itself: comprehensions take as long as the launch.
    if more:
        types = (x.type, *[each.type for each in more])
        plan = plans.get((op, *types)) or plan_for(op, types)
        made = plan.run(x.memory, *[each.memory for each in more])
    else:
        plan = plans.get((op, x.type)) or plan_for(op, (x.type,))
        made = plan.run(x.memory)
    return plan.types, made, int(number_of(made[-1], plan.types[-1]))


def beginning(type_: TensorType, room: Memory, count: int) -> Tensor:
    """Return the first `count` slices, along the first axis, of a tensor of this type with its numbers in `room`.

    The memory is `room` itself if all are taken, else as much as they need.
    """
    shape = type_.shape
    if count == shape[0]:
        return wrap(type_, room)
    kept = tensor(type_.dtype, (count, *shape[1:]))
    memory = machine().allocate(kept.nbytes)
    ffi.memmove(memory, room, kept.nbytes)
    return wrap(kept, memory)


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
