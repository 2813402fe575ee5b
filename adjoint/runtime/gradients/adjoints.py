"""Programs: an adjoint bound to plans, run node by node.

A program is made once, when the tape first ends at a step of the trie, and kept there.  `run` computes on memories,
without making tensors; a host op (a hook, a bprop) is given tensors and runs as ordinary Python.  Inside another
gradient `run_recorded` does the same through `apply`, so that the adjoint is recorded in its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from adjoint.budget import budget
from adjoint.ir.core import Atom, Function, Literal, Node, Value, tensor_type
from adjoint.ir.ops.host import Callback, CellCallback, Pullback
from adjoint.ir.types import TensorType
from adjoint.runtime.gradients.assembly import Assembled
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.gradients.trie import Step
from adjoint.runtime.hooks import firing
from adjoint.runtime.memory.machine import Memory
from adjoint.runtime.memory.plans import Plan, plan_for
from adjoint.runtime.process.observers import adjoint_made
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.tensor import Tensor, apply, constant, wrap

__all__ = ["Program", "program_for"]

_KEPT = 4096
"""Bytes: a smaller memory is not worth freeing before the program ends."""


_PROGRAM, _NODE = 2000, 900
"""Bytes of a program, and of each of its nodes with its step and plan."""


class _Bound(NamedTuple):
    """A program's nodes as closures on one list of memories.

    template  the list as it is at the start: constants in their places
    results   where the results stand at the end
    """

    steps: list[Callable[[list[Any], Tape], None]]
    template: list[Any]
    results: list[tuple[int, TensorType]]


class Program:
    """The adjoint of a path, ready to run.

    function  the adjoint as IR: residuals, then cotangents -> gradients
    sources   slots of the residuals, in the order of the parameters
    missing   for each wanted leaf, whether it has no cotangent (its gradient is zeros)
    nbytes    bytes that it takes, bound
    """

    def __init__(self, function: Function, sources: Sequence[int], hosts: dict[str, int], missing: tuple[bool, ...]):
        self.function, self.sources, self.hosts, self.missing = function, tuple(sources), hosts, missing
        self.nbytes = _PROGRAM + _NODE * len(function.body.nodes)
        self._bound: _Bound | None = None

    # -- on memories ------------------------------------------------------------------------------------------------
    def _bind(self) -> _Bound:
        """Turn nodes into closures over plans and positions in one list of memories."""
        place: dict[Any, int] = {value: i for i, value in enumerate(self.function.params)}
        template: list[Any] = [None] * len(place)

        def position(atom: Atom) -> int:
            found = place.get(atom)
            if found is None:
                assert isinstance(atom, Literal)
                found = place[atom] = len(template)
                template.append(constant(atom.value, atom.type.dtype).memory)
            return found

        steps: list[Callable[[list[Any], Tape], None]] = []
        owners: list[Node] = []
        for node in self.function.body.nodes:
            operands = tuple(position(x) for x in node.operands)
            results = tuple(range(len(template), len(template) + len(node.results)))
            place.update(zip(node.results, results, strict=True))
            template += [None] * len(results)
            steps.append(self._step(node, operands, results))
            owners.append(node)
        ends = [(position(atom), tensor_type(atom)) for atom in self.function.body.results]
        return _Bound(_freeing(steps, owners, place, {i for i, _ in ends}), template, ends)

    def _step(self, node: Node, operands: tuple[int, ...], results: tuple[int, ...]) -> Callable[[list[Any], Tape], None]:
        if isinstance(node.op, (Callback, CellCallback, Pullback)):
            types = [tensor_type(x) for x in node.operands]
            call = self._host(node)
            if isinstance(node.op, CellCallback) and all(node.op.inputs) and all(node.op.outputs) and node.op.inputs:
                return self._after_cell(node, operands, results, types, call)

            def host(memories: list[Any], tape: Tape) -> None:
                returned = call([wrap(t, memories[i]) for t, i in zip(types, operands)], tape)
                for i, x in zip(results, returned, strict=True):
                    memories[i] = x.memory

            return host
        plan = plan_for(node.op, [tensor_type(x) for x in node.operands])
        return _pure(plan, operands, results)

    def _after_cell(
        self, node: Node, operands: tuple[int, ...], results: tuple[int, ...], types: Sequence[TensorType],
        call: Callable[[list[Tensor], Tape], Sequence[Tensor]],
    ) -> Callable[[list[Any], Tape], None]:
        """The backward hooks of a cell where no entry is missing, the shortest way: hooks that change nothing move no tensors."""
        assert isinstance(node.op, CellCallback)
        position, loc, count = self.hosts[node.op.symbol], node.loc, len(node.op.inputs)
        every = len(types) - count
        given_inputs = tuple(zip(types[:count], operands[:count], strict=True))
        given_outputs = tuple(zip(types[count:], operands[count:], strict=True))
        moved = tuple(zip(results, operands[:count], strict=True))

        def after(memories: list[Any], tape: Tape) -> None:
            called = tape.hosts[position]
            if len(called.inputs) != count or len(called.outputs) != every or called.shown is not None:
                returned = call([wrap(t, memories[i]) for t, i in zip(types, operands)], tape)
                for i, x in zip(results, returned, strict=True):
                    memories[i] = x.memory
                return
            inputs = tuple([wrap(t, memories[i]) for t, i in given_inputs])
            answer = firing.fire_backward(called.cell, inputs, tuple([wrap(t, memories[i]) for t, i in given_outputs]), loc, called.latest)
            if answer is inputs:
                for result, i in moved:
                    memories[result] = memories[i]
                return
            for result, x in zip(results, answer, strict=True):
                memories[result] = x.memory

        return after

    def run(self, tape: Tape, cotangents: Sequence[Tensor]) -> list[Tensor]:
        """The gradients of the leaves that have one; nothing is being recorded meanwhile, so that hooks are free."""
        bound = self._bound
        if bound is None:
            # Two threads may both bind it: what they make is the same.
            bound = self._bound = self._bind()
        memories = bound.template.copy()
        values = tape.values
        i = 0
        for slot in self.sources:
            memories[i] = values[slot].memory
            i += 1
        for x in cotangents:
            memories[i] = x.memory
            i += 1
        for step in bound.steps:
            step(memories, tape)
        return [wrap(t, memories[i]) for i, t in bound.results]

    # -- on tensors, recorded ---------------------------------------------------------------------------------------
    def run_recorded(self, tape: Tape, cotangents: Sequence[Tensor]) -> list[Tensor]:
        """The same, every op recorded on the tape of the gradient around."""
        tensors: dict[Value, Tensor] = dict(zip(
            self.function.params, (*(tape.values[slot] for slot in self.sources), *cotangents), strict=True))

        def of(atom: Atom) -> Tensor:
            return tensors[atom] if isinstance(atom, Value) else constant(atom.value, atom.type.dtype)

        instruction = tape.instruction_above()
        try:
            for node in self.function.body.nodes:
                operands = [of(x) for x in node.operands]
                if isinstance(node.op, (Callback, CellCallback, Pullback)):
                    tape.adjoint_of = None
                    made: Any = self._host(node)(operands, tape)
                else:
                    tape.adjoint_of = instruction
                    made = apply(node.op, *operands)
                if made.__class__ is Tensor:
                    tensors[node.results[0]] = made
                else:
                    tensors.update(zip(node.results, made, strict=True))
        finally:
            tape.adjoint_of = None
        return [of(x) for x in self.function.body.results]

    def gradients(self, tape: Tape, wanted: Sequence[int], cotangents: Sequence[Tensor], *, recorded: bool) -> list[Tensor]:
        """One for each of the wanted slots, zeros where nothing flows."""
        found = self.run_recorded(tape, cotangents) if recorded else self.run(tape, cotangents)
        if not any(self.missing):
            return found
        left = iter(found)
        return [zeros(tape.values[slot].type) if absent else next(left) for slot, absent in zip(wanted, self.missing, strict=True)]

    # -- host ops ---------------------------------------------------------------------------------------------------
    def _host(self, node: Node) -> Callable[[list[Tensor], Tape], Sequence[Tensor]]:
        """The Python that a host op runs: looked up among the run's hosts each time."""
        op, loc = node.op, node.loc
        position = self.hosts[op.symbol]
        match op:
            case Callback(kind="tensor"):
                name = op.symbol.removesuffix(".hook")
                return lambda given, tape: (firing.fire_tensor(tape.hosts[position], given[0], f"value '{name}'", loc),)
            case Callback(kind="value"):
                return lambda given, tape: firing.fire_value(tape.hosts[position], given, loc)
            case Callback(kind="gradient"):
                return lambda given, tape: (firing.fire_gradient(tape.hosts[position], given[0], loc),)
            case Callback(present=present):
                def before(given: list[Tensor], tape: Tape) -> Sequence[Tensor]:
                    call = tape.hosts[position]
                    entries = _spread(_spread(given, present), call.outputs)
                    return _present(firing.fire_backward_pre(call.cell, entries, loc, call.latest))

                return before
            case CellCallback(inputs=inputs, outputs=outputs):
                count, every = sum(inputs), all(inputs) and all(outputs) and any(inputs)

                def after(given: list[Tensor], tape: Tape) -> Sequence[Tensor]:
                    call = tape.hosts[position]
                    if every and len(call.inputs) == count and len(call.outputs) == len(outputs) and call.shown is None:
                        # The common case.
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
            case Pullback():
                types = [v.type for v in node.results]
                return lambda given, tape: tape.hosts[position](op, given, types, loc)
            case _:
                raise AssertionError(op)


def _spread(given: Sequence[Any], present: Sequence[bool]) -> tuple[Any, ...]:
    """The entries in their places, None where there is none."""
    left = iter(given)
    return tuple(next(left) if here else None for here in present)


def _present(entries: Iterable[Tensor | None]) -> list[Tensor]:
    return [x for x in entries if x is not None]


def _pure(plan: Plan, operands: tuple[int, ...], results: tuple[int, ...]) -> Callable[[list[Any], Tape], None]:
    run = plan.run
    out, end = results[0], results[-1] + 1
    if len(results) > 1:

        def several(memories: list[Memory], tape: Tape) -> None:
            memories[out:end] = run(*[memories[i] for i in operands])

        return several
    match operands:
        case (a,):
            def unary(memories: list[Memory], tape: Tape) -> None:
                memories[out] = run(memories[a])

            return unary
        case (a, b):
            def binary(memories: list[Memory], tape: Tape) -> None:
                memories[out] = run(memories[a], memories[b])

            return binary
        case _:
            def general(memories: list[Memory], tape: Tape) -> None:
                memories[out] = run(*[memories[i] for i in operands])

            return general


def _freeing(
    steps: list[Callable[[list[Any], Tape], None]], nodes: list[Node], place: dict[Any, int], kept: set[int]
) -> list[Callable[[list[Any], Tape], None]]:
    """The steps, with large memories let go after their last use."""
    last: dict[int, int] = {}
    for index, node in enumerate(nodes):
        for atom in (*node.operands, *node.results):
            if isinstance(atom.type, TensorType) and atom.type.nbytes > _KEPT and place[atom] not in kept:
                last[place[atom]] = index
    dying: dict[int, list[int]] = {}
    for position, index in last.items():
        dying.setdefault(index, []).append(position)
    out: list[Callable[[list[Any], Tape], None]] = []
    for index, step in enumerate(steps):
        out.append(step)
        if index in dying:
            out.append(_release(tuple(dying[index])))
    return out


def _release(positions: tuple[int, ...]) -> Callable[[list[Any], Tape], None]:
    def release(memories: list[Any], tape: Tape) -> None:
        for i in positions:
            memories[i] = None

    return release


def program_for(tape: Tape, start: Step, outputs: tuple[int, ...], wanted: tuple[int, ...]) -> Program:
    """The adjoint of what was recorded since `start`: gradients of `outputs` with respect to the slots `wanted`."""
    key = (start, outputs, wanted)
    program = tape.at.programs.get(key)
    if program is None:
        assembled: Assembled = tape.assemble(start, (*outputs, *wanted))
        program = tape.at.programs[key] = _built(tape, start, assembled, outputs, wanted)
        budget.charge(program.nbytes)
    tape.at.used = budget.period
    return program


def _built(tape: Tape, start: Step, assembled: Assembled, outputs: tuple[int, ...], wanted: tuple[int, ...]) -> Program:
    # Loaded with the first gradient, not with the package.
    from adjoint.passes.autodiff import pullback

    def value(slot: int) -> Any:
        found = assembled.values.get(slot)
        if found is None:
            # Nothing on the path uses it: it has no cotangent.
            found = assembled.values[slot] = Value(tape.values[slot].type, "x")
            assembled.slots[found] = slot
        return found

    results = [value(s) for s in outputs]
    pulled = pullback("adjoint", assembled.nodes, results, [value(s) for s in wanted], (True,) * len(outputs))
    adjoint_made(tape, start, assembled, results, pulled.function)
    sources = [assembled.slots[v] for v in pulled.residuals]
    return Program(pulled.function, sources, assembled.hosts, pulled.missing)


def gradients(tape: Tape, start: Step, outputs: Sequence[int], wanted: Sequence[int], cotangents: Sequence[Tensor]) -> list[Tensor]:
    """Gradients of the wanted slots, zeros where nothing flows; recorded when another gradient is around."""
    program = program_for(tape, start, tuple(outputs), tuple(wanted))
    return program.gradients(tape, wanted, cotangents, recorded=tape.depth > 1)
