"""Tensors used by NumPy and by Python's protocols: formats, `in`, copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, ops

ARRAY = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


class Pair(NamedTuple):
    first: Any
    second: Any


def x() -> Tensor:
    return Tensor(ARRAY)


@pytest.mark.parametrize("function", [
    np.exp, np.sqrt, np.isnan, np.sum, np.mean, np.max, np.ravel, np.add.reduce, lambda t: np.sum(t, axis=0), lambda t: np.add(t, 1),
    lambda t: np.add(1, t), lambda t: np.concatenate([t, t]), lambda t: np.stack((t, t)), lambda t: np.where(t > 2, t, 0),
    lambda t: np.clip(t, 2, 4), lambda t: np.add(t, 1, out=np.zeros((2, 3))), lambda t: np.dot(t, np.transpose(t)),
    lambda t: np.einsum("ij,ij->i", t, t),
], ids=range(18))
def test_functions_of_numpy_take_the_numbers(function: Any) -> None:
    wanted, got = function(ARRAY), function(x())
    assert isinstance(got, (np.ndarray, np.generic)) and got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("function", [
    np.transpose, lambda t: np.transpose(a=t, axes=(1, 0)), lambda t: np.squeeze(t[:1]), lambda t: np.squeeze(t[:1], 0),
    lambda t: np.swapaxes(t, 0, -1), lambda t: np.moveaxis(t, 0, 1), lambda t: np.moveaxis(t, [0], [-1]),
], ids=range(7))
def test_functions_of_numpy_that_order_axes_give_tensors(function: Any) -> None:
    got = function(x())
    assert isinstance(got, Tensor)
    np.testing.assert_array_equal(got.asnumpy(), function(ARRAY))
    assert type(ms.jit(lambda t: function(t))(x())) is Tensor
    weights = np.arange(got.size, dtype=np.float32).reshape(got.shape)
    found = ms.grad(lambda t: (function(t) * Tensor(weights)).sum())(x()).asnumpy()
    assert np.count_nonzero(found) == got.size - 1


def test_functions_of_numpy_take_named_tuples() -> None:
    np.testing.assert_array_equal(np.stack(Pair(x(), ARRAY)), [ARRAY, ARRAY])


OPERATORS = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a // b, lambda a, b: a % b,
    lambda a, b: a ** b, lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b,
    lambda a, b: a >= b,
]


@pytest.mark.parametrize("operate", OPERATORS, ids=range(len(OPERATORS)))
def test_operators_between_arrays_and_tensors_give_tensors(operate: Any) -> None:
    other = ARRAY[::-1].copy()
    for first in (other, other[0], np.float32(2)):
        got = operate(first, x())
        assert isinstance(got, Tensor)
        np.testing.assert_allclose(got.asnumpy(), operate(first, ARRAY), rtol=1e-6)
    assert isinstance(operate(x(), other), Tensor)


def test_operators_between_arrays_and_tensors_have_gradients() -> None:
    a = np.array([[2.0, 0.0, 1.0]], np.float32)
    assert ms.grad(lambda t: (a * t).sum())(x()).tolist() == [[2.0, 0.0, 1.0]] * 2
    assert ms.grad(lambda t: (np.ones((1, 2), np.float32) @ t).sum())(x()).tolist() == [[1.0] * 3] * 2
    assert (np.eye(2, dtype=np.float32) @ x()).tolist() == (x() @ np.eye(3, dtype=np.float32)).tolist() == ARRAY.tolist()


@pytest.mark.parametrize("write", [
    lambda t: np.put(t, [0], 9), lambda t: np.copyto(t, 9.0), lambda t: np.fill_diagonal(t, 9), lambda t: np.place(t, ARRAY > 2, [9]),
    lambda t: np.putmask(t, ARRAY > 2, 9), lambda t: np.add.at(t, (0, 0), 9), lambda t: np.add(ARRAY, ARRAY, out=t),
    lambda t: np.sum(np.stack([ARRAY, ARRAY]), 0, out=t), lambda t: np.put_along_axis(t, np.zeros((1, 3), int), 9, 0),
], ids=range(9))
def test_numpy_writes_to_no_tensor(write: Any) -> None:
    """A gradient reads the tensor's own numbers, and so would ignore what is written to a copy."""
    t = x()
    with pytest.raises(TypeError, match=r"must be an array, but got a Tensor of shape \(2, 3\): write to"):
        write(t)
    assert t.tolist() == ARRAY.tolist()


def test_the_numbers_of_a_tensor_of_a_graph_are_not_known() -> None:
    with pytest.raises(Exception, match="not known while parsing"):
        ms.jit(lambda t: t * np.sum(t))(x())


def test_formats() -> None:
    assert f"{Tensor(2.0):.3f}" == "2.000" and f"{Tensor([3]):04d}" == "0003"
    assert f"{x()}" == str(x()) and f"{x()!r}" == repr(x())
    with pytest.raises(TypeError, match=r"'\.3f' is for a tensor of one element, but got shape \(2, 3\)"):
        format(x(), ".3f")
    with pytest.raises(ValueError, match="format code 'd'"):
        format(Tensor(2.0), "d")


def test_in() -> None:
    assert 2.0 in x() and Tensor(6.0) in x() and 7.0 not in x()  # type: ignore[operator]
    for value in (None, "a", object(), [1.0]):
        assert value not in x()  # type: ignore[operator]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))], ids=["copy", "deepcopy", "pickle"])
def test_a_copy_of_a_parameter_is_one(copied: Any) -> None:
    p = Parameter(x(), name="w", requires_grad=False)
    q = copied(p)
    assert type(q) is Parameter and (q.name, q.requires_grad) == ("w", False) and q.tolist() == ARRAY.tolist()
    ops.assign(q, ops.zeros_like(q))
    assert p.tolist() == ARRAY.tolist()


def test_a_copy_of_a_tensor_is_written_alone() -> None:
    for copied in (copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))):
        t = x()
        u = copied(t)
        u[0] = 0.0
        assert t.tolist() == ARRAY.tolist() and u[0].tolist() == [0.0] * 3


def test_what_is_written_is_a_number_or_a_tensor() -> None:
    for value in (None, "a", object(), {}):
        with pytest.raises(TypeError, match=r"For 'Tensor\[\.\.\.\] = value', the value must be a number"):
            x()[0] = value


def test_overwrite_takes_its_own_type() -> None:
    t = x()
    for value in (Tensor([1.0]), Tensor(ARRAY.astype(np.float64)), ops.zeros((64, 64))):
        with pytest.raises(ValueError, match=r"'value' must be of shape \(2, 3\) and dtype Float32"):
            t.overwrite(value)
    with pytest.raises(TypeError, match="must be a Tensor, but got 3"):
        t.overwrite(3)  # type: ignore[arg-type]
    assert t.tolist() == ARRAY.tolist()


def test_places_of_take() -> None:
    places = Tensor([-1, 7, 2])
    assert x().take(places).tolist() == [6.0, 6.0, 3.0]
    assert x().take(places, mode="wrap").tolist() == [6.0, 2.0, 3.0]
    assert x().take(places, 0).tolist() == [ARRAY[1].tolist()] * 3
    assert x().take(places, 1, "wrap").tolist() == ARRAY[:, [2, 1, 2]].tolist()
    with pytest.raises(IndexError):
        x().take(places, mode="raise")
    with pytest.raises(ValueError, match=r"Tensor\.take.*mode.*'no'"):
        x().take(places, mode="no")
