"""Steps of nodes that use objects outside of the graph: Parameters, hooks, the user's Python functions.

Each function here takes a node that is being bound and returns its step, the function that does the node's work in a run.  A symbol (the
name of such an object in the IR) is looked up when the step runs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from adjoint.foundation.ownership import OF_ATTRIBUTE, OF_VARIABLE
from adjoint.ir.core import Literal
from adjoint.ir.op import Op
from adjoint.ir.ops.host import Apply, Attach, Hook, NumberAccess, Outputs
from adjoint.ir.ops.state import Read, Write
from adjoint.runtime.execution.bound_plan import Bound, Maker
from adjoint.runtime.execution.run import Deviation, Run, Step
from adjoint.runtime.execution.written_calls import Text, WrittenStep
from adjoint.runtime.graphs.graph import Graph, LibraryCall, Registration, StateAccess, Unfitting
from adjoint.runtime.process.location import called_at
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["host_makers"]


def host_makers(graph: Graph) -> dict[type[Op], Maker]:
    """Return, for each op that uses a tensor of the state or calls Python, the function that makes its step; binding a graph calls them."""
    state, hosts = graph.state, graph.hosts
    return {
        Read: lambda bound: read(bound, state),
        Write: lambda bound: write(bound, state),
        Hook: lambda bound: hook(bound, hosts),
        Attach: lambda bound: attach(bound, hosts),
        Outputs: lambda bound: outputs(bound, hosts),
        Apply: lambda bound: apply(bound, hosts),
        NumberAccess: lambda bound: apply(bound, hosts),
    }


def read(bound: Bound, state: Mapping[str, Tensor]) -> Step:
    node = bound.node
    symbol, type_, out = node.op.symbol, node.result.type, bound.results.start

    def read_(values: list[Any], run: Run) -> None:
        values[out] = x = state[symbol]
        if x.type is not type_:
            run.keep((x,))
            raise Deviation(node, (x,))

    return read_


def write(bound: Bound, state: Mapping[str, Tensor]) -> Step:
    """Return the step (the function that runs a node) that writes a computed value to a tensor of the state, such as a Parameter.

    The tensor takes over the value's memory, without a copy, if nothing else holds that memory.

    state  the tensors of the graph, by symbol (the name in the IR)
    """
    node = bound.node
    symbol, type_, (value,) = node.op.symbol, node.operands[0].type, bound.operands
    dies = value in bound.dying

    def write_(values: list[Any], run: Run) -> None:
        target = state[symbol]
        if target.type is not type_:
            raise Deviation(node, ())
        given = values[value]
        if dies and run.tape is None and run.plain:
            values[value] = None
            if sys.getrefcount(given) <= OF_VARIABLE and sys.getrefcount(given.memory) <= OF_ATTRIBUTE:
                target.memory = given.memory
                return
        target.overwrite(given)

    return write_


def hook(bound: Bound, hosts: Mapping[str, Any]) -> Step:
    node, operands, results = bound.node, bound.operands, bound.results
    symbol, site = node.op.symbol, bound.site

    def hook_(values: list[Any], run: Run) -> None:
        given: Sequence[Tensor] = [values[i] for i in operands]
        tape = run.tape
        if tape is None:
            # New tensor objects: a hook registered on a result must not be registered on the operand.
            values[results.start : results.stop] = [wrap(x.type, x.memory) for x in given]
            return
        function, kind, title = hosts[symbol]
        tape.site = site
        values[results.start : results.stop] = tape.hook(kind, function, given, title)
        tape.site = None

    return hook_


def attach(bound: Bound, hosts: Mapping[str, Any]) -> Step:
    node, operands = bound.node, bound.operands
    symbol, site, (x,) = node.op.symbol, bound.site, operands

    def attach_(values: list[Any], run: Run) -> None:
        tape = run.tape
        if tape is not None:
            tape.site = site
        host = hosts[symbol]
        if isinstance(host, Registration):
            host.register(values[x])
        else:
            values[x].register_hook(host)
        if tape is not None:
            tape.site = None

    return attach_


def outputs(bound: Bound, hosts: Mapping[str, Any]) -> Step:
    node, operands, results = bound.node, bound.operands, bound.results
    symbol, site = node.op.symbol, bound.site

    def outputs_(values: list[Any], run: Run) -> None:
        given = [values[i] for i in operands]
        tape = run.tape
        if tape is not None:
            host = hosts[symbol]
            if host.filled:
                tape.site = site
                given = tape.outputs(host.kind, host.cell, given)
                tape.site = None
        values[results.start : results.stop] = given

    return outputs_


class AccessStep(WrittenStep):
    """Reads or writes Python state for a node, such as a global variable or an attribute that holds a number.

    The function that it calls raises an exception if a value does not have the type that the graph was made for.  The step can also be
    written as source text, to become a part of the function that does a whole call.

    access  the object that reads or writes
    bound   the node, with the positions of its operands and results
    """

    def __init__(self, access: StateAccess, bound: Bound):
        super().__init__(bound.node)
        self._access, self._operands, self._results = access, bound.operands, bound.results

    def __call__(self, values: list[Any], run: Any) -> None:
        made = self._access(*[values[i] for i in self._operands])
        if made is not None:
            values[self._results.start : self._results.stop] = made

    def write(self, text: Text) -> Sequence[str]:
        call = f"{text.object(self._access.run)}({', '.join(map(text.value, self._operands))})"
        return [f"{', '.join(map(text.value, self._results))}, = {call}" if self._results else call]


class EffectStep(WrittenStep):
    """Calls a library function for its effect, such as a print, for a node; can also be written as source text.

    function  the library function
    bound     the node, with the positions of its operands
    """

    def __init__(self, function: LibraryCall, bound: Bound):
        super().__init__(bound.node)
        self._function, self._operands, self._site = function.run, bound.operands, bound.site

    def __call__(self, values: list[Any], run: Any) -> None:
        called_at(self._site, self._function, *[values[i] for i in self._operands])

    def write(self, text: Text) -> Sequence[str]:
        call = f"{text.object(self._function)}({', '.join(map(text.value, self._operands))})"
        if self._site is not None:
            text.called[call] = self._site.loc
        return [call]


def apply(bound: Bound, hosts: Mapping[str, Any]) -> Step:
    node, operands, results = bound.node, bound.operands, bound.results
    symbol, site = node.op.symbol, bound.site
    types = [v.type for v in node.results]
    literal = [isinstance(atom, Literal) for atom in node.operands]
    if isinstance(known := hosts.get(symbol), LibraryCall) and not any(literal):
        if isinstance(known, StateAccess):
            return AccessStep(known, bound)
        if not types:
            return EffectStep(known, bound)

    literals = any(literal)

    def apply_(values: list[Any], run: Run) -> None:
        given = [values[i] for i in operands]
        if literals:  # literals share their tensors: Python gets new ones
            given = [wrap(x.type, x.memory) if is_literal else x for x, is_literal in zip(given, literal)]
        returned = called_at(site, hosts[symbol], *given)
        if isinstance(returned, Unfitting):
            run.keep(returned)
            raise Deviation(node, returned)
        made = () if returned is None else (returned,) if isinstance(returned, Tensor) else tuple(returned)
        if len(made) != len(types) or any(not isinstance(x, Tensor) or x.type is not t for x, t in zip(made, types)):
            run.keep(made)
            raise Deviation(node, made)
        values[results.start : results.stop] = made

    return apply_
