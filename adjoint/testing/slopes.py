"""Compare a gradient with differences in float64: along random directions first, element by element where that fails.

    slope       (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h         five points, whose error is of order h**4
    right       (-3 f(0) + 4 f(h) - f(2h)) / 2h                     the slopes on both sides of a point, of order h**2
    left        ( 3 f(0) - 4 f(-h) + f(-2h)) / 2h

`f` is the sum of a function's results, each multiplied by its cotangent.  Where the slopes on both sides differ there is a kink, and the
gradient may be anything between them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.foundation.dataclass import dataclass, field
from adjoint.testing.recording import Array

__all__ = ["Finding", "Projection", "Tolerance", "compared"]

_STEP = 1e-5
_SMALLER = 1e-2
"""Differences that do not agree are taken again with steps that are smaller by this factor: a kink may be near."""
_BLOCK = 8
"""Elements are looked at one by one in a block of at most so many."""
_LIMIT = 400
"""Limit of the blocks and elements that are looked at to find the first wrong element."""
_LIMIT_OF_KINKS = 64
"""The same where the gradient agrees with differences, and only kinks are looked for."""
_BEND = 1e-2
"""The slopes on both sides of a point may differ by this fraction of the slope, as those of a smooth function do over one step."""
_ROUNDING = 1e-15


@dataclass(frozen=True)
class Tolerance:
    """How far a gradient may be from differences.

    relative  a fraction of the size of both
    absolute  an error of each element
    """

    relative: float
    absolute: float


@dataclass
class Finding:
    """What was found where a gradient and differences do not agree.

    element     the index of the element; None if none was found alone
    gradient    the gradient there, or along a random direction
    difference  what differences give
    ratio       gradient / difference where it is the same for all elements that were looked at; else nan
    kinks       for the flat index of an element at which the slopes on both sides differ: these, left and right, and the gradient
    wrong       False if the gradient is right but for kinks
    """

    element: tuple[int, ...] | None = None
    gradient: float = math.nan
    difference: float = math.nan
    ratio: float = math.nan
    kinks: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    wrong: bool = False


class Projection:
    """The sum of a function's results, each multiplied by its cotangent, as a function of the arguments.

    compute     takes other numbers for some arguments, by index, and returns the results
    arguments   the arguments, in float64
    cotangents  one for each result; None for a result that does not count
    """

    def __init__(self, compute: Callable[[Mapping[int, Array]], Sequence[Any]], arguments: Sequence[Array],
                 cotangents: Sequence[Array | None]):
        self.compute, self.arguments, self.cotangents = compute, arguments, cotangents

    def value(self, index: int, moved: Array) -> tuple[float, float]:
        """Return the sum with other numbers for one argument, and the sum of the terms' sizes, by which its rounding error is judged."""
        with np.errstate(all="ignore"):
            results = self.compute({index: moved})
            terms = [np.asarray(c * x) for c, x in zip(self.cotangents, results, strict=True) if c is not None]
            return sum(float(x.sum()) for x in terms), sum(float(np.abs(x).sum()) for x in terms)

    def scale(self, index: int) -> float:
        """Return the size of a step for an argument: that of its numbers, within bounds."""
        x = self.arguments[index]
        size = math.sqrt(float(np.mean(np.square(x)))) if x.size else 0.0
        return min(max(size, 1e-3), 1e3) if 0 < size < math.inf else 1.0

    @functools.cached_property
    def start(self) -> float:
        """The sum at the arguments themselves."""
        return self.value(0, self.arguments[0])[0]

    def slope(self, index: int, way: Array, shrink: float = 1.0) -> tuple[float, float, float]:
        """Return the slope along `way`, by how much the slopes on both sides differ, and the possible rounding error of both.

        shrink  a factor for the step
        """
        h, x = _STEP * shrink * self.scale(index), self.arguments[index]
        (a, size), (b, _), (c, _), (d, _) = (self.value(index, x + step * h * way) for step in (2, 1, -1, -2))
        return (8 * (b - c) - (a - d)) / (12 * h), abs(b + c - 2 * self.start) / h, _ROUNDING * size / h

    def sides(self, index: int, way: Array) -> tuple[float, float, float]:
        """Return the slopes on the left and on the right along `way`, and their possible error."""
        h, x = _STEP * 0.1 * self.scale(index), self.arguments[index]
        (a, _), (b, _), (at, size), (c, _), (d, _) = (self.value(index, x + step * h * way) for step in (-2, -1, 0, 1, 2))
        left, right = (3 * at - 4 * b + a) / (2 * h), (-3 * at + 4 * c - d) / (2 * h)
        return left, right, 10 * _ROUNDING * size / h + 1e-6 * (abs(left) + abs(right))


def compared(projection: Projection, index: int, gradient: Array, tolerance: Tolerance, rng: np.random.Generator) -> Finding | None:
    """Compare the gradient of one argument with differences; return None if they agree and no kink is met.

    gradient  in float64, of the argument's shape
    """
    if not gradient.size:
        return None
    search = _Search(projection, index, gradient, tolerance, rng)
    agreed, smooth = search.tried(np.arange(gradient.size))
    if agreed and smooth:
        return None
    found = search.run(_LIMIT if not agreed else _LIMIT_OF_KINKS)
    if not agreed and not found.wrong and not found.kinks:
        found.wrong = True
    return found if found.wrong or found.kinks else None


class _Search:
    """Finds the first element of a gradient that differences contradict, and elements at kinks."""

    def __init__(self, projection: Projection, index: int, gradient: Array, tolerance: Tolerance, rng: np.random.Generator):
        self.projection, self.index, self.gradient, self.tolerance, self.rng = projection, index, gradient, tolerance, rng
        self.flat = gradient.reshape(-1)
        self.found = Finding()

    def way(self, block: Array) -> Array:
        """Return a random direction that moves the elements of a block; for a single one, the direction of its axis."""
        way = np.zeros(self.flat.size)
        way[block] = 1.0 if len(block) == 1 else self.rng.uniform(0.5, 1.5, len(block)) * self.rng.choice((-1.0, 1.0), len(block))
        return way.reshape(self.gradient.shape)

    def tried(self, block: Array) -> tuple[bool, bool]:
        """Compare along a random direction of a block; return whether gradient and differences agree, and whether there is no kink."""
        way = self.way(block)
        with np.errstate(all="ignore"):
            terms = self.flat[block] * way.reshape(-1)[block]
            gradient, size = float(terms.sum()), float(np.sqrt(np.square(terms).sum()))
        for shrink in (1.0, _SMALLER):
            slope, bend, noise = self.projection.slope(self.index, way, shrink)
            allowed = self.tolerance.relative * max(size, abs(slope)) + self.tolerance.absolute * math.sqrt(len(block)) + noise
            agreed, smooth = abs(gradient - slope) <= allowed < math.inf, bend <= _BEND * max(size, abs(slope)) + 10 * noise
            if agreed and smooth:
                break
        if not agreed:
            self.found.gradient, self.found.difference = gradient, slope
        return agreed, smooth

    def run(self, limit: int) -> Finding:
        """Search the elements one by one.

        limit  how many blocks and elements may be tried
        """
        found, ratios = self.found, list[float]()
        whole = found.gradient, found.difference
        blocks = [np.arange(self.flat.size)]
        while blocks and limit > 0 and not found.wrong:
            block = blocks.pop()
            if len(block) > _BLOCK:
                limit -= 1
                if self.tried(block) != (True, True):
                    blocks += [block[len(block) // 2:], block[: len(block) // 2]]
                continue
            for i in block.tolist():
                limit -= 1
                agreed, smooth = self.tried(np.array([i]))
                if (agreed and smooth) or self.at_kink(i) or agreed:
                    continue
                ratios.append(found.gradient / found.difference if found.difference else math.nan)
                if not found.wrong:
                    found.wrong = True
                    found.element = tuple(int(k) for k in np.unravel_index(i, self.gradient.shape))
                    whole = found.gradient, found.difference
        found.gradient, found.difference = whole
        if ratios and max(ratios) - min(ratios) <= 1e-3 * abs(ratios[0]):
            found.ratio = ratios[0]
        return found

    def at_kink(self, i: int) -> bool:
        """Return True if the slopes on both sides of an element differ, and the gradient is between them."""
        left, right, error = self.projection.sides(self.index, self.way(np.array([i])))
        gradient = float(self.flat[i])
        allowed = error + self.tolerance.relative * max(abs(left), abs(right)) + self.tolerance.absolute
        if not abs(left - right) > 4 * error or not min(left, right) - allowed <= gradient <= max(left, right) + allowed:
            return False
        self.found.kinks[i] = (left, right, gradient)
        return True
