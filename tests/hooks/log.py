"""The log of a run, as a list by which two runs can be compared: every value with its bits, every exception with its first line.

An event is a tuple: a label, then values in the form of `frozen`.  `F(1, 2)` writes such a value by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import Tensor

__all__ = ["Bits", "Boom", "Event", "F", "Starts", "Trace", "first", "frozen"]

Event = tuple[Any, ...]


class Boom(Exception):
    """An exception of a type unknown to the library."""


@dataclass(frozen=True)
class Bits:
    """The dtype, shape and memory of a tensor."""

    dtype: str
    shape: tuple[int, ...]
    memory: bytes

    def __repr__(self) -> str:
        values = np.frombuffer(self.memory, self.dtype).reshape(self.shape).tolist()
        return f"{self.dtype}{list(self.shape)}:{values}"


@dataclass(frozen=True, eq=False)
class Starts:
    """Equal to any string that begins with this one."""

    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and other.startswith(self.text)

    __hash__ = None  # type: ignore[assignment]


def F(*values: float, dtype: str = "float32") -> Bits:  # as short as a number, for logs written by hand
    """Return a vector in the form of `frozen`."""
    array = np.array(values, dtype)
    return Bits(dtype, array.shape, array.tobytes())


def frozen(value: Any) -> Any:
    """Return tensors and arrays by their bits, also inside containers; other things unchanged."""
    if isinstance(value, Tensor):
        array = np.ascontiguousarray(value.asnumpy())
        return Bits(str(array.dtype), tuple(value.shape), array.tobytes())
    if isinstance(value, np.ndarray):
        return ("array", Bits(str(value.dtype), value.shape, value.tobytes()))
    if isinstance(value, tuple):
        return tuple(frozen(item) for item in value)
    if isinstance(value, list):
        return [frozen(item) for item in value]
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return value


def first(value: Any) -> Any:
    """Return the first entry of a tuple, or the value itself."""
    return value[0] if isinstance(value, tuple) else value


def first_line(raised: BaseException) -> str:
    """Return the first line of an exception's message, with the forward line if that belongs to a program.

    If a mode itself calls the program, the line is the mode's and differs.  Numbers of tensors are removed: a graph finds a type error
    before there are numbers.
    """
    lines = re.sub(r"value= ?(<[^>]*>|\[[^\]]*\]|[-+.\w]+)", "value= ...", str(raised)).splitlines()
    return re.sub(r", forward at (?![^,)]*programs\.py)[^,)]*", "", lines[0]) if lines else ""


class Trace:
    """The events of a run, in order, and factories of hooks that log them."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, label: str, *values: Any) -> None:
        self.events.append((label, *frozen(values)))

    def call(self, label: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call, and log the result, or the exception, which is returned."""
        try:
            result = function(*args, **kwargs)
        except (Exception, KeyboardInterrupt, SystemExit) as raised:
            if isinstance(raised, KeyboardInterrupt) and raised.args != ("boom",):
                raise  # somebody wants to stop the tests
            self.add(label, "raised", type(raised).__name__, first_line(raised))
            return raised
        self.add(label, result)
        return result

    # -- hooks, one maker for each signature; `act` is given what the hook may replace ---------------------------------
    def forward_pre(self, name: str, act: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
        def hook(cell: Any, args: Any) -> Any:
            self.add(name, args)
            return None if act is None else act(args)

        return hook

    def forward_pre_kwargs(self, name: str, act: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
        def hook(cell: Any, args: Any, kwargs: Any) -> Any:
            self.add(name, args, kwargs)
            return None if act is None else act(args)

        return hook

    def forward(self, name: str, act: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
        def hook(cell: Any, args: Any, output: Any) -> Any:
            self.add(name, args, output)
            return None if act is None else act(output)

        return hook

    def forward_kwargs(self, name: str, act: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
        def hook(cell: Any, args: Any, kwargs: Any, output: Any) -> Any:
            self.add(name, args, kwargs, output)
            return None if act is None else act(output)

        return hook

    def backward_pre(self, name: str, act: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
        def hook(cell: Any, grad_output: Any) -> Any:
            self.add(name, grad_output)
            return None if act is None else act(grad_output)

        return hook

    def backward(self, name: str, act: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
        def hook(cell: Any, grad_input: Any, grad_output: Any) -> Any:
            self.add(name, grad_input, grad_output)
            return None if act is None else act(grad_input)

        return hook

    def gradient(self, name: str, act: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
        def hook(grad: Any) -> Any:
            self.add(name, grad)
            return None if act is None else act(grad)

        return hook
