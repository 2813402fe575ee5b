"""`_no_grad`: what is computed inside is constant for every gradient.

    with _no_grad():
        z = x * 3          z has the numbers of x * 3, and no gradient
        y.add_(1)          y has other numbers, its gradient flows as before

While a gradient is being taken, a `PausedTape` stands in the place of the tape.  While a function is made into a graph, what ops take
from outside of the region goes through a `no_grad` node.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

from adjoint.ir.op import Op
from adjoint.ir.ops.conversion import StraightThrough
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.process.tracer import set_tracer, state
from adjoint.runtime.tensor.run_time_checks import called
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["PausedTape", "no_grad"]


class no_grad:  # read as a statement: `with no_grad():`
    """Switch gradients off for what is computed inside; as a context manager, or as a decorator `@no_grad()`.

    Values do not change.  A tensor made inside is constant: no gradient flows through it, and hooks on it are silent.  A tensor from
    outside that is only given another name stays what it is.  One that is written in place gets the new numbers, and its gradient flows
    as if it had not been written: so parameters are updated.  Cells run without their backward hooks and their `bprop`.

    It may be nested, and one object may be entered several times, by several threads.

    RuntimeError when a gradient is asked for inside: `grad`, `value_and_grad`, `vjp`, `jvp`.
    """

    def __enter__(self) -> None:
        tape: Any = state.tracer
        state.no_grad.append(tape)
        if isinstance(tape, Tape):
            state.tracer = PausedTape(tape)

    def __exit__(self, kind: object, raised: object, traceback: object) -> None:
        tape = state.no_grad.pop()
        if tape is not state.tracer:
            set_tracer(tape)
            state.tracer = tape

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function`, run with gradients switched off; TypeError for what cannot be called."""
        if not callable(function):
            raise TypeError(f"For '_no_grad', the decorated object must be a function, but got {function!r} "
                            f"of type {type(function).__name__}.")

        @functools.wraps(function)
        def without_gradients(*args: Any, **kwargs: Any) -> Any:
            with no_grad():
                return called(function, *args, **kwargs)

        return without_gradients


no_grad.__name__ = no_grad.__qualname__ = "_no_grad"
"""What MindSpore calls it."""


class PausedTape:
    """Stands for a tape that records nothing: only what happens to the tensors that the tape knows already reaches it."""

    emits: Literal[False] = False
    adjoint_of: int | None = None
    """As that of a tape: nothing is recorded at it."""

    def __init__(self, tape: Tape):
        self._tape = tape
        self.slots, self.keep, self.slot_of, self.attach = tape.slots, tape.keep, tape.slot_of, tape.attach

    @property
    def site(self) -> Any:
        """The node of a graph that runs."""
        return self._tape.site

    @site.setter
    def site(self, node: Any) -> None:
        self._tape.site = node

    def instruction_above(self) -> int | None:
        """Return None: nothing is recorded, so nobody asks where."""
        return None

    def record(self, op: Op, operands: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        """An op has run: its results are constants."""

    def overwritten(self, x: Tensor, value: Tensor) -> None:
        """`x` is about to hold the numbers of `value`, and takes its gradient as before."""
        new = wrap(value.type, value.memory)
        if self.slot_of(x) is not None and x.dtype.is_float and value.type is x.type:
            self._tape.record(StraightThrough(), (x, wrap(value.type, value.memory)), (new,))
        self._tape.overwritten(x, new)

    def hook(self, kind: str, host: Any, operands: Sequence[Tensor], title: str) -> tuple[Tensor, ...]:
        """What a `HookBackward` or `InsertGradientOf` makes of `operands`: constants."""
        return tuple([wrap(x.type, x.memory) for x in operands])

    def outputs(self, cell: Any, results: Sequence[Tensor]) -> list[Tensor]:
        """A cell's results behind its backward pre hooks, which do not run."""
        return list(results)

    def enter(self, cell: Any, arguments: Sequence[Tensor], hooked: bool, rule: Any, shown: Sequence[int] | None = None) -> list[Tensor]:
        """A cell is entered: its arguments are what they are."""
        return list(arguments)

    def leave(self, results: Sequence[Tensor], rule: bool = False, shown: Sequence[int] | None = None) -> list[Tensor]:
        """A cell is left: its results are what they are."""
        return list(results)
