"""An arena: one block of memory in which values that are not needed at the same time share bytes."""

from __future__ import annotations

__all__ = ["Arena"]


class Arena:
    """Gives out parts of a block of memory by their offsets, and takes them back for later use.

    nbytes  the size that the block must have: it grows as needed
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self._free: list[tuple[int, int]] = []
        """Begin and end of each free part; the part given back last is at the end."""

    def take(self, nbytes: int) -> int:
        """Return the offset of a part of this size, which is in use until `give_back`.

        Of the free parts that are large enough, take the one given back last, whose bytes are likely to be in a cache.  If there is none,
        extend the block.
        """
        if not nbytes:
            return 0
        for i in reversed(range(len(self._free))):
            begin, end = self._free[i]
            if end - begin >= nbytes:
                self._free[i : i + 1] = [(begin + nbytes, end)] if end - begin > nbytes else []
                return begin
        begin = self.nbytes
        for i, (free, end) in enumerate(self._free):
            if end == self.nbytes:
                begin = free
                del self._free[i]
                break
        self.nbytes = begin + nbytes
        return begin

    def give_back(self, begin: int, nbytes: int) -> None:
        """Make a part free again, joined with adjacent free parts."""
        if not nbytes:
            return
        end = begin + nbytes
        for i in reversed(range(len(self._free))):
            if self._free[i][1] == begin:
                begin = self._free.pop(i)[0]
            elif self._free[i][0] == end:
                end = self._free.pop(i)[1]
        self._free.append((begin, end))
