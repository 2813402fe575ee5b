"""A graph that is one straight piece is called by one function after its first runs; the call is still that of eager mode."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn, ops
from adjoint.budget import budget
from adjoint.runtime.execution.sequence import Sequence

RUNS = 6
"""More than a graph needs to be called by one function."""

RATE = 2.0


@pytest.fixture(autouse=True)
def without_fusion() -> Iterator[None]:
    ms.set_context(background_compile=False)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.fixture
def general(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The calls that did not go by such a function."""
    seen: list[int] = []
    run = Sequence.run_fitting

    def counted(self: Any, arguments: Any, run_: Any) -> Any:
        seen.append(len(arguments))
        return run(self, arguments, run_)

    monkeypatch.setattr(Sequence, "run_fitting", counted)
    return seen


def floats(*numbers: float) -> Tensor:
    return Tensor(np.array(numbers, np.float32))


def warm(function: Any, *args: Any) -> Any:
    for _ in range(RUNS):
        result = function(*args)
    return result


def test_results_in_tuples_and_lists(general: list[int]) -> None:
    @jit
    def function(x: Tensor, y: Tensor) -> Any:
        return x * y, [x - y, (y,)], x

    x, y = floats(1, -0.0, 3), floats(2, 5, float("nan"))
    warm(function, x, y)
    general.clear()
    product, [difference, (same,)], again = function(x, y)
    assert not general
    assert product.asnumpy().tobytes() == (x * y).asnumpy().tobytes() and difference.asnumpy().tobytes() == (x - y).asnumpy().tobytes()
    assert same is y and again is x


def test_what_a_graph_depends_on_is_looked_at(general: list[int]) -> None:
    global RATE

    @jit
    def function(x: Tensor) -> Tensor:
        return x * RATE

    x = floats(1, 2)
    warm(function, x)
    general.clear()
    for rate in (3.0, 2.0):
        RATE = rate
        assert list(function(x).asnumpy()) == [rate, 2 * rate]
    assert len(general) == 1, "another graph is looked for, and the first runs again by its function"


def test_arguments_of_another_kind() -> None:
    @jit
    def function(x: Any, y: Any) -> Any:
        return x + y

    x = floats(1, 2)
    warm(function, x, x)
    assert list(function(floats(1, 2, 3), floats(1, 1, 1)).asnumpy()) == [2, 3, 4]
    assert list(function(x, 1.5).asnumpy()) == [2.5, 3.5]
    assert list(function(x, y=x).asnumpy()) == [2, 4]
    assert list(function(Parameter(x, name="x"), x).asnumpy()) == [2, 4]
    with pytest.raises(TypeError, match="argument"):
        function(x)
    assert list(function(x, x).asnumpy()) == [2, 4]


def test_a_call_that_is_recorded(general: list[int]) -> None:
    @jit
    def function(x: Tensor) -> Tensor:
        return x * x * x

    x = floats(2)
    warm(function, x)
    general.clear()
    assert float(ms.grad(function)(x)) == 12 and float(ms.grad(ms.grad(function))(x)) == 12
    assert general


def test_a_hook_on_an_argument_of_a_gradient() -> None:
    @jit
    def function(x: Tensor) -> Tensor:
        return ms.grad(lambda x: (x * x).sum())(x)

    x = floats(1, 2)
    warm(function, x)
    handle = x.register_hook(lambda gradient: gradient * 10)
    assert list(function(x).asnumpy()) == [20, 40]
    handle.remove()
    assert list(function(x).asnumpy()) == [2, 4]


def test_another_thread_that_records(general: list[int]) -> None:
    @jit
    def function(x: Tensor) -> Tensor:
        return ops.exp(x)

    x = floats(0, 1)
    expected = warm(function, x).asnumpy().tobytes()
    results: list[Any] = []
    inside, done = threading.Event(), threading.Event()

    def recorded(x: Tensor) -> Tensor:
        inside.set()
        done.wait(60)
        return function(x).sum()

    thread = threading.Thread(target=lambda: results.append(ms.grad(recorded)(x)))
    thread.start()
    inside.wait(60)
    assert function(x).asnumpy().tobytes() == expected
    done.set()
    thread.join()
    assert results[0].asnumpy().tobytes() == expected


class Counter(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.total = Parameter(floats(0, 0), name="total")

    def construct(self, x: Tensor) -> Tensor:
        self.total += x
        return self.total * 2


def test_state_is_written_in_place_unless_it_is_held() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    cell, x = Counter(), floats(1, 2)
    warm(cell, x)
    held = cell.total.value()
    before = held.asnumpy().copy()
    assert list(cell(x).asnumpy()) == [2 * (RUNS + 1), 4 * (RUNS + 1)]
    assert held.asnumpy().tobytes() == before.tobytes()
    assert list(cell.total.asnumpy()) == [RUNS + 1, 2 * (RUNS + 1)]


def test_failures_name_the_line() -> None:
    @jit
    def function(x: Tensor) -> Tensor:
        return ops.inverse(x)

    warm(function, Tensor(np.eye(2, dtype=np.float32)))
    singular = Tensor(np.zeros((2, 2), np.float32))
    with pytest.raises(Exception, match=r"singular|inver") as expected:
        ops.inverse(singular)
    for _ in range(2):
        with pytest.raises(type(expected.value), match=r"singular|inver") as caught:
            function(singular)
        assert "return ops.inverse(x)" in "".join(caught.value.__notes__)


def test_a_period_of_the_budget_ends(general: list[int]) -> None:
    @jit
    def function(x: Tensor) -> Tensor:
        return x + 1

    x = floats(1)
    warm(function, x)
    general.clear()
    for cache in budget.caches:
        cache.begin_period()
    function(x)
    assert len(general) == 1, "the use is marked by the slow path"
    function(x)
    assert len(general) == 1
