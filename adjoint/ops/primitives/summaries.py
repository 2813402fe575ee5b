"""Operators that hand values to a `train.SummaryRecord`; without one they do nothing.  In a graph they do so in each run."""

from __future__ import annotations

import functools
from typing import Any

from adjoint.ops.arguments import operand, wrong
from adjoint.ops.primitive import Plain
from adjoint.runtime.process.summaries import collect
from adjoint.runtime.tensor.run_time_checks import effect

__all__ = ["HistogramSummary", "ImageSummary", "ScalarSummary", "TensorSummary"]


class _Summary(Plain):
    """An operator that hands over a value of its kind."""

    _kind = ""

    def __call__(self, name: str, value: Any) -> None:
        if not isinstance(name, str) or not name:
            raise wrong(self.name, "name", "a str that is not empty", name, TypeError)
        effect("summary", functools.partial(collect, self._kind, name), (operand(self.name, value, "value"),))


class ScalarSummary(_Summary):
    """Hands over a tensor of one element, for a curve."""

    _kind = "scalar"


class TensorSummary(_Summary):
    """Hands over a tensor, which is written as a histogram."""

    _kind = "tensor"


class ImageSummary(_Summary):
    """Hands over images, [n, c, h, w] with 1 or 3 channels, of which the first is written."""

    _kind = "image"


class HistogramSummary(_Summary):
    """Hands over a tensor, for a histogram of its numbers."""

    _kind = "histogram"
