"""Programs: adjoints that are ready to run.

An adjoint is the function that computes gradients from what a tape (the recording of a thread's operations) holds.  It is built when a
tape first ends at a step of the trie (the tree of all recordings), and cached there.  It runs as a bound plan: normally on memory, with new
tensors for each hook or bprop; inside another gradient on tensors, so that the adjoint itself is recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from collections.abc import Sequence as Listed
from typing import Any

from adjoint.foundation import collector
from adjoint.foundation.budget import budget
from adjoint.foundation.made import count
from adjoint.ir.core import Function, Node, tensor_type
from adjoint.ir.op import Op
from adjoint.ir.ops.conversion import StraightThrough
from adjoint.ir.ops.host import Bprop, Callback, CellCallback, Unpack
from adjoint.passes.errors import NoGradient
from adjoint.runtime.execution.bound_plan import Bound, BoundPlan, Maker
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.run import Run, Step
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.gradients.trie import TrieStep
from adjoint.runtime.hooks import firing
from adjoint.runtime.hooks.watchers import watchers
from adjoint.runtime.process.announcements import adjoint_made
from adjoint.runtime.process.tracer import not_eagerly, state
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["Program", "adjoint_makers", "program_for", "tangents_for"]

_CALLS = (Callback, CellCallback, Bprop, Unpack)
"""The ops by which an adjoint calls hooks and bprops."""

_FOR = StraightThrough()

_PROGRAM, _NODE = 2000, 900
"""Estimated bytes of a program, and of each of its nodes with its step and plan."""


class Program:
    """The adjoint (the function that computes gradients) of one recorded program, ready to run; all tapes that record the same program
    share it.

    A slot of a tape is the number of a value that the tape knows.  A leaf is a value by which the gradient is taken.

    function  the adjoint as IR: its parameters are residuals (forward values that it reads), then cotangents; its results are gradients
    sources   the tape's slots of the residuals, in the order of the parameters
    hosts     for the symbol of each host (a hook or a bprop), its index among the hosts of a tape
    missing   for each wanted leaf, True if nothing flows to it, so that its gradient is zeros
    """

    def __init__(self, function: Function, sources: Listed[int], hosts: dict[str, int], missing: tuple[bool, ...]):
        self.function, self.sources, self.hosts, self.missing = function, tuple(sources), hosts, missing
        self.nbytes = _PROGRAM + _NODE * len(function.body.nodes)
        self._bound_plan: BoundPlan | None = None

    def _bind(self) -> BoundPlan:
        # Two threads may both bind it: they make equal plans.
        self._bound_plan = BoundPlan(planned(self.function, identities=False), adjoint_makers(self.hosts), sited=False)
        return self._bound_plan

    def run(self, tape: Tape, cotangents: Listed[Tensor]) -> list[Tensor]:
        """Run the adjoint on the values of a tape; return the gradients of those leaves (values to differentiate by) that have one.

        cotangents  the cotangents of the results that are differentiated

        Nothing is recorded meanwhile, so that hooks may compute anything.
        """
        return (self._bound_plan or self._bind()).quiet.run(self._given(tape, cotangents), Run(None, tape.hosts))

    def _given(self, tape: Tape, cotangents: Listed[Tensor]) -> list[Any]:
        values = tape.values
        if tape.extended:
            tape.fill(self.sources)
        memories = [values[slot].memory for slot in self.sources]
        memories += [x.memory for x in cotangents]
        return memories

    def repeated(self, tape: Tape, wanted: Listed[int], cotangents: Listed[Tensor], maker: Callable[[dict[str, int]], Maker], run: Run,
                 ) -> list[Tensor]:
        """Return the gradients as `gradients` does, but call hooks and bprops by steps that `maker` makes (a step does the work of a node).

        tape        the recording
        wanted      the tape's slots (value numbers) of the leaves (values to differentiate by)
        cotangents  the cotangents of the results that are differentiated
        maker       takes the indices of the hooks and bprops by symbol; returns the function that makes such a step
        run         the state of this execution, with the hooks and bprops
        """
        make = maker(self.hosts)
        bound = BoundPlan(planned(self.function, identities=False), dict.fromkeys(_CALLS, make), sited=False)
        return self._with_zeros(bound.quiet.run(self._given(tape, cotangents), run), tape, wanted)

    def run_recorded(self, tape: Tape, cotangents: Listed[Tensor]) -> list[Tensor]:
        """Return the same gradients as `run`, inside of another gradient or graph.

        Each op is recorded on the enclosing gradient's tape, or added to the graph that is being made.

        cotangents  the cotangents of the results that are differentiated
        """
        values, around = tape.values, state.tracer
        assert around is not None
        if tape.extended:
            tape.fill(self.sources)
        bound, given = self._bound_plan or self._bind(), [*[values[slot] for slot in self.sources], *cotangents]
        if around.emits is True:
            return bound.run_fitting(given, Run(around, tape.hosts))
        around.adjoint_of = around.instruction_above()
        try:
            return bound.run_fitting(given, Run(around, tape.hosts))
        finally:
            around.adjoint_of = None

    def gradients(self, tape: Tape, wanted: Listed[int], cotangents: Listed[Tensor], *, recorded: bool) -> list[Tensor]:
        """Return a gradient for each of the wanted slots (value numbers) of the tape, zeros where nothing flows.

        recorded  True: inside of another gradient or graph, which records the ops of the adjoint
        wanted      the tape's slots of the values to differentiate by
        cotangents  the cotangents of the results that are differentiated
        """
        if state.eager:
            return not_eagerly(self.gradients, tape, wanted, cotangents, recorded=recorded)
        return self._with_zeros(self.run_recorded(tape, cotangents) if recorded else self.run(tape, cotangents), tape, wanted)

    def _with_zeros(self, found: list[Tensor], tape: Tape, wanted: Listed[int]) -> list[Tensor]:
        if not any(self.missing):
            return found
        left = iter(found)
        return [zeros(tape.values[slot].type) if absent else next(left) for slot, absent in zip(wanted, self.missing, strict=True)]


# -- hosts -----------------------------------------------------------------------------------------------------------------
def adjoint_makers(hosts: dict[str, int]) -> dict[type[Op], Maker]:
    """Return, for each op by which an adjoint calls hooks and bprops, the function that makes its step (which does the work of a node).

    The step looks up the Python function to call each time, so that one adjoint serves all executions.

    hosts  for the symbol of each hook or bprop, its index in `Run.hosts`
    """
    make = functools.partial(_step, hosts)
    return dict.fromkeys(_CALLS, make)


def _step(hosts: dict[str, int], bound: Bound) -> Step:
    node, operands, results = bound.node, bound.operands, bound.results
    op, position = node.op, hosts[node.op.symbol]
    if bound.recorded:
        call = _host(node, position)

        def recorded(values: list[Any], run: Run) -> None:
            # Ops inside the hook are recorded with their own lines.
            tape = run.tape
            assert tape is not None
            instruction, tape.adjoint_of = tape.adjoint_of, None
            values[results.start : results.stop] = call([values[i] for i in operands], run)
            tape.adjoint_of = instruction

        return recorded
    if any(bound.held):
        return _held(bound, position)
    if isinstance(op, CellCallback) and all(op.inputs) and all(op.outputs) and op.inputs:
        return _after_cell(bound, position)
    types, call = [tensor_type(x) for x in node.operands], _host(node, position)

    def host(values: list[Any], run: Run) -> None:
        returned = call([wrap(t, values[i]) for t, i in zip(types, operands)], run)
        for i, x in zip(results, returned, strict=True):
            values[i] = x.memory

    return host


def _held(bound: Bound, position: int) -> Step:
    """Return the step that calls a hook or bprop, where some of its values are held as tensors, not memory.  Python gets new tensor objects
    all the same.

    bound     the node, with the positions of its values
    position  the index of the function in `Run.hosts`, the Python functions of the present execution
    """
    count = len(bound.operands)
    given = tuple(zip(map(tensor_type, bound.node.operands), bound.operands, bound.held, strict=False))
    made, call = tuple(zip(bound.results, bound.held[count:], strict=True)), _host(bound.node, position)

    def held(values: list[Any], run: Run) -> None:
        returned = call([wrap(t, values[i].memory if is_tensor else values[i]) for t, i, is_tensor in given], run)
        for (i, is_tensor), x in zip(made, returned, strict=True):
            values[i] = wrap(x.type, x.memory) if is_tensor else x.memory

    return held


def _after_cell(bound: Bound, position: int) -> Step:
    """Return the step that calls the backward hooks of a cell all of whose gradients exist: a fast path, which copies nothing if the hooks
    change nothing.

    bound     the node, with the positions of its values
    position  the index of the call (a CellCall) in `Run.hosts`
    """
    node, operands, results = bound.node, bound.operands, bound.results
    assert isinstance(node.op, CellCallback)
    types, call, loc, count = [tensor_type(x) for x in node.operands], _host(node, position), node.loc, len(node.op.inputs)
    every = len(types) - count
    given_inputs = tuple(zip(types[:count], operands[:count], strict=True))
    given_outputs = tuple(zip(types[count:], operands[count:], strict=True))
    moved = tuple(zip(results, operands[:count], strict=True))

    def after(values: list[Any], run: Run) -> None:
        called = run.hosts[position]
        if len(called.inputs) != count or len(called.outputs) != every or called.shown is not None:
            returned = call([wrap(t, values[i]) for t, i in zip(types, operands)], run)
            for i, x in zip(results, returned, strict=True):
                values[i] = x.memory
            return
        inputs = tuple([wrap(t, values[i]) for t, i in given_inputs])
        answer = firing.fire_backward(called.cell, inputs, tuple([wrap(t, values[i]) for t, i in given_outputs]), loc, called.latest)
        if answer is inputs:
            for result, i in moved:
                values[result] = values[i]
            return
        for result, x in zip(results, answer, strict=True):
            values[result] = x.memory

    return after


def _host(node: Node, position: int) -> Callable[[list[Tensor], Run], Listed[Tensor]]:
    """Return a function that calls the hook or bprop of a node: it takes the gradients and the state of the execution, and returns the new
    gradients.

    The Python function is looked up in `Run.hosts` each time, so that one adjoint serves many executions.

    position  its index there
    """
    op, loc = node.op, node.loc
    match op:
        case Callback(kind="tensor"):
            name = op.symbol.rpartition(".hook")[0]
            return lambda given, run: (firing.fire_tensor(run.hosts[position], given[0], f"value '{name}'", loc),)
        case Callback(kind=kind) if kind in firing.OPERATORS:
            return lambda given, run: firing.OPERATORS[kind](run.hosts[position], given, loc)
        case Callback(present=present):
            def before(given: list[Tensor], run: Run) -> Listed[Tensor]:
                call = run.hosts[position]
                entries = _spread(_spread(given, present), call.outputs)
                return _present(call.kind.fire(call.cell, entries, loc, call.latest))

            return before
        case CellCallback(inputs=inputs, outputs=outputs):
            count, every = sum(inputs), all(inputs) and all(outputs) and any(inputs)

            def after(given: list[Tensor], run: Run) -> Listed[Tensor]:
                call = run.hosts[position]
                if every and len(call.inputs) == count and len(call.outputs) == len(outputs) and call.shown is None:
                    # Fast path.
                    grad_input, grad_output = tuple(given[:count]), tuple(given[count:])
                    return firing.fire_backward(call.cell, grad_input, grad_output, loc, call.latest)
                grad_input = _spread(_spread(given[:count], inputs), call.inputs)
                grad_output = _spread(_spread(given[count:], outputs), call.outputs)
                if call.shown is None:
                    return _present(firing.fire_backward(call.cell, grad_input or (None,), grad_output, loc, call.latest))
                by_number = dict(enumerate(grad_input))
                seen = tuple([grad_input[i] for i in call.shown[0]]) or (None,)
                answer = firing.fire_backward(call.cell, seen, tuple([grad_output[i] for i in call.shown[1]]), loc, call.latest)
                by_number.update(zip(call.shown[0], answer, strict=False))
                return _present(by_number.values())

            return after
        case Bprop():
            types = [v.type for v in node.results]
            return lambda given, run: run.hosts[position](op, given, types, loc)
        case Unpack():
            types = [tensor_type(x) for x in node.operands]

            def unpack(given: list[Tensor], run: Run) -> Listed[Tensor]:
                found = run.hosts[position].unpacked(types, loc)
                if run.tape is None:
                    return found
                # Inside of another gradient what is unpacked stands for what was packed.
                results = [wrap(x.type, x.memory) for x in found]
                for x, own, result in zip(given, found, results, strict=True):
                    run.tape.record(_FOR, (x, own), (result,))
                return results

            return unpack
        case _:
            raise AssertionError(op)


def _spread(given: Listed[Any], present: Listed[bool]) -> tuple[Any, ...]:
    """Return a tuple with an entry for each item of `present`: the next of `given` if that item is True, otherwise None."""
    left = iter(given)
    return tuple(next(left) if here else None for here in present)


def _present(entries: Iterable[Tensor | None]) -> list[Tensor]:
    return [x for x in entries if x is not None]


def program_for(tape: Tape, start: TrieStep, outputs: tuple[int, ...], wanted: tuple[int, ...], hooks: bool = True) -> Program:
    """Return the adjoint of everything that `tape` has recorded since `start` (a step of the trie, the tree of all recordings).

    It is built if no tape has needed it before, and kept at the last step.

    outputs  the tape's slots (value numbers) of the values that are differentiated
    wanted   the tape's slots of the values by which the gradient is taken
    hooks    False to leave out hooks on gradients
    """
    for watcher in watchers:
        watcher.gradient(tape, start, outputs, wanted)
    return _kept(tape, (start, outputs, wanted, hooks), lambda: _built(tape, start, outputs, wanted, hooks))


def tangents_for(tape: Tape, start: TrieStep, outputs: tuple[int, ...], inputs: tuple[int, ...]) -> Program | None:
    """Return the program that computes tangents of what `tape` has recorded since `start`, kept as an adjoint is: it takes the tangents of
    the inputs in the place of cotangents.  None if there is none, since Python computes a gradient in it.

    outputs, inputs  the tape's slots of the values that are differentiated, and of those by which they are
    """
    program = _kept(tape, (start, outputs, inputs, "tangents"), lambda: _pushing(tape, start, outputs, inputs))
    return program if isinstance(program, Program) else None


def _kept(tape: Tape, key: Any, build: Callable[[], Any]) -> Any:
    """Return the program that is kept under a key at the last step of a tape; it is built if there is none."""
    program = tape.at.programs.get(key)
    if program is None:
        program = tape.at.programs[key] = build()
        budget.charge(program.nbytes)
    tape.at.used = budget.period
    return program


class _NotInIR:
    """Kept in the place of a program that cannot be made, so that nobody tries again."""

    nbytes = 100


def _pushing(tape: Tape, start: TrieStep, outputs: tuple[int, ...], inputs: tuple[int, ...]) -> Program | _NotInIR:
    with collector.paused():
        from adjoint.runtime.gradients.assembly import assembled, tangents_of

    made = assembled(tape.path(), start, (*outputs, *inputs))
    try:
        pushed = tangents_of(made, len(outputs))
    except NoGradient:
        return _NotInIR()
    count("adjoints")
    return Program(pushed.function, [made.slots[value] for value in pushed.residuals], {}, pushed.missing)


def _built(tape: Tape, start: TrieStep, outputs: tuple[int, ...], wanted: tuple[int, ...], hooks: bool) -> Program:
    # Imported with the first gradient, not with the package.
    with collector.paused():
        from adjoint.runtime.gradients.assembly import adjoint_of, assembled

    made = assembled(tape.path(), start, (*outputs, *wanted))
    pulled = adjoint_of(made, len(outputs), hooks)
    count("adjoints")
    adjoint_made(tape, start, made, made.results[: len(outputs)], pulled.function)
    sources = [made.slots[value] for value in pulled.residuals]
    return Program(pulled.function, sources, made.hosts, pulled.missing)


def gradients(tape: Tape, start: TrieStep, outputs: Listed[int], wanted: Listed[int], cotangents: Listed[Tensor]) -> list[Tensor]:
    """Compute gradients of what `tape` has recorded since `start` (a step of the trie, the tree of all recordings).

    outputs     the tape's slots (value numbers) of the values that are differentiated
    wanted      the tape's slots of the values by which the gradient is taken
    cotangents  the cotangents of the outputs

    Return the gradient of each wanted slot, zeros where nothing flows.  Inside of another gradient, the ops that compute them are recorded.
    """
    program = program_for(tape, start, tuple(outputs), tuple(wanted))
    return program.gradients(tape, wanted, cotangents, recorded=tape.depth > 1)
