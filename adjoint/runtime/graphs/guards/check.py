"""Compile the check of a graph: one function without arguments that returns True if the guards hold.

Each place (a variable or attribute that the graph was made from) that is compared by identity contributes one condition, an expression such
as `x3[x4] is x5`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from adjoint.foundation.made import count
from adjoint.runtime.graphs.guards.references import Life, Reference, Strong, Watched
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.process.function_text import PythonText, function_of

__all__ = ["GuardConditions", "Guarded", "check_text", "compiled_check"]


class Guarded(Protocol):
    """One place (a variable, an attribute), or a group of places, that a graph was made from.

    `holds` returns True if it still contains what it contained then.
    """

    def holds(self, watched: Watched) -> bool: ...


class GuardConditions(PythonText):
    """Collects the conditions of one graph as source text, from which `compiled_check` makes the check.

    The conditions are Python expressions over the variables `x0`, `x1`, ... (objects) and `h0`, `h1`, ... (objects behind weak references).
    """

    def __init__(self) -> None:
        super().__init__("x")
        self.expressions: list[str] = []
        self.holders: list[str] = []
        """The statements that assign h0, h1, ...; each dereferences a weak reference."""
        self._locals: dict[int, str] = {}

    def holder(self, held: Reference) -> str:
        """Return the variable of the generated text that holds the object of a reference; its value is None once the object has been freed.

        held  the reference
        """
        if isinstance(held, Strong):
            return self.object(held.value)
        name = self._locals.get(id(held))
        if name is None:
            name = self._locals[id(held)] = f"h{len(self.holders)}"
            self.holders.append(f"{name} = {self.object(held)}()")
        return name


def compiled_check(
    conditions: GuardConditions, life: Life, watched: Watched, by_epoch: Sequence[Guarded], by_value: Sequence[Guarded],
    renew: Callable[[], bool],
) -> Callable[[], bool]:
    """Return a function that returns True if the guards of a graph hold.

    conditions  must be true at every call
    life        its `epoch` is the last epoch for which `by_epoch` was found to hold.  The epoch is a number that rises with each change of
                a cell, a hook slot, a tensor's type or a setting
    watched     weak references to the objects that the snapshot (the contents of all places when the graph was made) identifies
    by_epoch    compared only when the epoch has risen since
    by_value    compared at every call, if everything else holds
    renew       called if a condition is false; returns True if all places of the conditions contain equal values nevertheless
    """
    count("guards")
    body = _BEGIN.copy()
    if conditions.expressions:
        body += ["try:", *[f"    {statement}" for statement in conditions.holders],
                 f"    identical = {' and '.join(conditions.expressions)}", *_IDENTICAL]
    if by_value:
        body += _BY_VALUE
    objects = {"epoch": epoch, "life": life, "watched": watched, "by_epoch": tuple(by_epoch), "by_value": tuple(by_value), "renew": renew}
    return function_of("holds()", [*body, _END], {**objects, "getattr": getattr, "id": id, **conditions.objects}, _FILE, closed=True)


def check_text(conditions: GuardConditions, life: Life) -> tuple[list[str], dict[str, Any]]:
    """Return the check as source text, to become a part of the function that does a whole call, and the values of its variables.

    The statements return NOT_RUN from that function if the guards do not hold.  They call `guards.holds`, a variable that the caller adds,
    only if a condition is false or the epoch (a number that rises with each change of a cell or hook) has risen; they compare nothing by
    value.

    conditions  must be true at every call
    life        knows the epoch of the last check, and whether an object compared by its id has been freed
    """
    compared = " and ".join(["epoch.now == life.epoch", *conditions.expressions, "life.lasts"])
    objects = {"epoch": epoch, "getattr": getattr, "id": id, "life": life, **conditions.objects}
    if not conditions.expressions:
        return [f"if not ({compared}) and not guards.holds(): return NOT_RUN"], objects
    return ["try:", *[f"    {statement}" for statement in conditions.holders],
            f"    if not ({compared}) and not guards.holds(): return NOT_RUN",
            "except Exception:", "    if not guards.holds(): return NOT_RUN"], objects


_BEGIN = """\
now = epoch.now
if now != life.epoch:
    for place in by_epoch:
        if not place.holds(watched):
            return False
    life.epoch = now""".splitlines()
# A class of the user's may run code while an attribute is read. If that raises, lowering meets the exception again at the user's line.
_IDENTICAL = """\
except Exception:
    identical = False
if not identical and not renew():
    return False""".splitlines()
_BY_VALUE = """\
for place in by_value:
    if not place.holds(watched):
        return False""".splitlines()
_END = "return life.lasts"
"""The last statement of the check: objects compared by their ids are the same only if none of them has been freed meanwhile."""

_FILE = os.path.join(os.path.dirname(__file__), "<check of a graph>")
