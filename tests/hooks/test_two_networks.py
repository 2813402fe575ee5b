"""Steps with two hooked networks: the last part runs as a whole, unless the user's code before it has changed something that it uses."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.foundation.diagnostics import InternalError
from adjoint.ir.ops.random import Draw
from adjoint.runtime.execution.bound_plan import computing
from adjoint.runtime.graphs.running import observed_runs, repetition, two_parts
from adjoint.runtime.graphs.running.gradients import gradient_makers
from adjoint.runtime.tensor.random_keys import next_key
from tests.hook_events import recorded
from tests.hooks.training import LABELS, Layers, X, eager
from tests.seams import plant

RUNS, CHANGING = 6, (2, 4)


class Nets:
    """Two networks with hooks, and the losses and optimisers that train them.

    run  the number of the step; in some of them a hook makes a change
    """

    def __init__(self, place: str, change: Change):
        self.first, self.second, self.run, self.place, self.change = Layers(), Layers(), 0, place, change
        self.optimizers = [nn.Momentum(net.trainable_params(), 0.1, 0.9) for net in (self.first, self.second)]
        self.loss, self.dropout = nn.CrossEntropyLoss(), nn.Dropout(p=0.25)
        self.dropout.set_train()
        self.handles = dict[str, Any]()
        for name, net in (("first", self.first), ("second", self.second)):
            self.handles[f"{name} backward"] = net.act.register_backward_hook(self.hook(f"{name} backward"))
            self.handles[f"{name} pre"] = net.second.register_backward_pre_hook(self.hook(f"{name} pre"))

    def watch_forward(self) -> None:
        for name, net in (("first", self.first), ("second", self.second)):
            self.handles[f"{name} forward"] = net.act.register_forward_hook(self.hook(f"{name} forward"))

    def hook(self, name: str) -> Callable[..., Any]:
        return lambda *given: self.change(self, given[-1]) if name == self.place and self.run in CHANGING else None

    def one_after_the_other(self, x: Tensor) -> Any:
        made = []
        for net, optimizer in zip((self.first, self.second), self.optimizers, strict=True):
            value, gradients = ms.value_and_grad(lambda x, net=net: self.loss(net(self.dropout(x)), LABELS), None, optimizer.parameters)(x)
            optimizer(gradients)
            made += [value, gradients[0]]
        return tuple(made)

    def against_each_other(self, x: Tensor) -> Any:
        made = []
        for sign, optimizer in zip((1, -1), self.optimizers, strict=True):
            value, gradients = ms.value_and_grad(
                lambda x, sign=sign: self.loss(self.second(self.first(x)), LABELS) * sign, None, optimizer.parameters)(x)
            optimizer(gradients)
            made.append(value)
        return tuple(made)

    def one_teaches(self, x: Tensor) -> Any:
        taught = self.first(x)
        value, gradients = ms.value_and_grad(
            lambda x: ops.square(self.second(x) - taught).sum(), None, self.optimizers[1].parameters)(x)
        self.optimizers[1](gradients)
        return value, taught


Change = Callable[[Nets, Any], Any]
STEPS = {"one after the other": Nets.one_after_the_other, "against each other": Nets.against_each_other, "one teaches": Nets.one_teaches}


def halved(weight: Any) -> None:
    weight.set_data(weight * 0.5)


def raising(nets: Nets, given: Any) -> None:
    raise ValueError("boom")


CHANGES: dict[str, Change] = {
    "nothing": lambda nets, given: None,
    "a weight": lambda nets, given: halved(nets.second.first.weight),
    "a frozen weight": lambda nets, given: setattr(nets.second.first.weight, "requires_grad", False),
    "a hook of a weight": lambda nets, given: nets.second.first.weight.register_hook(lambda gradient: gradient * 2) and None,
    "a forward hook": lambda nets, given: nets.second.first.register_forward_hook(lambda cell, args, output: output * 2) and None,
    "another dtype": lambda nets, given: nets.second.second.register_forward_hook(
        lambda cell, args, output: output.astype(ms.float64)) and None,
    "a forward pre hook": lambda nets, given: nets.second.first.register_forward_pre_hook(lambda cell, args: (args[0] * 2,)) and None,
    "a backward hook": lambda nets, given: nets.second.first.register_backward_hook(
        lambda cell, grad_input, grad_output: (grad_input[0] * 2,)) and None,
    "a second backward hook": lambda nets, given: nets.second.act.register_backward_hook(
        lambda cell, grad_input, grad_output: (grad_input[0] * 2,)) and None,
    "a removed hook": lambda nets, given: nets.handles["second backward"].remove(),
    "it raises": raising,
}
RETURNED: dict[str, Change] = {**CHANGES, "new values": lambda nets, given: given * 2}


def log_of(wrapped: Callable[..., Any], step: str, place: str, change: Change) -> list[Any]:
    ms.set_seed(3)
    with recorded() as events:
        nets = Nets(place, change)
        if "forward" in place:
            nets.watch_forward()
        run = wrapped(lambda x: STEPS[step](nets, x))
        for nets.run in range(RUNS):
            try:
                events.append(("made", [x.asnumpy().tobytes() for x in run(X)]))
            except (TypeError, ValueError) as raised:
                events.append(("raised", str(raised).splitlines()[0]))
            for optimizer in nets.optimizers:
                events += [("weight", p.asnumpy().tobytes()) for p in (*optimizer.parameters, *optimizer.moments)]
    return events


@pytest.mark.parametrize("place", ["first backward", "first forward", "second forward"])
@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_that_of_eager_mode(step: str, place: str) -> None:
    wrong = [name for name, change in (RETURNED if "forward" in place else CHANGES).items()
             if log_of(ms.jit, step, place, change) != log_of(eager, step, place, change)]
    assert not wrong


def test_both_parts_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, again = list[bool](), list[bool]()
    original, repeated = two_parts.HeadAndTail.is_as_it_was, observed_runs.RecordableRun.again
    monkeypatch.setattr(two_parts.HeadAndTail, "is_as_it_was", lambda self, between: whole.append(original(self, between)) or whole[-1])
    monkeypatch.setattr(observed_runs.RecordableRun, "again", lambda self: again.append(True) or repeated(self))
    log_of(ms.jit, "one after the other", "first backward", CHANGES["a forward hook"])
    assert whole[:3] == [True, True, False]
    assert again


MISTAKES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "random numbers are drawn again": lambda patch: plant(patch, "steps of a repetition", lambda makers: lambda graph, found: {
        **makers(graph, found), Draw: lambda bound: computing(lambda: (next_key(),), bound)}),
    "changes are not noticed": lambda patch: plant(patch, "tail is as it was", lambda of: lambda self, between: True),
    "weights are not as they were when the head is repeated": lambda patch: plant(
        patch, "repeated run", lambda repeat: lambda self, run, before: repeat(self, run, ())),
    "backward hooks are called again": lambda patch: plant(patch, "steps of a repetition", lambda makers: lambda graph, found: {
        **makers(graph, found), **gradient_makers(graph.state)}),
    "hooks have other answers": lambda patch: (
        plant(patch, "answers of hooks", lambda answer_of: lambda op, called: 0),
        patch.setattr(repetition, "deque", lambda found: collections.deque(reversed(found))))[0],
    "the head is left out": lambda patch: plant(patch, "log of a head", lambda again: lambda self: []),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistakes_are_noticed(monkeypatch: pytest.MonkeyPatch, mistake: str) -> None:
    def change(nets: Nets, given: Any) -> Any:
        nets.second.second.register_forward_hook(lambda cell, args, output: output.astype(ms.float64) * made[0].sum())
        return (given[0] * 2,)

    made = [X]
    expected = log_of(eager, "one after the other", "first backward", change)
    assert log_of(ms.jit, "one after the other", "first backward", change) == expected
    MISTAKES[mistake](monkeypatch)
    try:
        found = log_of(ms.jit, "one after the other", "first backward", change)
    except (InternalError, IndexError):
        return
    assert found != expected
