"""Objects that are replaced by equal ones before each call: the graph holds, and after some calls nothing is compiled for that."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import pytest

from adjoint import Tensor, jit, nn
from adjoint.runtime.graphs.guards.guards import Guards

SCALE: Any = (1.0, 2.0)

Case = tuple[Callable[[Any], Any], Callable[[Any], None]]


def of_a_global() -> Case:
    def put(value: Any) -> None:
        global SCALE
        SCALE = value

    return lambda x: x * len(SCALE) * SCALE[-1], put


def of_an_object() -> Case:
    held = types.SimpleNamespace(scale=SCALE)
    return lambda x: x * len(held.scale) * held.scale[-1], lambda value: setattr(held, "scale", value)


def of_a_class() -> Case:
    class Held:
        scale = SCALE

    return lambda x: x * len(Held.scale) * Held.scale[-1], lambda value: setattr(Held, "scale", value)


def of_a_closure() -> Case:
    scale = SCALE

    def put(value: Any) -> None:
        nonlocal scale
        scale = value

    return lambda x: x * len(scale) * scale[-1], put


def of_a_default() -> Case:
    def scaled(x: Any, scale: Any = SCALE) -> Any:
        return x * len(scale) * scale[-1]

    return lambda x: scaled(x), lambda value: setattr(scaled, "__defaults__", (value,))


def of_a_cell() -> Case:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scale = SCALE

        def construct(self, x: Any) -> Any:
            return x * len(self.scale) * self.scale[-1]

    net = Net()
    return lambda x: net(x), lambda value: setattr(net, "scale", value)


CASES = (of_a_global, of_an_object, of_a_class, of_a_closure, of_a_default, of_a_cell)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_nothing_is_compiled_after_some_calls(case: Callable[[], Case], built: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Guards] = []
    numbers = [1.0, 2.0]
    original = Guards._compile
    monkeypatch.setattr(Guards, "_compile", lambda guards: (compiled.append(guards), original(guards))[1])
    program, put = case()
    run, x = jit(program), Tensor([1.0, 2.0])
    try:
        for _ in range(10):
            put(tuple(numbers))
            assert run(x).tolist() == [4.0, 8.0]
        compiled.clear()
        for _ in range(10):
            put(tuple(numbers))
            assert run(x).tolist() == [4.0, 8.0]
        assert not compiled and len(built) == 1
        for value, expected in (((3.0,), 3.0), ((1.0, 2.0), 4.0), ((1.0, 2.0, 2.0), 6.0), ((1, 2.0), 4.0), ((1.0, 2.0), 4.0)):
            put(value)
            assert run(x).tolist() == program(x).tolist() == [expected, 2 * expected]
    finally:
        of_a_global()[1]((1.0, 2.0))
