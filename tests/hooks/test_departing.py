"""Steps whose forward hooks have changed nothing so far, and then change something: each run goes on as in eager mode.

Training steps are differentiated as wholes, and networks without gradients run as wholes, until a hook does more than look at values.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.foundation.diagnostics import InternalError
from adjoint.runtime.execution import bound_plan, tiers
from adjoint.runtime.graphs.running import observed_hooks, observed_runs
from adjoint.runtime.graphs.running.cells import cell_makers
from tests.hook_events import recorded
from tests.seams import plant

X, LABELS = Tensor(np.random.default_rng(2).standard_normal((4, 3)).astype(np.float32)), Tensor(np.array([0, 2, 1, 2], np.int32))
RUNS, CHANGING = 6, (2, 4)
"""How many steps there are, and in which of them a hook changes something."""


class Net(nn.Cell):
    """Cells in cells, random numbers, an attribute, a cell whose result may have another structure, and one that is called twice."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(1)
        dense = [nn.Dense(3, 3, Tensor(rng.standard_normal((3, 3)).astype(np.float32)), "ones") for _ in range(3)]
        self.first, self.block, self.last = dense[0], nn.SequentialCell(nn.Tanh(), dense[1]), dense[2]
        self.extra, self.dropout, self.scale = nn.Identity(), nn.Dropout(p=0.25), 1.5

    def construct(self, x):
        h = self.first(x)
        h = self.block(h) * self.scale + h
        extra = self.extra(h)
        if isinstance(extra, tuple):
            extra = extra[0] * 2
        h = self.dropout(h) - ops.stop_gradient(h) * 0.5
        return self.last(self.first(h)) + extra.sum().astype(ms.float32)


class Training:
    """A network and the step that trains it.

    kept  the values that hooks have seen in this step; `run` is its number
    """

    def __init__(self, change: Change, place: str):
        ms.set_seed(5)
        self.net, self.change, self.place = Net(), change, place
        self.net.set_train()
        self.act, self.kept, self.run, self.handles = self.net.block[0], list[Any](), 0, dict[str, Any]()
        self.optimizer = nn.Momentum(self.net.trainable_params(), 0.1, 0.9)
        self.x = X
        self.other = nn.SGD([self.net.first.weight], 0.1)
        self.loss = nn.CrossEntropyLoss()
        self.by_argument = place == "act"
        self.gradient = ms.value_and_grad(self.forward, 0 if self.by_argument else None, self.optimizer.parameters)
        cells = {"first": self.net.first, "act": self.act, "block": self.net.block, "extra": self.net.extra, "last": self.net.last}
        for name, cell in cells.items():
            self.handles[name + " pre"] = cell.register_forward_pre_hook(self.hook(name + " pre"))
            self.handles[name] = cell.register_forward_hook(self.hook(name))
        self.handles["backward"] = self.net.block.register_backward_hook(lambda cell, grad_input, grad_output: None)
        self.act.register_backward_pre_hook(lambda cell, grad_output: None)

    def hook(self, name: str) -> Callable[..., Any]:
        def hook(cell: Any, args: Any, output: Any = None) -> Any:
            value = args[0] if output is None else output
            self.kept.append(value)
            return self.change(self, cell, args, value) if name == self.place and self.run in CHANGING else None

        return hook

    def forward(self, x: Any, labels: Any) -> Any:
        return self.loss(self.net(x), labels)

    def step(self, x: Tensor, labels: Tensor) -> tuple[Tensor, Any]:
        value, gradients = self.gradient(x, labels)
        self.optimizer(gradients[1] if self.by_argument else gradients)
        return value, gradients[0]

    def seen(self, made: tuple[Any, ...]) -> list[Any]:
        """Return which of the tensors that hooks have kept are one object."""
        return [[a is b for a in self.kept] for b in self.kept if not isinstance(b, tuple)]


class Running(Training):
    """The same network, run without gradients; a hook on the network itself is given what the step returns."""

    def __init__(self, change: Change, place: str):
        super().__init__(change, place)
        self.net.register_forward_hook(self.hook("net"))

    def step(self, x: Tensor, labels: Tensor) -> tuple[Tensor, Any]:
        before = x * 3
        made = self.net(x)
        return made, (made - x) * before

    def seen(self, made: tuple[Any, ...]) -> list[Any]:
        return [*super().seen(made), [[a is b for a in self.kept] for b in made]]


class Called(Running):
    """The same without random numbers: once the graph has run, a call is one function."""

    def __init__(self, change: Change, place: str):
        super().__init__(change, place)
        self.net.set_train(False)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Make a call one function after two runs; return the functions that are made."""
    made = list[Any]()
    written = bound_plan.written_call
    monkeypatch.setattr(tiers, "_RUNS", 0)
    monkeypatch.setattr(bound_plan, "written_call", lambda *given: made.append(written(*given)) or made[-1])
    return made


Change = Callable[[Training, Any, Any, Any], Any]


def log_of(wrapped: Callable[..., Any], change: Change, place: str, kind: type[Training] = Training) -> list[Any]:
    """Return the calls of hooks, values and parameters of all steps."""
    with recorded() as events:
        training = kind(change, place)
        step = wrapped(training.step)
        for training.run in range(RUNS):
            training.kept.clear()
            x = training.x = X.copy()
            try:
                made = step(x, LABELS)
                events.append(("made", *map(_bits, made), training.seen(made)))
            except (AttributeError, TypeError, ValueError, RuntimeError) as raised:
                events.append(("raised", type(raised).__name__, str(raised).splitlines()[0]))
            events += [("value", p.dtype, p.asnumpy().tobytes()) for p in (*training.optimizer.parameters, x)]
            events += [("kept", *map(_bits, training.kept))]
            events.append(("random", ops.standard_normal((2,)).asnumpy().tobytes()))
    return events


def _bits(value: Any) -> Any:
    return value.asnumpy().tobytes() if isinstance(value, Tensor) else type(value)


def done(*made: Any) -> None:
    """Return None, which means unchanged."""


def raising(training: Training, cell: Any, args: Any, value: Any) -> None:
    raise ValueError("boom")


def raising_late(training: Training, cell: Any, args: Any, value: Any) -> None:
    value.register_hook(lambda gradient: gradient * 2)
    raise ValueError("boom")


def without_gradients(training: Training, cell: Any, args: Any, value: Any) -> None:
    with ms._no_grad():
        training.kept.append((value * 2).mean())


def halved(weight: Any) -> None:
    with ms._no_grad():
        ops.assign(weight, weight * 0.5)


def called_always(training: Training, cell: Any, args: Any, value: Any) -> None:
    training.net.register_forward_hook(lambda cell, args, output: training.kept.append(output), always_call=True)
    raise ValueError("boom")


CHANGES: dict[str, Change] = {
    "new values": lambda training, cell, args, value: value * 2,
    "a sum of what was kept": lambda training, cell, args, value: value + training.kept[0] + training.kept[-2] * training.kept[-2],
    "a value that was kept": lambda training, cell, args, value: training.kept[max(len(training.kept) - 2, 0)],
    "a constant": lambda training, cell, args, value: Tensor(np.ones(value.shape, np.float32)),
    "a copy": lambda training, cell, args, value: value.copy(),
    "no gradient": lambda training, cell, args, value: ops.stop_gradient(value),
    "a hook of the value": lambda training, cell, args, value: done(value.register_hook(lambda gradient: gradient * 2)),
    "a hook of the argument": lambda training, cell, args, value: done(args[0].register_hook(lambda gradient: gradient * 2)),
    "hooks of all values": lambda training, cell, args, value: done(
        *[x.register_hook(lambda gradient: gradient + 1) for x in training.kept if x._takes_gradient]),
    "a hook of the step's argument": lambda training, cell, args, value: done(training.x.register_hook(lambda gradient: gradient * 2)),
    "a hook of a weight": lambda training, cell, args, value: done(
        training.net.last.weight.register_hook(lambda gradient: gradient * 2)),
    "the value is written": lambda training, cell, args, value: done(value.add_(1.0)),
    "the argument is written": lambda training, cell, args, value: done(args[0].add_(args[0])),
    "an earlier value is written": lambda training, cell, args, value: done(training.kept[0].add_(1.0)),
    "a value that is used later is written": lambda training, cell, args, value: done(
        training.kept[min(1, len(training.kept) - 1)].add_(1.0)),
    "the step's argument is written": lambda training, cell, args, value: done(training.x.add_(1.0)),
    "a weight is set": lambda training, cell, args, value: done(
        training.net.first.weight.set_data(training.net.first.weight * 0.5)),
    "a later weight is set": lambda training, cell, args, value: done(
        training.net.last.weight.set_data(training.net.last.weight * 0.5)),
    "a weight is assigned without gradients": lambda training, cell, args, value: halved(training.net.first.weight),
    "a weight is frozen": lambda training, cell, args, value: [
        setattr(training.net.first.weight, "requires_grad", False), value * 2][1],
    "a step of an optimiser": lambda training, cell, args, value: done(training.other([Tensor(np.ones((3, 3), np.float32))])),
    "a moment is set": lambda training, cell, args, value: done(
        training.optimizer.moments[0].set_data(training.optimizer.moments[0] + 1)),
    "a forward hook": lambda training, cell, args, value: done(
        cell.register_forward_hook(lambda cell, args, output: output * 2)),
    "a forward hook around": lambda training, cell, args, value: done(
        training.net.register_forward_hook(lambda cell, args, output: output * 2)),
    "a forward pre hook before": lambda training, cell, args, value: done(
        training.net.register_forward_pre_hook(lambda cell, args: (args[0] * 2,))),
    "a forward pre hook later": lambda training, cell, args, value: done(
        training.net.dropout.register_forward_pre_hook(lambda cell, args: (args[0] * 2,))),
    "a backward hook": lambda training, cell, args, value: done(
        cell.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 2,))),
    "a backward hook before": lambda training, cell, args, value: done(
        training.net.block.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 2,))),
    "a backward hook later": lambda training, cell, args, value: done(
        training.net.last.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 2,))),
    "a backward pre hook": lambda training, cell, args, value: done(
        cell.register_backward_pre_hook(lambda cell, grad_output: (grad_output[0] * 2,))),
    "a hook is removed before": lambda training, cell, args, value: training.handles["first"].remove(),
    "a hook is removed later": lambda training, cell, args, value: training.handles["last"].remove(),
    "a backward hook is removed": lambda training, cell, args, value: training.handles["backward"].remove(),
    "a gradient in the hook": lambda training, cell, args, value: training.kept.append(ms.grad(lambda x: (x * x).sum())(value)),
    "a cell in the hook": lambda training, cell, args, value: training.kept.append(training.net.dropout(value)),
    "a jitted function in the hook": lambda training, cell, args, value: ms.jit(lambda x: ops.sin(x) * x)(value),
    "a statistic": lambda training, cell, args, value: training.kept.append(value.mean()),
    "a statistic without gradients": without_gradients,
    "numbers": lambda training, cell, args, value: training.kept.append(float(value.asnumpy().mean())),
    "random numbers": lambda training, cell, args, value: training.kept.append(ops.standard_normal((2,))),
    "it raises": raising,
    "it raises late": raising_late,
    "it raises, and a hook is always called": called_always,
}

STRUCTURES: dict[str, Change] = {
    "a pair": lambda training, cell, args, value: (value, value),
    "another dtype": lambda training, cell, args, value: value.astype(ms.float64),
    "another shape": lambda training, cell, args, value: value.mean(),
}


def same(change: Change, place: str, plant: Callable[[], None] = lambda: None, kind: type[Training] = Training) -> None:
    """Check that a change at a place means what it means in eager mode; before the graph runs a mistake may be planted."""
    expected = log_of(lambda function: function, change, place, kind)
    plant()
    found = log_of(ms.jit, change, place, kind)
    first = next((i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), min(len(found), len(expected)))
    assert found == expected, f"event {first}: {found[first : first + 1]} instead of {expected[first : first + 1]}"


@pytest.mark.parametrize("change", CHANGES)
def test_a_hook_changes_something(change: str) -> None:
    same(CHANGES[change], "act")


@pytest.mark.parametrize("change", STRUCTURES)
def test_a_hook_returns_what_the_graph_was_not_made_for(change: str) -> None:
    same(STRUCTURES[change], "extra")


@pytest.mark.parametrize("change", [*CHANGES, *STRUCTURES])
def test_a_hook_changes_something_where_no_gradient_is_taken(at_once: list[Any], change: str) -> None:
    if change in CHANGES:
        same(CHANGES[change], "act", kind=Running)
        same(CHANGES[change], "act", kind=Called)
        same(CHANGES[change], "net", kind=Called)
    else:
        same(STRUCTURES[change], "extra", kind=Running)
        same(STRUCTURES[change], "extra", kind=Called)
    assert any(at_once)


@pytest.mark.parametrize("place", ["first pre", "extra", "last"])
def test_some_hooks_where_no_gradient_is_taken(at_once: list[Any], place: str) -> None:
    for change in ("new values", "the argument is written", "the value is written", "a forward hook around", "it raises"):
        same(CHANGES[change], place, kind=Running)
        same(CHANGES[change], place, kind=Called)


@pytest.mark.parametrize("place", ["first pre", "last"])
def test_the_first_and_the_last_hook(place: str) -> None:
    for change in ("new values", "hooks of all values", "a forward hook around", "it raises late"):
        same(CHANGES[change], place)


def departures(monkeypatch: pytest.MonkeyPatch, change: str, kind: type[Training] = Training) -> list[bool]:
    """Return for each run that began as a whole whether it ended so."""
    whole = list[Any]()
    original = observed_runs.ObservedRun.run
    monkeypatch.setattr(observed_runs.ObservedRun, "run", lambda run: whole.append(made := original(run)) or made)
    log_of(ms.jit, CHANGES[change], "act", kind)
    return [made is not None for made in whole]


@pytest.mark.parametrize("change", ["numbers", "a statistic without gradients"])
def test_hooks_that_look_at_values_do_not_cost_the_whole_form(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    assert departures(monkeypatch, change) == [True] * RUNS


def test_runs_depart_where_a_hook_changes_something(monkeypatch: pytest.MonkeyPatch) -> None:
    assert departures(monkeypatch, "new values") == [i not in CHANGING for i in range(RUNS)]


def test_statistics_do_not_cost_the_whole_form_where_no_gradient_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert departures(monkeypatch, "a statistic", Running) == [True] * RUNS
    monkeypatch.undo()
    assert departures(monkeypatch, "new values", Running) == [i not in CHANGING for i in range(RUNS)]


def test_a_call_with_hooks_that_look_is_one_function(monkeypatch: pytest.MonkeyPatch, at_once: list[Any]) -> None:
    """The first run makes it, the second hands it on."""
    assert departures(monkeypatch, "a statistic", Called) == [True] * 2 and len(at_once) == 1 and at_once[0]


def test_a_hook_that_changes_values_each_time_gets_a_tape_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "CHANGING", range(RUNS))
    assert departures(monkeypatch, "new values") == [False] * observed_hooks._DEPARTURES


def test_calls_after_a_departure_keep_their_own_hooks() -> None:
    """More is parsed where a call goes on, so cells that follow are called at other places of the graph."""

    class Branches(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.pair, self.plain, self.hooked = nn.Identity(), nn.Tanh(), nn.Identity()
            self.pair.register_forward_hook(lambda cell, inputs, output: (output, output))
            self.hooked.register_forward_hook(lambda cell, inputs, output: output * 3)

        def construct(self, x: Tensor) -> Tensor:
            if x > 0:
                a, b = self.pair(x)
                return self.plain(a) + b
            return self.hooked(x)

    net = Branches()
    graph = ms.jit(net)
    for x in (Tensor(2.0), Tensor(-2.0)):
        assert graph(x) == net(x)


def test_hooks_that_seldom_change_something_do_not_cost_the_whole_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observed_hooks, "_DEPARTURES", 1)
    monkeypatch.setattr(observed_hooks, "_RUNS", 2)
    assert departures(monkeypatch, "new values") == [i not in CHANGING for i in range(RUNS)]


def planting(seam: str, change: Callable[[Any], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: plant(patch, seam, change)


def as_it_is_by_now(repeat: Any) -> Callable[..., None]:
    """A run is repeated with arguments and parameters as they are by then."""
    return lambda self, run, before: self.of.again(self.arguments, run)


MISTAKES: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "late hooks are not noticed": ("a backward pre hook", planting(
        "run is as it was", lambda of: lambda self: self._again is None)),
    "what is before a late hook runs it": ("a forward pre hook before", planting(
        "steps of a repetition", lambda makers: lambda graph, found: {**makers(graph, found), **cell_makers(graph)})),
    "a late backward hook of an earlier call runs": ("a backward hook before", planting(
        "hooks of a call", lambda latest: property(lambda self: None, lambda self, latest: None))),
    "tensors that hooks have kept are others": ("a sum of what was kept", planting(
        "kept tensors", lambda same: lambda self, shown, recorded: None)),
    "what hooks wait on is read as it is by now": ("a hook of the step's argument", planting("repeated run", as_it_is_by_now)),
    "what a hook returns is taken to be what it was given": ("new values", planting(
        "departure", lambda depart: lambda self, returned: None)),
}


MISTAKES_WITHOUT_GRADIENTS: dict[str, tuple[str, str, Callable[[pytest.MonkeyPatch], None]]] = {
    "writes are not noticed": ("an earlier value is written", "act", planting(
        "unrecorded run is as it was", lambda of: lambda self: True)),
    "tensors that hooks have kept are others": ("the argument is written", "extra", planting(
        "kept tensors in a log", lambda shown_in: lambda self, entry: entry)),
    "arguments are read as they are by now": ("the step's argument is written", "act", planting("repeated run", as_it_is_by_now)),
    "the result is another object": ("numbers", "act", planting(
        "places of values", lambda places_of: lambda found, arguments: replace(places_of(found, arguments), results=()))),
}


def without(condition: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what plants that functions do not look at one condition after a hook."""
    return planting("conditions of a call", lambda write: lambda self, text: [
        re.sub(condition, "True", line) if line.startswith("if not ") else line for line in write(self, text)])


MISTAKES_IN_FUNCTIONS: dict[str, tuple[str, str, Callable[[pytest.MonkeyPatch], None]]] = {
    "writes are not noticed": ("the value is written", "act", without(r"\w+\.memory is \w+_memory")),
    "another result is not noticed": ("new values", "act", without(r"\(returned is None or unchanged\(returned, \[\w*\]\)\)")),
    "late hooks are not noticed": ("a forward pre hook later", "act", without(r"epoch\.now == now|ids\.last == latest")),
    **{mistake: planted for mistake, planted in MISTAKES_WITHOUT_GRADIENTS.items() if "writes" not in mistake},
}


@pytest.mark.parametrize("mistake", MISTAKES_WITHOUT_GRADIENTS)
def test_planted_mistakes_are_noticed_where_no_gradient_is_taken(monkeypatch: pytest.MonkeyPatch, mistake: str) -> None:
    change, place, planted = MISTAKES_WITHOUT_GRADIENTS[mistake]
    with pytest.raises((AssertionError, InternalError)):
        same(CHANGES[change], place, lambda: planted(monkeypatch), Running)


@pytest.mark.parametrize("mistake", MISTAKES_IN_FUNCTIONS)
def test_planted_mistakes_are_noticed_in_calls_by_one_function(monkeypatch: pytest.MonkeyPatch, at_once: list[Any], mistake: str) -> None:
    change, place, planted = MISTAKES_IN_FUNCTIONS[mistake]
    with pytest.raises((AssertionError, InternalError)):
        same(CHANGES[change], place, lambda: planted(monkeypatch), Called)
    assert any(at_once)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistakes_are_noticed(monkeypatch: pytest.MonkeyPatch, mistake: str) -> None:
    change, planted = MISTAKES[mistake]
    with pytest.raises((AssertionError, InternalError)):
        same(CHANGES[change], "act", lambda: planted(monkeypatch))


class Picking(nn.Cell):
    """Fails if the numbers are large."""

    def construct(self, x):
        return ops.tanh(x) + ops.gather(x, (ops.abs(x).max() * 0.1).astype(ms.int32), 1)


@pytest.mark.parametrize("differentiated", [False, True])
def test_a_hook_that_is_always_called_comes_between_runs(differentiated: bool) -> None:
    """It is called where construct raises, in a graph that ran as a whole before."""

    def log_of(wrapped: Callable[..., Any]) -> list[Any]:
        seen: list[Any] = []
        net = nn.SequentialCell(nn.Dense(3, 3, "ones", "zeros"), Picking(), nn.Dense(3, 3, "ones", "zeros"))
        net[1].register_forward_hook(lambda cell, args, output: seen.append("looks"))
        function = ms.grad(lambda x: net(x).sum()) if differentiated else net
        step = wrapped(lambda x: function(x))

        def call(number: float) -> None:
            try:
                seen.append(_bits(step(Tensor(np.full((1, 3), number, np.float32)))))
            except IndexError as raised:
                seen.append(str(raised).splitlines()[0])

        call(1.0)
        call(2.0)
        handle = net[1].register_forward_hook(lambda cell, args, output: seen.append(output is None), always_call=True)
        call(20.0)
        call(1.0)
        handle.remove()
        call(20.0)
        return seen

    found = log_of(ms.jit)
    assert found == log_of(lambda function: function) and True in found


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("differentiated", [False, True])
def test_hooks_that_are_always_called_are_added_before_a_hook_raises(differentiated: bool, error: type[BaseException]) -> None:
    """They are called where the cell had hooks when its call began, and for exceptions alone, whether the hook used the tape or not."""

    def log_of(wrapped: Callable[..., Any], hooked: bool, computes: bool) -> list[Any]:
        seen: list[Any] = []
        net = nn.SequentialCell(nn.Dense(3, 3, "ones", "zeros"), nn.SequentialCell(nn.Tanh(), nn.Dense(3, 3, "ones", "zeros")))
        if hooked:
            net.register_forward_hook(lambda cell, args, output: seen.append("looks"))
            net[1].register_backward_hook(lambda cell, grad_input, grad_output: None)

        def hook(cell: Any, args: Any, output: Any) -> None:
            if turns.pop(0):
                for each in (net, net[1]):
                    each.register_forward_hook(lambda cell, args, output: seen.append((cell is net, output is None)), always_call=True)
                if computes:
                    seen.append(_bits(output * 2))
                raise error("boom")

        net[1][0].register_forward_hook(hook)
        function = ms.grad(lambda x: net(x).sum()) if differentiated else net
        step = wrapped(lambda x: function(x))
        turns = [False, True, False]
        while turns:
            try:
                seen.append(_bits(step(Tensor(np.ones((1, 3), np.float32)))))
            except error as raised:
                seen.append(str(raised))
        return seen

    for hooked in (False, True):
        for computes in (False, True):
            assert log_of(ms.jit, hooked, computes) == log_of(lambda function: function, hooked, computes), (hooked, computes)


@pytest.mark.parametrize("argument", [False, True])
def test_a_tensor_over_the_memory_of_an_array_that_a_hook_writes(argument: bool) -> None:
    """What comes before the hook has been computed with the old numbers, and must not be computed again."""
    def run(wrapped: Callable[..., Any]) -> list[bytes]:
        array, cell, calls = np.array([1.0, 2.0, 3.0], np.float32), nn.Tanh(), list[int]()
        shared, x = Tensor.from_numpy(array), Tensor([0.25, -0.5, 1.0])
        shared, x = (x, shared) if argument else (shared, x)

        def hook(cell: nn.Cell, args: Any, output: Tensor) -> Any:
            calls.append(1)
            if len(calls) == 3:
                array[:] = array * 3
                return output * 2
            return None

        cell.register_forward_hook(hook)
        gradient = ms.value_and_grad(lambda x: (cell(ops.sin(x * shared)) * shared).sum())
        step = wrapped(lambda x: gradient(x))
        return [found.asnumpy().tobytes() for _ in range(5) for found in step(x)]

    assert run(ms.jit) == run(lambda f: f)
