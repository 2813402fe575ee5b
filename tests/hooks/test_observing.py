"""Networks of every kind around forward hooks that mostly look: which tensor objects these are given, and what happens if one does more.

Each is run as a graph and in eager mode, with gradients and without them.  Hooks keep the tensors that they are given; in one step one of
them does something with all of these.  It shows whether they are the objects of eager mode, and whether the tape knows them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops

STEPS, CHANGING = 8, 7
"""How many steps there are, and the number of that in which a hook does something: a call is one function by then."""


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


class Scaled(nn.Cell):
    def __init__(self, seed: int):
        super().__init__()
        self.w = Parameter(numbers(3, seed=seed), name=f"w{seed}")

    def construct(self, x):
        return ops.tanh(x * self.w)


class Two(nn.Cell):
    """Gives what it is given, and another value."""

    def construct(self, x, y):
        return x, y * 2


class Net(nn.Cell):
    """What the bodies below use."""

    def __init__(self, body: Callable[..., Any], hear: Callable[..., Any]):
        super().__init__()
        self.a, self.b, self.two, self.same = Scaled(1), Scaled(2), Two(), nn.Identity()
        self.w = Parameter(numbers(3, seed=3), name="w")
        self.frozen = Parameter(numbers(3, seed=4), name="frozen", requires_grad=False)
        self.count = Parameter(numbers(3, seed=5), name="count", requires_grad=False)
        self.body, self.hear = body, hear

    def construct(self, x, y):
        return self.body(self, x, y)


def written(net, x, y):
    h = net.a(x)
    ops.assign_add(net.count, ops.stop_gradient(h))
    return net.b(h) + net.count


def printed(net, x, y):
    h = net.a(x)
    print("h", h.sum())
    return net.b(h * 2)


def chosen(net, x, y):
    h = net.a(x)
    if h.sum() > -100:
        h = h - y * net.w
    else:
        h = h * 2 + net.w
    return net.b(h * 1) + net.same(y) + net.same(net.w)


def passed_through(net, x, y):
    h = net.a(x)
    k = h if h.sum() > 0 else y
    return net.b(k * 2) + k


def passed_to_a_hook(net, x, y):
    h = net.a(x)
    k = h if h.sum() > 0 else y
    return net.same(k) * 2


def repeated(net, x, y):
    h = net.a(x)
    for _ in range(3):
        h = h + y * net.w
    while h.sum() < 9:
        h = h + ops.abs(y) + net.w * 0 + 1
    return net.same(h) * net.same(y) + net.same(net.w)


def stopped(net, x, y):
    h = net.same(ops.stop_gradient(net.a(x)))
    return net.b(net.same(h)) + h


def stopped_and_paired(net, x, y):
    h, k = net.two(ops.stop_gradient(x), x)
    return net.b(h) + net.same(k) * net.same(h)


def attached(net, x, y):
    h = net.a(x)
    h.register_hook(net.hear)
    return net.b(h) + net.same(h)


def attached_in_a_branch(net, x, y):
    h = net.a(x) * 2
    if x.sum() > -100:
        h.register_hook(net.hear)
    return net.b(h * 1) + net.same(x)


def attached_in_a_branch_and_shown(net, x, y):
    h = net.a(x) * 2
    if x.sum() > -100:
        h.register_hook(net.hear)
    return net.same(h)


def behind_a_hook(net, x, y):
    h = ops.HookBackward(net.hear)(net.a(x))
    return net.b(h) + net.same(ops.HookBackward(net.hear)(y)) * y


def without_gradient(net, x, y):
    with ms._no_grad():
        k = net.w * 2
    return net.b(k) + net.same(k) * net.a(x)


def given_back_without_gradient(net, x, y):
    with ms._no_grad():
        k = net.same(x) * 1
    return net.same(k) * net.same(x)


def constants(net, x, y):
    return net.a(Tensor([1.0, 2.0, 3.0])) + net.same(Tensor([1.0, 2.0, 3.0])) * x


def weights(net, x, y):
    return net.b(net.w) + net.same(net.frozen) * net.same(net.w) + net.same(net.frozen)


def not_differentiated(net, x, y):
    h = net.same(y)
    k = h * 2
    h = net.same(h)
    return net.a(h * x) + net.same(h) + net.same(k) + net.same(y)


def pairs(net, x, y):
    h, k = net.two(x, y)
    h, k = net.two(k, h)
    return net.b(h) * k + net.same(h)


def between_hooks(net, x, y):
    h, k = net.two(x, x)
    return h * net.same(k) + net.two(h, y)[1]


def computed_between_hooks(net, x, y):
    k = net.same(y * 1)
    p = k * k
    return p + net.same(k)


BODIES = [written, printed, chosen, passed_through, passed_to_a_hook, repeated, stopped, stopped_and_paired, attached, attached_in_a_branch,
          attached_in_a_branch_and_shown, behind_a_hook, without_gradient, given_back_without_gradient, constants, weights,
          not_differentiated, pairs, between_hooks, computed_between_hooks]

Kept = list[Tensor]


def hooked(kept: Kept, output: Any) -> None:
    for x in {id(x): x for x in kept if x._takes_gradient}.values():
        x.register_hook(lambda gradient: gradient * 2)


def written_to(kept: Kept, output: Any) -> None:
    for x in {id(x): x for x in kept if not isinstance(x, Parameter)}.values():
        x.add_(1.0)


def summed(kept: Kept, output: Any) -> Any:
    return output + sum(kept) if isinstance(output, Tensor) else None


DEEDS = [hooked, written_to, summed]


def bits(value: Any) -> Any:
    return [bits(x) for x in value] if isinstance(value, (tuple, list)) else value.asnumpy().tobytes()


def log_of(wrapped: Callable[..., Any], body: Callable[..., Any], deed: Any, at: int, gradients: bool) -> list[Any]:
    """Return all that can be seen of some steps; in one of them the hook that is called as number `at` does the deed."""
    log: list[Any] = []
    kept: Kept = []
    steps: list[Any] = []
    net = Net(body, lambda gradient: log.append(("heard", bits(gradient))))

    def hook(cell: Any, args: Any, output: Any) -> Any:
        kept.extend((*args, *(output if isinstance(output, tuple) else (output,))))
        log.append(("forward", bits(args), bits(output)))
        calls.append(cell)
        return deed(kept, output) if len(steps) == CHANGING and len(calls) == at else None

    for cell in (net.a, net.b, net.two, net.same):
        cell.register_forward_hook(hook)
    net.a.register_backward_hook(lambda cell, grad_input, grad_output: log.append(("backward", bits(grad_output))))
    net.b.register_backward_pre_hook(lambda cell, grad_output: log.append(("backward pre", bits(grad_output))))
    function = ms.value_and_grad(lambda x, y: net(x, y).sum(), 0, net.trainable_params()) if gradients else net
    step = wrapped(lambda x, y: function(x, y))
    while len(steps) < STEPS:
        calls: list[Any] = []
        steps.append(calls)
        kept.clear()
        x, y = numbers(3, seed=6), numbers(3, seed=7)
        made = step(x, y)
        objects = (*kept, x, y, net.w, net.frozen, *(() if gradients else (made,)))
        log.append(("made", bits(made), [[a is b for a in kept] for b in objects]))
        log.append((bits([x, y, *kept, *net.get_parameters()]), [x._takes_gradient for x in kept]))
    return log


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_as_eager(body: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    wrong = []
    for gradients in (True, False):
        for deed in DEEDS[not gradients :]:
            for at in (2, 3):
                found, shown = log_of(ms.jit, body, deed, at, gradients), capsys.readouterr().out
                expected = log_of(lambda function: function, body, deed, at, gradients)
                if (found, shown) != (expected, capsys.readouterr().out):
                    wrong.append((deed.__name__, at, gradients))
    assert not wrong
