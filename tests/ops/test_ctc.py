"""The CTC loss against all alignments, its gradients by differences, targets that do not fit; and the hinge loss beside it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops

random = np.random.default_rng(11)


def by_alignments(logs: np.ndarray, target: list[int], blank: int) -> float:
    """-log of the sum over all sequences of classes that collapse to the target."""
    total = 0.0
    for path in itertools.product(range(logs.shape[1]), repeat=logs.shape[0]):
        if [c for c, _ in itertools.groupby(path) if c != blank] == target:
            total += math.exp(sum(logs[t, c] for t, c in enumerate(path)))
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("blank", [0, 2])
def test_all_alignments(blank: int) -> None:
    logits = random.normal(size=(4, 3, 3))
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    one, two = (c for c in range(3) if c != blank)
    targets, lengths, held = [[one, one], [two, one], [one, two]], [4, 3, 2], [2, 2, 0]
    wanted = [by_alignments(logs[:t, i], targets[i][:s], blank) for i, (t, s) in enumerate(zip(lengths, held, strict=True))]
    given = Tensor(targets, ms.int32), Tensor(lengths, ms.int32), Tensor(held, ms.int32)
    losses, _ = ops.ctc_loss(Tensor(logs), *given, blank, "none")
    np.testing.assert_allclose(losses.asnumpy(), wanted, rtol=1e-12)
    mean = np.mean(np.array(wanted) / np.maximum(held, 1))
    np.testing.assert_allclose(float(nn.CTCLoss(blank)(Tensor(logs), *given)), mean, rtol=1e-12)

    def f(x: Tensor) -> Tensor:
        return nn.CTCLoss(blank, "sum")(ops.log_softmax(x, -1), *given)

    slope, step = ms.grad(f)(Tensor(logits)).asnumpy(), 1e-6
    assert np.array_equal(slope, ms.jit(ms.grad(f))(Tensor(logits)).asnumpy())
    for at in ((0, 0, one), (3, 0, two), (2, 1, blank), (3, 1, 0)):
        moved = [logits.copy() for _ in range(2)]
        moved[0][at] += step
        moved[1][at] -= step
        found = (float(f(Tensor(moved[0]))) - float(f(Tensor(moved[1])))) / (2 * step)
        np.testing.assert_allclose(slope[at], found, rtol=1e-6, atol=1e-9)


def test_a_target_that_does_not_fit() -> None:
    logs = Tensor(np.log(np.full((2, 1, 3), 1 / 3)))
    given = Tensor([[1, 1]]), Tensor([2]), Tensor([2])
    assert float(nn.CTCLoss()(logs, *given)) == math.inf
    loss, slope = ms.value_and_grad(lambda x: nn.CTCLoss(zero_infinity=True)(x, *given))(logs)
    assert float(loss) == 0.0 and not slope.asnumpy().any()
    with pytest.raises(ValueError, match=r"'input_lengths' must be lengths in \[1, 2\]"):
        nn.CTCLoss()(logs, Tensor([[1, 1]]), Tensor([3]), Tensor([2]))
    with pytest.raises(ValueError, match=r"'targets' must be classes in \[0, 3\)"):
        nn.CTCLoss()(logs, Tensor([[1, 3]]), Tensor([2]), Tensor([2]))


def test_hinge() -> None:
    x, y = Tensor([0.5, 2.0, -0.25, 0.25]), Tensor([1, -1, -1, 1], ms.int32)
    assert nn.HingeEmbeddingLoss(1.0, "none")(x, y).tolist() == [0.5, 0.0, 1.25, 0.25]
    assert float(nn.HingeEmbeddingLoss()(x, y)) == 0.5
    assert ms.grad(lambda x: ops.hinge_embedding_loss(x, y, reduction="sum"))(x).tolist() == [1.0, 0.0, -1.0, 1.0]


def test_scores() -> None:
    """The operator of MindSpore's first versions: a graph gives the same bits, and a sequence without labels is one of blanks."""
    places, values, lengths = Tensor([[0, 1], [0, 0]]), Tensor([1, 0], ms.int32), Tensor([3, 2], ms.int32)
    scores = Tensor(np.random.default_rng(2).normal(size=(3, 2, 4)))
    losses, gradients = ops.CTCLoss()(scores, places, values, lengths)
    logits = scores.asnumpy()
    chances = np.exp(logits) / np.exp(logits).sum(2, keepdims=True)
    np.testing.assert_allclose(losses.asnumpy()[1], -np.log(chances[:2, 1, 3]).sum(), 1e-12)
    np.testing.assert_allclose(gradients.asnumpy().sum(2), 0, atol=1e-12)
    graph = ms.jit(lambda x: ops.CTCLoss()(x, places, values, lengths))(scores)
    assert [x.asnumpy().tobytes() for x in graph] == [x.asnumpy().tobytes() for x in (losses, gradients)]
