"""The Builder: the only maker of nodes.  It infers the results' types, checks the operands and knows the location."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from adjoint.foundation.diagnostics import UNKNOWN, Loc
from adjoint.ir.core import Atom, Literal, Node, Region, Value
from adjoint.ir.op import Op, registry
from adjoint.ir.types import DType, TensorType, TupleType, Type, scalar

__all__ = ["Builder"]


class Builder:
    """Collects nodes in program order; `finish` returns them as a region.

    b = Builder()
    y = b.mul(x, y)                       # by an op's text name, attributes as keywords
    z = b.emit(Sum(axes=(0,)), y)         # or with an op in hand
    region = b.finish([z], params=[x, y])
    """

    def __init__(self, loc: Loc = UNKNOWN):
        self.nodes: list[Node] = []
        self.loc = loc
        """The location given to every node emitted from now on."""

    def emit(self, op: Op, *operands: Atom, regions: Sequence[Region] = (), hint: str = "", loc: Loc | None = None) -> Any:
        """Add a node; return its result, or a tuple unless there is exactly one.

        `hint` names the result (results of a multi-result node get hint.0-like names from the printer).
        TypeError or ValueError when the operands do not fit the op.
        """
        results = self.emit_node(op, operands, regions=regions, hint=hint, loc=loc).results
        return results[0] if len(results) == 1 else results

    def emit_node(
        self,
        op: Op,
        operands: Sequence[Atom],
        *,
        regions: Sequence[Region] = (),
        results: Sequence[Value] | None = None,
        hint: str = "",
        loc: Loc | None = None,
    ) -> Node:
        """Add a node and return it.

        `results` are values that it defines instead of new ones, for a node that replaces another in a new function; they
        must have the inferred types.
        """
        for operand in operands:
            if not isinstance(operand, (Value, Literal)):
                raise TypeError(f"{op.name}: operand {operand!r} is not a value of the IR")
        types = op.result_types([operand.type for operand in operands], regions)
        if results is None:
            results = tuple(Value(t, hint or _initial(op)) for t in types)
        elif tuple(value.type for value in results) != tuple(types):
            raise TypeError(f"{op.name}: results {results} where the types are {types}")
        node = Node(op, tuple(operands), tuple(results), tuple(regions), self.loc if loc is None else loc)
        self.nodes.append(node)
        return node

    def emit_again(self, node: Node, operands: Sequence[Atom]) -> Node:
        """Add a copy of a node that has no regions, with other operands, and return it.

        operands  one for each operand of `node`, of the same type; so the results have the same types too
        """
        if len(node.results) == 1:  # the common case, without a comprehension
            value = node.results[0]
            results = (Value(value.type, value.hint),)
        else:
            results = tuple([Value(value.type, value.hint) for value in node.results])
        made = Node(node.op, tuple(operands), results, (), self.loc)
        self.nodes.append(made)
        return made

    def append(self, node: Node) -> None:
        """Add an existing node as it is, without checking it again."""
        self.nodes.append(node)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op_class = registry().get(name)
        if op_class is None:
            raise AttributeError(f"there is no op called {name}")

        def emit(*operands: Atom, hint: str = "", regions: Sequence[Region] = (), **attributes: Any) -> Any:
            return self.emit(op_class(**attributes), *operands, regions=regions, hint=hint)

        return emit

    @contextmanager
    def at(self, loc: Loc) -> Iterator[None]:
        """Give the location `loc` to all nodes that are emitted inside of this `with` block."""
        before, self.loc = self.loc, loc
        try:
            yield
        finally:
            self.loc = before

    def inner(self) -> Builder:
        """Return a Builder for a region inside this one, which may use this one's values."""
        return Builder(self.loc)

    def finish(self, results: Sequence[Atom], params: Sequence[Value] = (), loc: Loc = UNKNOWN) -> Region:
        """Return a region with all nodes that were emitted so far.

        results  what the region yields
        params   its parameters, which the nodes use
        """
        return Region(tuple(params), tuple(self.nodes), tuple(results), loc)

    def constant(self, value: bool | int | float | complex, type: Type | DType) -> Atom:
        """Return a scalar literal of a dtype; for a tensor type, that scalar broadcast to its shape."""
        if isinstance(type, DType):
            return Literal(value, scalar(type))
        if not isinstance(type, TensorType):
            raise TypeError(f"there is no constant of type {type}")
        literal = Literal(value, scalar(type.dtype))
        return literal if type.rank == 0 else self.broadcast(literal, to=type)

    def zeros(self, type: TensorType) -> Atom:
        """Return zeros of a tensor type, as an atom: the literal 0, broadcast to the shape."""
        return self.constant(False if type.dtype.kind == "b" else 0.0 if type.dtype.is_inexact else 0, type)

    def nothing(self, type: Type) -> Atom:
        """Return the cotangent (gradient) of a value that nothing uses: zeros; for a tuple, zeros for each item.

        For a type without cotangents, such as a trace, it is an undefined value, which must not be read.
        """
        if isinstance(type, TensorType):
            return self.zeros(type)
        return self.group(*map(self.nothing, type.items)) if isinstance(type, TupleType) else self.undef(results=(type,))

    def conj(self, x: Atom) -> Atom:
        """Return the complex conjugate of a tensor; of one that is not complex itself, without a node.

        A rule multiplies a cotangent with the conjugate of the derivative: `b.mul(ct, b.conj(y))`.
        """
        assert isinstance(x.type, TensorType)
        return self.conjugate(x) if x.type.dtype.is_complex else x

    def unbroadcast(self, cotangent: Atom, to: Type) -> Atom:
        """Return a cotangent (gradient) summed over the axes along which a value was broadcast, so that it has the value's type `to`."""
        have = cotangent.type
        if have is to or not isinstance(have, TensorType) or not isinstance(to, TensorType):
            return cotangent
        lead = have.rank - to.rank
        axes = (*range(lead), *(lead + i for i, d in enumerate(to.shape) if d == 1 and have.shape[lead + i] != 1))
        if axes:
            cotangent = self.sum(cotangent, axes=axes, keepdims=False)
        return cotangent if cotangent.type is to else self.reshape(cotangent, to=to)


def _initial(op: Op) -> str:
    return op.name.rstrip("!")[0]
