"""A forward hook changes what the body reads: in every mode what is read after it is the new value, or the run says that it is not."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn, ops
from adjoint.runtime.graphs.guards import changed_in_a_run
from adjoint.runtime.tensor.structure import leaves

RATE = 3.0
FORMS = ("eager", "jit of all", "jit inside", "graph mode")


class Inner(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.scale = 2.0

    def construct(self, x: Tensor) -> Tensor:
        return ops.sin(x) * self.scale


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Inner(), Inner()
        self.flag, self.options, self.table = True, SimpleNamespace(rate=0.5), [1.0, 2.0]
        self.w = Parameter(Tensor([1.0, 2.0, 3.0]), name="w")

    def construct(self, x: Tensor) -> Tensor:
        h = self.second(self.first(x))
        h = h * self.w if self.flag else ops.tanh(h)
        return (h * self.options.rate + self.table[0] * RATE).sum()


def change_global() -> None:
    global RATE
    RATE += 1


CHANGES: dict[str, Callable[[Net], Any]] = {
    "an attribute of a cell": lambda net: setattr(net.second, "scale", net.second.scale + 1),
    "a condition": lambda net: setattr(net, "flag", not net.flag),
    "an object": lambda net: setattr(net.options, "rate", net.options.rate + 1),
    "an item": lambda net: net.table.__setitem__(0, net.table[0] + 1),
    "a global name": lambda net: change_global(),
    "a dtype": lambda net: net.w.set_dtype(ms.float16),
    "a Parameter": lambda net: setattr(net, "w", Parameter(Tensor([5.0, 6.0, 7.0]), name="w")),
    "what was read before": lambda net: setattr(net.first, "scale", 7.0),
    "what nobody reads": lambda net: setattr(net, "seen", getattr(net, "seen", 0) + 1),
}


def steps(net: Any, form: str, gradient: bool) -> list[Any]:
    """Return what five steps give, or the exceptions that they end with."""
    asked = (lambda f: ms.value_and_grad(f, 0, [net.w])) if gradient else lambda f: f
    if form == "jit of all":
        whole = asked(net)
        step = jit(lambda x: whole(x))
    else:
        step = asked(jit(net) if form == "jit inside" else net)
    found: list[Any] = []
    ms.set_context(mode=ms.GRAPH_MODE if form == "graph mode" else ms.PYNATIVE_MODE)
    try:
        for i in range(5):
            try:
                found.append([(x.dtype, x.asnumpy().tobytes()) for x in leaves(step(Tensor([0.1 * i, 0.2, 0.3])), Tensor)])
            except RuntimeError as raised:
                found.append(str(raised))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    return found


def hooked(register: str, change: Callable[[Net], Any], once: bool) -> Net:
    net, calls = Net(), list[int]()

    def hook(cell: nn.Cell, *given: Any) -> None:
        calls.append(1)
        if len(calls) == 3 or (len(calls) > 3 and not once):
            change(net)

    getattr(net.first, register)(hook)
    return net


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_read_after_a_hook_is_what_it_has_changed(change: str, gradient: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for register, once in (("register_forward_pre_hook", gradient), ("register_forward_hook", not gradient)):
        found: list[Any] = []
        for form in FORMS:
            monkeypatch.setitem(globals(), "RATE", 3.0)
            found.append(steps(hooked(register, CHANGES[change], once), form, gradient))
        for form, each in zip(FORMS, found, strict=True):
            assert each == found[0], (register, once, form)


class Twice(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.w = Inner(), Parameter(Tensor([1.0, 2.0, 3.0]), name="w")

    def construct(self, x: Tensor) -> Tensor:
        return (self.inner(self.inner(x)) * self.w).sum()


class Loop(Twice):
    def construct(self, x: Tensor) -> Tensor:
        rounds = x.sum() * 0
        while rounds < 2:
            x, rounds = self.inner(x), rounds + 1
        return (x * self.w).sum()


@pytest.mark.parametrize("kind", [Twice, Loop])
@pytest.mark.parametrize("form", FORMS[1:])
def test_what_is_read_before_a_hook_and_after_it_must_stay(kind: Callable[[], Twice], form: str) -> None:
    """The error names what was changed, the cell and the hook; the next call sees the new value.  There is none where all runs eagerly."""
    for gradient in (False, True):
        net, calls = kind(), list[int]()

        def hook(cell: Inner, args: Any, output: Tensor, calls: list[int] = calls) -> None:
            calls.append(1)
            if len(calls) == 5:
                cell.scale = 2.5

        net.inner.register_forward_hook(hook)
        found = steps(net, form, gradient)
        if kind is Twice and gradient and form != "jit of all":
            calls.clear()
            eager = kind()
            eager.inner.register_forward_hook(hook)
            assert found == steps(eager, "eager", gradient)
            continue
        (wrong,) = [i for i, each in enumerate(found) if isinstance(each, str)]
        assert found[wrong].startswith("The forward hooks of 'inner' (") and "test_changed_state.py" in found[wrong]
        assert "inner.scale was 2.0, is 2.5." in found[wrong] and wrong < 4
        eager = kind()
        eager.inner.scale = 2.5
        assert found[4] == steps(eager, "eager", gradient)[4]


def test_a_property_that_makes_an_object_each_time_has_not_been_changed() -> None:
    class Options:
        @property
        def rates(self) -> Tensor:
            return Tensor([2.0, 3.0, 4.0])

    class Made(Twice):
        def __init__(self) -> None:
            super().__init__()
            self.options = Options()

        def construct(self, x: Tensor) -> Tensor:
            return (self.inner(x * self.options.rates) * self.options.rates).sum()

    net = Made()
    net.inner.register_forward_hook(lambda cell, args, output: None)
    assert steps(net, "jit of all", False) == steps(net, "eager", False)


def test_without_the_check_the_old_value_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above can fail."""
    monkeypatch.setattr(changed_in_a_run, "may_be_changed", lambda place: False)
    monkeypatch.setattr("adjoint.runtime.graphs.guards.guards.may_be_changed", lambda place: False)
    change = CHANGES["an object"]
    eager, graph = (steps(hooked("register_forward_hook", change, True), form, False) for form in ("eager", "jit inside"))
    assert eager[:2] == graph[:2] and eager[2] != graph[2] and eager[3:] == graph[3:]
