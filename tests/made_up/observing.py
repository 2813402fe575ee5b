"""What made-up programs import: numbers for their tensors, and hooks that report what they are given.

A hook prints the numbers that it gets, all of their digits, and keeps the tensors: they are looked at after each later call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adjoint import Parameter, Tensor
from adjoint.runtime.tensor.structure import leaves
from tests.outcomes import bits

__all__ = [
    "acting", "after", "backward", "backward_pre", "forward", "forward_pre", "gradient", "heard", "held", "hold", "let_go", "numbers",
    "overwritten",
]

Change = Any
"""What a hook returns: None; "same": what it was given; a number: that times it; an exception: it is raised."""

held: list[Any] = []
"""The values that hooks of the program that runs were given, and what its calls returned."""

_as_given: list[tuple[Tensor, bytes]] = []
"""Their tensors, each with its numbers when it was given."""

_act: list[Callable[[], None]] = []
"""What happens whenever the program is given a value."""


def hold(value: Any) -> None:
    """Keep a value that the program was given."""
    held.append(value)
    _as_given.extend((x, bits(x)) for x in leaves([value], Tensor) if not isinstance(x, Parameter))
    for act in _act:
        act()


def let_go() -> None:
    """Begin with another run of a program."""
    held.clear()
    _as_given.clear()


def overwritten() -> list[Tensor]:
    """Return the tensors that have other numbers than when they were given."""
    return [x for x, before in _as_given if bits(x) != before]


@contextlib.contextmanager
def acting(act: Callable[[], None]) -> Iterator[None]:
    """Return the context in which `act` is called whenever the program is given a value: in the middle of runs by hooks, and after them."""
    _act.append(act)
    try:
        yield
    finally:
        _act.remove(act)


def numbers(seed: int, *shape: int, special: int = 0, low: float = -2.0, high: float = 2.0) -> Tensor:
    """Return a tensor of float32.

    special  1: zeros of both signs, ties and ones among the numbers, where operators have kinks; 2: infinities and NaN too
    """
    rng = np.random.default_rng([seed, *shape])
    found = rng.uniform(low, high, shape)
    if special:
        found = np.where(rng.random(shape) < 0.4, rng.choice([0.0, -0.0, 1.0, -1.0, 0.5], shape), found)
    if special > 1:
        found = np.where(rng.random(shape) < 0.1, rng.choice([np.inf, -np.inf, np.nan, 1e-40, 3e38], shape), found)
    return Tensor(np.asarray(found, np.float32))


def shown(value: Any) -> Any:
    """Return a value as Python's numbers."""
    if isinstance(value, Tensor):
        return value.asnumpy().tolist() if value.dtype.name != "bf16" else value.float().asnumpy().tolist()
    if isinstance(value, (tuple, list)):
        return type(value)(map(shown, value))
    return value


def heard(name: str, *values: Any) -> None:
    """Print values, and keep them."""
    print(name, *map(shown, values))
    for value in values:
        hold(value)


def changed(value: Any, change: Change) -> Any:
    if isinstance(change, Exception):
        raise change
    if change is None or isinstance(change, str):
        return value if change == "same" else None
    if isinstance(value, tuple):
        return tuple(x * change if isinstance(x, Tensor) and x.dtype.is_float else x for x in value)
    return value * change if isinstance(value, Tensor) else value


def after(calls: int, act: Callable[[], Any], hook: Callable[..., Any]) -> Callable[..., Any]:
    """Return a hook that does something more when it is called for the n-th time, such as to remove another one."""
    count = 0

    def counting(*given: Any) -> Any:
        nonlocal count
        count += 1
        if count == calls:
            act()
        return hook(*given)

    return counting


def forward_pre(name: str, change: Change = None) -> Callable[..., Any]:
    def hook(cell: Any, args: Any, *kwargs: Any) -> Any:
        heard(name, *args)
        made = changed(args, change)
        return (made, *kwargs) if kwargs and made is not None else made

    return hook


def forward(name: str, change: Change = None) -> Callable[..., Any]:
    def hook(cell: Any, args: Any, *rest: Any) -> Any:
        heard(name, *args, rest[-1])
        return changed(rest[-1], change)

    return hook


def backward_pre(name: str, change: Change = None) -> Callable[..., Any]:
    def hook(cell: Any, grad_output: Any) -> Any:
        heard(name, *grad_output)
        return changed(grad_output, change)

    return hook


def backward(name: str, change: Change = None) -> Callable[..., Any]:
    def hook(cell: Any, grad_input: Any, grad_output: Any) -> Any:
        heard(name, *grad_input, *grad_output)
        return changed(grad_input, change)

    return hook


def gradient(name: str, change: Change = None) -> Callable[..., Any]:
    """Return a hook of a tensor, of `HookBackward` or `InsertGradientOf`."""

    def hook(grad: Any) -> Any:
        heard(name, grad)
        return changed(grad, change)

    return hook
