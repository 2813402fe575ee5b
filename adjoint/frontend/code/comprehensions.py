"""Comprehensions and generator expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.changes.journal import NamesPlace
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.code.conditions import Conditions
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.iterators import END, Iterators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.tree.scope import assigned_names
from adjoint.frontend.values.frame import Frame

__all__ = ["Comprehensions"]


class Comprehensions:
    """Runs the loops of comprehensions and generator expressions.  `Expressions` uses it, and evaluates the items.

    stack, objects, iterators, conditions, run  the parts of the `Lowerer` that it uses
    """

    def __init__(self, stack: CallStack, objects: Objects, iterators: Iterators, conditions: Conditions, run: Runner):
        self.stack, self.objects, self.iterators, self.conditions = stack, objects, iterators, conditions
        self.run = run

    def rounds(self, generators: Sequence[ast.comprehension], node: ast.AST) -> Iterator[None]:
        """Run the loops of a list, set or dict comprehension: yield None once for each item, when its variables have their values.  The
        caller then evaluates the item.

        generators  the `for` clauses with their `if`s, the outermost first
        node        the comprehension in the syntax tree, for error messages

        The loop variables live in a frame of their own, as in Python.
        """
        outer = self.stack.frame
        first = self.iterators.all_of(self.run.value(generators[0].iter), generators[0].iter)
        self.stack.frame = self._inner(generators)
        try:
            yield from self._rounds(generators, 0, first, node, self.iterators.all_of)
        finally:
            self.stack.frame = outer

    def generator(self, item: ast.expr, generators: Sequence[ast.comprehension], node: ast.AST) -> Iterator[Any]:
        """Return the iterator of a generator expression.  It evaluates `item` each time that it is advanced.

        item        the expression of an item in the syntax tree
        generators  the `for` clauses with their `if`s, the outermost first
        node        the whole generator expression, for error messages
        """
        source = self.run.value(generators[0].iter)
        first = self.iterators.iterated(source, generators[0].iter)
        rounds = self._rounds(generators, 0, first, node, self.iterators.iterated)
        return self.iterators.begun(self._items(item, self._inner(generators), rounds), source)

    def _items(self, item: ast.expr, inner: Frame, rounds: Iterator[None]) -> Iterator[Any]:
        while True:
            caller, loc = self.stack.frame, self.stack.world.loc
            self.stack.frame = inner
            try:
                if next(rounds, END) is END:
                    return
                found = self.run.value(item)
            finally:
                self.stack.frame, self.stack.world.loc = caller, loc
            yield found

    def _inner(self, generators: Sequence[ast.comprehension]) -> Frame:
        """Return a new frame (the variables of a scope) for the loop variables of a comprehension.

        generators  its `for` clauses in the syntax tree
        """
        inner = self.stack.frame.inner(frozenset(assigned_names([g.target for g in generators])))
        self.objects.journal.born(NamesPlace(inner.names))
        return inner

    def _rounds(self, generators: Sequence[ast.comprehension], index: int, items: Iterator[Any], node: ast.AST,
                over: Callable[[Any, ast.AST], Iterator[Any]]) -> Iterator[None]:
        """Run the loop number `index` and those inside of it: yield None once for each combination of items that passes the `if`s.

        generators  all `for` clauses with their `if`s, the outermost first
        items       the items of the loop number `index`
        node        the comprehension in the syntax tree, for error messages
        over        returns an iterator, from the value that an inner loop iterates over and its expression
        """
        generator = generators[index]
        if generator.is_async:
            raise self.stack.unsupported(node, "an `async` comprehension is not supported in a graph", "use an ordinary one")
        for item in items:
            self.run.assign(generator.target, item)
            if not all(self._kept(test) for test in generator.ifs):
                continue
            if index + 1 == len(generators):
                yield None
            else:
                following = generators[index + 1].iter
                yield from self._rounds(generators, index + 1, over(self.run.value(following), following), node, over)

    def _kept(self, test: ast.expr) -> bool:
        """Return True if the `if` clause `test` of a comprehension holds for the present item.

        CompileError if a tensor decides that: the number of items must be known while the graph is made.
        """
        condition = self.conditions.test(test)
        if not isinstance(condition, bool):
            raise errors.VALUE_NEEDED.at(
                self.stack.loc_of(test), "the length of this list depends on a tensor",
                    help="use `ops.where`, or keep all items and multiply those to leave out by 0")
        return condition
