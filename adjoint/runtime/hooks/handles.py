"""Hooks and their handles: functions in the order in which they run, and handles that remove them.

docs/hooks.md says what each kind of hook means; `firing` runs them.
"""

from __future__ import annotations

import functools
import itertools
import sys
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NamedTuple, Protocol

from adjoint.foundation.dataclass import dataclass
from adjoint.runtime.hooks.watchers import watchers
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.process.jitted import graphs_of
from adjoint.runtime.process.tracer import emitter

__all__ = [
    "CellHook", "CellHooks", "HookHandle", "Hooked", "Slots", "TensorHookHandle", "TensorHooks", "check_hook", "described", "ids",
    "register", "subject_of",
]


FileLine = tuple[str, int]
"""A file and a line in it."""


class _Ids:
    """Gives out the ids of hooks, which increase over all hooks of the process: so they tell which hook was registered first.

    last  the id given out last
    """

    def __init__(self) -> None:
        self._count = itertools.count()
        self.last = -1

    def next(self) -> int:
        self.last = next(self._count)
        return self.last


ids = _Ids()


def check_hook(hook_fn: object) -> None:
    """Raise TypeError if `hook_fn` is not callable, or is a compiled function."""
    if not callable(hook_fn):
        raise TypeError(f"Expected a callable hook function, but got {type(hook_fn).__name__}.")
    if graphs_of(getattr(hook_fn, "__func__", hook_fn)) is not None:
        raise TypeError(f"Decorating hook function {_name(hook_fn)} with '@jit' is not supported.")


class HookHandle:
    """What a program gets when it registers a hook.  `remove()`, or leaving a `with handle:` block, removes the hook; both may be done more
    than once.

    functions  the hooks of the place where it was registered, by id; the handle's own id is `handle_id`
    """

    def __init__(self, functions: HookList):
        graph = emitter()
        if graph is not None:
            raise graph.registered_inside()
        self.handle_id = ids.next()
        self._functions = weakref.ref(functions)

    def remove(self) -> None:
        """Remove the hook.  It does not run any more, not even in the rest of a pass that is under way."""
        graph = emitter()
        if graph is not None:
            raise graph.registered_inside()
        functions = self._functions()
        if functions is not None:
            for watcher in watchers:
                watcher.removed(functions, self.handle_id)
            functions.pop(self.handle_id, None)
            functions.places.pop(self.handle_id, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class TensorHookHandle(HookHandle):
    """The handle of a hook on a tensor, which `Tensor.register_hook` returns; `remove()` removes the hook."""


class HookList(dict[int, Any]):
    """Holds hook functions in the order in which they run, each under the id of its handle.

    places  for the id of a handle, the file and line that registered the hook; not pickled
    """

    __slots__ = ("__weakref__", "places")

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[int, FileLine] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (), None, None, iter(self.items())

    def add(self, hook: Any, handle: HookHandle, prepend: bool = False) -> None:
        if prepend:
            others = list(self.items())
            self.clear()
            self[handle.handle_id] = hook
            self.update(others)
        else:
            self[handle.handle_id] = hook

    def registered(self) -> tuple[Any, ...]:
        """Return the hooks registered now; another thread may register or remove one at any time."""
        return tuple(self.values())

    def firing(self, latest: int | None = None) -> Iterator[Any]:
        """Yield the hooks that are to run now.  A hook that is removed while the others run is left out.

        latest  the id of the last hook that may run: hooks registered later are skipped; None: all run
        """
        if watchers or len(self) > 1 or (latest is not None and latest != ids.last):
            return self._present(latest)
        return iter(self.registered())

    def _present(self, latest: int | None) -> Iterator[Any]:
        for key, hook in list(self.items()):
            if key in self and (latest is None or key <= latest):
                for watcher in watchers:
                    hook = watcher.called(self, key, hook)
                yield hook


class CellSlot(HookList):
    """Holds a cell's hooks of one kind.

    Graphs depend on whether a cell has such hooks.  So the epoch (the number that tells graphs of changes) moves when the first is added or
    the last removed.
    """

    __slots__ = ()

    def __setitem__(self, handle_id: int, hook: Any) -> None:
        filled = bool(self)
        super().__setitem__(handle_id, hook)
        if not filled:
            epoch.move(self)

    def pop(self, handle_id: int, *default: Any) -> Any:
        filled = bool(self)
        hook = super().pop(handle_id, *default)
        if filled and not self:
            epoch.move(self)
        return hook

    def clear(self) -> None:
        filled = bool(self)
        super().clear()
        if filled:
            epoch.move(self)


class TensorHooks:
    """Holds the backward hooks of one tensor.

    outside  the hooks that were registered on the tensor before the gradient that is being taken began; they run first
    """

    def __init__(self, outside: TensorHooks | None = None) -> None:
        self.functions, self.outside = HookList(), outside

    def firing(self) -> Iterator[Any]:
        """Yield the hooks in the order in which they run."""
        return self.functions.firing() if self.outside is None else itertools.chain(self.outside.firing(), self.functions.firing())

    def __bool__(self) -> bool:
        return bool(self.functions) or bool(self.outside)

    def register(self, hook_fn: Callable[[Any], Any]) -> TensorHookHandle:
        check_hook(hook_fn)
        handle = TensorHookHandle(self.functions)
        self.functions.add(hook_fn, handle)
        self.functions.places[handle.handle_id] = _place_of(sys._getframe(2))  # above `Tensor.register_hook`
        for watcher in watchers:
            watcher.registered(self.functions, handle.handle_id)
        return handle


@dataclass(frozen=True)
class CellHook:
    """A hook function of a cell, with the options with which it was registered.

    with_kwargs  True if it gets keyword arguments of the call, too
    always_call  True if it runs even if construct raises
    """

    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False


class Hooked(Protocol):
    """The attributes of a Cell that the code for hooks uses (a Protocol, so that it need not import Cell)."""

    @property
    def _cell_title(self) -> str: ...
    @property
    def _cell_hooks(self) -> CellHooks | None: ...


class Slots(NamedTuple):
    """Tells which kinds of hooks a cell has, in the order in which they run.

    forward_pre, forward, backward_pre, backward  True if at least one hook of this kind is registered
    """

    forward_pre: bool = False
    forward: bool = False
    backward_pre: bool = False
    backward: bool = False

    @staticmethod
    def of(cell: Hooked) -> Slots:
        """Return which kinds of hooks a cell has now."""
        hooks = cell._cell_hooks
        return _EMPTY if hooks is None else Slots(*(bool(getattr(hooks, name)) for name in Slots._fields))


_EMPTY = Slots()


class CellHooks:
    """Holds the hooks of a cell, one list for each kind in `Slots`."""

    __slots__ = Slots._fields

    forward_pre: CellSlot
    forward: CellSlot
    backward_pre: CellSlot
    backward: CellSlot

    def __init__(self) -> None:
        for name in Slots._fields:
            setattr(self, name, CellSlot())

    def __bool__(self) -> bool:
        """Return True if the cell has any hook.  It is written without a loop, for speed: each call of a hooked cell asks this."""
        return bool(self.forward_pre or self.forward or self.backward_pre or self.backward)

    @property
    def always_called(self) -> bool:
        """True if a forward hook is to run even if construct raises."""
        return any(hook.always_call for hook in self.forward.registered())

    def functions(self, slot: str) -> list[Any]:
        """Return the functions of the hooks of one kind.

        slot  the name of the kind, as in `Slots`
        """
        return [hook.function for hook in getattr(self, slot).registered()]

    def check_pickling(self, cell: Hooked) -> None:
        """Raise PicklingError for the first hook that cannot be pickled, naming it and its cell."""
        # Imported only for this check.
        import pickle

        for kind in Slots._fields:
            for hook in getattr(self, kind).registered():
                try:
                    pickle.dumps(hook)
                except Exception as problem:
                    raise pickle.PicklingError(
                        f"{subject_of(cell)} cannot be pickled: its {kind} hook {described(hook.function)} cannot ({problem}). "
                        "Remove the hook, or use a function of a module.") from problem

    def __deepcopy__(self, memo: dict[int, Any]) -> CellHooks:
        """Return the same functions in new lists.  A copied cell keeps its hooks, and removing one there does not affect the original."""
        copied = CellHooks()
        for slot in Slots._fields:
            getattr(copied, slot).update(getattr(self, slot))
            getattr(copied, slot).places.update(getattr(self, slot).places)
        return copied


def register(slot: HookList, hook_fn: Any, prepend: bool = False, **options: bool) -> HookHandle:
    """Add a function to a cell's hooks of one kind, and return the handle that removes it.

    slot     the cell's hooks of that kind
    prepend  True: it runs before the hooks that are there, not after them
    options  the other fields of CellHook

    TypeError if `hook_fn` is not callable, or is a jitted function.
    """
    check_hook(hook_fn)
    handle = HookHandle(slot)
    slot.add(CellHook(hook_fn, **options), handle, prepend)
    slot.places[handle.handle_id] = _place_of(sys._getframe(2))  # above the method of the Cell
    for watcher in watchers:
        watcher.registered(slot, handle.handle_id)
    return handle


def _place_of(frame: FrameType) -> FileLine:
    return frame.f_code.co_filename, frame.f_lineno


# -- names of hooks and cells in messages ------------------------------------------------------------------------------------
def described(hook_fn: Any) -> str:
    """Return a description of a hook function for messages, such as `clip at train.py:12`."""
    hook_fn = getattr(hook_fn, "__watched_hook__", hook_fn)
    name = _name(hook_fn)
    inner = hook_fn
    while isinstance(inner, functools.partial):
        inner = inner.func
    code = getattr(getattr(inner, "__func__", inner), "__code__", None) or getattr(type(inner).__call__, "__code__", None)
    return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code is not None else name


def _name(hook_fn: Any) -> str:
    return getattr(hook_fn, "__qualname__", type(hook_fn).__qualname__).rsplit("<locals>.", 1)[-1]


def subject_of(cell: Hooked) -> str:
    """Return a description of a cell for messages, such as `cell 'fc1' (Dense)`."""
    return f"cell '{cell._cell_title}' ({type(cell).__name__})"
