"""Counter-based random numbers: a number depends only on a key and on how many were drawn with that key before it.

A pipeline gives each operation on each sample a key of its own, from the seed, the operation's place, the epoch and the sample's index.
So the choices are the same for any number of workers, whatever their order, and a run can resume in the middle.

The generator is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014): output i of a key k is
mix(k + (i + 1) * g) with g = 2**64 / golden ratio.
"""

from __future__ import annotations

import itertools
import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.dataset.config import chosen_seed, times_chosen

__all__ = ["Draws", "drawing", "draws", "fresh_seed", "here", "integers_of", "key_of", "keys_of", "uniform_of", "with_word"]

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def _mix(number: int) -> int:
    """SplitMix64's finaliser, a bijection of 64 bits."""
    number = ((number ^ (number >> 30)) * _FIRST) & _MASK
    number = ((number ^ (number >> 27)) * _SECOND) & _MASK
    return number ^ (number >> 31)


def key_of(*words: int) -> int:
    """Return a key of 64 bits for a sequence of ints."""
    key = 0
    for word in words:
        key = with_word(key, word)
    return key


def with_word(key: int, word: int) -> int:
    """Return the key of the sequence that has one more word."""
    return _mix((key ^ _mix((word + _GOLDEN) & _MASK)) + _GOLDEN & _MASK)


def _mix_all(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(_FIRST)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(_SECOND)
    return numbers ^ (numbers >> np.uint64(31))


def keys_of(key: int, words: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`with_word(key, word)` for each word of an array, uint64."""
    mixed = _mix_all(words.astype(np.uint64) + np.uint64(_GOLDEN))
    return _mix_all((np.uint64(key) ^ mixed) + np.uint64(_GOLDEN))


def _words_of(keys: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    """Return draw number `count`, from 1, of each key of an array."""
    return _mix_all(keys + np.uint64(count * _GOLDEN & _MASK))


def uniform_of(keys: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the first `Draws(key).uniform()` of each key of an array."""
    return (_words_of(keys, 1) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def integers_of(keys: np.ndarray[Any, Any], count: int, high: int) -> np.ndarray[Any, Any]:
    """`Draws(key).integer(0, high)` for each key of an array, as its draw number `count`, from 1; `high` is below 2**32 - 1."""
    words, choices = _words_of(keys, count), np.uint64(high + 1)
    low_part = (words & np.uint64(2**32 - 1)) * choices >> np.uint64(32)
    return ((words >> np.uint64(32)) * choices + low_part >> np.uint64(32)).astype(np.int64)


class Draws:
    """The random numbers of one key, in order."""

    __slots__ = ("_key", "_count")

    def __init__(self, key: int):
        self._key = key
        self._count = 0

    def word(self) -> int:
        """Return 64 random bits."""
        self._count += 1
        return _mix((self._key + self._count * _GOLDEN) & _MASK)

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """Return a float in [low, high), of 53 random bits."""
        return low + (high - low) * ((self.word() >> 11) * 2.0**-53)

    def integer(self, low: int, high: int) -> int:
        """Return an int in [low, high]; every one has the same probability within 2**-64."""
        return low + (self.word() * (high - low + 1) >> 64)

    def normal(self) -> float:
        """Return a float of the standard normal distribution (Box, Muller)."""
        return math.sqrt(-2.0 * math.log(1.0 - self.uniform())) * math.cos(2.0 * math.pi * self.uniform())

    def order(self, length: int) -> list[int]:
        """Return the numbers 0 to length - 1 in random order (Fisher, Yates)."""
        numbers = list(range(length))
        for last in range(length - 1, 0, -1):
            other = self.integer(0, last)
            numbers[last], numbers[other] = numbers[other], numbers[last]
        return numbers

    def generator(self) -> np.random.Generator:
        """Return NumPy's counter-based generator Philox with a key from these draws, for whole arrays."""
        return np.random.Generator(np.random.Philox(key=self.word()))


class _Here(threading.local):
    """The draws of this thread inside a pipeline's operation; None outside."""

    draws: Draws | None = None


here = _Here()
"""Set by an operation of a pipeline: the draws of the sample that it is about to process."""
_entropy = int.from_bytes(os.urandom(8), "little")


class _Direct:
    """How many keys were given to directly called transforms since a seed was set."""

    def __init__(self) -> None:
        self.times = times_chosen()
        self.calls = itertools.count()


_direct = _Direct()


@contextmanager
def drawing(source: Draws) -> Iterator[None]:
    """Make the transforms of this thread draw from `source` inside the block."""
    before = here.draws
    here.draws = source
    try:
        yield
    finally:
        here.draws = before


def draws() -> Draws:
    """Return a transform's draws: those of its sample in a pipeline, a new key of the seed if it is called directly."""
    if here.draws is not None:
        return here.draws
    if _direct.times != times_chosen():
        _direct.__init__()
    seed = chosen_seed()
    return Draws(key_of(_entropy if seed is None else seed, next(_direct.calls)))


def fresh_seed() -> int:
    """Return the seed of an iterator: the one that was set, or one of the system's."""
    seed = chosen_seed()
    return int.from_bytes(os.urandom(8), "little") >> 1 if seed is None else seed
