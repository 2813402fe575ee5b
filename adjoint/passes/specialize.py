"""Specialising: numbers replace named sizes.

    specialized(f, {b: 4})      each f32[b, 2*b + 1] in f becomes f32[4, 9]; the attributes of ops likewise

Types are inferred again from the parameters, so that a size that does not fit is found here.  Names without a number stay.

Functions that are specialised for many sizes use `Inferences`, made once.  These check for given sizes whether the ops accept them, and
then copy only the nodes whose types have names, without inferring types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import UNKNOWN
from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, walk
from adjoint.ir.op import Op, with_sizes
from adjoint.ir.types import Dim, Type, substituted
from adjoint.passes import errors
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import Rewriter

__all__ = ["Inference", "Inferences", "Numbered", "Specialize", "specialized"]


def specialized(function: Function, sizes: Mapping[str, Dim]) -> Function:
    """Return the function with numbers in place of named sizes, in all types and ops.

    sizes  the number for each name
    """
    return replace(function, body=_Specializer(sizes).body(function.body)) if sizes else function


class _Specializer(Rewriter):
    def __init__(self, sizes: Mapping[str, Dim]):
        self._sizes = sizes

    def type(self, type_: Type) -> Type:
        return substituted(type_, self._sizes)

    def op(self, op: Op) -> Op:
        return with_sizes(op, self._sizes)


class Numbered:
    """Puts numbers in place of named sizes: `Numbered(sizes).type(f32[b, 3])` is `f32[4, 3]`; each result is computed once.

    types, ops  for each type and op seen, the one with numbers
    """

    def __init__(self, sizes: Mapping[str, Dim], types: Mapping[Type, Type] = MappingProxyType({}),
                 ops: Mapping[Op, Op] = MappingProxyType({})):
        self._sizes = sizes
        self._types, self._ops = {**types}, {**ops}

    def type(self, type_: Type) -> Type:
        found = self._types.get(type_)
        if found is None:
            found = self._types[type_] = substituted(type_, self._sizes)
        return found

    def op(self, op: Op) -> Op:
        found = self._ops.get(op)
        if found is None:
            found = self._ops[op] = with_sizes(op, self._sizes)
        return found

    def unchanged(self) -> tuple[dict[Type, Type], dict[Op, Op]]:
        """Return the types and the ops that contain none of the names, each mapped to itself, as a start for other sizes."""
        return {a: b for a, b in self._types.items() if a is b}, {a: b for a, b in self._ops.items() if a is b}


Inference = tuple[Op, tuple[Type, ...], tuple[Type, ...]]
"""One type inference that was done: an op, the types of its operands, and the types of its results."""


class Inferences:
    """Makes functions for given sizes from functions with named sizes, quickly: it keeps the type inferences that sizes can change, each
    once.

    These are the inferences of nodes without regions whose types or ops contain one of the names.

    functions  the functions with named sizes
    names      the names of the sizes
    """

    def __init__(self, functions: Iterable[Function], names: Iterable[str]):
        probe = Numbered(dict.fromkeys(names, 2))
        self._known: dict[Inference, None] = {}
        for node in chain.from_iterable(walk(function.body) for function in functions):
            found = op, operands, results = _inference(node)
            changed = [probe.op(op) is not op, *[probe.type(t) is not t for t in (*operands, *results)]]
            if any(changed) and not node.regions:
                self._known[found] = None
        self._unchanged = probe.unchanged()

    def numbered(self, function: Function, sizes: Mapping[str, Dim]) -> Function:
        """Return `function`, one of the functions given to the constructor, with numbers in place of the named sizes.

        sizes  the number for each name

        Nodes without names are shared with `function`, unless they have regions.  TypeError or ValueError if an op of any of the functions
        does not accept these sizes.  ValueError also if the op, asked again, infers another type for its result than the recorded type with
        the numbers put in.
        """
        return replace(function, body=_Copy(self.checked(sizes)).region(function.body))

    def checked(self, sizes: Mapping[str, Dim], among: Iterable[Inference] | None = None) -> Numbered:
        """Check that all ops accept these sizes, and return the object that puts the numbers in place of the names.

        sizes  the number for each name
        among  the inferences to check; None for all

        TypeError or ValueError as for `numbered`.
        """
        numbers = Numbered(sizes, *self._unchanged)
        for op, operands, results in self._known if among is None else among:
            _check(numbers.op(op), [numbers.type(t) for t in operands], (), [numbers.type(t) for t in results])
        return numbers

    def besides(self, nodes: Iterable[Node]) -> tuple[Inference, ...]:
        """Return those inferences that belong to none of `nodes`: what is left to check (by `checked`) after these nodes are."""
        apart = {_inference(node) for node in nodes}
        return tuple([known for known in self._known if known not in apart])


def _inference(node: Node) -> Inference:
    return node.op, tuple([x.type for x in node.operands]), tuple([x.type for x in node.results])


def _check(op: Op, operands: Sequence[Type], regions: Sequence[Region], results: Sequence[Type]) -> None:
    inferred = op.result_types(operands, regions)
    if any(a is not b for a, b in zip(inferred, results, strict=True)):
        raise ValueError(f"the result of {op.name} on {operands} is {inferred}, not {results}")


AnyAtom = TypeVar("AnyAtom", bound=Atom)


class _Copy:
    """Copies regions, with numbers in place of named sizes; nodes without names are shared."""

    def __init__(self, numbers: Numbered):
        self._numbers = numbers
        self._known: dict[Atom, Value] = {}

    def region(self, region: Region) -> Region:
        params = self.defined(region.params)
        nodes = tuple([self.node(node) for node in region.nodes])
        return Region(params, nodes, self.atoms(region.results), region.loc)

    def node(self, node: Node) -> Node:
        operands, op = self.atoms(node.operands), self._numbers.op(node.op)
        regions = tuple([self.region(region) for region in node.regions])
        results = self.defined(node.results)
        if regions:
            _check(op, [x.type for x in operands], regions, [x.type for x in results])
        elif op is node.op and operands is node.operands and results is node.results:
            return node
        return Node(op, operands, results, regions, node.loc)

    def defined(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return new values for parameters or results, with numbers in their types; the same tuple if no type has a name.

        A tuple that was given before, such as parameters that two regions share, gets the same new values again.
        """
        for value in values:
            type_ = self._numbers.type(value.type)
            if type_ is not value.type and value not in self._known:
                self._known[value] = Value(type_, value.hint)
        return self.atoms(values)

    def atoms(self, atoms: tuple[AnyAtom, ...]) -> tuple[AnyAtom, ...]:
        """Return the atoms of the copy that replace these.  It is the same tuple if none of them has a copy."""
        known: dict[Any, Any] = self._known
        return tuple([known.get(atom, atom) for atom in atoms]) if any(atom in known for atom in atoms) else atoms


@dataclass(frozen=True)
class Specialize(Pass):
    """The pass `specialize{sizes=[b:4, t:16]}`: replace named sizes by numbers in all functions and parameters of the module."""

    name: ClassVar[str] = "specialize"
    sizes: tuple[str, ...] = ()

    def on_module(self, module: Module) -> Module:
        sizes = dict(map(_size, self.sizes))
        params = {s: substituted(t, sizes) for s, t in module.params.items()}
        functions = {symbol: specialized(function, sizes) for symbol, function in module.functions.items()}
        return Module(params, module.hosts, functions)

    def on_function(self, function: Function, module: Module) -> Function:
        return specialized(function, dict(map(_size, self.sizes)))


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition(":")
    if not number.isdecimal():
        raise errors.NOT_A_PIPELINE.at(UNKNOWN, f"`{text}` is not a size: sizes are written `b:4`")
    return name, int(number)
