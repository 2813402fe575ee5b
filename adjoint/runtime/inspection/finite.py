"""Stop at the first operator whose result is not finite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.foundation.diagnostics import Diagnostic, user_place
from adjoint.ir.core import Literal, Node, tensor_type
from adjoint.ir.op import Op
from adjoint.ir.ops.fused import Fused
from adjoint.ir.storage import from_compute, to_compute
from adjoint.ir.types import TensorType
from adjoint.runtime.memory.watching import Observation, observed

__all__ = ["check_finite"]

_Array = np.ndarray[Any, Any]


@contextmanager
def check_finite(*, infinity: bool = True) -> Iterator[None]:
    """Check the results of all operators in a `with` block, on this thread; raise at the first one with a NaN or an infinity.

    infinity  False: infinities are allowed, only NaN raises

    FloatingPointError at that operator, in eager mode, in gradients and in graphs.  It names the operator, how many of its numbers are not
    finite and where the first is, the range of each operand, and the line of the program.  A graph computes only what its results need: an
    operator whose result is not used is not checked there.
    """
    if not isinstance(infinity, bool):
        raise TypeError(f"For 'check_finite', the 'infinity' must be a bool, but got {type(infinity).__name__}.")

    def check(launched: Observation) -> None:
        if launched.last and not all(_is_fine(x, infinity) for x in launched.results):
            raise _failure(launched, infinity)

    with observed(check):
        yield


def _is_fine(x: _Array, infinity: bool) -> bool:
    return x.dtype.kind not in "fc" or not bool((~np.isfinite(x) if infinity else np.isnan(x)).any())


def _failure(launched: Observation, infinity: bool) -> FloatingPointError:
    node, operands, results = launched.node, launched.operands, launched.results
    op: Op | None = launched.op
    types = launched.result_types
    inside = _in_fused(node, operands, infinity) if node is not None and isinstance(node.op, Fused) else None
    if inside is not None:
        node, operands, results = inside
        op, types = node.op, (tensor_type(node.result),)
    bad, type_ = next((x, t) for x, t in zip(results, types, strict=True) if not _is_fine(x, infinity))
    where = np.unravel_index(int(np.argmax(~np.isfinite(bad) if infinity else np.isnan(bad))), bad.shape)
    first = f", the first at {[int(i) for i in where]}" if bad.ndim else ""
    lines = [f"For '{type(op).__name__ if op is not None else ''}', the result of type {type_} has {_counted(bad)}{first}."]
    lines += [f"  operand {i}: {_described(x)}" for i, x in enumerate(operands, 1)]
    raised = FloatingPointError("\n".join(lines))
    # In eager mode the traceback shows the line.
    if node is not None and user_place(node.loc) is not None:
        raised.add_note(Diagnostic("", "", loc=node.loc).render().partition("\n")[2])
    return raised


def _in_fused(node: Node, operands: Sequence[_Array], infinity: bool) -> tuple[Node, list[_Array], list[_Array]] | None:
    """Find the operator inside of a fused node (several operators in one kernel) that computed a number which is not finite.

    operands  the arrays that the fused node got
    infinity  False if infinities are allowed

    Return the first such node, its operands and its result; None if there is none.
    """
    (region,) = node.regions
    known: dict[Any, _Array] = dict(zip(region.params, operands, strict=True))
    for inner in region.nodes:
        given = [_constant(x) if isinstance(x, Literal) else known[x] for x in inner.operands]
        with np.errstate(all="ignore"):
            made = inner.op.reference(*given)
        dtype = tensor_type(inner.result).dtype
        known[inner.result] = to_compute(from_compute(made, dtype), dtype)
        if not _is_fine(known[inner.result], infinity):
            return inner, given, [known[inner.result]]
    return None


def _constant(x: Literal) -> _Array:
    assert isinstance(x.type, TensorType)
    return np.asarray(x.value, x.type.dtype.compute.array)


def _counted(x: _Array) -> str:
    nans, infinities = int(np.isnan(x).sum()), int(np.isinf(x).sum())
    parts = [f"{nans} NaN"] if nans else []
    if infinities:
        parts.append(f"{infinities} infinit{'y' if infinities == 1 else 'ies'}")
    return f"{' and '.join(parts)} in {x.size} number{'' if x.size == 1 else 's'}"


def _described(x: _Array) -> str:
    """Return a text about an operand: its range, and how many zeros and non-finite numbers it has."""
    shape = f"{x.dtype} of shape {list(x.shape)}" if x.ndim else f"a {x.dtype} number"
    if x.dtype.kind not in "fiu" or not x.size:
        return shape
    finite = x[np.isfinite(x)]
    parts = [f"{finite.min():.6g} to {finite.max():.6g}" if finite.size > 1 else f"{finite[0]:.6g}"] if finite.size else []
    if (zeros := int((x == 0).sum())) and x.size > 1:
        parts.append(f"{zeros} zero{'' if zeros == 1 else 's'}")
    if finite.size < x.size:
        parts.append(_counted(x))
    return f"{shape}: {', '.join(parts)}"
