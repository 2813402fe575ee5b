"""What a call did, and whether another call did the same: to the bit."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor, nn

__all__ = ["Outcome", "bits", "compiled", "kept", "mode", "same"]


@dataclass
class Outcome:
    """What a call did: its result, its output, how it ended, and the parameters and arguments afterwards.

    held    what earlier calls returned and hooks were given, as it is now
    events  the hooks that it called, as `hook_events.recorded` lists them
    """

    result: Any
    printed: str
    raised: Exception | None
    parameters: dict[str, Any]
    arguments: list[Tensor]
    held: list[Any] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)

    def compare(self, other: Outcome) -> None:
        """Raise AssertionError if `other` did something else."""
        if other.raised is not None and self.raised is None:
            raise other.raised
        assert type(other.raised) is type(self.raised), f"raised {other.raised!r}, not {self.raised!r}"
        same(self.result, other.result, "result")
        assert other.printed == self.printed, f"printed\n{other.printed}\nnot\n{self.printed}"
        same(self.parameters, other.parameters, "parameters")
        same(self.arguments, other.arguments, "arguments")
        same(self.held, other.held, "what earlier calls returned and hooks were given")
        assert other.events == self.events


def same(expected: Any, found: Any, where: str) -> None:
    """Raise AssertionError that says where, unless both are equal to the bit.

    A Python number that depends on a tensor (a counter in a loop on a tensor) may be a 0-d tensor in a graph.
    """
    if isinstance(expected, Tensor):
        assert isinstance(found, Tensor), f"{where}: {found!r} is no Tensor"
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), f"{where}: {found.dtype}{found.shape}"
        assert bits(found) == bits(expected), f"{where}: {found!r} is not {expected!r}"
    elif isinstance(expected, (tuple, list)):
        assert type(found) is type(expected), f"{where}: {found!r}"
        assert len(found) == len(expected), f"{where}: {found!r}"
        for i, (a, b) in enumerate(zip(expected, found, strict=True)):
            same(a, b, f"{where}[{i}]")
    elif isinstance(expected, dict):
        assert list(found) == list(expected), f"{where}: {found!r}"
        for key in expected:
            same(expected[key], found[key], f"{where}[{key!r}]")
    elif isinstance(expected, (bool, int, float)) and isinstance(found, Tensor) and found.shape == ():
        assert found.item() == expected, f"{where}: {found!r} is not {expected!r}"
    elif isinstance(expected, float):
        assert type(found) is float and struct.pack("d", found) == struct.pack("d", expected), f"{where}: {found!r} is not {expected!r}"
    else:
        assert type(found) is type(expected) and found == expected, f"{where}: {found!r} is not {expected!r}"


def bits(x: Tensor) -> bytes:
    """Return the bytes of a tensor's numbers, with one NaN for all: its sign and payload say nothing."""
    array = x.asnumpy()
    if array.dtype.kind == "f":
        missing = np.isnan(array)
        if missing.any():
            array = np.where(missing, array.dtype.type(np.nan), array)
    return array.tobytes()


def kept(value: Any) -> Any:
    """Return the value with new tensors, which later writes do not change."""
    if isinstance(value, Tensor):
        return Tensor(value)
    if isinstance(value, (tuple, list)):
        items = [kept(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return {key: kept(item) for key, item in value.items()} if isinstance(value, dict) else value


def compiled(fn: Any) -> Callable[..., Any]:
    """Return the function as a graph; for a Cell, a function that calls it."""
    if not isinstance(fn, nn.Cell):
        return adjoint.jit(fn)
    cell = fn

    def called(*arguments: Any, **keywords: Any) -> Any:
        return cell(*arguments, **keywords)

    return adjoint.jit(called)


@contextlib.contextmanager
def mode(chosen: int) -> Iterator[None]:
    """Return the context in which programs run in PYNATIVE_MODE or GRAPH_MODE."""
    before = adjoint.get_context("mode")
    adjoint.set_context(mode=chosen)
    try:
        yield
    finally:
        adjoint.set_context(mode=before)
