"""Iterators in the user's code: the items of loops of known length, and checks that an iterator may be advanced while the graph is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.changes.journal import ContentsPlace, ObjectPlace
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.operators import Operators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.values.endless import is_endless
from adjoint.frontend.world import World

__all__ = ["END", "Iterators"]

END: Any = object()
"""A marker, returned by `next(iterator, END)` after the last item."""


class Iterators:
    """Keeps the iterators that the code that becomes the graph has created, and makes new ones for loops, comprehensions and unpacking.  As
    in Python, each item is computed only when the iterator is advanced.

    world  the interface to the runtime, which makes the nodes
    stack, objects, operators, run  the parts of the `Lowerer` that it uses
    made   for the `id` of each iterator: the iterator, and the objects that it takes its items from
    """

    def __init__(self, world: World, stack: CallStack, objects: Objects, operators: Operators, run: Runner):
        self.world, self.stack, self.objects, self.operators, self.run = world, stack, objects, operators, run
        self.made: dict[int, tuple[Iterator[Any], tuple[Any, ...]]] = {}
        self._undecided: set[int] = set()
        """The `id`s of iterators for which a tensor decides how far they have been advanced."""

    def check(self, x: Any) -> None:
        """Raise CompileError if `x` is an iterator that cannot be advanced while the graph is made, since Python would advance it at each
        call.  Do nothing for all other objects.

        This concerns iterators that existed before the call, those where a tensor decides how far they have been advanced, and those that
        were created outside of the branch of the graph in which they would be advanced.
        """
        if not isinstance(x, Iterator):
            return
        if id(x) not in self.made:
            raise errors.FROZEN_CALL.at(self.world.loc, "an iterator from outside would advance only once, while the graph is built",
                                        help="call `next` outside, and pass the result as an argument")
        if id(x) in self._undecided:
            raise errors.UNSUPPORTED.at(self.world.loc, "a tensor decides how far this iterator has been advanced",
                                        help="make a list first (`items = list(it)`), and use its items")
        if not self.objects.journal.is_own(ContentsPlace(x)):
            raise errors.UNSUPPORTED.at(self.world.loc, "an iterator created before a branch on a tensor is advanced inside it",
                                        help="call `next` before the branch, or use an index: `items[i]`")

    def all_of(self, x: Any, node: ast.AST) -> Iterator[Any]:
        """Return an iterator over `x` for code that takes all items.  CompileError if `x` is known to be infinite.

        node  the iterated expression in the syntax tree, for error messages
        """
        with self.stack.here(node):
            self.check_ends(x)
        return self.iterated(x, node)

    def is_endless(self, x: Any) -> bool:
        """Return True if `x` is an iterator that is known to be infinite, such as `itertools.count()`."""
        return id(x) in self.made and is_endless(x, lambda iterator: self.made.get(id(iterator), (None, ()))[1])

    def check_ends(self, x: Any) -> None:
        """Raise CompileError if `x` is known to be an infinite iterator.  Call this before all its items are computed."""
        if self.is_endless(x):
            raise errors.UNSUPPORTED.at(self.world.loc, "an infinite iterator would be consumed while parsing",
                                        help="limit it (`itertools.islice(items, n)`), or loop over a range")

    def undecided(self, x: Any) -> None:
        """Record that a tensor decides how many items of the iterator `x` are taken; from now on `check` refuses to advance it.

        The same holds for the iterators from which `x` takes its items.  Do nothing if `x` is not an iterator that the user's code has
        created.
        """
        if id(x) in self.made:
            self._undecided.add(id(x))
            for part in self.made[id(x)][1]:
                self.undecided(part)

    def begun(self, iterator: Iterator[Any], *parts: Any) -> Iterator[Any]:
        """Record that the user's code has created an iterator, which may therefore be advanced while the graph is made; return it.

        parts  the objects from which it takes its items
        """
        self.made[id(iterator)] = iterator, parts
        return self.objects.born(iterator)

    def rows(self, x: Any) -> Sequence[Any]:
        """Return the rows of a tensor (its slices along the first axis) as a sequence.  Each row has the tensor's values at the time when
        it is taken.
        """
        rows = self.world.rows(x)
        self.objects.journal.born(ObjectPlace(rows))
        return rows

    def iterated(self, x: Any, node: ast.AST) -> Iterator[Any]:
        """Return an iterator over `x`, for a loop or for unpacking.  A tensor is iterated by its rows.

        node  the iterated expression in the syntax tree, for error messages

        An `__iter__` of a user's class is called on its syntax tree, so that it becomes part of the graph.  TypeError if `x` is not
        iterable, CompileError if it is an iterator that must not be advanced while the graph is made.
        """
        self.objects.used(x)
        with self.stack.here(node):
            if self.world.is_tensor(x):
                return iter(self.rows(x))
            if self.world.is_dynamic(x):
                raise TypeError(f"'{self.world.kind(x)}' object is not iterable")
            if isinstance(x, (list, tuple, dict, set, range, str)):
                return self.objects.steady_items(x)
            self.check(x)
            method = self.operators.special(x, "__iter__")
            return self.objects.steady_items(x) if method is None else self.iterated(self.run.call(method, (x,), {}), node)
