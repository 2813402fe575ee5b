"""Comprehensions: the rounds of their loops."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.changes.journal import NamesPlace
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.code.conditions import Conditions
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.iterators import Iterators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.tree.scope import assigned_names

__all__ = ["Comprehensions"]


class Comprehensions:
    """Runs the loops of comprehensions."""

    def __init__(self, stack: CallStack, objects: Objects, iterators: Iterators, conditions: Conditions, run: Runner):
        self.stack, self.objects, self.iterators, self.conditions = stack, objects, iterators, conditions
        self.run = run

    def rounds(self, generators: Sequence[ast.comprehension], node: ast.AST) -> Iterator[None]:
        """Yield once for each round of the loops of a comprehension.  Its names are bound in a frame of their own."""
        outer = self.stack.frame
        first = self.iterators.all_of(self.run.value(generators[0].iter), generators[0].iter)
        self.stack.frame = outer.inner(frozenset(assigned_names([g.target for g in generators])))
        self.objects.journal.born(NamesPlace(self.stack.frame.names))
        inner = self.stack.frame

        def rounds(index: int, items: Iterable[Any]) -> Iterator[None]:
            generator = generators[index]
            if generator.is_async:
                raise self.stack.unsupported(node, "an `async` comprehension is not supported in a graph", "use an ordinary one")
            for item in items:
                self.run.assign(generator.target, item)
                if not all(self._kept(test) for test in generator.ifs):
                    continue
                if index + 1 == len(generators):
                    yield None
                    self.stack.frame = inner
                else:
                    following = generators[index + 1].iter
                    yield from rounds(index + 1, self.iterators.all_of(self.run.value(following), following))

        try:
            yield from rounds(0, first)
        finally:
            self.stack.frame = outer

    def _kept(self, test: ast.expr) -> bool:
        """Return whether a condition of a comprehension holds.  CompileError if a tensor decides it."""
        condition = self.conditions.test(test)
        if not isinstance(condition, bool):
            raise errors.VALUE_NEEDED.at(
                self.stack.loc_of(test), "the length of this list depends on a tensor",
                    help="use `ops.where`, or keep all items and multiply those to leave out by 0")
        return condition
