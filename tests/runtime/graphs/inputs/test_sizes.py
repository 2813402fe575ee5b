"""Sizes that change: a function is parsed for two sizes of a batch, and never again, with eager mode's bits.

Where Python needs to know a size, each size is parsed.  What the graph for any size leaves open is never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, jit, nn, ops
from adjoint.codegen import recipes
from adjoint.codegen.compile import KernelCache
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.types import F32, I32, Poly, symbol, tensor
from adjoint.runtime.graphs.calls import any_size, joint_gradients
from adjoint.runtime.graphs.lowering import lowering
from adjoint.runtime.graphs.lowering.graph_sizes import GraphSize
from adjoint.runtime.graphs.running.optimised import optimised_alone

SIZES = (4, 6, 3, 9, 2, 6, 1, 5, 0)
FACTOR = 2.0


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The types of the arguments for which functions were parsed."""
    found: list[Any] = []
    original = lowering.Lowering.run

    def run(self: Any) -> Any:
        found.append(self._subject.arguments.types)
        return original(self)

    monkeypatch.setattr(lowering.Lowering, "run", run)
    yield found


def x_of(n: int, seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng([n, seed]).normal(size=(n, 3)).astype(np.float32))


def text(value: Any) -> Any:
    if isinstance(value, Tensor):
        return str(value.dtype), value.shape, value.asnumpy().tobytes()
    if isinstance(value, (tuple, list)):
        return type(value), *map(text, value)
    return type(value), repr(value)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return text(function(*args))
    except Exception as raised:
        return next(kind for kind in type(raised).__mro__ if kind.__module__ == "builtins")


def rows_in_a_loop(x: Tensor) -> Tensor:
    i, total = Tensor(0, ms.int32), ops.zeros(3, ms.float32)
    while i < x.shape[0]:
        total, i = total * 0.5 + x[i], i + 1
    return total


ANY: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: ops.tanh(x) * x + 1,
    "sum": lambda x: (x * x).sum(),
    "mean over rows": lambda x: x - x.mean(0),
    "mean": lambda x: x.mean(),
    "row by row": lambda x: ops.softmax(x, -1).sum(1),
    "flat": lambda x: x.reshape(-1),
    "flat by its size": lambda x: x.reshape((x.shape[0] * 3,)),
    "kept rows": lambda x: x.reshape((x.shape[0], 3, 1)) * 2,
    "made like it": lambda x: x + ops.ones((x.shape[0], x.shape[1]), ms.float32),
    "transposed": lambda x: ops.matmul(x.T, x),
    "product with itself": lambda x: ops.matmul(x, x.T).sum(0),
    "joined": lambda x: ops.concat([x, x * 2, x], 0),
    "several results": lambda x: (x * 2, [x.sum(0), 3.5]),
    "its shape": lambda x: (x * 2, x.shape, x.shape[0] * 2 + 1),
    "sizes that are the same for all": lambda x: x * 2 if x.shape[0] == x.shape[0] and x.ndim == 2 and x.shape[1] == 3 else x,
    "gradient": lambda x: ms.grad(lambda z: (ops.tanh(z) * z).mean())(x),
    "gradient of a gradient": lambda x: ms.grad(lambda y: ms.grad(lambda z: (z * z * z).sum())(y).sum())(x),
    "a number": lambda x: x / x.shape[0],
    "length": lambda x: x * len(x) + len(x) / 2,
    "all but the first": lambda x: x[1:] * 2,
    "columns": lambda x: x[:, 0] + x[:, 1:].sum(1),
    "counted": lambda x: ops.arange(x.shape[0]) * 2,
    "largest": lambda x: ops.topk(x.sum(1), 2)[0] if x.shape[0] > 1 else x,
    "factor from outside": lambda x: x * FACTOR,
    "places that a tensor holds": lambda x: x[(x.sum(1) > 0).astype(ms.int32) - 1] * 2,
    "coordinates that a tensor holds": lambda x: ops.gather_nd(x, ops.stack([x.argmax(0), ops.arange(3)], 1)),
    "a row while there is one": rows_in_a_loop,
    "added at places": lambda x: x.index_add(0, Tensor([1, 0], ms.int32), ops.ones((2, 3), ms.float32)),
    "written at places": lambda x: ops.tensor_scatter_update(x, Tensor([[1, 0], [-1, 2]]), Tensor([7.0, 8.0])),
}
"""Functions for any size."""

EACH: dict[str, Callable[[Any], Any]] = {
    "condition": lambda x: x * 2 if x.shape[0] > 4 else x,
    "equal to a number": lambda x: x * 2 if x.shape[0] == 6 else x,
    "number of elements": lambda x: x * 2 if x.size > 12 else x,
    "even": lambda x: x * 2 if x.shape[0] % 2 == 0 else x,
    "a power": lambda x: x.sum() * x.shape[0] ** 2,
    "loop": lambda x: sum(x[i] * i for i in range(x.shape[0])),
    "rows": lambda x: [row * 2 for row in x],
    "a text": lambda x: (x, f"{x.shape[0]} rows"),
    "a key": lambda x: x * {4: 1.0, 6: 2.0}.get(x.shape[0], 3.0),
    "least": lambda x: x * min(x.shape[0], 5),
    "an item": lambda x: x[x.shape[0] - 1],
    "half": lambda x: x[: x.shape[0] // 2],
    "with itself shifted": lambda x: x[1:] - x[:-1],
    "compared by a tuple": lambda x: x * 2 if x.shape == (6, 3) else x,
    "in a list": lambda x: x * 2 if x.shape[0] in [3, 9] else x,
    "met by a size": lambda x: x + ops.ones((6, 1), ms.float32) if x.shape[0] == 6 else x,
    "in pairs of rows": lambda x: x.reshape(-1, 6) * 2,
    "in halves": lambda x: x.reshape(2, -1) * 2,
    "wide rows": lambda x: ops.matmul(x.reshape(-1, 9), x.reshape(9, -1)),
    "a row of a given number": lambda x: x[5] * x[2],
    "a window": lambda x: x[2:4] + x[-2:],
    "a given product": lambda x: ops.matmul(ops.ones((2, 6), ms.float32), x),
    "shares of a class": lambda x: ops.split(x, 2)[0],
    "numpy": lambda x: np.zeros(x.shape[0]).sum() + x,
    "is it an int": lambda x: x * 2 if isinstance(x.shape[0], int) and type(x.shape[0]) is int else x,
}
"""Functions that Python decides by the size."""


@pytest.mark.parametrize("name", ANY)
def test_a_function_is_parsed_for_two_sizes(name: str, parsed: list[Any]) -> None:
    function = ANY[name]
    run = jit(function)
    for n in SIZES:
        assert outcome(run, x_of(n)) == outcome(function, x_of(n)), n
    # 0 and 1 have rules of their own.
    assert [types[0].shape[0] for types in parsed if not isinstance(types[0].shape[0], Poly)] == [4, 1, 0]
    assert len(parsed) == 4


@pytest.mark.parametrize("name", EACH)
def test_a_size_that_python_needs_is_never_guessed(name: str) -> None:
    function = EACH[name]
    run = jit(function)
    for n in SIZES:
        assert outcome(run, x_of(n)) == outcome(function, x_of(n)), n


def test_sizes_of_several_arguments(parsed: list[Any]) -> None:
    """The batch has one name in both; if they differ, it is another graph, or eager mode's error."""
    run = jit(lambda x, y: (x * y[:, None]).sum(0))
    plain = run.__wrapped__

    def y_of(n: int) -> Tensor:
        return Tensor(np.arange(n, dtype=np.float32))

    for n, m in ((4, 4), (6, 6), (3, 3), (5, 1), (3, 3), (7, 7), (4, 6), (8, 8)):
        assert outcome(run, x_of(n), y_of(m)) == outcome(plain, x_of(n), y_of(m)), (n, m)
    assert [tuple(map(str, types)) for types in parsed if not types[0].is_static] == [("f32[n0, 3]", "f32[n0]"), ("f32[n0, 3]", "f32[n1]")]


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, pad_mode="valid")
        self.pool, self.flat, self.dense = nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(18, 4)

    def construct(self, x):
        return self.dense(self.flat(self.pool(ops.relu(self.conv(x)))))


def trained(wrap: Callable[[Any], Any], batches: Iterable[int], reduction: str = "mean") -> list[Any]:
    ms.set_seed(1)
    net, loss = Net(), nn.CrossEntropyLoss(reduction=reduction)
    optimiser = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimiser.parameters)

    def step(x, y):
        value, gradients = gradient(x, y)
        optimiser(gradients)
        return value

    run, found = wrap(step), []
    for n in batches:
        draw = np.random.default_rng(n)
        images = Tensor(draw.normal(size=(n, 1, 8, 8)).astype(np.float32))
        found.append(text(run(images, Tensor(draw.integers(0, 4, n).astype(np.int32)))))
    return [*found, *[text(p.copy()) for p in net.get_parameters()]]


def test_training_with_batches_of_several_sizes(parsed: list[Any]) -> None:
    batches = (4, 6, 3, 8, 6)
    assert trained(jit, batches) == trained(lambda step: step, batches)
    assert len(parsed) == 2


def with_hooks(wrap: Callable[[Any], Any], batches: Iterable[int]) -> list[Any]:
    """Return what hooks see and what comes out of training steps; hooks come and go between them, and one waits on a parameter."""
    ms.set_seed(1)
    net, seen = Net(), []

    def halved(cell: Any, grad_input: Any, grad_output: Any) -> Any:
        seen.append((cell.title, text(grad_input), text(grad_output)))
        return tuple(None if g is None else g * 0.5 for g in grad_input)

    net.dense.register_backward_hook(halved)
    net.pool.register_backward_hook(lambda cell, grad_input, grad_output: seen.append((cell.title, text(grad_input), text(grad_output))))
    removed = net.flat.register_backward_pre_hook(lambda cell, grad_output: seen.append((cell.title, text(grad_output))))
    optimiser = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradient = ms.value_and_grad(lambda x: (net(x) * net(x)).mean(), None, optimiser.parameters)

    def step(x):
        value, gradients = gradient(x)
        optimiser(gradients)
        return value

    run = wrap(step)
    for number, n in enumerate(batches):
        if number == 5:
            removed.remove()
        if number == 8:
            removed = net.conv.weight.register_hook(lambda grad: seen.append(text(grad)))
        if number == 10:
            removed.remove()
        seen.append(text(run(Tensor(np.random.default_rng(n).normal(size=(n, 1, 8, 8)).astype(np.float32)))))
    return [*seen, *[text(p.copy()) for p in net.get_parameters()]]


def test_hooks_of_cells_see_the_gradients_of_each_size(parsed: list[Any]) -> None:
    """Where they are all that is the user's, a graph is parsed for two sizes, once more when one is removed, and for a single row."""
    batches = (4, 6, 3, 8, 7, 4, 6, 9, 2, 5, 6, 1)
    assert with_hooks(jit, batches) == with_hooks(lambda step: step, batches)
    assert len(parsed) == 4


def test_a_hook_that_knows_a_size_is_parsed_for_each() -> None:
    """It is made by the function that is parsed: a name in place of the size would reach Python."""
    def scaled(x: Any) -> Any:
        rows = x.shape[0]

        def f(z: Any) -> Any:
            z = z * 2
            z.register_hook(lambda grad: grad * rows)
            return (z * z).sum()

        return ms.grad(f)(x)

    run = jit(scaled)
    for n in SIZES:
        assert outcome(run, x_of(n)) == outcome(scaled, x_of(n))


def test_training_with_a_last_batch_of_one_row_or_none() -> None:
    for batches in ((4, 4, 1, 4, 1), (4, 6, 0, 3, 0, 1, 6), (1, 4, 1, 6, 3)):
        assert trained(jit, batches, "sum") == trained(lambda step: step, batches, "sum")


def test_a_third_size_parses_lowers_and_compiles_nothing(parsed: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is the graph without optimisations made, in which nothing runs."""
    counts = {"lowered": 0, "compiled": 0, "specialised": 0}

    def counted(name: str, holder: Any, attribute: str) -> None:
        original = getattr(holder, attribute)

        def call(*args: Any, **named: Any) -> Any:
            counts[name] += 1
            return original(*args, **named)

        monkeypatch.setattr(holder, attribute, call)

    counted("lowered", recipes, "lower")
    counted("compiled", KernelCache, "_compile")
    counted("specialised", any_size, "_specialised")
    seen = []
    ms.set_seed(1)
    net, loss = Net(), nn.CrossEntropyLoss()
    optimiser = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimiser.parameters)

    @jit
    def step(x, y):
        value, gradients = gradient(x, y)
        optimiser(gradients)
        return value

    for n in (20, 24, 22, 28, 26):
        step(Tensor(np.ones((n, 1, 8, 8), np.float32)), Tensor(np.zeros(n, np.int32)))
        seen.append((len(parsed), *counts.values()))
    assert seen[0][:2] < seen[1][:2] and seen[1] == seen[2] == seen[3] == seen[4]


@pytest.mark.parametrize("has_aux", [False, True])
def test_a_gradient_of_a_jitted_function_is_made_for_two_sizes(has_aux: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient is taken outside of the function: for the first size, and for any size."""
    made: list[Any] = []

    def counted(graph: Any) -> Any:
        made.append(graph)
        return optimised_alone(graph)

    for module, name in ((any_size, "optimised_for_any_size"), (any_size, "optimised_alone"), (joint_gradients, "optimised_alone")):
        monkeypatch.setattr(module, name, counted)
    ms.set_seed(1)
    net, loss = Net(), nn.CrossEntropyLoss(reduction="sum")
    weights = net.trainable_params()

    def forward(x, y):
        logits = net(x)
        return (loss(logits, y), logits) if has_aux else loss(logits, y)

    taken, wanted = (ms.value_and_grad(f, 0, weights, has_aux=has_aux) for f in (jit(forward), forward))
    counts = []
    for n in (20, 24, 22, 28, 1, 26, 0):
        draw = np.random.default_rng(n)
        given = Tensor(draw.normal(size=(n, 1, 8, 8)).astype(np.float32)), Tensor(draw.integers(0, 4, n).astype(np.int32))
        made.clear()
        for _ in range(2):
            assert text(taken(*given)) == text(wanted(*given)), n
        counts.append(len(made))
    assert counts == [1, 2, 0, 0, 1, 0, 1]  # 0 and 1 have rules of their own


def test_an_op_that_cannot_have_a_size_is_the_users_error() -> None:
    """A window larger than the image: the graph for any size says nothing about it."""
    conv = nn.Conv2d(1, 2, 5, pad_mode="valid")
    run = jit(lambda x: conv(x))
    for n in (8, 9, 7, 4, 10):
        x = Tensor(np.ones((2, 1, n, 8), np.float32))
        assert outcome(run, x) == outcome(conv, x)


def test_a_label_that_is_wrong_is_found_for_each_size() -> None:
    loss = nn.CrossEntropyLoss()
    run = jit(lambda x, y: loss(x, y))
    for n in (4, 6, 3):
        labels = Tensor(np.full(n, 2, np.int32))
        assert outcome(run, x_of(n), labels) == outcome(loss, x_of(n), labels)
        wrong = Tensor(np.full(n, 7, np.int32))
        assert outcome(run, x_of(n), wrong) == outcome(loss, x_of(n), wrong) is not None


def test_gradients_through_a_graph_for_any_size() -> None:
    """Under a tape the graph runs node by node, with its cells."""
    ms.set_seed(1)
    net = nn.SequentialCell([nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 2)])
    run = jit(lambda x: net(x))
    for n in (4, 6, 3, 5):
        found = ms.grad(lambda x: (run(x) ** 2).sum())(x_of(n))
        wanted = ms.grad(lambda x: (net(x) ** 2).sum())(x_of(n))
        assert text(found) == text(wanted)
        found = ms.grad(lambda x: ms.grad(lambda z: (run(z) ** 3).sum())(x).sum())(x_of(n))
        wanted = ms.grad(lambda x: ms.grad(lambda z: (net(z) ** 3).sum())(x).sum())(x_of(n))
        assert text(found) == text(wanted)


def test_a_hook_that_is_added_is_called_for_each_size() -> None:
    net, seen = nn.SequentialCell([nn.Dense(3, 4), nn.ReLU()]), []
    run = jit(lambda x: net(x))
    for n in (4, 6, 3):
        run(x_of(n))
    net[1].register_forward_hook(lambda cell, given, result: seen.append(result.shape))
    for n in (4, 6, 5, 3):
        assert text(run(x_of(n))) == text(net(x_of(n)))
    assert seen == [(n, 4) for n in (4, 6, 5, 3) for _ in range(2)]


def test_a_graph_for_any_size_is_never_stale() -> None:
    global FACTOR
    run = jit(ANY["factor from outside"])
    try:
        for FACTOR in (2.0, 3.0, 5.0):
            for n in (4, 6, 3):
                assert text(run(x_of(n))) == text(x_of(n) * FACTOR)
    finally:
        FACTOR = 2.0


def test_one_size_after_another_gets_a_name(parsed: list[Any]) -> None:
    run = jit(lambda x: ops.softmax(x, -1))
    for shape in ((4, 3), (6, 3), (6, 5), (7, 9), (8, 4), (5, 9)):
        x = Tensor(np.ones(shape, np.float32))
        assert text(run(x)) == text(ops.softmax(x, -1))
    assert [str(types[0]) for types in parsed] == ["f32[4, 3]", "f32[n0, 3]", "f32[6, n0]", "f32[n0, n1]"]


def test_a_declared_input_of_any_size() -> None:
    net = Net()
    net.set_inputs(Tensor(shape=[None, 1, 8, 8], dtype=ms.float32))
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        for n in (4, 6, 3):
            assert net(Tensor(np.ones((n, 1, 8, 8), np.float32))).shape == (n, 4)
        with pytest.raises(ValueError, match="shape of 1th input must be the same as expected"):
            net(Tensor(np.ones((4, 1, 9, 8), np.float32)))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_names_are_found_and_matched() -> None:
    def types(*shapes: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(tensor(F32, shape) for shape in shapes)

    n, m = symbol("n0"), symbol("n1")
    assert any_size.generalised(types((4, 3), (4,)), types((6, 3), (6,))) == types((n, 3), (n,))
    assert any_size.generalised(types((4, 3), (5,)), types((6, 3), (6,))) == types((n, 3), (m,))
    assert any_size.generalised(types((4, 3)), types((1, 3))) is None
    assert any_size.generalised(types((4, 3)), types((4, 3))) is None
    assert any_size.generalised((tensor(F32, (4,)),), (tensor(I32, (6,)),)) is None
    assert any_size.matched(types((n, 3), (n,)), types((6, 3), (6,))) == {"n0": 6}
    assert any_size.matched(types((n, 3), (n,)), types((6, 3), (5,))) is None
    assert any_size.matched(types((n, 3)), types((1, 3))) is None
    assert any_size.matched(types((n, 3)), types((6, 4))) is None


def test_what_a_size_answers() -> None:
    n, m = GraphSize(symbol("n").terms), GraphSize(symbol("m").terms)
    assert (n + 1) * 2 - n == n + 2 and n * m == m * n and (n * 6) // 3 == n * 2 and n * 6 % 3 == 0 and n - n == 0
    assert n != 1 and n != 0 and n > 1 and n >= 2 and n and n + m > 3 and n * m >= 4 and n != n + 1 and not n < 2
    assert (n == "n") is False and (n is None) is False and isinstance(n, int)
    for question in (
        lambda: n == 2, lambda: n == m, lambda: n > 2, lambda: n < m, lambda: n == 2.0, lambda: n - 2 == 0, lambda: bool(n - 2),
        lambda: n // 2, lambda: n % 2, lambda: n / 2, lambda: 1 / n, lambda: n**2, lambda: int(n), lambda: float(n), lambda: range(n),
        lambda: [0] * n, lambda: f"{n}", lambda: str(n), lambda: repr(n), lambda: round(n), lambda: divmod(n, 2), lambda: n & 1,
        lambda: abs(n), lambda: n.bit_length(), lambda: min(n, 5), lambda: n in (3, 4), lambda: np.zeros(n),
    ):
        with pytest.raises(CompileError):
            question()
    with pytest.raises(TypeError):
        {2: "two"}.get(n)
