"""Losses with a margin that MindSpore computes on other devices alone, beside loops of NumPy; the others' values stand in
tests/oracle/losses.json."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops

RNG = np.random.default_rng(3)
X, NEAR, FAR = (RNG.uniform(-1, 1, (4, 3)) for _ in range(3))
CLASSES = np.array([[2, 0, -1], [1, -1, 0], [-1, 2, 2], [0, 1, 2]], np.int64)


def triplets(x: Any, near: Any, far: Any, margin: float, p: int, eps: float, swap: bool) -> Any:
    def distance(a: Any, b: Any) -> Any:
        return (np.abs(a - b + eps) ** p).sum(1) ** (1 / p)

    apart = np.minimum(distance(x, far), distance(near, far)) if swap else distance(x, far)
    return np.maximum(distance(x, near) - apart + margin, 0)


@pytest.mark.parametrize(("margin", "p", "swap"), [(1.0, 2, False), (0.3, 3, True), (0.5, 1, True)])
def test_triplets(margin: float, p: int, swap: bool) -> None:
    x, near, far = (Tensor(a) for a in (X, NEAR, FAR))

    def loss(*x: Tensor) -> Tensor:
        return nn.TripletMarginLoss(p, swap, 1e-3, "sum", margin)(*x)

    np.testing.assert_allclose(ops.triplet_margin_loss(x, near, far, margin, p, 1e-3, swap, "none").asnumpy(),
                               triplets(X, NEAR, FAR, margin, p, 1e-3, swap), 1e-12)
    for place, gradient in enumerate(ms.grad(loss, (0, 1, 2))(x, near, far)):
        step = np.zeros_like(X)
        for i in np.ndindex(X.shape):
            sums = []
            for sign in (1e-6, -1e-6):
                moved = [X.copy(), NEAR.copy(), FAR.copy()]
                moved[place][i] += sign
                sums.append(triplets(moved[0], moved[1], moved[2], margin, p, 1e-3, swap).sum())
            step[i] = (sums[0] - sums[1]) / 2e-6
        np.testing.assert_allclose(gradient.asnumpy(), step, atol=1e-8)


def test_a_triplet_of_equal_rows_has_a_gradient() -> None:
    x = Tensor(X)
    for gradient in ms.grad(lambda a, b, c: nn.TripletMarginWithDistanceLoss()(a, b, c), (0, 1, 2))(x, Tensor(X), Tensor(FAR)):
        assert np.isfinite(gradient.asnumpy()).all()


def test_several_classes_of_a_row() -> None:
    wanted, named = np.zeros(4), np.zeros((4, 3))
    for row, (scores, classes) in enumerate(zip(X, CLASSES, strict=True)):
        own = [int(c) for c in classes[: [*classes, -1].index(-1)]]
        named[row, own] = 1
        for y in own:
            wanted[row] += sum(max(0.0, 1 - scores[y] + scores[i]) for i in range(3) if i not in own) / 3
    losses, found = ops.MultilabelMarginLoss("none")(Tensor(X), Tensor(CLASSES))
    np.testing.assert_allclose(losses.asnumpy(), wanted, 1e-12)
    np.testing.assert_array_equal(found.asnumpy(), named)
    np.testing.assert_allclose(nn.MultilabelMarginLoss("sum")(Tensor(X[0]), Tensor(CLASSES[0])).asnumpy(), wanted[0], 1e-12)
    graph = ms.jit(lambda x, y: ops.multilabel_margin_loss(x, y))
    assert graph(Tensor(X), Tensor(CLASSES)) == ops.multilabel_margin_loss(Tensor(X), Tensor(CLASSES))
    with pytest.raises(IndexError, match=r"For 'MultilabelMarginLoss', the argument 'target' must be classes in 0\.\.2, but got 3"):
        ops.multilabel_margin_loss(Tensor(X), Tensor(CLASSES + 1))


def test_large_scores() -> None:
    x, wanted = np.array([[-200.0, 150.0, 0.0]]), np.array([[1.0, 1.0, 0.0]])
    expected = (np.logaddexp(0, -x) * wanted + np.logaddexp(0, x) * (1 - wanted)).mean(1)
    np.testing.assert_allclose(ops.multilabel_soft_margin_loss(Tensor(x), Tensor(wanted), reduction="none").asnumpy(), expected, 1e-12)
