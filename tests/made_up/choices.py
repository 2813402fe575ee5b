"""The decisions of one program: the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

__all__ = ["Choices"]


class Choices:
    """Random decisions."""

    def __init__(self, *seed: int | str):
        self._random = random.Random(" ".join(map(str, seed)))

    def one_of(self, *options: Any) -> Any:
        """Return one of the options."""
        return self._random.choice(options)

    def some(self, options: Sequence[Any], most: int) -> list[Any]:
        """Return `most` of the options, or all, in their order."""
        count = min(len(options), most)
        return [options[i] for i in sorted(self._random.sample(range(len(options)), count))]

    def between(self, low: int, high: int) -> int:
        """Return a number from `low` to `high`, both included."""
        return self._random.randint(low, high)

    def chance(self, percent: float) -> bool:
        """Return True in so many of a hundred cases."""
        return self._random.random() * 100 < percent
