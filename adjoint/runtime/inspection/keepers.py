"""What keeps memory alive: the name in the user's program from which a tensor can be reached.

The search begins at the names of the program: variables of the functions that are running, and globals of its modules.  From there it
follows references, as the garbage collector does, nearest first.  What it does not find is searched from the names of other packages, then
from those of adjoint.  It looks at most objects of the process, which takes up to a second: it is done on request.
"""

from __future__ import annotations

import functools
import gc
import linecache
import os
import re
import sys
import types
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from adjoint.foundation import collector
from adjoint.foundation.diagnostics import is_of_python, is_ours
from adjoint.ir.core import Node
from adjoint.ir.op import Op
from adjoint.ir.types import DType, TensorType
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.hooks.handles import CellHooks, HookList
from adjoint.runtime.inspection.untouched import (
    attributes,
    entries,
    file_of_module,
    has_class,
    is_memory,
    local_variables,
    memory_of,
    module_of,
    name_of,
    parameter_name,
    slots,
    title_of,
    type_of,
    variables,
)
from adjoint.runtime.memory.early import EarlyMemory
from adjoint.runtime.memory.machine import ffi
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Kept", "kept_memory", "tensor_memory"]

_CYCLE = "a reference cycle, which Python's garbage collector has not found yet"

_ATOMS = (str, int, float, complex, bytes, types.CodeType, types.ModuleType, types.BuiltinFunctionType, re.Pattern, weakref.ref,
          TensorType, DType, Op, Node, range, np.dtype, np.generic, EarlyMemory)
"""Classes of objects that hold no memory of tensors, or, as graphs, much else; and the log of memory that is watched without a compiler."""


class Kept(NamedTuple):
    """Memory that is alive.

    type    the type of a tensor that has it; None if none has
    nbytes  its size
    keeper  a text: what keeps it alive
    """

    type: TensorType | None
    nbytes: int
    keeper: str


class _Root(NamedTuple):
    """A name from which the search begins.

    name  the name, of a variable
    file  the file of its program
    code  the function that has the variable; None for a module
    """

    name: str
    file: str
    code: types.CodeType | None


def tensor_memory() -> Iterator[Any]:
    """Yield the memory of each tensor of the process that the garbage collector knows."""
    for each in gc.get_objects():
        if has_class(each, Tensor) and is_memory(memory := memory_of(each)):
            yield memory


def kept_memory(addresses: set[int]) -> dict[int, Kept]:
    """Return for each of these addresses at which memory is alive what keeps it alive."""
    with collector.paused(lasting=False):
        return _kept_memory(addresses)


def _kept_memory(addresses: set[int]) -> dict[int, Kept]:
    search = _Search(addresses)
    found = {address: Kept(type_, nbytes, keeper) for address, type_, nbytes, keeper in search.found()}
    loose = search.loose()
    del search
    if loose:
        gc.collect()
        found.update((address, kept if reference() is not None else kept._replace(keeper=_CYCLE)) for address, kept, reference in loose)
    return found


class _Search:
    """Follows references from names, the nearest objects first.

    objects  the objects that were reached
    parents  for each of them the index of the one that leads there; for a root -1 - its index in `roots`
    """

    def __init__(self, addresses: set[int]):
        self.addresses = addresses
        self.objects: list[Any] = []
        self.parents: list[int] = []
        self.roots: list[_Root] = []
        self.memories: dict[int, int] = {}
        """For each address that is looked for, the index of its memory in `objects`."""
        self._seen: set[int] = {id(self), id(self.objects), id(self.parents), id(self.roots), id(self.memories), id(addresses)}
        self._queue: deque[int] = deque()
        self._modules: set[int] = set()
        frames = [frame for top in sys._current_frames().values() for frame in _outwards(top) if not is_ours[frame.f_code.co_filename]]
        self._hide(frames)
        modules = [(names, file_of_module(module), names.get("__name__") == "__main__") for module in list(sys.modules.values())
                   if has_class(module, types.ModuleType) and (names := attributes(module)) is not None]
        for mine in (True, False):
            for frame in frames:
                if _is_the_users(frame.f_code.co_filename) is mine:
                    self._variables(frame)
            for names, file, is_main in modules:
                file = file or ("<main>" if is_main else "<frozen >")
                if not is_ours[file] and _is_the_users(file) is mine:
                    self._globals(names, file)
            self._follow()
        for names, file, _ in modules:
            if is_ours[file]:
                self._globals(names, "")
        self._follow()

    def found(self) -> Iterator[tuple[int, TensorType | None, int, str]]:
        """Yield for each block that was reached its address, its type, its bytes, and the text."""
        for address, index in self.memories.items():
            path = [index]
            while (parent := self.parents[path[-1]]) >= 0:
                path.append(parent)
            root = self.roots[-1 - parent]
            objects = [self.objects[i] for i in reversed(path)]
            yield address, _type_of(objects), ffi.sizeof(objects[-1]), _text(root, objects)

    def loose(self) -> list[tuple[int, Kept, weakref.ref[Any]]]:
        """Return the blocks that no name leads to, as far as the garbage collector knows objects that refer to them."""
        missing, found = self.addresses - self.memories.keys(), list[tuple[int, Kept, weakref.ref[Any]]]()
        if not missing:
            return found
        for each in gc.get_objects():
            if id(each) in self._seen:
                continue
            for memory in gc.get_referents(each):
                if is_memory(memory) and (address := _address(memory)) in missing:
                    missing.remove(address)
                    text = f"a {name_of(type(each))} that no name of the program leads to"
                    found.append((address, Kept(_type_of([each, memory]), ffi.sizeof(memory), text), weakref.ref(memory)))
        return found

    def _hide(self, frames: Iterable[types.FrameType]) -> None:
        """Do not follow the frames themselves, which lead to variables without their names."""
        self._seen.update(map(id, frames))

    def _variables(self, frame: types.FrameType) -> None:
        code = frame.f_code
        if frame.f_locals is frame.f_globals or code.co_name == "<module>":
            self._globals(frame.f_globals, code.co_filename)
            return
        for name, value in local_variables(frame):
            self._begin(value, name, code.co_filename, code)
        self._globals(frame.f_globals, code.co_filename)

    def _globals(self, variables: Mapping[str, Any], file: str) -> None:
        if id(variables) not in self._modules:
            self._modules.add(id(variables))
            self._seen.add(id(variables))
            for name, value in entries(variables):
                if type(name) is str and not (name.startswith("__") and name.endswith("__")):
                    self._begin(value, name, file, None)

    def _begin(self, value: Any, name: str, file: str, code: types.CodeType | None) -> None:
        if has_class(value, _ATOMS) or id(value) in self._seen:
            return
        self.roots.append(_Root(name, file, code))
        self._reach(value, -len(self.roots))

    def _reach(self, value: Any, parent: int) -> None:
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        index = len(self.objects)
        self.objects.append(value)
        self.parents.append(parent)
        if is_memory(value):
            if (address := _address(value)) in self.addresses:
                self.memories.setdefault(address, index)
        else:
            self._queue.append(index)

    def _follow(self) -> None:
        while self._queue:
            index = self._queue.popleft()
            for value in self._referents(self.objects[index]):
                if not has_class(value, _ATOMS):
                    self._reach(value, index)

    def _referents(self, each: Any) -> Iterable[Any]:
        if has_class(each, types.FunctionType):
            file = each.__code__.co_filename
            if not is_ours[file] and _is_the_users(file):
                self._globals(each.__globals__, file)
            return *(each.__closure__ or ()), *gc.get_referents(each.__defaults__, each.__kwdefaults__), each.__dict__
        if has_class(each, type):
            file = _file_of(each)
            return [] if is_ours[file] or is_of_python(file) else list(variables(each).values())
        if has_class(each, np.ndarray):
            return [np.ndarray.base.__get__(each)]
        if has_class(each, memoryview):
            return [each.obj]
        return gc.get_referents(each)


def _outwards(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


@functools.lru_cache(4096)
def _is_the_users(file: str) -> bool:
    """Return True for a file of the user's program; False for one of Python or of an installed package."""
    return not (is_of_python(file) or f"-packages{os.sep}" in file or file.startswith("<frozen "))


def _address(memory: Any) -> int:
    return int(ffi.cast("uintptr_t", memory))


def _type_of(path: list[Any]) -> TensorType | None:
    return type_of(path[-2]) if len(path) > 1 and has_class(path[-2], Tensor) else None


# -- words --------------------------------------------------------------------------------------------------------------


class _Words:
    """Describes the way from a name to memory, step by step: what holds it, and what holds that.

    name    the names since `owner`, as Python writes them
    owner   a text: the function that has the variable, the Cell that has the attribute, ...
    place   the line that assigns the name
    around  what holds that
    holder  the list, tuple, dict or set that has the name; None if it is none
    """

    def __init__(self, root: _Root):
        self.root, self.name, self.place, self.around = root, root.name, _assigned(root), ""
        self.owner = f"`{root.code.co_qualname}`" if root.code else "" if root.file else "adjoint itself"
        self.holder: Any = None
        self._hooked = ""

    def __str__(self) -> str:
        name = self.name.removesuffix("[...]").lstrip(".")
        if not name:
            return (self.owner or "an object") + self.around
        if self.holder is not None and self.owner != "adjoint itself":
            kind = next(kind.__name__ for kind in _CONTAINERS if has_class(self.holder, kind))
            said = f"`{name}`{f' of {self.owner}' if self.owner else ''}, a {kind} of {_length(self.holder)}"
        else:
            said = f"{'the variable ' if name.isidentifier() else ''}`{name}`{f' of {self.owner}' if self.owner else ''}"
        return f"{said}{f' ({self.place})' if self.place else ''}{self.around}"

    def go(self, step: str, each: Any, above: Any) -> None:
        """Go on to an object.

        step   what leads there, as Python writes it
        above  the object from which it does
        """
        if not (step == "[...]" and (not self.name or self.name.endswith("[...]"))):
            self.name += step
            if step not in ("", "[...]"):
                self.holder = None
        if has_class(each, Cell):
            self._into(f"the Cell '{title_of(each)}'")
        elif has_class(each, Parameter):
            self._into(f"the Parameter '{parameter_name(each)}'")
        elif has_class(each, HookList):
            self._hooked = f", a hook of {self.owner}" if has_class(above, CellHooks) else ", a hook of a tensor"
        elif has_class(each, types.FunctionType) and not is_ours[each.__code__.co_filename]:
            code, name = each.__code__, self.name.lstrip(".")
            way = self._hooked or ("" if name in ("", code.co_name) else f", in {self}")
            self._into("", f", in the closure of `{each.__qualname__}` ({_file(code.co_filename)}:{code.co_firstlineno}){way}")
        elif has_class(each, types.FrameType):
            self._into(f"`{each.f_code.co_qualname}` ({_file(each.f_code.co_filename)}:{each.f_lineno}), in the traceback of an exception")
        elif has_class(each, Tape):
            self._into(f"the tape of a gradient, in {self}")
        elif module_of(type(each)).startswith("adjoint.runtime.graphs") and not self.owner.startswith("the graphs of"):
            self._into(f"the graphs of {self}")
        elif has_class(each, _CONTAINERS) and self.name and not self.name.endswith("[...]"):
            self.holder = each

    def _into(self, owner: str, around: str = "") -> None:
        self.name, self.owner, self.place, self.around, self.holder, self._hooked = "", owner, "", around, None, ""


_CONTAINERS = (list, tuple, dict, frozenset, set, deque)


def _text(root: _Root, path: list[Any]) -> str:
    """Return a text for the way from a name to memory."""
    words = _Words(root)
    for before, above, each in zip([None, None, *path], [None, *path], path[:-1], strict=False):
        step = "" if above is None else _step(above, each)
        words.go(f".{step[2:-2]}" if step.startswith("['") and above is attributes(before) else step, each, above)
    return str(words)


def _step(above: Any, each: Any) -> str:
    """Return what leads from an object to another in Python: `.name`, `['key']`, the name of a closure's variable; "" if it has no name."""
    if has_class(above, dict):
        key = next((key for key, value in entries(above) if value is each), None)
        return "[...]" if type(key) is not str else f"[{key!r}]"
    if has_class(above, (list, tuple, set, frozenset, deque)):
        return "[...]"
    if has_class(above, types.FunctionType):
        code, given = above.__code__, tuple.__getitem__(above.__defaults__ or (), slice(None))
        named = [*zip(code.co_freevars, above.__closure__ or (), strict=False), *entries(above.__kwdefaults__ or {}),
                 *zip(code.co_varnames[code.co_argcount - len(given) : code.co_argcount], given, strict=False)]
        return "" if is_ours[code.co_filename] else next((name for name, value in named if value is each), "")
    if has_class(above, types.FrameType):
        return next((name for name, value in local_variables(above) if value is each), "")
    if has_class(above, type):
        return next((f".{name}" for name, value in list(variables(above).items()) if value is each), "")
    if has_class(above, (types.CellType, Tape, Tensor)) or each is attributes(above):
        return ""
    if is_ours[_file_of(type(above))] and not has_class(above, Cell):
        return ""
    names = [name for name, value in (*entries(attributes(above) or {}), *slots(above)) if value is each and type(name) is str]
    return next((f".{name}" for name in names if not (has_class(above, Cell) and name.startswith("_"))), "")


def _file_of(kind: type) -> str:
    """Return the file of a class; "" if it is not known."""
    return file_of_module(sys.modules.get(module_of(kind)))


def _length(container: Any) -> int:
    """Return how many elements a container has, also of a class that has its own `__len__`."""
    return next(kind.__len__(container) for kind in _CONTAINERS if has_class(container, kind))


def _file(path: str) -> str:
    return path.rpartition("/")[2]


def _assigned(root: _Root) -> str:
    """Return the first line that assigns a variable, as `train.py:12`; without such a line the first one that has the name, "" if none has.
    """
    code, lines = root.code, linecache.getlines(root.file) if root.file else []
    first = code.co_firstlineno if code else 1
    last = max((line for _, _, line in code.co_lines() if line), default=first) if code else len(lines)
    word = rf"(?<![\w.]){re.escape(root.name)}\b"
    assigning = re.compile(rf"{word}\s*(?:,[^=(]*|:[^=]*)?=(?!=)")
    mentioned = [number for number, line in enumerate(lines[first - 1 : last], first) if re.search(word, line)]
    found = next((number for number in mentioned if assigning.search(lines[number - 1])), mentioned[0] if mentioned else 0)
    return f"{_file(root.file)}:{found}" if found else ""
