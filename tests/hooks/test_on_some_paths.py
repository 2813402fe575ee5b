"""Hooks whose values come from what is wanted on some paths only: they are called on these, and on no others, in every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops

X, OTHER = Tensor(np.array([0.1, 0.2, 0.3], np.float32)), Tensor(np.full(3, 0.5, np.float32))
CALLED: list[Any] = []


def note(gradient: Any) -> None:
    CALLED.append([x.asnumpy().tolist() for x in (gradient if isinstance(gradient, tuple) else (gradient,))])


class Sine(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return ops.sin(x)


class Doubled(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x * 2

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        note(dout)
        return (dout * 2,)


after, before, doubled = Sine(), Sine(), Doubled()
after.register_backward_hook(lambda cell, grad_input, grad_output: note(grad_output))
before.register_backward_pre_hook(lambda cell, grad_output: note(grad_output))
on_a_value, on_a_gradient = ops.HookBackward(note), ops.InsertGradientOf(lambda gradient: note(gradient) or gradient)


def attached(x: Tensor) -> Tensor:
    y = x * 2
    y.register_hook(note)
    return y * y


HOOKED: dict[str, Callable[[Tensor], Tensor]] = {
    "a backward hook": after, "a backward pre hook": before, "a bprop": doubled, "HookBackward": on_a_value,
    "InsertGradientOf": on_a_gradient, "register_hook": attached,
}

Program = Callable[[Callable[[Tensor], Tensor], Tensor, Tensor], Tensor]


def chosen(hooked: Callable[[Tensor], Tensor], x: Tensor, n: Tensor) -> Tensor:
    h = x * 1 if n > 0 else OTHER * 2
    return hooked(h).sum()


def computed_with(hooked: Callable[[Tensor], Tensor], x: Tensor, n: Tensor) -> Tensor:
    h = x if n > 0 else OTHER
    return (hooked(ops.tanh(h * OTHER)) * h + x).sum()


def added(hooked: Callable[[Tensor], Tensor], x: Tensor, n: Tensor) -> Tensor:
    h, y = hooked(x * 2), x * 7
    if n > 0:
        y = y + h
    return y.sum()


def in_rounds(hooked: Callable[[Tensor], Tensor], x: Tensor, n: Tensor) -> Tensor:
    h = OTHER * 1
    while n > 0:
        h, n = h * x, n - 1
    return hooked(h).sum()


def dropped_in_rounds(hooked: Callable[[Tensor], Tensor], x: Tensor, n: Tensor) -> Tensor:
    h = x * 2
    while n > 0:
        h, n = OTHER * n, n - 1
    return hooked(h).sum()


def later_in_rounds(hooked: Callable[[Tensor], Tensor], x: Tensor, n: Tensor) -> Tensor:
    h, k = OTHER * 1, OTHER * 1
    while n > 0:
        h, k, n = k * 1, x * k, n - 1
    return hooked(h).sum()


class Choosing(nn.Cell):
    def construct(self, x: Tensor, n: Tensor) -> Tensor:
        return x * 1 if n > 0 else OTHER * 2


choosing = Choosing()


def in_a_cell(hooked: Callable[[Tensor], Tensor], x: Tensor, n: Tensor) -> Tensor:
    return hooked(choosing(x, n)).sum()


def reached_otherwise(hooked: Callable[[Tensor], Tensor], x: Tensor, n: Tensor) -> Tensor:
    h = x * 1 if n > 0 else OTHER * 2
    return hooked(h * x).sum()


PROGRAMS: list[Program] = [chosen, computed_with, added, in_rounds, dropped_in_rounds, later_in_rounds, in_a_cell, reached_otherwise]


def calls_of(function: Callable[[Tensor, Tensor], Tensor], n: float) -> Any:
    CALLED.clear()
    return function(X, Tensor(np.float32(n))).asnumpy().tolist(), [*CALLED]


@pytest.mark.parametrize("hook", HOOKED)
@pytest.mark.parametrize("program", PROGRAMS)
def test_hooks_are_called_on_the_paths_of_eager_mode(program: Program, hook: str) -> None:
    def function(x: Tensor, n: Tensor) -> Tensor:
        return program(HOOKED[hook], x, n)

    gradient = ms.grad(function)
    forms = {"of all": ms.jit(lambda x, n: gradient(x, n)), "inside": ms.grad(ms.jit(function))}
    for n in (2.0, -1.0, 1.0):
        expected = calls_of(gradient, n)
        found = {name: calls_of(form, n) for name, form in forms.items()}
        ms.set_context(mode=ms.GRAPH_MODE)
        try:
            found["graph mode"] = calls_of(gradient, n)
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
        assert found == dict.fromkeys(found, expected), n
