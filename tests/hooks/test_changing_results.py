"""Forward hooks whose results change in the middle of training: the run goes on in another graph.

What ran before the hook has run as whole pieces, which keep few of their values: the others are computed anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.runtime.execution import recorded
from adjoint.runtime.graphs.calls import entry
from tests.hook_events import recorded as events_of
from tests.hooks.training import X, eager


class Early(nn.Cell):
    """A cell between long pieces, whose values are used again after it."""

    def __init__(self):
        super().__init__()
        self.act = nn.Tanh()

    def construct(self, x):
        a = ops.sin(x) * 2 + 1
        b = ops.exp(a * 0.1) - ops.stop_gradient(a)
        return self.end(a, b, self.act(b))


class Net(Early):
    def end(self, a, b, c):
        d = ops.cos(c) * a
        return (d * b + self.act(d)).sum()


CHANGES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "another dtype": lambda cell, args, output: output.astype(ms.float64) * 2,
    "another shape": lambda cell, args, output: output.mean(),
    "a pair's sum": lambda cell, args, output: output + args[0].sum(),
    "its argument": lambda cell, args, output: args[0],
}


def log_of(wrapped: Callable[..., Any], gradient: Callable[..., Any], change: Callable[[Any, Any, Any], Any]) -> list[Any]:
    with events_of() as events:
        net, calls = Net(), [0]

        def hook(cell: Any, args: Any, output: Any) -> Any:
            calls[0] += 1
            return change(cell, args, output) if calls[0] in (7, 10) else None

        net.act.register_forward_hook(hook)
        net.act.register_backward_hook(lambda cell, grad_input, grad_output: None)
        function = gradient(wrapped, net)
        for _ in range(6):
            made = function(X)
            events += [("made", x.dtype, x.asnumpy().tobytes()) for x in (made if isinstance(made, tuple) else (made,))]
    return events


ORDERS = {
    "values": lambda wrapped, net: wrapped(lambda x: net(x)),
    "gradients": lambda wrapped, net: ms.value_and_grad(wrapped(lambda x: net(x))),
    "gradients inside": lambda wrapped, net: wrapped(lambda x: ms.value_and_grad(net)(x)),
    "second order": lambda wrapped, net: wrapped(lambda x: ms.grad(lambda x: ms.grad(net)(x).sum())(x)),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_hook_that_returns_something_else_in_a_later_run(order: str, change: str) -> None:
    expected = log_of(eager, ORDERS[order], CHANGES[change])
    assert log_of(ms.jit, ORDERS[order], CHANGES[change]) == expected


class Asking(Early):
    """Uses an early value again if a hook returns a pair."""

    def end(self, a, b, c):
        if isinstance(c, tuple):
            c = c[0] * a
        return (c * b).sum()


class Decided(Asking):
    """The same with a branch, so that a run which leaves the graph goes along the path."""

    def end(self, a, b, c):
        found = super().end(a, b, c)
        return found if found.sum() < 1000 else found * 2


def asked(wrapped: Callable[..., Any], kind: type[Asking] = Asking) -> list[bytes]:
    net, calls = kind(), [0]

    def hook(cell: Any, args: Any, output: Any) -> Any:
        calls[0] += 1
        return (output, output) if calls[0] > 3 else None

    net.act.register_forward_hook(hook)
    function = wrapped(ms.grad(net))
    return [function(X).asnumpy().tobytes() for _ in range(5)]


@pytest.mark.parametrize("kind", [Asking, Decided])
def test_a_value_that_only_the_new_graph_needs(kind: type[Asking]) -> None:
    assert asked(ms.jit, kind) == asked(eager, kind)


def test_a_wrong_value_there_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted mistake: the values that a piece has not kept are wrong."""
    original, missing = recorded._Logged._results, list[int]()

    def wrong(self: Any) -> list[Any]:
        missing.extend(i for i, x in enumerate(self.made) if x is None)
        return [x if made is not None else x * 2 for x, made in zip(original(self), self.made, strict=True)]

    monkeypatch.setattr(recorded._Logged, "_results", wrong)
    monkeypatch.setattr(entry.observed_runs, "observed", lambda graph, **how: None)  # along the path from the first run on
    assert asked(ms.jit, Decided) != asked(eager, Decided)
    assert missing


class InLoops(nn.Cell):
    """A cell with a hook that changes its argument, called after a branch that keeps an attribute, and in a loop whose body is parsed
    several times, in a branch of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.b, self.part = Parameter(Tensor(0.75), name="b"), nn.Tanh()
        self.part.register_forward_pre_hook(lambda cell, arguments: (arguments[0] * 0.5,))

    def construct(self, x: Any, y: Any) -> Any:
        if y < 0:
            x = x * 2
        else:
            self.kept = x - y
        x[2] = self.part(x).sum()
        k = 0
        while k < 3 and self.b + x[0] > 0:
            k += 1
            if y:
                y = y + ops.tanh(self.part(x)).sum()
        return x * y


@pytest.mark.parametrize("asked", [
    lambda net: lambda x, y: net(x, y),
    lambda net: ms.grad(lambda x, y: net(x, y).sum()),
    lambda net: lambda x, y: ms.jvp(lambda x: net(x, y), x, ops.ones(3))[1],
], ids=["value", "gradient", "jvp"])
def test_a_changing_hook_in_a_loop_that_is_parsed_several_times(asked: Callable[[Any], Callable[..., Any]]) -> None:
    expected = asked(InLoops())(Tensor([1.0, -2.0, 0.5]), Tensor(0.25)).asnumpy().tobytes()
    function = ms.jit(asked(InLoops()))
    for _ in range(2):
        assert function(Tensor([1.0, -2.0, 0.5]), Tensor(0.25)).asnumpy().tobytes() == expected
