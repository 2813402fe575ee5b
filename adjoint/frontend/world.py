"""The interface by which the frontend uses the runtime.

The frontend knows Python; the runtime knows tensors, cells and parameters.  A value is *dynamic* when its numbers are
known only when the graph runs: a tensor, or a run-time number (an index of a loop, `int(x)`).  Everything else is Python's
and is computed while parsing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType
from typing import Any, Protocol

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import Loc
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Region, Value
from adjoint.ir.op import Op
from adjoint.ir.types import TensorType

__all__ = ["Kind", "World"]


@dataclass(frozen=True)
class Kind:
    """The kind of a dynamic value: two branches, or the rounds of a loop, must agree on it.

    category  "tensor", or the Python type of a run-time number: "int", "float", "bool"
    type      of the value in the IR; i64, f64 or bool for a number
    """

    category: str
    type: TensorType

    def __str__(self) -> str:
        return str(self.type) if self.category == "tensor" else f"a Python {self.category}"


class World(Protocol):
    """One function being lowered."""

    @property
    def builder(self) -> Builder:
        """The builder of the innermost open region, to which nodes are emitted."""
        ...

    @property
    def loc(self) -> Loc:
        """The place in the user's program that is being lowered."""
        ...

    @loc.setter
    def loc(self, loc: Loc) -> None: ...

    # values
    def kind(self, x: object) -> Kind | None:
        """Return the kind of a dynamic value, or of a Python number; None for all else."""
        ...

    def is_dynamic(self, x: object) -> bool: ...

    def atom(self, x: Any) -> Atom:
        """Return the atom of a dynamic value or Python number in the open region; a tensor from outside is read."""
        ...

    def atom_as(self, x: Any, kind: Kind) -> Atom:
        """Return the same in a given kind: a Python number as a tensor."""
        ...

    def joins(self, number: Any, type_: TensorType) -> bool:
        """Return whether arithmetic of a Python number with tensors of a type keeps their dtype."""
        ...

    def wrapped(self, kind: Kind, value: Value) -> Any:
        """Return a value of the IR as a dynamic value for Python code."""
        ...

    def hint(self, x: Any, name: str) -> None:
        """Name the value of the IR behind `x` after the first variable that it is assigned to."""
        ...

    def renamed(self, x: Any) -> Any:
        """Return another tensor object with the numbers that `x` has now."""
        ...

    def is_here(self, x: Any) -> bool:
        """Return whether `x` is a tensor of the graph that has a value in the open region."""
        ...

    def truth(self, x: Any) -> bool | Atom:
        """Return whether `x` is true: known, or a bool of the IR."""
        ...

    def number(self, category: str, x: Any) -> Any:
        """Return `int(x)`, `float(x)` or `bool(x)` of a dynamic value, as a run-time number."""
        ...

    def rows(self, x: Any) -> Sequence[Any]:
        """Return the slices of a tensor along its first axis, each with the numbers at the time when it is taken."""
        ...

    def is_tensor(self, x: object) -> bool: ...

    def index(self, key: Any) -> Any:
        """Return an index of a tensor, with run-time numbers as tensors."""
        ...

    def position(self, container: Any, index: Any) -> Any:
        """Return a dynamic index of a list, tuple or cell as a run-time number in range(len(container)).

        An index out of range or of a wrong type raises as in eager mode: now if that is known, else when the graph runs.
        """
        ...

    def python_types(self, x: object) -> Sequence[type]:
        """Return what `type(x)` may give in eager mode: several types for a tensor where a branch or a loop decides."""
        ...

    def place(self, x: object) -> Any:
        """Return the place (see `journal.MutablePlace`) that a change of `x` writes, for a tensor of the graph or an object of the library.

        None for other values.
        """
        ...

    def is_outside(self, place: Any) -> bool:
        """Return whether a place that `place` has returned belongs to the program around, and not to the graph."""
        ...

    # regions
    def is_outermost(self) -> bool:
        """Return whether the open region is that of the outermost function, or of the cell that is the graph."""
        ...

    def open(self) -> Builder:
        """Begin a region: nodes are emitted to it until `close`."""
        ...

    def reopen(self, builder: Builder) -> None: ...

    def close(self) -> Builder: ...

    def emit_region(self, op: Op, operands: Sequence[Atom], regions: Sequence[Region], hints: Sequence[str]) -> Sequence[Value]: ...

    # what Python objects are
    def is_cell(self, x: object) -> bool: ...

    def is_cell_class(self, cls: type) -> bool: ...

    def part_of_cells(self, cells: Any, part: slice) -> Any:
        """Return `cells[part]`, a new cell."""
        ...

    def is_cells(self, x: object) -> bool:
        """Return whether it is a cell that holds others by position, and that the library indexes."""
        ...

    def call_cell(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def is_library(self, function: object) -> bool:
        """Return whether it is part of this package: its Python runs unparsed, on dynamic values."""
        ...

    def parsed_function(self, function: object) -> Any:
        """Return the function that `jit` has wrapped; any other object itself."""
        ...

    def check_call(self, function: object) -> None:
        """Raise CompileError for a function of the library whose effect a graph cannot repeat, such as setting a seed."""
        ...

    def convert(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a class of the library: `Tensor([x, y])` of dynamic values, ..."""
        ...

    def of_each_run(self, found: Any) -> Any:
        """Return what unparsed code has returned, with values of the graph for the tensors that the code has made of numbers."""
        ...

    def is_region(self, x: object) -> bool:
        """Whether `with x:` is about the nodes that its statements become: `_no_grad`.  It is entered while these are lowered."""
        ...

    def new_cell(self, cls: type) -> Any:
        """Return a new cell, before its `__init__`.  The graph keeps it, so nothing of it may differ from call to call."""
        ...

    def initialise(self, cell: Any, init: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Call an `__init__` of the library on a new cell."""
        ...

    def check_parts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise CompileError if a new cell would hold a cell or a Parameter from outside: it would name these."""
        ...

    def store_attribute(self, holder: Any, name: str, value: Any) -> bool:
        """Run `holder.name = value` if the attribute is a Parameter, which is written when the graph runs.  Return whether it is."""
        ...

    # effects
    @property
    def raises_late(self) -> bool:
        """Whether the graph must raise an exception of Python's when it runs: it may not be reached, or effects come before it
        (prints, writes, hooks, random draws)."""
        ...

    def effect(self, name: str, function: Callable[..., Any], values: Sequence[Any], *, shows: bool = False) -> None:
        """Call `function(*values)` when the graph runs, in its place among the effects, on real tensors and numbers.

        shows  True if it only shows the values: it runs none of the user's code if these are tensors, numbers and text
        """
        ...

    # Python state outside
    def can_keep(self, place: Any, value: Any) -> bool:
        """Return whether a write of an attribute or a name outside can stay in the lowering: no code but that of Python's own runs by it,
        and all that it changes is what the place holds.
        """
        ...

    def keep_attributes(self, holder: Any, values: dict[str, Any]) -> None:
        """Let the library's code, which is not parsed, find these attributes in `holder` in place of its own.  Parsed code adds to them."""
        ...

    def expose(self) -> None:
        """Call this before a value of the lowering is put into an object of the program around, where other threads can see it."""
        ...

    def saw(self, place: Any, value: Any, is_own: bool) -> None:
        """Record what the first read of an attribute or a name has found: the guards compare with that.

        is_own  False if the object has it of its class
        """
        ...

    def can_write(self, value: Any) -> bool:
        """Return whether a run of the graph can put a value in an attribute or a name outside."""
        ...

    def write_later(self, place: Any, value: Any) -> bool:
        """Emit the write of an attribute or a name outside, which is about to be made.  Return whether the graph can write it."""
        ...

    def is_written_later(self, place: Any) -> bool:
        """Return whether the graph makes all changes of a place when it runs."""
        ...

    def refuse_write(self, place: Any) -> None:
        """Record that a place is changed in a way that a run cannot repeat."""
        ...

    # guards
    def read_name(self, namespace: dict[str, Any], name: str) -> None: ...

    def read_closure(self, cell: CellType) -> None: ...

    def read_attribute(self, holder: object, name: str) -> None: ...

    def read_object(self, x: object) -> None:
        """Record that Python itself is about to use `x`: an object of the user's, a tensor from outside, a cell that is a sequence."""
        ...

    def read_outcome(self, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
        """Record what a function of Python's returns for objects from outside: another outcome makes another graph."""
        ...

    def read_identity(self, x: object) -> None:
        """Record that the graph returns `x` itself: another object with the same contents would be wrong."""
        ...

    def read_contents(self, container: object) -> None:
        """Record that the body looks at what is in a container from outside: hooks may have changed it since it was found."""
        ...

    def read_count(self) -> int:
        """Return how many reads have been recorded."""
        ...

    def unread(self, since: int, until: int) -> None:
        """Drop the reads between two counts: nothing depends on them."""
        ...

    def call_depth(self) -> int:
        """Return how deep calls may be nested."""
        ...
