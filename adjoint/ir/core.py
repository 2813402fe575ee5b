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
from collections import Counter
from collections.abc import Iterator, Sequence

from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.diagnostics import UNKNOWN, InternalError, Loc
from adjoint.ir.op import Op
from adjoint.ir.types import TensorType, Type

__all__ = ["Atom", "Function", "Host", "Literal", "Module", "Node", "Region", "Value", "defined", "free_of", "free_values",
           "symbol_like", "tensor_type", "use_counts", "walk"]


class Value:
    """An argument or a result of a node, defined once; two values are equal only if they are the same object.

    `hint` is a name for it in text, to which the printer appends a number if it is not unique.
    """

    __slots__ = ("hint", "type")

    def __init__(self, type: Type, hint: str = "v"):
        self.type, self.hint = type, hint

    def __repr__(self) -> str:
        return f"{self.hint}: {self.type}"


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant number as an operand; its type is a tensor type without dimensions."""

    value: bool | int | float | complex
    type: TensorType

    def __repr__(self) -> str:
        return f"{self.value}_{self.type}"


Atom = Value | Literal


def tensor_type(atom: Atom) -> TensorType:
    """Return the type of an atom (value or literal) that is known to be a tensor; InternalError if it is a tuple, a stack or a trace."""
    type_ = atom.type
    if not isinstance(type_, TensorType):
        raise InternalError(f"{atom!r} where a tensor must be")
    return type_


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A list of nodes with parameters and results, such as the body of a loop; its nodes may also use values of the regions around it."""

    params: tuple[Value, ...]
    nodes: tuple[Node, ...]
    results: tuple[Atom, ...]
    loc: Loc = UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation on operands, with its results.  Only a Builder makes nodes: it infers the results' types and checks the operands."""

    op: Op
    operands: tuple[Atom, ...]
    results: tuple[Value, ...]
    regions: tuple[Region, ...] = ()
    loc: Loc = UNKNOWN

    @property
    def result(self) -> Value:
        """Return the node's result; the node must have exactly one."""
        (value,) = self.results
        return value

    @property
    def ends_gradients(self) -> bool:
        """Return whether no gradient flows through the node, although none is missed: `Op.cuts` says why."""
        return bool(self.op.cuts) and bool(self.op.cut([x.type for x in self.operands]))


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A region with a name, which other functions can call.  It uses only its parameters, literals and the symbols of the module."""

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
    """Describes a Python callable that nodes call by its symbol; `reference` is text such as `train:clip`, which tells what it is."""

    reference: str
    loc: Loc = UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """Everything that a function of the IR may refer to by symbol (written without `@` here): the types of parameters, hosts (Python
    callables), and functions, in order.
    """

    params: dict[str, TensorType] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)

    def with_function(self, function: Function) -> Module:
        return Module(self.params, self.hosts, {**self.functions, function.symbol: function})


def walk(region: Region) -> Iterator[Node]:
    """Yield every node of a region and of the regions within, in program order, outer before inner."""
    stack = [iter(region.nodes)]  # of the regions around; generators inside of each other would pass each node on by all of them
    while stack:
        for node in stack[-1]:
            yield node
            if node.regions:
                stack += [iter(inner.nodes) for inner in reversed(node.regions)]
                break
        else:
            stack.pop()


def defined(region: Region) -> set[Value]:
    """Return all values that the region, or a region inside of it, defines: parameters and results of nodes."""
    found = set(region.params)
    for node in region.nodes:
        found.update(node.results)
        for inner in node.regions:
            found |= defined(inner)
    return found


def use_counts(region: Region) -> Counter[Atom]:
    """Return how often each atom is used in a region and in those within: by nodes, and as a result of a region."""
    found: Counter[Atom] = Counter(region.results)
    for node in walk(region):
        found.update(node.operands)
        for inner in node.regions:
            found.update(inner.results)
    return found


def free_values(nodes: Sequence[Node], results: Sequence[Atom] = (), bound: Sequence[Value] = ()) -> list[Value]:
    """Return the values that nodes use and that are defined outside of them, in order of first use.

    results  atoms (values or literals) that count as used after the nodes
    bound    values that count as defined, such as the parameters of a region
    """
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
