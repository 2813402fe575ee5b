"""Steps that take a gradient in a graph: each runs a region (the function to differentiate) on a tape, then its derivative.

A tape is the recording of a thread's operations for a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjoint.ir.core import Node
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Along, Differentiated, Gradient, Pull, Record, Tangent
from adjoint.runtime.execution.bound_plan import Bound, Maker
from adjoint.runtime.execution.run import Run, Step
from adjoint.runtime.gradients.adjoints import gradients
from adjoint.runtime.gradients.grad import _outputs, with_parameters
from adjoint.runtime.gradients.products import Pullback, Pushforward
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.gradients.trie import TrieStep
from adjoint.runtime.process.location import called_at
from adjoint.runtime.process.tracer import check_gradients, set_tracer, state
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.parameter import training
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["RunsAdjoint", "gradient_makers"]


RunsAdjoint = Callable[[Run, Tape, TrieStep, Sequence[int], Sequence[int], Sequence[Tensor]], list[Tensor]]
"""A function that computes gradients of what a tape has recorded; its arguments are the state of the execution (`Run`), then those of
`adjoints.gradients`.
"""


def _of_the_path(run: Run, *given: Any) -> list[Tensor]:
    return gradients(*given)


def gradient_makers(symbols: Mapping[str, Tensor], adjoint: RunsAdjoint = _of_the_path) -> dict[type[Op], Maker]:
    """Return, for each op that takes a gradient, the function that makes its step; binding a graph calls them.

    symbols  the Parameters and other tensors of the graph, by the symbols that name them in the IR
    adjoint  computes the gradients of a recorded region (a body of nodes) from the tape
    """
    return {
        Gradient: lambda bound: _gradient(bound, symbols, adjoint),
        Record: lambda bound: _record(bound, symbols),
        Pull: lambda bound: _of_trace(bound, lambda trace: trace.pull),
        Along: lambda bound: _of_trace(bound, lambda trace: trace.along),
        Tangent: lambda bound: _tangent(bound, symbols),
    }


class _Opened(tuple[Any, ...]):
    """Log entry for the beginning of a gradient: its arguments, as the tensor objects that stand for them while the tape records.

    An execution that continues in another graph takes the entry from the log instead of beginning the gradient again.

    tape, start  the tape (the recording), and the step at which this gradient's recording starts
    slots        the numbers by which the tape knows the arguments
    watched      the numbers by which the tape knows the Parameters; None for one that requires no gradient
    weights      the Parameters
    changes      how often any Parameter's `requires_grad` had been changed before; if the count rises, `watched` is made again
    """

    tape: Tape
    start: TrieStep
    slots: list[int]
    watched: list[int | None]
    weights: list[Any]
    changes: int


def _begun(tape: Tape, node: Node, site: Node | None, symbols: Mapping[str, Tensor], given: Sequence[Tensor]) -> _Opened:
    """Begin a gradient on a tape, with respect to the tensors `given` and the Parameters that the node names; return its log entry.

    site     the node whose line in the program the tape records
    symbols  the tensors of the graph, by symbol (the name in the IR)
    """
    check_gradients()
    op = node.op
    assert isinstance(op, Differentiated)
    tape.site = site
    start = tape.begin((id(node), len(given)), node)
    opened = _Opened([tape.leaf(x) for x in given])
    opened.tape, opened.start = tape, start
    opened.slots = [tape.slots[id(x)] for x in opened]
    opened.weights, opened.changes = [symbols[name] for name in op.by], training.changes
    opened.watched = [tape.watch(w) if w.requires_grad else None for w in opened.weights]
    tape.site = None
    return opened


def _wanted(opened: _Opened) -> list[int]:
    """Return the tape's numbers of all arguments and Parameters to differentiate by, each once.

    opened  the entry for the beginning of the gradient, in the log of the graph's run
    """
    return list(dict.fromkeys([*opened.slots, *(s for s in opened.watched if s is not None)]))


def _by_leaf(op: Differentiated, opened: _Opened, found: Mapping[int, Tensor]) -> tuple[Tensor, ...]:
    """Return the gradients of the arguments, then those of the Parameters; zeros for a Parameter that requires no gradient.

    opened  the log entry for the beginning of the gradient
    found   the gradients, by the number of the argument or Parameter on the tape
    """
    by_weight = [zeros(t) if s is None else found[s] for s, t in zip(opened.watched, op.weights, strict=True)]
    return (*(found[s] for s in opened.slots), *by_weight)


def _differentiated(
    bound: Bound, symbols: Mapping[str, Tensor], closed: Callable[[_Opened, list[Any], Run, bool], tuple[Any, ...]]
) -> Step:
    """Return the step (the function that runs a node) that runs the region of a node while a tape records it.

    symbols  the tensors of the graph, by symbol (the name in the IR)
    closed   is called after the region (a body of nodes) and returns the node's results.  It takes the log entry of the gradient, the
             values of the graph, the state of the execution, and True if the tape was started for this region
    """
    node, site, params, results, (block,) = bound.node, bound.site, bound.params, bound.results, bound.blocks
    operands = bound.operands[: len(params)]

    def differentiated(values: list[Any], run: Run) -> None:
        outer: Any = run.tape  # a Tape, or None
        opened = run.taken(_Opened)
        tape = opened.tape if opened is not None else outer if outer is not None else Tape()
        depth = tape.depth
        try:
            state.tracer = run.tape = tape
            if opened is None:
                opened = _begun(tape, node, site, symbols, [values[i] for i in operands])
                run.keep(opened)
            else:
                tape.depth += 1
            for place, x in zip(params, opened, strict=True):
                values[place] = x
            block.run(values, run)
            made = run.taken(tuple)
            if made is None:
                if training.changes != opened.changes:
                    opened.watched = tape.trained(opened.weights, opened.watched)
                made = run.keep(called_at(site, closed, opened, values, run, outer is None))
            values[results.start : results.stop] = made
        finally:
            tape.depth = depth
            set_tracer(outer)
            state.tracer = run.tape = outer

    return differentiated


def _gradient(bound: Bound, symbols: Mapping[str, Tensor], adjoint: RunsAdjoint) -> Step:
    """Return the step (the function that runs a node) of a `gradient` node: it runs a function and returns its results and gradients,
    computed as `grad.differentiate` does.

    symbols  the tensors of the graph, by symbol (the name in the IR)
    adjoint  computes the gradients of a recorded region from the tape
    """
    op, operands, (yielded,) = bound.node.op, bound.operands, bound.yields
    assert isinstance(op, Gradient)
    count = len(bound.params)

    def closed(opened: _Opened, values: list[Any], run: Run, own: bool) -> tuple[Any, ...]:
        tape = opened.tape
        outs, sens = [values[i] for i in yielded], [values[i] for i in operands[count:]]
        slots, cotangents = _outputs(tape, tuple(outs[: op.of]), tuple(sens) or None, False)
        wanted = _wanted(opened)
        if tape.depth == 1:
            # Recording is off while the outermost gradient is computed, so that hooks may compute anything.
            state.tracer = None
        found = dict(zip(wanted, adjoint(run, tape, opened.start, slots, wanted, cotangents), strict=True))
        if tape.renamed_parameter:
            outs = with_parameters(tape, outs)
        return (*outs, *_by_leaf(op, opened, found))

    return _differentiated(bound, symbols, closed)


class _Trace:
    """The value of a trace: a region that has run, to be differentiated.

    op       the op of the `record` node
    opened   the log entry of its beginning
    outputs  the tensors that are differentiated
    own      True if the tape was started for the region
    """

    def __init__(self, op: Record, opened: _Opened, outputs: Sequence[Tensor], own: bool):
        self._op, self._opened = op, opened
        self._pullback = Pullback(opened.tape, opened.start, outputs, _wanted(opened), own)
        self._pushforward = Pushforward(opened.tape, opened.start, outputs, opened.slots, own=False)

    def pull(self, cotangents: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return the gradients, as `vjp` does."""
        return _by_leaf(self._op, self._opened, self._pullback(cotangents))

    def along(self, tangents: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return the tangents of the outputs, as `linearize` does."""
        return self._pushforward(tangents)


def _record(bound: Bound, symbols: Mapping[str, Tensor]) -> Step:
    """Return the step (the function that runs a node) of a `record` node: it runs a function, and returns its results and its trace.

    symbols  the tensors of the graph, by symbol (the name in the IR)
    """
    op, (yielded,) = bound.node.op, bound.yields
    assert isinstance(op, Record)

    def closed(opened: _Opened, values: list[Any], run: Run, own: bool) -> tuple[Any, ...]:
        outs = [values[i] for i in yielded]
        trace = _Trace(op, opened, outs[: op.of], own)
        if opened.tape.renamed_parameter:
            outs = with_parameters(opened.tape, outs)
        return (*outs, trace)

    return _differentiated(bound, symbols, closed)


def _tangent(bound: Bound, symbols: Mapping[str, Tensor]) -> Step:
    """Return the step (the function that runs a node) of a `tangent` node that its graph keeps: it runs a function, and returns its results
    and their tangents, as `jvp` does.

    symbols  the tensors of the graph, by symbol (the name in the IR)
    """
    op, operands, (yielded,) = bound.node.op, bound.operands, bound.yields
    assert isinstance(op, Tangent)
    count = len(bound.params)

    def closed(opened: _Opened, values: list[Any], run: Run, own: bool) -> tuple[Any, ...]:
        outs, tangents = [values[i] for i in yielded], [values[i] for i in operands[count:]]
        if own:
            state.tracer = None
        found = Pushforward(opened.tape, opened.start, outs[: op.of], opened.slots, own=False)(tangents)
        if opened.tape.renamed_parameter:
            outs = with_parameters(opened.tape, outs)
        return (*outs, *found)

    return _differentiated(bound, symbols, closed)


def _of_trace(bound: Bound, function: Callable[[_Trace], Callable[[Sequence[Tensor]], Sequence[Tensor]]]) -> Step:
    """Return the step (the function that runs a node) of a `pull!` or `along!` node: it calls a function of the trace that a `record` node
    has made.
    """
    (trace, *given), results, site = bound.operands, bound.results, bound.site

    def derivative(values: list[Any], run: Run) -> None:
        made = run.taken(tuple)
        if made is None:
            made = run.keep(tuple(called_at(site, function(values[trace]), [values[i] for i in given])))
        values[results.start : results.stop] = made

    return derivative
