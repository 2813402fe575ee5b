"""`vjp` and `jvp`: all forms, compared with each other, inside of gradients, with hooks, and their errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, ParameterTuple, Tensor, nn, ops
from adjoint.foundation.diagnostics import CompileError
from adjoint.runtime.gradients.products import jvp, vjp
from adjoint.runtime.process.tracer import state

X, Y, V = Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor([1.0, 10.0])


class Net(nn.Cell):
    """x * w * b"""

    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(Tensor([5.0, 6.0]), name="w")
        self.b = Parameter(Tensor(7.0), name="b")

    def construct(self, x: Tensor) -> Tensor:
        return x * self.w * self.b


def square(x: Tensor) -> Tensor:
    return x * x


def lists(found: Any) -> Any:
    """Return tensors as nested tuples of lists."""
    return found.tolist() if isinstance(found, Tensor) else tuple(lists(x) for x in found) if isinstance(found, (tuple, list)) else found


def test_names() -> None:
    assert ms.vjp is ops.vjp is ops.functional.vjp is vjp
    assert ms.jvp is ops.jvp is ops.functional.jvp is jvp


# -- vjp ----------------------------------------------------------------------------------------------------------------
def test_one_input_and_several() -> None:
    y, pull = ms.vjp(square, X)
    assert lists(y) == [1.0, 4.0] and lists(pull(V)) == ([2.0, 40.0],)
    y, pull = ms.vjp(lambda x, y: x * y, X, Y)
    assert lists(y) == [3.0, 8.0] and lists(pull(V)) == ([3.0, 40.0], [1.0, 20.0])
    y, pull = ms.vjp(lambda both, x: both[0] * x, (X, Y), X)
    assert lists(pull(V)) == (([1.0, 20.0], [0.0, 0.0]), [1.0, 20.0])


def test_several_outputs() -> None:
    y, pull = ms.vjp(lambda x: (x * x, x + 1), X)
    assert lists(y) == ([1.0, 4.0], [2.0, 3.0])
    assert lists(pull(V, V)) == lists(pull((V, V))) == lists(pull([V], V)) == ([3.0, 50.0],)
    assert lists(ms.vjp(lambda x: [x * x, x], X)[1](V, V)) == ([3.0, 50.0],)


def test_outputs_that_do_not_depend() -> None:
    y, pull = ms.vjp(lambda x: Y, X)
    assert lists(y) == [3.0, 4.0] and lists(pull(V)) == ([0.0, 0.0],)
    _, pull = ms.vjp(lambda x: (x * x, x > 1), X)
    assert lists(pull(V, Tensor([True, False]))) == ([2.0, 40.0],)


def test_weights_in_every_form() -> None:
    net = Net()
    w, b = net.w, net.b
    gx, gw, gb = [35.0, 420.0], [7.0, 140.0], 125.0
    for weights, expected in ((w, gw), ([w, b], (gw, gb)), (ParameterTuple([b, w]), (gb, gw)), ((), ())):
        _, pull = ms.vjp(net, X, weights=weights)
        assert lists(pull(V)) == ((gx,), expected)
    _, pull = ms.vjp(lambda: w * b, weights=[w])
    assert lists(pull(V)) == ((), ([7.0, 70.0],))


def test_aux_is_passed_on() -> None:
    y, pull, aux = ms.vjp(lambda x: (x * x, x + 1), X, has_aux=True)
    assert (lists(y), lists(aux), lists(pull(V))) == ([1.0, 4.0], [2.0, 3.0], ([2.0, 40.0],))
    y, pull, aux = ms.vjp(lambda x: ((x * x, x), x + 1, "text"), X, has_aux=True)
    assert (lists(y), lists(aux), lists(pull(V, V))) == (([1.0, 4.0], [1.0, 2.0]), ([2.0, 3.0], "text"), ([3.0, 50.0],))


def test_the_function_runs_once_and_its_adjoint_again_and_again() -> None:
    log: list[str] = []

    class Square(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return square(x)

    cell = Square()
    cell.register_forward_hook(lambda *_: log.append("forward"))  # type: ignore[arg-type]
    cell.register_backward_hook(lambda *_: log.append("backward"))  # type: ignore[arg-type]
    _, pull = ms.vjp(cell, X)
    assert log == ["forward"]
    assert lists(pull(V)) == lists(pull(V)) == ([2.0, 40.0],)
    assert lists(pull(Tensor([1.0, 1.0]))) == ([2.0, 4.0],)
    assert log == ["forward", "backward", "backward", "backward"]
    assert state.tracer is None


def test_the_adjoint_sees_the_numbers_as_they_were() -> None:
    net, x, k = Net(), Tensor([1.0, 2.0]), Tensor([2.0, 2.0])
    y, pull = ms.vjp(lambda x: ops.exp(net(x) * k * 0), x, weights=[net.w])
    for tensor in (net.w, net.b, x, k, y):
        ops.assign(tensor, ops.zeros_like(tensor))
    expected = ms.vjp(lambda x: ops.exp(Net()(x) * Tensor([2.0, 2.0]) * 0), Tensor([1.0, 2.0]))[1](V)
    assert lists(pull(V)[0]) == lists(expected)
    _, pull = ms.vjp(lambda x: net(x) * k, X)
    ops.assign(k, V)
    assert lists(pull(V)) == ([0.0, 0.0],)


def test_an_error_leaves_nothing_behind() -> None:
    def wrong(x: Tensor) -> Tensor:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        ms.vjp(wrong, X)
    assert state.tracer is None
    assert lists(ms.grad(square)(X)) == [2.0, 4.0]


# -- jvp ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("fn", "inputs", "v", "outputs", "along"),
    [
        (square, X, V, [1.0, 4.0], [2.0, 40.0]),
        (square, (X,), [V], [1.0, 4.0], [2.0, 40.0]),
        (lambda x, y: x * y, (X, Y), (V, V), [3.0, 8.0], [4.0, 60.0]),
        (lambda x, y: x * y, [X, 2.0], [V, V], [2.0, 4.0], [2.0, 20.0]),
        (lambda x: (x * x, x + 1), X, V, ([1.0, 4.0], [2.0, 3.0]), ([2.0, 40.0], [1.0, 10.0])),
        (lambda x: ((x * x, x), x + 1), X, V, (([1.0, 4.0], [1.0, 2.0]), [2.0, 3.0]), (([2.0, 40.0], [1.0, 10.0]), [1.0, 10.0])),
        (lambda x: x * Y, X, V, [3.0, 8.0], [3.0, 40.0]),
        (lambda x: x.sum(), X, V, 3.0, 11.0),
        (lambda x: x, X, V, [1.0, 2.0], [1.0, 10.0]),
        (lambda x: Y, X, V, [3.0, 4.0], [0.0, 0.0]),
        (lambda x: (x * x, Y), X, V, ([1.0, 4.0], [3.0, 4.0]), ([2.0, 40.0], [0.0, 0.0])),
        (lambda x: (x * x, x > 1), X, V, ([1.0, 4.0], [False, True]), ([2.0, 40.0], [False, False])),
        (lambda x, y: (x + y, x + y), (X, Y), (V, V), ([4.0, 6.0], [4.0, 6.0]), ([2.0, 20.0], [2.0, 20.0])),
        (lambda both: both[0] * both[1], ((X, Y),), ((V, V),), [3.0, 8.0], [4.0, 60.0]),
        (square, Tensor([1, 2]), Tensor([1, 2]), [1, 4], [2, 8]),
    ],
)
def test_derivative_along_a_direction(fn: Any, inputs: Any, v: Any, outputs: Any, along: Any) -> None:
    assert lists(ms.jvp(fn, inputs, v)) == (outputs, along)
    assert state.tracer is None


def test_jvp_passes_aux_on() -> None:
    assert lists(ms.jvp(lambda x: (x * x, x + 1), X, V, has_aux=True)) == ([1.0, 4.0], [2.0, 40.0], [2.0, 3.0])
    assert lists(ms.jvp(lambda x: (x * x, x, 3), X, V, True)) == ([1.0, 4.0], [2.0, 40.0], ([1.0, 2.0], 3))


def test_both_products_agree_on_a_network() -> None:
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(4, 5), nn.Tanh(), nn.Dense(5, 3), nn.Softmax())
    x, dx, dy = ops.standard_normal((2, 4)), ops.standard_normal((2, 4)), ops.standard_normal((2, 3))
    y, along = ms.jvp(net, x, dx)
    np.testing.assert_array_equal(y.asnumpy(), net(x).asnumpy())
    (back,) = ms.vjp(net, x)[1](dy)
    np.testing.assert_allclose((along * dy).sum().asnumpy(), (back * dx).sum().asnumpy(), rtol=1e-4)
    step = 1e-3
    differences = (net(x + dx * step) - net(x - dx * step)).asnumpy() / (2 * step)
    np.testing.assert_allclose(along.asnumpy(), differences, atol=1e-3)


# -- inside of each other ---------------------------------------------------------------------------------------------------
def cube(x: Tensor) -> Tensor:
    return x * x * x


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: ms.vjp(cube, x)[1](V)[0],
        lambda x: ms.jvp(cube, x, V)[1],
        lambda x: ms.grad(lambda x: (cube(x) * V).sum())(x),
        lambda x: ms.grad(lambda x: ms.vjp(lambda x: x, x)[1](V)[0].sum() * 0 + (cube(x) * V).sum())(x),
    ],
    ids=["vjp", "jvp", "grad", "unused"],
)
def test_second_order(fn: Any) -> None:
    """The derivative of 3 x^2 v is 6 x v, by any combination of them."""
    expected = [6.0, 120.0]
    assert lists(ms.grad(fn)(X)) == expected
    assert lists(ms.vjp(fn, X)[1](Tensor([1.0, 1.0]))) == (expected,)
    assert lists(ms.jvp(fn, X, Tensor([1.0, 1.0]))[1]) == expected
    assert state.tracer is None


def test_third_order() -> None:
    hessian = lambda x: ms.jvp(lambda x: ms.vjp(cube, x)[1](V)[0], x, Tensor([1.0, 1.0]))[1]  # noqa: E731
    assert lists(ms.grad(hessian)(X)) == [6.0, 60.0]


def test_a_gradient_by_the_cotangent() -> None:
    _, pull = ms.vjp(square, X)
    assert lists(ms.grad(lambda v: pull(v)[0])(V)) == [2.0, 4.0]
    assert lists(ms.grad(lambda v: ms.vjp(square, X)[1](v)[0])(V)) == [2.0, 4.0]
    assert lists(pull(V)) == ([2.0, 40.0],)


def test_a_pullback_outlives_the_gradient_it_was_taken_in() -> None:
    kept: list[Any] = []

    def function(x: Tensor) -> Tensor:
        y, pull = ms.vjp(square, x)
        kept.append(pull)
        return y * x + pull(V)[0]

    assert lists(ms.grad(function)(X)) == [3.0 + 2.0, 12.0 + 20.0]
    assert lists(kept[0](V)) == ([2.0, 40.0],)
    assert state.tracer is None


def test_a_pullback_taken_in_a_cell_and_called_outside() -> None:
    kept: list[Any] = []

    class Taking(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            y, pull = ms.vjp(cube, x)
            kept.append(pull)
            return y

    cell = Taking()

    def function(x: Tensor) -> Tensor:
        y = cell(x)
        return y + kept[-1](V)[0]

    assert lists(ms.grad(function)(X)) == [3.0 + 6.0, 12.0 + 120.0]


# -- within a graph -----------------------------------------------------------------------------------------------------------
def test_a_graph_runs_the_function_once(capsys: pytest.CaptureFixture[str]) -> None:
    """What the function prints is printed once; a hook in it runs for every pull."""

    def loud(x: Tensor) -> Tensor:
        print("forward")
        y = x * x
        y.register_hook(lambda gradient: print("backward"))
        return y

    def run(x: Tensor, v: Tensor) -> Any:
        y, pull = ms.vjp(loud, x)
        return y, pull(v)[0], pull(y)[0]

    expected = lists(run(X, V))
    printed = capsys.readouterr().out
    compiled = ms.jit(run)
    for _ in range(2):
        assert lists(compiled(X, V)) == expected
        assert capsys.readouterr().out == printed == "forward\nbackward\nbackward\n"


def test_a_pullback_stays_in_its_graph() -> None:
    taken = ms.jit(lambda x: ms.vjp(square, x))(X)
    with pytest.raises(CompileError, match="another graph"):
        taken[1](V)


def test_a_pullback_from_outside_becomes_nodes_of_a_graph() -> None:
    _, pull = ms.vjp(lambda x: ops.sin(x) * x, X)
    compiled = ms.jit(lambda v: pull(v * 2.0))
    assert lists(compiled(V)) == lists(pull(V * 2.0))
    assert lists(ms.grad(lambda v: compiled(v)[0])(V)) == lists(ms.grad(lambda v: pull(v * 2.0)[0])(V))


def test_a_weight_that_stops_taking_gradients() -> None:
    """A graph uses the current state of weights: a frozen one has zeros."""
    net = Net()
    taken = ms.jit(lambda x, v: ms.vjp(net, x, weights=net.w)[1](v))
    before = lists(taken(X, V))
    net.w.requires_grad = False
    after = lists(taken(X, V))
    assert before[0] == after[0] and after[1] == [0.0, 0.0] != before[1]
    net.w.requires_grad = True
    assert lists(taken(X, V)) == before


# -- mistakes -----------------------------------------------------------------------------------------------------------------
THREE, HALF = Tensor([1.0, 1.0, 1.0]), Tensor([1.0, 1.0], ms.float16)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: ms.vjp(3, X), TypeError, "'fn'"),  # type: ignore[arg-type]
        (lambda: ms.vjp(square, 2.0), TypeError, "inputs"),
        (lambda: ms.vjp(square, X, None), TypeError, "inputs"),
        (lambda: ms.vjp(square, (X, 1)), TypeError, "inputs"),
        (lambda: ms.vjp(square, X, has_aux=1), TypeError, "'has_aux'"),  # type: ignore[arg-type]
        (lambda: ms.vjp(square, X, weights=3), TypeError, "'weights'"),
        (lambda: ms.vjp(square, X, has_aux=True), ValueError, "'has_aux'"),
        (lambda: ms.vjp(lambda x: 3.0, X), TypeError, "at least one Tensor"),
        (lambda: ms.vjp(square, X)[1](1.0), TypeError, "cotangents"),
        (lambda: ms.vjp(square, X)[1](), RuntimeError, "one cotangent for each of the 1 outputs, but got 0"),
        (lambda: ms.vjp(square, X)[1](V, V), RuntimeError, "but got 2"),
        (lambda: ms.vjp(square, X)[1](THREE), ValueError, "shape"),
        (lambda: ms.vjp(square, X)[1](HALF), TypeError, "dtype"),
        (lambda: ms.jvp(3, X, V), TypeError, "'fn'"),  # type: ignore[arg-type]
        (lambda: ms.jvp(square, 2.0, V), TypeError, "'inputs'"),
        (lambda: ms.jvp(square, X, 2.0), TypeError, "'v'"),
        (lambda: ms.jvp(square, (2.0,), (V,)), TypeError, "'inputs'"),
        (lambda: ms.jvp(square, (X,), (2.0,)), TypeError, "vectors"),
        (lambda: ms.jvp(square, X, (V, V)), ValueError, "as many vectors"),
        (lambda: ms.jvp(square, ((X, X),), (V,)), ValueError, "as many tensors"),
        (lambda: ms.jvp(square, X, THREE), ValueError, "shape"),
        (lambda: ms.jvp(square, X, HALF), TypeError, "dtype"),
        (lambda: ms.jvp(square, X, V, has_aux=True), ValueError, "'has_aux'"),
        (lambda: ms.jvp(square, X, V, has_aux=0), TypeError, "'has_aux'"),  # type: ignore[arg-type]
    ],
)
def test_mistakes(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
    assert state.tracer is None
