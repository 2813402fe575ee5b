"""Symbols of a graph that is being made: names for tensors from outside, and for Python objects that its nodes call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.foundation.diagnostics import CompileError, Loc
from adjoint.frontend import errors
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Host, Literal, Value, symbol_like
from adjoint.ir.ops.state import Read
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.lowering.made import Made
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.tensor.parameter import Parameter, has_generated_name
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Symbols"]


class Symbols:
    """Names the tensors from outside of the graph and the Python objects that one graph uses, and checks how its code reads and writes
    these tensors.

    function               the symbol of the graph's function, which no other object has
    regions, guards, made  the parts of the `Lowering` that it uses
    tensors                the tensors from outside, by symbol (the name in the IR)
    hosts                  the Python objects that nodes call, by symbol
    declared               how the module declares these objects, by symbol
    net                    the outermost cell that is being called
    """

    def __init__(self, function: str, regions: Regions, guards: Guards, made: Made):
        self._function = function
        self._regions, self._guards, self._made = regions, guards, made
        self.tensors: dict[str, Tensor] = {}
        self.hosts: dict[str, Any] = {}
        self.declared: dict[str, Host] = {}
        self.net: Cell | None = None
        self._by_id: dict[int, str] = {}
        self._parameters: dict[tuple[int, str], Parameter] = {}
        """The Parameters that a net has read and that the user has named, by the id of the net and the name."""
        self._uses: dict[int, tuple[int, int]] = {}
        """For the id of each tensor from outside: how often the graph reads it, and writes it."""
        self._shown: dict[int, Builder] = {}
        """For the id of each tensor from outside whose numbers Python has read in a branch or loop: the region of that branch or loop."""
        self._reads: dict[str, tuple[int, Builder, Value]] = {}
        """For each symbol the last read: `Regions.version` at that time, the region, and the value."""

    def read(self, x: Tensor) -> Atom:
        """Return the value that a tensor from outside of the graph has at this point of the graph: a literal, or the result of a node that
        reads it.
        """
        literal = getattr(x, "literal", None)
        if literal is not None:
            return Literal(literal.item() if isinstance(literal, np.generic) else literal, x.type)
        symbol, regions = self.of(x), self._regions
        reads, writes = self._uses.get(id(x), (0, 0))
        self._uses[id(x)] = reads + 1, writes
        if symbol in self._reads:
            version, builder, value = self._reads[symbol]
            if version == regions.version and regions.is_open(builder):
                return value
        self._guards.of_tensor_type(x)  # each time: a hook may change it between two reads
        value = regions.builder.emit(Read(symbol, (x.type,)), hint=symbol.rpartition(".")[2], loc=regions.here())
        self._reads[symbol] = regions.version, regions.builder, value
        return value

    def of(self, x: Tensor) -> str:
        """Return the symbol (the name in the IR) of a tensor from outside of the graph, made on first use."""
        symbol = self._by_id.get(id(x))
        if symbol is None:
            symbol = self._by_id[id(x)] = self._fresh(self._name_of(x) if isinstance(x, Parameter) else "constant")
            self.tensors[symbol] = x
            self._guards.of_tensor_type(x)
        return symbol

    def written(self, x: Tensor) -> str:
        """Note that the graph is about to write a tensor from outside of the graph, and return its symbol.

        CompileError if Python has read its numbers in the same loop: the next round would need other numbers.
        """
        reads, writes = self._uses.get(id(x), (0, 0))
        self._uses[id(x)] = reads, writes + 1
        if id(x) in self._shown and self._regions.is_open(self._shown[id(x)]):
            raise self._number_needed(x, "are needed while parsing, in a branch or loop that writes them")
        return self.of(x)

    def forget_read(self, symbol: str) -> None:
        """Let the next read of the tensor with this symbol be a node of its own, as after a node that writes it."""
        self._reads.pop(symbol, None)

    def read_anew(self, x: Tensor) -> None:
        """Let the next read of a tensor from outside be a node of its own, if it has been read already."""
        symbol = self._by_id.get(id(x))
        if symbol is not None:
            self.forget_read(symbol)

    def rewritten(self) -> list[Tensor]:
        """Return the tensors from outside of the graph (such as Parameters) that the graph writes."""
        return [x for x in self.tensors.values() if self._is_written(x)]

    def _is_written(self, x: Tensor) -> bool:
        return self._uses.get(id(x), (0, 0))[1] > 0

    def uses(self, given: Sequence[Any]) -> list[tuple[int, int]]:
        """Return for each tensor a pair: how often the graph has so far read it, and written it, as a tensor from outside."""
        return [self._uses.get(id(x), (0, 0)) for x in given]

    def check_names(self, given: Sequence[Any], written: Sequence[Any], before: Sequence[tuple[int, int]], loc: Loc) -> None:
        """Raise CompileError if a function writes a tensor that it knows under two names: the graph would treat them as two tensors.

        given    the function's arguments, as the caller knows them; `written` are those that the function has written
        before   the result of `uses` for the arguments before the call
        loc      the line of the call
        """
        for x, uses, now in zip(given, before, self.uses(given), strict=True):
            is_written = any(x is other for other in written)
            if is_written and sum(x is other for other in given) > 1:
                raise errors.written_under_two_names(loc, from_outside=False)
            if now[1] > uses[1] or (is_written and now != uses):
                raise errors.written_under_two_names(loc, from_outside=True)

    def show_numbers(self, x: Tensor) -> None:
        """Record that Python reads the numbers of a tensor from outside while parsing: the graph then depends on these numbers, by a guard.

        CompileError if the graph has written the tensor: then its numbers are known only when the graph runs.
        """
        if self._made.is_drawn(x):
            raise self._number_needed(x, "are needed while parsing, but each run draws them")
        if id(x) in self._made.lent:
            raise self._number_needed(x, "are needed while parsing, but they are those of an argument")
        if self._made.has_tensor(x):
            return
        if self._is_written(x):
            raise self._number_needed(x, "are needed while parsing, after the graph has written them")
        if self._regions.on_a_path():
            self._shown[id(x)] = self._regions.builder
        self._guards.of_numbers(x)

    def _number_needed(self, x: Tensor, when: str) -> CompileError:
        what = f"of the Parameter '{x.name}'" if isinstance(x, Parameter) else f"of a tensor {x.type}"
        return errors.VALUE_NEEDED.at(self._regions.loc, f"the numbers {what} {when}",
                                      help="use operations on the tensor, `p.value()` for a copy of it, or read them outside of the graph")

    def host(self, name: str, host: Any, reference: str) -> str:
        """Return a new symbol (a name in the IR) by which nodes call a Python object.

        name       a name, from which the symbol is made
        host       the object
        reference  describes the object in the text of the IR
        """
        symbol = self._fresh(name)
        self.hosts[symbol] = host
        self.declared[symbol] = Host(reference, self._regions.loc)
        return symbol

    def _name_of(self, x: Parameter) -> str:
        """Return the name from which a Parameter's symbol is made; CompileError if the net has read another Parameter of the same name."""
        if has_generated_name(x):
            return "Parameter"
        net = self.net
        if net is not None and not self._made.has_tensor(x) and self._parameters.setdefault((id(net), x.name), x) is not x:
            raise errors.SAME_NAME.at(
                self._regions.loc,
                f"the value {x!r} , its name '{x.name}' already exists. Please set a unique name for the parameter.",
                help=f"name all by their paths of attributes, with `check_names_and_refresh_name()` of the {net._cell_title}")
        return x.name

    def _fresh(self, name: str) -> str:
        """Return a symbol made from `name` that is not used yet."""
        base = symbol_like(name, "x")
        symbol, version = base, 0
        while symbol == self._function or symbol in self.tensors or symbol in self.declared:
            version += 1
            symbol = f"{base}_{version}"
        return symbol
