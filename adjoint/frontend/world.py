"""What the frontend asks of the world that it lowers for.

The frontend knows Python; what a tensor, a cell or a parameter is, the runtime says.  A value is *dynamic* when its numbers are
known only when the graph runs: a tensor, or a run-time number (an index of a loop, `int(x)`).  Everything else is Python's
and is computed while parsing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CellType
from typing import Any, Protocol

from adjoint.diagnostics import Loc
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Region, Value
from adjoint.ir.op import Op
from adjoint.ir.types import TensorType

__all__ = ["Kind", "World"]


@dataclass(frozen=True)
class Kind:
    """What a dynamic value is: two branches, or the rounds of a loop, must agree on it.

    category  "tensor", or the Python type of a run-time number: "int", "float", "bool"
    type      of the value in the IR; i64, f64 or bool for a number
    """

    category: str
    type: TensorType

    def __str__(self) -> str:
        return str(self.type) if self.category == "tensor" else f"a Python {self.category}"


class World(Protocol):
    """One function being lowered."""

    builder: Builder
    """Where nodes go now: that of the innermost open region."""

    loc: Loc
    """The place of what is being lowered."""

    # values
    def kind(self, x: object) -> Kind | None:
        """What a dynamic value, or a Python number that may become one, is; None for all else."""
        ...

    def is_dynamic(self, x: object) -> bool: ...

    def atom(self, x: Any) -> Atom:
        """A dynamic value or Python number as the IR sees it here; a tensor from outside is read."""
        ...

    def atom_as(self, x: Any, kind: Kind) -> Atom:
        """The same, in a kind: a Python number as a tensor."""
        ...

    def joins(self, number: Any, type_: TensorType) -> bool:
        """Whether a Python number computes with tensors of a type in their dtype."""
        ...

    def wrapped(self, kind: Kind, value: Value) -> Any:
        """A value of the IR as the dynamic value that Python handles."""
        ...

    def renamed(self, x: Any) -> Any:
        """Another tensor object with the numbers that `x` has now."""
        ...

    def is_here(self, x: Any) -> bool:
        """Whether `x` is a tensor of the graph that has a value in the region that is open now."""
        ...

    def truth(self, x: Any) -> bool | Atom:
        """Whether `x` is true: known, or a bool of the IR."""
        ...

    def number(self, category: str, x: Any) -> Any:
        """`int(x)`, `float(x)` or `bool(x)` of a dynamic value, as a run-time number."""
        ...

    def rows(self, x: Any) -> list[Any]:
        """The slices of a tensor's first axis."""
        ...

    def is_tensor(self, x: object) -> bool: ...

    def index(self, key: Any) -> Any:
        """A key of a tensor, with run-time numbers as tensors."""
        ...

    def position(self, container: Any, index: Any) -> Any:
        """A dynamic index of a list, tuple or cell as a run-time number in range(len(container)), counted from the front.

        What eager mode raises for an index that does not do, now if that is known, else when the graph runs.
        """
        ...

    def python_type(self, x: object) -> type:
        """What `type(x)` gives: the type that the user knows."""
        ...

    def place(self, x: object) -> Any:
        """What a change of `x` replaces, where `x` is a tensor of the graph, or an object of the library that its methods may change:
        something with `key`, `get` and `set`.  None for other values.
        """
        ...

    def is_outside(self, place: Any) -> bool:
        """Whether what `place` has given belongs to the program around, and not to the graph."""
        ...

    # regions
    def is_outermost(self) -> bool:
        """Whether the region that is open now is that of the function, or of the cell alone, which is made into a graph."""
        ...

    def open(self) -> Builder:
        """Begin a region: nodes go into it until `close`."""
        ...

    def reopen(self, builder: Builder) -> None: ...

    def close(self) -> Builder: ...

    def emit_region(self, op: Op, operands: Sequence[Atom], regions: Sequence[Region], hints: Sequence[str]) -> Sequence[Value]: ...

    # what Python objects are
    def is_cell(self, x: object) -> bool: ...

    def is_cell_class(self, cls: type) -> bool: ...

    def is_cells(self, x: object) -> bool:
        """Whether it is a cell that holds others by position, and is indexed by the library."""
        ...

    def call_cell(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def is_library(self, function: object) -> bool:
        """Whether it is part of this package: its Python runs as it is, on dynamic values."""
        ...

    def parsed_function(self, function: object) -> Any:
        """The function that a compiled one (`jit`) was made of; otherwise what was given."""
        ...

    def check_call(self, function: object) -> None:
        """CompileError for a function of the library that does what a graph would not do again, such as setting a seed."""
        ...

    def convert(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A class of the library, called: `Tensor([x, y])` of dynamic values, ..."""
        ...

    def is_region(self, x: object) -> bool:
        """Whether `with x:` is about the nodes that its statements become: `_no_grad`.  It is entered while these are lowered."""
        ...

    def new_cell(self, cls: type) -> Any:
        """A cell that parsed code makes, before its `__init__`.  The graph keeps it: nothing of it may change from call to call."""
        ...

    def initialise(self, cell: Any, init: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Call an `__init__` of the library on such a cell."""
        ...

    def check_parts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """CompileError if such a cell may come to hold a cell or a Parameter that was there before: it would name these."""
        ...

    def store_attribute(self, holder: Any, name: str, value: Any) -> bool:
        """`holder.name = value`, if it is a Parameter that is written when the graph runs."""
        ...

    # effects
    @property
    def raises_late(self) -> bool:
        """Whether an exception of Python's belongs into the run: it is not certain to be reached, or something that the world
        sees (prints, writes, hooks, random draws) comes before it."""
        ...

    def effect(self, name: str, function: Callable[..., Any], values: Sequence[Any]) -> None:
        """`function(*values)` when the graph runs, in its place among the effects, on real tensors and numbers."""
        ...

    # guards
    def read_name(self, namespace: dict[str, Any], name: str) -> None: ...

    def read_closure(self, cell: CellType) -> None: ...

    def read_attribute(self, holder: object, name: str) -> None: ...

    def read_object(self, x: object) -> None:
        """Python is about to use `x` by itself: an object of the user's, a tensor from outside, a cell that is a sequence."""
        ...

    def read_identity(self, x: object) -> None:
        """`x` itself goes out of the graph: another one with the same contents would not do."""
        ...

    def read_count(self) -> int:
        """How many reads have been recorded."""
        ...

    def unread(self, since: int, until: int) -> None:
        """Forget the reads between two counts: nothing depends on them."""
        ...

    def call_depth(self) -> int:
        """How deep calls may be nested."""
        ...
