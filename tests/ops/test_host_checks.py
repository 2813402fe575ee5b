"""Library code while a graph is made: numbers are looked at by checks alone, and what it emits computes what it computes at once.

Ops run at once here too, so that what is emitted can be compared; only the questions whether a graph is being made say yes, and
host code that reads a number fails.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Parameter, Tensor, nn, ops
from adjoint.ir.ops.check import Check
from adjoint.ops import operations as P
from adjoint.runtime.tensor import fusible, run_time_checks
from adjoint.runtime.tensor.run_time_checks import Range, RangeCheck

READERS = ("asnumpy", "item", "tolist", "__bool__", "__int__", "__float__", "__index__", "__array__")


class Graph:
    """Keeps the checks; the numbers of tensors are hidden from everything else."""

    emits = True

    def __init__(self) -> None:
        self.checks: list[tuple[Callable[..., None], tuple[Tensor, ...], list[tuple[Tensor, Range]]]] = []

    def check(self, check: Callable[..., None], tensors: tuple[Tensor, ...], conditions: Iterable[tuple[Tensor, Range]]) -> None:
        if isinstance(check, RangeCheck):
            conditions = [(tensors[0], check.range)]
        # As they are now, whatever is written to them later.
        self.checks.append((check, tuple(map(copy.copy, tensors)), [(copy.copy(x), allowed) for x, allowed in conditions]))


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> Iterator[Graph]:
    made = Graph()
    with monkeypatch.context() as patch:
        patch.setattr(run_time_checks, "state", SimpleNamespace(tracer=made))
        patch.setattr(fusible, "observations", [made])  # library functions are not fused, as while a graph is made
        yield made


def emitted(graph: Graph, monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], *given: Any) -> Any:
    """`function(*given)` without the numbers of tensors; then its checks are made."""

    def hidden(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("a number was read while a graph is made")

    with monkeypatch.context() as patch:
        for name in READERS:
            patch.setattr(Tensor, name, hidden)
        result = function(*given)
    for check, tensors, conditions in graph.checks:
        # Python is called only if a kernel finds a number out of range.
        assert conditions
        holds = all(is_within(x, allowed) for x, allowed in conditions)
        try:
            check(*tensors)
        except Exception as raised:
            if holds:
                raise AssertionError("no kernel finds the mistake") from raised
            raise
        assert holds, "a kernel finds a mistake where there is none"
    return result


def is_within(x: Tensor, allowed: Range) -> bool:
    """True if `check!` finds no number of a tensor outside of its range."""
    bounds = [bound if isinstance(bound, tuple) else (bound,) for bound in allowed[:2]]
    try:
        Check("check", *bounds, allowed.ignored).reference(x.asnumpy())
    except ValueError:
        return False
    return True


def arrays(result: Any) -> list[np.ndarray[Any, Any]]:
    return [array for x in result for array in arrays(x)] if isinstance(result, tuple) else [result.asnumpy().copy()]


def i(*numbers: int) -> Tensor:
    return Tensor(np.array(numbers, np.int64))


ONE, MINUS = Tensor(1), Tensor(-1)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
KEYS: list[Any] = [
    ONE, MINUS, (ONE, ONE), (slice(None), MINUS), (..., ONE), (ONE, None, 0), (ONE, slice(1, None)), (0, slice(None), ONE),
    i(1, 0, -1), (slice(None), i(2, -1, 0)), (i(1, 0), i(-1, 2)), (i(1, -2), slice(None), i(3, 0)), (Tensor([[0], [1]]), i(0, 2)),
    (i(0, 1), [1, 2]), (np.array([1, 0]), i(-1, 1)), (1, i(0, -1)), (i(1, 1, 0), ONE), Tensor(np.zeros((0,), np.int64)), (ONE, [0, 2]),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_parts(key: Any, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    found = emitted(graph, monkeypatch, lambda x: x[key], Tensor(CUBE))
    plain = tuple(k.asnumpy() if isinstance(k, Tensor) else k for k in key) if isinstance(key, tuple) else key.asnumpy()
    np.testing.assert_array_equal(found.asnumpy(), CUBE[plain])


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_writing_to_parts(key: Any, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of several written to one place stays."""
    plain = tuple(k.asnumpy() if isinstance(k, Tensor) else k for k in key) if isinstance(key, tuple) else key.asnumpy()
    shape = CUBE[plain].shape
    for value in (7, Tensor((100.0 + np.arange(np.prod(shape))).reshape(shape).astype(np.float32))):
        x = Tensor(CUBE)
        emitted(graph, monkeypatch, x.__setitem__, key, value)
        expected = CUBE.copy()
        expected[plain] = value if isinstance(value, int) else value.asnumpy()
        np.testing.assert_array_equal(x.asnumpy(), expected)


def test_writing_where_a_mask_is_true(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    for mask, value in ((CUBE > 5, 1.5), (CUBE[..., 0] > 5, np.arange(4, dtype=np.float32)), (CUBE[:, 0, 0] > 5, 2)):
        x = Tensor(CUBE)
        emitted(graph, monkeypatch, x.__setitem__, Tensor(mask), Tensor(value) if isinstance(value, np.ndarray) else value)
        expected = CUBE.copy()
        expected[mask] = value
        np.testing.assert_array_equal(x.asnumpy(), expected)
    with pytest.raises(RuntimeError, match="depends on values"):
        Tensor(CUBE)[Tensor(CUBE > 5)] = Tensor(np.ones(18, np.float32))
    x = Tensor(CUBE)
    x[1:, 0] = 3
    assert x[1, 0].tolist() == [3.0] * 4


@pytest.mark.parametrize("key", [Tensor(2), i(0, 5), (slice(None), i(3)), (i(0), i(-4))], ids=str)
def test_places_out_of_range(key: Any, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is that of indexing at once, when the check is made; what the ops themselves say of it counts for nothing here."""
    with pytest.raises(IndexError):
        emitted(graph, monkeypatch, lambda x: x[key], Tensor(CUBE))
    (check, tensors, _), *_ = graph.checks[::-1]
    with pytest.raises(IndexError, match=r"Tensor\[\.\.\.\].*out of bounds for dimension \d with size \d"):
        check(*tensors)


X = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4) / 8)
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "gather": (lambda x, n: ops.gather(x, n, 0), (X, i(1, -1))),
    "gather with batches": (lambda x, n: ops.gather(x, n, 1, 1), (X, Tensor([[1], [-1], [0]]))),
    "gather_elements": (lambda x, n: ops.gather_elements(x, 1, n), (X, Tensor([[1, -1], [0, 3], [-4, 2]]))),
    "gather_nd": (ops.gather_nd, (X, Tensor([[1, -1], [0, 3]]))),
    "tensor_scatter_add": (ops.tensor_scatter_add, (X, Tensor([[1, -1], [0, 3]]), Tensor([1.0, 2.0]))),
    "unsorted_segment_sum": (lambda x, n: ops.unsorted_segment_sum(x, n, 2), (X, i(1, -1, 0))),
    "embedding": (lambda n, x: ops.embedding(n, x), (i(1, -1), X)),
    "nn.Embedding": (nn.Embedding(3, 2, embedding_table=Tensor(np.ones((3, 2), np.float32))), (i(1, 2),)),
    "take": (ops.take, (X, i(11, 0))),
    "sort": (ops.sort, (X,)), "topk": (lambda x: ops.topk(x, 2), (X,)), "max": (lambda x: ops.max(x, 1), (X,)),
    "cross_entropy": (ops.cross_entropy, (X, i(0, 3, 2))),
    "cross_entropy with weights": (lambda x, n: ops.cross_entropy(x, n, X[0], 3), (X, i(0, 3, 2))),
    "nll_loss": (ops.nll_loss, (X, i(0, 3, -100))),
    "nn.SoftmaxCrossEntropyWithLogits": (nn.SoftmaxCrossEntropyWithLogits(True), (X, i(0, 3, 2))),
    "P.OneHot": (lambda n, on, off: P.OneHot()(n, 3, on, off), (i(0, 2, 5), Tensor(1.5), Tensor(-0.5))),
    "one_hot": (lambda n: ops.one_hot(n, 3, 2, 1), (i(0, 2),)),
    "full": (lambda v: ops.full((2, 3), v), (Tensor(1.5),)), "full_like": (ops.full_like, (X, Tensor(2))),
    "masked_fill": (lambda x, v: ops.masked_fill(x, x > 0.5, v), (X, Tensor(1.5))),
    "clip_by_norm": (lambda x: ops.clip_by_norm(x, 1.0, error_if_nonfinite=True), (X,)),
    "clamp": (lambda x, low: ops.clamp(x, low), (X, Tensor(0.5))),
}


@pytest.mark.parametrize("name", CALLS)
def test_operators(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the bit what they give at once."""
    function, given = CALLS[name]
    expected = arrays(function(*given))
    graph = Graph()
    with monkeypatch.context() as patch:
        patch.setattr(run_time_checks, "state", SimpleNamespace(tracer=graph))
        found = arrays(emitted(graph, monkeypatch, function, *given))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


WRONG: list[tuple[Callable[..., Any], Any, str]] = [
    (lambda n: ops.gather(X, n, 0), i(3), "Gather"), (lambda n: ops.gather(X, n, 1, 1), Tensor([[4], [0], [0]]), "Gather"),
    (lambda n: ops.gather_elements(X, 0, n), Tensor([[3]]), "GatherD"), (lambda n: ops.gather_nd(X, n), Tensor([[0, 4]]), "GatherNd"),
    (lambda n: ops.unsorted_segment_sum(X, n, 2), i(0, 2, 0), "UnsortedSegmentSum"), (lambda n: ops.nll_loss(X, n), i(0, 4, 0), "NLLLoss"),
    (lambda n: ops.cross_entropy(X, n), i(0, 4, 0), "CrossEntropy"), (nn.Embedding(3, 2), i(3), "Embedding"),
]


@pytest.mark.parametrize(("function", "wrong", "name"), WRONG, ids=[name for _, _, name in WRONG])
def test_errors_are_those_of_running_at_once(
    function: Any, wrong: Tensor, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(IndexError, match=f"'{name}'") as caught:
        function(wrong)
    graph = Graph()
    with monkeypatch.context() as patch:
        patch.setattr(run_time_checks, "state", SimpleNamespace(tracer=graph))
        with pytest.raises((IndexError, ValueError)):
            emitted(graph, monkeypatch, function, wrong)
    check, tensors, _ = graph.checks[0]
    with pytest.raises(type(caught.value)) as later:
        check(*tensors)
    assert str(later.value) == str(caught.value)


@pytest.mark.parametrize("rate", [0.1, [0.3, 0.2, 0.1]])
@pytest.mark.parametrize("dtype", [adjoint.float32, adjoint.float64, adjoint.float16])
@pytest.mark.parametrize("kind", [nn.SGD, nn.Adam])
def test_optimisers(kind: Any, rate: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step and learning rate are tensors; the bits are those of steps taken at once."""
    p, q = (Parameter(Tensor([1.0, -2.0], dtype), name="p") for _ in range(2))
    at_once, in_graph = kind([p], rate), kind([q], rate)
    for step in range(3):
        gradient = Tensor([0.3 * (step + 1), -0.1], dtype)
        at_once((gradient,))
        graph = Graph()
        with monkeypatch.context() as patch:
            patch.setattr(run_time_checks, "state", SimpleNamespace(tracer=graph))
            emitted(graph, monkeypatch, in_graph, (gradient,))
        assert p.tolist() == q.tolist() and in_graph.global_step.tolist() == [step + 1]
    if isinstance(rate, list):
        with pytest.raises(RuntimeError, match=r"3 rates.*step 4"):
            at_once((gradient,))
        with pytest.raises(RuntimeError, match=r"3 rates.*step 4"):
            graph.checks[0][0](in_graph.global_step)  # pyright: ignore[reportPossiblyUnbound]


# -- graphs as they are made -------------------------------------------------------------------------------------------
def rows_of(x: Tensor, n: Tensor) -> Tensor:
    y = x[0] * 0
    for k in range(n):
        y = y + x[k]
    return y


def rows_written(x: Tensor, n: Tensor) -> Tensor:
    y = x * 1.0
    for k in range(n):
        y[k] = k * 2.0
        y[-1, k] = y[k, 0] + 0.5
    return y


def rows_listed(x: Tensor, n: Tensor) -> Tensor:
    return x[[n, 0]] + x[:, [n, n]].sum()


def filled_by(x: Tensor, n: Tensor) -> Tensor:
    return ops.full((4,), n.item()) + ops.clamp(x, n.item(), 5.0)


@pytest.mark.parametrize("function", [rows_of, rows_written, rows_listed, filled_by])
def test_numbers_that_are_known_when_the_graph_runs(function: Any) -> None:
    for n in (1, 2):
        expected = function(X, Tensor(n))
        np.testing.assert_array_equal(adjoint.jit(function)(X, Tensor(n)).asnumpy(), expected.asnumpy())


def test_running_statistics_in_a_graph() -> None:
    """They move as they do at once, and no gradient flows through them."""
    cells = [nn.BatchNorm1d(4).set_train() for _ in range(2)]
    programs = [cells[0], adjoint.jit(lambda x: cells[1](x))]
    (first, one), (second, other) = (
        (f(X), adjoint.grad(lambda x, f=f: (f(x) * X).sum())(X)) for f in programs)
    np.testing.assert_array_equal(first.asnumpy(), second.asnumpy())
    np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
    for kind in ("moving_mean", "moving_variance"):
        np.testing.assert_array_equal(getattr(cells[0], kind).asnumpy(), getattr(cells[1], kind).asnumpy())
    assert cells[0].moving_mean.tolist() != [0.0] * 4


@pytest.mark.parametrize("make", ["SGD({}, [0.3, 0.2, 0.1], weight_decay=0.01, loss_scale=3.0)", "Momentum({}, 0.1, 0.9)", "Adam({}, 0.1)"])
def test_training_in_a_graph(make: str) -> None:
    """To the bit what training at once does."""
    found: list[list[Any]] = []
    for graph in (False, True):
        adjoint.set_seed(1)
        network = nn.SequentialCell(nn.Dense(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dense(8, 3)).set_train()
        optimizer = eval(f"nn.{make.format('network.trainable_params()')}")
        step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.SoftmaxCrossEntropyWithLogits(True, "mean")), optimizer)
        run = adjoint.jit(lambda x, y, step=step: step(x, y)) if graph else step
        losses = [run(X, i(0, 2, 1)).tolist() for _ in range(3)]
        found.append([losses, *(p.tolist() for p in step.get_parameters())])
    assert found[0] == found[1]
