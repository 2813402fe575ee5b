"""Calls of Python functions from a graph that is being made; the functions run when the graph runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from adjoint.frontend.changes.journal import Journal
from adjoint.frontend.values.text import RunTimeText
from adjoint.ir.core import Value
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.host import Apply
from adjoint.ir.types import Dim, DType, Poly, TensorType
from adjoint.runtime.gradients.no_grad import no_grad
from adjoint.runtime.graphs.graph import LibraryCall, LibraryEffect
from adjoint.runtime.graphs.inputs.argument_text import filling
from adjoint.runtime.graphs.inputs.outline import OutlineSlot, expression_of, filled, outlined, slots_of
from adjoint.runtime.graphs.lowering.assumptions import Assumptions
from adjoint.runtime.graphs.lowering.categories import NUMBERS, as_python, tensor_slot
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber
from adjoint.runtime.graphs.lowering.python_arithmetic import python_number
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.symbols import Symbols
from adjoint.runtime.graphs.lowering.values import Values
from adjoint.runtime.process.function_text import function_of
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.run_time_checks import Range, RangeCheck
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Hosts"]


class Hosts:
    """Adds nodes that call Python functions when the graph runs: hooks, prints, checks, and arithmetic that only Python can do.

    regions, symbols, values, assumptions  the parts of the `Lowering` that it uses
    journal           tells whether a branch or a loop is open
    user_code_inside  True once user's code is called in a branch or a loop that a tensor decides
    always            how many of the cells that are being called have forward hooks that run even if construct raises
    """

    def __init__(self, regions: Regions, symbols: Symbols, values: Values, assumptions: Assumptions, journal: Journal):
        self._regions, self._symbols, self._values, self._assumptions, self._journal = regions, symbols, values, assumptions, journal
        self.user_code_inside = False
        self.always = 0

    def effect(self, name: str, function: Callable[..., Any], values: Sequence[Any], *, shows: bool = False) -> None:
        """Add a node that calls `function(*values)` for its effect, such as a print.

        name   a name for the call in the IR
        shows  True if the function only shows the values: it then runs no code of the user's for tensors, numbers and text
        """
        outline = outlined(tuple(values), tensor_slot)[0]
        shown = _shown(outline)
        if shows and _is_plain(outline):
            on_tensors, leaves = _on_tensors(lambda *given: function(*given), tuple(values))
            self.library_call(LibraryCall, name, on_tensors, leaves, text=f"{name}{shown}")
            return
        symbol, _ = self.call(name, lambda *given: function(*given), tuple(values), (), text=f"{name}{shown}")
        self._symbols.hosts[symbol] = LibraryEffect(self._symbols.hosts[symbol])

    def check(self, check: Callable[..., Any], values: Sequence[Any], conditions: Iterable[tuple[Any, Range]] = ()) -> None:
        """Add nodes that check values when the graph runs, and raise an exception for bad ones.

        A kernel tests the conditions; Python is called only if one fails.  So the check must fail exactly where a condition does.

        check       takes the values and raises the exception for bad ones
        conditions  pairs of a tensor and the range that its numbers must be in; a RangeCheck brings its own
        """
        name = f"check_{getattr(check, '__name__', 'values')}"
        if isinstance(check, RangeCheck):
            conditions, explain, several = ((values[0], check.range),), check.explain, isinstance(check.range.low, tuple)
            on_tensors, leaves = _on_tensors(lambda given: given, tuple(values))
            function: Callable[..., None] = lambda op, *given: explain(on_tensors(*given), _range_of(op, several))  # noqa: E731 - the other one differs
        else:
            on_tensors, leaves = _on_tensors(lambda *given: (check(*given), None)[1], tuple(values))
            function = lambda op, *given: on_tensors(*given)  # noqa: E731
        symbol = self._host(name, function, name)
        made = False
        for x, (low, high, ignored) in conditions:
            made = True
            shown = () if len(leaves) == 1 and leaves[0] is x else leaves
            self._regions.add(Check(symbol, _bounds(low), _bounds(high), ignored), self._values.atoms((x, *shown)))
        assert made, "a check without conditions"

    @property
    def raises_late(self) -> bool:
        """True if an exception that Python raises now, while the graph is made, must instead be raised when the graph runs.

        That is so if the graph may skip the line when it runs, or if effects come before it or after it.
        """
        # A run that continues in this graph has already executed everything before the error.
        # Where Python state, sizes or numbers are not constants, that may be why Python failed: another graph is made with constants.
        known = self._assumptions
        if known.known or known.state or known.sizes or known.numbers:
            return False
        return bool(self.always) or self._journal.is_open or bool(self._symbols.hosts) or self._regions.has_effect

    def call(self, name: str, function: Callable[..., Any], values: Any, results: Sequence[TensorType],
             text: str = "") -> tuple[str, tuple[Value, ...]]:
        """Add a node that calls `function(*values)`, which may run code of the user's; return the node's symbol and results.

        The function returns None or tensors.

        name     a name for the call in the IR
        results  the types of these tensors
        text     describes the call in the text of the IR; its name by default
        """
        self._regions.catch_up()
        self._regions.user_code += 1
        self.user_code_inside = self.user_code_inside or self._journal.is_open
        on_tensors, leaves = _on_tensors(function, values)
        return self._emit(name, on_tensors, leaves, results, text, writes=True)

    def written_out(self, symbol: str, values: Any, host: Callable[[Callable[..., Any], Callable[..., Any]], Any]) -> None:
        """Replace the Python object that a node calls by one with more details, from which source text for the call can be made.

        Do nothing if gradients are off or the values cannot be written as an expression.

        symbol  the symbol of the node, as `call` returned it
        values  the values of the call
        host    makes the new object from the old one, and from a function that makes the values from tensors
        """
        outline, leaves = outlined(values, tensor_slot)
        expression = expression_of(outline)
        if expression is not None and not state.no_grad:
            self._symbols.hosts[symbol] = host(self._symbols.hosts[symbol], filling(expression, len(leaves)))

    def library_call(self, kind: Callable[..., LibraryCall] | None, name: str, function: Callable[..., Any], leaves: Sequence[Any],
                     results: Sequence[TensorType] = (), text: str = "", op: type[Apply] = Apply) -> tuple[Value, ...]:
        """Add a node that calls a function of tensors, which runs no code of the user's; return the node's results.

        kind    the class for the function in the graph; None if gradients may flow through the function along a tape (the recording for a
                gradient), so that the graph must run as parsed
        name    a name for the call in the IR
        leaves  the tensors and run-time numbers (known only when the graph runs) that the function takes
        results  the types of its results
        text    describes the call in the text of the IR; its name by default
        """
        symbol, made = self._emit(name, function, leaves, results, text, writes=False, op=op)
        if kind is not None:
            self._symbols.hosts[symbol] = kind(self._symbols.hosts[symbol])
        return made

    def _emit(self, name: str, function: Callable[..., Any], leaves: Sequence[Any], results: Sequence[TensorType], text: str,
              writes: bool, op: type[Apply] = Apply) -> tuple[str, tuple[Value, ...]]:
        symbol = self._host(name, function, text or name)
        node = self._regions.add(op(symbol, tuple(results)), self._values.atoms(leaves), writes=writes)
        return symbol, node.results

    def _host(self, name: str, function: Callable[..., Any], text: str) -> str:
        """Return a new symbol by which a node can call a function of tensors; inside of `_no_grad` the function runs without gradients.

        name  a name, from which the symbol is made
        text  describes the function in the text of the IR
        """
        return self._symbols.host(name, no_grad()(function) if state.no_grad else function, text)

    def number(self, category: str, function: Callable[..., Any], *numbers: Any) -> GraphNumber:
        """Add a node that calls a Python function of numbers when the graph runs; return its result as a run-time number (known only when
        the graph runs).

        category  the Python type of the result: "int", "float" or "bool"
        """
        type_ = NUMBERS[category][1]
        python = python_number(category, function, self._regions.loc)
        name = getattr(function, "__name__", "number")

        def computed(*given: Any) -> Tensor:
            return Tensor(np.asarray(python(*given), type_.dtype.array))

        on_tensors, leaves = _on_tensors(computed, tuple(numbers))
        (value,) = self.library_call(None, name, on_tensors, leaves, (type_,))
        return self._values.number(category, value, 2**63 - 1)


def _bounds(given: Dim | tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Return a bound of a range, or one for each column, as an attribute of `check!`."""
    return tuple(bound.plain() if isinstance(bound, Poly) else bound for bound in (given if isinstance(given, tuple) else (given,)))


def _range_of(op: Check, several: bool) -> Range:
    """Return the range that a check with numbers as bounds allows.

    several  True if the range has a bound for each column, also if there is one column
    """
    return Range(op.low, op.high, op.ignored) if several else Range(op.low[0], op.high[0], op.ignored)


def _on_tensors(function: Callable[..., Any], values: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Return a function that a node can call, and what it takes: the tensors and run-time numbers (known only when the graph runs) in a
    structure of values.

    The function rebuilds the values from these as `function(*values)` needs them.
    """
    outline, leaves = outlined(values, tensor_slot)
    expression = expression_of(outline)
    if expression is not None:
        header = f"on_tensors({', '.join(f'leaf{i}' for i in range(len(leaves)))})"
        return function_of(header, [f"return function(*{expression})"], {"function": function}, __file__), leaves
    categories = [slot.category for slot in slots_of(outline)]
    return (lambda *tensors: function(*filled(outline, as_python(tensors, categories)))), leaves


def _is_plain(outline: Any) -> bool:
    """Return True if showing values, as a print does, runs no code of the user's.

    outline  the structure of the values, with slots for those that the graph computes
    """
    if isinstance(outline, RunTimeText):
        return all(_is_plain(part) for piece in outline.pieces for part in (piece if isinstance(piece, tuple) else (piece,)))
    if type(outline) in (tuple, list):
        return all(map(_is_plain, outline))
    if type(outline) is dict:
        return all(map(_is_plain, (*outline, *outline.values())))
    return isinstance(outline, (OutlineSlot, DType)) or type(outline) in _PLAIN


_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None)})


def _shown(outline: Any) -> str:
    """Return the structure of values as one line of text for the IR: constants as they are, and types in place of run-time values.

    outline  the structure, with slots for values that the graph computes
    """
    if isinstance(outline, OutlineSlot):
        return str(outline.type) if outline.category == "tensor" else outline.category
    if isinstance(outline, RunTimeText):
        return repr(outline.with_values(_Shown))
    if isinstance(outline, (tuple, list)):
        inside = ", ".join(map(_shown, outline))
        return f"[{inside}]" if isinstance(outline, list) else f"({inside})"
    text = repr(outline)
    return text if len(text) <= 60 and "\n" not in text else f"<{type(outline).__name__}>"


class _Shown:
    """Shows the type of a run-time value within a text, whatever the format; used for the text of the IR."""

    def __init__(self, outline: Any):
        self.text = "{" + _shown(outline) + "}"

    def __format__(self, spec: str) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text
