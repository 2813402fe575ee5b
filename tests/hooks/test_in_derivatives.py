"""Hooks on what derivatives are taken of: Jacobians, Hessians, derivatives along directions, and gradients around them.

They are called in a graph as in eager mode, with the same tensors, whether they were there when the graph was made or came later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops


class Hooked(nn.Cell):
    """A cell with a hook of one kind; `calls` are what hooks were given."""

    def __init__(self, kind: str):
        super().__init__()
        self.kind, self.calls = kind, list[bytes]()
        self.inner = nn.Dense(3, 3, weight_init="ones")
        self.seen, self.inserted = ops.HookBackward(lambda gradients: self._changed(gradients[0])), ops.InsertGradientOf(self._changed)
        if kind == "forward":
            self.inner.register_forward_hook(lambda cell, inputs, output: self._changed(output))
        elif kind == "backward":
            self.inner.register_backward_hook(lambda cell, by_input, by_output: (self._changed(by_input[0]),))
        elif kind == "backward_pre":
            self.inner.register_backward_pre_hook(lambda cell, by_output: (self._changed(by_output[0]),))

    def _changed(self, x: Any) -> Any:
        self.calls.append(x.asnumpy().tobytes())
        return x * 0.5

    def construct(self, x: Any) -> Any:
        y = ops.tanh(self.inner(x))
        if self.kind == "value":
            y.register_hook(self._changed)
        elif self.kind == "operator":
            y = self.seen(y)
        elif self.kind == "inserted":
            y = self.inserted(y)
        return (y * y * x).sum()


def _rows(function: Callable[..., Any], x: Tensor) -> Tensor:
    _, pull = ms.vjp(function, x)
    return ops.stack([pull(row)[0] for row in ops.eye(3, 3, ms.float32)])


def _columns(function: Callable[..., Any], x: Tensor) -> Tensor:
    _, along = ms.linearize(function, x)
    return ops.stack([along(column) for column in ops.eye(3, 3, ms.float32)], 1)


def _columns_in_a_loop(function: Callable[..., Any], x: Tensor) -> Tensor:
    _, along = ms.linearize(function, x)
    basis, found, i = ops.eye(3, 3, ms.float32), ops.zeros((3, 3)), Tensor(0)
    while i < 3:
        found = found + basis[i] * along(basis[i])[:, None]
        i = i + 1
    return found


@pytest.mark.parametrize("kind", ["forward", "backward", "backward_pre", "value", "operator", "inserted"])
@pytest.mark.parametrize(("in_graph", "one_by_one"), [
    (lambda net: ms.jacrev(lambda x: net(x) * x), lambda net: lambda x: _rows(lambda x: net(x) * x, x)),
    (lambda net: ms.jacrev(ms.grad(net)), lambda net: lambda x: _rows(ms.grad(net), x)),
    (lambda net: ms.jacfwd(ms.grad(net)), lambda net: lambda x: _columns(ms.grad(net), x)),
    (lambda net: ms.hessian(net), lambda net: lambda x: _columns(ms.grad(net), x)),
    (lambda net: lambda x: _columns_in_a_loop(ms.grad(net), x), lambda net: lambda x: _columns(ms.grad(net), x)),
], ids=["jacrev", "jacrev of grad", "jacfwd of grad", "hessian", "linearize in a loop"])
def test_hooks_in_derivatives_of_a_graph(kind: str, in_graph: Callable[..., Any], one_by_one: Callable[..., Any]) -> None:
    net, x = Hooked(kind), Tensor([0.5, -1.0, 0.25])
    expected, calls = one_by_one(net)(x).asnumpy().tobytes(), list(net.calls)
    assert calls
    function = in_graph(net)
    for asked in (function, ms.jit(lambda x: function(x))):
        for _ in range(2):
            net.calls.clear()
            assert asked(x).asnumpy().tobytes() == expected
            assert net.calls == calls


def _derived(net: Around, x: Any) -> Any:
    """Return the result of the network's function, by a derivative of the kind that is asked for."""

    def function(v: Any) -> Any:
        return ops.tanh(net.inner(v)) * v

    if net.kind == "jvp":
        return ms.jvp(function, x, x)[1]
    if net.kind == "linearize":
        return ms.linearize(function, x)[1](x)
    if net.kind == "grad":
        return ms.grad(lambda v: function(v).sum())(x)
    if net.kind == "vmap":
        return ms.vmap(function)(ops.stack([x, x])).sum(0)
    return (ms.jacrev if net.kind == "jacrev" else ms.jacfwd)(function)(x).sum(0)


class Around(nn.Cell):
    """A network that takes a derivative of a cell, and calls another one, which may have a hook that changes its result."""

    def __init__(self, kind: str, changes: bool):
        super().__init__()
        self.kind, self.inner, self.outer = kind, nn.Dense(3, 3), nn.Dense(3, 3)
        if changes:
            self.outer.register_forward_hook(lambda cell, inputs, output: output * 0.5)

    def construct(self, x: Any) -> Any:
        return self.outer(_derived(self, x) + x).sum()


class ThroughParameter(nn.Cell):
    """A network that writes a Parameter and reads it: its gradient goes through the Parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(Tensor([0.5, -0.25, 1.5]), name="w")

    def construct(self, x: Any) -> Any:
        self.w = ops.tanh(x) * 1
        return (ops.tanh(self.w) * x).sum()


@pytest.mark.parametrize("asked", [
    lambda net: ms.hessian(net), lambda net: ms.jacfwd(ms.grad(net)), lambda net: lambda x: ms.jacrev(ms.grad(net))(x).T,
], ids=["hessian", "jacfwd", "jacrev"])
def test_second_derivatives_through_a_parameter(asked: Callable[[Any], Callable[..., Any]]) -> None:
    x = Tensor([1.0, -2.0, 0.5])
    expected = [ms.jvp(ms.grad(ThroughParameter()), x, direction)[1].asnumpy() for direction in ops.eye(3, 3, ms.float32)]
    assert all(abs(row).max() > 0.01 for row in expected)
    function = asked(ThroughParameter())
    for found in (function(x), ms.jit(lambda x: function(x))(x)):
        np.testing.assert_allclose(found.asnumpy().T, expected, rtol=1e-5, atol=1e-7)


REGISTERED: dict[str, Callable[[Any, list[bytes]], Any]] = {
    "forward": lambda cell, seen: cell.register_forward_hook(lambda cell, inputs, output: seen.append(output.asnumpy().tobytes())),
    "backward": lambda cell, seen: cell.register_backward_hook(lambda cell, given, sent: seen.append(sent[0].asnumpy().tobytes())),
    "parameter": lambda cell, seen: cell.weight.register_hook(lambda gradient: seen.append(gradient.asnumpy().tobytes())),
}


def _trained(kind: str, hook: str, changes: bool, registered: int, in_graph: bool) -> tuple[list[bytes], list[bytes]]:
    """Return the losses of six steps, and what a hook has seen that is registered before one of them, and removed before the last."""
    ms.set_seed(1)
    net, seen, losses = Around(kind, changes), list[bytes](), list[bytes]()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    gradient = ms.value_and_grad(net, None, optimizer.parameters)

    def step(x: Any) -> Any:
        loss, gradients = gradient(x)
        optimizer(gradients)
        return loss

    function, handle = ms.jit(step) if in_graph else step, None
    for run in range(6):
        if run == registered:
            handle = REGISTERED[hook](net.inner, seen)
        if run == 5 and handle is not None:
            handle.remove()
        losses.append(function(Tensor([0.1, 0.2, 0.3])).asnumpy().tobytes())
    return losses, seen


@pytest.mark.parametrize("kind", ["jvp", "linearize", "grad", "vmap", "jacrev", "jacfwd"])
@pytest.mark.parametrize("hook", REGISTERED)
def test_hooks_in_derivatives_that_come_and_go(kind: str, hook: str) -> None:
    for changes in (False, True):
        for registered in (0, 3):
            expected = _trained(kind, hook, changes, registered, False)
            assert len(expected[1]) >= 5 - registered
            assert _trained(kind, hook, changes, registered, True) == expected
