"""Stop at the first operator whose result is not finite."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import placed
from adjoint.ir.core import Literal, Node, Region, Value, tensor_type
from adjoint.ir.op import Op
from adjoint.ir.ops.conversion import Select
from adjoint.ir.ops.fused import Fused
from adjoint.ir.storage import from_compute, to_compute
from adjoint.ir.types import TensorType
from adjoint.runtime.inspection.origins import holder_of, is_gradient, made_in, running_cell
from adjoint.runtime.inspection.training import Progress, progress
from adjoint.runtime.memory.finite_results import checking, is_fine
from adjoint.runtime.memory.machine import ffi
from adjoint.runtime.memory.watching import Observation, add, remove

__all__ = ["FiniteCheck", "check_finite", "judge"]

_Array = np.ndarray[Any, Any]


class FiniteCheck:
    """What a block of `check_finite` has found.

    skipped  for each step that a loss scaler has skipped, the FloatingPointError that was not raised, oldest first
    """

    def __init__(self) -> None:
        self.skipped: list[FloatingPointError] = []


@dataclass
class _Awaiting:
    """A number that is not finite in a scaled gradient: an error, unless the loss scaler skips the step.

    raised    the error
    progress  how far training was
    steps_on  True once an operator has run that is not of the gradient
    """

    raised: FloatingPointError
    progress: Progress
    steps_on: bool = False


class _Thread(threading.local):
    """The open blocks of `check_finite`, and the number that waits for the verdict of a loss scaler."""

    def __init__(self) -> None:
        self.blocks: list[FiniteCheck] = []
        self.awaiting: _Awaiting | None = None


_thread = _Thread()


@contextmanager
def check_finite(*, infinity: bool = True) -> Iterator[FiniteCheck]:
    """Check the results of all operators in a `with` block, on this thread; raise at the first one with a NaN or an infinity.

    infinity  False: infinities are allowed, only NaN raises

    FloatingPointError at that operator, in eager mode, in gradients and in graphs.  It names the operator, how many of its numbers are not
    finite and where the first is, the Cell, the training step, the range of each operand, the Parameter or variable that held an operand
    which was not finite before, and the line of the program.  A graph computes only what its results need: an operator whose result is not
    used is not checked there.

    A block of `finite_ok()` is not checked.  A gradient that overflows while a loss scaler is in use is no error if the step is skipped:
    `skipped` of the object that `as` gives has it.  If the optimiser takes the step, it is raised by the next check, at the latest at the
    end of the block.  With a scale of 1, which no scaler makes smaller, it is raised at once.

    `set_context(check_finite=True)` and ADJOINT_CHECK_FINITE=1 check all threads.
    """
    if not isinstance(infinity, bool):
        raise TypeError(f"For 'check_finite', the 'infinity' must be a bool, but got {type(infinity).__name__}.")
    found = FiniteCheck()
    _thread.blocks.append(found)
    try:
        with checking(infinity):
            yield found
        if (late := _late()) is not None:
            raise late
    finally:
        _thread.blocks.pop()
        _settled()


def judge(launched: Observation, infinity: bool) -> BaseException | None:
    """Return the error for a launch with a number that is not finite; None if it is allowed.

    infinity  False if infinities are allowed
    """
    node = launched.node
    within = None if node is None else made_in(node.loc)
    gradient = node is not None and is_gradient(node.loc)
    if node is not None and _is_allowed(node):
        return None
    if _thread.awaiting is not None:
        return _late()  # None: more of the same step
    now = progress(() if within is None else within.training)
    raised = _failure(launched, infinity, now)
    if not gradient or not any(scale > 1 for scale in now.scales):
        return raised
    _thread.awaiting = _Awaiting(raised, now)
    add(_await)
    for block in _thread.blocks:
        block.skipped.append(raised)
    return None


def _await(launched: Observation) -> None:
    """Decide, when the next step takes its gradient, whether the step with the overflow was skipped.  It is called after each launch until
    then.
    """
    awaiting = _thread.awaiting
    assert awaiting is not None
    if launched.node is None or not is_gradient(launched.node.loc):
        awaiting.steps_on = True
    elif awaiting.steps_on:
        if (late := _late()) is not None:
            raise late
        _settled()


def _late() -> FloatingPointError | None:
    """Return the error of a gradient that overflowed, if an optimiser has taken the step all the same."""
    awaiting = _thread.awaiting
    if awaiting is None or not awaiting.progress.has_moved():
        return None
    _settled()
    for block in _thread.blocks:
        if awaiting.raised in block.skipped:
            block.skipped.remove(awaiting.raised)
    return awaiting.raised


def _settled() -> None:
    if _thread.awaiting is not None:
        _thread.awaiting = None
        remove(_await)


class _Found(NamedTuple):
    """The operator that computed a number which is not finite.

    node      its node; None in eager mode
    operands  its operands
    buffers   for each operand its memory; None for one that is inside of a fused kernel
    results   its results
    types     their types
    """

    op: Op | None
    node: Node | None
    operands: Sequence[_Array]
    buffers: Sequence[Any]
    results: Sequence[_Array]
    types: Sequence[TensorType]


def _failure(launched: Observation, infinity: bool, now: Progress) -> FloatingPointError:
    node, operands = launched.node, launched.operands
    buffers = [launched.buffers[i] for i in range(len(operands))]
    found = _Found(launched.op, node, operands, buffers, launched.results, launched.result_types)
    if node is not None and isinstance(node.op, Fused):
        found = _in_fused(node, operands, buffers, infinity) or found
    bad, type_ = next((x, t) for x, t in zip(found.results, found.types, strict=True) if not is_fine(x, infinity))
    where = np.unravel_index(int(np.argmax(~np.isfinite(bad) if infinity else np.isnan(bad))), bad.shape)
    first = f", the first at {[int(i) for i in where]}" if bad.ndim else ""
    name = "" if found.op is None else type(found.op).__name__
    lines = [f"For '{name}', the result of type {type_} has {_counted(bad)}{first}."]
    cell = (made_in(found.node.loc).cell if found.node is not None else "") or running_cell()
    place = ", ".join([*([f"in the cell '{cell}'"] if cell else []), *([str(now)] if str(now) else [])])
    lines += [f"  {place}"] if place else []
    written = {int(ffi.cast("uintptr_t", launched.buffers[len(operands) + i])) for i in range(len(launched.result_types))}
    for i, (x, buffer) in enumerate(zip(found.operands, found.buffers, strict=True), 1):
        if buffer is not None and int(ffi.cast("uintptr_t", buffer)) in written:
            lines.append(f"  operand {i}: {x.dtype} of shape {list(x.shape)}, overwritten by the result")
            continue
        holder = "" if buffer is None or is_fine(x, infinity) else holder_of(buffer)
        lines.append(f"  operand {i}: {_described(x)}{f', in {holder}' if holder else ''}")
    if infinity and not np.isnan(bad).any() and any(np.isinf(x).any() for x in found.operands if x.dtype.kind == "f"):
        lines.append("  if it is meant, as in a mask: allow it with `with watch.finite_ok():`")
    raised = FloatingPointError("\n".join(lines))
    # In eager mode the traceback shows the line.
    if found.node is not None and (text := placed(found.node.loc)):
        raised.add_note(text)
    return raised


def _in_fused(node: Node, operands: Sequence[_Array], buffers: Sequence[Any], infinity: bool) -> _Found | None:
    """Find the operator inside of a fused node (several operators in one kernel) that computed a number which is not finite.

    operands  the arrays that the fused node got
    buffers   their memory
    infinity  False if infinities are allowed

    Return the first such operator; None if there is none.
    """
    (region,) = node.regions
    known: dict[Value, _Array] = dict(zip(region.params, operands, strict=True))
    memory = dict(zip(region.params, buffers, strict=True))
    for inner in region.nodes:
        with np.errstate(all="ignore"):
            made = inner.op.reference(*[_constant(x) if isinstance(x, Literal) else known[x] for x in inner.operands])
        type_ = tensor_type(inner.result)
        known[inner.result] = to_compute(from_compute(made, type_.dtype), type_.dtype)
    led = _led_to([x for x in region.results if isinstance(x, Value) and not is_fine(known[x], infinity)], region, known)
    for inner in region.nodes:
        if inner.result in led and not is_fine(known[inner.result], infinity) and not _is_allowed(inner):
            given = [_constant(x) if isinstance(x, Literal) else known[x] for x in inner.operands]
            from_outside = [None if isinstance(x, Literal) else memory.get(x) for x in inner.operands]
            return _Found(inner.op, inner, given, from_outside, [known[inner.result]], (tensor_type(inner.result),))
    return None


def _led_to(results: Sequence[Value], region: Region, known: Mapping[Value, _Array]) -> set[Value]:
    """Return the values of a region from which some of its results are computed.

    A choice by one number, which may have been a branch, leads to what it chooses, and not to what the other side would have been.
    """
    found = set(results)
    for node in reversed(region.nodes):
        if node.result not in found:
            continue
        operands = node.operands
        if isinstance(node.op, Select) and isinstance(operands[0], Value) and tensor_type(operands[0]).count == 1:
            operands = (operands[0], operands[1 if known[operands[0]].item() else 2])
        found.update(x for x in operands if isinstance(x, Value))
    return found


def _is_allowed(node: Node) -> bool:
    """Return True for an operator in a `finite_ok` block, but not for one of its gradient."""
    return made_in(node.loc).finite_ok and not is_gradient(node.loc)


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
