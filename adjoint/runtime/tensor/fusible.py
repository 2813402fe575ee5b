"""Fusible functions: functions of the library that check arguments and run ops, run as one sequence of kernels in eager mode.

    @fusible
    def clamp(input, min=None, max=None): ...

A call is looked up by the types of its tensors and its other arguments.  The first calls run the function itself.  Then the function is
traced (`execution/fusible_calls.py`), and from then on a call with the same types and arguments does nothing but

    launch its fused kernels, compiled in another thread     while nothing is recorded
    launch its kernels as they are, and record all of its    while a tape records a gradient
    ops on the tape at once

The bits are those of the function, and so are the recorded ops.  The function itself runs

- while a graph is made or operators are observed (`watch`): these meet every op
- for arguments of other kinds than tensors, numbers, strings, dtypes, slices, None, and tuples and lists of these
- where its result depends on the numbers in tensors, or on a draw, or is one of its arguments
- after a failure, such as an index out of range, so that it raises the exception
- once there are too many kinds of arguments
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from adjoint.foundation.budget import Refillable, budget
from adjoint.ir.types import DType
from adjoint.runtime.memory.machine import machine
from adjoint.runtime.memory.watching import observations
from adjoint.runtime.process.context import background_compile
from adjoint.runtime.process.tracer import state, tracing
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["CALLS_BEFORE", "FusedCall", "fusible", "itself", "on_frequent_calls"]

CALLS_BEFORE = 3
"""How often a function itself is called with arguments of the same types before its kernels are fused."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

FusedCall = Callable[[tuple[Any, ...], dict[str, Any]], Any]
"""Takes the positional arguments and those by name, and returns the function's result."""

CallMaker = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], Callable[[FusedCall], None]], None]
"""Takes a function, the arguments of a call, those by name, and a function to be called, now or later, with the FusedCall; and again with
each one that takes its place."""

_makers: dict[str, CallMaker] = {}
_every: list[dict[Any, FusedCall]] = []
_CALL = 2000
"""Estimated bytes of what is kept for a call with certain types of arguments, without its kernels."""
_MOST = 512
"""For how many kinds of arguments of one function something is kept: a loop may count through thousands of positions."""


def _forget() -> None:
    for calls in _every:
        calls.clear()


Refillable("calls of fusible functions", lambda: sum(map(len, _every)) * _CALL, _forget)


def on_frequent_calls(*, fused: CallMaker, recorded: CallMaker) -> None:
    """Set the functions that prepare a call for frequent use.

    fused     for calls that nothing records
    recorded  for calls under a tape
    """
    _makers.update(fused=fused, recorded=recorded)


def _key_of_tuple(x: Any, tensor: type = Tensor) -> Any:
    # A loop of its own, and tensors by themselves: a comprehension and a call for each take as long as the look-up.
    key = [x.__class__]
    for item in x:
        kind = item.__class__
        key.append(item.type if kind is tensor else item if kind in _OWN_KEYS else _KEYS[kind](item))
    return tuple(key)


def _key_of_slice(x: slice) -> Any:
    first, end, step = x.start, x.stop, x.step
    if first.__class__ in _OWN_KEYS and end.__class__ in _OWN_KEYS and step.__class__ in _OWN_KEYS:
        return slice, first, end, step
    return slice, _key_of_tuple((first, end, step))


_OWN_KEYS = frozenset((int, str, type(None), type(...), DType))
"""The kinds of arguments that are their own keys."""

_KEYS: dict[type, Callable[[Any], Any]] = {
    Tensor: lambda x: x.type, Parameter: lambda x: (Parameter, x.type), bool: lambda x: (bool, x), float: lambda x: (float, x or repr(x)),
    tuple: _key_of_tuple, list: _key_of_tuple, slice: _key_of_slice,
}
"""For each other kind of argument, a function that returns a key: it differs for arguments with which the function may do something else.

A number's key tells 1, 1.0 and True apart, and 0.0 from -0.0.
"""


def fusible(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let a function of the library that computes tensors from tensors run as one sequence of kernels where it can be.

    The function must depend on nothing but its arguments: on no setting, no draw, no state.
    """
    fused: dict[Any, FusedCall] = {}
    recorded: dict[Any, FusedCall] = {}
    _every.extend((fused, recorded))
    tensor, own, keys = Tensor, _OWN_KEYS, _KEYS

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        calls = fused
        if observations:
            return function(*args, **kwargs)
        if tracing and (tracer := state.tracer) is not None:
            if tracer.emits is not False:
                return function(*args, **kwargs)
            calls = recorded
        try:
            # One and two arguments by themselves, the most common calls: a comprehension takes as long as the rest.
            count = 0 if kwargs else len(args)
            if count == 1:
                (x,) = args
                key = x.type if x.__class__ is tensor else (x if x.__class__ in own else keys[x.__class__](x),)
            elif count == 2:
                x, y = args
                key = (x.type if x.__class__ is tensor else x if x.__class__ in own else keys[x.__class__](x),
                       y.type if y.__class__ is tensor else y if y.__class__ in own else keys[y.__class__](y))
            else:
                key = tuple([x.type if x.__class__ is tensor else x if x.__class__ in own else keys[x.__class__](x) for x in args])
                if kwargs:
                    key = key, *[(name, x if x.__class__ in own else keys[x.__class__](x)) for name, x in kwargs.items()]
        except (KeyError, RecursionError):  # another kind of argument, or a list that contains itself
            return function(*args, **kwargs)
        try:
            found = calls[key]
        except KeyError:
            found = _begun(function, calls, key, "fused" if calls is fused else "recorded")
        return found(args, kwargs)

    return call


def _begun(function: Callable[..., Any], calls: dict[Any, FusedCall], key: Any, way: str) -> FusedCall:
    """Return a function for calls with new kinds of arguments; keep it if there is room."""
    if len(calls) >= _MOST:
        for old, call in calls.copy().items():
            if isinstance(call, _Beginning):
                calls.pop(old, None)
        if len(calls) > _MOST // 2:
            return itself(function)
    found = calls[key] = _Beginning(function, calls, key, way)
    budget.charge(_CALL)
    return found


def itself(function: Callable[..., Any]) -> FusedCall:
    """Return the function in the form in which calls are kept."""
    return lambda args, kwargs: function(*args, **kwargs)


class _Beginning:
    """Calls the function itself, and after some calls asks for what takes its place.

    calls, key  where that is put
    way         "fused" or "recorded": which maker is asked
    """

    __slots__ = ("_calls", "_count", "_function", "_key", "_way")

    def __init__(self, function: Callable[..., Any], calls: dict[Any, FusedCall], key: Any, way: str):
        self._function, self._calls, self._key, self._way, self._count = function, calls, key, way, 0

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # Asked for before the function runs: what it calls is not called as often, if nobody else calls it.
        self._count += 1
        if self._count == CALLS_BEFORE:
            if machine().kernels is None or (self._way == "fused" and background_compile() in (False, "plain")):
                self._count = 0  # asked again, since the setting may change
            else:
                _makers[self._way](self._function, args, kwargs, self._put)
        return self._function(*args, **kwargs)

    def _put(self, made: FusedCall) -> None:
        if self._key in self._calls:  # not dropped by the budget
            self._calls[self._key] = made
