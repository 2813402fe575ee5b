"""Assignment, and queues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Parameter, Tensor, ops


def test_assignment_changes_the_variable_and_returns_it() -> None:
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    assert ops.assign(w, Tensor([3.0, 4.0])) is w
    assert ops.AssignAdd()(w, Tensor([1.0, 1.0])) is w
    assert ops.assign_sub(w, 2.0).tolist() == [2, 3]
    assert ops.Assign()(w, Tensor([7, 8])).tolist() == [7, 8]
    assert w.dtype is adjoint.float32
    with pytest.raises(ValueError, match=r"Assign.*value.*\(2,\).*shape=\[3\]"):
        ops.assign(w, Tensor([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="AssignAdd"):
        ops.assign_add(w, Tensor([[1.0, 2.0]]))
    for wrong in ((w, "text"), (3, Tensor([1.0]))):
        with pytest.raises(TypeError, match="Assign"):
            ops.assign(*wrong)
    assert w.tolist() == [7, 8]


def test_what_was_computed_or_viewed_before_an_assignment_stays() -> None:
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    view, flat = w.asnumpy(), w.reshape(2, 1)
    ops.assign(w, Tensor([5.0, 6.0]))
    assert view.tolist() == [1, 2]
    assert flat.tolist() == [[1], [2]]


def test_a_parameter_assigned_inside_a_gradient() -> None:
    """The gradient is that of the numbers that were read."""
    w = Parameter(Tensor([2.0]), name="w")

    def function(x: Tensor) -> Tensor:
        y = x * w
        ops.assign_add(w, Tensor([10.0]))
        return y * w

    assert adjoint.grad(function)(Tensor([3.0])).tolist() == [24.0]
    assert w.tolist() == [12.0]


def test_a_queue_gives_its_rows_in_order() -> None:
    rows = [(np.full((1, 1), i, np.float32), np.array([i], np.int64)) for i in range(2)]
    ops.register_queue("rows", rows)
    get_next = ops.GetNext([adjoint.float32, adjoint.int64], [(1, 1), (1,)], 2, "rows")
    for i in range(2):
        x, y = get_next()
        assert (x.tolist(), y.tolist()) == ([[i]], [i])
    with pytest.raises(StopIteration):
        get_next()
    ops.unregister_queue("rows")
    with pytest.raises(RuntimeError, match="no queue named 'rows'"):
        get_next()


def test_one_output_comes_without_a_tuple() -> None:
    def numbers() -> Iterator[Tensor]:
        yield Tensor([[1.0]])
        yield Tensor([[1.0, 2.0]])

    ops.register_queue("numbers", numbers())
    get_next = ops.GetNext([adjoint.float32], [(1, 1)], 1, "numbers")
    assert get_next().tolist() == [[1.0]]
    with pytest.raises(RuntimeError, match=r"GetNext.*'numbers'.*\(1, 2\).*expected a Float32 of shape \(1, 1\)"):
        get_next()
    ops.register_queue("numbers", [(1.0, 2.0)])
    with pytest.raises(RuntimeError, match="2 items, but expected 1"):
        get_next()


def test_without_a_queue_the_message_shows_the_line() -> None:
    get_next = ops.GetNext([adjoint.float32], [(1, 1)], 1, "nowhere")
    with pytest.raises(RuntimeError, match=r"GetNext.*'nowhere'") as caught:
        get_next()
    assert "test_state.py" in str(caught.value)
    assert "get_next()" in str(caught.value)


def test_a_queue_that_makes_no_sense() -> None:
    f32 = adjoint.float32
    for arguments, kind, said in (
        (([3], [(1,)], 1, "q"), TypeError, "types"), (([f32], 1, 1, "q"), TypeError, "shapes"),
        (([f32], [(1,)], 2, "q"), ValueError, "output_num"), (([f32], [(1,)], "1", "q"), TypeError, "output_num"),
        (([f32], [(1,)], 1, 7), TypeError, "shared_name"), (([f32], [("a",)], 1, "q"), TypeError, "shapes"),
    ):
        with pytest.raises(kind, match=f"GetNext.*{said}"):
            ops.GetNext(*arguments)
    with pytest.raises(TypeError, match="an iterable"):
        ops.register_queue("q", 3)
    with pytest.raises(TypeError, match="shared_name"):
        ops.register_queue("", [])


@pytest.mark.parametrize("write", [ops.assign, ops.assign_add, ops.assign_sub])
def test_floats_are_not_cut_silently(write: Any) -> None:
    """Into integers floats go by a cast of the user's; the other way they always fit."""
    whole = Parameter(Tensor([1, 2]), name="whole")
    with pytest.raises(TypeError, match=r"Assign.*'value'.*integers.*Int64.*astype.*Float32"):
        write(whole, Tensor([0.5, 0.5]))
    assert whole.tolist() == [1, 2]
    real = Parameter(Tensor([1.0, 2.0]), name="real")
    assert write(real, Tensor([1, 2])).dtype is real.dtype
