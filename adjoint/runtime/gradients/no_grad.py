"""`_no_grad`: no gradient flows through results computed inside.

    with _no_grad():
        z = x * 3          z has the values of x * 3, and no gradient
        y.add_(1)          y has new values, its gradient flows as before

While a gradient is being taken, a `PausedTape` replaces the tape.  While a function is made into a graph, values from outside of the region
pass through a `no_grad` node where ops in it use them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

from adjoint.ir.op import Op
from adjoint.ir.ops.conversion import StraightThrough
from adjoint.runtime.execution.recording import Recording
from adjoint.runtime.gradients.awaited import AwaitedTape
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.process.tracer import set_tracer, state
from adjoint.runtime.tensor.run_time_checks import called
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["PausedTape", "no_grad"]


class no_grad:  # read as a statement: `with no_grad():`
    """Switch gradients off for everything that is computed inside; as a context manager, or as a decorator `@no_grad()`.

    Values are computed as usual.  A tensor made inside is constant: no gradient flows through it, and hooks on it do not run.  A tensor
    from outside stays differentiable under any name.  A tensor from outside that is written in place gets the new values, but its gradient
    flows as if it had not been written; Parameters are updated in this way.  Cells run without their backward hooks and their `bprop`.

    It may be nested, and one object may be entered several times, by several threads.

    RuntimeError if `grad`, `value_and_grad`, `vjp` or `jvp` is called inside.
    """

    def __enter__(self) -> None:
        tape: Any = state.tracer
        state.no_grad.append(tape)
        if isinstance(tape, (Tape, AwaitedTape)):
            state.tracer = PausedTape(tape)  # pyright: ignore[reportAttributeAccessIssue] - properties give what a tape has as attributes

    def __exit__(self, kind: object, raised: object, traceback: object) -> None:
        tape = state.no_grad.pop()
        if tape is not state.tracer:
            set_tracer(tape)
            state.tracer = tape

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function`, run with gradients switched off; TypeError if it is not callable."""
        if not callable(function):
            raise TypeError(f"For '_no_grad', the decorated object must be a function, but got {function!r} "
                            f"of type {type(function).__name__}.")

        @functools.wraps(function)
        def without_gradients(*args: Any, **kwargs: Any) -> Any:
            with no_grad():
                return called(function, *args, **kwargs)

        return without_gradients


no_grad.__name__ = no_grad.__qualname__ = "_no_grad"
"""MindSpore's name for it."""


class PausedTape:
    """Takes the place of a tape inside of `_no_grad`: it records nothing, except writes to tensors that the tape knows already."""

    emits: Literal[False] = False
    adjoint_of: int | None = None
    """Always None: it exists since a tape has it."""

    def __init__(self, tape: Any):
        self._tape = tape

    slots = property(lambda self: self._tape.slots)
    keep = property(lambda self: self._tape.keep)
    slot_of = property(lambda self: self._tape.slot_of)
    attach = property(lambda self: self._tape.attach)

    @property
    def site(self) -> Any:
        """Return the graph node that is running, to which events belong; None outside of graphs."""
        return self._tape.site

    @site.setter
    def site(self, node: Any) -> None:
        self._tape.site = node

    def instruction_above(self) -> int | None:
        """Return None: nothing is recorded, so no location is needed."""
        return None

    def packing(self, hooks: Any) -> PausedTape:
        """Return this tape, inside of `saved_tensors_hooks`: it records nothing whose gradient could read a tensor."""
        return self

    def record(self, op: Op, operands: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        """Do nothing, where a tape records an op that has run: its results are constants."""

    def extend(self, recording: Recording, operands: Sequence[Tensor], made: Sequence[Tensor | None]) -> None:
        """Do nothing, where a tape records ops that one C call has run: their results are constants."""

    def overwritten(self, x: Tensor, value: Tensor) -> None:
        """Tell the tape outside of `_no_grad` that `x` is about to be overwritten by `value`.  Gradients of later uses of `x` flow to its
        old value unchanged, as if `x` had kept that value.
        """
        new = wrap(value.type, value.memory)
        if self.slot_of(x) is not None and x.dtype.is_inexact and value.type is x.type:
            self._tape.record(StraightThrough(), (x, wrap(value.type, value.memory)), (new,))
        self._tape.overwritten(x, new)

    def hook(self, kind: str, host: Any, operands: Sequence[Tensor], title: str) -> tuple[Tensor, ...]:
        """Return constants equal to `operands`, the results of a hook that is an operator (such as `HookBackward`): the hook never runs."""
        return tuple([wrap(x.type, x.memory) for x in operands])

    def outputs(self, kind: Any, cell: Any, results: Sequence[Tensor]) -> list[Tensor]:
        """Return a cell's results unchanged: hooks on their gradients do not run."""
        return list(results)

    def enter(self, cell: Any, arguments: Sequence[Tensor], hooked: bool, rule: Any) -> list[Tensor]:
        """Return the given arguments of a cell, not new tensor objects for them: nothing is recorded, so the cell has no boundary on the
        tape.

        hooked, rule  not used; as for `Tape.enter`
        """
        return list(arguments)

    def leave(self, results: Sequence[Tensor], rule: Any) -> list[Tensor]:
        """Return the given results of a cell, not new tensor objects for them, since nothing is recorded.

        rule  not used; as for `Tape.leave`
        """
        return list(results)
