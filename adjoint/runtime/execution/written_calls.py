"""The text of a call function: a row of straight pieces with their C calls, and calls of Python between them.

    def function(a0):
        if not (type(a0) is Tensor and a0.type is known0): return NOT_RUN         the arguments, and other conditions
        m3 = allocate_m3(size_m3)                                                 a straight piece
        failed = adjoint_run(table, [arena, a0.memory, m3])
        ...
        o1 = new(Tensor)                                                          a call of Python
        returned = called1(a0, o1)
        ...
        return o1

No list of values is made, and no step is called.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from adjoint.foundation import collector
from adjoint.foundation.diagnostics import Loc
from adjoint.ir.core import Node
from adjoint.ir.plan import Slot, Straight
from adjoint.ir.types import TensorType
from adjoint.runtime.execution.call_functions import CallText
from adjoint.runtime.execution.checks import Explanations
from adjoint.runtime.execution.run import Deviation, Run
from adjoint.runtime.execution.tables import PieceTable, Variables
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Part", "Results", "StraightPart", "Text", "WrittenStep", "written_call"]

Results = Sequence[tuple[int, TensorType | None]]
"""The positions of a function's results, each with its type if it is held as memory, else None."""

_MOST_LAUNCHES = 64
"""Limit of the launches of a function that is written as text: for longer ones Python's time around the calls does not matter."""


class StraightPart(NamedTuple):
    """A straight piece (consecutive nodes that one C call runs) with all that is needed to write its statements.

    piece         the piece
    operands      for each of its entries, the positions of the operands (indices in the list of values)
    slots         the slots of the plan, by position
    tensors       the positions that hold tensors; the others hold memory
    state         the tensors that stay between calls, by symbol
    explanations  the functions that raise the exceptions of failed checks, by symbol
    """

    piece: Straight
    operands: Sequence[tuple[int, ...]]
    slots: Sequence[Slot] | Mapping[int, Slot]
    tensors: Collection[int]
    state: Mapping[str, Tensor]
    explanations: Explanations


class WrittenStep:
    """A step (a function that does the work of a node) that calls Python, such as a hook; it can also write itself as statements, for a
    function that does a whole call.

    node  the node that it runs
    run_of_its_own  True if it can be called only with a subclass of `Run`, so that Form.run cannot run it
    """

    run_of_its_own = False

    def __init__(self, node: Node):
        self.node = node

    def __call__(self, values: list[Any], run: Any) -> None:
        """Run the step.

        values  the list of values, from which it reads operands and into which it puts results
        run     the state of this execution
        """
        raise NotImplementedError

    def write(self, text: Text) -> Sequence[str]:
        """Return statements that do the same as the step, for the function that `text` describes."""
        raise NotImplementedError


class Part(NamedTuple):
    """One part of a function that does a whole call: a straight piece (nodes that one C call runs), or a step that calls Python.

    freed  the positions (indices in the list of values) of values that nothing reads after a step
    """

    of: StraightPart | WrittenStep
    freed: Sequence[int] = ()


class Text(Variables):
    """Collects the variables of one call function while its parts write their statements.

    call       the text before and after the execution
    constants  the values of the plan's constants, by position
    given      the expression for the call's arguments, as `(args, kwargs)`
    made       the variables that steps have assigned, by what they represent
    results    the variables of results that steps have made, by the number of the result
    called     the statements that call Python for a node, each with the node's location
    """

    def __init__(self, call: CallText, constants: Mapping[int, Any]):
        super().__init__(call.tensors, constants)
        self.given = call.given
        self.made: dict[Any, str] = {}
        self.results: dict[int, str] = {}
        self.called: dict[str, Loc] = {}


@collector.paused(lasting=False)
def written_call(
    parts: Sequence[Part], template: Sequence[Any], results: Results, call: CallText, fits: Callable[[Sequence[Tensor]], bool] | None
) -> Callable[..., Any] | None:
    """Make a function that does a whole call, with its C calls in its own text.

    Return None if one of its ops has no kernel, or if it has too many kernels for the text to matter.

    parts     the parts of the function, in order
    template  the constants, at their positions (indices in the list of values), None elsewhere
    results   the positions of the results
    call      the text before and after: how arguments are taken apart and the result is put together
    fits      returns True if the function may run on these arguments now; None if it always may
    """
    pieces = [part.of.piece for part in parts if isinstance(part.of, StraightPart)]
    if sum(len(piece.launches) for piece in pieces) > _MOST_LAUNCHES:
        return None
    text = Text(call, {i: x for i, x in enumerate(template) if x is not None})
    body: list[str] = ["run = None"]
    for number, (part, freed) in enumerate(parts):
        if isinstance(part, StraightPart):
            piece, operands, slots, tensors, state, explanations = part
            table = PieceTable(piece, slots, tensors, state, explanations, text).filled(operands, Run(None))
            if table is None:
                return None
            node = piece.entries[0].node if piece.entries else None
            statements: Sequence[str] = table.part(last=number == len(parts) - 1)
        else:
            node, statements = part.node, [*part.write(text), *(f"{text.value(i)} = None" for i in freed if i >= len(text.arguments))]
        body += statements if node is None else _noting(text, node, statements)
    for number, (position, type_) in enumerate(results):
        body += _result(text, number, position, type_)
    text.objects |= {"Deviation": Deviation, "Run": Run, "new": object.__new__, "Tensor": Tensor}
    return call.function(fits, [*body, f"return {call.result}"], text.objects, text.called)


def _noting(text: Text, node: Node, statements: Sequence[str]) -> list[str]:
    """Return the statements inside of a `try`, which adds a note with the line of `node` to an exception that they raise."""
    return ["try:", *(f"    {statement}" for statement in statements or ("pass",)),
            "except BaseException as raised:", f"    (run or Run(None)).note(raised, {text.object(node)})", "    raise"]


def _result(text: Text, number: int, position: int, type_: TensorType | None) -> list[str]:
    """Return the statements that assign one result of the call to its variable.

    number    the number of the result
    position  its position in the list of values
    type_     its type if it is held as memory, for making a tensor of it; None if it is a tensor already
    """
    if type_ is None or number in text.results:
        return [f"leaf{number} = {text.results.get(number) or text.value(position)}"]
    known = text.object(type_)
    return [f"leaf{number} = new(Tensor)", f"leaf{number}.type = {known}", f"leaf{number}.memory = {text.memory(position, False)}"]
