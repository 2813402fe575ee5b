"""The graph of a function without what only Python can do: state of Python's becomes parameters, forward hooks only look.

    n: i64 = apply! @Net.n.read        n: i64 = read @Net.n
    apply! @Net.n.write(a)             write! @Net.n(a)
    y: f32 = apply! @fc.forward(x, f)  observe! @fc.forward(x, f)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from adjoint.codegen.errors import NOT_STANDALONE
from adjoint.codegen.standalone.hooks import HOOKS
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Module, Node, symbol_like, tensor_type, walk
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.host import Apply, Observe
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import F16, F32, F64, I64, TensorType, tensor
from adjoint.passes.rebuild import Known, Rewriter, became
from adjoint.runtime.graphs.graph import ContentsChange, HookCall, StateAccess
from adjoint.runtime.graphs.guards.constants import described
from adjoint.runtime.graphs.lowering.lowering import Lowered
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["ExportedGraph", "check_state", "stored_as_halves", "without_hooks"]


class ExportedGraph(Rewriter):
    """The graph of a function for C.

    lowered  the function as a graph, with what it was made from
    module  the IR
    values  the tensors that symbols refer to, by symbol; of Python state, what it is now; `check_state` adds what is only written
    keys    for each symbol what is equal for the same state in other graphs: the identity of a tensor, or the key of an attribute
    titles  for each symbol how the user calls it

    CompileError for state that has no fixed type, for forward hooks that replace values by others of another type, and for hooks of
    Parameters.
    """

    def __init__(self, lowered: Lowered):
        self.lowered = lowered
        self._graph = graph = lowered.graph
        self.values: dict[str, Tensor] = dict(graph.state)
        self.keys: dict[str, Any] = {symbol: id(tensor) for symbol, tensor in graph.state.items()}
        self.titles = {symbol: re.sub(r"^_(?=\d)", "", symbol) for symbol in graph.state}  # a layer of a list is called by its number
        self._types: dict[str, TensorType] = dict(graph.module.params)
        self._symbols: dict[Any, list[str]] = {}
        functions = {name: replace(f, body=self.body(f.body)) for name, f in graph.module.functions.items()}
        self.module = Module(self._types, graph.module.hosts, functions)

    @property
    def function(self) -> Function:
        """Return the function of the module that is exported."""
        return self.module.functions[self._graph.symbol]

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        for symbol in getattr(node.op, "by", ()):
            if self._graph.state[symbol].hooks():
                raise NOT_STANDALONE.at(node.loc, f"the Parameter {symbol!r} has hooks, which are Python",
                                        help="change its gradient in the step itself, before the optimiser gets it")
        host = self._graph.hosts.get(node.op.symbol) if isinstance(node.op, Apply) else None
        operands = [became(atom, known) for atom in node.operands]
        if isinstance(host, ContentsChange):
            raise NOT_STANDALONE.at(node.loc, "a list or dict that is kept outside of the function is changed, which C does not have",
                                    help="assign a new one, or a tuple")
        if isinstance(host, StateAccess):
            if host.constant is not None and not operands:
                operands = [Literal(host.constant, tensor(F64 if isinstance(host.constant, float) else I64))]
            symbols = self._of(node, host, node.results or operands)
            for symbol, operand in zip(symbols, operands, strict=False):
                b.emit_node(Write(symbol), [operand])
            return [b.emit_node(Read(symbol, (result.type,)), [], hint=result.hint).result
                    for symbol, result in zip(symbols, node.results, strict=False)]
        if isinstance(host, HookCall):
            given = operands[len(operands) - len(node.results) :]
            if [x.type for x in given] != [x.type for x in node.results]:
                raise NOT_STANDALONE.at(node.loc, "a forward hook replaces a value by one of another type; C hooks only look at values",
                                        help="compute what it returns in `construct`")
            b.emit_node(Observe(node.op.symbol), operands)
            return given
        return None

    def _of(self, node: Node, host: StateAccess, atoms: Sequence[Atom]) -> list[str]:
        """Return the symbols of what a node reads or writes.

        atoms  what is read, or written
        """
        title = self._graph.module.hosts[node.op.symbol].reference.removesuffix(" = ..")
        known = self._symbols.get(host.place)
        if known is None:
            names = [title] if len(atoms) == 1 else [f"{title}.{place}" for place in range(len(atoms))]
            known = self._symbols[host.place] = [self._new(name) for name in names]
            if node.results:
                self.values.update(zip(known, host.run(), strict=True))
            for place, (symbol, atom) in enumerate(zip(known, atoms, strict=True)):
                self._types[symbol] = tensor_type(atom)
                self.keys[symbol] = (host.place, place)
                self.titles[symbol] = names[place]
        room, given = [self._types[symbol] for symbol in known], [x.type for x in atoms]
        if room != given:
            shown = [", ".join(map(str, types)) for types in (given, room)]
            raise NOT_STANDALONE.at(
                node.loc, f"`{title}` gets a value of another kind than it has before: {shown[0] or 'a constant'}, where C has room for "
                f"{shown[1] or 'none'}", help=f"let it be of one kind, before the first call too{_like(given)}, and in all branches")
        return known

    def _new(self, name: str) -> str:
        """Return a symbol that no state has, and take it."""
        symbol = base = symbol_like(name, "number")
        count = 1
        while symbol in self._types:
            symbol, count = f"{base}.{count}", count + 1
        return symbol


def _like(types: Sequence[Any]) -> str:
    """Return an expression for a value of some types, for a message; "" for none."""
    if len(types) == 1 and isinstance(types[0], TensorType):
        return f", such as `ops.zeros({types[0].sizes}, adjoint.{str(types[0].dtype).lower()})`"
    return f", as {len(types)} tensors" if types else ""


def check_state(graphs: Sequence[ExportedGraph]) -> None:
    """Check the Python state that the functions of a program share, and add to `values` what they write and do not read: what the others
    read, or zeros where none reads it.

    CompileError if one takes for a constant what one of them changes, since C would keep the first value; ValueError for state that is of
    different types in two of them.
    """
    known: dict[Any, tuple[TensorType, Tensor]] = {}
    for graph in graphs:
        known.update({graph.keys[symbol]: (graph.module.params[symbol], value) for symbol, value in graph.values.items()})
    for graph in graphs:
        for symbol in [symbol for symbol in graph.keys if symbol not in graph.values]:
            type_ = graph.module.params[symbol]
            room, value = known.setdefault(graph.keys[symbol], (type_, zeros(type_)))
            if room is not type_:
                raise ValueError(f"For 'export', {graph.titles[symbol]!r} is {room} in one function and {type_} in another one: let all "
                                 "functions write the same kind of value, for which C has room.")
            graph.values[symbol] = value
    changed = {address for graph in graphs for address in graph.lowered.begun.addresses()}
    for graph in graphs:
        for place, loc in graph.lowered.guards.constants_at(changed):
            value = place.read()
            raise NOT_STANDALONE.at(loc, f"`{place.label}`, {described(value)}, decides here what C computes, and a call changes it",
                                    help=_AS_STATE.get(type(value), _AS_STATE[None]))


_AS_STATE: Final = {
    bool: "let it be a Tensor, `Tensor(False)` in the place of False: then it is state in C, and `if` a branch",
    **dict.fromkeys((int, float), "numbers are state in C where operators and Tensors use them, not functions of Python's: `ops.sin`"),
    None: "let a Tensor or a number say it: these are state in C, and an `if` on them a branch",
}
"""What to write in the place of a value that a call changes, by its class."""


class _Halves(Rewriter):
    """Copies a function that reads some parameters as float16, and computes with them in float32.

    w: f32[3] = read @w        w.1: f16[3] = read @w
                               w: f32[3] = cast(w.1, to=f32)
    """

    def __init__(self, types: Mapping[str, TensorType]):
        self._types = types

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        if not isinstance(node.op, Read) or node.op.symbol not in self._types:
            return None
        (value,) = node.results
        stored = b.emit_node(Read(node.op.symbol, (self._types[node.op.symbol],)), [], hint=value.hint).result
        return [b.emit_node(Cast(F32), [stored], hint=value.hint).result]


def stored_as_halves(module: Module, symbols: Collection[str]) -> Module:
    """Return a module in which these parameters, which nothing writes, are float16 in the place of float32."""
    types = {symbol: tensor(F16, type_.sizes) for symbol, type_ in module.params.items() if symbol in symbols}
    functions = {name: replace(f, body=_Halves(types).body(f.body)) for name, f in module.functions.items()}
    return Module({**module.params, **types}, module.hosts, functions)


class _WithoutHooks(Rewriter):
    """Copies a function in which hooks return what they are given."""

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        return [became(atom, known) for atom in node.operands[: len(node.results)]] if isinstance(node.op, HOOKS) else None


def without_hooks(module: Module) -> Module:
    """Return a module with hooks that do nothing, as in C where none are set."""
    if not any(isinstance(node.op, HOOKS) for function in module.functions.values() for node in walk(function.body)):
        return module
    functions = {name: replace(f, body=_WithoutHooks().body(f.body)) for name, f in module.functions.items()}
    return Module(module.params, {}, functions)
