"""What Python asks about a tensor of which a branch or a loop decides which one it is: eager mode's answer, or an error."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn
from adjoint.foundation.diagnostics import CompileError


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.v = Parameter(Tensor([0.5, 1.0]), name="w"), Parameter(Tensor([0.75, 2.0]), name="v")

    def perhaps(self, x: Tensor) -> Tensor:
        return self.w if x.sum() > 0 else x

    def one_of_two(self, x: Tensor) -> Tensor:
        return self.w if x.sum() > 0 else self.v

    def copied(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            x = copy.deepcopy(self.w)
        return x

    def in_a_loop(self, x: Tensor) -> Tensor:
        y, n = x, x.sum()
        while n > 0:
            y, n = self.w, n - 5
        return y


ASKED: dict[str, Callable[[Net, Tensor], Any]] = {
    "isinstance": lambda net, x: isinstance(x, Parameter),
    "isinstance of several": lambda net, x: isinstance(x, (int, Parameter)),
    "type": lambda net, x: type(x) is Parameter,
    "a name": lambda net, x: x.name == "w",
    "trained": lambda net, x: x.requires_grad,
    "an attribute there may be": lambda net, x: hasattr(x, "name"),
    "is": lambda net, x: x is net.w,
    "is not": lambda net, x: net.w is not x,
    "is of a list": lambda net, x: [x][0] is net.w,
}
KNOWN: dict[str, Callable[[Net, Tensor], Any]] = {
    "a Tensor": lambda net, x: isinstance(x, Tensor),
    "a Tensor or a number": lambda net, x: isinstance(x, (Tensor, int)),
    "a number": lambda net, x: isinstance(x, int),
    "None": lambda net, x: x is None,
    "itself": lambda net, x: x is x,
    "another one": lambda net, x: x * 1 is net.w,
    "no attribute": lambda net, x: hasattr(x, "nothing_by_this_name"),
}
MADE: list[Callable[[Net, Tensor], Tensor]] = [Net.perhaps, Net.one_of_two, Net.copied, Net.in_a_loop]
ONE_ANSWER = {("one_of_two", "isinstance"), ("one_of_two", "isinstance of several"), ("one_of_two", "type"),
              ("copied", "is"), ("copied", "is not"), ("copied", "is of a list")}
"""Questions that have one answer on all paths."""


def programs(made: Callable[[Net, Tensor], Tensor], asked: Callable[[Net, Tensor], Any]) -> tuple[Any, Any]:
    """Return a program in eager mode and as a graph."""
    net = Net()

    def program(x: Tensor) -> Tensor:
        y = made(net, x)
        return y * 2 if asked(net, y) else y * 3

    return program, ms.jit(program)


def results(program: Callable[[Tensor], Tensor]) -> list[Any]:
    return [program(Tensor(numbers)).asnumpy().tolist() for numbers in ([1.0, 2.0], [-1.0, -2.0])]


@pytest.mark.parametrize("question", KNOWN)
@pytest.mark.parametrize("made", MADE)
def test_what_is_the_same_on_all_paths_is_known(made: Callable[[Net, Tensor], Tensor], question: str) -> None:
    eager, graph = programs(made, KNOWN[question])
    assert results(graph) == results(eager)


@pytest.mark.parametrize("question", ASKED)
@pytest.mark.parametrize("made", MADE)
def test_what_differs_is_an_error(made: Callable[[Net, Tensor], Tensor], question: str) -> None:
    eager, graph = programs(made, ASKED[question])
    if (made.__name__, question) in ONE_ANSWER:
        assert results(graph) == results(eager)
    else:
        with pytest.raises(CompileError, match="depends on a branch or"):
            results(graph)


def test_lists() -> None:
    def program(x: Tensor) -> Tensor:
        a, b = [x], [x * 2]
        c = a if x.sum() > 0 else b
        return c[0] * 2 if c is a else c[0] * 3

    with pytest.raises(CompileError, match="whether these are one object depends on a branch or a loop"):
        ms.jit(program)(Tensor([1.0]))
