"""The symbols of a graph that is being made: tensors from outside, which are its state, and the Python objects of its host nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    """Gives names to the tensors from outside and to the Python objects of one lowering.

    tensors   the tensors from outside, by symbol
    hosts     the objects of host nodes, by symbol
    declared  how the module declares these objects, by symbol
    net       the outermost cell that is being called
    """

    def __init__(self, regions: Regions, guards: Guards, made: Made):
        self._regions, self._guards, self._made = regions, guards, made
        self.tensors: dict[str, Tensor] = {}
        self.hosts: dict[str, Any] = {}
        self.declared: dict[str, Host] = {}
        self.net: Cell | None = None
        self._by_id: dict[int, str] = {}
        self._parameters: dict[tuple[int, str], Parameter] = {}
        """The Parameters, named by the user, that a net has read, by its id and their name."""
        self._reads: dict[str, tuple[int, Builder, Value]] = {}
        """What symbols hold: the version at which it was read, the region that has the value, and the value."""

    def read(self, x: Tensor) -> Atom:
        """Return the value of a tensor from outside: a literal, or what its symbol holds at this point of the run."""
        literal = getattr(x, "literal", None)
        if literal is not None:
            return Literal(literal.item() if isinstance(literal, np.generic) else literal, x.type)
        symbol, regions = self.of(x), self._regions
        if symbol in self._reads:
            version, builder, value = self._reads[symbol]
            if version == regions.version and regions.is_open(builder):
                return value
        self._guards.of_tensor_type(x)  # each time: a hook may change it between two reads
        value = regions.builder.emit(Read(symbol, (x.type,)), hint=symbol.rpartition(".")[2], loc=regions.loc)
        self._reads[symbol] = regions.version, regions.builder, value
        return value

    def of(self, x: Tensor) -> str:
        """Return the symbol of a tensor from outside."""
        symbol = self._by_id.get(id(x))
        if symbol is None:
            symbol = self._by_id[id(x)] = self._fresh(self._name_of(x) if isinstance(x, Parameter) else "constant")
            self.tensors[symbol] = x
            self._guards.of_tensor_type(x)
        return symbol

    def host(self, name: str, host: Any, reference: str) -> str:
        """Return a new symbol for a Python object; `reference` describes the object in the text of the module."""
        symbol = self._fresh(name)
        self.hosts[symbol] = host
        self.declared[symbol] = Host(reference, self._regions.loc)
        return symbol

    def end(self) -> None:
        """Drop the tensors and objects."""
        self.tensors, self.hosts, self.declared, self._by_id, self._parameters, self._reads = {}, {}, {}, {}, {}, {}

    def _name_of(self, x: Parameter) -> str:
        """Return a name for the symbol of a Parameter; CompileError if the net that reads it has another Parameter of that name."""
        if has_generated_name(x):
            return "Parameter"
        net = self.net
        if net is not None and not self._made.has_parameter(x) and self._parameters.setdefault((id(net), x.name), x) is not x:
            raise errors.SAME_NAME.at(
                self._regions.loc,
                f"the value {x!r} , its name '{x.name}' already exists. Please set a unique name for the parameter.",
                help=f"name all by their paths of attributes, with `check_names_and_refresh_name()` of the {net.title}")
        return x.name

    def _fresh(self, name: str) -> str:
        """Return an unused symbol like `name`."""
        base = symbol_like(name, "x")
        symbol, version = base, 0
        while symbol in self.tensors or symbol in self.declared:
            version += 1
            symbol = f"{base}_{version}"
        return symbol
