"""Decisions that a tensor may make: the truth of a value, and the choice between two values.

If the truth is known while the graph is made, Python decides.  Otherwise the graph gets an `if`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from adjoint.foundation.diagnostics import Loc
from adjoint.frontend import errors
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.control.branches import RETURN, Branch, Difference, Outcome
from adjoint.frontend.control.loops import Looping
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.operators import Operators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.world import World
from adjoint.ir.core import Atom

__all__ = ["Decisions", "leaving"]


class Decisions:
    """Finds the truth of values, and makes nodes of choices between two values or two branches.  Expressions, conditions, `if` statements
    and loops use it wherever a tensor may decide.

    world  the interface to the runtime, which makes the nodes
    stack, objects, operators, branching, run  the parts of the `Lowerer` that it uses
    """

    def __init__(self, world: World, stack: CallStack, objects: Objects, operators: Operators, branching: Looping, run: Runner):
        self.world, self.stack, self.objects, self.operators = world, stack, objects, operators
        self.branching, self.run = branching, run

    def truth(self, x: Any, node: ast.AST) -> Any:
        """Return the truth of `x`: a Python bool if it is known while the graph is made, otherwise a bool value of the IR (an atom).

        node  the expression in the syntax tree, for error messages

        A `__bool__` or `__len__` of a user's class is called on its syntax tree, so that it becomes part of the graph.
        """
        self.objects.used(x)
        with self.stack.here(node):
            method = self.operators.special(x, "__bool__") or self.operators.special(x, "__len__")
            return self.world.truth(self.objects.steady(x) if method is None else self.run.call(method, (x,), {}))

    def as_bool(self, x: Any, node: ast.AST) -> Any:
        """Return the truth of `x` as an object: a Python bool if it is known while the graph is made, otherwise one for a bool that the
        graph computes.

        node  the expression in the syntax tree, for error messages
        """
        truth = self.truth(x, node)
        return truth if isinstance(truth, bool) else self.world.number("bool", x)

    def choice(self, tested: Any, first: Callable[[], Any], second: Callable[[], Any], node: ast.AST, help: str = "") -> Any:
        """Return `first()` or `second()`, as the truth of `tested` decides, like `first() if tested else second()`.

        If a tensor decides, both functions are called, each in a branch of the graph, and the result is merged from their two values.

        node  the expression in the syntax tree, for error messages
        help  the advice of the CompileError if the two values cannot be merged; otherwise a general one is given
        """
        condition = self.truth(tested, node)
        if isinstance(condition, bool):
            return first() if condition else second()
        return self.decided(condition, first, second, self.stack.loc_of(node), help)

    def decided(self, condition: Atom, first: Callable[[], Any], second: Callable[[], Any], loc: Loc, help: str = "") -> Any:
        """Call both functions, each in a branch of a new `if` of the graph, and return the value merged from their results.  CompileError
        if these cannot be merged.

        condition  a bool of the IR
        first      the function for a true condition
        second     the function for a false one
        loc        the place of the `if` in the user's program
        help       the advice of that error; otherwise a general one is given
        """
        a, b = self.branching.branch(first), self.branching.branch(second)
        self.world.loc = loc
        try:
            return self.branching.merged(condition, a, b, lambda branch: False)
        except Difference as differ:
            here, there = self.branching.described(differ.first), self.branching.described(differ.second)
            raise errors.BRANCHES_DIFFER.at(loc, f"it is {here} on one path and {there} on the other",
                                            help=help or self.branching.remedy(differ), kind=self.branching.kind_of(differ)) from None

    @staticmethod
    def both(first: Any, second: Any) -> Any:
        """Return `first and second` for two bools, each of which may be one that the graph computes.

        The result is a Python bool if it is known while the graph is made, otherwise an object for a bool of the graph.
        """
        if first is False or second is False:
            return False
        return second if first is True else first if second is True else first.both(second)

    def merged(self, condition: Any, a: Branch, b: Branch, node: ast.AST) -> Outcome | None:
        """Emit the `if` of the graph for two branches of statements that have been turned into nodes.

        condition  a bool of the IR; `a` belongs to true, `b` to false
        node       the statement in the syntax tree, for error messages

        Return how they end together: an Outcome, or None if both always reach their ends.  CompileError if the two branches return values
        that cannot be merged.
        """
        self.world.loc = self.stack.loc_of(node)
        self.branching.local_names = self.stack.frame.names
        try:
            return self.branching.merged(condition, a, b, leaving, goes_out=self.stack.frame.goes_out)
        except Difference as differ:
            first, second = self.branching.described(differ.first), self.branching.described(differ.second)
            raise errors.RETURNS_DIFFER.at(self.stack.loc_of(node), f"{first} is returned on one path and {second} on the other",
                                           help=self.branching.remedy(differ), kind=self.branching.kind_of(differ)) from None


def leaving(branch: Branch) -> bool:
    """Return True if a branch of statements always ends in a `return`, so that the values of its local variables no longer matter."""
    return isinstance(branch.result, Outcome) and branch.result.is_known and branch.result.code == RETURN
