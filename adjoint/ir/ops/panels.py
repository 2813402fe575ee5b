"""How the work of a convolution is cut: into parts of its places and blocks of its channels; see `codegen/c/convolution.h`.

A part's source is copied into panels, which should stay in a processor's cache; larger parts copy less twice.  The numbers
do not depend on how convolutions are cut; a gradient by the filters is summed piece by piece, so there they do, and so all
choices here are made from shapes alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Final

__all__ = ["Axis", "Correlated", "Convolved", "convolved", "correlated"]

PANEL_BYTES: Final = 262144
"""What a panel may hold: as in `convolution.h`, as the next three."""
RESULT_BYTES: Final = 131072
TAPS: Final = 2048
SUMS: Final = 4096
LINE_BYTES: Final = 64
"""What a line of a panel has room for beyond its places: a vector, on machines with the longest."""
SLACK_BYTES: Final = 8 * LINE_BYTES
ROWS: Final = 28
"""Channels that are worth a panel."""

PLACES: Final = 1024
"""Places of a part, about."""
SMALL: Final = 100
"""A plane of fewer places does not fill its last vector well: images are taken together, if there are channels enough to pay
for longer lines."""
MANY: Final = 32
PLACES_TOGETHER: Final = 192
UNITS: Final = 16
"""As many as several threads need for a fair share each."""
PRODUCTS: Final = 400_000
"""Multiplications per thread below which threads do not pay."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a convolution, or of its gradient by the images if `backward`."""

    size: int
    places: int
    kernel: int
    stride: int
    dilation: int
    backward: bool = False

    @property
    def results(self) -> int:
        """Places of the result, in the phase that has most."""
        return -(-self.size // self.stride) if self.backward else self.places

    @property
    def taps(self) -> int:
        """Of the phase that has most."""
        every = self.stride // gcd(self.stride, self.dilation)
        return -(-self.kernel // every) if self.backward else self.kernel

    def lines(self, places: int) -> tuple[int, int]:
        """Classes of taps that share rows, and the rows that each has for so many places."""
        every = self.stride // gcd(self.stride, self.dilation)
        if self.backward:
            return 1, places + max(0, self.taps - 1) * (every * self.dilation // self.stride)
        return min(self.kernel, every), places + max(0, self.kernel - 1) // every * (every * self.dilation // self.stride)


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of the places.

    images, rows, columns  of a part
    shared                 whether lines share rows
    channel                elements that a channel takes in a panel, if shared
    count                  of parts, for one group
    """

    images: int
    rows: int
    columns: int
    shared: bool
    channel: int
    count: int

    @property
    def places(self) -> int:
        return self.images * self.rows * self.columns


def _parts(images: int, y: Axis, x: Axis, channels: int, size: int) -> Parts:
    """`channels`: of the other side, which are computed from one panel; `size`: bytes of an element."""
    room, rows, columns = (PANEL_BYTES - SLACK_BYTES) // size, max(1, y.results), max(1, x.results)

    def per_channel(height: int, width: int) -> int:
        classes, lines = y.lines(height)
        return classes * x.taps * (lines * width + LINE_BYTES // size)

    together = 1
    shared = y.taps * x.taps <= TAPS // 2 and (rows * columns >= SMALL or channels < MANY)
    height, width = max(1, PLACES // columns), min(columns, PLACES)
    while shared and per_channel(min(height, rows), width) > room // 4 and height > 1:
        height -= 1
    if shared and per_channel(1, width) > room:
        shared = False
    if not shared:
        height, width = max(1, 256 // columns), min(columns, 256)
        if rows * columns <= 256:
            together = max(1, PLACES_TOGETHER // (rows * columns))
    height = _even(rows, min(rows, height))
    together = max(1, _even(images, together))
    count = -(-images // together) * -(-rows // height) * -(-columns // width)
    return Parts(together, height, width, shared, per_channel(height, width), count)


def _even(length: int, block: int) -> int:
    """The length of blocks of about one size that are no longer than `block`."""
    return -(-length // max(1, -(-length // block)))


@dataclass(frozen=True, slots=True)
class Convolved:
    """Of a convolution or its gradient by the images: its parts; channels of the results in a unit, an even number or all;
    units, units worth a thread."""

    parts: Parts
    channels: int
    units: int
    grain: int


def convolved(images: int, groups: int, sources: int, results: int, y: Axis, x: Axis, size: int) -> Convolved:
    parts = _parts(images, y, x, results, size)
    others = max(1, parts.count * groups)
    most = max(ROWS, -(-results * others // UNITS))
    if parts.images > 1 or (x.backward and (x.stride, y.stride) != (1, 1)):
        most = min(most, RESULT_BYTES // size // parts.places)
    block = max(2, _even(-(-results // 2), max(1, most // 2)) * 2) if results > 1 else 1
    units = parts.count * groups * -(-results // block)
    products = parts.places * min(results, block) * sources * max(1, y.taps * x.taps)
    return Convolved(parts, block, units, max(1, PRODUCTS // max(1, products)))


@dataclass(frozen=True, slots=True)
class Correlated:
    """Of a gradient by the filters: its pieces; channels of the results in a unit, parts of the channels x taps, blocks of
    pieces; units, units worth a thread."""

    parts: Parts
    results: int
    taps: int
    blocks: int
    units: int
    grain: int


def correlated(images: int, groups: int, sources: int, results: int, y: Axis, x: Axis, size: int) -> Correlated:
    parts = _parts(images, y, x, results, size)
    taps = y.taps * x.taps
    room = (PANEL_BYTES - SLACK_BYTES) // size
    block = min(results, 64) or 1
    if parts.shared:
        block = max(1, min(block, SUMS // max(1, taps)))
        each = max(1, min(room // parts.channel, SUMS // max(1, block * taps), TAPS // max(1, taps)))
        number = -(-sources // each)
    else:
        block = max(1, min(block, RESULT_BYTES // size // parts.places))
        each = max(1, min(room // (parts.places + LINE_BYTES // size), SUMS // block, TAPS))
        number = -(-sources * taps // each)
    number = max(1, number)
    block = _even(results, block) or 1
    units = groups * number * -(-results // block)
    blocks = max(1, min(parts.count, -(-UNITS // max(1, units))))
    products = images * y.places * x.places * sources * taps * results // max(1, blocks * number * -(-results // block))
    return Correlated(parts, block, number, blocks, blocks * units, max(1, PRODUCTS // max(1, products)))
