"""The state of a thread: what traces its ops, if anything, and the cells that it runs in another float type.

An op that is run looks up the tracer of its thread here.  Without one, the op is only computed.  A `Recorder`, the tape of a gradient,
records the op after it is computed.  An `Emitter`, a graph that is being made, adds it as a node, and nothing is computed.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any, Literal, Protocol

from adjoint.foundation.diagnostics import CompileError, Loc
from adjoint.ir.op import Op
from adjoint.ir.types import DType

if TYPE_CHECKING:
    from adjoint.ir.ops.counted import CountedOp

__all__ = [
    "Emitter", "Recorder", "check_gradients", "eagerly", "emitter", "not_eagerly", "not_recording", "set_eager", "set_tracer", "state",
    "tracing",
]

_set = threading.local.__setattr__


class Recorder(Protocol):
    """The protocol of a tape (the recording of this thread's operations for a gradient): what is used of it where ops and cells run.

    `gradients.tape.Tape` implements it.
    """

    emits: Literal[False]
    site: Any
    adjoint_of: int | None
    slots: dict[int, int]
    keep: dict[int, Any]

    def trains(self, parameter: Any, requires_grad: bool, /) -> None:
        """Take note that `requires_grad` of a Parameter has changed to this value: later uses take part in gradients, or no longer do."""
        ...

    def slot_of(self, x: Any, /) -> int | None: ...
    def identity(self, x: Any, /) -> int: ...
    def instruction_above(self) -> int | None: ...
    def packing(self, hooks: Any, /) -> Recorder: ...
    def record(self, op: Op, operands: Sequence[Any], results: Sequence[Any], /) -> None: ...
    def extend(self, recording: Any, operands: Sequence[Any], made: Sequence[Any], /) -> Any: ...
    def overwritten(self, x: Any, value: Any, /) -> None: ...
    def lend(self, parameters: Sequence[Any], values: Sequence[Any], /) -> AbstractContextManager[None]: ...
    def lent_as(self, parameters: Sequence[Any], values: Sequence[Any], made: Sequence[Any], /) -> None: ...
    def attach(self, x: Any, /) -> None: ...
    def hook(self, kind: str, host: Any, operands: Sequence[Any], title: str, /) -> tuple[Any, ...]: ...
    def outputs(self, kind: Any, cell: Any, results: Sequence[Any], /) -> list[Any]: ...
    def enter(self, cell: Any, arguments: Sequence[Any], hooked: bool, rule: Any, /) -> list[Any]: ...
    def leave(self, results: Sequence[Any], rule: Any, /) -> list[Any]: ...


class Emitter(Protocol):
    """The protocol of a graph that is being made: what is used of it where ops and cells run.

    `graphs.lowering.lowering.Lowering` implements it.
    """

    emits: Literal[True]
    frontend: Any

    @property
    def owner(self) -> object: ...
    @property
    def loc(self) -> Loc: ...
    def emit(self, op: Op, operands: Sequence[Any], /) -> Any: ...
    def packing(self, hooks: Any, /) -> Emitter: ...
    def write(self, target: Any, value: Any, /) -> None: ...
    def lend(self, parameters: Sequence[Any], values: Sequence[Any], /) -> AbstractContextManager[Callable[[], list[Any]]]: ...
    def attach(self, x: Any, hook_fn: Callable[..., Any], /) -> Any: ...
    def hook(self, kind: str, function: Any, operands: Sequence[Any], title: str, /) -> tuple[Any, ...]: ...
    def check(self, check: Callable[..., None], tensors: Sequence[Any], conditions: Iterable[tuple[Any, Any]] = (), /) -> None: ...
    def effect(self, name: str, function: Callable[..., Any], values: Sequence[Any], /, *, shows: bool = False) -> None: ...
    def draw(self, seed: int | None, /) -> Any: ...
    def number_of_size(self, size: Any, /) -> Any: ...
    def size_of_values(self, op: str, why: str, kind: type[CountedOp], x: Any, /) -> tuple[str, Any]: ...
    def size_is_asked(self) -> None: ...
    def undrawn(self) -> Any: ...
    def drawn(self, init: Any, shape: tuple[int, ...], dtype: DType, /) -> Any: ...
    def first_value(self, parameter: Any, source: Any, /) -> Any: ...
    def convert(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any: ...
    def made(self, x: Any, /) -> None: ...
    def new_parameter(
        self, data: Any, name: str, requires_grad: bool, layerwise_parallel: bool, parallel_optimizer: bool, /) -> Any: ...
    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any: ...
    def call_cell(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any: ...
    def differentiate(
        self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], positions: Sequence[int], weights: Sequence[Any],
        sens: Any = None, has_aux: bool = False, sens_of: Callable[[Any], Any] | None = None,
    ) -> tuple[Any, list[Any], list[Any]]: ...
    def differentiable(
        self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], positions: Sequence[int], weights: Sequence[Any], has_aux: bool, /,
    ) -> Any: ...
    def record(self, inner: Any, /) -> tuple[Any, list[Any], Callable[[Sequence[Any]], tuple[list[Any], list[Any]]]]: ...
    def linear(self, inner: Any, /) -> tuple[Any, list[Any], Callable[[Sequence[Any]], list[Any]]]: ...
    def tangent(self, inner: Any, tangents: Sequence[Any], /) -> tuple[Any, list[Any], list[Any]]: ...
    def present(self, given: Sequence[Any], /) -> list[Any]: ...
    def batch(
        self, fn: Any, examples: Sequence[Any], arguments: Callable[[Sequence[Any]], tuple[Any, ...]], without_chance: bool, /,
    ) -> tuple[Any, list[bool]]: ...
    def new_object(self, x: object, /) -> None: ...
    def new_cell(self, cell: Any, /) -> None: ...
    def keep_attribute(self, holder: object, name: str, value: Any, /) -> None: ...
    def read_attribute(self, holder: object, name: str, /) -> None: ...
    def read_numbers(self, x: Any, /) -> None: ...
    def read_setting(self, read: Callable[[str], Any], name: str, /) -> None: ...
    def registered_inside(self) -> CompileError: ...
    def trains_with(self, part: Any, attribute: str, /) -> None: ...
    def finite_ok(self) -> AbstractContextManager[None]: ...


class Substituting(Protocol):
    """The attributes of a run of construct that sees other tensors in the place of Parameters (`cells.substitutes` implements it).

    parameters  these tensors, by the names of the Parameters
    """

    @property
    def parameters(self) -> Mapping[str, Any]: ...


class _State(threading.local):
    """The state of a thread, which ops read before they compute.

    tracer  a tape while a gradient is being taken, a lowering while a function is made into a graph; else None
    eager   True while a function that is under `jit`, or a Cell in GRAPH_MODE, runs eagerly; functions and Cells that it calls do, too
    substituting  for the id of each cell whose construct sees other tensors in the place of Parameters: what it sees
    no_grad  for each active `_no_grad()`, the tracer that it replaced; empty if gradients are recorded
    packing  for each active `saved_tensors_hooks`: itself, and `tracer` and `eager` as they were before
    """

    tracer: Recorder | Emitter | None = None
    eager: bool = False

    def __init__(self) -> None:
        self.substituting: dict[int, Substituting] = {}
        self.no_grad: list[Any] = []
        self.packing: list[tuple[Any, Recorder | Emitter | None, bool]] = []

    def __setattr__(self, name: str, value: object) -> None:
        if name not in ("tracer", "eager"):
            _set(self, name, value)
            return
        # Set first and removed last: a Ctrl-C in between leaves a surplus entry, not a missing one.
        if value is not None and value is not False:
            tracing[get_ident()] = None
        _set(self, name, value)
        if self.tracer is None and not self.eager:
            tracing.pop(get_ident(), None)


tracing: dict[int, None] = {}
"""The ids of threads that have a tracer or run a function eagerly, as keys.  If it is empty, an op need not look up the state of its own
thread, which is slower.
"""

state = _State()


def emitter() -> Emitter | None:
    """Return the graph that this thread is making, as an Emitter; None if it makes none."""
    tracer = state.tracer
    return tracer if tracer is not None and tracer.emits is True else None


def check_gradients() -> None:
    """Raise RuntimeError inside of `_no_grad()`, where no gradient can be taken."""
    if state.no_grad:
        raise RuntimeError("In no_grad context, you can not calculate gradient: take it before `with _no_grad():`, "
                           "and use its result inside")


set_tracer, set_eager = functools.partial(_set, state, "tracer"), functools.partial(_set, state, "eager")
"""Set the thread's tracer, or `eager`, without a Python function call, so that a Ctrl-C cannot interrupt it.  For use at the beginning of a
`finally`; `state.tracer = ...` then follows, to update `tracing`.  A hook that code calls which runs eagerly is surrounded by
`set_eager(False)` and `set_eager(True)`: the thread keeps its entry in `tracing`.
"""


def eagerly(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function that is under `jit`, or a Cell in GRAPH_MODE, without a graph.

    Functions and Cells that it calls run without graphs, too.
    """
    before = state.eager
    try:
        # As `state.eager = True` and `state.eager = before` do, but quicker: code that runs eagerly should take little more time than in
        # eager mode.
        tracing[get_ident()] = None
        set_eager(True)
        return function(*args, **kwargs)
    finally:
        set_eager(before)
        if not before and state.tracer is None:
            tracing.pop(get_ident(), None)


def not_eagerly(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a hook, or a transformed function, for code that runs eagerly in place of its graph: functions under `jit` run as graphs in it.
    """
    set_eager(False)  # `tracing` keeps its entry
    try:
        return function(*args, **kwargs)
    finally:
        set_eager(True)


def _in_child() -> None:
    """Drop the tracers of other threads, since a forked process does not have these threads."""
    tracing.clear()
    if state.tracer is not None or state.eager:
        tracing[get_ident()] = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@contextmanager
def not_recording() -> Iterator[None]:
    """Within a `with` statement, run ops without recording them: no enclosing gradient flows through their results.

    While a function is made into a graph, the ops still become nodes of it.
    """
    before = state.tracer
    if before is None or before.emits is False:
        state.tracer = None
    try:
        yield
    finally:
        state.tracer = before
