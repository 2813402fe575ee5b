"""Numbers among the arguments of a graph that change from call to call become inputs, and give what eager mode gives."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.foundation.made import counted as counted_things
from adjoint.runtime.process.jitted import graphs_of
from adjoint.runtime.tensor.structure import leaves

VALUES = (0.1, 0.2, 0.3, 0.4, -0.0, 0.0, math.nan, math.inf, -math.inf, 65505.0, 1e40, 1e-50, 1 + 2.0**-40)
TABLE = {0.1: 1.0, 0.4: 2.0}
SCALE = np.float64(2)


def scaled(x: Tensor, rate: float) -> Any:
    return x * rate, rate - x, x / rate


def returned(x: Tensor, rate: float) -> Any:
    return rate, [-rate], {"twice": rate + rate}, type(rate) is float


def chosen(x: Tensor, rate: float) -> Tensor:
    return x * rate if rate > 0.25 else x - rate


def key(x: Tensor, rate: float) -> Tensor:
    return x * TABLE.get(rate, 9.0)


def asked(x: Tensor, rate: float) -> Any:
    return np.isscalar(rate), x


def made(x: Tensor, rate: float) -> Any:
    return Tensor([rate, 1]), ops.scalar_to_array(rate)


def of_numpy(x: Tensor, rate: float) -> Any:
    return SCALE * rate


def root(x: Tensor, rate: float) -> Any:
    return x * abs(rate ** 0.5)  # of a negative float Python makes a complex number


QUOTIENTS: list[Callable[[Tensor, float], Any]] = [
    lambda x, rate: x * (rate / 3),
    lambda x, rate: x * (1 / rate),
    lambda x, rate: (x * (rate // 0.3), rate % -0.07),
    lambda x, rate: x * rate ** 2,
    lambda x, rate: (x, rate ** -1.0),
    lambda x, rate: abs(rate) ** 9,
    lambda x, rate: 1.5 ** rate,
    lambda x, rate: (x, rate / (rate - rate)),
]
"""Of Python's floats, which may raise."""


def bits(x: Any) -> list[Any]:
    found: list[Any] = []
    for leaf in leaves(x, object):
        if isinstance(leaf, Tensor):
            array = leaf.asnumpy()
            found.append((leaf.dtype, np.where(np.isnan(array), np.nan, array).tobytes()))
        else:
            found.append((type(leaf), "nan" if leaf != leaf else struct.pack("d", leaf)))
    return found


def inputs_of(graph: Any) -> list[int]:
    known: Any = graphs_of(graph)
    return [len(seen.chosen) for seen in known.graphs.numbers.values()]


@pytest.mark.parametrize(("function", "inputs"), [
    (scaled, 1), (returned, 1), (chosen, 1), (made, 1), (key, 0), (asked, 0), (of_numpy, 0), (root, 0)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
def test_values_are_those_of_eager_mode(function: Callable[..., Any], inputs: int, dtype: str) -> None:
    x, graph = Tensor(np.array([1, 2, 3])).astype(dtype), ms.jit(function)
    for value in VALUES:
        assert bits(graph(x, value)) == bits(function(x, value)), value
    assert inputs_of(graph) == [inputs]


@pytest.mark.parametrize("function", QUOTIENTS)
def test_quotients_and_powers_are_those_of_python(function: Callable[..., Any]) -> None:
    def answer(call: Callable[..., Any], value: float) -> Any:
        try:
            return bits(call(x, value))
        except ArithmeticError as mistake:
            return type(mistake).__name__, str(mistake).partition(":")[0]

    x, graph = Tensor([1.0, -2.0]), ms.jit(function)
    for value in VALUES:
        assert answer(graph, value) == answer(function, value), value
    assert inputs_of(graph) == [1]


INTS = (1, 2, 3, 4, 5, 0, -1, 7, 100, -7, 12345, 2**24 + 1, 2**31 - 1, 2**31, -2**31, 2**31 + 1, 2**40 + 1, 10**18, 10**25, True, 4)


def early(x: Tensor, n: int) -> Tensor:
    if n < 0:
        return x
    return x * n


def halved(x: Tensor, n: int) -> Any:
    while n > 3:
        n = n // 2
        x = x + n
    return x, n


def counted(x: Tensor, n: int) -> Tensor:
    for i in range(min(max(n, 0), 7)):
        x = x * 0.5 + i
    return x


def raising(x: Tensor, n: int) -> Any:
    if n == 7:
        raise ValueError("seven")
    return x * n


OF_INTS: list[Callable[[Tensor, int], Any]] = [
    lambda x, n: (x * n, x + n, n - x, ops.maximum(x, n), ops.where(x > 0, x, n)),
    lambda x, n: (x / n, x // n, x % n),
    lambda x, n: (x ** n, n ** x, ops.pow(x, n)),
    lambda x, n: x * (n * n + 3 * n - 1),
    lambda x, n: (x, n // 3, n % -7, n / 9, divmod(n, 5)),
    lambda x, n: (x, 7 // n),
    lambda x, n: (x, n, -n, abs(n), float(n), bool(n), not n, n == 3, int(n), round(n), math.floor(n), n + True),
    lambda x, n: (x > n, x == n, n < 5 < n + 3, max(n, 4), min(n, 2), n in (1, 2, 3)),
    lambda x, n: x * 2 if n % 3 == 0 else x - n,
    lambda x, n: x[n % 3],
    lambda x, n: [ops.cast(x, dtype) * n for dtype in (ms.int8, ms.int16, ms.int32, ms.int64, ms.uint8, ms.float16, ms.float64)],
    lambda x, n: (Tensor(n), Tensor([n, 1]), Tensor(n, ms.float32)),
    lambda x, n: (x * (0.1 * 0.9 ** n) if 0 <= n < 1000 else x, x * min(1.0, n / 10)),
    lambda x, n: (isinstance(n, int), type(n) is int, f"step {n}", x),
    early, halved, counted,
    lambda x, n: (x, x * 2, x - 1)[n % 3] * [1.0, 2.0, 3.0][n % 3],
]
"""Graphs of these have the int as an input."""

OF_CONSTANT_INTS: list[Callable[[Tensor, int], Any]] = [
    lambda x, n: (x, n * n * n * n * n),
    lambda x, n: (x, n << 3, 2 ** n if 0 <= n < 99 else 0),
    lambda x, n: x[: n % 3 + 1],
    lambda x, n: ops.zeros((n % 4 + 1,)) + x.sum(),
    lambda x, n: {1: x, 2: x * 2}.get(n, x * 3),
    lambda x, n: x * math.cos(n),
    raising,
]
"""Python needs to know the int of these, its result may have more than 64 bits, or an error that is raised shows it."""


def answer_of(function: Callable[..., Any], *given: Any) -> Any:
    try:
        return bits_of(function(*given))
    except (ArithmeticError, RuntimeError, ValueError, TypeError) as mistake:
        return type(mistake).__name__, str(mistake).partition(":")[0].partition("\n")[0]


def bits_of(x: Any) -> list[Any]:
    """Return tensors as bits, and other leaves with their types."""
    found: list[Any] = []
    for leaf in leaves(x, object):
        found.append((leaf.dtype, leaf.asnumpy().tobytes()) if isinstance(leaf, Tensor) else (type(leaf), repr(leaf)))
    return found


@pytest.mark.parametrize(("function", "inputs"), [*[(each, 1) for each in OF_INTS], *[(each, 0) for each in OF_CONSTANT_INTS]])
def test_ints_give_what_eager_mode_gives(function: Callable[..., Any], inputs: int) -> None:
    x, graph = Tensor([1.5, -2.0, 0.75]), ms.jit(function)
    for value in INTS:
        assert answer_of(graph, x, value) == answer_of(function, x, value), value
    assert max(inputs_of(graph)) == inputs


def test_gradients_of_graphs_with_ints() -> None:
    def loss(x: Tensor, n: int) -> Tensor:
        return (ops.tanh(x) * n + x ** 2 / (n * n + 1)).sum()

    x, graph = Tensor([1.5, -2.0, 0.75]), ms.jit(loss)
    for value in INTS[:12]:
        assert bits_of(ms.grad(graph)(x, value)) == bits_of(ms.grad(loss)(x, value))
    assert inputs_of(graph) == [1]


class Stepped(nn.Cell):
    """Reads an int of its own, and one of the module."""

    def __init__(self) -> None:
        super().__init__()
        self.step = 0

    def construct(self, x: Tensor) -> Any:
        return x * self.step + STEPS, self.step // 2, self.step % 3 == 0


STEPS = 0


def test_attributes_and_names_that_hold_ints() -> None:
    global STEPS
    net, x = Stepped(), Tensor([1.5, -2.0])
    graph = ms.jit(net)
    for value in INTS:
        net.step, STEPS = value, value + 1
        assert bits_of(graph(x)) == bits_of(net(x)), value
    before = counted_graphs()
    for value in range(20, 30):
        net.step, STEPS = value, 2 * value
        assert bits_of(graph(x)) == bits_of(net(x)), value
    assert counted_graphs() == before


def counted_graphs() -> int:
    return counted_things()["graphs"]


def test_new_values_make_no_graph_and_old_ones_keep_theirs() -> None:
    x, graph = Tensor([1.0, 2.0]), ms.jit(scaled)
    first = graph.graph_of(x, 0.1)
    made = [graph.graph_of(x, value) for value in (0.2, 0.3, 0.4, 0.5)]
    assert made[1] is made[2] is made[3] is not made[0]
    assert graph.graph_of(x, 0.1) is first


def test_kinds_of_numbers_are_apart() -> None:
    x, graph = Tensor([1, 2]), ms.jit(scaled)
    for value in (0.1, 0.2, 0.3, 1, True, 1.0, np.float64(0.4), 2):
        assert bits(graph(x, value)) == bits(scaled(x, value))


def test_floats_anywhere_in_the_arguments_with_sizes_that_change() -> None:
    def nested(x: Tensor, *, options: dict[str, Any]) -> Any:
        return x * options["a"] + options["b"][0] + TABLE.get(options["key"], 3.0)

    graph = ms.jit(nested)
    for i, value in enumerate(VALUES):
        x, options = Tensor(np.ones(2 + i % 3, np.float32)), {"a": value, "b": [value + 1, 2], "key": value}
        assert bits(graph(x, options=options)) == bits(nested(x, options=options))
    assert set(inputs_of(graph)) == {2}  # not the key


def test_gradients_of_graphs_and_of_cells() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = ms.Parameter(Tensor([0.5, 2.0]), name="w")

        def construct(self, x: Tensor, rate: float) -> Tensor:
            return (ops.tanh(x * self.w) * rate).sum()

    def function(x: Tensor, rate: float) -> Tensor:
        return (ops.tanh(x) * rate / x).sum()

    x, graph = Tensor([1.0, 2.0]), ms.jit(function)
    net = Net()
    by_mode: list[Any] = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        try:
            by_mode.append([bits(ms.value_and_grad(net, 0, net.trainable_params())(x, value)) for value in VALUES])
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
    assert by_mode[0] == by_mode[1]
    for value in VALUES:
        assert bits(ms.grad(graph)(x, value)) == bits(ms.grad(function)(x, value))


def test_hooks_are_given_the_floats() -> None:
    class Net(nn.Cell):
        def construct(self, x: Tensor, rate: float) -> Tensor:
            return x * rate

    net, seen = Net(), []
    net.register_forward_pre_hook(lambda cell, given: seen.append(given[1]))
    graph = ms.jit(net)
    for value in (0.1, 0.2, 0.3, 0.4):
        graph(Tensor([1.0]), value)
    assert seen == [0.1, 0.2, 0.3, 0.4]


def test_a_graph_that_begins_to_need_the_number() -> None:
    def perhaps(x: Tensor, rate: float) -> Tensor:
        return x * (TABLE[rate] if NEEDED[0] else rate)

    NEEDED, x, graph = [False], Tensor([1.0]), ms.jit(perhaps)
    for value in (0.1, 0.2, 0.3, 0.4):
        graph(x, value)
    NEEDED[0] = True
    assert graph(x, 0.4) == 2.0
    NEEDED[0] = False
    assert graph(x, 0.5) == 0.5


def test_a_float_that_is_refused_leaves_those_that_are_inputs(built: list[Any]) -> None:
    function = ms.jit(lambda x, rate, key: x * rate * {0.5: 2, 1.5: 3}.get(key, 4))
    for rate in (0.1, 0.2, 0.3, 0.4):
        function(Tensor([1.0]), rate, 0.5)
    for key in (1.5, 2.5, 3.5):
        function(Tensor([1.0]), 0.1, key)
    del built[:]
    for rate in (0.6, 0.7, 0.8):
        assert function(Tensor([1.0]), rate, 3.5).asnumpy() == np.float32(rate) * np.float32(4)
    assert not built
