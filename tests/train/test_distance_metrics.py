"""Metrics of segmentations and translations: MindSpore 2.10's numbers and exceptions, and distances by comparing all pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor
from adjoint.train import BleuScore, HausdorffDistance, MeanSurfaceDistance, Metric, RootMeanSquareDistance, get_metric_fn

X, Y = np.array([[3, 0, 1], [1, 3, 0], [1, 0, 2]]), np.array([[0, 2, 1], [1, 2, 1], [0, 0, 1]])
CORNER, COLUMN = np.array([[1, 0], [0, 0]]), np.array([[0, 1, 0]] * 3)
WORDS = ["i", "have", "a", "pen", "on", "my", "desk"]
REFERENCES = [[["i", "have", "a", "pen", "in", "my", "desk"], ["there", "is", "a", "pen", "on", "the", "desk"]]]

# Recorded from MindSpore 2.10.0.
RECORDED: list[tuple[Metric, tuple[Any, ...], float]] = [
    (HausdorffDistance(), (X, Y, 0), math.sqrt(2)),
    (HausdorffDistance(), (Tensor(X), Tensor(Y), 0), math.sqrt(2)),
    (HausdorffDistance("chessboard"), (X, Y, 1), 2),
    (HausdorffDistance("taxicab", percentile=50.0), (X, Y, 1), 0.5),
    (HausdorffDistance(directed=True), (X, Y, 1), 1),
    (HausdorffDistance(crop=False), (X, Y, 1), 2),
    (HausdorffDistance(), (X, Y, 3), math.inf),
    (HausdorffDistance(), (X, Y, 2), math.sqrt(5)),
    (HausdorffDistance(), (X == 1, Y == 1, 1), 2),
    (HausdorffDistance(), (X == 1, Y == 1, 0), 1),
    (HausdorffDistance(), (CORNER, CORNER, 1), math.inf),
    (HausdorffDistance(crop=False), (CORNER, CORNER, 1), 0),
    (HausdorffDistance(), (COLUMN, np.eye(3), 1), 1),
    (HausdorffDistance(), (np.zeros((2, 2)), CORNER, 1), math.inf),
    (MeanSurfaceDistance(), (X, Y, 0), 0.8047378541243649),
    (MeanSurfaceDistance(True), (X, Y, 0), 0.7357022603955158),
    (MeanSurfaceDistance(True, "taxicab"), (X, Y, 1), 0.5416666666666666),
    (MeanSurfaceDistance(), (X, Y, 3), math.inf),
    (MeanSurfaceDistance(), (X, Y, 2), math.sqrt(2)),
    (MeanSurfaceDistance(True), (X == 1, Y == 1, 0), 0.5416666666666666),
    (MeanSurfaceDistance(True), (CORNER, np.zeros((2, 2)), 1), math.inf),
    (RootMeanSquareDistance(), (X, Y, 0), 1),
    (RootMeanSquareDistance(True), (X, Y, 0), 0.9128709291752769),
    (RootMeanSquareDistance(True, "taxicab"), (X, Y, 1), 0.8897565210026093),
    (RootMeanSquareDistance(), (X, Y, 2), 2),
    (BleuScore(), ([WORDS], REFERENCES), 0.5946035575013605),
    (BleuScore(2, True), ([WORDS], REFERENCES), 0.9258200997725514),
    (BleuScore(1), ([WORDS], [[[*WORDS, "x"]]]), 0.8668778997501816),
    (BleuScore(), (["a"], [["b"]]), 0),
    (BleuScore(), ([], []), 0),
]


@pytest.mark.parametrize(("metric", "given", "expected"), RECORDED)
def test_numbers_of_mindspore(metric: Metric, given: tuple[Any, ...], expected: float) -> None:
    assert metric(*given) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", ["euclidean", "chessboard", "taxicab"])
def test_distances_by_all_pairs(kind: str) -> None:
    """Volumes, in which the nearest element may lie along several axes."""
    random = np.random.default_rng(4)
    first, second = random.integers(0, 2, (2, 5, 6, 4))

    def surface(region: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        framed = np.pad(region, 1)
        places = np.argwhere(framed)
        sides = np.concatenate([np.eye(3, dtype=int), -np.eye(3, dtype=int)])
        return np.array([place for place in places if not all(framed[tuple(place + side)] for side in sides)])

    apart = np.abs(surface(first)[:, None] - surface(second)).astype(float)
    measure: Callable[[Any], Any] = {"euclidean": lambda d: np.sqrt((d * d).sum(-1)), "chessboard": lambda d: d.max(-1),
                                     "taxicab": lambda d: d.sum(-1)}[kind]
    there, back = measure(apart).min(1), measure(apart).min(0)
    assert HausdorffDistance(kind)(first, second, 1) == pytest.approx(max(there.max(), back.max()))
    assert MeanSurfaceDistance(True, kind)(first, second, 1) == pytest.approx((there.mean() + back.mean()) / 2)


MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: HausdorffDistance("a"), ValueError, "distance_metric"), (lambda: HausdorffDistance(1), TypeError, "distance_metric"),  # type: ignore[arg-type]
    (lambda: HausdorffDistance(percentile=50), TypeError, "percentile"), (lambda: HausdorffDistance(crop=1), TypeError, "crop"),  # type: ignore[arg-type]
    (lambda: HausdorffDistance(percentile=500.0)(X, Y, 1), ValueError, "percentile"),
    (lambda: HausdorffDistance().eval(), RuntimeError, "update"), (lambda: HausdorffDistance()(X, Y), ValueError, "3 inputs"),
    (lambda: HausdorffDistance()(X, Y, 9), ValueError, "label index"), (lambda: HausdorffDistance()(X, Y, "a"), ValueError, "label index"),
    (lambda: HausdorffDistance()(X, Y[:2], 1), ValueError, "one shape"), (lambda: HausdorffDistance()(1, Y, 1), TypeError, "data type"),
    (lambda: MeanSurfaceDistance(1), TypeError, "symmetric"), (lambda: MeanSurfaceDistance().eval(), RuntimeError, "update"),  # type: ignore[arg-type]
    (lambda: RootMeanSquareDistance()(X, Y, "a"), TypeError, "label index"), (lambda: BleuScore(5), ValueError, "n_gram"),
    (lambda: BleuScore(1.0), TypeError, "n_gram"), (lambda: BleuScore(1, 1), TypeError, "smooth"),  # type: ignore[arg-type]
    (lambda: BleuScore()(["a"], []), ValueError, "as many"), (lambda: BleuScore()(["a"]), ValueError, "2 inputs"),
    (lambda: BleuScore().eval(), RuntimeError, "update"), (lambda: BleuScore()(3, 4), TypeError, "lists"),
    (lambda: BleuScore()([WORDS], [[]]), ValueError, "reference"),
]


@pytest.mark.parametrize(("mistake", "kind", "said"), MISTAKES)
def test_mistakes(mistake: Callable[[], Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        mistake()


def test_scores_of_several_batches_are_of_all_words() -> None:
    metric = get_metric_fn("bleu_score")
    metric.update([WORDS], REFERENCES)
    metric.update([WORDS], [[WORDS]])
    assert 0.5946 < metric.eval() < 1 and ms.nn.BleuScore is ms.train.BleuScore
