"""`watch.hooks` notes each call of a hook, alike in every mode, and says why the other hooks did not run."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops, watch

X = Tensor(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))


def look(*given: Any) -> None:
    """A hook of any kind that changes nothing."""


def added(cell: nn.Cell, args: Any, output: Tensor) -> None:
    output.add_(1)


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.cut, self.unused, self.last = nn.Dense(3, 3), nn.Dense(3, 3), nn.Dense(3, 3), nn.ReLU()
        self.frozen = Parameter(Tensor([2.0]), requires_grad=True)

    def construct(self, x: Tensor) -> Tensor:
        y = self.first(x)
        y.register_hook(lambda gradient: gradient * 2)
        z = ops.HookBackward(look)(y) * self.frozen
        return self.last(z + ops.stop_gradient(self.cut(x)))


CUT_LINE = Net.construct.__code__.co_firstlineno + 4


def hooked() -> Net:
    """Return a network with hooks of all kinds."""
    net = Net()
    net.register_backward_hook(look)
    net.first.register_forward_pre_hook(lambda cell, args, kwargs: (args, kwargs), with_kwargs=True)
    net.first.register_forward_hook(added)
    net.last.register_backward_pre_hook(lambda cell, grad_output: grad_output[0] * 3)
    for cell in (net.cut, net.unused):
        cell.register_backward_hook(look)
    return net


def in_graph_mode(net: Net) -> Any:
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        return ms.grad(net)(X)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


FORMS: dict[str, Callable[[Net], Any]] = {
    "eager": lambda net: ms.grad(net)(X), "jit": lambda net: ms.grad(ms.jit(net))(X), "GRAPH_MODE": in_graph_mode,
    "in a graph": lambda net: ms.jit(ms.grad(net))(X),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_calls_are_noted_in_order(form: Callable[[Net], Any]) -> None:
    ms.set_seed(0)
    net = hooked()
    expected = ms.grad(net)(X).asnumpy()
    with watch.hooks(net) as trail:
        found = form(net).asnumpy()
    assert found.tobytes() == expected.tobytes()
    assert [(call.kind, call.subject, call.value, call.changed) for call in trail.calls] == [
        ("forward pre hook", "first", "(f32[2, 3])", False),
        ("forward hook", "first", "f32[2, 3]", True),
        ("backward pre hook", "last", "(f32[2, 3])", True),
        ("HookBackward", "a tensor", "(f32[2, 3])", False),
        ("tensor hook", "a tensor", "f32[2, 3]", True),
        ("backward hook", "", "(f32[2, 3])", False),
    ]
    assert trail.calls[1].hook.startswith("added at ") and trail.calls[1].registered.startswith(f"{__file__}:")
    assert [(hook.subject, hook.kind) for hook in trail.silent] == [("cut", "backward hook"), ("unused", "backward hook")]
    assert trail.silent[1].reason == "the Cell was not called"
    assert "6 calls of hooks" in str(trail) and "2 hooks did not run" in str(trail)


@pytest.mark.parametrize("form", [FORMS["eager"], FORMS["jit"]], ids=["eager", "jit"])
def test_the_line_that_ends_a_gradient_is_named(form: Callable[[Net], Any]) -> None:
    net = hooked()
    with watch.hooks(net) as trail:
        form(net)
    assert trail.silent[0].reason.startswith(f"`stop_gradient` at {__file__}:{CUT_LINE} ends the gradient")


def reason(net: nn.Cell, run: Callable[[], Any]) -> str:
    """Return why the only hook of a network did not run."""
    with watch.hooks(net) as trail:
        run()
    (silent,) = trail.silent
    return silent.reason


def constant_times(net: nn.Cell, x: Tensor) -> Tensor:
    with ms._no_grad():
        y = net(x)
    return y.sum() * x


def test_reasons() -> None:
    net = nn.Dense(3, 2)
    handle = net.register_backward_hook(look)
    assert reason(net, lambda: net(X)).startswith("no gradient was taken")
    assert reason(net, lambda: ms.grad(lambda x: (net(x), x * x)[1])(X)) == "what is differentiated does not depend on it"
    assert reason(net, lambda: ms.grad(lambda x: net(X) + x.sum())(X)) == "none of its arguments depends on what the gradient is taken by"
    assert reason(net, lambda: ms.grad(lambda x: constant_times(net, x))(X)) == "the Cell was called inside of `_no_grad`"
    assert reason(net, lambda: (net(X), handle.remove())).startswith(f"it was removed at {__file__}:")

    def registered_late() -> None:
        net(X)
        net.register_forward_hook(look)

    assert reason(net, registered_late) == "it was registered in the block, after its turn"
    with pytest.raises(ValueError, match="For 'Dense'"), watch.hooks(net) as trail:
        net(X[:, :2])
    assert trail.silent[0].reason == "construct raised an exception"


def test_hooks_of_parameters() -> None:
    net = nn.Dense(3, 2)
    net.weight.register_hook(look)
    with watch.hooks(net) as trail:
        ms.grad(net, None, net.trainable_params())(X)
    assert [(call.kind, call.subject) for call in trail.calls] == [("tensor hook", "weight")] and not trail.silent
    assert reason(net, lambda: ms.grad(net)(X)) == "no gradient was taken by it"
    net.weight.requires_grad = False
    assert reason(net, lambda: ms.grad(net, None, [net.bias])(X)) == "the Parameter has requires_grad=False"


def test_the_block_leaves_nothing_behind() -> None:
    net = nn.Dense(3, 2)
    handle = net.register_backward_hook(look)
    with watch.hooks(net):
        ms.grad(net)(X)
        y = X * 2
        y.register_hook(look)
        assert y.hooks() == [look]
    assert not net._cell_slots().forward_pre and pickle.loads(pickle.dumps(net))._cell_slots().backward
    handle.remove()
    assert not net._cell_slots().backward and not net._cell_slots().backward.places


def test_an_error_of_a_hook_names_it() -> None:
    net = nn.Dense(3, 2)
    net.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0][:1],))
    with pytest.raises(ValueError, match=f"<lambda> at {__file__}"), watch.hooks(net):
        ms.grad(net)(X)


def test_what_is_no_cell_is_refused() -> None:
    with pytest.raises(TypeError, match="'net' must be a Cell, but got 3 of type int"), watch.hooks(3):  # pyright: ignore[reportArgumentType] - wrong on purpose
        pass
