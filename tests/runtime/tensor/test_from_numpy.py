"""`Tensor.from_numpy`: an array and a tensor share memory, as long as both have the same meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, ops


def test_what_is_written_into_one_is_seen_in_the_other() -> None:
    array = np.arange(4.0)
    x = Tensor.from_numpy(array)
    assert x.dtype is ms.float64 and x.shape == (4,)
    array[0] = 9.0
    x[1] = 7.0
    assert x.tolist() == array.tolist() == [9.0, 7.0, 2.0, 3.0]
    ops.assign(x, Tensor([1.0, 2.0, 3.0, 4.0], ms.float64))
    assert array.tolist() == [1.0, 2.0, 3.0, 4.0] and ms.from_numpy(array).asnumpy().tolist() == array.tolist()


def test_graphs_and_operators_see_the_numbers_of_now() -> None:
    array = np.ones(3, np.float32)
    x = Tensor.from_numpy(array)
    twice = ms.jit(lambda a: a * 2)
    outside = ms.jit(lambda: x * 2)
    for number in (1.0, 5.0):
        array[:] = number
        assert twice(x).tolist() == outside().tolist() == (x * 2).tolist() == [2 * number] * 3
    assert ms.grad(lambda a: (a * a).sum())(x).tolist() == [10.0] * 3


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_no_operator_writes_into_the_array(mode: int) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    before = array.copy()

    @ms.jit
    def written(a: Tensor) -> Tensor:
        a = a + 1
        a[0, 0] = 5.0
        return ops.exp(a)

    ms.set_context(mode=mode)
    try:
        written(Tensor.from_numpy(array))
        ops.relu(Tensor.from_numpy(array) - 3).sum()
        parameter = Parameter(Tensor.from_numpy(array), name="p")
        ops.assign_add(parameter, Tensor(np.ones((2, 3), np.float32)))
        flat = Parameter(Tensor(np.zeros(6, np.float32)), name="flat")
        keep = ms.jit(lambda a: ops.assign(flat, a.reshape(6)))
        keep(Tensor.from_numpy(array))
        ops.assign_add(flat, Tensor(np.ones(6, np.float32)))
        assert flat[0].item() == 1.0
        x = Tensor.from_numpy(array)
        other = x.reshape(3, 2)
        x[0, 0] = 100.0
        x.add_(1.0)
        assert other[0, 0].item() == 0.0 and parameter[0, 0].item() == 1.0
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("make", [
    lambda: np.zeros((3, 2), np.float32).T, lambda: np.zeros((0, 2), np.float32), lambda: np.frombuffer(b"\0" * 8, np.float32),
    lambda: np.zeros(3, ">f4"), lambda: np.zeros(3, [("a", "i1"), ("b", "f4")])["b"],
], ids=["transposed", "empty", "read-only", "byte order", "unaligned"])
def test_an_array_that_cannot_be_shared_is_copied(make: Any) -> None:
    array = make()
    x = Tensor.from_numpy(array)
    assert x.shape == array.shape and x.dtype is ms.float32
    if array.flags.writeable:
        array[...] = 1.0
    assert not x.asnumpy().any()


@pytest.mark.parametrize(("given", "text"), [([1, 2], "must be a NumPy array"), (np.array(["a"]), "is not supported")])
def test_what_is_no_array_of_numbers(given: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        Tensor.from_numpy(given)


def test_the_array_lives_as_long_as_the_tensor() -> None:
    x = Tensor.from_numpy(np.full(100_000, 3.0))
    assert (np.full(100_000, 4.0) + x.asnumpy()).sum() == 700_000.0


def test_capsules_and_buffers() -> None:
    """Other libraries hand over arrays as DLPack capsules, and files as bytes."""
    array = np.arange(3.0)
    x = ms.from_dlpack(array)
    x[0] = 7.0
    shared = np.from_dlpack(array).flags.writeable  # not with the oldest NumPy: the numbers are copied then
    assert array[0] == (7.0 if shared else 0.0) and ms.from_dlpack(ms.to_dlpack(x)).tolist() == [7.0, 1.0, 2.0]
    data = bytearray(range(8))
    numbers = ms.frombuffer(data, ms.uint8)
    data[0], numbers[1] = 9, 77
    assert numbers.tolist() == list(data) == [9, 77, 2, 3, 4, 5, 6, 7]
    assert ms.frombuffer(bytes(8), ms.int32, 1, 4).tolist() == [0] and ms.frombuffer(b"\0\2", ms.bool_).tolist() == [False, True]
    taken = ms.to_dlpack(x)
    ms.from_dlpack(taken)
    for call, kind, text in (
        (lambda: ms.from_dlpack(taken), RuntimeError, "nobody has taken yet"), (lambda: ms.from_dlpack(3), RuntimeError, "but got 3"),
        (lambda: ms.to_dlpack(3), TypeError, "must be a Tensor"), (lambda: ms.frombuffer([1], ms.uint8), RuntimeError, "with a buffer"),
        (lambda: ms.frombuffer(data, ms.int32, offset=5), RuntimeError, "multiple of 4"),
        (lambda: ms.frombuffer(data, ms.int32, 3), RuntimeError, "at most 2"),
        (lambda: ms.frombuffer(data, ms.int32, 0), RuntimeError, "'count' must be -1 or above 0"),
        (lambda: ms.frombuffer(data, ms.uint8, offset=8), RuntimeError, "from 0 to 7"),
        (lambda: ms.frombuffer(data, "uint8"), RuntimeError, "'dtype' must be a dtype"),
    ):
        with pytest.raises(kind, match=text):
            call()
