"""The IR: ordered SSA with structured regions that may see outward.

    Module   symbols: parameters (tensors of state), hosts (Python callables), functions
    Function a closed region with a name; `vjp` names a function that is its pullback, if one is given
    Region   parameters, nodes in program order, results
    Node     op, operands, regions, results, location
    Atom     a Value (defined once, equal only to itself) or a Literal (a scalar constant)

Everything is immutable: a pass builds a new function through a `Builder`.  A region may use any value of the regions
around it; what it uses is computed by `free_values` and stored nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.diagnostics import UNKNOWN, InternalError, Loc
from adjoint.ir.op import Op
from adjoint.ir.types import TensorType, Type

__all__ = ["Atom", "Function", "Host", "Literal", "Module", "Node", "Region", "Value", "defined", "free_of", "free_values",
           "symbol_like", "tensor_type", "walk"]


class Value:
    """A value, defined once; identity is equality.  `hint` is a base name, the printer makes it unique."""

    __slots__ = ("hint", "type")

    def __init__(self, type: Type, hint: str = "v"):
        self.type, self.hint = type, hint

    def __repr__(self) -> str:
        return f"{self.hint}: {self.type}"


@dataclass(frozen=True, slots=True)
class Literal:
    """A scalar constant of a 0-d tensor type."""

    value: bool | int | float
    type: TensorType

    def __repr__(self) -> str:
        return f"{self.value}_{self.type}"


Atom = Value | Literal


def tensor_type(atom: Atom) -> TensorType:
    """Return the type of a tensor atom; InternalError for a tuple, a stack or a trace."""
    type_ = atom.type
    if not isinstance(type_, TensorType):
        raise InternalError(f"{atom!r} where a tensor must be")
    return type_


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A list of nodes with parameters and results; may use values of the regions around it."""

    params: tuple[Value, ...]
    nodes: tuple[Node, ...]
    results: tuple[Atom, ...]
    loc: Loc = UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation: made by a Builder only, which infers `results` and checks the operands."""

    op: Op
    operands: tuple[Atom, ...]
    results: tuple[Value, ...]
    regions: tuple[Region, ...] = ()
    loc: Loc = UNKNOWN

    @property
    def result(self) -> Value:
        """Return the only result."""
        (value,) = self.results
        return value


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A region with a name.  Closed: it sees only its parameters, the module's symbols and literals."""

    symbol: str
    body: Region
    vjp: str | None = None
    loc: Loc = UNKNOWN

    @property
    def params(self) -> tuple[Value, ...]:
        return self.body.params

    @property
    def result_types(self) -> tuple[Type, ...]:
        return tuple(atom.type for atom in self.body.results)


@dataclass(frozen=True, slots=True)
class Host:
    """A Python callable that nodes refer to by symbol; `reference` is text such as `train:clip`."""

    reference: str
    loc: Loc = UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """Symbols without their `@`: parameters with their types, hosts, functions in order."""

    params: dict[str, TensorType] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)

    def with_function(self, function: Function) -> Module:
        return Module(self.params, self.hosts, {**self.functions, function.symbol: function})


def walk(region: Region) -> Iterator[Node]:
    """Yield every node of a region and of the regions within, in program order, outer before inner."""
    for node in region.nodes:
        yield node
        for inner in node.regions:
            yield from walk(inner)


def defined(region: Region) -> set[Value]:
    """Every value that the region or a region within it defines."""
    found = set(region.params)
    for node in region.nodes:
        found.update(node.results)
        for inner in node.regions:
            found |= defined(inner)
    return found


def free_values(nodes: Sequence[Node], results: Sequence[Atom] = (), bound: Sequence[Value] = ()) -> list[Value]:
    """Return the values that `nodes` and `results` use and do not define, in order of first use; `bound` are not free."""
    known: set[Value] = set(bound)
    free: dict[Value, None] = {}

    def use(atoms: Sequence[Atom]) -> None:
        for atom in atoms:
            if isinstance(atom, Value) and atom not in known:
                free[atom] = None

    def visit(inner: Sequence[Node], yielded: Sequence[Atom]) -> None:
        for node in inner:
            use(node.operands)
            for region in node.regions:
                known.update(region.params)
                visit(region.nodes, region.results)  # noqa: F821 - deleted when it has run
            known.update(node.results)
        use(yielded)

    visit(nodes, results)
    del visit  # the closure refers to itself, and would keep the nodes alive until the collector runs
    return list(free)


def free_of(region: Region) -> list[Value]:
    """Return the values of enclosing regions that `region` uses."""
    return free_values(region.nodes, region.results, region.params)


def symbol_like(text: str, otherwise: str) -> str:
    """Return a symbol made from `text`, such as a function's or a parameter's name; `otherwise` if it would be empty."""
    symbol = re.sub(r"[^\w.]", "_", text) or otherwise
    return symbol if symbol[0].isalpha() or symbol[0] == "_" else f"_{symbol}"
