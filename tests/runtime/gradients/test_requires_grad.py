"""`requires_grad_`: it switches the training of Parameters, has no effect on tensors, and never gives a wrong gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops

MODES: list[Any] = [pytest.param(lambda f: f, id="eager"), pytest.param(ms.jit, id="jit")]


def x() -> Tensor:
    return Tensor([1.0, 2.0])


def test_a_parameter_is_trained_or_not() -> None:
    net: Any = nn.Dense(2, 2)
    weight = net.weight
    assert weight.requires_grad_(False) is None and not weight.requires_grad and net.trainable_params() == [net.bias]
    assert weight.requires_grad_() is None and weight.requires_grad and net.trainable_params() == [weight, net.bias]


@pytest.mark.parametrize("flag", [True, False])
def test_a_tensor_outside_of_a_gradient_stays_as_it_is(flag: bool) -> None:
    """As in MindSpore, where a marked argument has its gradient, and a tensor has no attribute `requires_grad`."""
    marked = x()
    assert marked.requires_grad_(flag) is None and (marked * marked).requires_grad_(flag) is None
    assert Tensor([1, 2]).requires_grad_(flag) is None and not hasattr(marked, "requires_grad")
    assert ms.grad(lambda t: (t * t).sum())(marked).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("mode", MODES)
def test_true_changes_no_gradient(mode: Callable[[Any], Any]) -> None:
    def function(t):
        t.requires_grad_()
        square = t * t
        square.requires_grad_(True)
        return (square * t).sum()

    assert ms.grad(mode(function))(x()).tolist() == [3.0, 12.0]


def of_the_argument(t):
    t.requires_grad_(False)
    return (t * t).sum()


def behind_its_use(t):
    square = t * t
    t.requires_grad_(False)
    return square.sum()


def of_a_result(t):
    square = t * t
    square.requires_grad_(False)
    return (square * t).sum()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("function", [of_the_argument, behind_its_use, of_a_result])
def test_false_within_a_gradient_names_the_way_out(function: Any, mode: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"requires_grad_.*stop_gradient\(x\).*grad_position"):
        ms.grad(mode(function))(x())
    with pytest.raises(RuntimeError, match="stop_gradient"):
        ms.grad(ms.grad(mode(function)))(x())
    assert function(x()) == (9.0 if function is of_a_result else 5.0)


@pytest.mark.parametrize("mode", MODES)
def test_false_on_what_takes_no_gradient_changes_nothing(mode: Callable[[Any], Any]) -> None:
    outside = x()

    def function(t):
        stopped = ops.stop_gradient(t * t)
        stopped.requires_grad_(False)
        outside.requires_grad_(False)
        return (stopped * t * outside).sum()

    assert ms.grad(mode(function))(x()).tolist() == [1.0, 8.0]


def test_a_parameter_within_a_gradient_and_a_graph() -> None:
    weight = Parameter(Tensor([3.0, 4.0]), name="weight")

    def freezing(t):
        weight.requires_grad_(False)
        return (weight * t).sum()

    with pytest.raises(RuntimeError, match=r"stop_gradient.*out of 'weights'"):
        ms.grad(freezing, 0, (weight,))(x())
    with pytest.raises(RuntimeError, match="outside of the graph"):
        ms.jit(freezing)(x())
    assert weight.requires_grad
    assert ms.grad(freezing)(x()).tolist() == [3.0, 4.0] and not weight.requires_grad


def test_only_a_bool() -> None:
    wrong: Any
    for holder in (x(), Parameter(x(), name="p")):
        for wrong in (1, None, "False"):
            with pytest.raises(TypeError, match=r"requires_grad_.*must be a bool"):
                holder.requires_grad_(wrong)
