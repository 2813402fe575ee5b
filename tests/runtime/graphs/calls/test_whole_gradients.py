"""The gradient of a function that runs as a graph is taken without a tape, and is that of a tape: to the bit, in all that is around it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn, ops
from adjoint.foundation.budget import budget
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.tensor.structure import leaves

RATE = 2.0

pytestmark = pytest.mark.usefixtures("without_fusion")


@pytest.fixture
def tapes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The gradients that were recorded on a tape."""
    seen: list[Any] = []
    begin = Tape.begin

    def counted(self: Tape, key: Any, owner: Any) -> Any:
        seen.append(owner)
        return begin(self, key, owner)

    monkeypatch.setattr(Tape, "begin", counted)
    return seen


def floats(*numbers: float) -> Tensor:
    return Tensor(np.array(numbers, np.float32))


def bits(x: Any) -> list[Any]:
    """The tensors of a result, each with its type."""
    return [(str(t.dtype), t.shape, t.asnumpy().tobytes()) for t in leaves(x, Tensor)]


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense, self.norm = nn.Dense(3, 2), nn.BatchNorm1d(2)
        self.unused = Parameter(floats(1, 2), name="unused")
        rng = np.random.default_rng(0)
        for parameter in (self.dense.weight, self.dense.bias):
            parameter.set_data(Tensor(rng.standard_normal(parameter.shape).astype(np.float32)))

    def construct(self, x: Tensor) -> Tensor:
        return ops.tanh(self.norm(self.dense(x)))


ROWS = Tensor(np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32))


def product(x: Tensor, y: Tensor) -> Tensor:
    return (x * y * x).sum()


def with_aux(x: Tensor, y: Tensor) -> Any:
    return (x * y).sum(), x > y, [ops.exp(y)]


def several(x: Tensor, y: Tensor) -> Any:
    return x * y, [x, (ops.sin(y), x > 1)], x


def of_a_tuple(x: Tensor, both: Any, *, scale: float = 1.0, table: Any = None) -> Tensor:
    first, (second,) = both
    out = x * first * scale + second
    return out if table is None else out * table["y"]


def constant(x: Tensor, y: Tensor) -> Tensor:
    return y * 2


def integers(x: Tensor, y: Tensor) -> Tensor:
    return x * y.astype(ms.int32).astype(ms.float32)


X, Y = floats(1, -0.0, 3), floats(2, 5, 0.5)
CALLS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "an argument": (product, ms.grad, lambda g: g(X, Y)),
    "two arguments with the value": (product, lambda f: ms.value_and_grad(f, (1, 0)), lambda g: g(X, Y)),
    "a tensor given twice": (product, lambda f: ms.grad(f, (0, 1)), lambda g: g(X, X)),
    "by name": (product, lambda f: ms.grad(f, 1), lambda g: g(X, y=Y)),
    "has_aux": (with_aux, lambda f: ms.grad(f, has_aux=True), lambda g: g(X, Y)),
    "has_aux with the value": (with_aux, lambda f: ms.value_and_grad(f, 1, has_aux=True), lambda g: g(X, Y)),
    "return_ids": (product, lambda f: ms.grad(f, (0, 1), return_ids=True), lambda g: g(X, Y)),
    "several results": (several, lambda f: ms.value_and_grad(f, (0, 1)), lambda g: g(X, Y)),
    "structures besides": (of_a_tuple, ms.grad, lambda g: g(X, (Y, [X]), scale=0.5, table={"y": Y})),
    "a constant": (constant, lambda f: ms.value_and_grad(f, 0), lambda g: g(X, Y)),
    "through integers": (integers, lambda f: ms.grad(f, (0, 1)), lambda g: g(X, Y)),
    "GradOperation": (product, ms.ops.GradOperation(get_all=True), lambda g: g(X, Y)),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_gradient_of_a_jitted_function(name: str, tapes: list[Any]) -> None:
    function, of, call = CALLS[name]
    expected, taken = bits(call(of(function))), of(jit(function))
    for _ in range(2):
        tapes.clear()
        for _ in range(6):
            assert bits(call(taken)) == expected
        assert not tapes
        for cache in budget.caches:
            cache.begin_period()


def test_one_function_is_asked_for_several_things_by_turns(tapes: list[Any]) -> None:
    """By what, with the value or not, with a part that is passed on or not; for several sizes."""
    first, second = (Parameter(floats(n), name=name) for n, name in ((2, "a"), (3, "b")))

    def function(x: Tensor, y: Tensor) -> Any:
        return (ops.sin(x * first) * y * second).sum(), ops.exp(x)

    graph = jit(function)
    asked = [
        lambda f: ms.grad(f, 0), lambda f: ms.grad(f, 1), lambda f: ms.grad(f, (0, 1)), lambda f: ms.grad(f, (1, 0)), ms.value_and_grad,
        lambda f: ms.grad(f, has_aux=True), lambda f: ms.value_and_grad(f, has_aux=True), lambda f: ms.grad(f, 0, first),
        lambda f: ms.grad(f, 0, second), lambda f: ms.grad(f, None, [first, second]), lambda f: ms.grad(f, None, [second, first]),
    ]
    for length in (3, 4, 5):
        given = Tensor(np.linspace(-1, 1, length), ms.float32), Tensor(np.linspace(2, 3, length), ms.float32)
        expected = [bits(of(function)(*given)) for of in asked]
        tapes.clear()
        for _ in range(5):
            assert [bits(of(graph)(*given)) for of in asked] == expected
    first.requires_grad = False
    expected = [bits(of(function)(*given)) for of in asked]
    tapes.clear()
    for _ in range(2):
        assert [bits(of(graph)(*given)) for of in asked] == expected
    assert not tapes


def net_of(kind: str) -> Callable[[], tuple[Any, Net]]:
    def made() -> tuple[Any, Net]:
        net = Net()
        return {"cell": net, "jitted cell": jit(net), "function": lambda x: net(x), "jitted": jit(lambda x: net(x) * 1)}[kind], net
    return made


@pytest.mark.parametrize("kind", ["cell", "function", "jitted cell", "jitted"])
def test_the_gradients_of_a_network_in_graph_mode(kind: str, tapes: list[Any]) -> None:
    """Parameters, those that take no gradient and those that are not used among them, and the state of a normalisation."""
    results: list[Any] = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        fn, net = net_of(kind)()
        net.set_train()
        weights = [*net.get_parameters()]
        ms.set_context(mode=ms.PYNATIVE_MODE)
        plain = (lambda x, net=net: net(x) * 1) if kind == "jitted" else net
        ms.set_context(mode=mode)
        taken = ms.value_and_grad(plain if mode == ms.PYNATIVE_MODE else fn, 0, weights)
        tapes.clear()
        found: list[Any] = []
        for step in range(8):
            net.dense.bias.requires_grad = step % 2 == 0
            found += bits(taken(ROWS))
        found += bits(weights)
        assert bool(tapes) == (mode == ms.PYNATIVE_MODE)
        results.append(found)
    assert results[0] == results[1]


class Jitted(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(floats(1, 2, 3), name="w")

    @jit
    def loss(self, x: Tensor, scale: float) -> Tensor:
        return (x * self.w * scale).sum()


def test_a_jitted_method(tapes: list[Any]) -> None:
    cell, other = Jitted(), Jitted()
    for of in (cell, other):
        of.w.set_data(floats(3, 2, 1))
        taken = ms.value_and_grad(of.loss, 0, of.w)
        for _ in range(3):
            value, (by_x, by_w) = taken(X, 2.0)
        assert float(value) == 12 and list(by_x.asnumpy()) == [6, 4, 2] and list(by_w.asnumpy()) == [2, 0, 6]
    assert not tapes


def test_random_numbers_are_those_of_eager_mode(tapes: list[Any]) -> None:
    drop = nn.Dropout(p=0.5)
    drop.set_train()

    def function(x: Tensor) -> Tensor:
        return (drop(x) * x).sum()

    found: list[Any] = []
    for fn in (function, jit(function)):
        ms.set_seed(7)
        taken, x = ms.value_and_grad(fn), Tensor(np.linspace(0.5, 1, 40, dtype=np.float32))
        tapes.clear()
        found.append([bits(taken(x)) for _ in range(5)])
    assert found[0] == found[1] and len({str(step) for step in found[0]}) == 5 and not tapes


# -- what is around ----------------------------------------------------------------------------------------------------------
def test_what_the_graph_depends_on_is_looked_at(tapes: list[Any]) -> None:
    global RATE
    weight = Parameter(floats(1, 2), name="w")

    @jit
    def function(x: Tensor) -> Tensor:
        return (x * RATE * weight).sum()

    taken = ms.grad(function, 0, weight)
    for rate in (2.0, 3.0, 2.0):
        RATE = rate
        for _ in range(6):
            by_x, by_weight = taken(floats(1, 1))
        assert list(by_x.asnumpy()) == [rate, 2 * rate] and list(by_weight.asnumpy()) == [rate, rate]
    weight.set_data(floats(5, 6))
    assert list(taken(floats(1, 1))[0].asnumpy()) == [10, 12]
    assert list(ms.grad(function)(Tensor(np.ones((3, 2), np.float32))).asnumpy()[2]) == [10, 12] and not tapes


def test_a_weight_that_the_graph_does_not_use() -> None:
    unused, used = Parameter(floats(1, 2), name="a"), Parameter(floats(3, 4), name="b")
    taken = ms.grad(jit(lambda x: (x * used).sum()), None, [unused, used, unused])
    for shape in ((2,), (3, 1)):
        unused.set_data(Tensor(np.ones(shape, np.float32)))
        for _ in range(6):
            first, second, third = taken(floats(5, 6))
        assert first.shape == third.shape == shape and not first.asnumpy().any() and list(second.asnumpy()) == [5, 6]


@pytest.mark.parametrize("on", ["argument", "parameter"])
def test_hooks_that_wait_for_a_gradient(on: str) -> None:
    weight = Parameter(floats(1, 2), name="w")
    function = jit(lambda x: (x * weight).sum())
    x, taken = floats(3, 4), ms.grad(function, 0, weight)

    def numbers() -> list[float]:
        return [float(n) for part in taken(x) for n in part.asnumpy()]

    for _ in range(6):
        assert numbers() == [1, 2, 3, 4]
    calls: list[Any] = []
    handle = (x if on == "argument" else weight).register_hook(lambda g: calls.append(list(g.asnumpy())) or g * 10)
    assert numbers() == ([10, 20, 3, 4] if on == "argument" else [1, 2, 30, 40]) and len(calls) == 1
    handle.remove()
    assert numbers() == [1, 2, 3, 4] and len(calls) == 1


def test_hooks_of_cells_that_are_added_and_removed() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    net, calls = nn.SequentialCell(nn.ReLU(), nn.Tanh()), list[str]()
    taken = ms.grad(net)
    expected = bits(taken(X))
    for _ in range(6):
        assert bits(taken(X)) == expected
    handles = [net[0].register_backward_hook(lambda cell, inputs, outputs: calls.append("back")),
               net[1].register_forward_hook(lambda cell, inputs, output: calls.append("forward"))]
    assert bits(taken(X)) == expected and calls == ["forward", "back"]
    for handle in handles:
        handle.remove()
    assert bits(taken(X)) == expected and calls == ["forward", "back"]


def test_gradients_of_gradients_and_what_is_recorded(tapes: list[Any]) -> None:
    function = jit(lambda x: (x * x * x).sum())
    once = ms.grad(function)
    for _ in range(6):
        once(X)
    twice = ms.grad(lambda x: once(x).sum())
    assert list(twice(floats(1, 2)).asnumpy()) == [6, 12] and tapes
    with ms._no_grad(), pytest.raises(RuntimeError, match="no_grad"):
        once(X)


class Twice(nn.Cell):
    """Calls a cell twice, which gives a function of its weight."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Dense(3, 3, Tensor(np.random.default_rng(3).standard_normal((3, 3)).astype(np.float32)), "ones")

    def construct(self, x: Tensor) -> Tensor:
        first = ops.sin(self.inner(x))
        return first * ops.sin(self.inner(first))


@pytest.mark.parametrize("order", [2, 3])
def test_gradients_of_higher_order_through_a_cell_that_is_called_twice(order: int, tapes: list[Any]) -> None:
    """What two gradients use of a cell has one sum; so has its weight, in the order of all uses."""
    function: Callable[..., Any] = Twice()
    weights = [*function.get_parameters()]
    for _ in range(order - 1):
        once = ms.grad(function, 0, weights)
        function = functools.partial(lambda once, x: sum((g * g).sum() for g in leaves(once(x), Tensor)), once)
    taken = ms.value_and_grad(function, 0, weights)
    expected = bits(taken(ROWS))
    graph = jit(lambda x: taken(x))
    for _ in range(3):
        assert bits(graph(ROWS)) == expected
        tapes.clear()
    graph(ROWS)
    assert not tapes


def test_another_thread_that_records() -> None:
    taken, x = ms.grad(jit(lambda x: (x * x).sum())), floats(1, 2)
    for _ in range(6):
        taken(x)
    inside, done, results = threading.Event(), threading.Event(), list[Any]()

    def recorded(x: Tensor) -> Tensor:
        inside.set()
        done.wait(60)
        return taken(x).sum()

    thread = threading.Thread(target=lambda: results.append(ms.grad(recorded)(x)))
    thread.start()
    inside.wait(60)
    assert list(taken(x).asnumpy()) == [2, 4]
    done.set()
    thread.join()
    assert list(results[0].asnumpy()) == [2, 2]


def branched(x: Tensor) -> Tensor:
    y = x * x
    if y.sum() > 1:
        y = y * x
    for _ in range(3):
        y = ops.sin(y) * x
    return y.sum()


def test_control_flow() -> None:
    """With or without a tape: what sums as eager mode does needs none."""
    taken = ms.value_and_grad(jit(branched))
    for _ in range(4):
        for x in (floats(2, 3), floats(0.5, 0.25)):
            assert bits(taken(x)) == bits(ms.value_and_grad(branched)(x))


def test_an_argument_that_is_written_needs_a_tape(tapes: list[Any]) -> None:
    def written(x: Tensor) -> Tensor:
        x[0] = 0.0
        return (x * x).sum()

    taken = ms.value_and_grad(jit(written))
    for _ in range(3):
        x, other = floats(2, 3), floats(2, 3)
        expected = ms.value_and_grad(written)(other)
        tapes.clear()
        assert bits(taken(x)) == bits(expected) and bits(x) == bits(other) and tapes


def test_mistakes_are_those_of_eager_mode() -> None:
    for function, raised, match in (
            (jit(lambda x: 3), TypeError, "at least one Tensor"), (jit(lambda x: ops.matmul(x, x)), ValueError, None),
            (jit(lambda x, y: x), TypeError, None)):
        for _ in range(3):
            with pytest.raises(raised, match=match):
                ms.grad(function)(Tensor(np.ones((2, 3), np.float32)))
    with pytest.raises(ValueError, match="has_aux"):
        ms.grad(jit(lambda x: x), has_aux=True)(X)


def test_an_exception_shows_the_line() -> None:
    taken, singular = ms.grad(jit(lambda x: ops.inverse(x).sum())), Tensor(np.zeros((2, 2), np.float32))
    for _ in range(6):
        taken(Tensor(np.eye(2, dtype=np.float32)))
    with pytest.raises(Exception, match=r"singular|inver") as caught:
        taken(singular)
    assert "ops.inverse(x).sum()" in "".join(caught.value.__notes__)


def test_results_share_nothing_with_later_runs() -> None:
    taken = ms.value_and_grad(jit(lambda x, y: (x, x * y)), (0, 1))
    kept = [taken(X, Y) for _ in range(8)]
    first = bits(kept[0])
    for result in kept:
        assert bits(result) == first
    value, (by_x, _) = kept[0]
    by_x.set_data(floats(9, 9, 9))
    value[0].set_data(floats(8, 8, 8))
    assert bits(kept[1]) == first and list(X.asnumpy()) == [1, 0, 3]
