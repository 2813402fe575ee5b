"""The user's functions: definitions in the code that becomes the graph, and calls, which run the function's syntax tree."""

from __future__ import annotations

import ast
import contextlib
import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from adjoint.foundation.diagnostics import CompileError, Note
from adjoint.frontend import errors
from adjoint.frontend.calls.python_functions import refused
from adjoint.frontend.changes import purity
from adjoint.frontend.changes.journal import ContentsPlace, NamesPlace, ObjectPlace
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.control.branches import RETURN, Outcome, Unreachable
from adjoint.frontend.control.loops import Looping
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.decisions import Decisions
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.tree.scope import names_of
from adjoint.frontend.tree.source import Source, definition_of
from adjoint.frontend.values.frame import Closure, Frame, StandIn
from adjoint.frontend.world import World

__all__ = ["Functions"]


class Functions:
    """Defines the functions that the code that becomes the graph contains (`def` and lambda), and runs calls of the user's functions on
    their syntax trees.

    world  the interface to the runtime, which makes the nodes
    stack, objects, branching, decisions, run  the parts of the `Lowerer` that it uses
    """

    def __init__(self, world: World, stack: CallStack, objects: Objects, branching: Looping, decisions: Decisions, run: Runner):
        self.world, self.stack, self.objects, self.branching = world, stack, objects, branching
        self.decisions, self.run = decisions, run

    def define(self, node: ast.Lambda | ast.FunctionDef) -> Closure:
        """Return a function object for a `def` or a lambda in the code that becomes the graph.  It can read the variables of the functions
        around it.

        The default values are evaluated now; decorators are left to the caller.
        """
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        made = Closure(node, self.stack.frame, self._signature(node), self.run_closure, name)
        self.objects.journal.born(ObjectPlace(made))
        return made

    def _signature(self, node: ast.Lambda | ast.FunctionDef) -> inspect.Signature:
        given = node.args
        parameters: list[inspect.Parameter] = []
        positional = [*given.posonlyargs, *given.args]
        defaults = [inspect.Parameter.empty] * (len(positional) - len(given.defaults)) + [self.run.value(d) for d in given.defaults]
        for i, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
            kind = inspect.Parameter.POSITIONAL_ONLY if i < len(given.posonlyargs) else inspect.Parameter.POSITIONAL_OR_KEYWORD
            parameters.append(inspect.Parameter(argument.arg, kind, default=default))
        if given.vararg is not None:
            parameters.append(inspect.Parameter(given.vararg.arg, inspect.Parameter.VAR_POSITIONAL))
        for argument, default_node in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            default = inspect.Parameter.empty if default_node is None else self.run.value(default_node)
            parameters.append(inspect.Parameter(argument.arg, inspect.Parameter.KEYWORD_ONLY, default=default))
        if given.kwarg is not None:
            parameters.append(inspect.Parameter(given.kwarg.arg, inspect.Parameter.VAR_KEYWORD))
        return inspect.Signature(parameters)

    def run_closure(self, function: Closure, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function that was defined in the code that becomes the graph: run its syntax tree, and return its result."""
        outer = function.__frame__
        frame = self._frame(function.__node__, outer.source, outer.space)
        frame.outer = outer
        return self._run_body(frame, function.__node__, function.__signature__, function.__name__, args, kwargs)

    def with_around(self, function: types.FunctionType, around: dict[str, Any], names: tuple[str, str]) -> StandIn:
        """Return a function that runs the code of `function` with other values for the variables of the functions around it.

        The runtime uses it to make one graph for many functions that share their code.

        function  gives the code; default values are not used, so a call must pass all arguments
        around    the values of those variables by name, in the order of `function.__code__.co_freevars`
        names     the `__name__` and the `__qualname__` of the result
        """
        name, qualified = names
        self.objects.outside.given(around.values())
        if self.world.is_library(function):
            made = types.FunctionType(function.__code__, function.__globals__, name, None, tuple(map(types.CellType, around.values())))
            node: Any = None
            source, run = Source("", name, []), lambda _, args, kwargs: self.run.call(made, args, kwargs)
        else:
            (node, source), run = definition_of(function), self.run_closure
        frame = Frame(source, frozenset(around), function.__globals__)
        frame.names.update(around)
        stands = StandIn(node, frame, inspect.Signature.from_callable(function), run, name)
        stands.__qualname__ = qualified
        self.objects.journal.born(NamesPlace(frame.names))
        self.objects.journal.born(ObjectPlace(stands))
        return stands

    def run_function(self, function: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function that Python has defined, by running its syntax tree.  Return its result.

        CompileError if the source text of the function cannot be found, or if its code cannot be part of a graph.
        """
        signature = inspect.Signature.from_callable(function, follow_wrapped=False)
        # Defaults that the call does not use need no guard: each is compared at every call of the graph.
        for name in ("__code__",) if _gives_all(signature, args, kwargs) else ("__code__", "__defaults__", "__kwdefaults__"):
            self.world.read_attribute(function, name)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.objects.outside.found(default)
        try:
            node, source = definition_of(function)
        except CompileError as mistake:
            if not self.stack.depth:
                raise
            found = mistake.diagnostic
            raise type(mistake)(replace(found, notes=(*found.notes, Note("it is called here", self.world.loc)))) from None
        frame = self._frame(node, source, function.__globals__)
        frame.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        loc = self.world.loc
        try:
            return self._run_body(frame, node, signature, function.__qualname__, args, kwargs)
        except CompileError as mistake:
            inside = getattr(mistake.diagnostic.loc, "file", "")
            if not self.stack.depth or purity.is_installed(self.stack.frame.source.file) or not purity.is_installed(inside):
                raise
            raise errors.at_call(mistake, loc, function.__qualname__, (function.__module__ or "").partition(".")[0]) from None

    @staticmethod
    def _frame(node: ast.Lambda | ast.FunctionDef, source: Source, space: dict[str, Any]) -> Frame:
        names = names_of(node)
        return Frame(source, names.own, space, nonlocals=names.nonlocals, globals_=names.globals_)

    def _run_body(self, frame: Frame, node: ast.Lambda | ast.FunctionDef, signature: inspect.Signature, name: str,
                  args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the body of a function in a new frame (which holds the variables of a call), and return the result of the call.

        node       the function in the syntax tree
        signature  its parameters; TypeError if the arguments do not fit them
        name       its name for messages
        """
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            refused(node, frame, signature, name, args, kwargs)
            raise
        bound.apply_defaults()
        if isinstance(node, ast.FunctionDef):
            self._check_generator(node, frame.source)
        with self._entered(frame, name):
            frame.names.update(bound.arguments)
            for parameter in signature.parameters.values():
                if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                    self.objects.journal.born(ContentsPlace(frame.names[parameter.name]))
            frame.goes_out = self.stack.depth == 1 and self.world.is_outermost()
            if self.stack.depth == 1:
                self.objects.outside.given([*args, *kwargs.values()])
            frame.first = args[0] if args else None
            if isinstance(node, ast.Lambda):
                self.stack.returns_at(node.body)
                return self.run.value(node.body)
            outcome = self.run.block(node.body)
            return self._returned(outcome, node)

    def _returned(self, outcome: Outcome | None, node: ast.FunctionDef) -> Any:
        if outcome is None:
            return None
        if outcome.is_known:
            return outcome.value
        returned = self.decisions.truth(outcome.code == RETURN, node)
        a = self.branching.branch(lambda: outcome.value)
        b = self.branching.branch(lambda: None)
        return self.decisions.merged(returned, a, b, node)

    def _check_generator(self, node: ast.FunctionDef, source: Source) -> None:
        yields = names_of(node).yields
        if yields is not None:
            raise errors.UNSUPPORTED.at(source.at(yields), "a generator is not supported in a graph", help="return a list")

    def _check_changes(self) -> None:
        """Check what the outermost function changed outside of itself, at its end.

        CompileError for a change that the graph does not repeat when it runs, such as an `append` to a global list.
        """
        if self.stack.depth == 1:
            self.objects.outside.check(self.objects.is_late)

    def _take_back(self, is_meant: Callable[[Any], bool]) -> None:
        """If the outermost function has failed, undo its changes of variables, attributes and containers from outside of the function.

        is_meant  returns whether to undo a change, from the value that is there now
        """
        if self.stack.depth == 1:
            self.objects.outside.restore(is_meant)

    @contextlib.contextmanager
    def _entered(self, frame: Frame, name: str) -> Iterator[None]:
        """Make `frame` (which holds the variables of one call) the running one, for the body of a `with`; afterwards the caller's runs
        again.

        At the end of the outermost call, changes of objects from outside of the function are checked, or undone after an error.

        name  the function's name for messages

        CompileError if calls are nested too deeply.
        """
        if self.stack.depth >= self.world.call_depth():
            raise errors.TOO_DEEP.at(self.world.loc, f"`{name}` is called at depth {self.stack.depth}, the limit",
                                     help="end the recursion by a condition on a Python value, write a loop, or raise max_call_depth")
        names, loc = self.branching.local_names, self.world.loc
        around = self.world.enter_call() if self.stack.depth else None
        caller = self.stack.push(frame)
        self.objects.journal.born(NamesPlace(frame.names))
        try:
            yield
            self._check_changes()
        except Unreachable:
            self._check_changes()
            raise
        except CompileError:
            self._take_back(lambda now: True)
            raise
        except RecursionError:
            raise errors.TOO_DEEP.at(loc, f"`{name}` calls itself too deeply",
                                     help="end the recursion by a condition on a Python value, or write a loop") from None
        except Exception:
            self._take_back(self.objects.is_late)
            raise
        finally:
            self.stack.pop(caller)
            if around is not None:
                self.world.leave_call(around)
            self.branching.local_names, self.world.loc = names, loc


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _gives_all(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return True if a call passes every argument, so that no default value is used.  False also if the arguments do not fit the signature.
    """
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return False
    return all(name in given for name, parameter in signature.parameters.items() if parameter.kind not in _VARIADIC)
