"""The note of a hook that fails, and the error for what it returns, name the line that made the value: the same one in every mode."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import adjoint as ms
from adjoint import Tensor, jit, nn, ops


def raises(*given: Any) -> Any:
    raise ValueError("boom")


def returns_a_number(*given: Any) -> Any:
    return 3


def returns_another_shape(*given: Any) -> Any:
    return Tensor([1.0, 2.0, 3.0, 4.0, 5.0])


class Square(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x * x


class OwnBprop(Square):
    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> Tensor:
        raise ValueError("boom")


Hook = Callable[..., Any]


def of_an_operator(net: Net, x: Tensor) -> Tensor:
    y = x * 3  # here
    z = y + 1
    y.register_hook(net.hook)
    return (z * y).sum()


def of_one_of_several_results(net: Net, x: Tensor) -> Tensor:
    a, b = ops.split(x, 1)  # here
    c = a * b
    a.register_hook(net.hook)
    return c.sum()


def of_a_cell(net: Net, x: Tensor) -> Tensor:
    y = net.relu(x)  # here
    z = y * 2
    y.register_hook(net.hook)
    return z.sum()


def of_a_function_that_registers_it(net: Net, x: Tensor) -> Tensor:
    def registered(t: Tensor) -> Tensor:
        t.register_hook(net.hook)
        return t

    y = ops.sin(x)  # here
    return registered(y).sum()


def of_a_write(net: Net, x: Tensor) -> Tensor:
    y = x * 2
    y[0] = 1.0  # here
    z = y * 3
    y.register_hook(net.hook)
    return z.sum()


def of_a_branch(net: Net, x: Tensor) -> Tensor:
    if x.sum() > 0:
        y = x * 2  # here
    else:
        y = x * 4
    z = y * 3
    y.register_hook(net.hook)
    return z.sum()


def of_a_loop(net: Net, x: Tensor) -> Tensor:
    y = x
    for _ in range(3):
        y = y * 2  # here
    z = y * 3
    y.register_hook(net.hook)
    return z.sum()


def of_a_loop_on_a_tensor(net: Net, x: Tensor) -> Tensor:
    y = x * 1
    while y.sum() < 10:
        y = y * 2  # here
    z = y * 3
    y.register_hook(net.hook)
    return z.sum()


def of_an_argument(net: Net, x: Tensor) -> Tensor:
    x.register_hook(net.hook)  # here
    return (x * x).sum()


def of_hook_backward(net: Net, x: Tensor) -> Tensor:
    y = x * 3
    z = ops.HookBackward(net.hook)(y)  # here
    return (z * z).sum()


def of_insert_gradient_of(net: Net, x: Tensor) -> Tensor:
    y = x * 3
    z = ops.InsertGradientOf(net.hook)(y)  # here
    return (z * z).sum()


def of_a_backward_hook(net: Net, x: Tensor) -> Tensor:
    y = x * 2
    return net.hooked(y).sum()  # here


def of_a_backward_pre_hook(net: Net, x: Tensor) -> Tensor:
    y = x * 2
    return net.before(y).sum()  # here


def of_a_bprop(net: Net, x: Tensor) -> Tensor:
    y = x * 2
    return net.own(y).sum()  # here


class Net(nn.Cell):
    def __init__(self, body: Callable[[Net, Tensor], Tensor], hook: Hook):
        super().__init__()
        self.body, self.hook = body, hook
        self.relu, self.hooked, self.before, self.own = nn.ReLU(), Square(), Square(), OwnBprop()
        self.hooked.register_backward_hook(hook)
        self.before.register_backward_pre_hook(hook)

    def construct(self, x: Tensor) -> Tensor:
        return self.body(self, x)


def inside(net: Net) -> Callable[[Tensor], Any]:
    gradient = ms.grad(net)
    return jit(lambda x: gradient(x))


def with_vjp(net: Net) -> Callable[[Tensor], Any]:
    return lambda x: ms.vjp(net, x)[1](Tensor(1.0))


FORMS: dict[str, Callable[[Net], Callable[[Tensor], Any]]] = {
    "eager": ms.grad, "jit": lambda net: ms.grad(jit(net)), "gradient inside": inside, "vjp": with_vjp, "graph mode": ms.grad,
}
BODIES = [of_an_operator, of_one_of_several_results, of_a_cell, of_a_function_that_registers_it, of_a_write, of_a_branch, of_a_loop,
          of_a_loop_on_a_tensor, of_an_argument, of_hook_backward, of_insert_gradient_of, of_a_backward_hook, of_a_backward_pre_hook,
          of_a_bprop]


def line_of(body: Callable[..., Any]) -> int:
    lines, first = inspect.getsourcelines(body)
    return next(first + i for i, line in enumerate(lines) if line.endswith("# here\n"))


@pytest.mark.parametrize("hook", [raises, returns_a_number, returns_another_shape])
@pytest.mark.parametrize("body", BODIES)
def test_the_line_that_made_the_value(body: Callable[..., Any], hook: Hook) -> None:
    if body is of_a_bprop and hook is not raises:
        return  # its `bprop` always raises
    wanted = f"forward at {__file__}:{line_of(body)}"
    for form, made in FORMS.items():
        run = made(Net(body, hook))
        ms.set_context(mode=ms.GRAPH_MODE if form == "graph mode" else ms.PYNATIVE_MODE)
        try:
            for _ in range(2):
                with pytest.raises((ValueError, TypeError, RuntimeError)) as raised:
                    run(Tensor([1.0, 2.0]))
                (text,) = raised.value.__notes__ if hook is raises else (str(raised.value),)
                assert wanted in text and "test_notes.py" in text.partition("forward at")[0], (form, text)
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
