"""Tensors of a graph that a function writes in place, in a branch, a loop or a function that is differentiated there, though they were made
before: the graph has the new numbers afterwards, as eager mode has, and gradients go through them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from tests.outcomes import bits


class Adds(nn.Cell):
    """Writes its first argument."""

    def construct(self, y: Any, z: Any) -> Any:
        y.add_(z)
        return y * z


class Chooses(nn.Cell):
    """Lets another cell write its first argument, or an operator."""

    def construct(self, y: Any, z: Any) -> Any:
        if z.sum() > 0:
            ADDS(y, z)
        else:
            ops.assign(y, z * 5)
        return y * z


ADDS, CHOOSES = Adds(), Chooses()


def operator_in_a_branch(x: Any) -> Any:
    y = x * 1.0
    if x.sum() > 0:
        ops.assign(y, x * 3)
    return y * x


def constant_in_a_branch(x: Any) -> Any:
    y = x * 1.0
    if x.sum() > 0:
        ops.assign(y, Tensor([7.0, 8.0]))
    else:
        y = y * 2
    return y * x


def cell_in_a_branch(x: Any) -> Any:
    y, made = x * 1.0, x
    if x.sum() > 0:
        made = ADDS(y, x)
    return y * x + made


def branch_in_a_cell(x: Any) -> Any:
    y = x * 1.0
    return y * CHOOSES(y, x)


def operator_in_a_loop(x: Any) -> Any:
    y, rounds = x * 1.0, Tensor(0)
    while rounds < 3:
        ops.assign(y, x * 3 + y)
        rounds = rounds + 1
    return y * x


def cell_in_a_loop(x: Any) -> Any:
    y, made, rounds = x * 1.0, x, Tensor(0)
    while rounds < 3:
        made = made + ADDS(y, x)
        rounds = rounds + 1
    return y * x + made


def variable_in_a_gradient(x: Any) -> Any:
    y = x * 2

    def inner(z: Any) -> Any:
        y.add_(z * z)
        return (z * y).sum()

    return ms.grad(inner)(x) * y + ms.grad(inner)(x * 2) * y


def operator_in_a_gradient(x: Any) -> Any:
    y = x * 2

    def inner(z: Any) -> Any:
        ops.assign(y, z * z + y)
        return (z * y).sum()

    return ms.grad(inner)(x) * y


def argument_in_a_gradient(x: Any) -> Any:
    def inner(z: Any, y: Any) -> Any:
        y[0] = z[1] * y[1]
        return (z * y * y).sum()

    y = x * 3
    return ms.grad(inner)(x, y) * y


def integers_in_a_gradient(x: Any) -> Any:
    def inner(z: Any, places: Any) -> Any:
        places.add_(1)
        return (z[places % 2] * z).sum()

    places = ops.zeros((2,), ms.int32)
    return ms.grad(inner)(x, places) * places + ms.grad(inner)(x, places)


def branch_in_a_gradient(x: Any) -> Any:
    y = x * 2

    def inner(z: Any) -> Any:
        if z.sum() > 0:
            y.add_(z)
        else:
            ops.assign(y, z * y)
        return (z * y).sum()

    return ms.grad(inner)(x) * y


def gradient_in_a_branch(x: Any) -> Any:
    y, slope = x * 2, x
    if x.sum() > 0:
        slope = ms.grad(lambda z: ADDS(y, z).sum())(x)
    return y * slope


def gradient_in_a_loop(x: Any) -> Any:
    y, total, rounds = x * 2, x * 0, Tensor(0)

    def inner(z: Any) -> Any:
        y.mul_(z * 0.5)
        return (z * y).sum()

    while rounds < 3:
        total = total + ms.grad(inner)(x)
        rounds = rounds + 1
    return total * y


def gradient_in_a_gradient(x: Any) -> Any:
    y = x * 2

    def outer(z: Any) -> Any:
        def inner(q: Any) -> Any:
            y.add_(q * q)
            return (q * y * z).sum()

        return (ms.grad(inner)(z) * y).sum()

    return ms.grad(outer)(x) * y


def pullback(x: Any) -> Any:
    y = x * 2

    def inner(z: Any) -> Any:
        y.add_(z * z)
        return z * y

    made, pull = ms.vjp(inner, x)
    return pull(y)[0] + made * y


def derivative(x: Any) -> Any:
    y = x * 2

    def inner(z: Any) -> Any:
        y.add_(z * z)
        return z * y

    made, along = ms.jvp(inner, x, x * x)
    again, push = ms.linearize(inner, x)
    return along * made + push(y) * again


def made_in_a_cell(x: Any) -> Any:
    y = CHOOSES(x * 1.0, x)
    return ms.grad(lambda z: ADDS(y, z).sum())(x) * y


def returned(x: Any) -> Any:
    y = x * 2

    def inner(z: Any) -> Any:
        y.mul_(z)
        return y

    made, slope = ms.value_and_grad(inner)(x)
    return slope * y + made


PROGRAMS = (
    operator_in_a_branch, constant_in_a_branch, cell_in_a_branch, branch_in_a_cell, operator_in_a_loop, cell_in_a_loop,
    variable_in_a_gradient, operator_in_a_gradient, argument_in_a_gradient, integers_in_a_gradient, branch_in_a_gradient,
    gradient_in_a_branch, gradient_in_a_loop, gradient_in_a_gradient, pullback, derivative, made_in_a_cell, returned,
)


@pytest.mark.parametrize("numbers", [(1.0, 2.0), (-1.0, 0.5)], ids=["positive", "negative"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_in_eager_mode(program: Callable[[Any], Any], numbers: tuple[float, float]) -> None:
    def given() -> Tensor:
        return Tensor(np.array(numbers, np.float32))

    graph = ms.jit(program)
    assert bits(graph(given())) == bits(program(given()))
    expected = bits(ms.grad(program)(given()))
    assert bits(ms.grad(graph)(given())) == expected
    assert bits(ms.jit(ms.grad(program))(given())) == expected
    assert [*map(bits, ms.jvp(graph, given(), given()))] == [*map(bits, ms.jvp(program, given(), given()))]


def test_an_argument_of_the_graph_that_no_gradient_is_taken_by() -> None:
    def inner(z: Any, y: Any) -> Any:
        y.add_(z)
        return (z * y).sum()

    eager, graph = Tensor([1.0, 1.0]), Tensor([1.0, 1.0])
    taken = ms.jit(ms.grad(inner))
    for _ in range(2):
        assert bits(taken(Tensor([1.0, 2.0]), graph)) == bits(ms.grad(inner)(Tensor([1.0, 2.0]), eager))
        assert bits(graph) == bits(eager)


def test_one_tensor_that_is_differentiated_by_and_written_under_another_name_is_refused() -> None:
    @ms.jit
    def program(x: Any) -> Any:
        y = x * 2

        def inner(z: Any) -> Any:
            y.add_(z)
            return (z * y).sum()

        return ms.grad(inner)(y)

    with pytest.raises(ms.CompileError, match=r"E215"):
        program(Tensor([1.0, 2.0]))
