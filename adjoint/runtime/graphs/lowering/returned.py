"""The result of parsed code, in a form from which each run of the graph rebuilds it.

Parsed code runs once, while the graph is made; the graph runs many times.  An object that this code made and returns is therefore a
pattern: each call returns a new object of the same type with the values of that call.  An object that existed before the function ran is
returned as it is.

    zip(xs, ys)              Remade(parts=[(x0, y0), (x1, y1)], end=...)     a new iterator for each call
    Net.Output(loss, y)      Remade(parts={"loss": .., "y": ..}, ...)        a new object
    lambda: x + 1            Remade(parts=(x, ..), ...)                      a Python function with that call's `x`

An object of any other type that holds a value of the graph raises CompileError: it would hold a tensor without numbers.
"""

from __future__ import annotations

import array
import collections
import copy
import functools
import gc
import itertools
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from adjoint.foundation.diagnostics import CompileError
from adjoint.frontend import errors
from adjoint.frontend.calls.python_calls import CalledBack
from adjoint.frontend.calls.python_functions import python_function
from adjoint.frontend.changes import purity
from adjoint.frontend.changes.outside import beneath
from adjoint.frontend.control.branches import PerhapsNone
from adjoint.frontend.lowerer import Lowerer
from adjoint.frontend.values.chosen import check
from adjoint.frontend.values.frame import UNBOUND, Closure, Unusable
from adjoint.frontend.values.text import RunTimeText
from adjoint.runtime.graphs.inputs.outline import Remade
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber, GraphParameter, GraphTensor
from adjoint.runtime.graphs.lowering.made import Made
from adjoint.runtime.graphs.lowering.python_objects import PythonObjects
from adjoint.runtime.graphs.lowering.python_state import PythonState
from adjoint.runtime.graphs.lowering.reads import Reads
from adjoint.runtime.graphs.lowering.stored_containers import Route, put_contents
from adjoint.runtime.tensor.structure import items, keys, like
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Returned"]

_MOST_ITEMS = 1_000_000
"""The limit for the items that are left in an iterator which the function returns; one with more counts as endless, an error."""

_Item = TypeVar("_Item")


def _itself(x: _Item) -> _Item:
    return x


def _generated(items: Iterable[_Item]) -> Iterator[_Item]:
    yield from items


def _zipped(items: list[tuple[Any, ...]]) -> Iterator[Any]:
    return zip(*zip(*items, strict=True), strict=True)


def _counted(items: list[tuple[int, Any]]) -> Iterator[Any]:
    return enumerate([x for _, x in items], items[0][0] if items else 0)


def _backwards(items: list[_Item]) -> Iterator[_Item]:
    items.reverse()
    return reversed(items)


def _stepped(items: list[int]) -> Iterator[int]:
    step = items[1] - items[0] if len(items) > 1 else 1
    return iter(range(items[0], items[-1] + step, step) if items else range(0))


_ITERATORS: dict[type, Callable[[list[Any]], Iterator[Any]]] = {
    zip: _zipped, enumerate: _counted, map: lambda items: map(_itself, items), filter: lambda items: filter(lambda x: True, items),
    type(iter([])): iter, type(iter(())): lambda items: iter(tuple(items)), types.GeneratorType: _generated,
    type(reversed([])): _backwards, reversed: _backwards, itertools.chain: itertools.chain,
    itertools.islice: lambda items: itertools.islice(items, None),
    type(iter("a")): lambda items: iter("".join(items)), type(iter("\xe9")): lambda items: iter("".join(items)),
    type(iter(b"")): lambda items: iter(bytes(items)), type(iter(range(0))): _stepped,
    type(iter({})): lambda items: iter(dict.fromkeys(items)), type(iter({}.items())): lambda items: iter(dict(items).items()),
    type(iter({}.values())): lambda items: iter(dict(enumerate(items)).values()),
}
"""For each type of iterator, a function that makes such an iterator over given items."""

_VIEWS = {type({}.keys()): "keys", type({}.values()): "values", type({}.items()): "items"}
_VIEWS |= {type(getattr(collections.OrderedDict(), name)()): name for name in ("keys", "values", "items")}

_CONSTANT = (
    type, types.ModuleType, types.FunctionType, types.CodeType, str, bytes, int, float, complex, type(None), range, np.generic, np.dtype,
)
_CHANGED = (collections.OrderedDict, dict, list, collections.deque)
"""Containers that a caller may change: it matters whether one object is returned in several places."""
_BY_CONTENTS = (list, dict, set, collections.deque, bytearray, np.ndarray, types.MappingProxyType)
"""Types of containers for which a guard compares the contents, so that another object with equal contents passes."""
_LATE = (GraphTensor, GraphNumber, RunTimeText)


class Returned:
    """Turns the result of a function that is made into a graph into a pattern, from which the result of each call is made.

    frontend, objects, made, reads, state  the parts of the `Lowering` that know where a Python object comes from
    """

    def __init__(self, frontend: Lowerer, objects: PythonObjects, made: Made, reads: Reads, state: PythonState):
        self._on, self._objects, self._made, self._reads, self._state = frontend, objects, made, reads, state
        self._known: dict[int, tuple[Any, Any]] = {}
        """For the id of each object that has been seen in the result: the object and its pattern; None while the pattern is being made."""
        self._met: dict[int, int] = {}
        """For the id of each container: how often it occurs in the result."""

    def _check_own(self, x: Any) -> None:
        """Raise CompileError for a cell or Parameter that parsed code (the user's code of the graph) has made: each call would return the
        same object instead of a new one.
        """
        if self._made.holds(x):
            raise errors.UNSUPPORTED.at(
                self._on.returned_at,
                f"{errors.with_article(type(x).__name__)} that the graph makes is returned, of which each call would need a new one",
                help="make it outside, once: in `__init__`; or return the numbers of a Parameter: `p.value()`")

    def taken(self, x: Any) -> Any:
        """Return the pattern from which one value of the result is made in each call: the value itself, a structure of patterns, or a
        `Remade` for an object that each call creates.

        CompileError for an object that holds a value of the graph where it cannot be replaced.
        """
        self._check_own(x)
        if isinstance(x, Tensor) and self._made.has_tensor(x):
            return Remade(begin=functools.partial(copy.copy, x))
        if isinstance(x, (*_CONSTANT, *_LATE, Tensor)) and not isinstance(x, GraphParameter):
            return x
        check(x)
        if isinstance(x, PerhapsNone):
            return Remade((x.there, self.taken(x.value)), end=lambda _, parts: parts[1] if parts[0] else None)
        if not self._known:
            self._meet(x)
        if id(x) not in self._known:
            self._known[id(x)] = x, None
            self._known[id(x)] = x, self._taken(x)
        found = self._known[id(x)][1]
        if found is None:
            raise self._refused(x, "which contains itself")
        return found

    def _taken(self, x: Any) -> Any:
        if isinstance(x, Closure):
            return self._function(x)
        if isinstance(x, GraphParameter):
            make = x.maker()
            return Remade(x.plain(), end=lambda _, values: make(values))
        route = self._state.containers.route(x)
        if route is not None:
            self._state.refresh(x)
            return self._stored(x, route)
        if self._goes_out(x):
            for held in (x, *beneath(x)):
                self._reads.read_identity(held)
            return Remade(begin=lambda: x)
        parts = items(x)
        if parts is None:
            return self._object(x)
        if isinstance(x, dict) and any(map(self._holds_late, x)):
            raise self._refused(x, "as keys of it")
        if isinstance(x, _CHANGED) and (self._met.get(id(x), 0) > 1 or _attributes(x)):
            return self._container(x, parts)
        return like(x, [self.taken(part) for part in parts])

    def _goes_out(self, x: Any) -> bool:
        """Return True for an object that existed before the function ran, and that each call returns as it is.

        Containers among the arguments are rebuilt instead.
        """
        outside = self._on.outside
        return not isinstance(x, (tuple, slice)) and outside.holds(x) and not (isinstance(x, _BY_CONTENTS) and outside.is_given(x))

    def _meet(self, x: Any) -> None:
        """Count how often each container occurs in the result, so that one that occurs twice is made once in each call.

        Containers in the attributes of objects count, too.
        """
        pending = [x]
        while pending:
            part = pending.pop()
            if isinstance(part, (*_CONSTANT, *_LATE, Tensor, Closure)) or self._state.containers.route(part) or self._goes_out(part):
                continue
            parts = items(part)
            if parts is None and self._is_plain(part):
                parts = [*getattr(part, "__dict__", {}).values()]
            if parts is not None:
                self._met[id(part)] = self._met.get(id(part), 0) + 1
                if self._met[id(part)] == 1:
                    pending += parts

    def _container(self, x: Any, parts: Sequence[Any]) -> Remade:
        """Return the pattern of a container that occurs several times in the function's result, or that has attributes.  Each time the
        graph runs, the pattern (see `Remade`) makes one object, which then stands at all these places.

        parts  its items
        """
        kind: Any = next(kind for kind in _CHANGED if isinstance(x, kind))
        empty = copy.copy(x)
        kind.clear(empty)
        attributes = _attributes(x)
        for name in attributes:
            setattr(empty, name, None)

        def end(made: Any, filled: tuple[list[Any], dict[str, Any]]) -> Any:
            if isinstance(made, dict):
                for name, part in zip(names, filled[0], strict=True):
                    kind.__setitem__(made, name, part)
            else:
                kind.extend(made, filled[0])
            for name, value in filled[1].items():
                setattr(made, name, value)
            return made

        names = keys(x) if isinstance(x, dict) else []
        made = Remade(begin=lambda: copy.copy(empty), end=end)
        self._known[id(x)] = x, made  # it may contain itself
        made.parts = [self.taken(part) for part in parts], self.taken(attributes)
        return made

    def _stored(self, x: Any, route: Route) -> Remade:
        """Return the pattern of a list or dict that the graph has stored outside: each call returns the stored one, with its own tensors.
        """
        return Remade(like(x, [self.taken(part) for part in items(x) or ()]), route.finder(type(x)), put_contents)

    def _object(self, x: Any) -> Any:
        kind = type(x)
        if kind in (set, frozenset):
            return self._of_items(x, kind)
        if isinstance(x, np.ndarray):
            if not x.dtype.hasobject:
                return Remade(begin=x.copy().copy)
            shape = x.shape
            return self._of_items(x.ravel().tolist(), lambda parts: _array(parts, shape))
        if kind in (bytearray, array.array):
            contents = x[:]
            return Remade(begin=lambda: contents[:])
        if kind in _VIEWS or kind is types.MappingProxyType:
            (mapping,) = gc.get_referents(x)
            name = _VIEWS.get(kind)
            return Remade(self.taken(mapping), end=lambda _, held: getattr(held, name)() if name else types.MappingProxyType(held))
        if isinstance(x, functools.partial):
            if isinstance(x, CalledBack):
                return self.taken(x.function)
            return Remade(self.taken((x.func, x.args, {**x.keywords})), end=lambda _, parts: kind(parts[0], *parts[1], **parts[2]))
        if isinstance(x, types.MethodType):
            return Remade(self.taken((x.__func__, x.__self__)), end=lambda _, parts: types.MethodType(*parts))
        if isinstance(x, (types.BuiltinMethodType, types.MethodWrapperType)):
            name = x.__name__
            return Remade(self.taken((x.__self__,)), end=lambda _, parts: getattr(parts[0], name))
        if isinstance(x, Iterator) and id(x) in self._on.iterators:
            return self._iterator(x)
        if self._is_plain(x):
            return self._instance(x)
        if self._holds_late(x):
            raise self._refused(x)
        return Remade(begin=lambda: x)

    def _of_items(self, parts: Iterable[Any], make: Callable[[list[Any]], Any]) -> Remade:
        return Remade([self.taken(part) for part in parts], end=lambda _, parts: make(parts))

    def _iterator(self, x: Iterator[Any]) -> Remade:
        """Return the pattern of an iterator that parsed code (the user's code of the graph) has made: each call makes one over the
        remaining items, which are taken out here.
        """
        make = _ITERATORS.get(type(x))
        if make is None:
            raise self._refused(x)
        left = list(itertools.islice(x, _MOST_ITEMS + 1))
        if len(left) > _MOST_ITEMS:
            raise errors.UNSUPPORTED.at(self._on.returned_at, "an iterator that does not seem to end is returned",
                                        help="make it outside of the function, of what the function returns")
        return self._of_items(left, make)

    def _is_plain(self, x: Any) -> bool:
        """Return True if each call may make a new object with the same attributes instead of this one."""
        kind = type(x)
        if self._objects.is_cell(x) or self._objects.is_library(kind) or isinstance(x, BaseException):
            return False
        if kind is types.SimpleNamespace:
            return True
        try:
            object.__new__(kind)
        except TypeError:
            return False
        return not purity.is_in_c(kind)

    def _instance(self, x: Any) -> Remade:
        """Return the pattern of an instance of a user's class: each call makes a new object with the attributes of that call."""
        kind = type(x)
        made = Remade(begin=kind if kind is types.SimpleNamespace else lambda: object.__new__(kind), end=_with_attributes)
        self._known[id(x)] = x, made  # its attributes may lead to it
        own = dict(getattr(x, "__dict__", {}))
        for base in kind.__mro__:
            for name, member in vars(base).items():
                if isinstance(member, types.MemberDescriptorType) and name != "__dict__" and hasattr(x, name):
                    own[name] = getattr(x, name)
        made.parts = {name: self.taken(value) for name, value in own.items()}
        return made

    # -- functions --------------------------------------------------------------------------------------------------
    def _function(self, function: Closure) -> Remade:
        """Return the pattern of a function that parsed code (the user's code of the graph) defines.

        Each call makes a Python function whose variables of enclosing functions have the values of that call.
        """
        names = {name: value for name, value in self._on.names_around(function, f"`{function.__name__}`, which is returned,").items()
                 if value is not UNBOUND and not isinstance(value, Unusable)}
        pattern = python_function(function.__node__, function.__frame__, dict.fromkeys(names), function.__signature__)
        free, defaults = pattern.__code__.co_freevars, (pattern.__defaults__, pattern.__kwdefaults__)
        pattern.__defaults__ = pattern.__kwdefaults__ = None
        called = function.__name__, function.__qualname__

        def begin() -> Any:
            around = tuple([types.CellType() for _ in free])
            return types.FunctionType(pattern.__code__, pattern.__globals__, pattern.__name__, None, around)

        def end(made: Any, parts: tuple[dict[str, Any], Any, Any, dict[str, Any]]) -> Any:
            values, made.__defaults__, made.__kwdefaults__, attributes = parts
            for name, cell in zip(free, made.__closure__ or (), strict=True):
                cell.cell_contents = values[name]
            made.__doc__, made.__name__, made.__qualname__, made.__module__ = pattern.__doc__, *called, pattern.__module__
            for name, value in attributes.items():
                setattr(made, name, value)
            return made

        made = Remade(begin=begin, end=end)
        self._known[id(function)] = function, made  # it may call itself
        made.parts = {name: self.taken(names[name]) for name in free}, *map(self.taken, (*defaults, vars(function)))
        return made

    # -- errors --------------------------------------------------------------------------------------------------------
    def _holds_late(self, x: Any) -> bool:
        """Return True if the object `x` refers to a value that is known only when the graph runs, or to a function that parsed code (the
        user's code of the graph) defines.
        """
        outside, pending, seen = self._on.outside, [x], set[int]()
        while pending:
            part = pending.pop()
            if isinstance(part, (*_LATE, Closure)):
                return True
            if id(part) not in seen and not outside.holds(part):
                seen.add(id(part))
                pending += outside.parts(part)
        return False

    def _refused(self, x: Any, how: str = "") -> CompileError:
        kind = errors.with_article(type(x).__name__)
        if not self._holds_late(x):
            return errors.UNSUPPORTED.at(
                self._on.returned_at, f"{kind}{f', {how},' if how else ''} is returned, which a graph cannot make anew at each call",
                help="make it outside of the function, of what the function returns" + (
                    "; of one that ends, `list(..)` can be returned" if isinstance(x, Iterator) else ""))
        what = f"values that the graph computes are returned inside of {kind}{f', {how}' if how else ''}"
        instead = "return a list of what it gives: `list(..)`" if isinstance(x, Iterator) \
            else "return them themselves, or in tuples, lists and dicts"
        return errors.STORED_TENSOR.at(self._on.returned_at, what, help=instead)


def _attributes(x: Any) -> dict[str, Any]:
    """Return the attributes that a container has besides its items, as an instance of a user's subclass of list may have."""
    made_of = {"default_factory": x.default_factory} if isinstance(x, collections.defaultdict) else {}
    return made_of | getattr(x, "__dict__", {})


def _with_attributes(made: Any, attributes: dict[str, Any]) -> Any:
    own = getattr(made, "__dict__", None)
    for name, value in attributes.items():
        if own is None or isinstance(getattr(type(made), name, None), types.MemberDescriptorType):
            object.__setattr__(made, name, value)
        else:
            own[name] = value
    return made


def _array(parts: list[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return a NumPy array of Python objects with this shape."""
    made = np.empty(len(parts), object)
    for i, part in enumerate(parts):
        made[i] = part
    return made.reshape(shape)
