"""Statements.  Running a list of statements gives an outcome: None if control reaches the end of the list, otherwise how it left the list,
by `break`, `continue` or `return`.

If a tensor decides whether a statement leaves the list, the statements behind it become part of a branch of the graph:

    if c: return a           the rest becomes part of the branch that continues
    rest
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from adjoint.foundation.diagnostics import CompileError
from adjoint.frontend import errors
from adjoint.frontend.calls.functions import Functions
from adjoint.frontend.code.assignment import Assignment
from adjoint.frontend.code.conditions import Conditions
from adjoint.frontend.code.expressions import Expressions
from adjoint.frontend.code.if_statements import IfStatements
from adjoint.frontend.code.loop_statements import LoopStatements
from adjoint.frontend.control.branches import BREAK, CONTINUE, RETURN, Outcome, Unreachable
from adjoint.frontend.control.raising import raise_again, raise_late
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.decisions import Decisions
from adjoint.frontend.operations.names import Names
from adjoint.frontend.operations.operators import Operators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.world import World

__all__ = ["Statements"]


class Statements:
    """Runs the statements of the code that becomes the graph, with the variables of the running function.  Other parts reach it through
    `Runner.block`.

    world  the interface to the runtime, which makes the nodes
    stack, decisions, conditions, names, functions, expressions, assignment, ifs, loops, run  the parts of the `Lowerer` that it uses
    """

    def __init__(
        self, world: World, stack: CallStack, operators: Operators, decisions: Decisions, conditions: Conditions, names: Names,
        functions: Functions, expressions: Expressions, assignment: Assignment, ifs: IfStatements, loops: LoopStatements, run: Runner,
    ):
        self.world, self.stack, self.operators, self.decisions, self.conditions = world, stack, operators, decisions, conditions
        self.names, self.functions, self.expressions, self.assignment = names, functions, expressions, assignment
        self.ifs, self.loops, self.run = ifs, loops, run

    def block(self, body: Sequence[ast.stmt]) -> Outcome | None:
        """Run the statements `body` in order.

        Return None if control reaches their end, otherwise an Outcome: how they were left, by `break`, `continue` or `return`.
        """
        for i, statement in enumerate(body):
            rest = body[i + 1 :]
            try:
                outcome, done = self._ended(statement, rest)
            except (CompileError, Unreachable, RecursionError):
                raise
            except Exception as mistake:
                if not self.world.raises_late:
                    raise
                # the statement may not be reached, or effects come before it: so the graph raises the exception, in order with the effects
                raise_again(self.world, mistake)
            if done:
                return outcome
            if outcome is None:
                continue
            if outcome.is_known:
                return outcome
            if not rest:
                return outcome
            return self.ifs.guarded(outcome, lambda rest=rest: self.block(rest), statement)
        return None

    def _ended(self, statement: ast.stmt, rest: Sequence[ast.stmt]) -> tuple[Outcome | None, bool]:
        """Run a statement of a block.

        rest  the statements after it in the block

        Return how the statement ended (None at its end), and True if the statements after it have been run together with it, so that they
        must not run again.
        """
        match statement:
            case ast.If():
                return self.ifs.run_if(statement, rest)
            case ast.Match():
                return self.ifs.run_match(statement, rest)
            case _:
                return self._statement(statement), False

    def _statement(self, node: ast.stmt) -> Outcome | None:
        match node:
            case ast.Expr(value=value):
                self.expressions.value(value)
            case ast.Assign(targets=targets, value=value):
                found = self.expressions.value(value)
                for target in targets:
                    self.assignment.assign(target, found)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.assignment.assign(target, self.expressions.value(value))
            case ast.AugAssign():
                self.assignment.augment(node)
            case ast.Return(value=value):
                self.stack.returns_at(node if value is None else value)
                return Outcome(RETURN, None if value is None else self.expressions.value(value))
            case ast.For():
                return self.loops.run_for(node)
            case ast.While():
                return self.loops.run_while(node)
            case ast.Break():
                return Outcome(BREAK)
            case ast.Continue():
                return Outcome(CONTINUE)
            case ast.Pass() | ast.Global() | ast.Nonlocal():
                pass
            case ast.FunctionDef(name=name):
                self.names.bind(name, self._defined(node))
            case ast.With():
                return self._with(node)
            case ast.Assert():
                self._assert(node)
            case ast.Raise():
                self._raise(node)
            case ast.Delete(targets=targets):
                for target in targets:
                    self.assignment.delete(target)
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case _:
                raise self.stack.unsupported(node, f"`{_WORDS.get(type(node), type(node).__name__.lower())}` is not supported in a graph",
                                             _INSTEAD.get(type(node), "move it out of the function"))
        return None

    def _defined(self, node: ast.FunctionDef) -> Any:
        decorators = [self.expressions.value(decorator) for decorator in node.decorator_list]
        function = self.functions.define(node)
        for decorator in reversed(decorators):
            function = self.run.call(decorator, (function,), {})
        return function

    def _with(self, node: ast.With, first: int = 0) -> Outcome | None:
        """Run a `with` statement from its context manager number `first` on.  Return how its body ended, or None at its end.

        A context manager is one of the library that a graph knows, such as `_no_grad()`, or an object of a user's class, whose methods
        become part of the graph; CompileError for others.
        """
        if first == len(node.items):
            return self.block(node.body)
        item = node.items[first]
        manager = self.expressions.value(item.context_expr)
        if self.world.is_region(manager):
            with manager as given:
                self._entered(item, given)
                return self._with(node, first + 1)
        enter, leave = (self.operators.special(manager, name) for name in ("__enter__", "__exit__"))
        if enter is None or leave is None:
            raise self.stack.unsupported(
                node, f"`with` of {errors.with_article(type(manager).__name__)} is not supported in a graph",
                "enter it outside the function; only `_no_grad()`, `watch.finite_ok()` and objects of your own classes may be entered "
                "inside")
        given = self.run.call(enter, (manager,), {})
        try:
            self._entered(item, given)
            outcome = self._with(node, first + 1)
        except (CompileError, RecursionError):
            raise
        except Exception as mistake:
            raised = "an exception" if isinstance(mistake, Unreachable) else errors.with_article(type(mistake).__name__)
            raise self.stack.unsupported(node, f"{raised} is raised inside of `with`, and a graph cannot give it to `__exit__`",
                                         "raise it outside of the `with`") from mistake
        if outcome is not None and not outcome.is_known:
            raise self.stack.unsupported(node, "a tensor decides whether a statement inside of `with` leaves it",
                                         "leave it behind the `with`")
        self.run.call(leave, (manager, None, None, None), {})
        return outcome

    def _entered(self, item: ast.withitem, given: Any) -> None:
        if item.optional_vars is not None:
            self.assignment.assign(item.optional_vars, given)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Run an import statement while the graph is made, and assign the names that it gives to variables of the running function."""
        names: dict[str, Any] = {}
        code = compile(ast.fix_missing_locations(ast.Module([node], [])), self.stack.frame.source.file, "exec")
        with self.stack.here(node):
            space = self.stack.frame.space
            exec(code, {"__name__": space.get("__name__"), "__package__": space.get("__package__")}, names)
        for name, value in names.items():
            self.names.bind(name, value)

    def _assert(self, node: ast.Assert) -> None:
        if not __debug__:  # `python -O` drops the statement
            return
        tested = self.conditions.tested(node.test)
        condition = self.decisions.truth(tested, node.test)
        if condition is True:
            return
        message = () if node.msg is None else (self.expressions.value(node.msg),)
        if condition is False:
            raise_late(self.world, AssertionError, message, self.stack.loc_of(node))

        def check(holds: Any, *said: Any) -> None:
            if not holds:
                raise AssertionError(*said)

        self.world.loc = self.stack.loc_of(node)
        self.world.effect("assert", check, [self.world.number("bool", tested), *message])

    def _raise(self, node: ast.Raise) -> None:
        if node.exc is None:
            raise self.stack.unsupported(
                node, "a bare `raise` re-raises what a `try` has caught, and a graph has no `try`",
                "name the exception: `raise ValueError(...)`")
        if isinstance(node.exc, ast.Call):
            kind = self.expressions.value(node.exc.func)
            args: tuple[Any, ...] = tuple(self.expressions.items(node.exc.args))
            if not node.exc.keywords and isinstance(kind, type) and issubclass(kind, BaseException):
                raise_late(self.world, kind, args, self.stack.loc_of(node))
        found = self.expressions.value(node.exc)
        if isinstance(found, type) and issubclass(found, BaseException):
            raise_late(self.world, found, (), self.stack.loc_of(node))
        if isinstance(found, BaseException):
            raise_late(self.world, type(found), found.args, self.stack.loc_of(node))
        with self.stack.here(node):
            raise TypeError("exceptions must derive from BaseException")


_WORDS: dict[type[ast.stmt], str] = {
    ast.Try: "try", ast.ClassDef: "class", ast.AsyncFunctionDef: "async def", ast.AsyncFor: "async for",
    ast.AsyncWith: "async with",
}


_INSTEAD: dict[type[ast.stmt], str] = {
    ast.Try: "test the condition with `if`: a graph cannot catch exceptions",
    ast.ClassDef: "define the class outside", ast.AsyncFunctionDef: "define an ordinary function",
}
