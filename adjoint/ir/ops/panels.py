"""Partition the work of a convolution into parts of its positions and blocks of its channels; see `codegen/c/convolution.h`.

The source of a part is copied into panels, which should fit into a processor's cache; with larger parts fewer elements are copied twice.
The numbers of a convolution do not depend on the partition.  Those of a gradient by the filters do, since it is summed part by part: so
all choices are made from shapes alone.
"""

from __future__ import annotations

from math import gcd
from typing import Final

from adjoint.foundation.dataclass import dataclass

__all__ = ["Axis", "Correlated", "Convolved", "convolved", "correlated"]

PANEL_BYTES: Final = 262144
RESULT_BYTES: Final = 131072
SUM_BYTES: Final = 262144
TAPS: Final = 2048
SOURCES: Final = 32
SQUARE: Final = 16
"""The same number as in `convolution.h`."""
VECTOR_BYTES: Final = 64
COLUMNS: Final = 32
"""Elements of the longest vectors of any machine, and channels in a tile of vectors of channels.  A line of a panel has room
for up to two more vectors than it has positions, a panel for eight more vectors than its lines."""
CHANNELS: Final = 64
CHANNELS_ALONE: Final = 128
"""The numbers of channels for which copying the source into a panel pays: CHANNELS if lines share rows, CHANNELS_ALONE if not."""
LINES: Final = 128
"""The number of lines that a panel should have room for, since continuing a sum in another panel costs time."""
PLACES: Final = 1024
PLACES_WIDE: Final = 256
"""The approximate number of positions in a part: PLACES in general, PLACES_WIDE where vectors hold channels."""
WIDE: Final = 8
"""The number of channels of the result from which on vectors of channels pay."""
MOST: Final = 64
MOST_WIDE: Final = 128
"""The most channels of the result in a unit of a gradient by the filters: MOST in general, MOST_WIDE where vectors hold channels."""
SMALL: Final = 100
MANY: Final = 32
TOGETHER: Final = 256
"""A plane of fewer positions than SMALL leaves much of its last vector empty: with MANY channels of the result, which make longer
lines worthwhile, small images are combined, to about this many positions."""
UNITS: Final = 16
"""The number of units of work that gives each of several threads about the same share."""
PRODUCTS: Final = 400_000
"""The number of multiplications that a thread must get to be worth waking."""


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
        """Return the positions of the result, in the phase that has most."""
        return -(-self.size // self.stride) if self.backward else self.places

    @property
    def taps(self) -> int:
        """Return the taps, in the phase that has most."""
        every = self.stride // gcd(self.stride, self.dilation)
        return -(-self.kernel // every) if self.backward else self.kernel

    def lines(self, places: int) -> tuple[int, int]:
        """Return the classes of taps that share rows, and the rows that each has for this many positions."""
        every = self.stride // gcd(self.stride, self.dilation)
        if self.backward:
            return 1, places + max(0, self.taps - 1) * (every * self.dilation // self.stride)
        return min(self.kernel, every), places + max(0, self.kernel - 1) // every * (every * self.dilation // self.stride)


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of the positions.

    images, rows, columns  of a part
    shared                 whether lines share rows
    channel                elements of a channel in a panel, if shared
    count                  number of parts, for one group
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


def _parts(
    images: int, sources: int, y: Axis, x: Axis, size: int, *, places: int = PLACES, small: int = 1, together: int = 1
) -> Parts:
    """Return parts of about `places` positions; not shared if a plane has fewer than `small`; images are combined as long as they have at
    most `together` positions in all. `size`: bytes of an element."""
    room, rows, columns = (PANEL_BYTES - 8 * VECTOR_BYTES) // size, max(1, y.results), max(1, x.results)

    def per_channel(height: int, width: int) -> int:
        classes, lines = y.lines(height)
        return classes * x.taps * (lines * width + 2 * VECTOR_BYTES // size)

    height, width = min(rows, max(1, places // columns)), min(columns, places)
    channels = max(1, min(sources, LINES // max(1, y.taps * x.taps)))
    while per_channel(height, width) * channels > room and height > 1:
        height -= 1
    shared = y.taps * x.taps <= TAPS // 2 and rows * columns >= small and per_channel(height, width) <= room
    if not shared:
        height, width = min(rows, max(1, 256 // columns)), min(columns, 256)
    height = _even(rows, height)
    block = max(1, _even(images, max(1, together // (rows * columns)))) if (height, width) == (rows, columns) else 1
    count = -(-images // block) * -(-rows // height) * -(-columns // width)
    return Parts(block, height, width, shared, per_channel(height, width), count)


def _even(length: int, block: int) -> int:
    """Return the length of blocks that cut `length` into parts of about equal size, none longer than `block`."""
    return -(-length // max(1, -(-length // block)))


@dataclass(frozen=True, slots=True)
class Convolved:
    """The partition of a convolution or of its gradient by the images.

    parts         of the positions
    channels      of the result in a unit: an even number, or all
    units, grain  the number of units; units worth a thread
    """

    parts: Parts
    channels: int
    units: int
    grain: int


def convolved(images: int, groups: int, sources: int, results: int, y: Axis, x: Axis, size: int) -> Convolved:
    small = SMALL if results >= MANY else 1
    parts = _parts(images, sources, y, x, size, small=small)
    if not parts.shared:
        parts = _parts(images, sources, y, x, size, small=small, together=TOGETHER)
    others = max(1, parts.count * groups)
    most = max(CHANNELS if parts.shared else CHANNELS_ALONE, -(-results * others // UNITS))
    if parts.images > 1 or (x.backward and (x.stride, y.stride) != (1, 1)):
        most = min(most, RESULT_BYTES // size // parts.places)
    block = max(2, _even(-(-results // 2), max(1, most // 2)) * 2) if results > 1 else 1
    units = parts.count * groups * -(-results // block)
    products = parts.places * min(results, block) * sources * max(1, y.taps * x.taps)
    return Convolved(parts, block, units, max(1, PRODUCTS // max(1, products)))


@dataclass(frozen=True, slots=True)
class Correlated:
    """The partition of a gradient by the filters.

    parts         of the positions
    wide          whether vectors hold channels of the results, not positions
    results       channels of the results in a unit
    cuts          parts of a group's channels x taps
    blocks        of parts
    units, grain  the number of units; units worth a thread
    """

    parts: Parts
    wide: bool
    results: int
    cuts: int
    blocks: int
    units: int
    grain: int


def correlated(images: int, groups: int, sources: int, results: int, y: Axis, x: Axis, size: int) -> Correlated:
    wide, taps, room = results >= WIDE, max(1, y.taps * x.taps), (PANEL_BYTES - 8 * VECTOR_BYTES) // size
    places = PLACES_WIDE if wide else PLACES
    small = 1 if wide else VECTOR_BYTES // size
    parts = _parts(images, sources, y, x, size, places=places, small=small, together=places)
    if parts.shared:
        while parts.images > 1 and parts.images * parts.channel > room // 2:
            parts = _parts(images, sources, y, x, size, places=places, together=parts.images // 2 * parts.rows * parts.columns)
        line, lines, unit = -(-parts.images * parts.channel // taps), sources, taps
    else:
        line, lines, unit = parts.places + 2 * VECTOR_BYTES // size, sources * taps, 1
    if wide:
        columns = min(RESULT_BYTES // parts.places, SUM_BYTES // unit) // size
        block = min(results, MOST_WIDE, columns // COLUMNS * COLUMNS)
        sums = SUM_BYTES // size // (-(-block // COLUMNS) * COLUMNS)
    else:
        most = MOST if parts.shared else RESULT_BYTES // size // parts.places
        block = max(1, min(results, most, SUM_BYTES // VECTOR_BYTES // unit))
        sums = SUM_BYTES // VECTOR_BYTES // block
    cuts = max(1, -(-lines // max(1, min(room // max(1, line), sums, TAPS) // unit)))
    block = max(1, _even(results, block))
    units = max(1, groups * cuts * -(-results // block))
    if parts.shared and not wide:  # dividing the channels costs less than dividing into blocks
        cuts = max(cuts, min(sources, UNITS // units * cuts))
        units = max(1, groups * cuts * -(-results // block))
    blocks = max(1, min(parts.count, (UNITS if wide else UNITS // 2) // units))
    products = images * y.places * x.places * sources * taps * results * groups // max(1, blocks * units)
    return Correlated(parts, wide, block, cuts, blocks, blocks * units, max(1, PRODUCTS // max(1, products)))
