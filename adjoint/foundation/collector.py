"""Pause Python's garbage collector while many long-lived objects are created, such as those of modules.

The collector runs after every some hundred new objects, looks for unreachable cycles among the youngest objects, and moves the others to an
older generation; from time to time it visits all objects. While modules are loaded it finds no garbage, and took a tenth of each start.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["paused"]


@contextmanager
def paused(*, lasting: bool = True) -> Iterator[None]:
    """Pause Python's garbage collector during a `with`, if it is on.  If many objects were created meanwhile, move all to the oldest
    generation.

    lasting  False for short-lived objects, such as graphs: then nothing is moved, since garbage of the program would be freed later

    If the program has frozen objects (`gc.freeze`), they stay frozen, and nothing is moved.
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
