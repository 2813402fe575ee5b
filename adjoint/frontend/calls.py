"""Calls: of the library (its Python runs as it is), of the user's functions (their trees are run), of cells, of Python's own.

A function of Python or NumPy is called while parsing if its result depends on its arguments alone; others would be frozen into
the graph and are refused.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adjoint.diagnostics import CompileError, Note
from adjoint.frontend import errors, purity
from adjoint.frontend.aliases import MUTATORS
from adjoint.frontend.branches import RETURN, Outcome, Unreachable
from adjoint.frontend.builtins import PYTHON
from adjoint.frontend.chosen import Chosen, check
from adjoint.frontend.frame import UNBOUND, Closure, Frame
from adjoint.frontend.journal import COLLECTIONS, CONTAINERS, AttributePlace, ContentsPlace, NamesPlace, ObjectPlace, is_as_before
from adjoint.frontend.outside import beneath
from adjoint.frontend.python_functions import python_function, refused
from adjoint.frontend.scope import declared, local_names
from adjoint.frontend.source import Source, definition_of
from adjoint.frontend.statements import Statements
from adjoint.frontend.text import RunTimeText, formatted, joined
from adjoint.frontend.world import World

__all__ = ["Lowerer"]

_BY_KIND = frozenset({isinstance, type, getattr, hasattr, setattr, callable, print, super})
"""Functions that see which object an argument is, or read nothing of it."""


_COMPARING = frozenset({"sort", "count", "index", "remove"})
"""Methods of containers that compare what is in them."""

_IN_C = (types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType, types.WrapperDescriptorType)
"""Python's functions and methods that are written in C."""


def _is_new_array(found: Any, function: Any, given: tuple[Any, ...]) -> bool:
    """Whether NumPy has made an array, that shares no memory with what it was given."""
    if not isinstance(found, np.ndarray) or found.base is not None or any(found is x for x in given):
        return False
    return isinstance(given[0], np.ndarray) or (getattr(function, "__module__", None) or "").partition(".")[0] == "numpy"


class Lowerer(Statements):
    """Runs a function on its tree."""

    def __init__(self, world: World):
        super().__init__(world)
        self.frames: list[Frame] = []
        self.initialising = 0
        """How many `__init__`s of the user's cells are being run."""

    def end(self) -> None:
        """Nothing is run any more: functions that parsed code defined refer to the names around them, which refer to them."""
        in_use = False
        for frame in self.frames:
            # The frame's dict, the loop and getrefcount's argument refer to each; who has more is in use elsewhere.
            if any(isinstance(x, Closure) and sys.getrefcount(x) > 3 for x in frame.names.values()):
                in_use = True
            else:
                frame.names.clear()
                frame.cells, frame.first, frame.outer = {}, UNBOUND, None
            frame.caller = None
        self.frames = []
        self.aliases.frame = lambda: None
        if not in_use:
            # Its parts refer to it.
            for let_go in self.aliases.at_end:
                let_go()
            vars(self.outside).clear()
            vars(self).clear()

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What `function(*args, **kwargs)` gives, whatever kind of callable it is."""
        function = self.world.parsed_function(function)
        if isinstance(function, functools.partial):
            return self.call(function.func, (*function.args, *args), {**function.keywords, **kwargs})
        if isinstance(function, Closure):
            return self.run_closure(function, args, kwargs)
        if self.world.is_cell(function):
            return self.world.call_cell(function, args, kwargs)
        if isinstance(function, Chosen):
            return self._switched(function, function.items, 0, args, kwargs)
        if isinstance(function, types.MethodType):
            bound = self.world.parsed_function(function.__func__)
            if self.world.is_library(bound):
                return self.native(function, args, kwargs)
            if not isinstance(bound, (types.FunctionType, functools.partial, Closure)):
                self._check_pure(function)
                return self.native(function, args, kwargs)
            return self.call(bound, (function.__self__, *args), kwargs)
        special = PYTHON.get(function) if _hashable(function) else None
        if special is not None:
            check(*args, *kwargs.values())
            if function not in _BY_KIND:
                self._given(args, kwargs)
            return special(self, args, kwargs)
        if self.world.is_library(function):
            return self._converted(function, args, kwargs) if isinstance(function, type) else self.native(function, args, kwargs)
        if isinstance(function, types.FunctionType):
            if purity.is_of_pure_module(function):
                self._check_pure(function)
                return self.native(function, args, kwargs)
            if purity.is_standard(function):
                self._check_pure(function)
            return self.run_function(function, args, kwargs)
        if isinstance(function, type):
            return self._made(function, args, kwargs)
        if isinstance(function, _IN_C) or purity.is_of_pure_module(function):
            self._check_pure(function)
            return self.native(function, args, kwargs)
        self.world.read_attribute(type(function), "__call__")
        called = getattr(type(function), "__call__", None)  # noqa: B004 - what it is, not whether it is there
        if isinstance(called, types.FunctionType) and not self.world.is_library(called):
            return self.call(called, (function, *args), kwargs)
        if isinstance(function, functools._lru_cache_wrapper):
            return self.call(function.__wrapped__, args, kwargs)
        if isinstance(called, types.WrapperDescriptorType):
            # Written in C: it is called as it is.
            self._check_pure(function)
        return self.native(function, args, kwargs)

    def _switched(self, chosen: Chosen, items: Sequence[Any], start: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call of the chosen item gives, which is one of `items`; `start` is the position of their first."""
        if len(items) == 1:
            return self.call(items[0], args, kwargs)
        loc, half = self.world.loc, len(items) // 2

        def side(part: Sequence[Any], begin: int) -> Any:
            self.world.loc = loc
            return self._switched(chosen, part, begin, args, kwargs)

        condition = self.world.truth(chosen.position < start + half)
        if isinstance(condition, bool):
            return side(items[:half], start) if condition else side(items[half:], start + half)
        return self.decided(condition, lambda: side(items[:half], start), lambda: side(items[half:], start + half), loc)

    # -- Python's own -------------------------------------------------------------------------------------------------
    def native(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call Python: functions of the user's among the arguments are parsed when they are called back."""
        check(*args, *kwargs.values())
        owner = getattr(function, "__self__", None)
        name = getattr(function, "__name__", "")
        if self.world.is_library(function):
            self.world.check_call(function)
            holder, rest = (owner, args) if isinstance(function, types.MethodType) else (args[0], args[1:]) if args else (None, ())
            if self.world.is_cell(holder) and self.journal.has_made(holder):
                if name == "__init__":
                    return self.world.initialise(holder, getattr(function, "__func__", function), rest, kwargs)
                self.world.check_parts(rest, kwargs)
            self.used(*[x for x in (*args, *kwargs.values()) if self.world.is_tensor(x)])
            if not isinstance(function, types.FunctionType):
                self.used(function)
        else:
            self._given(args, kwargs)
            self.used(owner)
            self._check_arguments(function, owner, args, kwargs)
        target = (owner, *args) if owner is not None and not isinstance(owner, types.ModuleType) else args
        if name in MUTATORS and target:
            self.touched(target[0])
        elif name in ("__setattr__", "__delattr__") and len(target) > 1:
            self.journal.touch(AttributePlace(target[0], target[1]))
        place = self.world.place(owner) if owner is not None else None
        if place is not None:
            self.journal.touch(place)
        if args and isinstance(args[0], Iterator) and (name == "join" or function in _SETS):
            args = (list(args[0]), *args[1:])  # what is in it is looked at here
            self._check_arguments(function, owner, args, kwargs)
        if isinstance(function, type) or name in _COMPARING:
            self.outside.unparsed.given(function if owner is None else owner)
        watched: list[tuple[ContentsPlace, Any]] = []
        if not self.world.is_library(function):
            if function is not functools.partial and (not isinstance(owner, CONTAINERS) or name == "sort"):
                args = tuple(self._called_back(x) for x in args)
                kwargs = {name: self._called_back(x) for name, x in kwargs.items()}
            text = self._late_text(owner, name, args, kwargs)
            if text is not None:
                return text
            watched = self._outside_among((owner, *args, *kwargs.values()))
        found = function(*args, **kwargs)
        for given, before in watched:
            if not is_as_before(before, given.get()):
                self.journal.note(given, lambda before=before: before)
        if isinstance(found, Iterator):
            self.iterators[id(found)] = found, (owner, *args)
        if isinstance(found, Iterator) or (isinstance(function, type) and isinstance(found, COLLECTIONS)) \
                or _is_new_array(found, function, (owner, *args, *kwargs.values())):
            self.journal.born(ContentsPlace(found))
        return found

    def _outside_among(self, values: Sequence[Any]) -> list[tuple[ContentsPlace, Any]]:
        """The containers from outside that a function of Python's or NumPy's is given, and might change, with what is in them."""
        found: list[tuple[ContentsPlace, Any]] = []
        for x in values:
            if isinstance(x, tuple):
                found += self._outside_among(x)
            elif isinstance(x, CONTAINERS) and self.outside.holds(x):
                place = ContentsPlace(x)
                found.append((place, place.get()))
            else:
                found += self._outside_among(tuple(beneath(x)))
        return found

    def _converted(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A class of the library, called."""
        self.outside.unparsed.given(args, tuple(kwargs.values()))
        return self.world.convert(cls, args, kwargs)

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Python is called with these arguments, and may look into what is in them."""
        for x in (*args, *kwargs.values()):
            if type(x) in (list, tuple, set):
                self.world.read_object(x)
                self.outside.unparsed.given(x)
            else:
                self.used(x)

    def _late_text(self, owner: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunTimeText | None:
        """`text.format(..)` and `text.join(..)` of values whose numbers are not known yet."""
        if not isinstance(owner, str) or not self.is_late((*args, kwargs)):
            return None
        if name == "format":
            return formatted(owner, args, kwargs)
        return joined(owner, args[0]) if name == "join" and isinstance(args[0], (list, tuple)) else None

    def _check_arguments(self, function: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Python's own may neither look a run-time number up, nor go on in an iterator from outside, unseen."""
        if args and isinstance(owner, (dict, set, frozenset)):
            self.check_key(args[0], self.world.loc)
        if getattr(function, "__name__", "") in _GO_ON:
            self.check_iterator(owner)
        for x in (*args, *kwargs.values()):
            self.check_iterator(x)
            for item in x if type(x) in (list, tuple) else ():
                self.check_iterator(item)
        for x in args:
            if function in _SETS:
                for item in x if isinstance(x, (list, tuple)) else ():
                    self.check_key(item, self.world.loc)
            if purity.changes_arguments(function) and isinstance(x, CONTAINERS):
                self.journal.touch(ContentsPlace(x))
        if isinstance(kwargs.get("out"), CONTAINERS):
            self.journal.touch(ContentsPlace(kwargs["out"]))

    def _called_back(self, x: Any) -> Any:
        function = x
        while isinstance(function, (functools.partial, types.MethodType)):
            function = function.func if isinstance(function, functools.partial) else function.__func__
        if isinstance(function, (types.BuiltinMethodType, types.MethodWrapperType)) and not isinstance(function.__self__, types.ModuleType):
            return functools.partial(self.call_back, x)
        if isinstance(function, types.FunctionType) and not self.world.is_library(function) and not purity.is_of_pure_module(function):
            return functools.partial(self.call_back, x)
        return x

    def call_back(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function that Python was given as an argument, parsed."""
        return self.call(function, args, kwargs)

    def _check_pure(self, function: Any) -> None:
        if not purity.depends_on_arguments_alone(function):
            name = self.called_as or getattr(function, "__qualname__", type(function).__qualname__)
            raise errors.FROZEN_CALL.at(self.world.loc, f"`{name}` would be called once, while the graph is built",
                                        help="call it outside, and pass the result as an argument")

    def _made(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An instance of a class: of the user's own, its `__init__` is parsed."""
        if self.world.is_library(cls) or issubclass(cls, BaseException) or cls.__module__.partition(".")[0] in purity.MODULES:
            return self.native(cls, args, kwargs)
        new, init = self.special_of(cls, "__new__"), cls.__init__
        if self.world.is_cell_class(cls) and new is None and type(cls) is type:
            return self._made_cell(cls, init, args, kwargs)
        if any(self.world.is_library(base) for base in cls.__mro__ if base is not object):
            raise errors.UNSUPPORTED.at(self.world.loc, f"a {cls.__name__} is made inside of the graph", help="make it outside, once")
        if (cls.__new__ is not object.__new__ and new is None) or type(cls) is not type:
            return self.native(cls, args, kwargs)
        made = object.__new__(cls) if new is None else self.call(new, (cls, *args), kwargs)
        if not isinstance(made, cls):
            return made
        self.journal.born(ObjectPlace(made))
        if hasattr(cls, "__dataclass_fields__"):
            self._filled(made, args, kwargs)
        elif isinstance(init, types.FunctionType):
            self.call(init, (made, *args), kwargs)
        elif new is None:
            return self.native(cls, args, kwargs)
        return made

    def _made_cell(self, cls: type, init: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An instance of a cell of the user's own: its `__init__` is parsed, and calls the library's."""
        made = self.world.new_cell(cls)
        if self.world.is_library(init):
            self.world.initialise(made, init, args, kwargs)
            return made
        self.initialising += 1
        try:
            self.call(init, (made, *args), kwargs)
        finally:
            self.initialising -= 1
        return made

    def _filled(self, made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Fill a dataclass's object by the `__init__` that Python wrote; a `__post_init__` of the user's is parsed."""
        after = self.special(made, "__post_init__")
        given: list[tuple[Any, ...]] = []
        own = getattr(made, "__dict__", None)
        if after is None or own is None:
            self.native(type(made).__init__, (made, *args), kwargs)
            return
        own["__post_init__"] = lambda *rest: given.append(rest)
        self.native(type(made).__init__, (made, *args), kwargs)
        del own["__post_init__"]
        self.call(after, (made, *given[0]), {})

    # -- the user's functions -----------------------------------------------------------------------------------------
    def closure(self, node: ast.Lambda | ast.FunctionDef) -> Closure:
        """A function defined in parsed code: it sees the names around it."""
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        made = Closure(node, self.frame, self._signature(node), self.run_closure, name)
        self.journal.born(ObjectPlace(made))
        return made

    def _signature(self, node: ast.Lambda | ast.FunctionDef) -> inspect.Signature:
        given = node.args
        parameters: list[inspect.Parameter] = []
        positional = [*given.posonlyargs, *given.args]
        defaults = [inspect.Parameter.empty] * (len(positional) - len(given.defaults)) + [self.value(d) for d in given.defaults]
        for i, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
            kind = inspect.Parameter.POSITIONAL_ONLY if i < len(given.posonlyargs) else inspect.Parameter.POSITIONAL_OR_KEYWORD
            parameters.append(inspect.Parameter(argument.arg, kind, default=default))
        if given.vararg is not None:
            parameters.append(inspect.Parameter(given.vararg.arg, inspect.Parameter.VAR_POSITIONAL))
        for argument, default_node in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            default = inspect.Parameter.empty if default_node is None else self.value(default_node)
            parameters.append(inspect.Parameter(argument.arg, inspect.Parameter.KEYWORD_ONLY, default=default))
        if given.kwarg is not None:
            parameters.append(inspect.Parameter(given.kwarg.arg, inspect.Parameter.VAR_KEYWORD))
        return inspect.Signature(parameters)

    def run_closure(self, function: Closure, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function that parsed code has defined."""
        outer = function.__frame__
        frame = self._frame(function.__node__, outer.source, outer.space)
        frame.outer = outer
        return self._run(frame, function.__node__, function.__signature__, function.__name__, args, kwargs)

    def run_function(self, function: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of Python's by its tree."""
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self.world.read_attribute(function, name)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.outside.found(default)
        try:
            node, source = definition_of(function)
        except CompileError as mistake:
            if not self.depth:
                raise
            found = mistake.diagnostic
            raise type(mistake)(replace(found, notes=(*found.notes, Note("it is called here", self.world.loc)))) from None
        frame = self._frame(node, source, function.__globals__)
        frame.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        signature, loc = inspect.Signature.from_callable(function, follow_wrapped=False), self.world.loc
        try:
            return self._run(frame, node, signature, function.__qualname__, args, kwargs)
        except CompileError as mistake:
            inside = getattr(mistake.diagnostic.loc, "file", "")
            if not self.depth or purity.is_installed(self.frame.source.file) or not purity.is_installed(inside):
                raise
            raise errors.at_call(mistake, loc, function.__qualname__, (function.__module__ or "").partition(".")[0]) from None

    def as_python(self, function: Any) -> Any:
        """A function for Python to call at run time, such as a hook: one that parsed code defines is made into Python's own.

        CompileError when it needs a tensor of the graph, or assigns a name around it.
        """
        if isinstance(function, functools.partial):
            return functools.partial(self.as_python(function.func), *function.args, **function.keywords)
        if not isinstance(function, Closure):
            return function
        node, frame = function.__node__, function.__frame__
        names = self.names_around(function, f"the hook `{function.__name__}`")
        for name, value in names.items():
            if self.is_late(value):
                raise errors.UNSUPPORTED.at(frame.source.at(node), f"the hook uses `{name}`, a tensor that the graph computes",
                                            help="compute it in the hook, or let the hook be an operation of the graph")
        return python_function(node, frame, {name: self.as_python(value) for name, value in names.items()}, function.__signature__)

    @staticmethod
    def names_around(function: Closure, what: str) -> dict[str, Any]:
        """The names of the functions around that a function uses, with what they stand for now.  CompileError when it assigns one."""
        node, frame = function.__node__, function.__frame__
        if isinstance(node, ast.FunctionDef) and declared(node.body, ast.Nonlocal):
            raise errors.UNSUPPORTED.at(frame.source.at(node), f"{what} assigns a name of the function around it",
                                        help="keep what it counts in a list or an object of the outer program")
        own = local_names(node)
        found: dict[str, Any] = {}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id not in own and inner.id not in found:
                at: Frame | None = frame
                while at is not None:
                    if inner.id in at.names:
                        found[inner.id] = at.names[inner.id]
                        break
                    if inner.id in at.cells:
                        found[inner.id] = at.cells[inner.id].cell_contents
                        break
                    at = at.outer
        return found

    @staticmethod
    def _frame(node: ast.Lambda | ast.FunctionDef, source: Source, space: dict[str, Any]) -> Frame:
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
        return Frame(source, local_names(node), space, nonlocals=frozenset(declared(body, ast.Nonlocal)),
                     globals_=frozenset(declared(body, ast.Global)))

    def _run(self, frame: Frame, node: ast.Lambda | ast.FunctionDef, signature: inspect.Signature, name: str,
             args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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
                    self.journal.born(ContentsPlace(frame.names[parameter.name]))
            frame.goes_out = self.depth == 1 and self.world.is_outermost()
            if self.depth == 1:
                self.outside.given([*args, *kwargs.values()])
            frame.first = args[0] if args else None
            if isinstance(node, ast.Lambda):
                self.returns_at(node.body)
                return self.value(node.body)
            outcome = self.block(node.body)
            return self._returned(outcome, node)

    def _returned(self, outcome: Outcome | None, node: ast.FunctionDef) -> Any:
        if outcome is None:
            return None
        if outcome.is_known:
            return outcome.value
        returned = self.truth(outcome.code == RETURN, node)
        a = self.branching.branch(lambda: outcome.value)
        b = self.branching.branch(lambda: None)
        return self._merged(returned, a, b, node)

    def _check_generator(self, node: ast.FunctionDef, source: Source) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, (ast.Yield, ast.YieldFrom)):
                raise errors.UNSUPPORTED.at(source.at(inner), "a generator is not parsed", help="return a list")

    def _check_changes(self) -> None:
        """The function that is made into a graph has ended: CompileError when it has changed something outside."""
        if self.depth == 1:
            self.outside.check(self.is_late)

    def _take_back(self, is_meant: Callable[[Any], bool]) -> None:
        """The function that is made into a graph has failed: what it has changed outside is as it was, where `is_meant` says so."""
        if self.depth == 1:
            self.outside.restore(is_meant)

    @contextlib.contextmanager
    def _entered(self, frame: Frame, name: str) -> Iterator[None]:
        if self.depth >= self.world.call_depth():
            raise errors.TOO_DEEP.at(self.world.loc, f"`{name}` is called at a depth of {self.depth}",
                                     help="let a Python value end the recursion, write a loop, or raise max_call_depth")
        before, names, loc = self.frame, self.branching.local_names, self.world.loc
        frame.caller = before
        self.frame = frame
        self.frames.append(frame)
        self.depth += 1
        self.journal.born(NamesPlace(frame.names))
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
            raise errors.TOO_DEEP.at(loc, f"`{name}` calls itself too often",
                                     help="let a Python value end the recursion, or write a loop") from None
        except Exception:
            self._take_back(self.is_late)
            raise
        finally:
            self.depth -= 1
            self.frame, self.branching.local_names, self.world.loc = before, names, loc


def _hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


_GO_ON = frozenset({"__next__", "send", "throw", "close"})
"""The methods of iterators that go on, or end them."""


_SETS = (set, frozenset, dict.fromkeys, Counter)
"""What looks its items up."""
