"""Conditions: `and`, `or`, `not`, comparisons, and chains of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.decisions import Decisions
from adjoint.frontend.operations.iterators import Iterators
from adjoint.frontend.operations.operators import COMPARE, Operators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.values.chosen import check
from adjoint.frontend.values.frame import StandIn
from adjoint.frontend.world import World

__all__ = ["Conditions"]


class Conditions:
    """Evaluate conditions: to a bool if the truth is known while parsing, otherwise to a run-time bool."""

    def __init__(
        self, world: World, stack: CallStack, objects: Objects, operators: Operators, iterators: Iterators, decisions: Decisions,
        run: Runner,
    ):
        self.world, self.stack, self.objects, self.operators = world, stack, objects, operators
        self.iterators, self.decisions, self.run = iterators, decisions, run

    def test(self, node: ast.expr) -> Any:
        """Return the truth of an expression of which only the truth is used: a bool, or an atom of the IR."""
        return self.decisions.truth(self.tested(node), node)

    def tested(self, node: ast.expr) -> Any:
        """Return a value that has the truth of `node`.  The operands of `and` and `or` may differ in type, since only their truth is used.
        """
        if not isinstance(node, ast.BoolOp):
            return self.run.value(node)
        until = isinstance(node.op, ast.Or)

        def following(values: Sequence[ast.expr]) -> Any:
            truth = self.decisions.as_bool(self.tested(values[0]), values[0])
            if len(values) == 1:
                return truth
            if isinstance(truth, bool):
                return truth if truth is until else following(values[1:])
            rest: Callable[[], Any] = lambda: following(values[1:])  # noqa: E731 - both are handed on
            known: Callable[[], Any] = lambda: until  # noqa: E731
            return self.decisions.choice(truth, *((known, rest) if until else (rest, known)), node)

        return following(node.values)

    def negated(self, x: Any, node: ast.AST) -> Any:
        """Return `not x`, as a bool or a run-time bool."""
        condition = self.decisions.truth(x, node)
        if isinstance(condition, bool):
            return not condition
        with self.stack.here(node):
            return self.world.number("bool", x).negated()

    def either(self, values: Sequence[ast.expr], until: bool, node: ast.AST) -> Any:
        """Return `a or b or ..` (`until` is True) or `a and b and ..`: the first value whose truth is `until`, or the last value."""
        value = self.run.value(values[0])
        if len(values) == 1:
            return value
        condition = self.decisions.truth(value, values[0])
        rest: Callable[[], Any] = lambda: self.either(values[1:], until, node)  # noqa: E731 - both are handed on
        if isinstance(condition, bool):
            return value if condition is until else rest()
        kept: Callable[[], Any] = lambda: value  # noqa: E731
        word = "or" if until else "and"
        return self.decisions.choice(value, *((kept, rest) if until else (rest, kept)), node,
                                     f"`{word}` returns one of its operands: write `ops.logical_{word}`, or an `if`")

    def compared(self, node: ast.Compare) -> Any:
        """Return the value of a chain `a < b < c`.  Each operand is computed once, and later ones only while the chain holds."""
        return self._chain(node, self.run.value(node.left), 0)

    def _chain(self, node: ast.Compare, left: Any, index: int) -> Any:
        right = self.run.value(node.comparators[index])
        held = self.comparison(node.ops[index], left, right, node)
        if index + 1 == len(node.ops):
            return held
        condition = self.decisions.truth(held, node)
        if isinstance(condition, bool):
            return self._chain(node, right, index + 1) if condition else held
        return self.decisions.choice(held, lambda: self._chain(node, right, index + 1), lambda: held, node)

    def comparison(self, op: ast.cmpop, left: Any, right: Any, node: ast.AST) -> Any:
        """Return the value of one comparison.  CompileError for `is` if a branch or a loop decides the answer."""
        if not isinstance(op, (ast.Is, ast.IsNot)):
            self.objects.used(left, right)
            if isinstance(left, (list, tuple, dict)) or isinstance(right, (list, tuple, dict)):
                self.objects.outside.unparsed.given(left, right)
        elif left is not None and right is not None:
            check(left, right)
            if not self.decisions.branching.aliases.is_known_apart(left, right):
                raise errors.VALUE_NEEDED.at(self.world.loc, "whether these are one object depends on a branch or a loop",
                                             help="keep in a variable which one it is, and compare that")
            for stands in (left, right):
                if isinstance(stands, StandIn):
                    raise stands.unknown()
        with self.stack.here(node):
            match op:
                case ast.Is():
                    return left is right
                case ast.IsNot():
                    return left is not right
                case ast.In() | ast.NotIn():
                    return self._contained(left, right, isinstance(op, ast.In), node)
                case _:
                    return self.operators.compare(COMPARE[type(op)], left, right)

    def _contained(self, item: Any, container: Any, wanted: bool, node: ast.AST) -> Any:
        """Return `(item in container) is wanted`.  If tensors are involved, the items are compared one by one with `==`."""
        method = self.operators.special(container, "__contains__")
        if method is not None:
            found = self.run.call(method, (container, item), {})
            return self.decisions.as_bool(found, node) if wanted else self.operators.opposite(found)
        self.objects.outside.unparsed.given(item, container)
        container = self.objects.steady(container)
        if self.world.is_tensor(container):
            equal = self.operators.compare(COMPARE[ast.Eq], container, item)
            found = equal if isinstance(equal, bool) else equal.any()
            return self.decisions.as_bool(found, node) if wanted else self.operators.opposite(found)
        if isinstance(container, (list, tuple)) and (self.world.is_dynamic(item) or any(self.world.is_dynamic(x) for x in container)):
            found: Any = False
            for x in container:
                same = item is x or item == x
                known = self.decisions.truth(same, node)
                if known is True:
                    return wanted
                if known is not False:
                    number = self.world.number("bool", same)
                    found = number if found is False else found.either(number)
            if found is False:
                return not wanted
            return found if wanted else found.negated()
        if isinstance(container, (dict, set, frozenset)):
            self.objects.check_key(item, self.stack.loc_of(node))
        self.iterators.check(container)
        return (item in container) is wanted
