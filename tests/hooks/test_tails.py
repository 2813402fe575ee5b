"""Graphs along whose path the user's code runs: what comes after it is a graph of its own, unless the user's code has changed it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.runtime.graphs.calls import entry
from adjoint.runtime.graphs.running import two_parts
from adjoint.runtime.inspection.stages import plan_of
from tests.hooks.training import Layers, Training, eager, log_of
from tests.seams import plant


@pytest.fixture(autouse=True)
def along_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run graphs as if hooks had changed something before: those that only look at values need no path."""
    monkeypatch.setattr(entry.observed_runs, "observed", lambda graph, **how: None)


class Net(Layers):
    """Layers with forward hooks, as those that collect statistics."""

    def __init__(self):
        super().__init__()
        for cell in (self.first, self.act, self.second):
            cell.register_forward_hook(lambda cell, args, output: None)


class Report(nn.Cell):
    """What a step computes of its loss."""

    def construct(self, loss):
        for _ in range(4):
            loss = ops.tanh(loss) + 1
        return loss


Change = Callable[[Training], Any]


def changed(change: Change) -> Training:
    """Return a training; a hook makes the change in the third step."""
    training, calls = Training(Net(), Report()), [0]

    def hook(cell: Any, args: Any, output: Any) -> None:
        calls[0] += 1
        if calls[0] == 3:
            change(training)

    training.net.second.register_forward_hook(hook)
    return training


def log(wrapped: Callable[..., Any], change: str) -> list[Any]:
    return log_of(wrapped, lambda: changed(CHANGES[change]))


def raises(training: Training) -> None:
    raise ValueError("boom")


CHANGES: dict[str, Change] = {
    "nothing": lambda training: None,
    "a forward hook of a later cell": lambda training: training.report.register_forward_hook(lambda cell, args, output: output * 2),
    "another dtype there": lambda training: training.report.register_forward_pre_hook(lambda cell, args: (args[0].astype(ms.float64),)),
    "a weight": lambda training: training.net.first.weight.set_data(training.net.first.weight * 0.5),
    "a moment": lambda training: training.optimizer.moments[0].set_data(training.optimizer.moments[0] * 0.5),
    "a hook of a weight": lambda training: training.net.first.weight.register_hook(lambda gradient: gradient * 2),
    "it raises": raises,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_training_step_is_that_of_eager_mode(change: str) -> None:
    expected = log(eager, change)
    assert log(ms.jit, change) == expected


WEIGHT_CHANGES: dict[str, Callable[[ms.Parameter], Any]] = {
    "nothing": lambda weight: None,
    "its numbers": lambda weight: weight.set_data(weight * 0.5),
    "a hook on it": lambda weight: weight.register_hook(lambda gradient: gradient * 2),
    "it is frozen": lambda weight: setattr(weight, "requires_grad", False),
}


@pytest.mark.parametrize("change", WEIGHT_CHANGES)
def test_a_gradient_after_the_last_hook_is_that_of_eager_mode(change: str) -> None:
    """A hook changes the weight in the third step, before the gradient by it is taken."""

    def run(wrapped: Callable[..., Any]) -> list[bytes]:
        cell, calls = nn.Tanh(), list[Any]()
        weight = ms.Parameter(Tensor([0.5, -1.5, 2.0]), name="w")
        gradient = ms.value_and_grad(lambda x: (ops.sin(x * weight) * x).sum(), 0, weight)

        def hook(cell: Any, args: Any, output: Any) -> None:
            calls.append(args)
            if len(calls) == 3:
                WEIGHT_CHANGES[change](weight)

        def step(x: Tensor) -> Any:
            loss, (by_x, by_weight) = gradient(cell(x) * 2 + 1)
            ops.assign(weight, weight - by_weight * 0.1)
            return loss, by_x, weight * 1

        cell.register_forward_hook(hook)
        step = wrapped(step)
        return [x.asnumpy().tobytes() for _ in range(5) for x in step(Tensor([0.25, -0.5, 1.0]))]

    assert run(ms.jit) == run(eager)


def test_the_update_is_a_graph_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = list[bool]()
    original = two_parts.HeadAndTail.is_as_it_was
    monkeypatch.setattr(two_parts.HeadAndTail, "is_as_it_was", lambda self, between: alone.append(original(self, between)) or alone[-1])
    log(ms.jit, "another dtype there")
    assert alone == [True, True, False]


def test_the_plan_shows_both_parts() -> None:
    """With a branch, and a print before a forward hook, which must not be repeated, it runs along the path; what comes after need not."""
    weight, cell = Parameter(Tensor([0.5, 1.5, 2.0]), name="weight"), nn.Tanh()
    gradient = ms.value_and_grad(lambda x: (cell(x * weight) * x).sum(), 0, weight)

    def step(x: Tensor) -> Any:
        print("begins")
        loss, (by_x, by_weight) = gradient(x)
        loss = ops.tanh(ops.sin(loss) * 2) + ops.cos(ops.exp(loss) + 1) * 3 - 4
        return loss if loss > 0 else loss * 2, by_x, by_weight

    cell.register_forward_hook(lambda cell, args, output: None)
    shown = plan_of(ms.jit(step).graph_of(Tensor([0.25, -0.5, 1.0])))
    assert shown.startswith("in two parts: before a forward hook something happens that cannot be done again (")
    assert "test_tails.py:" in shown.partition("\n")[0]
    assert "\n\nthe first part, along the path: apply! @" in shown
    assert "\n\nthe second part, as long as the first changes nothing that it was made for, plan @step" in shown


def test_a_tail_that_ignores_late_hooks_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted mistake."""
    plant(monkeypatch, "tail is as it was", lambda of: lambda self, between: [x.type for x in between] == self._types)
    assert log(ms.jit, "another dtype there") != log(eager, "another dtype there")


def test_a_parameter_that_is_read_before_it_is_written() -> None:
    """It is returned as the parameter that it is, with its new value."""

    def run(wrapped: Callable[..., Any]) -> list[bytes]:
        cell = nn.Tanh()
        cell.register_forward_hook(lambda cell, args, output: None)
        w = ms.Parameter(Tensor([1.0, 2.0]), name="w")

        def f(x: Tensor) -> Any:
            before = w
            y = cell(x * before)
            for _ in range(4):
                y = ops.sin(y) * 2 + 1
            ops.assign(w, y)
            return before, w * 1, y

        step = wrapped(f)
        return [x.asnumpy().tobytes() for _ in range(3) for x in step(Tensor([0.5, -0.5]))]

    assert run(ms.jit) == run(eager)
