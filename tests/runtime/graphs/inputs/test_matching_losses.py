"""A loss that matches predictions with as many boxes as values say, written as its papers do, in a graph for any number of boxes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, jit, ops
from adjoint.foundation import made

QUERIES, MOST, CLASSES = 6, 5, 3


def assigned(cost: Tensor) -> Tensor:
    """For each column the row that is assigned to it, or -1, such that the costs have the least sum; at most as many rows as columns.

    Shortest augmenting paths: R. Jonker, A. Volgenant, A shortest augmenting path algorithm for dense and sparse linear assignment
    problems, Computing 38 (1987).
    """
    rows, columns = cost.shape
    row_prices, column_prices = ops.zeros(rows, ms.float32), ops.zeros(columns, ms.float32)
    row_of = ops.full((columns,), -1, dtype=ms.int32)
    number_of_row, number = ops.arange(rows).astype(ms.int32), ops.arange(columns).astype(ms.int32)
    start = Tensor(0, ms.int32)
    while start < rows:
        shortest, before = ops.full((columns,), float("inf"), dtype=ms.float32), ops.full((columns,), -1, dtype=ms.int32)
        done = ops.zeros(columns, ms.bool_)
        row, end, length = start, Tensor(-1, ms.int32), Tensor(0.0)
        while end < 0:
            through = length + cost[row] - row_prices[row] - column_prices
            better = ops.logical_and(ops.logical_not(done), through < shortest)
            shortest, before = ops.where(better, through, shortest), ops.where(better, row, before)
            open_ = ops.where(done, Tensor(float("inf")), shortest)
            column, length = open_.argmin().astype(ms.int32), open_.min()
            done = ops.logical_or(done, number == column)
            if row_of[column] < 0:
                end = column
            else:
                row = row_of[column]
        paid = ops.where(ops.logical_and(done, number != end), length - shortest, ops.zeros_like(shortest))
        column_prices = column_prices - paid
        of_rows = row_prices.index_add(0, ops.maximum(row_of, 0), ops.where(row_of >= 0, paid, ops.zeros_like(paid)))
        row_prices = ops.where(number_of_row == start, row_prices + length, of_rows)
        column = end
        while column >= 0:
            row = before[column]
            freed = ops.logical_and(row_of == row, number != column)
            row_of = ops.where(number == column, row, row_of)
            column = ops.where(freed, number, ops.full_like(number, -1)).max().astype(ms.int32)
        start = start + 1
    return row_of


def agreement(a: Tensor, b: Tensor) -> Tensor:
    """Generalised intersection over union of boxes [..., 4] (H. Rezatofighi et al., CVPR 2019)."""
    shared = ops.relu(ops.minimum(a[..., 2:], b[..., 2:]) - ops.maximum(a[..., :2], b[..., :2])).prod(-1)
    both = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - shared
    around = (ops.maximum(a[..., 2:], b[..., 2:]) - ops.minimum(a[..., :2], b[..., :2])).prod(-1)
    return shared / both - (around - both) / around


def loss(boxes: Tensor, scores: Tensor, wanted: Tensor, labels: Tensor) -> Any:
    """The loss of a set of predictions (N. Carion et al., End-to-End Object Detection with Transformers, ECCV 2020)."""
    total: Any = 0.0
    for i in range(boxes.shape[0]):
        target, label = wanted[i][labels[i] >= 0], labels[i][labels[i] >= 0]
        apart = (target[:, None] - boxes[i][None]).abs().sum(-1)
        cost = 5 * apart - ops.softmax(scores[i], -1)[:, label].T - 2 * agreement(target[:, None], boxes[i][None])
        row_of = assigned(ops.stop_gradient(cost))
        ours, theirs = boxes[i][row_of >= 0], target[row_of[row_of >= 0]]
        classes = ops.where(row_of >= 0, label[ops.maximum(row_of, 0)], ops.full_like(row_of, CLASSES))
        total = total + ops.cross_entropy(scores[i], classes)
        total = total + (5 * (ours - theirs).abs().sum() + 2 * (1 - agreement(ours, theirs)).sum()) / ours.shape[0]
    return total


def batch(*counts: int) -> tuple[Tensor, ...]:
    """Predictions and boxes, of which so many are there in each picture."""
    draw = np.random.default_rng(counts)

    def boxes(number: int) -> Tensor:
        corners = draw.random((len(counts), number, 2))
        return Tensor(np.concatenate([corners, corners + 0.05 + draw.random(corners.shape) / 2], -1).astype(np.float32))

    labels = np.full((len(counts), MOST), -1, np.int32)
    for row, count in zip(labels, counts, strict=True):
        row[draw.permutation(MOST)[:count]] = draw.integers(0, CLASSES, count)
    scores = Tensor(draw.normal(size=(len(counts), QUERIES, CLASSES + 1)).astype(np.float32))
    return boxes(QUERIES), scores, boxes(MOST), Tensor(labels)


def bits(value: Any) -> Any:
    return [bits(item) for item in value] if isinstance(value, (tuple, list)) else value.asnumpy().tobytes()


@pytest.mark.parametrize("run", [assigned, jit(assigned)], ids=["eager", "graph"])
def test_the_assignment_is_the_best_one(run: Any) -> None:
    for rows in (2, 3, 4, 3, 1, 5):
        cost = np.random.default_rng(rows).random((rows, 5)).astype(np.float32)
        best = min(itertools.permutations(range(5), rows), key=lambda columns: cost[range(rows), columns].astype(np.float64).sum())
        expected = np.full(5, -1)
        expected[list(best)] = range(rows)
        assert run(Tensor(cost)).tolist() == expected.tolist()


def test_a_new_number_of_boxes_makes_no_graph() -> None:
    run, plain = ms.value_and_grad(jit(loss), (0, 1)), ms.value_and_grad(loss, (0, 1))
    for counts in ((3, 3), (2, 4), (4, 2), (1, 3)):
        assert bits(run(*batch(*counts))) == bits(plain(*batch(*counts))), counts
    before = made.counted()
    found = bits(run(*batch(5, 2)))
    new = made.counted() - before
    assert not new["lowerings"] and not new["adjoints"], new
    assert found == bits(plain(*batch(5, 2)))
