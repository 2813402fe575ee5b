"""Iterators: those that parsed code may advance, and the items of loops of known length."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.changes.journal import ContentsPlace
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.operators import Operators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.values.endless import is_endless
from adjoint.frontend.world import World

__all__ = ["Iterators"]


class Iterators:
    """The iterators that parsed code has made.

    made  by id, an iterator and the objects that it was made of
    """

    def __init__(self, world: World, stack: CallStack, objects: Objects, operators: Operators, run: Runner):
        self.world, self.stack, self.objects, self.operators, self.run = world, stack, objects, operators, run
        self.made: dict[int, tuple[Iterator[Any], tuple[Any, ...]]] = {}
        self._looped: set[int] = set()
        """Ids of the iterators that a `for` loops over: it takes all their items at once."""

    def check(self, x: Any) -> None:
        """Raise CompileError for an iterator that parsed code cannot advance as Python would."""
        if not isinstance(x, Iterator):
            return
        if id(x) not in self.made:
            raise errors.FROZEN_CALL.at(self.world.loc, "an iterator from outside would advance only once, while the graph is built",
                                        help="call `next` outside, and pass the result as an argument")
        if id(x) in self._looped:
            raise errors.UNSUPPORTED.at(self.world.loc, "an iterator is advanced inside a `for` loop over it",
                                        help="make a list first (`items = list(it)`), and loop over that")
        if not self.objects.journal.is_own(ContentsPlace(x)):
            raise errors.UNSUPPORTED.at(self.world.loc, "an iterator created before a branch on a tensor is advanced inside it",
                                        help="call `next` before the branch, or use an index: `items[i]`")

    def all_of(self, x: Any, node: ast.AST) -> Iterable[Any]:
        """Return what `iterated` returns, to be taken whole before anything else runs.  CompileError if it does not end."""
        with self.stack.here(node):
            self.check_ends(x)
        return self.iterated(x, node)

    def check_ends(self, x: Any) -> None:
        """Raise CompileError for an iterator that does not end, where all its items are to be computed."""
        if id(x) in self.made and is_endless(x, lambda iterator: self.made.get(id(iterator), (None, ()))[1]):
            raise errors.UNSUPPORTED.at(self.world.loc, "an infinite iterator would be consumed while parsing",
                                        help="limit it (`itertools.islice(items, n)`), or loop over a range")

    def looped(self, x: Any) -> None:
        """Record that a `for` has taken all items of the iterator `x`, and of those it was made of."""
        if id(x) in self.made:
            self._looped.add(id(x))
            for part in self.made[id(x)][1]:
                self.looped(part)

    def begun(self, iterator: Iterator[Any]) -> Iterator[Any]:
        """Record an iterator over items that are computed already.  Return it."""
        self.made[id(iterator)] = iterator, ()
        return self.objects.born(iterator)

    def iterated(self, x: Any, node: ast.AST) -> Iterable[Any]:
        """Return the items that a loop over `x` takes, where their number is known.  TypeError for what is not iterable."""
        self.objects.used(x)
        with self.stack.here(node):
            if self.world.is_tensor(x):
                return self.world.rows(x)
            if self.world.is_dynamic(x):
                raise TypeError(f"'{self.world.kind(x)}' object is not iterable")
            if isinstance(x, (list, tuple, dict, set, range, str)):
                return list(self.objects.steady(x))
            self.check(x)
            method = self.operators.special(x, "__iter__")
            return iter(x) if method is None else self.iterated(self.run.call(method, (x,), {}), node)
