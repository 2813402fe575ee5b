"""`Cell.register_parameter_forward_hook`: construct sees what hooks return for Parameters, in every mode.

The expected numbers of the first part are MindSpore 2.10's, in its graphs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, ParameterTuple, Tensor, nn, ops
from adjoint.foundation.diagnostics import CompileError
from adjoint.runtime.tensor.structure import leaves
from tests.outcomes import mode


class Inner(nn.Cell):
    def __init__(self, value: float = 2.0):
        super().__init__()
        self.weight = Parameter(Tensor(value), name="w")

    def construct(self, x: Tensor) -> Tensor:
        return x * self.weight


class Twice(Inner):
    def construct(self, x: Tensor) -> Tensor:
        return x * self.weight + self.weight


class Outer(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner(3.0)
        self.bias = Parameter(Tensor(5.0), name="b")

    def construct(self, x: Tensor) -> Tensor:
        return self.inner(x) + self.bias


def ten(parameter: Tensor) -> Tensor:
    return parameter * 10


def hundred(parameter: Tensor) -> Tensor:
    return parameter * 100


def found(net: nn.Cell) -> list[float]:
    """Return the value, and the gradients by the argument and by the Parameters, which must be the same in each mode."""
    x, by_mode = Tensor(3.0), []

    def gradient(x: Tensor) -> Any:
        return ms.value_and_grad(net, 0, net.trainable_params())(x)

    for call in (gradient, ms.jit(gradient), ms.jit(ms.value_and_grad(net, 0, net.trainable_params()))):
        for _ in range(3):
            by_mode.append([float(each) for each in leaves(call(x), Tensor)])
    with mode(ms.GRAPH_MODE):
        by_mode.append([float(each) for each in leaves(gradient(x), Tensor)])
        assert float(net(x)) == by_mode[0][0]
    assert float(net(x)) == by_mode[0][0]
    assert all(each == by_mode[0] for each in by_mode)
    return by_mode[0]


def hooked(net: nn.Cell, *hooks: tuple[nn.Cell, Any]) -> nn.Cell:
    for cell, hook in hooks:
        cell.register_parameter_forward_hook(hook)
    return net


def test_a_hook_on_all_parameters() -> None:
    net = Outer()
    assert found(hooked(net, (net, ten))) == [140.0, 30.0, 10.0, 30.0]


def test_a_hook_of_a_cell_inside() -> None:
    net = Outer()
    assert found(hooked(net, (net.inner, ten))) == [95.0, 30.0, 1.0, 30.0]


@pytest.mark.parametrize("inner_first", [True, False])
def test_the_hook_of_the_inner_cell_counts(inner_first: bool) -> None:
    net = Outer()
    hooks = [(net.inner, hundred), (net, ten)]
    assert found(hooked(net, *(hooks if inner_first else hooks[::-1]))) == [950.0, 300.0, 10.0, 300.0]


def test_each_use_sees_what_the_hook_returned() -> None:
    net = Twice()
    assert found(hooked(net, (net, ten))) == [80.0, 20.0, 40.0]


def test_the_hook_of_a_parameter_counts_before_that_of_a_cell() -> None:
    net = Inner()
    single = [{"params": [net.weight], "hook": hundred}]
    assert found(hooked(net, (net, ten), (net, single))) == [600.0, 200.0, 300.0]
    net = Inner()
    single = [{"params": [net.weight], "hook": hundred}]
    assert found(hooked(net, (net, single), (net, ten))) == [600.0, 200.0, 300.0]


def test_hooks_of_single_parameters() -> None:
    net = Outer()
    assert found(hooked(net, (net, [{"params": [net.inner.weight], "hook": ten}]))) == [95.0, 30.0, 1.0, 30.0]


def test_a_parameter_has_its_hook_only_in_cells_where_hooks_run() -> None:
    net = Outer()
    assert found(hooked(net, (net.inner, [{"params": [net.bias], "hook": ten}]))) == [14.0, 3.0, 1.0, 3.0]


def test_the_last_hook_of_several_counts() -> None:
    net = Inner()
    assert found(hooked(net, (net, ten), (net, hundred)))[0] == 600.0
    assert found(hooked(net, (net, [{"params": [net.weight], "hook": hook} for hook in (hundred, ten)])))[0] == 60.0


# registered and replaced at any time ---------------------------------------------------------------------------------------------


def test_graphs_notice_other_hooks() -> None:
    net, x = Outer(), Tensor(3.0)
    calls: list[Callable[[Tensor], Any]] = [net, ms.jit(net), ms.jit(lambda x: net(x))]
    by_hook: list[tuple[Any, float]] = [(ten, 140.0), (hundred, 1400.0), (lambda parameter: parameter, 14.0)]
    assert {float(call(x)) for call in calls for _ in range(3)} == {14.0}
    for hook, expected in by_hook:
        net.register_parameter_forward_hook(hook)
        assert {float(call(x)) for call in calls for _ in range(3)} == {expected}
    net.inner.register_parameter_forward_hook([{"params": [net.inner.weight], "hook": ten}])
    assert {float(call(x)) for call in calls for _ in range(3)} == {95.0}


def test_a_graph_notices_the_hook_of_a_shared_parameter_that_another_cell_registers() -> None:
    first, second, x = Inner(), Inner(), Tensor(3.0)
    second.weight = first.weight
    first.register_parameter_forward_hook(ten)
    jitted = ms.jit(first)
    assert [float(jitted(x)) for _ in range(2)] == [60.0, 60.0]
    second.register_parameter_forward_hook([{"params": [second.weight], "hook": hundred}])
    assert float(jitted(x)) == float(first(x)) == 600.0


def test_other_threads_and_the_network_outside_of_its_call_see_the_parameter() -> None:
    seen: list[Any] = []

    class Looks(Inner):
        def construct(self, x: Tensor) -> Tensor:
            other = threading.Thread(target=lambda: seen.append(self.weight))
            other.start()
            other.join()
            return x * self.weight

    net = Looks()
    net.register_parameter_forward_hook(ten)
    assert float(net(Tensor(3.0))) == 60.0
    assert seen == [net.weight] and isinstance(net.weight, Parameter) and net.trainable_params() == [net.weight]
    assert float(net.parameters_dict()["w"]) == 2.0


# what a hook may do --------------------------------------------------------------------------------------------------------------


def quantised(parameter: Tensor) -> Tensor:
    """Return the Parameter rounded to steps of 1/8 of its largest number; its gradient is that of the identity."""
    step = ops.stop_gradient(parameter.abs().max()) / 8
    return parameter + ops.stop_gradient(ops.round(parameter / step) * step - parameter)


def test_weights_are_rounded_in_training() -> None:
    def trained(jit: bool) -> list[np.ndarray]:
        ms.set_seed(1)
        net = nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dense(8, 1))
        net.register_parameter_forward_hook([{"params": [net[0].weight, net[2].weight], "hook": quantised}])
        optimizer = nn.Adam(net.trainable_params(), 0.05)
        x = Tensor(np.random.default_rng(0).standard_normal((16, 4)).astype(np.float32))
        gradient = ms.value_and_grad(lambda x: ((net(x)[:, 0] - x.sum(1)) ** 2).mean(), None, optimizer.parameters)

        def step(x: Tensor) -> Tensor:
            loss, gradients = gradient(x)
            optimizer(gradients)
            return loss

        step = ms.jit(step) if jit else step
        losses = [step(x).asnumpy() for _ in range(20)]
        assert losses[-1] < losses[0] / 2
        return [*losses, *(parameter.asnumpy() for parameter in net.get_parameters())]

    for one, other in zip(trained(False), trained(True), strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_hook_is_part_of_what_is_compiled() -> None:
    def chosen(parameter: Tensor) -> Tensor:
        return parameter * 2 if parameter.sum() > 1 else parameter * 3

    net = Inner()
    net.register_parameter_forward_hook(chosen)
    jitted = ms.jit(net)
    for value, expected in ((2.0, 12.0), (0.5, 4.5), (2.0, 12.0)):
        net.weight.set_data(Tensor(value))
        assert float(net(Tensor(3.0))) == float(jitted(Tensor(3.0))) == expected
    assert len(ms.jit_stats(jitted).graphs) == 1


def test_with_to_float() -> None:
    seen = []

    def hook(parameter: Tensor) -> Tensor:
        seen.append(parameter.dtype)
        return parameter * 10

    for turn in range(2):
        net = Inner()
        if turn:
            net.register_parameter_forward_hook(hook)
            net.to_float(ms.float16)
        else:
            net.to_float(ms.float16)
            net.register_parameter_forward_hook(hook)
        result = net(Tensor(3.0))
        assert (result.dtype, float(result)) == (ms.float16, 60.0)
    assert set(seen) == {ms.float32}


def test_second_order_and_examples() -> None:
    net = Inner()
    net.register_parameter_forward_hook(lambda parameter: parameter**2)
    assert float(ms.grad(lambda x: ms.grad(lambda y: net(y) * y)(x))(Tensor(3.0))) == 8.0
    assert ms.vmap(net)(Tensor([1.0, 2.0])).asnumpy().tolist() == [4.0, 8.0]
    predict, parameters = ms.functional(net)
    assert float(ms.grad(predict)(parameters, Tensor(3.0))["weight"]) == 12.0


def test_other_hooks_of_the_cell_run_as_well() -> None:
    net, seen = Inner(), []
    net.register_parameter_forward_hook(ten)
    net.register_forward_hook(lambda cell, args, output: seen.append(float(output)))
    net.register_backward_hook(lambda cell, grad_input, grad_output: seen.append(float(grad_input[0])))
    assert float(ms.grad(net)(Tensor(3.0))) == 20.0
    assert seen == [60.0, 20.0]


# mistakes ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hook, kind, message", [
    ("no", TypeError, "Hook must be a callable function or a list of dictionaries"),
    ([("a", 1)], TypeError, "Each item in the hook list must be a dictionary"),
    ([{"params": []}], ValueError, "must contain both params and hook keys"),
    ([{"params": [], "hook": 3}], TypeError, "The hook value must be callable"),
    ([{"params": [Tensor(1.0)], "hook": ten}], TypeError, "All items in params must be of type 'Parameter'"),
    (ms.jit(ten), TypeError, "Decorating hook function ten with '@jit' is not supported"),
])
def test_what_is_no_hook(hook: Any, kind: type[Exception], message: str) -> None:
    net = Outer()
    with pytest.raises(kind, match=message):
        net.register_parameter_forward_hook(hook)
    assert found(net)[0] == 14.0


def test_a_list_with_a_mistake_registers_nothing() -> None:
    net = Inner()
    with pytest.raises(TypeError, match="All items"):
        net.register_parameter_forward_hook([{"params": [net.weight, 3], "hook": ten}])
    net.register_parameter_forward_hook(lambda parameter: parameter)
    assert found(net)[0] == 6.0


def test_a_hook_returns_a_tensor() -> None:
    net = Inner()
    net.register_parameter_forward_hook(lambda parameter: None)
    for call in (net, ms.jit(net)):
        with pytest.raises(TypeError, match="must return a Tensor for the Parameter 'w', but got None"):
            call(Tensor(3.0))


def test_an_exception_in_a_hook_names_it() -> None:
    def broken(parameter: Tensor) -> Tensor:
        raise ZeroDivisionError("in the hook")

    net = Inner()
    net.register_parameter_forward_hook(broken)
    with pytest.raises(ZeroDivisionError, match="in the hook") as raised:
        net(Tensor(3.0))
    assert any("broken" in note for note in raised.value.__notes__)
    net.register_parameter_forward_hook(lambda parameter: parameter)
    assert found(net)[0] == 6.0


def test_construct_cannot_write_what_a_hook_returned() -> None:
    class Writes(Inner):
        def construct(self, x: Tensor) -> Tensor:
            ops.assign(self.weight, self.weight + 1)
            return x * self.weight

    net = Writes()
    net.register_parameter_forward_hook(ten)
    for call in (net, ms.jit(net)):
        with pytest.raises((RuntimeError, CompileError), match="construct writes the Parameter 'w'"):
            call(Tensor(3.0))
    net.register_parameter_forward_hook(lambda parameter: parameter)
    assert [float(net(Tensor(3.0))), float(ms.jit(net)(Tensor(3.0)))] == [9.0, 12.0]


def test_a_parameter_tuple() -> None:
    class Several(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.weights = ParameterTuple((Parameter(Tensor(2.0), name="v"),))

        def construct(self, x: Tensor) -> Tensor:
            return x * self.weights[0]

    net = Several()
    net.register_parameter_forward_hook(ten)
    with pytest.raises(RuntimeError, match="the Parameter 'v' is in a ParameterTuple"):
        net(Tensor(3.0))


def test_a_hook_cannot_be_registered_in_a_graph() -> None:
    net = Inner()

    @ms.jit
    def registers(x: Tensor) -> Tensor:
        net.register_parameter_forward_hook(ten)
        return net(x)

    with pytest.raises(CompileError):
        registers(Tensor(3.0))
