"""Names of the user's program for what an operator works on: the cell that runs, and the Parameter or variable that holds an operand.

Used for messages: a search looks at all objects of the process, or at all frames of the thread.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from adjoint.foundation.diagnostics import Derived, Loc, Within, is_of_python, is_ours
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.inspection.untouched import has_class, local_variables, memory_of, parameter_name, title_of, type_of
from adjoint.runtime.memory.machine import ffi
from adjoint.runtime.memory.watching import Observation
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["cell_of", "holder_of", "is_gradient", "made_in", "running_cell"]


def made_in(loc: Loc) -> Within:
    """Return what a node was made in, according to its location."""
    if not isinstance(loc, Derived):
        return loc.within
    found = [made_in(each) for each in loc.of]
    return next((each for each in found if each.cell), found[0] if found else Within())


def is_gradient(loc: Loc) -> bool:
    """Return True for the location of a node of a gradient."""
    return isinstance(loc, Derived) and (loc.kind == "grad" or any(map(is_gradient, loc.of)))


def running_cell() -> str:
    """Return the path of the innermost cell whose construct runs in this thread; "" if none does."""
    for frame in _frames():
        if frame.f_code.co_name == "construct" and frame.f_code.co_varnames[:1] == ("self",):
            cell = dict(local_variables(frame)).get("self")
            if has_class(cell, Cell):
                return title_of(cell)
    return ""


def cell_of(launched: Observation) -> str:
    """Return the path of the cell of an operator; "" if it has none."""
    return running_cell() if launched.node is None else made_in(launched.node.loc).cell


def holder_of(buffer: Any) -> str:
    """Return a text that names what holds the memory of an operand: a Parameter, or a variable of the user's program that is running.

    "" if neither does: then an operator has computed it.
    """
    address = _address(buffer)
    for each in gc.get_objects():
        if has_class(each, Parameter) and _holds(each, address):
            return f"the Parameter '{parameter_name(each)}'"
    for frame in _frames():
        code = frame.f_code
        if is_ours[code.co_filename] or is_of_python(code.co_filename):
            continue
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        for name, value in _tensors(local_variables(frame)):
            if _holds(value, address):
                kind = "argument" if name.partition("[")[0] in arguments else "variable"
                where = "" if code.co_name == "<module>" else f" of {code.co_qualname if sys.version_info >= (3, 11) else code.co_name}"
                return f"the {kind} '{name}'{where}"
    return ""


def _frames() -> Iterator[FrameType]:
    """Yield the frames of this thread, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _tensors(names: list[tuple[str, Any]]) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors among variables, and in their tuples, lists and dicts, each with a name."""
    for name, value in names:
        if has_class(value, Tensor):
            yield name, value
        elif type(value) in (tuple, list):
            yield from ((f"{name}[{i}]", x) for i, x in enumerate(value) if has_class(x, Tensor))
        elif type(value) is dict:
            yield from ((f"{name}[{key!r}]", x) for key, x in value.items() if has_class(x, Tensor))


def _holds(x: Tensor, address: int) -> bool:
    """Return True if the memory at an address is part of a tensor's memory."""
    memory, type_ = memory_of(x), type_of(x)
    if not isinstance(memory, ffi.CData) or type_ is None:  # a tensor of a graph has none
        return False
    begin = _address(memory)
    return begin <= address < begin + max(type_.nbytes, 1)


def _address(memory: Any) -> int:
    return int(ffi.cast("uintptr_t", memory))
