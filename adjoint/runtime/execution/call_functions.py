"""Call functions: one function does a whole call. It takes the arguments apart, checks that a graph may run on them, and runs it.

If a graph is a row of straight pieces, `written_calls.written_call` makes the function, with the C calls in its text; `call_function` makes
it for all other graphs.
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

__all__ = ["ALWAYS", "NOT_RUN", "RunConditions", "CallText", "call_function"]

NOT_RUN: Final = object()
"""A marker: the result of a function made here if it may not run on its arguments now.  Nothing has happened then."""


class RunConditions(Protocol):
    """Conditions for running a function that do not depend on its arguments, given both as a Python function and as source text."""

    @property
    def holds(self) -> Callable[[], bool]:
        """Return a function without arguments that returns True if the conditions hold now."""
        ...

    def as_text(self) -> tuple[Sequence[str], Mapping[str, Any]]:
        """Return the conditions as text: statements that return NOT_RUN unless they hold, and the values of the variables in these
        statements.
        """
        ...


class _Always:
    @property
    def holds(self) -> Callable[[], bool]:
        return lambda: True

    def as_text(self) -> tuple[Sequence[str], Mapping[str, Any]]:
        return (), {}


ALWAYS: Final[RunConditions] = _Always()
"""No conditions."""


@dataclass(frozen=True)
class CallText:
    """The source text of a function that does a whole call: what comes before and after running the graph.  `function` makes the function.

    header      the name and parameters of the function: `function(args, kwargs)`, or `function(a0, a1)` for arguments one by one
    given       an expression for all arguments, as `(args, kwargs)`
    arguments   statements that take the arguments apart, and return NOT_RUN for arguments that the function was not made for
    tensors     the variables that then hold the arguments of the graph
    result      an expression for the caller's result, in which the results of the graph are `leaf0`, `leaf1`, ...
    objects     the values of other variables in these texts
    conditions  further conditions under which the function may run
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
        """Make a Python function of this text with the given body.  The function returns NOT_RUN if it may not run on its arguments now.

        fits     returns True if the body may run on these tensors now; None if it always may
        body     the statements that run the graph; they use the variables `tensors`
        objects  the values of other variables in the body
        called   the statements of the body that call Python for a node, each with the node's location
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
    """Return a function that does a whole call by running a graph: it takes the caller's arguments and returns the caller's result.

    run      runs the graph
    takes    the indices of arguments that the graph takes as tensors, the others as memory; None if all are tensors
    results  the number of tensors that the graph returns
    call     the text before and after running the graph
    fits     returns True if the graph may run on these tensors now; None if it always may
    hosts    called once for each call, makes the Python functions that nodes of the graph call; None if there are none
    recorded True: the operations are recorded on the tape of the thread
    """
    given = ", ".join(name if takes is None or i in takes else f"{name}.memory" for i, name in enumerate(call.tensors))
    leaves = "".join(f"leaf{i}, " for i in range(results))
    body = [f"run = Run({'thread.tracer' if recorded else None})", *(["run.hosts = hosts()"] if hosts is not None else ()),
            f"{f'{leaves}= ' if leaves else ''}graph([{given}], run)", f"return {call.result}"]
    return call.function(fits, body, {"Run": Run, "graph": run, "hosts": hosts, "thread": thread})
