"""Python objects in parsed code: those that it makes, changes, passes to Python, or finds outside."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adjoint.foundation.diagnostics import Loc
from adjoint.frontend import errors
from adjoint.frontend.changes.aliases import Aliases
from adjoint.frontend.changes.journal import COLLECTIONS, CONTAINERS, ContentsPlace, Journal, MutablePlace, OutsidePlace
from adjoint.frontend.changes.outside import Outside, beneath
from adjoint.frontend.changes.workspace import COPIED, Workspace
from adjoint.frontend.values.chosen import Chosen, check
from adjoint.frontend.values.frame import Frame
from adjoint.frontend.values.text import RunTimeText
from adjoint.frontend.world import World

__all__ = ["Objects"]

_VIEWS = (type({}.keys()), type({}.values()), type({}.items()), type(iter([])), type(reversed([])), type(iter({})), type(iter(set())),
          type(iter({}.values())), type(iter({}.items())), enumerate, zip, map, filter)
"""Types of views and iterators: what they give is in containers, or is given by other iterators."""

_PLAIN = frozenset({int, float, bool, str, type(None), list, dict, tuple, range})
"""Fast path: types whose methods are all Python's own."""


class Objects:
    """The objects that one lowering handles, and what happens to them.

    journal    the changes, which branches take back
    workspace  the values of attributes and names outside, as parsed code sees them
    outside    the objects of the program around
    aliases    which objects may be the same one; `frame` gives it the frame that runs
    """

    def __init__(self, world: World, frame: Callable[[], Frame | None]):
        self.world = world
        self.journal = Journal(lambda: world.loc)
        self.workspace = Workspace(world)
        self.outside = Outside(world, self.journal, self.workspace)
        self.aliases = Aliases(world, frame, self.workspace)

    def used(self, *values: Any) -> None:
        """Call this before Python itself uses the values: their methods run unparsed, so what those read is recorded whole."""
        for value in values:
            if type(value) not in _PLAIN:
                check(value)
                self.world.read_object(value)
                self.outside.unparsed.given(value)

    def steady(self, x: Any) -> Any:
        """Return a copy of a container from outside that other threads may change, with what the first read has found; else `x` itself.

        It is for code that only looks at what is in it.
        """
        self.look_into(x)
        if not self.workspace.is_shared or type(x) not in COPIED or self.journal.has_made(x) \
                or ContentsPlace(x).key in self.journal.touched:
            return x
        return self.workspace.contents(x)

    def look_into(self, x: Any) -> None:
        """Record that parsed code looks at what is in a container from outside, or in those that a view or an iterator gives items of."""
        if isinstance(x, CONTAINERS):
            x = self.workspace.original(x)
            if not self.journal.has_made(x):
                self.world.read_contents(x)
        elif isinstance(x, _VIEWS):
            for held in gc.get_referents(x):
                for part in held if type(held) is tuple else (held,):  # `zip` has a tuple of iterators
                    self.look_into(part)

    def steady_item(self, container: Any, index: Any) -> Any:
        """Return `container[index]`; a number in an array or the like that other threads may change is that which was found first."""
        found = self.steady_numbers(container)
        item = container[index] if found is container else found[index]
        return item if found is container or isinstance(item, (int, float, np.generic)) else container[index]

    def steady_numbers(self, x: Any) -> Any:
        """Return an array or the like that other threads may change as it was found first; `x` itself if parsed code has changed it."""
        self.look_into(x)
        found = self.workspace.numbers(x)
        return x if found is x or self.journal.has_made(x) or ContentsPlace(x).key in self.journal.touched else found

    def steady_items(self, x: Any) -> Iterator[Any]:
        """Return an iterator over a container that parsed code may change meanwhile; changes by other threads are not seen."""
        steady = self.steady(x)
        items = iter(x) if steady is x else self._until_changed(x, steady)
        looks = isinstance(x, _VIEWS) or (isinstance(x, CONTAINERS) and not self.journal.has_made(x))
        return self._looking(x, items) if looks else items

    def _looking(self, x: Any, items: Iterator[Any]) -> Iterator[Any]:
        """Yield items of a container, and record each time that it is looked at: hooks may run between two of them."""
        for item in items:
            self.look_into(x)
            yield item
        self.look_into(x)  # whether there is one more

    def _until_changed(self, x: Any, steady: Any) -> Iterator[Any]:
        """Yield the items of `steady`, a copy of `x`; of `x` itself from where parsed code has changed it."""
        taken = 0
        for item in steady:
            yield item
            taken += 1
            if self.steady(x) is not steady:
                break
        else:
            return
        if isinstance(x, list):
            rest: Any = iter(x)
            rest.__setstate__(taken)
        elif len(x) != len(steady):
            raise RuntimeError(f"{type(x).__name__} changed size during iteration")
        else:
            rest = itertools.islice(x, taken, None)
        yield from rest

    def shown(self, value: Any) -> None:
        """Call this before a value becomes text: that of a cell shows the cells in it."""
        self.used(value)
        if self.world.is_cell(value):
            self.world.read_outcome(repr, (value,))

    def touched(self, container: Any) -> None:
        """Call this before a container may be changed.  CompileError where the change could not be taken back."""
        if isinstance(container, CONTAINERS):
            self.aliases.write(container)
            self.journal.touch(ContentsPlace(container))
            return
        place = self.world.place(container)
        if place is not None:
            self.journal.touch(place)
        elif isinstance(container, COLLECTIONS) and not self.journal.is_own(ContentsPlace(container)):
            name = type(container).__name__
            raise errors.UNSUPPORTED.at(self.world.loc, f"a {name} created before is changed in a branch or loop that depends on a tensor",
                                        help="use a list, a dict or a deque, or change it before the branch")
        for held in beneath(container):
            self.touched(held)

    def write(self, place: OutsidePlace, value: Any) -> None:
        """Change an attribute or a name.  One of the program around is changed when the graph runs, and for parsed code alone."""
        if self.outside.has(place):
            known = self.journal.touched.get(place.key)
            if self.world.can_keep(place, value) if known is None else getattr(known[0], "workspace", None) is not None:
                place = place.over(self.workspace)
            self.world.write_later(place, value)
        self.journal.write(place, value)

    def attribute(self, holder: Any, name: str, *default: Any) -> Any:
        """Return `getattr(holder, name, *default)`, as parsed code sees it."""
        if name == "__dict__":
            self.workspace.expose_all(holder)  # which attributes are read in it is not seen
        return getattr(holder, name, *default) if self.journal.has_made(holder) else self.workspace.attribute(holder, name, *default)

    def touched_once(self, place: MutablePlace) -> None:
        """Call this before a place is changed in a way that a run of the graph cannot repeat."""
        self.world.refuse_write(place)
        self.journal.touch(place)

    def check_key(self, key: Any, loc: Loc) -> None:
        """Raise CompileError for a run-time number as a key: its hash is not known."""
        self.outside.unparsed.given(key)
        parts = key if isinstance(key, tuple) else (key,)
        if any(self.world.is_dynamic(part) and not self.world.is_tensor(part) for part in parts):
            raise errors.VALUE_NEEDED.at(loc, "a number that is not known while parsing is used as a key",
                                         help="use Python values as keys and as elements of sets, or choose with `if` and `elif`")

    def born(self, container: Any) -> Any:
        """Record that parsed code has just made a container.  Return it."""
        self.journal.born(ContentsPlace(container))
        return container

    def is_late(self, value: Any) -> bool:
        """Return whether a value, or one inside of it, is known only when the graph runs."""
        if isinstance(value, (list, tuple, set)):
            return any(self.is_late(item) for item in value)
        if isinstance(value, dict):
            return any(self.is_late(item) for item in value.values())
        return self.world.is_dynamic(value) or isinstance(value, (RunTimeText, Chosen))
