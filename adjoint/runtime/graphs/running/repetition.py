"""Run a graph once more on a tape without calling the user's code: the answers of the first run are used instead.

In this way a run of an optimised graph gets the log that a run along the path (node by node, with each result kept) would have, with the
same bits.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from adjoint.ir.core import Literal, tensor_type
from adjoint.ir.op import Op
from adjoint.ir.ops.host import Apply, Callback, CellCallback, Outputs
from adjoint.ir.ops.random import Draw
from adjoint.runtime.execution.bound_plan import Bound, BoundPlan, Maker
from adjoint.runtime.execution.run import Deviation, Entered, LoggedRun, Run, Step
from adjoint.runtime.gradients.adjoints import program_for
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.gradients.trie import TrieStep
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.running.binding import makers_of, plan_of
from adjoint.runtime.graphs.running.cells import CellAsItWas, cell_makers
from adjoint.runtime.graphs.running.gradients import gradient_makers
from adjoint.runtime.graphs.running.hosts import apply
from adjoint.runtime.graphs.running.observed_functions import Observing
from adjoint.runtime.hooks.handles import TensorHooks
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["Answers", "Repetition", "answer_of", "answering", "drawing", "makers_of_repetition", "repeated"]

Answers = dict[Hashable, list[list[Any]]]
"""The gradients that cells' hooks returned in the backward passes of a call, in order, for each kind of hook and cell: their memory."""


class Repetition(LoggedRun):
    """A second execution of a graph for the same call, without calling hooks or drawing random numbers again; their first answers are used.

    log      gets the results of the nodes
    given    returns the tensor object that hooks got the first time, by its key in `Watching.objects`; None if the objects are neither
        known nor needed any more
    until    the symbol of the hooks at which it ends with a Deviation; None if it goes to the end
    keys     the keys of random numbers that were drawn the first time
    answers  the answers that backward hooks gave the first time
    left     the tape (the recording for a gradient) at the point where it ended
    shown    without a tape: the tensors that hooks have got, by the ids of the tensors that correspond to them now
    """

    __slots__ = ("answers", "given", "keys", "left", "shown", "until")

    def __init__(self, log: list[Any], given: Callable[[Hashable], Tensor | None] | None, until: str | None, keys: Iterable[Tensor],
                 answers: Answers):
        super().__init__(None, log)
        self.given, self.until, self.keys = given, until, iter(keys)
        self.answers = {key: deque(found) for key, found in answers.items()}
        self.left: Tape | None = None
        self.shown: dict[int, Tensor] = {}

    def shown_in(self, entry: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a copy of a log entry in which the tensor objects that hooks got the first time replace those of this second execution."""
        made: Any = type(entry)(self.shown.get(id(x), x) for x in entry)
        if not isinstance(entry, Entered):
            return made
        made.rule, made.hooked = entry.rule, entry.hooked
        return made

    def same(self, shown: Tensor, recorded: Tensor) -> None:
        """Record that two tensor objects are the same tensor to the program.

        On a tape, `shown` gets the place and the hooks of `recorded`.  Without a tape, `shown_in` later replaces `recorded`.

        shown     the object that hooks got the first time
        recorded  the tensor with the same value in this second execution
        """
        tape = self.tape
        if tape is None:
            self.shown[id(recorded)] = shown
            return
        if shown is recorded or tape.slots.get(id(shown)) is not None:
            return
        slot = tape.slots.get(id(recorded))
        if slot is not None:
            tape.slots[id(shown)] = slot
        tape.keep[id(shown)] = shown
        tape.named.append((shown, recorded))
        if shown._hooks is None:
            shown._hooks = TensorHooks()
        recorded._hooks = shown._hooks


def repeated(graph: Graph, found: Observing) -> BoundPlan:
    """Return the bound plan by which a `Repetition` (a second execution) of a graph runs: its steps use the answers of the first execution.

    found  what is known about the graph's hooks
    """
    makers = {**makers_of(graph, {}), **makers_of_repetition(graph, found)}
    return BoundPlan(functools.partial(plan_of, graph), makers, graph.state, explanations=graph.hosts)


def makers_of_repetition(graph: Graph, found: Observing) -> dict[type[Op], Maker]:
    """Return, for each op whose results a second execution of the graph takes from the first instead of computing them, the function that
    makes its step.

    found  what is known about the graph's hooks
    """
    return {**cell_makers(graph, CellAsItWas), **gradient_makers(graph.state, _answered), Draw: _drawn,
            Outputs: functools.partial(_outputs, graph, found), Apply: functools.partial(_hooks, graph, found)}


# -- forward hooks and random numbers ---------------------------------------------------------------------------------------
def _hooks(graph: Graph, found: Observing, bound: Bound) -> Step:
    """Return the step (the function that runs a node) of a node for forward hooks, in a second execution: it does not call them, and
    returns what they returned the first time.

    That is the last of the values that they got.  Where the repetition is to end, the step raises a Deviation.

    found  what is known about the graph's hooks
    """
    node, symbol, operands, results = bound.node, bound.node.op.symbol, bound.operands, bound.results
    hooked = found.hooks.get(symbol)
    if hooked is None:
        return apply(bound, graph.hosts)
    literal, last = [isinstance(atom, Literal) for atom in node.operands], operands[len(operands) - hooked.results :]

    def hooks(values: list[Any], run: Any) -> None:
        if run.given is None:
            values[results.start : results.stop] = [values[i] for i in last]
            return
        tensors = [run.given(key) for key in hooked.objects]
        for x, i, constant in zip(tensors, operands, literal, strict=True):
            if not constant:
                run.same(x, values[i])
        if symbol == run.until:
            run.left = run.tape
            raise Deviation(node, ())
        values[results.start : results.stop] = tensors[len(tensors) - hooked.results :]

    return hooks


def _outputs(graph: Graph, found: Observing, bound: Bound) -> Step:
    """Return the function that runs an `outputs!` node (hooks on the gradients of a cell's result) when the graph is executed a second
    time.

    If the cell had such hooks the first time, they are put on the tape (the recording for a gradient); else the values pass unchanged.

    found  what is known about the graph's hooks
    """
    operands, results, symbol, site, hosts = bound.operands, bound.results, bound.node.op.symbol, bound.site, graph.hosts

    def outputs(values: list[Any], run: Run) -> None:
        given: Sequence[Tensor] = [values[i] for i in operands]
        if run.tape is not None and symbol in found.pre:
            run.tape.site = site
            given = run.tape.outputs(hosts[symbol].kind, hosts[symbol].cell, given)
            run.tape.site = None
        values[results.start : results.stop] = given

    return outputs


def drawing(bound: Bound) -> Step:
    """Return the step (the function that runs a node) that draws the key for random numbers of a node, and keeps it so that a second
    execution uses the same key.
    """
    op, out = bound.node.op, bound.results.start
    assert isinstance(op, Draw)
    seed = op.seed or None

    def draw(values: list[Any], run: Any) -> None:
        values[out] = key = next_key(seed)
        run.keys.append(key)

    return draw


def _drawn(bound: Bound) -> Step:
    """Return the step (the function that runs a node) that, in a second execution, takes the next key that was drawn the first time."""
    out = bound.results.start

    def drawn(values: list[Any], run: Any) -> None:
        values[out] = next(run.keys)

    return drawn


# -- backward hooks ---------------------------------------------------------------------------------------------------------
def answer_of(op: Op, called: Any) -> Hashable:
    """Return the dict key under which the answers of a cell's hooks on gradients are kept: one for each cell and kind of hooks.

    op      the op of the node that calls the hooks
    called  the call of the cell
    """
    return type(op), called.kind, id(called.cell)


def answering(makers: Mapping[type[Op], Maker], positions: Mapping[str, int]) -> dict[type[Op], Maker]:
    """Return makers of steps that call backward hooks, and also keep the gradients that these return in `run.answers`.  A second execution
    of the same call (`Repetition`) takes them from there instead of calling the hooks again.

    makers     by op, the functions that make the steps that only call the hooks
    positions  by symbol (the name in the IR) of each Python object that gradients call: its index in `run.hosts`
    """

    def make(bound: Bound) -> Step | None:
        op, results, step = bound.node.op, bound.results, makers[type(bound.node.op)](bound)
        held, position = bound.held[len(bound.operands) :], positions[op.symbol]
        assert step is not None

        def answered(values: list[Any], run: Any) -> None:
            step(values, run)
            made = [x.memory if is_tensor else x for x, is_tensor in zip(values[results.start : results.stop], held)]
            run.answers.setdefault(answer_of(op, run.hosts[position]), []).append(made)

        return answered

    return {Callback: make, CellCallback: make}


def _answered(
    run: Any, tape: Tape, start: TrieStep, outputs: Sequence[int], wanted: Sequence[int], cotangents: Sequence[Tensor]
) -> list[Tensor]:
    """Return the gradients of some values, computed with the answers that hooks gave in the first execution instead of calling hooks.

    start       the step of the tape at which the gradient began
    outputs     the tape's numbers of the values to differentiate
    wanted      the tape's numbers of the values to differentiate by
    cotangents  the gradients of `outputs`
    """
    program = program_for(tape, start, tuple(outputs), tuple(wanted))
    inner = _Pulled(run.answers, tape.hosts)
    return program.repeated(tape, wanted, cotangents, lambda positions: functools.partial(_answer, positions), inner)


class _Pulled(Run):
    """The state while the code of a gradient runs in a second execution; it holds the answers that hooks gave the first time."""

    __slots__ = ("answers",)

    def __init__(self, answers: Mapping[Hashable, deque[list[Any]]], hosts: Sequence[Any]):
        super().__init__(None, hosts)
        self.answers = answers


def _answer(positions: dict[str, int], bound: Bound) -> Step:
    """Return the step (the function that runs a node) that replaces a call of backward hooks in a second execution: it returns their next
    answer of the first.

    positions  the index of each Python object that gradients call, by symbol (the name in the IR)
    """
    op, results, types = bound.node.op, bound.results, list(map(tensor_type, bound.node.results))
    held, position = bound.held[len(bound.operands) :], positions[op.symbol]

    def answer(values: list[Any], run: Any) -> None:
        made = run.answers[answer_of(op, run.hosts[position])].popleft()
        values[results.start : results.stop] = [
            wrap(type_, memory) if is_tensor else memory for type_, memory, is_tensor in zip(types, made, held)]

    return answer
