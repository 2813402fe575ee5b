"""`adjoint.mint`: results, dtypes and gradients are those that PyTorch recorded, whose names and arguments these are, in every mode.

MindSpore's CPU wheel lacks the kernels of most of them.  The calls are those of `tests/oracle/mint_calls.py`.
"""

from __future__ import annotations

import re
from typing import Any

import mint_answers
import numpy as np
import pytest
from asked import agree, recorded
from test_numpy import without_compiler

import adjoint as ms
from adjoint import Tensor, mint

FACTS = recorded("mint")["calls"]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What our functions give, in a process that finds no compiler."""
    return without_compiler(mint_answers.__file__, tmp_path_factory)


def test_the_facts_are_of_these_calls() -> None:
    assert list(FACTS) == list(dict.fromkeys(mint_answers.mint_calls.expressions()))


@pytest.mark.parametrize("expression", FACTS)
def test_results_and_gradients_are_those_of_pytorch(expression: str, given: dict[str, Any]) -> None:
    fact, got = FACTS[expression], given["calls"][expression]
    assert agree(fact["result"], got["result"], 2e-5), got["result"]
    for name, gradient in (fact["gradients"] or {}).items():
        assert agree(gradient, got["gradients"][name], 1e-6), name
    assert got["graph"] is True, got["graph"]


KINKS = recorded("mint_kinks")

BY_CONVENTION = {
    "mint.median(x)": "the gradient goes to one of equal elements, in PyTorch to all of them",
    "mint.kthvalue(x, 2)": "the first of equal elements is chosen",
    'mint.cdist(x, s, float("inf"))': "equal largest differences share the gradient, in PyTorch each has all of it",
    "F.hardswish(x)": "at -3 and 3 it is the slope of the middle piece, as in MindSpore",
    "mint.pow(x, 0.5)": "infinite at -0 and 0 alike, in PyTorch of the sign of the zero",
}
"""Calls whose gradients at kinks are finite, and differ from PyTorch's."""


@pytest.mark.parametrize("kind", [kind for kind in KINKS if kind != "torch"])
def test_gradients_at_kinks_are_those_of_pytorch(kind: str, given: dict[str, Any]) -> None:
    # 0 * inf and 0 / 0 lurk at zeros, ties, rows of zeros and the ends of intervals: where PyTorch has no NaN, neither has mint.
    wrong: list[str] = []
    for expression, fact in KINKS[kind].items():
        got = given["kinks"][kind][expression]
        for name, gradient in fact.items():
            found = got["gradients"][name] if isinstance(got["gradients"], dict) else got["gradients"]
            pairs = [(a, b) for a, b in zip(gradient, found, strict=True) if a != "nan"] if isinstance(found, list) else [(gradient, found)]
            compared = [(str(b) != "nan", True) for _, b in pairs] if expression in BY_CONVENTION else pairs
            if not all(agree(a, b, 1e-6) for a, b in compared):
                wrong.append(f"{expression}, {name}: PyTorch {gradient}, here {found}")
        if got.get("graph", True) is not True:
            wrong.append(f"{expression} in a graph: {got['graph']}")
    assert not wrong, "\n".join(wrong)


def test_drawn_numbers() -> None:
    ms.set_seed(3)
    drawn = [mint.rand(2, 3), mint.rand((2, 3)), mint.randn(4), mint.randint(0, 5, (50,)), mint.randint(5, (50,)), mint.randperm(6),
             mint.normal(1.0, 2.0, (3,)), mint.bernoulli(Tensor([0.0, 1.0])), mint.rand_like(Tensor([1.0])),
             mint.multinomial(Tensor([0.0, 1.0]), 1)]
    assert [x.shape for x in drawn] == [(2, 3), (2, 3), (4,), (50,), (50,), (6,), (3,), (2,), (1,), (1,)]
    assert sorted(drawn[5].tolist()) == list(range(6)) and set(drawn[3].tolist()) <= set(range(5)) and drawn[3].dtype is ms.int64
    assert drawn[7].tolist() == [0.0, 1.0] and drawn[9].tolist() == [1]


@pytest.mark.parametrize("steps", [1, 2, 49, 50, 100])
def test_evenly_spaced_numbers_have_the_precision_of_their_dtype(steps: int) -> None:
    """And end where they are to end, also where they are cut to integers."""
    made = mint.linspace(0.1, 0.7, steps, dtype=ms.float64)
    np.testing.assert_allclose(made.asnumpy(), np.linspace(0.1, 0.7, steps), rtol=4e-16)
    ends = mint.linspace(0, 1, steps, dtype=ms.int64).tolist()
    assert ends == ([0] * (steps - 1) + [1] if steps > 1 else [0])
    assert made.tolist()[-1] == (0.7 if steps > 1 else 0.1)


@pytest.mark.parametrize("form", [lambda cell: cell, ms.jit, lambda cell: ms.grad(lambda x: (cell(x) ** 3).sum())],
                         ids=["eager", "graph", "gradient"])
def test_running_statistics_without_momentum_are_the_means_of_all_batches(form: Any) -> None:
    batches = np.random.default_rng(0).standard_normal((4, 6, 3)).astype(np.float32) * 3 + 1
    cell: Any = mint.nn.BatchNorm1d(3, momentum=None)
    cell.set_train()
    run = form(cell)
    for batch in batches:
        run(Tensor(batch))
    assert int(cell.num_batches_tracked) == 4
    np.testing.assert_allclose(cell.running_mean.asnumpy(), batches.mean(1).mean(0), rtol=1e-5)
    np.testing.assert_allclose(cell.running_var.asnumpy(), batches.var(1, ddof=1).mean(0), rtol=1e-5)
    cell.set_train(False)
    wanted = (batches[0] - cell.running_mean.asnumpy()) / np.sqrt(cell.running_var.asnumpy() + 1e-5)
    np.testing.assert_allclose(cell(Tensor(batches[0])).asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def test_in_place() -> None:
    x = Tensor([-1.0, 2.0])
    assert mint.nn.functional.relu_(x) is x and x.tolist() == [0.0, 2.0]
    assert mint.nn.functional.elu(x, inplace=True) is x


def test_a_number_is_a_row_to_what_scatters() -> None:
    x, at, new = Tensor(3.0), Tensor(0), Tensor(5.0)
    for form in (lambda f: f, ms.jit):
        assert form(mint.scatter)(x, 0, at, new).tolist() == 5.0 and form(mint.scatter_add)(x, -1, at, new).tolist() == 8.0
    assert mint.scatter(x, 0, at, 7.0).tolist() == 7.0 and mint.scatter(x, 0, Tensor([0]), Tensor([5.0])).tolist() == 5.0
    assert ms.grad(lambda x, new: mint.scatter_add(x, 0, at, new) * 2, (0, 1))(x, new) == (2.0, 2.0)


def test_the_last_of_equal_places_counts() -> None:
    x, places = Tensor([1.0, 2.0, 3.0]), Tensor([0, 2, 0, 0])
    assert mint.scatter(x, 0, places, Tensor([5.0, 6.0, 7.0, 8.0])).tolist() == [8.0, 2.0, 6.0]
    with pytest.raises(IndexError, match=re.escape("in [0, 3)")):
        mint.scatter(x, 0, Tensor([3]), 1.0)


def test_layers_are_drawn_within_their_bounds_and_named_as_in_mindspore() -> None:
    layer = mint.nn.Linear(16, 3)
    assert [p.name for p in layer.trainable_params()] == ["weight", "bias"]
    assert float(abs(layer.weight).max()) <= 0.25
    norm: Any = mint.nn.BatchNorm2d(2)
    assert [p.name for p in norm.get_parameters()] == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    norm.set_train()(Tensor([[[[1.0]], [[3.0]]], [[[3.0]], [[5.0]]]]))
    assert norm.running_mean.tolist() == pytest.approx([0.2, 0.4]) and norm.num_batches_tracked.item() == 1


@pytest.mark.parametrize(("module", "name", "hint"), [
    (mint, "addr_", "mint.outer"), (mint, "cumsun", "cumsum"), (mint.nn, "SyncBatchNorm", "nn.SyncBatchNorm"),
    (mint.optim, "FusedAdamW", "AdamW"),
])
def test_a_missing_name_says_what_to_write(module: Any, name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(hint)):
        getattr(module, name)


class Net(mint.nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = mint.nn.Conv2d(1, 2, 3), mint.nn.BatchNorm2d(2)
        self.dense = mint.nn.Linear(8, 2)

    def construct(self, x: Tensor) -> Tensor:
        x = mint.nn.functional.relu(self.norm(self.convolution(x)))
        return self.dense(mint.flatten(mint.nn.functional.avg_pool2d(x, 2), 1))


def trained(optimizer: Any, in_graph: bool) -> list[bytes]:
    """The parameters after three steps."""
    ms.set_seed(7)
    net = Net().set_train()
    chosen = optimizer(net.trainable_params())
    x, classes = mint.randn(4, 1, 6, 6), Tensor([0, 1, 1, 0])
    gradients = ms.value_and_grad(lambda x, y: mint.nn.functional.cross_entropy(net(x), y), None, chosen.parameters)

    def step(x: Tensor, y: Tensor) -> Tensor:
        loss, found = gradients(x, y)
        chosen(found)
        return loss

    run = ms.jit(step) if in_graph else step
    losses = [float(run(x, classes)) for _ in range(3)]
    assert losses[2] < losses[0]
    return [p.asnumpy().tobytes() for p in net.get_parameters()]


@pytest.mark.parametrize("optimizer", [
    lambda p: mint.optim.AdamW(p, 0.01), lambda p: mint.optim.Adam([{"params": p, "lr": 0.02, "weight_decay": 0.1}], amsgrad=True),
    lambda p: mint.optim.SGD(p, 0.05, 0.9),
], ids=["AdamW", "Adam", "SGD"])
def test_a_network_is_trained_to_the_same_bits_in_a_graph(optimizer: Any) -> None:
    assert trained(optimizer, False) == trained(optimizer, True)


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize(("numbers", "dim"), [
    (np.array([[3, 1, 2], [1, 1, 3]]), None), (np.array([[3.0, 1.0], [2.0, 5.0], [3.0, 1.0], [2.0, 0.0]], np.float32), 0),
    (np.array([[3, 1, 3], [2, 5, 2]], np.int8), -1), (np.zeros((0, 2), np.float32), 0), (np.zeros((0,), np.int32), None),
    (np.array(True), None), (np.array([0.0, -0.0, 1.0], np.float32), None)])
def test_different_elements_and_slices_in_order(numbers: np.ndarray[Any, Any], dim: int | None, graph: bool) -> None:
    def found(x: Tensor) -> Any:
        return mint.unique(x, True, True, True, dim)

    values, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True, axis=dim)
    got = (ms.jit(found) if graph else found)(Tensor(numbers))
    for one, other, dtype in zip(got, (values, inverse, counts), (numbers.dtype, np.int64, np.int64), strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.reshape(one.shape).astype(dtype), strict=True)
    assert got[1].shape == (numbers.shape if dim is None else (numbers.shape[dim],))


def test_not_a_number_is_each_time_another_element() -> None:
    values, counts = mint.unique(Tensor([np.nan, 1.0, np.nan]), return_counts=True)
    np.testing.assert_array_equal(values.asnumpy(), [1.0, np.nan, np.nan])
    assert counts.tolist() == [1, 1, 1] and mint.unique(Tensor([2, 1, 2])).tolist() == [1, 2]


def test_clip_is_clamp() -> None:
    assert mint.clip(Tensor([3.0, -1.0, 0.5]), 0, 1).tolist() == [1.0, 0.0, 0.5]


def test_sizes_may_be_named() -> None:
    assert mint.ones(size=(2, 1), dtype=ms.int32).tolist() == [[1], [1]] and mint.ones(2).dtype is ms.float32
    assert mint.zeros(size=(2, 1), dtype=ms.int32).tolist() == [[0], [0]]


def test_names_and_places_of_arguments() -> None:
    functional, x = ms.mint.nn.functional, Tensor(np.array([-1.0, 0.5], np.float32))
    for name in ("mish", "selu"):
        assert getattr(functional, name)(input=x).tolist() == getattr(ms.ops, name)(x).tolist()
        with pytest.raises(TypeError, match="the argument 'input' must be"):
            getattr(functional, name)("x")
    table = ms.mint.nn.Embedding(2, 2, None, None, 2.0, False, False, Tensor(np.eye(2, dtype=np.float32)))
    assert table(Tensor([1])).tolist() == [[0.0, 1.0]]
    with pytest.raises(ValueError, match="'sparse' must be False"):
        ms.mint.nn.Embedding(2, 2, sparse=True)
