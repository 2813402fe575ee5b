"""`requires_grad` of a Parameter changes while a gradient is taken: what MindSpore gives, in every mode.

A use counts that is made while it is True, and none if it is False when the function returns.  What backward hooks change is seen by the
next call.  The numbers were computed by MindSpore 2.10 in PYNATIVE_MODE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn
from adjoint.foundation.diagnostics import CompileError


class Net(nn.Cell):
    def __init__(self, trained: bool = True):
        super().__init__()
        self.p = Parameter(Tensor([2.0]), name="p", requires_grad=trained)
        self.q = Parameter(Tensor([2.0]), name="q")
        self.a, self.b = nn.ReLU(), nn.ReLU()


class FrozenAfter(Net):
    def construct(self, x: Tensor) -> Tensor:
        y = x * self.p
        self.p.requires_grad = False
        return y


class FrozenBefore(Net):
    def construct(self, x: Tensor) -> Tensor:
        self.p.requires_grad = False
        return x * self.p


class FrozenBetween(Net):
    def construct(self, x: Tensor) -> Tensor:
        y = x * self.p
        self.p.requires_grad = False
        return y + x * self.p * 10


class FrozenAtFirst(Net):
    def construct(self, x: Tensor) -> Tensor:
        self.p.requires_grad = False
        y = x * self.p
        self.p.requires_grad = True
        return y + x * self.p * 10


class Thawed(Net):
    def __init__(self) -> None:
        super().__init__(trained=False)

    def construct(self, x: Tensor) -> Tensor:
        self.p.requires_grad = True
        return x * self.p


@pytest.mark.parametrize(("kind", "expected"), [
    (FrozenAfter, [0.0, 0.0, 0.0]), (FrozenBefore, [0.0, 0.0, 0.0]), (FrozenBetween, [0.0, 0.0, 0.0]), (FrozenAtFirst, [30.0, 30.0, 30.0]),
    (Thawed, [3.0, 3.0, 3.0]),
])
def test_a_function_changes_it(kind: Callable[[], Any], expected: list[float]) -> None:
    net, other, pulled = kind(), kind(), kind()
    asked = ms.grad(net, 0, [net.p, net.q])
    found = [asked(Tensor([3.0]))[1] for _ in range(3)]
    assert [float(p) for p, _ in found] == expected and all(float(q) == 0 for _, q in found)
    assert [float(ms.grad(other, 0, [other.p])(Tensor([3.0]))[1][0]) for _ in range(3)] == expected
    results = [ms.vjp(pulled, Tensor([3.0]), weights=[pulled.p])[1](Tensor([1.0]))[1][0] for _ in range(3)]
    assert [float(x) for x in results] == expected


@pytest.mark.parametrize("kind", [FrozenAfter, FrozenAtFirst, Thawed])
def test_a_graph_cannot_change_it(kind: Callable[[], Any]) -> None:
    """Also where it is put back at the end: uses before and after would count alike."""
    net = kind()
    before = net.p.requires_grad
    with pytest.raises(CompileError, match="E217"):
        ms.grad(jit(net), 0, [net.p])(Tensor([3.0]))
    assert net.p.requires_grad is before


class Hooked(Net):
    def construct(self, x: Tensor) -> Tensor:
        return self.b(self.a(x * self.p) * self.p) * self.p


def inside(net: Net) -> Callable[[Tensor], Any]:
    asked = ms.grad(net, 0, [net.p])
    return jit(lambda x: asked(x))


FORMS: dict[str, Callable[[Net], Callable[[Tensor], Any]]] = {
    "eager": lambda net: ms.grad(net, 0, [net.p]), "jit": lambda net: ms.grad(jit(net), 0, [net.p]), "gradient inside": inside,
    "graph mode": lambda net: ms.grad(net, 0, [net.p]),
}


@pytest.mark.parametrize(("freezes", "thaws", "expected"), [
    ("a", None, [0.0, 0.0, 0.0]), ("b", None, [0.0, 0.0, 0.0]), ("a", "b", [24.0, 24.0, 24.0]), (None, None, [36.0, 36.0, 36.0]),
])
@pytest.mark.parametrize("kind", ["forward", "forward_pre", "backward", "backward_pre"])
def test_a_hook_changes_it(kind: str, freezes: str | None, thaws: str | None, expected: list[float]) -> None:
    if kind.startswith("backward"):
        # The forward pass is over: the next call sees what the last hook has left, which is that of `a`.
        expected = expected if freezes is None else [36.0, 36.0 if freezes == "b" and thaws else 0.0, 0.0]
    for form, made in FORMS.items():
        net = Hooked()
        for name, value in ((freezes, False), (thaws, True)):
            if name is not None:
                getattr(getattr(net, name), f"register_{kind}_hook")(lambda *given, net=net, value=value: setattr(net.p,
                "requires_grad", value))
        run = made(net)
        ms.set_context(mode=ms.GRAPH_MODE if form == "graph mode" else ms.PYNATIVE_MODE)
        try:
            found = [float(run(Tensor([3.0]))[1][0]) for _ in range(3)]
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
        assert found == expected, form
