"""Loops and summaries as objects: what they compute, in graphs too, where a loop may depend on tensors."""

from __future__ import annotations

from typing import Any

import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops


def small(x: Tensor) -> Tensor:
    return x.sum() < 100


def doubled(x: Tensor) -> Tensor:
    return x * 2


def added(i: Any, x: Any) -> Any:
    return x + i


def carried(total: Any, x: Any) -> Any:
    return total + x, total * x


def test_loops_with_functions_of_the_program() -> None:
    assert ops.Scan()(carried, 3, [1, 2, 3, 4]) == (13, [3, 8, 18, 36])
    assert ops.Scan()(carried, 3, (1, 2, 3), 2) == (6, [3, 8]) and ops.Scan()(carried, 3, []) == (3, [])
    assert ops.WhileLoop()(lambda x: x < 10, lambda x: x + 3, 2) == 11
    assert ops.ForiLoop()(0, Tensor(4), added, 3) == 9 and ops.ForiLoop()(4, 0, added, 3) == 3

    def looped(x: Tensor, count: Any) -> Any:
        return ops.WhileLoop()(small, doubled, x), ops.ForiLoop()(0, count, added, x), ops.Scan()(carried, x, [x, x])[1][1]

    compiled = ms.jit(looped)
    for x, count in ((Tensor([1.0, 2.0]), Tensor(4)), (Tensor([7.0, 14.0]), Tensor(2))):
        assert [part.tolist() for part in looped(x, count)] == [part.tolist() for part in compiled(x, count)]
    total = lambda x: ops.WhileLoop()(small, doubled, x).sum()  # noqa: E731
    x = Tensor([7.0, 14.0])
    assert ms.grad(total)(x).tolist() == ms.grad(ms.jit(total))(x).tolist() == [8.0, 8.0]


@pytest.mark.parametrize("call, text", [
    (lambda: ops.WhileLoop()(3, doubled, 1), "'WhileLoop', the argument 'cond_func' must be a function"),
    (lambda: ops.ForiLoop()(0, 2.0, added, 1), "'ForiLoop', the argument 'upper' must be an int or a Tensor"),
    (lambda: ops.ForiLoop()(0, 2, 3, 1), "'loop_func' must be a function"),
    (lambda: ops.Scan()(carried, 1, None), "'Scan', the argument 'xs' must be a tuple or list"),
])
def test_what_is_no_loop(call: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        call()


class Watched(nn.Cell):
    """Hands over its input and the sum of it."""

    def __init__(self) -> None:
        super().__init__()
        self.scalar, self.tensor = ops.ScalarSummary(), ops.TensorSummary()

    def construct(self, x: Tensor) -> Tensor:
        self.scalar("sum", x.sum())
        self.tensor("x", x)
        return x * 2


def test_summaries_are_handed_over_in_each_run() -> None:
    from adjoint.runtime.process.summaries import collected_by

    net, found = Watched(), []
    assert net(Tensor([1.0])).tolist() == [2.0]  # nobody collects
    collected_by(lambda kind, name, value: found.append((kind, name, value.tolist())))
    try:
        compiled = ms.jit(net)
        for x in (1.0, 2.0):
            net(Tensor([x]))
            compiled(Tensor([x]))
    finally:
        collected_by(None)
    one, two = ([("scalar", "sum", x), ("tensor", "x", [x])] for x in (1.0, 2.0))
    assert found == [*one, *one, *two, *two]
    with pytest.raises(TypeError, match="'ScalarSummary', the argument 'name' must be a str"):
        ops.ScalarSummary()(3, Tensor(1.0))
