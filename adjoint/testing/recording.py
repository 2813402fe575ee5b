"""Record a function of the user's: what it computes as IR, with the numbers, and its gradients, with what each hook and bprop did."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import UNKNOWN, At, Loc, beginning
from adjoint.ir.core import Node, Region, Value, free_values, tensor_type, walk
from adjoint.ir.ops.host import Bprop
from adjoint.ir.storage import to_compute
from adjoint.ir.types import TensorType
from adjoint.runtime.cells.custom_bprop import Rule
from adjoint.runtime.execution.bound_plan import Bound, Maker
from adjoint.runtime.execution.run import Run, Step
from adjoint.runtime.gradients.adjoints import adjoint_makers, program_for
from adjoint.runtime.gradients.assembly import assembled
from adjoint.runtime.gradients.custom_function import CustomFunction
from adjoint.runtime.gradients.grad import function_identity
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.gradients.trace import host_text
from adjoint.runtime.gradients.trie import CellCall
from adjoint.runtime.hooks.handles import TensorHooks, described
from adjoint.runtime.memory.machine import array_of
from adjoint.runtime.process.location import definition
from adjoint.runtime.process.tracer import set_tracer, state
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Array", "HostRun", "Recorded", "line_of_def", "numbers", "record"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class HostRun:
    """One call of a hook or a bprop while gradients were computed.

    node     its node in the adjoint
    given    the numbers that it was given: for a bprop the inputs, the outputs and their cotangents
    made     the gradients that it returned
    text     the functions that were called, for messages
    loc      where they are defined; UNKNOWN if that is not known
    """

    node: Node
    given: list[Array]
    made: list[Array]
    text: str
    loc: Loc

    @property
    def changed(self) -> bool:
        """Return True if a hook returned other numbers than it was given; False for a bprop, which replaces them in any case."""
        if isinstance(self.node.op, Bprop):
            return False
        return any(old.tobytes() != new.tobytes() for old, new in zip(self.given, self.made, strict=False))


@dataclass(frozen=True)
class Recorded:
    """A function that was run once on a tape (the recording of this thread's operations).

    nodes      what it computed, as IR
    results    its results, as values of the IR
    leaves     the inputs and Parameters to differentiate with respect to, as values of the IR
    outside    the numbers of all values that no node computes, the leaves among them
    cut        the numbers of the results of operators that let no gradient through
    outputs    the results themselves
    rules      for the symbol of each bprop, the object that calls it
    path       the path that it took: equal for two runs that recorded the same events
    found      the Parameters that its nodes use, with those that take no gradient
    pull       computes the gradient of each leaf from cotangents of the results, and lists the calls of hooks and bprops meanwhile
    """

    nodes: tuple[Node, ...]
    results: tuple[Value, ...]
    leaves: tuple[Value, ...]
    outside: dict[Value, Array]
    cut: dict[Value, Array]
    outputs: list[Tensor]
    rules: dict[str, Rule]
    path: object
    found: list[Parameter]
    pull: Callable[[Sequence[Tensor]], tuple[list[Tensor], list[HostRun]]]


def numbers(x: Any, type_: TensorType | None = None) -> Array:
    """Return a copy of a tensor's numbers, two-byte floats as float32.

    x      a tensor, or the memory of one
    type_  its type, if `x` is memory
    """
    if isinstance(x, Tensor):
        x, type_ = x.memory, x.type
    assert type_ is not None
    return np.array(to_compute(array_of(x, type_), type_.dtype))


def record(fn: Callable[..., Sequence[Tensor]], inputs: Sequence[Tensor], parameters: Sequence[Parameter]) -> Recorded:
    """Run a function on tensors, and return what it did.

    fn          returns the tensors that are differentiated
    inputs      its arguments, by which gradients are taken
    parameters  the Parameters by which gradients are taken
    """
    tape, outer = Tape(), state.tracer
    try:
        state.tracer = tape
        identity = function_identity(fn)
        start = tape.begin(("record", id(identity), len(inputs)), identity)
        given = [tape.leaf(x) for x in inputs]
        wanted = [_slot(tape, x) for x in given] + [tape.watch(p) for p in parameters]
        outputs = list(fn(*given))
        known = [tape.watch(x) for x in outputs]  # a result that is a constant gets a slot here
        made = assembled(tape.path(), start, [*known, *wanted])
    finally:
        set_tracer(outer)
        state.tracer = outer
    atoms = [x for x in made.results if isinstance(x, Value)]
    free = [*dict.fromkeys([*free_values(made.nodes, atoms), *atoms[len(known):]])]
    cut = [value for node in walk(Region((), made.nodes, ())) if node.ends_gradients for value in node.results]
    tape.fill([made.slots[value] for value in (*free, *cut)])

    def of(values: Sequence[Value]) -> dict[Value, Array]:
        return {value: numbers(tape.values[made.slots[value]]) for value in values}

    rules = {symbol: host for symbol, i in made.hosts.items() if isinstance(host := tape.hosts[i], Rule)}
    used = {made.slots[value] for value in free_values(made.nodes, atoms[: len(known)])}
    found = [p for slot, p in tape.owners.items() if isinstance(p, Parameter) and slot in used]

    def pull(cotangents: Sequence[Tensor]) -> tuple[list[Tensor], list[HostRun]]:
        calls: list[HostRun] = []
        program = program_for(tape, start, tuple(known), tuple(wanted))
        gradients = program.repeated(tape, wanted, cotangents, lambda hosts: _noting(hosts, tape, calls), Run(None, tape.hosts))
        return gradients, calls

    results, leaves = tuple(atoms[: len(known)]), tuple(atoms[len(known):])
    return Recorded(made.nodes, results, leaves, of(free), of(cut), outputs, rules, tape.at, found, pull)


def _slot(tape: Tape, x: Tensor) -> int:
    slot = tape.slot_of(x)
    assert slot is not None
    return slot


def _noting(hosts: dict[str, int], tape: Tape, calls: list[HostRun]) -> Maker:
    """Return the function that makes the steps of hooks and bprops; each of these also adds its call to `calls`."""
    makers = adjoint_makers(hosts)

    def make(bound: Bound) -> Step:
        step = makers[type(bound.node.op)](bound)
        assert step is not None
        node, position = bound.node, hosts[bound.node.op.symbol]
        types = [tensor_type(x) for x in (*node.operands, *node.results)]

        def noted(values: list[Any], run: Run) -> None:
            given = [numbers(values[i], t) for i, t in zip(bound.operands, types, strict=False)]
            text = _described(tape, position)
            step(values, run)
            made = [numbers(values[i], t) for i, t in zip(bound.results, types[len(node.operands):], strict=True)]
            calls.append(HostRun(node, given, made, text, _defined(tape.hosts[position])))

        return noted

    return make


def _described(tape: Tape, position: int) -> str:
    host = tape.hosts[position]
    function = _backward(host)
    return host_text(tape, position) if function is None else described(function)


def _backward(host: Any) -> Any:
    """Return the `backward` of a `_Function`; None for any other host."""
    cell = host.cell if isinstance(host, Rule) else None
    return cell.function.backward if isinstance(cell, CustomFunction) else None


def _defined(host: Any) -> Loc:
    """Return where the Python function of a host is defined; of a host with several functions, the first."""
    if isinstance(host, Rule):
        return line_of_def(_backward(host) or host.cell.bprop)
    if isinstance(host, CellCall):
        hooks = host.cell._cell_hooks
        functions = hooks.functions("backward" if host.kind is None else host.kind.slot) if hooks else []
    else:
        functions = [*host.firing()] if isinstance(host, TensorHooks) else [host]
    return line_of_def(functions[0]) if functions else UNKNOWN


def line_of_def(function: Any) -> Loc:
    """Return where a function is defined, below its decorators."""
    place, decorated = definition(function), getattr(function, "__name__", "") != "<lambda>"
    while decorated and isinstance(place, At) and linecache.getline(place.file, place.line).lstrip().startswith("@"):
        place = beginning(place.file, place.line + 1)
    return place
