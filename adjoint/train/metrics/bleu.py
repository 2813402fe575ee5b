"""The BLEU score of translations."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from adjoint.nn.checks import boolean, integer
from adjoint.train.metrics.metric import Metric, rearrange_inputs

__all__ = ["BleuScore"]


def _runs(words: Any, longest: int) -> Counter[tuple[Any, ...]]:
    """Count the runs of up to so many words."""
    return Counter(tuple(words[i : i + length]) for length in range(1, longest + 1) for i in range(len(words) - length + 1))


class BleuScore(Metric):
    """The share of runs of words in translations that are in a reference, too (Papineni et al. 2002); short translations score less.

    update(translations, references): each translation is a list of words, and has several references.

    n_gram  the longest run, 1 to 4
    smooth  add one to the counts of all runs
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False):
        super().__init__()
        self.n_gram, self.smooth = integer("BleuScore", "n_gram", n_gram), boolean("BleuScore", "smooth", smooth)
        if not 1 <= n_gram <= 4:
            raise ValueError(f"For 'BleuScore', the argument 'n_gram' must be from 1 to 4, but got {n_gram}.")
        self.clear()

    def clear(self) -> None:
        self._found, self._all = np.zeros(self.n_gram), np.zeros(self.n_gram)
        self._words, self._reference_words = 0, 0
        self._updated = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        if len(inputs) != 2:
            raise ValueError(f"For 'BleuScore.update', it needs 2 inputs (translations, references), but got {len(inputs)}.")
        for argument in inputs:
            if not isinstance(argument, (list, tuple)):
                raise TypeError("For 'BleuScore.update', translations and references must be lists, "
                                f"but got {argument!r} of type {type(argument).__name__}.")
        if len(inputs[0]) != len(inputs[1]):
            raise ValueError(f"For 'BleuScore.update', translations and references must be as many, but got {len(inputs[0])} and "
                             f"{len(inputs[1])}.")
        for words, references in zip(*inputs, strict=True):
            if not references:
                raise ValueError("For 'BleuScore.update', each translation must have a reference, but one has none.")
            self._words += len(words)
            self._reference_words += min((len(reference) for reference in references), key=lambda length: abs(len(words) - length))
            known: Counter[tuple[Any, ...]] = Counter()
            for reference in references:
                known |= _runs(reference, self.n_gram)
            runs = _runs(words, self.n_gram)
            for counts, counted in ((self._found, runs & known), (self._all, runs)):
                for run, count in counted.items():
                    counts[len(run) - 1] += count
        self._updated = True

    def eval(self) -> float:
        if not self._updated:
            raise RuntimeError("Please call the 'update' method before calling 'eval' method.")
        if not self._found.all():
            return 0.0
        shares = (self._found + self.smooth) / (self._all + self.smooth)
        brevity = 1.0 if self._words > self._reference_words else math.exp(1 - self._reference_words / self._words)
        return brevity * math.exp(float(np.log(shares).mean()))
