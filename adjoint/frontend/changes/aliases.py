"""One object under two names, where a tensor decides which object a name refers to.

    y = a if c else b      `y` is the tensor `a` on one path, `b` on the other
    y[0] = 1               which of them is written?

Here a merged tensor or list is a separate object; in Python it is one of the two that were merged.  Only a write in place shows the
difference.  So the candidates of each merged object are recorded (its *origins*).  A write in place is refused if a name leads to another
object that may be the same as the written one.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.changes.journal import CONTAINERS
from adjoint.frontend.changes.workspace import Workspace
from adjoint.frontend.values.frame import UNBOUND, Closure, Frame
from adjoint.frontend.world import World

__all__ = ["MUTATORS", "Aliases", "is_full"]

MUTATORS = frozenset({
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault", "popitem", "add", "discard",
    "difference_update", "intersection_update", "symmetric_difference_update", "__setitem__", "__delitem__", "__iadd__", "__imul__",
    "__ior__", "__iand__", "__ixor__", "__isub__", "appendleft", "extendleft", "popleft", "rotate", "move_to_end", "subtract", "fill",
    "put", "partition", "resize", "byteswap", "frombytes", "fromlist", "copyto", "place", "putmask", "put_along_axis", "fill_diagonal",
})
"""Methods that change their container, and NumPy's functions that change their first argument."""


class Aliases:
    """Records which objects may be the same object, since a branch or a loop of the graph decides that.  It refuses writes in place that
    would then give wrong results.  There is one for each graph that is made.

    world      the interface to the runtime, which makes the nodes
    workspace  keeps what the code that becomes the graph writes to attributes and names from outside
    frame      a function that returns the frame of the running call, which holds its variables
    given      the arguments of the outermost call, which the caller can still see
    at_end     functions that break reference cycles; they are called when the graph has been made
    """

    def __init__(self, world: World, frame: Callable[[], Frame | None], workspace: Workspace):
        self.world, self.frame, self._workspace = world, frame, workspace
        self.given: list[Any] = []
        self._origins: dict[int, dict[int, Any]] = {}
        self._made_of: dict[int, set[int]] = {}
        """For the `id` of each object that another one was merged from: the `id`s of all objects that may be the same object."""
        self._merged: dict[int, list[Any]] = {}
        """For the `id` of each merged object: the objects that it was merged from."""
        self._kept: list[Any] = []
        self.at_end: list[Callable[[], None]] = []
        """Functions without arguments that break reference cycles; they are called when the graph has been made."""

    def may_be(self, made: Any, *others: Any) -> None:
        """Record that `made` may be the same object as any of `others`.  A write in place to one could then change another, and is refused
        where the graph would give a wrong result.
        """
        if not self._counts(made):
            return
        origins = self._origins.get(id(made))
        if origins is None:
            origins = self._origins[id(made)] = {}
            self._kept.append(made)
        for x in others:
            if self._counts(x) and x is not made:
                origins.update(self._of(x))
        for origin in origins:
            self._made_of.setdefault(origin, set()).add(id(made))

    def merged(self, made: Any, *others: Any) -> None:
        """Record that `made` is, when the graph runs, one of the objects `others`: a branch or a round of a loop decides which one.
        `merged_from` returns them.
        """
        self.may_be(made, *others)
        if self._counts(made):
            self._merged.setdefault(id(made), []).extend(others)

    def merged_from(self, x: Any) -> list[Any]:
        """Return the candidates for the tensor `x`, if it was merged from the values of several branches or rounds: the tensors of which it
        is one.

        Return an empty list for a tensor that is not merged.
        """
        return [part for part in self._parts_of(x).values() if self.world.is_tensor(part)]

    def is_known_apart(self, a: Any, b: Any) -> bool:
        """Return True if `a is b` has one answer, known while the graph is made; False if a branch or a loop of the graph decides it."""
        first, second = self._parts_of(a), self._parts_of(b)
        return not (first or second) or a is b or {id(a), *first}.isdisjoint({id(b), *second})

    def _parts_of(self, x: Any) -> dict[int, Any]:
        """Return the candidates for the object `x`, by `id`, if it was merged from the values of several branches or rounds: the objects of
        which it is one.

        If these are merged themselves, their candidates are included.  Return an empty dict if `x` is not merged.
        """
        found: dict[int, Any] = {}
        pending = [*self._merged.get(id(x), ())]
        while pending:
            part = pending.pop()
            if id(part) not in found and self._counts(part):
                found[id(part)] = part
                pending += self._merged.get(id(part), ())
        return found

    def write(self, x: Any) -> None:
        """Check that `x`, a tensor or a container, may be written in place.

        CompileError if a variable or an attribute leads to another object that may be the same as `x`: whether it changes too is not known.
        """
        if not self._origins or not self._counts(x):
            return
        mine = self._of(x)
        outside = next((o for o in mine.values() if o is not x and self._is_outside(o)), None)
        if outside is not None:
            self._refuse(x, "a tensor from outside the function")
        others = mine.keys() | {made for origin in mine for made in self._made_of.get(origin, ())}
        if others == {id(x)}:
            return  # fast path for most writes: no need to walk all objects that names lead to
        for other, name in self._reachable():
            if other is not x and id(other) in others:
                self._refuse(x, name)

    def _refuse(self, x: Any, name: str) -> None:
        kind = "tensor" if self.world.is_tensor(x) else type(x).__name__
        copied = "take a copy before the write: `y = y.copy()`" if self._is_outside(x) else "write into a copy: `y = y.copy()`"
        raise errors.ONE_OR_ANOTHER.at(
            self.world.loc,
            f"this {kind} is written in place, and may be the same object as {name}: that is known only when the graph runs",
            help=copied if kind == "tensor" else f"write into a copy: `{kind}(..)`")

    def _counts(self, x: Any) -> bool:
        """Return True if aliases of `x` must be known: its type can be written in place, since it is a container or a tensor."""
        return isinstance(x, CONTAINERS) or self.world.is_tensor(x)

    def _of(self, x: Any) -> dict[int, Any]:
        return {id(x): x, **self._origins.get(id(x), {})}

    def _is_outside(self, x: Any) -> bool:
        return self.world.is_tensor(x) and self.world.place(x) is None

    def _reachable(self) -> Iterator[tuple[Any, str]]:
        """Yield every tensor and container that variables or attributes lead to, each with a name for a message.

        The search begins with the open calls and the arguments of the outermost one.
        """
        seen: set[int] = set()
        pending: list[tuple[Any, str]] = [(x, "an argument, which belongs to the caller") for x in self.given]
        frame = self.frame()
        while frame is not None:
            pending.append((frame, ""))
            frame = frame.caller
        while pending:
            x, name = pending.pop()
            if id(x) in seen or x is UNBOUND:
                continue
            seen.add(id(x))
            if self._counts(x):
                yield x, name
            pending.extend((part, label or name) for part, label in self._parts(x))

    def _parts(self, x: Any) -> Iterable[tuple[Any, str]]:
        match x:
            case Frame():
                cells = [(self._workspace.variable(cell), f"`{name}`") for name, cell in x.cells.items() if is_full(cell)]
                own = [(value, f"`{name}`") for name, value in x.names.items()]
                return [*own, *cells, *([] if x.outer is None else [(x.outer, "")])]
            case Closure():
                defaults = [(p.default, "a default value") for p in x.__signature__.parameters.values()]
                return [(x.__frame__, ""), *defaults, *((value, "") for value in vars(x).values())]
            case functools.partial():
                return [(part, "") for part in (x.func, *x.args, *x.keywords.values())]
            case types.MethodType():
                return [(x.__self__, "")]
            case list() | tuple() | set() | deque():
                return [(item, "") for item in x]
            case dict():
                return [(item, "") for item in x.values()]
        if self.world.is_tensor(x) or self.world.is_cell(x) or isinstance(x, (type, types.ModuleType, types.FunctionType)):
            return []
        return [(item, "") for item in (*getattr(x, "__dict__", {}).values(), *self._workspace.values_of(x))]


def is_full(cell: types.CellType) -> bool:
    """Return True if the closure cell of a variable of an enclosing function holds a value other than None."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
