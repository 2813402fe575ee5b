"""Forward hooks with `always_call` run where construct raises, with the same events in every mode: also where making the graph fails."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn, ops

Body = Callable[[Any, Tensor], Any]


def raises(net: Any, x: Tensor) -> Any:
    raise ValueError("boom")


def raises_on_a_flag(net: Any, x: Tensor) -> Any:
    if net.flag:
        raise KeyError("flag")
    return x


def raises_on_a_tensor(net: Any, x: Tensor) -> Any:
    if x.sum() > 0:
        raise ValueError("positive")
    return x


def raises_after_a_print(net: Any, x: Tensor) -> Any:
    print("printed", x)
    raise ValueError("after the print")


def raises_inside(net: Any, x: Tensor) -> Any:
    def inner(y: Tensor) -> Tensor:
        raise RuntimeError("inside")

    return inner(x)


def asserts(net: Any, x: Tensor) -> Any:
    assert not net.flag, "flag"
    return x


def unbound(net: Any, x: Tensor) -> Any:
    if not net.flag:
        y = 1
    return x * y  # pyright: ignore[reportPossiblyUnboundVariable]


BODIES: list[Body] = [
    raises, raises_on_a_flag, raises_on_a_tensor, raises_after_a_print, raises_inside, asserts, unbound,
    lambda net, x: x + Tensor([1.0, 2.0, 3.0]), lambda net, x: x * net.missing, lambda net, x: x * [1, 2][5], lambda net, x: x * {}["key"],
    lambda net, x: x * int("z"), lambda net, x: x * math.sqrt(-1), lambda net, x: x.reshape(7, 7), lambda net, x: x * "a",
    lambda net, x: ops.concat([x, x], axis=9), lambda net, x: net.dense(x), lambda net, x: net.dense(), lambda net, x: net.w(x),
    lambda net, x: x.missing(),
]


class Inner(nn.Cell):
    def __init__(self, body: Body, events: list[Any]):
        super().__init__()
        self.body, self.flag, self.dense = body, True, nn.Dense(3, 4)
        self.w = Parameter(Tensor([2.0, 3.0]), name="w")

    def construct(self, x: Tensor) -> Any:
        return self.body(self, x)


class Outer(nn.Cell):
    def __init__(self, body: Body, hooked: str, events: list[Any]):
        super().__init__()
        self.inner, self.first = Inner(body, events), nn.ReLU()

        def hook(name: str) -> Callable[..., None]:
            def log(cell: nn.Cell, args: Any, output: Any) -> None:
                events.append((name, [x.asnumpy().tolist() for x in args], None if output is None else output.asnumpy().tolist()))
                if name == "raises":
                    raise ZeroDivisionError("of the hook")

            return log

        if hooked != "outer":
            self.inner.register_forward_hook(hook("inner"), always_call=True)
            self.inner.register_forward_hook(hook("inner, not always"))
        if hooked == "raises":
            self.inner.register_forward_hook(hook(hooked), always_call=True)
        if hooked != "inner":
            self.register_forward_hook(hook("outer"), always_call=True)

    def construct(self, x: Tensor) -> Any:
        return self.inner(self.first(x) * 2) + 1


def steps(body: Body, hooked: str, form: str, gradient: bool) -> tuple[list[Any], list[Any]]:
    """Return how three calls end, and the events."""
    events, ends = list[Any](), list[Any]()
    net = Outer(body, hooked, events)
    of = jit(net) if form == "jit" else net
    run = ms.value_and_grad(of, 0, [net.inner.w]) if gradient else of
    if form == "jit of all":
        whole = run
        run = jit(lambda x: whole(x))
    ms.set_context(mode=ms.GRAPH_MODE if form == "graph mode" else ms.PYNATIVE_MODE)
    try:
        for _ in range(3):
            try:
                run(Tensor([1.0, 2.0]))
                ends.append("returned")
            except Exception as raised:
                ends.append((type(raised).__name__, str(raised).partition("\n")[0]))  # pytest adds lines to those of `assert`
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    return ends, events


@pytest.mark.filterwarnings("ignore:cell forward hook with")
@pytest.mark.parametrize("hooked", ["inner", "outer", "raises"])
@pytest.mark.parametrize("gradient", [False, True])
def test_the_events_of_eager_mode(hooked: str, gradient: bool) -> None:
    for i, body in enumerate(BODIES):
        expected = steps(body, hooked, "eager", gradient)
        assert "returned" not in expected[0] and expected[1], i
        for form in ("jit", "jit of all", "graph mode"):
            assert steps(body, hooked, form, gradient) == expected, (i, getattr(body, "__name__", ""), form)


@pytest.mark.parametrize("form", ["eager", "jit", "graph mode"])
def test_a_cell_of_the_library(form: str) -> None:
    """Its construct is no statement of the user's; the hook sees each failing call, and the next call works."""
    events: list[Any] = []
    net = nn.SequentialCell(nn.ReLU(), nn.Dense(3, 4))
    for cell in (net[1], net):
        cell.register_forward_hook(lambda cell, args, output: events.append((type(cell).__name__, output is None)), always_call=True)
    run = jit(net) if form == "jit" else net
    ms.set_context(mode=ms.GRAPH_MODE if form == "graph mode" else ms.PYNATIVE_MODE)
    try:
        for _ in range(2):
            with pytest.raises(ValueError, match="last size 3"):
                run(Tensor([1.0, 2.0]))
            assert events == [("Dense", True), ("SequentialCell", True)]
            events.clear()
        run(Tensor([1.0, 2.0, 3.0]))
        assert events == [("Dense", False), ("SequentialCell", False)]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
