"""`if` and `match` statements, and the rest of a block after a statement that may leave the block."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.frontend.code.conditions import Conditions
from adjoint.frontend.code.patterns import Patterns
from adjoint.frontend.control.branches import NEXT, Branch, Outcome
from adjoint.frontend.control.loops import Looping
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.decisions import Decisions, leaving
from adjoint.frontend.operations.names import Names
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.tree.scope import reads_name

__all__ = ["IfStatements"]


class IfStatements:
    """Runs the `if` and `match` statements of the code that becomes the graph.

    If the condition is known already, only the branch that is taken runs.  If a tensor decides, all branches that may be taken become
    branches of the graph.

    stack, branching, decisions, conditions, names, patterns, run  the parts of the `Lowerer` that it uses
    """

    def __init__(
        self, stack: CallStack, branching: Looping, decisions: Decisions, conditions: Conditions, names: Names, patterns: Patterns,
        run: Runner,
    ):
        self.stack, self.branching, self.decisions, self.conditions = stack, branching, decisions, conditions
        self.names, self.patterns, self.run = names, patterns, run

    def run_if(self, node: ast.If, rest: Sequence[ast.stmt]) -> tuple[Outcome | None, bool]:
        """Run an `if` statement.

        Return how it left the block (None if control reaches its end), and True if the statements after it have been run together with it:
        the caller must not run them again.

        rest  the statements after the `if` in its block
        """
        condition = self.conditions.test(node.test)
        if isinstance(condition, bool):
            return self.run.block(node.body if condition else node.orelse), False
        return self._decided(condition, lambda: self.run.block(node.body), lambda: self.run.block(node.orelse), rest, node)

    def _decided(self, condition: Any, first: Callable[[], Outcome | None], second: Callable[[], Outcome | None], rest: Sequence[ast.stmt],
                 node: ast.AST) -> tuple[Outcome | None, bool]:
        """Make an `if` of the graph from two branches between which a tensor decides.

        Return how they left the block (None if control reaches their end), and True if the statements after the `if` have been run together
        with them.

        That is done if one branch leaves the block: the statements then belong to the other.  It is also done if the branches leave values
        that cannot be merged: each branch then continues with these statements.

        condition  a bool of the IR
        first      runs the branch for a true condition, and returns how it ended
        second     runs the branch for a false one
        rest       the statements after the `if`, in the same block
        node       the statement in the syntax tree, for error messages
        """
        names = self.stack.frame.names
        a = self.branching.branch(first)
        b = self.branching.branch(second)
        done = False
        self.branching.local_names = names
        goes_on = [not branch.dead and (branch.result is None or NEXT in branch.result.codes) for branch in (a, b)]

        def following(branch: Branch) -> Branch:
            if branch.result is None:
                return self.branching.resume(branch, lambda: self.run.block(rest))
            return self.branching.resume(branch, lambda: self.guarded(branch.result, lambda: self.run.block(rest), node))

        if rest and goes_on[0] != goes_on[1]:
            # one branch leaves the block, so the rest belongs to the other
            done = True
            a, b = (following(a), b) if goes_on[0] else (a, following(b))
        elif rest and all(goes_on) and _any_read(self.branching.differences(a, b, leaving), rest):
            # the branches leave values that cannot be merged, so each continues with the rest by itself
            done = True
            a, b = following(a), following(b)
        return self.decisions.merged(condition, a, b, node), done

    def run_match(self, node: ast.Match, rest: Sequence[ast.stmt]) -> tuple[Outcome | None, bool]:
        """Run a `match` statement.

        Return how it left the block (None if control reaches its end), and True if the statements after it have been run together with it:
        the caller must not run them again.

        rest  the statements after the `match` in its block
        """
        return self._cases(node.cases, self.run.value(node.subject), rest)

    def _cases(self, cases: Sequence[ast.match_case], subject: Any, rest: Sequence[ast.stmt]) -> tuple[Outcome | None, bool]:
        for i, case in enumerate(cases):
            names: dict[str, Any] = {}
            held = self.patterns.matched(case.pattern, subject, names)
            if held is False:
                continue
            if case.guard is not None:
                held = self._guard(held, case.guard, names)
            elif held is True:
                self._bound(names)
            condition = held if isinstance(held, bool) else self.decisions.truth(held, case.pattern)
            if condition is False:
                continue
            if condition is True:
                return self.run.block(case.body), False

            def chosen(case: ast.match_case = case, names: dict[str, Any] = names) -> Outcome | None:
                self._bound(names)
                return self.run.block(case.body)

            return self._decided(condition, chosen, lambda i=i: self._cases(cases[i + 1 :], subject, ())[0], rest, case.pattern)
        return None, False

    def _guard(self, held: Any, guard: ast.expr, names: dict[str, Any]) -> Any:
        """Return whether a `case` applies: whether its pattern matches and its guard (the condition after `if`) holds.

        held   whether the pattern matches
        guard  the guard in the syntax tree
        names  the variables that the pattern assigns; the guard can read them

        The result and `held` are Python bools if they are known while parsing, otherwise bools that the graph computes.
        """

        def guarded() -> Any:
            self._bound(names)
            return self.decisions.as_bool(self.conditions.tested(guard), guard)

        return guarded() if held is True else self.decisions.choice(held, guarded, lambda: False, guard)

    def _bound(self, names: dict[str, Any]) -> None:
        for name, value in names.items():
            self.names.bind(name, value)

    def guarded(self, outcome: Outcome, rest: Callable[[], Outcome | None], node: ast.AST, begun: Branch | None = None) -> Outcome | None:
        """Run the rest of a block after a statement, such as a loop with a `return`, that may have left the block, as a tensor decides.
        The rest becomes a branch of the graph.

        outcome  how the statement ended (`Outcome`), with a code that the graph computes
        rest     runs the rest of the block, and returns how it ended: an Outcome, or None at its end
        node     the statement in the syntax tree, for error messages
        begun    a branch that already contains the beginning of the rest; None if there is none

        Return how the statement and the rest together ended, or None if control always reaches the end of the block.
        """
        condition = self.decisions.truth(outcome.code == NEXT, node)
        if begun is None:
            on = self.branching.branch(rest)
        else:
            on = begun if begun.dead else self.branching.resume(begun, rest)
        left = self.branching.branch(lambda: outcome.without(NEXT))
        return self.decisions.merged(condition, on, left, node)


def _any_read(names: set[str], statements: Sequence[ast.stmt]) -> bool:
    """Return True if the statements read one of the names.  An empty name stands for an attribute or a container, and counts as read."""
    return any(not name or reads_name(statements, name) for name in names)
