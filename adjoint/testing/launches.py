"""Every operator that a call computes, in any mode: its operands and its results; and the same operator computed again in eager mode.

A graph may compute in place, so that a result stands where an operand was.  The operand is then what was last seen at that address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import Loc, user_place
from adjoint.ir.core import Atom, Literal, Node, tensor_type
from adjoint.ir.op import Effect, Op
from adjoint.ir.ops.fused import Fused, FusedKernel
from adjoint.ir.storage import from_compute, to_compute
from adjoint.ir.types import TensorType
from adjoint.runtime.memory.machine import array_of, ffi, memory_of
from adjoint.runtime.memory.op_plans import plan_for
from adjoint.runtime.memory.watching import Observation, observed
from adjoint.runtime.process.location import user_location
from adjoint.testing.recording import Array

__all__ = ["Computed", "eager_results", "launches_of", "parts_of"]


@dataclass(frozen=True)
class Computed:
    """An operator that was computed.

    op        the op; a fused node's own op for a fused kernel
    node      its node in a graph or an adjoint; None in eager mode
    types     the types of its operands
    operands  the numbers of its operands, as they are stored; None for one that was overwritten
    results   the numbers of its results, as they are stored
    loc       its location in the user's program
    """

    op: Op
    node: Node | None
    types: tuple[TensorType, ...]
    result_types: tuple[TensorType, ...]
    operands: tuple[Array | None, ...]
    results: tuple[Array, ...]
    loc: Loc

    @property
    def name(self) -> str:
        return self.op.name


def launches_of(call: Callable[[], Any]) -> tuple[Any, list[Computed]]:
    """Call a function; return its result, and all operators that it computed, in order."""
    found: list[Computed] = []
    seen: dict[int, Array] = {}

    def look(launched: Observation) -> None:
        if launched.op is None:
            return
        places = [int(ffi.cast("uintptr_t", ffi.cast("char *", buffer))) for buffer in _buffers(launched)]
        count = len(launched.operand_types)
        operands = [_stored(x, t) for x, t in zip(launched.operands, launched.operand_types, strict=True)]
        results = [_stored(x, t) for x, t in zip(launched.results, launched.result_types, strict=True)]
        given: list[Array | None] = []
        for x, type_, place in zip(operands, launched.operand_types, places, strict=False):
            kept = seen.get(place)
            overwritten = place in places[count:] and x.nbytes > 0
            given.append(x if not overwritten else kept if kept is not None and kept.nbytes == type_.nbytes else None)
        if launched.last:
            node = launched.node
            loc = user_location() if node is None or user_place(node.loc) is None else node.loc
            op = launched.op if node is None else node.op
            shaped = tuple(None if x is None else x.view(t.dtype.array).reshape(t.sizes)
                           for x, t in zip(given, launched.operand_types, strict=True))
            found.append(Computed(op, node, launched.operand_types, launched.result_types, shaped, tuple(results), loc))
            for x, place in zip((*operands, *results), places, strict=True):
                seen[place] = x

    with observed(look):
        result = call()
    return result, found


def _buffers(launched: Observation) -> list[Any]:
    return [launched.buffers[i] for i in range(len(launched.operand_types) + len(launched.result_types))]


def _stored(x: Array, type_: TensorType) -> Array:
    return np.array(from_compute(x, type_.dtype))


def eager_results(op: Op, types: Sequence[TensorType], operands: Sequence[Array]) -> list[Array]:
    """Return the results of an op as eager mode computes them."""
    plan = plan_for(op, types)
    made = plan.run(*[memory_of(np.ascontiguousarray(x)) for x in operands])
    memories = made if len(plan.types) > 1 else (made,)
    return [array_of(m, t).copy() for m, t in zip(memories, plan.types, strict=True)]


def parts_of(computed: Computed) -> Iterator[Computed]:
    """Yield the single operators of which an operator is made, computed again in eager mode from the operands that it was given.

    A fused node gives those of its region, another operator one; nothing is yielded if an operand is not known, or for an operator that is
    not pure.
    """
    operands = [x for x in computed.operands if x is not None]
    if len(operands) < len(computed.operands) or computed.op.effect is not Effect.PURE:
        return
    node = computed.node
    if node is None or not isinstance(node.op, Fused):
        if not isinstance(computed.op, FusedKernel):
            results = tuple(eager_results(computed.op, computed.types, operands))
            yield Computed(computed.op, node, computed.types, computed.result_types, computed.operands, results, computed.loc)
        return
    (region,) = node.regions
    known: dict[Atom, Array] = dict(zip(region.params, operands, strict=True))
    for inner in region.nodes:
        given = [_constant(x) if isinstance(x, Literal) else known[x] for x in inner.operands]
        types = tuple(tensor_type(x) for x in inner.operands)
        results = tuple(eager_results(inner.op, types, given))
        known.update(zip(inner.results, results, strict=True))
        yield Computed(inner.op, inner, types, tuple(tensor_type(x) for x in inner.results), tuple(given), results, inner.loc)


def _constant(x: Literal) -> Array:
    return from_compute(np.asarray(x.value, x.type.dtype.compute.array), x.type.dtype)


def in_numbers(x: Array, type_: TensorType) -> Array:
    """Return stored numbers in the dtype in which they are computed."""
    return to_compute(x, type_.dtype)
