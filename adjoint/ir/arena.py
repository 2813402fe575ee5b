"""An arena: one block of memory in which values that are not needed at the same time share bytes."""

from __future__ import annotations

__all__ = ["Arena"]


class Arena:
    """Gives out parts of a block of memory by their offsets, and takes them back for later use.

    nbytes  the size that the block must have: it grows as needed
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self._free: dict[int, int] = {}
        """For the end of each free part its begin; the part given back last is at the end."""
        self._ends: dict[int, int] = {}
        """For the begin of each free part its end."""

    def take(self, nbytes: int) -> int:
        """Return the offset of a part of this size, which is in use until `give_back`.

        Of the free parts that are large enough, take the one given back last, whose bytes are likely to be in a cache.  If there is none,
        extend the block.
        """
        if not nbytes:
            return 0
        for end, begin in reversed(self._free.items()):
            if end - begin >= nbytes:
                del self._ends[begin]
                if end - begin > nbytes:
                    self._free[end] = begin + nbytes  # the rest keeps its turn
                    self._ends[begin + nbytes] = end
                else:
                    del self._free[end]
                return begin
        begin = self._free.pop(self.nbytes, self.nbytes)
        self._ends.pop(begin, None)
        self.nbytes = begin + nbytes
        return begin

    def give_back(self, begin: int, nbytes: int) -> None:
        """Make a part free again, joined with adjacent free parts."""
        if not nbytes:
            return
        end = begin + nbytes
        if (before := self._free.pop(begin, None)) is not None:
            del self._ends[before]
            begin = before
        if (after := self._ends.pop(end, None)) is not None:
            del self._free[after]
            end = after
        self._free[end] = begin
        self._ends[begin] = end
