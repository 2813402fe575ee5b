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
    """Evaluates conditions for expressions, `if`, `while`, `assert` and `match`.

    A result is a Python bool if it is known while the graph is made.  Otherwise it is an object for a bool that the graph computes, or a
    value of another type that a comparison gives, such as a tensor.

    world  the interface to the runtime, which makes the nodes
    stack, objects, operators, iterators, decisions, run  the parts of the `Lowerer` that it uses
    """

    def __init__(
        self, world: World, stack: CallStack, objects: Objects, operators: Operators, iterators: Iterators, decisions: Decisions,
        run: Runner,
    ):
        self.world, self.stack, self.objects, self.operators = world, stack, objects, operators
        self.iterators, self.decisions, self.run = iterators, decisions, run

    def test(self, node: ast.expr) -> Any:
        """Evaluate the expression `node` and return its truth: a Python bool if it is known while the graph is made, otherwise a bool value
        of the IR.

        It is for code such as an `if`, which needs nothing of the value but its truth.
        """
        return self.decisions.truth(self.tested(node), node)

    def tested(self, node: ast.expr) -> Any:
        """Evaluate the expression `node` and return a value of the same truth, which need not be the value itself.

        So the operands of `and` and `or` may differ in type here: the result of these is a Python bool, or an object for a bool that the
        graph computes.
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
        """Return `not x`: a Python bool if it is known while the graph is made, otherwise an object for a bool that the graph computes.

        node  the expression in the syntax tree, for error messages
        """
        condition = self.decisions.truth(x, node)
        if isinstance(condition, bool):
            return not condition
        with self.stack.here(node):
            return self.world.number("bool", x).negated()

    def either(self, values: Sequence[ast.expr], until: bool, node: ast.AST) -> Any:
        """Evaluate `a or b or ..` or `a and b and ..`, and return its value: the first operand that decides, or the last one.

        values  the operands in the syntax tree
        until   the truth of an operand that decides: True for `or`, False for `and`
        node    the whole expression, for error messages

        If a tensor decides which operand it is, the operands must have types that can be merged; otherwise CompileError.
        """
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
        """Return the value of a comparison or a chain such as `a < b < c`.  Each operand is computed once, and later ones only while the
        chain holds.
        """
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
        """Return the value of one comparison.

        op           the operator in the syntax tree
        left, right  the operands, already evaluated
        node         the comparison in the syntax tree, for error messages

        CompileError for `is` if a branch or a loop of the graph decides whether the two are the same object.
        """
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
        """Return `item in container` if `wanted` is True, and `item not in container` if it is False.

        If a tensor or a number of the graph is involved, the items are compared one by one with `==`, and the graph computes the result.
        """
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
