"""Lowering: the tracer that turns ops into nodes while a function is made into a graph.

The frontend runs the function's syntax tree on symbolic tensors.  All computation on them, in the user's code or the library's, goes
through `apply` or a related function, which asks for the thread's tracer: a tape records an op that has run, a `Lowering` emits it as
a node instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.diagnostics import Loc
from adjoint.frontend.control.branches import Unreachable
from adjoint.frontend.world import Kind
from adjoint.ir.core import Function, Module, Region, Value, tensor_type
from adjoint.passes.escapes import with_escapes
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.lowering.emitting import value_slot
from adjoint.runtime.graphs.lowering.gradients import Gradients
from adjoint.runtime.graphs.lowering.returned import Returned
from adjoint.runtime.graphs.outline import outlined
from adjoint.runtime.graphs.templates import Template
from adjoint.runtime.process.tracer import set_tracer, state

__all__ = ["Lowered", "Lowering", "lowered"]

_DEPTH = 10_000
"""The recursion limit while a function is parsed: each nested call or `if` takes about 15 of Python's frames."""


class Lowered:
    """A function that has been made into a graph.

    graph      the graph, ready to be bound
    guards     the conditions it was made for, in addition to the types of its arguments
    outline    the outline of its result; its slots hold the graph's first results
    written    the arguments that the function writes in place: their new values are the graph's last results
    decisions  the assumed results of forward hooks, by site
    sites      the site of each `apply!` of such hooks, by its symbol
    """

    def __init__(
        self, graph: Graph, guards: Guards, outline: Any, written: tuple[int, ...], decisions: dict[Any, Any], sites: dict[str, Any],
    ):
        self.graph, self.guards, self.outline, self.written = graph, guards, outline, written
        self.decisions, self.sites = decisions, sites


def lowered(call: Callable[[Lowering, tuple[Any, ...], dict[str, Any]], Any], arguments: Template, symbol: str, loc: Loc,
            decisions: dict[Any, Any] | None = None, names: Sequence[str] = ()) -> Lowered:
    """Make a graph.

    call       runs the function on the lowering, with the symbolic arguments
    arguments  (args, kwargs) as a template, without their tensors
    decisions  the known results of forward hooks, by site
    names      names of the tensors among the arguments
    """
    outer, limit, no_grad = state.tracer, sys.getrecursionlimit(), state.no_grad
    sys.setrecursionlimit(max(limit, _DEPTH))
    state.no_grad = []  # a graph does not depend on where it is called
    try:
        for asks in (False, True):
            state.tracer = lowering = Lowering(symbol, loc, decisions or {}, asks)
            try:
                return lowering.run(call, arguments, names)
            except Exception:
                # The cause may be the assumption that hooks keep structure and types.
                if not lowering.assumes:
                    raise
            finally:
                lowering.end()
        raise AssertionError("a lowering that asks assumes nothing")
    finally:
        set_tracer(outer)
        state.tracer, state.no_grad = outer, no_grad
        sys.setrecursionlimit(limit)


class Lowering(Gradients):
    """The tracer of one function being made into a graph, and the `World` of its frontend."""

    def run(self, call: Callable[[Lowering, tuple[Any, ...], dict[str, Any]], Any], arguments: Template, names: Sequence[str]) -> Lowered:
        params = [Value(type_, names[i] if i < len(names) else "x") for i, type_ in enumerate(arguments.types)]
        self.named.update(params)
        categories = [arguments.numbers[i].__name__ if i in arguments.numbers else "tensor" for i in range(len(params))]
        leaves = [self.wrapped(Kind(category, tensor_type(param)), param) for category, param in zip(categories, params, strict=True)]
        args, kwargs = arguments.build(leaves)
        self.frontend.aliases.given = leaves
        try:
            result = call(self, args, kwargs)
        except Unreachable:
            result = None
        outline, found = outlined(Returned(self.frontend).taken(result), value_slot)
        written = tuple(i for i, (x, param) in enumerate(zip(leaves, params, strict=True)) if x.atom is not param)
        results = [self.atom(x) for x in (*found, *(leaves[i] for i in written))]
        body = Region(tuple(params), tuple(self.builder.nodes), tuple(results))
        body = with_escapes(body, self.escaped)
        function = Function(self.symbol, body, loc=self.start)
        module = Module({s: x.type for s, x in self.state.items()}, dict(self.declared), {self.symbol: function})
        graph = Graph(module, self.symbol, self.state, self.hosts, self.cell_sites, tuple(self.own_cells))
        self.guards.freeze()
        return Lowered(graph, self.guards, outline, written, self.taken, self.hook_sites)

    def end(self) -> None:
        """Drop all references, so that cells and other objects are freed at once.

        Tensors of the graph that have escaped still refer to this lowering as their owner.
        """
        self.frontend.end()
        del self.frontend
        self.guards = Guards()
        self.parameters = {}
        self.state, self.symbols, self.hosts, self.declared, self.cell_sites, self.reads = {}, {}, {}, {}, {}, {}
        self.decisions, self.taken, self.hook_sites, self.kept = {}, {}, {}, []
        self.own_cells, self.own_parameters, self.made_of_numbers = [], {}, {}
