"""Metrics of segmentations: distances between the surfaces of a predicted region and of the true one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.nn.checks import boolean, choice
from adjoint.train.metrics.metric import Metric, rearrange_inputs

__all__ = ["HausdorffDistance", "MeanSurfaceDistance", "RootMeanSquareDistance"]

_KINDS = ("euclidean", "chessboard", "taxicab")


def _surface(region: np.ndarray) -> np.ndarray:
    """Return the elements of a region that have a neighbour outside of it, or beyond the border, along an axis."""
    inner = region.copy()
    for axis in range(region.ndim):
        framed = np.pad(region, [(1, 1) if i == axis else (0, 0) for i in range(region.ndim)])
        count = region.shape[axis]
        inner &= framed.take(range(count), axis) & framed.take(range(2, count + 2), axis)
    return region & ~inner


def _distances(surface: np.ndarray, kind: str) -> np.ndarray:
    """Return the distance of each element to the nearest one of a surface; inf if it has none.

    Axis by axis: the least over all offsets along the axis of the distance so far and the offset together, for "euclidean" the squares.
    """
    found = np.where(surface, 0.0, np.inf)
    for axis in range(surface.ndim):
        lines = np.moveaxis(found, axis, 0)
        least = lines.copy()
        for offset in range(1, lines.shape[0]):
            for to, source in ((least[offset:], lines[:-offset]), (least[:-offset], lines[offset:])):
                both = np.maximum(source, offset) if kind == "chessboard" else source + (offset if kind == "taxicab" else offset**2)
                np.minimum(to, both, out=to)
        found = np.moveaxis(least, 0, axis)
    return np.sqrt(found) if kind == "euclidean" else found


class _SurfaceMetric(Metric):
    """Base class: the surfaces of the regions of one label."""

    def __init__(self, distance_metric: str):
        super().__init__()
        if not isinstance(distance_metric, str):
            raise TypeError(f"For '{type(self).__name__}', the argument 'distance_metric' must be a str, but got {distance_metric!r} "
                            f"of type {type(distance_metric).__name__}.")
        self.distance_metric = choice(type(self).__name__, "distance_metric", distance_metric, _KINDS)
        self.clear()

    def clear(self) -> None:
        self._surfaces: tuple[np.ndarray, np.ndarray] | None = None

    def _regions(self, inputs: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray, float]:
        """Check predictions, labels and the label index."""
        name = f"{type(self).__name__}.update"
        if len(inputs) != 3:
            raise ValueError(f"For '{name}', it needs 3 inputs (predicted value, true value, label index), but got {len(inputs)}.")
        y_pred, y, label = self._convert_data(inputs[0]), self._convert_data(inputs[1]), inputs[2]
        if not isinstance(label, (int, float)):
            kind = TypeError if isinstance(self, RootMeanSquareDistance) else ValueError
            raise kind(f"For '{name}', the label index must be an int or a float, but got {label!r} of type {type(label).__name__}.")
        if label not in y_pred and label not in y:
            raise ValueError(f"For '{name}', the label index must be in the predicted or in the true value, but {label} is not.")
        if y_pred.size == 0 or y_pred.shape != y.shape:
            raise ValueError(f"For '{name}', the predicted and the true value must have one shape, and elements, "
                             f"but got {y_pred.shape} and {y.shape}.")
        return y_pred, y, label

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y, label = self._regions(inputs)
        first, second = (x if x.dtype == bool else x == label for x in (y_pred, y))
        self._surfaces = _surface(first), _surface(second)

    def _both(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances of the predicted surface to the true one, and the other way."""
        if self._surfaces is None:
            raise RuntimeError("Please call the 'update' method before calling 'eval' method.")
        predicted, true = self._surfaces
        return _distances(true, self.distance_metric)[predicted], _distances(predicted, self.distance_metric)[true]


class HausdorffDistance(_SurfaceMetric):
    """The largest distance of an element of one surface to the other surface, for the last batch.

    distance_metric  "euclidean", "chessboard" (the largest difference along an axis), or "taxicab" (the sum of the differences)
    percentile       a percentile of the distances in place of the largest
    directed         from the predicted surface to the true one only
    crop             cut the smallest box around both regions out first, without its axes of size 1
    """

    def __init__(
        self, distance_metric: str = "euclidean", percentile: float | None = None, directed: bool = False, crop: bool = True,
    ):
        if percentile is not None and not isinstance(percentile, float):
            raise TypeError(f"For 'HausdorffDistance', the argument 'percentile' must be a float, but got {percentile!r} "
                            f"of type {type(percentile).__name__}.")
        super().__init__(distance_metric)
        self.percentile = percentile
        self.directed = directed if directed is None else boolean("HausdorffDistance", "directed", directed)
        self.crop = crop if crop is None else boolean("HausdorffDistance", "crop", crop)

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y, label = self._regions(inputs)
        first, second = y_pred == label, y == label
        if self.crop:
            places = np.nonzero(first | second)
            box = tuple(slice(axis.min(), axis.max() + 1) for axis in places)
            first, second = first[box].squeeze(), second[box].squeeze()
        self._surfaces = _surface(first), _surface(second)

    def _furthest(self, distances: np.ndarray) -> float:
        if not distances.size:
            return math.inf
        if not self.percentile:
            return distances.max()
        if not 0 <= self.percentile <= 100:
            raise ValueError(f"For 'HausdorffDistance', the argument 'percentile' must be in [0, 100], but got {self.percentile}.")
        return np.percentile(distances, self.percentile)

    def eval(self) -> float:
        there, back = self._both()
        return self._furthest(there) if self.directed else max(self._furthest(there), self._furthest(back))


class MeanSurfaceDistance(_SurfaceMetric):
    """The mean distance of elements of the predicted surface to the true one, for the last batch; inf if a surface is missing.

    symmetric        the mean of that and of the distance the other way
    distance_metric  as for `HausdorffDistance`
    """

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean"):
        super().__init__(distance_metric)
        self.symmetric = boolean(type(self).__name__, "symmetric", symmetric)

    def _mean(self, power: int) -> float:
        there, back = self._both()
        sides = (there, back) if self.symmetric else (there,)
        return float(np.mean([np.mean(side**power) for side in sides])) if all(side.size for side in sides) else math.inf

    def eval(self) -> float:
        return self._mean(1)


class RootMeanSquareDistance(MeanSurfaceDistance):
    """The mean of squared distances of elements of the predicted surface to the true one, for the last batch.

    symmetric        the root of the mean of that and of the other way; as in MindSpore, no root is taken without it
    distance_metric  as for `HausdorffDistance`
    """

    def eval(self) -> float:
        return math.sqrt(self._mean(2)) if self.symmetric else self._mean(2)
