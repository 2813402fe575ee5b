"""The same log of hooks, values and gradients in every mode, bit for bit."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint import Parameter, Tensor, nn, ops
from tests.hooks import rules  # noqa: F401  it adds its scenarios
from tests.hooks.events import Square, T
from tests.hooks.log import Event, F, Trace, frozen
from tests.hooks.modes import EAGER, MODES, Mode
from tests.hooks.programs import Ruled
from tests.hooks.scenarios import SCENARIOS, Scenario

BY_HAND = [name for name, scenario in SCENARIOS.items() if scenario.expected is not None]


@functools.cache
def eager_log(name: str) -> list[Event]:
    return SCENARIOS[name].play(EAGER)


REFUSED = {"output-fwd-branch-shape", "output-fwd_kwargs-while-shape", "output-fwd_always-early_return-shape"}
"""Forward hooks that change a type inside of what a tensor decides: a graph has one type there, and says so when the hook has run."""


@pytest.mark.parametrize("name", BY_HAND)
def test_the_log_is_the_one_written_by_hand(name: str):
    assert eager_log(name) == SCENARIOS[name].expected


def chosen(mode: Mode, place: int) -> list[str]:
    """Return the scenarios that a mode runs: all of them, or the single rules and a quarter of the rest, different ones for each mode."""
    return [name for i, name in enumerate(SCENARIOS) if mode.name in FULL or name.startswith("rule-") or (i + place) % 4 == 0]


FULL = ("jit-function", "graph")


@pytest.mark.parametrize(("name", "mode"), [
    pytest.param(name, mode, id=f"{name}-{mode}") for place, mode in enumerate(MODES[1:]) for name in chosen(mode, place)])
def test_every_mode_has_the_log_of_eager(name: str, mode: Mode):
    expected, found = eager_log(name), SCENARIOS[name].play(mode)
    if name in REFUSED:
        heard = [event for event in found if not is_refusal(event)]
        rest = iter(expected)
        assert all(event in rest for event in heard) and (len(heard) < len(found) or found == expected)
        return
    assert found == expected


def is_refusal(event: Event) -> bool:
    return event[1:3] == ("raised", "CompileError") and event[3].startswith(("error[E204]", "error[E205]", "error[E206]"))


def test_enough_logs_are_written_by_hand():
    assert len(BY_HAND) >= 60


# -- register_* and remove in the program itself: eager's meaning, or an error that says so, never silence ------------------
class Registering(nn.Cell):
    """Registers a hook on its cell before the call, and removes it after."""

    def __init__(self, cell: nn.Cell, hook: Any, way: str):
        super().__init__()
        self.cell, self.hook, self.way = cell, hook, way

    def construct(self, x):
        if self.way == "with":
            with self.cell.register_forward_hook(self.hook):
                return self.cell(x)
        handle = self.cell.register_forward_hook(self.hook)
        y = self.cell(x)
        handle.remove()
        return y


class Removing(nn.Cell):
    """Registers a hook on a value and removes it between the forward and the backward pass."""

    def __init__(self, hook: Any):
        super().__init__()
        self.hook = hook

    def construct(self, x):
        y = x * 2
        handle = y.register_hook(self.hook)
        z = y * 3
        handle.remove()
        return z


def registering(way: str) -> Callable[[Mode, Trace], None]:
    def run(mode: Mode, trace: Trace) -> None:
        net = Registering(mode.inner(Square()), trace.forward("fwd"), way)
        gradient = mode.gradient(net)
        for value in (1.5, 2.5):
            trace.call("run", gradient, T(value))

    return run


def removing(mode: Mode, trace: Trace) -> None:
    net = Removing(trace.gradient("y"))
    gradient = mode.gradient(net)
    for value in (1.5, 2.5):
        trace.call("run", gradient, T(value))


WITHIN: dict[str, tuple[Callable[[Mode, Trace], None], list[Event]]] = {
    way: (registering(way), [
        ("fwd", (F(1.5),), F(2.25)), ("run", (F(2.25), F(3))), ("fwd", (F(2.5),), F(6.25)), ("run", (F(6.25), F(5)))])
    for way in ("handle", "with")
} | {"value": (removing, [("run", (F(9), F(6))), ("run", (F(15), F(6)))])}


@pytest.mark.parametrize("mode", MODES, ids=repr)
@pytest.mark.parametrize("way", list(WITHIN))
def test_registered_and_removed_by_the_program_itself(way: str, mode: Mode):
    run, expected = WITHIN[way]
    log = Scenario(way, run).play(mode)
    if mode is EAGER or len(log) == len(expected):
        assert log == expected
    else:
        assert [event[:2] for event in log] == [("run", "raised")] * 2


# -- all kinds at once, on a network of random numbers, change no bit -------------------------------------------------------
class Network(nn.Cell):
    """Layers with a branch and a loop on tensors, shared cells, and a place for every kind of hook."""

    def __init__(self, mode: Mode, seed: int):
        super().__init__()
        generator = np.random.default_rng(seed)

        def dense(inputs: int, outputs: int) -> nn.Cell:
            weight = Tensor(generator.standard_normal((outputs, inputs)).astype(np.float32) * 0.4)
            bias = Tensor(generator.standard_normal(outputs).astype(np.float32) * 0.1)
            return mode.inner(nn.Dense(inputs, outputs, weight_init=weight, bias_init=bias))

        self.first, self.deep, self.last = dense(5, 7), dense(7, 7), dense(7, 3)
        self.tanh, self.ruled = mode.inner(nn.Tanh()), mode.inner(Ruled())
        self.scale = Parameter(Tensor(generator.standard_normal(3).astype(np.float32)), name="scale")
        self.mark: Any = None
        self.insert: Any = None
        self.hook: Any = None

    def construct(self, x):
        h = self.tanh(self.first(x))
        if self.hook is not None:
            h.register_hook(self.hook)
        if ops.sum(x) > 0:
            h = h * 0.5 + self.deep(h)
        else:
            h = self.tanh(h) * h
        rounds = 0
        while rounds < 2 and ops.sum(h * h) < 40:
            if self.mark is not None:
                h = self.mark(h)
            h = self.tanh(self.deep(h)) + h
            rounds = rounds + 1
        if self.insert is not None:
            h = self.insert(h)
        return self.ruled(self.last(h)) * self.scale


def hang_identities(net: Network) -> list[Any]:
    """Register everywhere, for every kind, a hook that returns its argument and one that returns None."""
    def nothing(*arguments):
        return None

    def same(grad):
        return grad

    def same_arguments(cell, args):
        return args

    def same_output(cell, args, output):
        return output

    def same_with_kwargs(cell, args, kwargs):
        return args, kwargs

    def same_outputs(cell, grad_output):
        return grad_output

    def same_inputs(cell, grad_input, grad_output):
        return grad_input

    handles = []
    for cell in (net, net.first, net.deep, net.last, net.tanh, net.ruled):
        for hooks in ((nothing, nothing, nothing, nothing), (same_arguments, same_output, same_outputs, same_inputs)):
            handles += [
                cell.register_forward_pre_hook(hooks[0]), cell.register_forward_hook(hooks[1]),
                cell.register_backward_pre_hook(hooks[2]), cell.register_backward_hook(hooks[3])]
        handles += [cell.register_forward_pre_hook(same_with_kwargs, with_kwargs=True, prepend=True),
                    cell.register_forward_hook(nothing, with_kwargs=True, always_call=True)]
    for parameter in net.trainable_params():
        handles += [parameter.register_hook(same), parameter.register_hook(nothing)]
    net.hook, net.mark, net.insert = same, ops.HookBackward(same), ops.InsertGradientOf(nothing)
    return handles


def network_bits(mode: Mode, seed: int, order: int, *, hooked: bool) -> list[Any]:
    """Return values and gradients of three calls; if hooked, also of a call after all hooks were removed."""
    found = []
    with mode.active():
        net = Network(mode, seed)
        handles = hang_identities(net) if hooked else []
        forward, gradient = mode.program(net), mode.gradient(net, net.trainable_params(), order)
        generator = np.random.default_rng(seed + 1)
        batches = [Tensor(generator.standard_normal((4, 5)).astype(np.float32)) for _ in range(2)]
        batches.append(batches[0] * -1)
        for x in batches:
            found.append(frozen((forward(x), gradient(x))))
        for handle in handles:
            handle.remove()
        net.hook = net.mark = net.insert = None
        found.append(frozen(gradient(batches[0])))
    return found


@functools.cache
def bare_bits(seed: int, order: int) -> list[Any]:
    return network_bits(EAGER, seed, order, hooked=False)


@pytest.mark.parametrize("mode", MODES, ids=repr)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", [3, 8])
def test_identity_hooks_of_all_kinds_change_no_bit(seed: int, order: int, mode: Mode):
    assert network_bits(mode, seed, order, hooked=True) == bare_bits(seed, order)


@pytest.mark.parametrize("mode", MODES[1:], ids=repr)
def test_without_hooks_the_bits_are_those_of_eager(mode: Mode):
    assert network_bits(mode, 3, 1, hooked=False) == bare_bits(3, 1)
