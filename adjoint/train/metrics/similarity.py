"""Similarity of predictions and labels, or of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.nn.checks import boolean, choice, positive_number
from adjoint.train.metrics.metric import Metric, no_samples, rearrange_inputs, two_inputs

__all__ = ["CosineSimilarity", "Dice"]


class Dice(Metric):
    """2 p.y / (p.p + y.y + smooth) of each batch, for predictions p and labels y of one shape; summed over batches and divided by the
    number of samples, as in MindSpore."""

    def __init__(self, smooth: float = 1e-5):
        super().__init__()
        self.smooth = positive_number("Dice", "smooth", smooth)
        self.clear()

    def clear(self) -> None:
        self._sum = 0.0
        self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = two_inputs(self, inputs)
        if y_pred.shape != y.shape:
            raise ValueError(f"For 'Dice.update', predictions and labels must have one shape, but got {y_pred.shape} and {y.shape}.")
        p, t = y_pred.reshape(-1), y.reshape(-1)
        self._sum += 2 * float(p @ t) / (float(p @ p + t @ t) + self.smooth)
        self._samples_num += y.shape[0]

    def eval(self) -> float:
        if self._samples_num == 0:
            raise no_samples(self)
        return self._sum / self._samples_num


class CosineSimilarity(Metric):
    """The similarity of each row of the last batch, (N, C), to each, (N, N).

    similarity     "cosine" of the angle, or "dot" product
    reduction      "none", or along rows "sum" or "mean"
    zero_diagonal  treat a row's similarity to itself as 0
    """

    def __init__(self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True):
        super().__init__()
        name = "CosineSimilarity"
        self.similarity = choice(name, "similarity", similarity, ("dot", "cosine"))
        self.reduction = choice(name, "reduction", reduction, ("none", "sum", "mean"))
        self.zero_diagonal = boolean(name, "zero_diagonal", zero_diagonal)
        self.clear()

    def clear(self) -> None:
        self._products: np.ndarray | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        if len(inputs) != 1:
            raise ValueError(f"For 'CosineSimilarity.update', it needs 1 input, but got {len(inputs)}.")
        rows = self._convert_data(inputs[0])
        if rows.ndim != 2:
            raise ValueError(f"For 'CosineSimilarity.update', the input must have 2 dimensions, but got shape {rows.shape}.")
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self._products = rows @ rows.T

    def eval(self) -> np.ndarray:
        if self._products is None:
            raise RuntimeError("Please call the 'update' method before calling 'eval' method.")
        products = self._products.copy()
        if self.zero_diagonal:
            np.fill_diagonal(products, 0)
        return products if self.reduction == "none" else getattr(products, self.reduction)(axis=-1)
