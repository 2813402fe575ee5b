"""Pause Python's garbage collector while objects are made that last, such as those of modules.

The collector runs each time that some hundred objects were made, looks for unreachable cycles among the youngest, and moves the others to
an older generation; from time to time it looks at all objects. While modules are loaded it finds none: it took a tenth of each start.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["paused"]


@contextmanager
def paused(*, lasting: bool = True) -> Iterator[None]:
    """Pause the collector, if it is on; if many objects were made that last, move all to the oldest generation, as it would do in time.

    lasting  False: for what is made often, such as graphs.  Nothing is moved, since garbage of the program among it would stay for longer

    Where the program has frozen objects (`gc.freeze`), they stay frozen, and none are moved.
    """
    if not gc.isenabled():
        yield
        return
    before = gc.get_count()[0]
    try:
        try:
            gc.disable()
            yield
        finally:
            if lasting and gc.get_count()[0] - before > gc.get_threshold()[0] and not gc.get_freeze_count():
                gc.freeze()  # moves the objects of all generations out of the collector's sight,
                gc.unfreeze()  # and from there to the oldest generation
    finally:
        gc.enable()  # also if an interrupt comes at any place above
