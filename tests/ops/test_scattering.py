"""Scatters: who wins, gradients through it, infinities, graphs; MindSpore's values stand in tests/oracle/picking.json."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, ops


def test_the_last_update_is_left_and_has_the_gradient() -> None:
    x, places, updates = Tensor([1.0, 2.0]), Tensor([[0], [0]], ms.int32), Tensor([5.0, 6.0])
    assert ops.tensor_scatter_update(x, places, updates).tolist() == [6.0, 2.0]
    by_x, by_updates = ms.grad(lambda x, u: (ops.tensor_scatter_update(x, places, u) * Tensor([3.0, 4.0])).sum(), (0, 1))(x, updates)
    assert by_x.tolist() == [0.0, 4.0] and by_updates.tolist() == [0.0, 3.0]


def test_several_factors_of_one_element() -> None:
    """The gradient of each counts the others; one of them 0 has an answer where it is alone."""
    x, places, updates = Tensor([3.0, 2.0]), Tensor([[0], [0], [1]], ms.int32), Tensor([5.0, 7.0, 0.0])
    by_x, by_updates = ms.grad(lambda x, u: ops.tensor_scatter_mul(x, places, u).sum(), (0, 1))(x, updates)
    assert by_x.tolist() == [35.0, 0.0] and by_updates.tolist() == [21.0, 15.0, 2.0]
    by_x, by_updates = ms.grad(lambda x, u: ops.tensor_scatter_div(x, places, u).sum(), (0, 1))(x, Tensor([2.0, 4.0, 1.0]))
    assert by_x.tolist() == [0.125, 1.0] and by_updates.tolist() == [-0.1875, -0.09375, -2.0]


def test_integers_are_divided_toward_zero() -> None:
    x, places = Tensor([7, -7, 5, -(2**31)], ms.int32), Tensor([[0], [1], [2], [3]])
    assert ops.tensor_scatter_div(x, places, Tensor([2, 2, 0, -1], ms.int32)).tolist() == [3, -3, 0, -(2**31)]


def test_logarithms_of_sums_far_apart() -> None:
    """Small numbers before large ones stay, infinities give no NaN, and gradients are shares."""
    x = Tensor([-np.inf, -200.0, 0.0, 1000.0], ms.float64)
    np.testing.assert_allclose(ops.logcumsumexp(x, 0).asnumpy(), np.logaddexp.accumulate(x.asnumpy()), rtol=1e-14)
    inf = Tensor([np.inf, -np.inf, np.inf])
    assert ops.logaddexp(inf, Tensor([np.inf, -np.inf, -np.inf])).tolist() == [np.inf, -np.inf, np.inf]
    assert ms.grad(lambda x: ops.logaddexp(x, Tensor([0.0, 1.0])).sum())(Tensor([0.0, -np.inf])).tolist() == [0.5, 0.0]


def test_in_graphs() -> None:
    """A Parameter is written at each call, and a wrong index is found when the graph runs."""
    held = Parameter(Tensor([1.0, 2.0, 3.0]), name="held")

    @ms.jit
    def put(places: Tensor, values: Tensor) -> Tensor:
        ops.scatter_update(held, places, values)
        return ops.masked_scatter(held, held > 2.0, values)

    assert put(Tensor([2, 0], ms.int32), Tensor([9.0, 8.0])).tolist() == [9.0, 2.0, 8.0]
    assert held.tolist() == [8.0, 2.0, 9.0]
    for places in ([3, 0], [-1, 0]):
        with pytest.raises(IndexError, match=r"For 'ScatterUpdate', the argument 'indices' must be in \[0, 3\)"):
            put(Tensor(places, ms.int32), Tensor([9.0, 8.0]))
    assert ms.jit(lambda x: ops.unique(x))(held)[1].tolist() == [0, 1, 2]


def test_masked_scatter_needs_enough() -> None:
    with pytest.raises(ValueError, match="'source' must be of at least 2 elements"):
        Tensor([1.0, 2.0]).masked_scatter(Tensor([True, True]), Tensor([1.0]))
    assert Tensor([1.0]).masked_scatter(Tensor([False]), Tensor([], ms.float32)).tolist() == [1.0]


@pytest.mark.parametrize("scatter", [
    lambda x: ops.scatter(x, 0, Tensor(0), Tensor(5.0)), lambda x: ops.tensor_scatter_elements(x, Tensor(-1), Tensor(5.0))])
def test_elements_of_a_tensor_without_dimensions(scatter: Any) -> None:
    """It has one element, which the indices 0 and -1 name along its axis 0, as `gather_elements` reads it."""
    answer = scatter(Tensor(2.0))
    assert answer.shape == () and answer.item() == 5.0


@pytest.mark.parametrize("number", [1.5, 2, True])
def test_scatter_writes_a_number_everywhere(number: float) -> None:
    x, at = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3)), Tensor([[0, 1], [2, 0]])
    wanted = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.put_along_axis(wanted, at.asnumpy(), np.float32(number), 1)
    assert ops.scatter(x, 1, at, number).tolist() == wanted.tolist()
    assert ms.jit(lambda x: x.scatter(axis=-1, index=at, src=number))(x).tolist() == wanted.tolist()
    assert ms.grad(lambda x: ops.scatter(x, 1, at, number).sum())(x).tolist() == [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]


@pytest.mark.parametrize(("operator", "argument", "scatter"), [
    ("SelectScatter", "input", lambda x: ops.select_scatter(x, Tensor(1.0), 0, 0)),
    ("SliceScatter", "input", lambda x: ops.slice_scatter(x, Tensor([1.0]))),
    ("IndexAdd", "x", lambda x: ops.index_add(x, Tensor([0]), Tensor([1.0]), 0)),
    ("ScatterAdd", "input_x", lambda x: ops.scatter_add(x, Tensor([0]), Tensor([1.0]))),
])
def test_slices_of_a_tensor_without_dimensions(operator: str, argument: str, scatter: Any) -> None:
    held = Parameter(Tensor(2.0), name="held")
    with pytest.raises(ValueError, match=f"For '{operator}', the argument '{argument}' must be of at least 1 dimension"):
        scatter(held)
    assert held.item() == 2.0


@pytest.mark.parametrize("scatter, places", [(ops.scatter_add, [1, 0]), (ops.scatter_nd_add, [[1], [0]])])
def test_what_is_written_to_a_parameter_takes_its_dtype(scatter: Any, places: Any) -> None:
    """As in MindSpore: narrower numbers are converted, wider ones are a TypeError, and so are any in a function that gives a new tensor."""
    at, held = Tensor(places, ms.int32), Parameter(Tensor([1.0, 2.0]), name="held")
    for dtype in (ms.int32, ms.float16, ms.bool_):
        scatter(held, at, Tensor([1, 0]).astype(dtype))
    assert held.dtype is ms.float32 and held.tolist() == [1.0, 5.0]
    assert ops.index_add(Parameter(Tensor([1.0, 2.0]), name="other"), Tensor([1], ms.int32), Tensor([3]), 0).tolist() == [1.0, 5.0]
    with pytest.raises(TypeError, match="'updates' must be of dtype Float32"):
        scatter(held, at, Tensor([1.0, 2.0], ms.float64))
    with pytest.raises(TypeError, match="'updates' must be of dtype Float32"):
        ops.tensor_scatter_add(Tensor([1.0, 2.0]), Tensor([[0]]), Tensor([1]))
    assert held.tolist() == [1.0, 5.0]


def test_index_add_of_a_tensor_has_two_forms() -> None:
    """MindSpore's own, with the axis last, and PyTorch's."""
    x, at, rows = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1], ms.int32), Tensor([[10.0, 20.0]])
    added = [[1.0, 2.0], [13.0, 24.0]]
    assert x.index_add(0, at, rows).tolist() == x.index_add(at, rows, 0).tolist() == x.index_add(at, rows, axis=0).tolist() == added
    assert x.index_add(indices=at, y=rows, axis=0).tolist() == added
    assert x.index_add(dim=0, index=at, source=rows, alpha=2)[1].tolist() == [23.0, 44.0]
    with pytest.raises(TypeError, match="'source' must be a Tensor, but got None"):
        x.index_add(0, at)


def test_both_forms_of_the_method_scatter_add() -> None:
    x = Tensor(np.zeros((2, 3), np.float32))
    assert x.scatter_add(Tensor([[0, 1], [0, 1]]), Tensor([1.0, 2.0])).tolist() == [[0, 3, 0], [0, 0, 0]]
    assert x.scatter_add(1, Tensor([[0, 2]]), Tensor([[1.0, 2.0]])).tolist() == [[1, 0, 2], [0, 0, 0]]
    with pytest.raises(TypeError, match=r"'Tensor\.scatter_add', the argument 'src' must be given"):
        x.scatter_add(1, Tensor([[0]]))
