"""Attributes and names that change from call to call: the graph reads them after some values, and gives what eager mode gives."""

from __future__ import annotations

import gc
import math
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops

FLOATS = [0.1, 0.25, -0.0, 0.0, 1e-30, math.inf, -3.7, math.nan, 2.0, 0.1]
TENSORS = [Tensor(np.array([0.5, -0.0, 3.0], np.float32) * (i - 2)) for i in range(8)]
CHANGING: list[Any] = [*FLOATS[:5], *TENSORS[:4], 7, 0.3, Tensor([1, 2, 3]), True, 0.7, None, TENSORS[5], 0.9]
"""The type changes as well."""


def x_of() -> Tensor:
    return Tensor([0.25, -0.0, 2.0])


class Scaled(nn.Cell):
    """Its `rate` is read by `body`, or by construct."""

    def __init__(self, body: Callable[[Any, Any], Any]):
        super().__init__()
        self.rate: Any = 0.5
        self.other = 1.0
        self.calls = 0
        self.w = Parameter(Tensor([1.0, -2.0, 0.5]), name="w")
        self.body = body

    def construct(self, x: Any) -> Any:
        return self.body(self, x)


BODIES: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda self, x: x * self.rate + self.w if self.rate is not None else x - self.w,
    "twice": lambda self, x: ops.tanh(x * self.rate) * self.w + self.rate,
    "branch": lambda self, x: x * self.w if x.sum() > self.rate else x + self.rate,
    "loop": lambda self, x: looped(x * self.w, self.rate),
    "counted": lambda self, x: counted(self, x),
    "tuple": lambda self, x: (x * self.rate, self.rate),
    "half": lambda self, x: x.astype(ms.float16) * self.rate,
    "whole": lambda self, x: (x * 3).astype(ms.int32) * self.rate,
    "quotient": lambda self, x: x * (1 / (self.rate + 2)) + self.rate ** 2,
    "two places": lambda self, x: x * self.rate + self.other * self.w,
    "made": lambda self, x: ops.full_like(x, self.rate) + x,
    "inner": lambda self, x: helper(self, x * self.w),
}
"""These read the rate in each run."""

CONSTANT: dict[str, Callable[[Any, Any], Any]] = {
    "rounded": lambda self, x: x * int(self.rate * 10),
    "key": lambda self, x: x * {0.1: 3, 0.25: 4}.get(self.rate, 5),
    "function": lambda self, x: x * math.cos(self.rate),
}
"""In these Python needs to know the rate while parsing."""


def looped(x: Any, rate: Any) -> Any:
    while x.sum() < 5:
        x = x * 2 + rate * rate + 1
    return x


def counted(self: Any, x: Any) -> Any:
    self.calls += 1
    return x * self.rate * self.calls


def helper(self: Any, x: Any) -> Any:
    def inside(y: Any) -> Any:
        return (y * self.rate).sum()

    return ms.grad(inside)(x) * x


def bits(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [bits(item) for item in x]
    if isinstance(x, Tensor):
        numbers = x.asnumpy()
        numbers = np.where(np.isnan(numbers), np.full_like(numbers, np.nan), numbers) if numbers.dtype.kind == "f" else numbers
        return str(x.dtype), x.shape, numbers.tobytes()
    return type(x), repr(x)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return bits(function(*args))
    except (TypeError, ValueError, OverflowError, RuntimeError) as raised:
        return type(raised)


def as_jitted(cell: nn.Cell) -> Callable[[Any], Any]:
    return ms.jit(lambda x: cell(x))


def as_gradient(cell: nn.Cell) -> Callable[[Any], Any]:
    gradient = ms.grad(cell, 0, cell.trainable_params())
    return ms.jit(lambda x: gradient(x))


def as_listing(cell: nn.Cell) -> Callable[[Any], Any]:
    """Return what lists the parameters of the cell in the graph."""
    return ms.jit(lambda x: ms.grad(cell, 0, cell.trainable_params())(x))


def as_gradient_outside(cell: nn.Cell) -> Callable[[Any], Any]:
    return ms.grad(ms.jit(lambda x: cell(x)))


def eager_gradient(cell: nn.Cell) -> Callable[[Any], Any]:
    return ms.grad(cell, 0, cell.trainable_params())


FORMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "call": (as_jitted, lambda cell: cell), "gradient": (as_gradient, eager_gradient), "outside": (as_gradient_outside, ms.grad),
    "listing": (as_listing, eager_gradient),
}


@pytest.fixture(autouse=True)
def _eager() -> Iterator[None]:
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("body", [*BODIES, *CONSTANT])
def test_every_value_gives_what_eager_mode_gives(body: str, form: str, built: list[Any]) -> None:
    (graph, eager), which = FORMS[form], {**BODIES, **CONSTANT}[body]
    ours, theirs = Scaled(which), Scaled(which)
    run, expected = graph(ours), eager(theirs)
    for values in (FLOATS, CHANGING):
        del built[:]
        for value in values:
            for cell in (ours, theirs):
                cell.rate = cell.other = value
            assert outcome(run, x_of()) == outcome(expected, x_of()), value
        if values is FLOATS:
            assert (len(built) <= 4) == (body in BODIES), len(built)


def test_another_tensor_in_an_attribute(built: list[Any]) -> None:
    """Not a Parameter: that is one of the cell's.  A tensor is read with its identity."""
    cell = Scaled(lambda self, x: (x * self.rate, self.rate))
    run = as_jitted(cell)
    for tensor in (*TENSORS, Tensor([1.0]), Tensor([[2.0]]), TENSORS[0]):
        cell.rate = tensor
        product, same = run(x_of())
        assert same is tensor and bits(product) == bits(x_of() * tensor)
    assert len(built) <= 5


RATE: Any = 0.5


def test_names_of_modules_and_of_functions_around(built: list[Any]) -> None:
    rate: Any = 0.5
    holder, module = types.SimpleNamespace(rate=0.5), types.ModuleType("settings")
    module.rate = 0.5  # type: ignore[attr-defined]

    def change(value: Any) -> None:
        global RATE
        nonlocal rate
        RATE, rate, holder.rate = value, value, value
        module.rate = value  # type: ignore[attr-defined]

    functions: list[Callable[[Any], Any]] = [
        lambda x: x * RATE, lambda x: x * rate, lambda x: x * holder.rate, lambda x: x * module.rate,
        lambda x: x * RATE + rate * holder.rate]
    for function in functions:
        run = ms.jit(function)
        del built[:]
        for value in (*FLOATS, *TENSORS):
            change(value)
            assert outcome(run, x_of()) == outcome(function, x_of()), value
        assert len(built) <= 8


class Computed:
    """Its rate is a property, and its slot is none of a dict."""

    __slots__ = ("slot",)

    def __init__(self) -> None:
        self.slot: Any = 0.0

    @property
    def rate(self) -> Any:
        return self.slot * 2


def test_what_is_read_by_code_of_the_users_is_a_constant(built: list[Any]) -> None:
    holder = Computed()
    run = ms.jit(lambda x: x * holder.rate + holder.slot)
    for value in FLOATS[:6]:
        holder.slot = value
        assert outcome(run, x_of()) == outcome(lambda x: x * holder.rate + holder.slot, x_of())
    assert len(built) == 6


def test_hooks_see_the_value_of_each_call() -> None:
    """A graph with hooks does not read it: a run that goes on in another graph might need to know it."""
    def session(wrapped: Callable[..., Any]) -> list[Any]:
        cell, seen = Scaled(lambda self, x: relu(x * self.rate) + self.rate), list[Any]()
        relu = nn.ReLU()

        def hook(cell_: nn.Cell, args: Any, output: Any) -> Any:
            seen.append((bits(output), cell.rate))
            if len(seen) % 3 == 0:
                cell.rate = cell.rate * 2
            return None

        relu.register_forward_hook(hook)
        run = wrapped(lambda x: cell(x))
        for value in FLOATS[:6]:
            cell.rate = value
            seen.append(outcome(run, x_of()))
        return seen

    ours, theirs = session(ms.jit), session(lambda function: function)
    assert [one == two or one is RuntimeError for one, two in zip(ours, theirs, strict=True)] == [True] * len(ours)


def test_in_graph_mode_and_with_another_shape(built: list[Any]) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    cell = Scaled(lambda self, x: x * self.rate)
    for i, value in enumerate(FLOATS[:8]):
        cell.rate = value
        x = Tensor(np.ones(3 + i % 2, np.float32))
        assert bits(cell(x)) == bits(Tensor(x.asnumpy() * np.float32(value)))
    assert len(built) <= 6


def test_the_graph_that_reads_keeps_no_cell_alive() -> None:
    cell = Scaled(lambda self, x: x * self.rate)
    run = ms.jit(Scaled.construct)
    for value in FLOATS:
        cell.rate = value
        run(cell, x_of())
    gone = weakref.ref(cell)
    del cell
    gc.collect()
    assert gone() is None
