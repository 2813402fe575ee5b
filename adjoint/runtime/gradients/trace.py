"""Tracing: run a function once on example inputs, and return what it did as a module of the IR.

    func @f(x: f32[32, 1, 28, 28]) -> f32[] { w = read @conv1.weight ... }

Parameters become module parameters; Python numbers become literals; other tensors from outside become extra parameters of the function.
Hooks become hosts (Python functions that the IR names).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import UNKNOWN
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Host, Literal, Module, Region, Value, free_values, symbol_like
from adjoint.ir.html import listing_html
from adjoint.ir.ops.state import Read
from adjoint.passes.rebuild import Known, Rewriter, became
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.gradients.assembly import assembled
from adjoint.runtime.gradients.grad import function_identity
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.gradients.trie import CellCall
from adjoint.runtime.hooks.handles import CellHooks, TensorHooks, described
from adjoint.runtime.hooks.saved_tensors import Packed
from adjoint.runtime.process.location import definition
from adjoint.runtime.process.tracer import set_tracer, state
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.structure import leaves, mapped
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Traced", "host_text", "trace"]


@dataclass(frozen=True)
class Traced:
    """The result of `trace`: what a function did when it was called once, as IR, with the Parameters that it read.

    module      the IR: one function, with the parameters that it reads and the hosts (Python functions) that it names
    symbol      the function's symbol
    parameters  the Parameter of each symbol
    """

    module: Module
    symbol: str
    parameters: dict[str, Parameter]

    def _repr_html_(self) -> str:
        """Return the IR as HTML; notebooks show it."""
        return listing_html(self.module)


def trace(fn: Any, arguments: Sequence[Any], symbol: str = "") -> Traced:
    """Run `fn` on `arguments`, and return the ops that it ran as IR.

    symbol  a name for the function in the IR; "" for its own name

    Only ops that depend on a tensor among the arguments or on a Parameter are in the IR; other values are constants.

    TypeError if the function returns no tensor.
    """
    return _Tracer(fn, arguments, symbol or _symbol_of(fn)).run()


def _symbol_of(fn: Any) -> str:
    name = type(fn).__name__ if isinstance(fn, Cell) else getattr(fn, "__name__", "f")
    return symbol_like(name, "f")


class _Tracer:
    def __init__(self, fn: Any, arguments: Sequence[Any], symbol: str):
        self.fn, self.arguments, self.symbol = fn, arguments, symbol
        self.tape = Tape()
        self.params: dict[int, Value] = {}
        self.extra: list[Value] = []
        self.reads = Builder()
        self.parameters: dict[str, Parameter] = {}
        self.names = _argument_names(fn, len(arguments))

    def run(self) -> Traced:
        tape, outer = self.tape, state.tracer
        try:
            state.tracer = tape
            start = tape.begin(("trace", id(function_identity(self.fn))), function_identity(self.fn))
            given = [self._argument(i, x) for i, x in enumerate(self.arguments)]
            if isinstance(self.fn, Cell):
                for parameter in self.fn.get_parameters():
                    tape.watch(parameter)
            result = self.fn(*given)
            tensors = leaves(result, Tensor)
            if not tensors:
                raise TypeError(f"The traced function must return at least one Tensor, but got {type(result).__name__}.")
            slots = [tape.slot_of(x) for x in tensors]
            made = assembled(tape.path(), start, [s for s in slots if s is not None])
        finally:
            set_tracer(outer)
            state.tracer = outer
        outside = sorted(free_values(made.nodes, made.results), key=made.slots.__getitem__)
        known: Known = {value: self._outside(made.slots[value]) for value in outside}
        nodes, given = Builder(), iter(made.results)
        Rewriter().nodes(nodes, made.nodes, known)
        results = [became(next(given), known) if s is not None else self._constant(x) for s, x in zip(slots, tensors, strict=True)]
        body = Region((*self.params.values(), *self.extra), (*self.reads.nodes, *nodes.nodes), tuple(results))
        function = Function(self.symbol, body, loc=definition(self.fn.construct if isinstance(self.fn, Cell) else self.fn))
        module = Module(
            {name: p.type for name, p in self.parameters.items()},
            {name: Host(host_text(self.tape, position)) for name, position in made.hosts.items()},
            {self.symbol: function})
        return Traced(module, self.symbol, self.parameters)

    def _argument(self, index: int, x: Any) -> Any:
        def named(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor):
                return leaf
            alias = self.tape.leaf(leaf)
            slot = self.tape.slot_of(alias)
            assert slot is not None
            self.params[slot] = Value(leaf.type, self.names[index])
            return alias

        return mapped(x, named)

    def _outside(self, slot: int) -> Atom:
        """Return the value of the IR for a value of the tape that no recorded op computes: an argument, the read of a parameter, a literal,
        or an extra parameter of the function.

        slot  its number on the tape
        """
        if slot in self.params:
            return self.params[slot]
        owner = self.tape.owners.get(slot)
        tensor = self.tape.values[slot]
        if isinstance(owner, Parameter):
            symbol = _unique(owner.name, owner, self.parameters, self.symbol)
            return self.reads.emit(Read(symbol, (tensor.type,)), hint=symbol.rpartition(".")[2], loc=UNKNOWN)
        literal = getattr(tensor, "literal", None)
        if literal is not None:
            return Literal(literal.item() if isinstance(literal, np.generic) else literal, tensor.type)
        value = Value(tensor.type, "constant")
        self.extra.append(value)
        return value

    def _constant(self, x: Tensor) -> Atom:
        value = Value(x.type, "constant")
        self.extra.append(value)
        return value


def host_text(tape: Tape, position: int) -> str:
    """Return the names of the Python functions that one host of a tape calls, as text for display.

    position  the index of the host: a hook, a call of a cell with hooks, or a bprop
    """
    host = tape.hosts[position]
    match host:
        case TensorHooks():
            return ", ".join(map(described, host.firing()))
        case CellCall(cell=cell, kind=kind):
            hooks: CellHooks | None = cell._cell_hooks
            functions = hooks.functions("backward" if kind is None else kind.slot) if hooks else []
            return ", ".join(map(described, functions))
        case Packed(hooks=packing):
            return f"{described(packing.pack_hook)}, {described(packing.unpack_hook)}"
        case _:
            return described(getattr(host, "cell", host).bprop if hasattr(host, "cell") else host)


def _unique(name: str, owner: Parameter, taken: dict[str, Parameter], function: str) -> str:
    """Return the symbol of a Parameter, which is neither that of another one nor that of the function."""
    symbol, version = symbol_like(name, "parameter"), 0
    while (found := f"{symbol}_{version}" if version else symbol) == function or taken.setdefault(found, owner) is not owner:
        version += 1
    return found


def _argument_names(fn: Any, count: int) -> list[str]:
    """Return a name for each argument of a function, from its signature."""
    function = fn.construct if isinstance(fn, Cell) else fn
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    names: list[str] = []
    if code is not None:
        names = list(code.co_varnames[: code.co_argcount])
        if isinstance(fn, Cell) or hasattr(function, "__self__"):
            names = names[1:]
    return (names + [f"x{i}" for i in range(len(names), count)])[:count]
