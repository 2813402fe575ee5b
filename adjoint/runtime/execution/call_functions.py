"""Call functions: one function takes the arguments of a call apart, looks whether a graph may run on them, and runs it.

Where a graph is straight pieces in a row `written_calls.written_call` makes it, with the C calls in its text; `call_function` makes all
others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import Loc
from adjoint.runtime.execution.run import Run
from adjoint.runtime.process.function_text import function_of
from adjoint.runtime.process.location import WRITTEN
from adjoint.runtime.process.tracer import state as thread
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["NOT_RUN", "RunConditions", "CallText", "call_function"]

NOT_RUN: Final = object()
"""What the function of a call returns if it may not run on its arguments now: nothing has happened then."""


class RunConditions(Protocol):
    """What a function depends on besides its arguments."""

    @property
    def holds(self) -> Callable[[], bool]:
        """Return the function that tells whether all is as it was."""
        ...

    def as_text(self) -> tuple[Sequence[str], Mapping[str, Any]]:
        """Return statements that return NOT_RUN unless all is as it was, and what their variables stand for."""
        ...


@dataclass(frozen=True)
class CallText:
    """How a function is called, from the arguments to what the caller gets, as text.

    header      the function and its parameters: `function(args, kwargs)`, or `function(a0, a1)` for arguments one by one
    given       the expression of all of them, as `(args, kwargs)`
    arguments   statements that are given these, and return NOT_RUN for other arguments than the function was made for
    tensors     the variables that then hold the function's arguments
    result      the expression of the result, in terms of the function's results, the tensors `leaf0`, `leaf1`, ...
    objects     what other variables in these texts stand for
    conditions  what must hold besides
    """

    header: str
    given: str
    arguments: Sequence[str]
    tensors: Sequence[str]
    result: str
    objects: Mapping[str, Any]
    conditions: RunConditions

    def function(
        self, fits: Callable[[Sequence[Tensor]], bool] | None, body: Sequence[str], objects: Mapping[str, Any],
        called: Mapping[str, Loc] = MappingProxyType({}),
    ) -> Callable[..., Any]:
        """Return the function that is given the arguments, and returns NOT_RUN if it may not run on these now.

        fits    True if it may run on these arguments now; None: it always may
        body    what it does then, with the variables `tensors`; `objects` are what other variables stand for
        called  the statements of the body that call Python for a node, with its location
        """
        conditions, known = self.conditions.as_text()
        asked = [] if fits is None else [f"if not fits(({''.join(f'{name}, ' for name in self.tensors)})): return NOT_RUN"]
        statements = [*self.arguments, *conditions, *asked, *body]
        lines = {line: called[text] for line, statement in enumerate(statements, 2) if (text := statement.strip()) in called}
        made = {**self.objects, **known, **objects, "fits": fits, "NOT_RUN": NOT_RUN, "lines": lines}
        return function_of(self.header, statements, made, WRITTEN)


def call_function(
    run: Callable[[Sequence[Any], Run], Sequence[Tensor]], takes: Collection[int] | None, results: int, call: CallText,
    fits: Callable[[Sequence[Tensor]], bool] | None, hosts: Callable[[], Sequence[Any]] | None, *, recorded: bool = False,
) -> Callable[..., Any]:
    """Return the function of a call that runs a graph.

    run      runs the graph
    takes    the arguments that it takes as tensors, the others as memory; None: all are tensors
    results  how many tensors it returns
    hosts    makes what the host calls of one run call, if there are any
    recorded True: the run is recorded on the tape of the thread
    """
    given = ", ".join(name if takes is None or i in takes else f"{name}.memory" for i, name in enumerate(call.tensors))
    leaves = "".join(f"leaf{i}, " for i in range(results))
    body = [f"run = Run({'thread.tracer' if recorded else None})", *(["run.hosts = hosts()"] if hosts is not None else ()),
            f"{f'{leaves}= ' if leaves else ''}graph([{given}], run)", f"return {call.result}"]
    return call.function(fits, body, {"Run": Run, "graph": run, "hosts": hosts, "thread": thread})
