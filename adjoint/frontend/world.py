"""The interface through which the frontend uses the runtime.

The frontend knows Python; the runtime knows tensors, cells and parameters.  A value is *dynamic* if its numbers are known only when the
graph runs: a tensor, or a run-time number (the index of a loop, `int(x)`).  All other values are Python's, and are computed while parsing.
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
    """The kind of a dynamic value: it must be the same in two branches, and in all rounds of a loop.

    category  "tensor", or the Python type of a run-time number: "int", "float" or "bool"
    type      the type of the value in the IR; i64, f64 or bool for a number
    """

    category: str
    type: TensorType

    def __str__(self) -> str:
        return str(self.type) if self.category == "tensor" else f"a Python {self.category}"


class World(Protocol):
    """The function that is being lowered, as the frontend sees it; the runtime's `Lowering` implements this."""

    @property
    def builder(self) -> Builder:
        """The builder of the innermost open region, which receives new nodes."""
        ...

    @property
    def loc(self) -> Loc:
        """The place in the user's program that is being lowered."""
        ...

    @loc.setter
    def loc(self, loc: Loc) -> None: ...

    # values
    def kind(self, x: object) -> Kind | None:
        """Return the kind of a dynamic value or a Python number; None for any other object."""
        ...

    def is_dynamic(self, x: object) -> bool: ...

    def atom(self, x: Any) -> Atom:
        """Return the atom of a dynamic value or Python number in the open region.  For a tensor from outside, a read is emitted."""
        ...

    def atom_as(self, x: Any, kind: Kind) -> Atom:
        """Return the atom of a dynamic value or Python number in a given kind; a Python number may become a tensor."""
        ...

    def joins(self, number: Any, type_: TensorType) -> bool:
        """Return True if arithmetic of a Python number with tensors of this type keeps the dtype of the tensors."""
        ...

    def wrapped(self, kind: Kind, value: Value) -> Any:
        """Return the dynamic value that represents a value of the IR in Python code."""
        ...

    def hint(self, x: Any, name: str) -> None:
        """Name the value of the IR behind `x` after the first variable that it is assigned to."""
        ...

    def renamed(self, x: Any) -> Any:
        """Return a new tensor object with the current value of `x`."""
        ...

    def is_here(self, x: Any) -> bool:
        """Return True if `x` is a tensor of the graph whose value exists in the open region."""
        ...

    def truth(self, x: Any) -> bool | Atom:
        """Return the truth of `x`: a bool if it is known while parsing, otherwise an atom of type bool."""
        ...

    def number(self, category: str, x: Any) -> Any:
        """Return `int(x)`, `float(x)` or `bool(x)` of a dynamic value, as a run-time number."""
        ...

    def rows(self, x: Any) -> Sequence[Any]:
        """Return the slices of a tensor along its first axis.  Each has the tensor's values at the time when the slice is taken."""
        ...

    def is_tensor(self, x: object) -> bool: ...

    def index(self, key: Any) -> Any:
        """Return an index for a tensor, in which tensors replace run-time numbers."""
        ...

    def position(self, container: Any, index: Any) -> Any:
        """Return a dynamic index of a list, tuple or cell as a run-time number in range(len(container)).

        An index out of range or of a wrong type raises the error of eager mode: at once if that is known, otherwise when the graph runs.
        """
        ...

    def python_types(self, x: object) -> Sequence[type]:
        """Return the types that `type(x)` may give in eager mode: more than one for a tensor if a branch or a loop decides."""
        ...

    def place(self, x: object) -> Any:
        """Return the place (see `journal.MutablePlace`) that changes of `x` write, for a tensor of the graph or an object of the library.

        Return None for other values.
        """
        ...

    def is_outside(self, place: Any) -> bool:
        """Return True if a place that `place` returned belongs to the program around, False if it belongs to the graph."""
        ...

    # regions
    def is_outermost(self) -> bool:
        """Return True if the open region is that of the outermost function, or of the cell that is the graph."""
        ...

    def open(self) -> Builder:
        """Open a new region: nodes are emitted to it until `close`.  Return its builder."""
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
        """Return True for a cell that holds other cells by position and is indexed by the library."""
        ...

    def call_cell(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def is_library(self, function: object) -> bool:
        """Return True for a part of this package: its Python code runs unparsed, on dynamic values."""
        ...

    def parsed_function(self, function: object) -> Any:
        """Return the function that `jit` has wrapped; any other object is returned itself."""
        ...

    def check_call(self, function: object) -> None:
        """Raise CompileError for a function of the library whose effect a graph cannot repeat, such as setting a seed."""
        ...

    def convert(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a class of the library, such as `Tensor([x, y])` with dynamic values."""
        ...

    def of_each_run(self, found: Any) -> Any:
        """Return the result of unparsed code, in which values of the graph replace tensors that the code has created from numbers."""
        ...

    def is_region(self, x: object) -> bool:
        """Return True for a context manager that affects the nodes of its statements, such as `_no_grad`.  It is entered while they are
        lowered.
        """
        ...

    def new_cell(self, cls: type) -> Any:
        """Return a new cell, on which `__init__` was not called.  The graph keeps it, so it must be the same in all calls."""
        ...

    def initialise(self, cell: Any, init: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Call an `__init__` of the library on a new cell."""
        ...

    def check_parts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise CompileError if a new cell would hold a cell or a Parameter from outside, since it would change their names."""
        ...

    def store_attribute(self, holder: Any, name: str, value: Any) -> bool:
        """Emit the write for `holder.name = value` and return True, if the attribute is a Parameter; otherwise return False."""
        ...

    # effects
    @property
    def raises_late(self) -> bool:
        """True if an exception that Python raises while parsing must be raised by the graph when it runs.

        That is so if the place may not be reached, or if effects come before it (prints, writes, hooks, random draws).
        """
        ...

    def effect(self, name: str, function: Callable[..., Any], values: Sequence[Any], *, shows: bool = False) -> None:
        """Emit a node that calls `function(*values)` when the graph runs, in order with the other effects, with real tensors and numbers.

        shows  True if the function only shows the values: then it runs no user code if they are tensors, numbers and text
        """
        ...

    # Python state outside
    def can_keep(self, place: Any, value: Any) -> bool:
        """Return True if the write of an outside attribute or name can stay in the workspace of the lowering.

        That requires that the write runs no code but Python's own, and changes only the value of the place.
        """
        ...

    def keep_attributes(self, holder: Any, values: dict[str, Any]) -> None:
        """Let library code, which is not parsed, read these attribute values of `holder` instead of its own.

        values  the written attributes by name; parsed code adds to this dict later
        """
        ...

    def expose(self) -> None:
        """Call this before a value of the lowering is put into an object of the program around, where other threads can see it."""
        ...

    def saw(self, place: Any, value: Any, is_own: bool) -> None:
        """Record the value that the first read of an attribute or a name found.  The guards compare with it.

        is_own  False if the object inherits the attribute from its class
        """
        ...

    def can_write(self, value: Any) -> bool:
        """Return True if a run of the graph can store a value in an outside attribute or name."""
        ...

    def write_later(self, place: Any, value: Any) -> bool:
        """Emit the write of an outside attribute or name, before parsed code makes it.  Return False if the graph cannot store the value.
        """
        ...

    def is_written_later(self, place: Any) -> bool:
        """Return True if the graph makes all changes of a place when it runs."""
        ...

    def refuse_write(self, place: Any) -> None:
        """Record that a place is changed in a way that a run of the graph cannot repeat."""
        ...

    # guards
    def read_name(self, namespace: dict[str, Any], name: str) -> None: ...

    def read_closure(self, cell: CellType) -> None: ...

    def read_attribute(self, holder: object, name: str) -> None: ...

    def read_object(self, x: object) -> None:
        """Record that Python code is about to use `x`: a user's object, a tensor from outside, or a cell that is a sequence."""
        ...

    def read_outcome(self, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
        """Record the result of a Python function for objects from outside.  A different result leads to a different graph."""
        ...

    def read_identity(self, x: object) -> None:
        """Record that the graph returns the object `x` itself: another object with the same contents would be wrong."""
        ...

    def read_contents(self, container: object) -> None:
        """Record that the body reads the contents of an outside container, which hooks may have changed since it was found."""
        ...

    def read_count(self) -> int:
        """Return the number of reads recorded so far."""
        ...

    def unread(self, since: int, until: int) -> None:
        """Drop the recorded reads from number `since` to `until`, because nothing depends on them."""
        ...

    def call_depth(self) -> int:
        """Return the limit for the depth of nested calls."""
        ...
