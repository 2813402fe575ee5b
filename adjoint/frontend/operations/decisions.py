"""Decisions that a tensor may make: truth, and the choice between two values or two outcomes."""

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
    """Find the truth of values, and choose between values and between outcomes."""

    def __init__(self, world: World, stack: CallStack, objects: Objects, operators: Operators, branching: Looping, run: Runner):
        self.world, self.stack, self.objects, self.operators = world, stack, objects, operators
        self.branching, self.run = branching, run

    def truth(self, x: Any, node: ast.AST) -> Any:
        """Return the truth of `x`: a bool, or an atom of the IR.  A user-defined `__bool__` or `__len__` is parsed."""
        self.objects.used(x)
        with self.stack.here(node):
            method = self.operators.special(x, "__bool__") or self.operators.special(x, "__len__")
            return self.world.truth(self.objects.steady(x) if method is None else self.run.call(method, (x,), {}))

    def as_bool(self, x: Any, node: ast.AST) -> Any:
        """Return the truth of `x`, as a bool or a run-time bool."""
        truth = self.truth(x, node)
        return truth if isinstance(truth, bool) else self.world.number("bool", x)

    def choice(self, tested: Any, first: Callable[[], Any], second: Callable[[], Any], node: ast.AST, help: str = "") -> Any:
        """Return `first()` or `second()`, as the truth of `tested` decides.  If a tensor decides, both are lowered.

        help  the advice of the error if the two values cannot be merged
        """
        condition = self.truth(tested, node)
        if isinstance(condition, bool):
            return first() if condition else second()
        return self.decided(condition, first, second, self.stack.loc_of(node), help)

    def decided(self, condition: Atom, first: Callable[[], Any], second: Callable[[], Any], loc: Loc, help: str = "") -> Any:
        """Lower both functions as branches of a bool of the IR, and return the merged value.  CompileError if the values cannot be merged.

        loc   the place of the branch in the program
        help  the advice of that error
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
        """Return True or False if it is known whether both conditions hold, otherwise a run-time bool."""
        if first is False or second is False:
            return False
        return second if first is True else first if second is True else first.both(second)

    def merged(self, condition: Any, a: Branch, b: Branch, node: ast.AST) -> Outcome | None:
        """Emit the `if` for two branches of statements, and return their merged outcome.

        CompileError if they return values that cannot be merged.
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
    """Return True if a branch always ends in a `return`, so that its local names no longer matter."""
    return isinstance(branch.result, Outcome) and branch.result.is_known and branch.result.code == RETURN
