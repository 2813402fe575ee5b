"""Python objects in parsed code (user code whose syntax tree the frontend runs): those that it creates, changes, passes to Python code, or
finds outside.
"""

from __future__ import annotations

import gc
import itertools
from array import array
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
"""Types of views and iterators (such as that of `dict.items()`): their items belong to other containers or iterators."""

_PLAIN = frozenset({int, float, bool, str, type(None), list, dict, tuple, range})
"""Fast path: types whose methods are all Python's own."""


class Objects:
    """Records how the code that becomes the graph reads, changes and passes on Python objects.  So the graph depends on the right state,
    and changes can be undone.  All parts of the frontend that handle objects call it; there is one for each graph that is made.

    world      the interface to the runtime, which makes the nodes
    frame      a function that returns the frame of the running call, which holds its variables
    journal    records changes, which are undone at the end of a branch
    workspace  keeps the values of attributes and names from outside of the function, as the code that becomes the graph sees them
    outside    knows the objects of the program around
    aliases    knows which objects may be the same one
    """

    def __init__(self, world: World, frame: Callable[[], Frame | None]):
        self.world = world
        self.journal = Journal(lambda: world.loc)
        self.workspace = Workspace(world)
        self.outside = Outside(world, self.journal, self.workspace)
        self.aliases = Aliases(world, frame, self.workspace)

    def used(self, *values: Any) -> None:
        """Record that the graph depends on the whole state of these values.  Call this before Python uses them, since it may call their
        methods.

        CompileError for a `Chosen` (a cell or function taken from a list by an index that the graph computes): it can only be called.
        """
        for value in values:
            if type(value) not in _PLAIN:
                check(value)
                self.world.read_object(value)
                self.outside.unparsed.given(value)

    def steady(self, x: Any) -> Any:
        """Return what the user's code should read in place of `x`, so that other threads cannot disturb it.

        For a container that existed before and that other threads may change, this is a copy of it as the first read found it; the caller
        must not change the copy.  Any other object is returned itself.
        """
        self.look_into(x)
        if not self.workspace.is_shared or type(x) not in COPIED or self.journal.has_made(x) \
                or ContentsPlace(x).key in self.journal.touched:
            return x
        return self.workspace.contents(x)

    def look_into(self, x: Any) -> None:
        """Record that the user's code reads the contents of a container, or of the containers behind a view or an iterator such as
        `dict.items()`.

        The graph then depends on these contents, unless the code has created the container itself.
        """
        if isinstance(x, CONTAINERS):
            x = self.workspace.original(x)
            self.world.refresh(x)
            if not self.journal.has_made(x):
                self.world.read_contents(x)
        elif isinstance(x, _VIEWS):
            for held in gc.get_referents(x):
                for part in held if type(held) is tuple else (held,):  # `zip` refers to a tuple of iterators
                    self.look_into(part)

    def steady_item(self, container: Any, index: Any) -> Any:
        """Return `container[index]`.

        A number in an array that other threads may change is returned as it was when the user's code found the array.
        """
        found = self.steady_numbers(container)
        item = container[index] if found is container else found[index]
        if found is container or isinstance(item, (int, float, np.generic)):
            return item
        if isinstance(item, (bytearray, array)) or (isinstance(item, np.ndarray) and not np.may_share_memory(item, found)):
            return item  # a new object
        return self.workspace.part(container[index], item)

    def steady_numbers(self, x: Any) -> Any:
        """Return an array or similar container as code that only reads it should see it, safe from other threads: a copy, as it was when
        the user's code found it.

        Return `x` itself if other threads cannot change it, or if the user's code has created or changed it.
        """
        self.look_into(x)
        found = self.workspace.numbers(x)
        return x if found is x or self.journal.has_made(x) or ContentsPlace(x).key in self.journal.touched else found

    def steady_items(self, x: Any) -> Iterator[Any]:
        """Return an iterator over the container `x`.  It shows changes that the user's code makes meanwhile, but not those of other
        threads.
        """
        steady = self._steady_row(x)
        items = iter(x) if steady is x else self._until_changed(x, steady)
        looks = isinstance(x, _VIEWS) or (isinstance(x, CONTAINERS) and not self.journal.has_made(x))
        return self._looking(x, items) if looks else items

    def _steady_row(self, x: Any) -> Any:
        """Return the object from which an iteration over `x` takes its items, safe from other threads: `steady_numbers(x)` for an array of
        one dimension, otherwise `steady(x)`.
        """
        return self.steady(x) if type(x) in COPIED or getattr(x, "ndim", 1) != 1 else self.steady_numbers(x)

    def _looking(self, x: Any, items: Iterator[Any]) -> Iterator[Any]:
        """Yield the items, and record a read of the container `x` before each of them: hooks may run and change it between two items."""
        for item in items:
            self.look_into(x)
            yield item
        self.look_into(x)  # the end of the iteration depends on the contents, too

    def _until_changed(self, x: Any, steady: Any) -> Iterator[Any]:
        """Yield the items of `steady`, a copy of the container `x`.  Once the user's code has changed `x`, continue with the items of `x`
        itself.
        """
        taken = 0
        for item in steady:
            yield item
            taken += 1
            if self._steady_row(x) is not steady:
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
        """Record what the text of a value depends on.  Call this before a value becomes text.

        The text of a cell shows the cells in it, so it is recorded as a whole.
        """
        self.used(value)
        if self.world.is_cell(value):
            self.world.read_outcome(repr, (value,))

    def touched(self, container: Any) -> None:
        """Record the contents of a container, a tensor or an array before it changes, so that the change can be undone.

        CompileError if a change of it in a branch could not be undone, or if it may be the same object as another that a name leads to.
        """
        if isinstance(container, CONTAINERS):
            self.aliases.write(container)
            self.world.change(container)
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
        """Assign an attribute or a name.  If it existed before the function was called, the graph repeats the assignment each time it runs.

        place  the attribute or name

        While the graph is made, the value is kept apart where possible (in the workspace), so that other threads do not see it.
        """
        if self.outside.has(place):
            known = self.journal.touched.get(place.key)
            if self.world.can_keep(place, value) if known is None else getattr(known[0], "workspace", None) is not None:
                place = place.over(self.workspace)
            self.world.write_later(place, value)
        self.journal.write(place, value)

    def attribute(self, holder: Any, name: str, *default: Any) -> Any:
        """Return `getattr(holder, name, *default)`, with the values that the code that becomes the graph has written, which the object does
        not have yet.
        """
        if name == "__dict__":
            self.workspace.expose_all(holder)  # the attributes that are then read from the dict are not seen here
        return getattr(holder, name, *default) if self.journal.has_made(holder) else self.workspace.attribute(holder, name, *default)

    def touched_once(self, place: MutablePlace) -> None:
        """Record a change that the graph cannot repeat when it runs, such as deleting an attribute.  Call this before the change.

        place  the attribute or name that changes
        """
        self.world.refuse_write(place)
        self.journal.touch(place)

    def check_key(self, key: Any, loc: Loc) -> None:
        """Raise CompileError if the key of a dict or the element of a set is or contains a number that the graph computes: its hash is not
        known.

        loc  the place in the user's program, for the error
        """
        self.outside.unparsed.given(key)
        parts = key if isinstance(key, tuple) else (key,)
        if any(self.world.is_dynamic(part) and not self.world.is_tensor(part) for part in parts):
            raise errors.VALUE_NEEDED.at(loc, "a number that is not known while parsing is used as a key",
                                         help="use Python values as keys and as elements of sets, or choose with `if` and `elif`")

    def born(self, container: Any) -> Any:
        """Record that the user's code has just created a container, so that changes of it concern no other code.  Return the container."""
        self.journal.born(ContentsPlace(container))
        return container

    def is_late(self, value: Any) -> bool:
        """Return True if a value, or one inside of its containers, is known only when the graph runs."""
        if isinstance(value, (list, tuple, set)):
            return any(self.is_late(item) for item in value)
        if isinstance(value, dict):
            return any(self.is_late(item) for item in value.values())
        return self.world.is_dynamic(value) or isinstance(value, (RunTimeText, Chosen))
