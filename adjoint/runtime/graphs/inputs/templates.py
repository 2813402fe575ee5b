"""Templates: nested Python structures with their tensors taken out.

`flatten` takes apart a tuple, list, dict, named tuple or slice into its tensors, in order, and a template, which holds
the positions and types of the tensors and all other leaves.  The template of a function's arguments is the key under
which its graph is cached: two templates are equal if their structures, the types of their tensors, and their other
leaves as constants are equal (`adjoint.runtime.graphs.guards.constants`).
"""

from __future__ import annotations

import collections
import weakref
from collections.abc import Container, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from adjoint.ir.types import BOOL, F64, I64, TensorType, symbol, tensor
from adjoint.runtime.graphs.guards.constants import key
from adjoint.runtime.tensor.mutable import MUTABLE
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.structure import is_named, items, made
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["BOUND", "TemplateDifference", "Template", "flatten", "input_number", "is_taken_apart", "with_numbers"]

BOUND = 2**31
"""Ints up to this size become inputs if they change: sums and products of a few of them need no check of overflow."""

_NUMBERS = {bool: BOOL, int: I64, float: F64}
"""The dtype of the 0-d tensor for a number that is an input."""
_FREQUENT = frozenset({int, float, bool, str, type(None)})
"""The commonest classes of values that are not containers, tried first for speed."""
_WALKED = frozenset({tuple, list, dict, collections.OrderedDict, slice})
"""Containers that the frontend takes apart, besides named tuples: tensors in them are inputs."""


def flatten(value: Any) -> tuple[Template, list[Tensor]]:
    """Return the template of a value (its structure with the tensors taken out), and its tensors in order.

    The tensors are inputs of a graph; a Parameter is not, nor is a tensor in any container other than tuples, lists, dicts and slices.
    Numbers marked by `mutable`, directly or through their container, become 0-d tensors: Int64, Float64, Bool.  `build`
    returns a container marked by `mutable` as a plain tuple, list or dict.

    ValueError if `value` contains itself.
    """
    taken = _Taken()
    try:
        node = taken.node(value, False)
    except RecursionError:
        raise ValueError(f"a {type(value).__name__} cannot be an argument of a graph: "
                         "it contains itself, or is nested too deeply") from None
    return Template(node, taken.leaves, taken.held, tuple([x.type for x in taken.tensors]), taken.numbers), taken.tensors


def with_numbers(template: Template, tensors: Sequence[Tensor], chosen: Container[int]) -> tuple[Template, list[Tensor], list[Hashable]]:
    """Return a template and its tensors after some plain numbers have become inputs, as if `mutable` marked them.

    Plain numbers are floats, and ints up to BOUND.  The third value has one key for each of them, which is equal for equal numbers.

    chosen  the indices, in the order of the structure, of the plain numbers that become inputs
    """
    taken = _WithNumbers(template.leaves, tensors, chosen)
    node = taken.again(template.node)
    made = Template(node, taken.leaves, template.held, tuple([x.type for x in taken.tensors]), taken.numbers)
    return made, taken.tensors, taken.plain


class Template:
    """The structure of a call's arguments with the tensors taken out; the key under which a graph is cached.

    Two templates are equal if their structures, tensor types and constants are.

    held     the objects that `node` identifies by their ids
    node     what is hashed and compared: a type for a tensor, `(class, items)` for a container, the key of a constant for other leaves
    types    the types of the tensors, in order
    numbers  for each tensor that represents a Python number, the class of the number, by the tensor's index
    """

    __slots__ = ("__weakref__", "_hash", "_held", "_leaves", "node", "numbers", "types")

    def __init__(
        self, node: Hashable, leaves: Sequence[Any] | None, held: Sequence[Any], types: tuple[TensorType, ...], numbers: dict[int, type]
    ):
        self.node, self._leaves, self._held, self.types, self.numbers = node, leaves, held, types, numbers
        self._hash = hash(node)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Return True if the structures, tensor types and constants are equal.

        Objects are compared by their ids, which are valid only while all objects of both templates live.
        """
        return self is other or (
            isinstance(other, Template) and self.node == other.node and (not self._held or (self.is_alive and other.is_alive)))

    @property
    def leaves(self) -> Sequence[Any]:
        """Return the values in the structure that are not tensors, in order, and for each dict its keys as a tuple."""
        if self._leaves is None:
            raise ValueError("a lasting template has let go of its leaves: it cannot be built")
        return self._leaves

    @property
    def held(self) -> Sequence[Any]:
        """Return the objects that comparing two templates identifies by their ids; `lasting` templates hold them weakly."""
        return self._held

    @property
    def is_alive(self) -> bool:
        """True if every object that the template compares by identity still exists; if not, it equals no other template."""
        return not any(isinstance(held, _Weak) and held.gone for held in self._held)

    def lasting(self) -> Template:
        """Return an equal template that can be the key of a cache: it does not keep the user's objects alive where Python allows that.

        `build` raises ValueError for it.  Once an object that it refers to is freed, it equals no other template.
        """
        return Template(self.node, None, [_weak(held) for held in self._held], self.types, self.numbers)

    def with_types(self, types: Sequence[TensorType]) -> Template:
        """Return the same template with these types for its tensors, in order."""
        return Template(_retyped(self.node, iter(types)), self._leaves, self._held, tuple(types), self.numbers)

    def without_sizes(self) -> Template:
        """Return the same template with a placeholder for each size of its tensors; it is equal for arguments that differ in sizes only."""
        return self.with_types([tensor(t.dtype, [symbol("_")] * t.rank) for t in self.types])

    def places(self) -> list[int | None]:
        """Return for each argument, positional ones first, its index among the tensors; None for an argument that is not a tensor itself.

        The template must be that of `(args, kwargs)`.
        """
        found: list[int | None] = []
        before = 0
        node: Any = self.node
        _, (_, *args), (_, _, *named) = node
        for node in (*args, *named):
            found.append(before if isinstance(node, TensorType) else None)
            before += sum(1 for _ in _inputs(node))
        return found

    def differences(self, other: Template) -> Iterator[TemplateDifference]:
        """Yield the smallest parts in which this template differs from another one, for messages."""
        return _differences(other.node, self.node, ())

    def bounds(self) -> dict[int, int]:
        """Return the largest absolute value of each int that is an input because it changes, by its index among the inputs."""
        return {i: node[2] for i, node in enumerate(_inputs(self.node)) if isinstance(node, tuple) and len(node) > 2}

    def build(self, tensors: Sequence[Any]) -> Any:
        """Return the structure with `tensors` where its tensors were, in order; ValueError if their number differs."""
        if len(tensors) != len(self.types):
            raise ValueError(f"{self!r} has places for {len(self.types)} tensors, but got {len(tensors)}")
        return _built(self.node, iter(tensors), iter(self.leaves))

    def __repr__(self) -> str:
        if self._leaves is None:
            return f"<template of {', '.join(map(repr, self.types)) or 'no tensors'}>"
        return repr(self.build([_Written(f"mutable {t}" if i in self.numbers else repr(t)) for i, t in enumerate(self.types)]))


class _Written(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Weak:
    """Refers weakly to an object that a lasting template compares; a class of its own, as the user's arguments may hold weak references
    too.
    """

    __slots__ = ("reference",)

    def __init__(self, value: Any):
        self.reference = weakref.ref(value)

    @property
    def gone(self) -> bool:
        return self.reference() is None


def _weak(value: Any) -> Any:
    try:
        return _Weak(value)
    except TypeError:
        return value


class _Input:
    """Marks, in a template's `node`, a Python number that is an input of the graph."""


class _Taken:
    """Takes a structure apart for `flatten`, and collects its parts.

    leaves   all leaves but the tensors
    held     all objects that are compared by identity
    tensors  the tensors, in order
    numbers  the classes of numbers that became tensors, by index
    """

    __slots__ = ("held", "leaves", "numbers", "tensors")

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.leaves: list[Any] = []
        self.held: list[Any] = []
        self.numbers: dict[int, type] = {}

    def node(self, value: Any, marked: bool) -> Hashable:
        """Return what the template compares for a value: a type for a tensor, (kind, items) for a structure, a constant's key for others.

        marked  True if numbers are inputs, since `mutable` marked their container
        """
        kind = type(value)
        if kind is Tensor:
            self.tensors.append(value)
            return value.type
        if kind is tuple or kind is list:
            return kind, *[self.node(item, marked) for item in value]
        if kind in _FREQUENT and not marked:
            self.leaves.append(value)
            return key(value)
        if kind in MUTABLE:
            marked, kind = True, MUTABLE[kind]
        if kind in _WALKED or is_named(kind):
            parts = items(value)
            assert parts is not None
            if not issubclass(kind, dict):
                return kind, *[self.node(item, marked) for item in parts]
            self.leaves.append(tuple(value))
            names = tuple([key(name, self.held.append) for name in value])
            return kind, names, *[self.node(item, marked) for item in parts]
        if marked:
            for number in _NUMBERS:
                if issubclass(kind, number):
                    return self._number(value, number)
        if issubclass(kind, Tensor) and not issubclass(kind, Parameter):
            self.tensors.append(value)
            return value.type
        self.leaves.append(value)
        return key(value, self.held.append)

    def _number(self, value: Any, kind: type) -> tuple[Any, ...]:
        self.numbers[len(self.tensors)] = kind
        self.tensors.append(Tensor(kind(value), _NUMBERS[kind]))
        return _Input, kind


class _WithNumbers(_Taken):
    """Makes a new template from an existing one, in which some numbers that were constants are inputs; `with_numbers` uses it.

    chosen  the indices of these numbers among all floats, and ints up to BOUND, that were constants
    plain   the keys of all these numbers
    """

    __slots__ = ("_chosen", "_given", "_left", "plain")

    def __init__(self, leaves: Sequence[Any], tensors: Sequence[Tensor], chosen: Container[int]) -> None:
        super().__init__()
        self._left, self._given, self._chosen = iter(leaves), iter(tensors), chosen
        self.plain: list[Hashable] = []

    def again(self, node: Any) -> Hashable:
        """Return the entry of the new template for one part of the arguments.

        node  the entry of the old template for the same part
        """
        if isinstance(node, TensorType):
            self.tensors.append(next(self._given))
            return node
        kind = node[0]
        if kind is _Input:
            self.numbers[len(self.tensors)] = node[1]
            self.tensors.append(next(self._given))
            return node
        if not is_taken_apart(kind):
            leaf = next(self._left)
            if kind is float or (kind is int and abs(leaf) <= BOUND):
                self.plain.append(node)
                if len(self.plain) - 1 in self._chosen:
                    made = self._number(leaf, kind)
                    return made if kind is float else (*made, BOUND)
            self.leaves.append(leaf)
            return node
        if issubclass(kind, dict):
            self.leaves.append(next(self._left))
            return (*node[:2], *[self.again(part) for part in node[2:]])
        return (kind, *[self.again(part) for part in node[1:]])


class TemplateDifference(NamedTuple):
    """One difference between two templates, from which a message says why a new graph is made.

    path    the positions and keys that lead to it, starting in `(args, kwargs)`
    before, after  what the templates compare there: a type for a tensor, the key of a constant, (kind, items) for a structure
    """

    path: tuple[Any, ...]
    before: Any
    after: Any

    @property
    def is_structure(self) -> bool:
        """Return True if the structures differ, for instance a list and a tuple, and not only types or constants in them."""
        return any(isinstance(node, tuple) and is_taken_apart(node[0]) for node in (self.before, self.after))


def _differences(before: Any, after: Any, path: tuple[Any, ...]) -> Iterator[TemplateDifference]:
    if before == after:
        return
    both = [node[0] if isinstance(node, tuple) and is_taken_apart(node[0]) else None for node in (before, after)]
    if both[0] is None or both[0] is not both[1] or both[0] is _Input or len(before) != len(after):
        yield TemplateDifference(path, before, after)
        return
    named = issubclass(both[0], dict)
    if named and before[1] != after[1]:
        yield TemplateDifference(path, before, after)
        return
    names: Sequence[Any] = [name[-1] for name in after[1]] if named else range(len(after))
    for name, first, second in zip(names, _parts(before), _parts(after), strict=False):
        yield from _differences(first, second, (*path, name))


def input_number(node: Any) -> type | None:
    """Return int or float if a part of a template is a number that became an input because it changes; None for any other part.

    node  what the template compares for the part
    """
    return node[1] if node in ((_Input, float), (_Input, int, BOUND)) else None


def is_taken_apart(kind: Any) -> bool:
    """Return True if a template looks into values of this class (such as tuples), or for the mark of an input; False for constants."""
    return kind is _Input or kind in _WALKED or is_named(kind)


def _retyped(node: Any, types: Iterator[TensorType]) -> Any:
    if isinstance(node, TensorType):
        return next(types)
    if node[0] is _Input:
        next(types)
        return node
    kind = node[0]
    if not is_taken_apart(kind):
        return node
    start = 2 if issubclass(kind, dict) else 1
    return (*node[:start], *[_retyped(part, types) for part in node[start:]])


def _inputs(node: Any) -> Iterator[Any]:
    """Yield what a template compares for each input (tensor or number) in a part of it, in order."""
    if isinstance(node, TensorType) or node[0] is _Input:
        yield node
    else:
        for part in _parts(node):
            yield from _inputs(part)


def _parts(node: Any) -> Sequence[Any]:
    """Return what a template compares for the items of a container, in order; nothing for a constant."""
    kind = node[0]
    if not is_taken_apart(kind):
        return ()
    return node[2:] if issubclass(kind, dict) else node[1:]


def _built(node: Any, tensors: Iterator[Any], leaves: Iterator[Any]) -> Any:
    if isinstance(node, TensorType):
        return next(tensors)
    kind = node[0]
    if kind is _Input:
        return next(tensors)
    if not is_taken_apart(kind):
        return next(leaves)
    names, parts = (next(leaves), node[2:]) if issubclass(kind, dict) else ((), node[1:])
    return made(kind, names, [_built(part, tensors, leaves) for part in parts])
