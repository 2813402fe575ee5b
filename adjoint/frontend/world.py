"""The interface through which the frontend uses the runtime.

The frontend knows Python; the runtime knows tensors, cells and parameters.  A value is *dynamic* if its numbers are known only when the
graph runs: a tensor, or a run-time number (the index of a loop, `int(x)`).  All other values are Python's, and are computed while parsing.

Words that are used below:

    atom         a value or a literal of the IR
    region       a nested list of nodes in the IR, such as a branch of an `if`; new nodes go to the innermost one that is open
    parsed code  the user's code whose syntax tree the frontend runs; Python runs all other code itself, unparsed
    outside      what existed before the function was called, or does not belong to the graph
    guard        a condition that is checked at each later call; if it fails, another graph is made
    workspace    keeps the values that parsed code writes to attributes and names from outside, while the graph is made
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
    """Says what type a tensor or a number that the graph computes has.  Values can be merged after two branches, or carried through the
    rounds of a loop, only if their kinds agree.

    category  "tensor", or the Python type of a number: "int", "float" or "bool"
    type      the type of the value in the IR; i64, f64 or bool for a number
    """

    category: str
    type: TensorType

    def __str__(self) -> str:
        return str(self.type) if self.category == "tensor" else f"a Python {self.category}"


class World(Protocol):
    """Represents the graph that is being made, and what the runtime knows of tensors and cells.  All parts of the frontend call it; the
    runtime's `Lowering` implements it.
    """

    @property
    def builder(self) -> Builder:
        """Return the builder of the innermost open region (nested list of nodes).  It receives new nodes."""
        ...

    @property
    def loc(self) -> Loc:
        """The place in the user's program that is being turned into nodes.  New nodes and errors refer to it."""
        ...

    @loc.setter
    def loc(self, loc: Loc) -> None: ...

    def enter_call(self) -> Any:
        """Note that the place `loc` calls a function whose nodes follow; return what `leave_call` takes at the end of the call."""
        ...

    def leave_call(self, around: Any) -> None: ...

    # values
    def kind(self, x: object) -> Kind | None:
        """Return the kind (tensor, int, float or bool, with its IR type) of a tensor or a number, whether Python's or the graph's.

        Return None for any other object.
        """
        ...

    def is_dynamic(self, x: object) -> bool: ...

    def atom(self, x: Any) -> Atom:
        """Return the value or literal of the IR for the tensor or number `x`, for use where new nodes are added now.

        For a tensor from outside of the function, a node that reads it is emitted.
        """
        ...

    def atom_as(self, x: Any, kind: Kind) -> Atom:
        """Return the value or literal of the IR for the tensor or number `x`, converted to `kind`: to its type, and a number to a tensor if
        `kind` is that of a tensor.
        """
        ...

    def joins(self, number: Any, type_: TensorType) -> bool:
        """Return True if a Python number can become a tensor of a given type: arithmetic of both keeps the dtype, and the dtype can hold
        the number.

        type_  the type of the tensor
        """
        ...

    def wrapped(self, kind: Kind, value: Value) -> Any:
        """Return the tensor or number that represents a value of the IR in the user's code.

        kind  whether it is a tensor or a number, with its type
        """
        ...

    def hint(self, x: Any, name: str) -> None:
        """Give the value of the IR for which `x` stands the name of the first variable that it is assigned to, so that the printed IR is
        readable.
        """
        ...

    def renamed(self, x: Any) -> Any:
        """Return a new tensor object with the current value of the tensor `x`.  Writes in place to one of the two do not change the other.
        """
        ...

    def is_here(self, x: Any) -> bool:
        """Return True if `x` is a tensor of the graph whose value can be used where new nodes are added now.

        A tensor made inside a branch cannot be used after the branch.
        """
        ...

    def truth(self, x: Any) -> bool | Atom:
        """Return the truth of `x`: a Python bool if it is known while the graph is made, otherwise a bool value of the IR."""
        ...

    def number(self, category: str, x: Any) -> Any:
        """Convert a tensor or a number of the graph to a run-time number (one that the graph computes), as `int(x)`, `float(x)` or
        `bool(x)` do.

        category  the Python type of the result: "int", "float" or "bool"
        """
        ...

    def rows(self, x: Any) -> Sequence[Any]:
        """Return the rows of a tensor (its slices along the first axis) as a sequence; each row is computed, with the tensor's values of
        that time, when it is taken.
        """
        ...

    def is_tensor(self, x: object) -> bool: ...

    def index(self, key: Any) -> Any:
        """Return an index for a tensor, in which tensors replace numbers that the graph computes.

        key  the index as the user has written it; a tuple for several axes
        """
        ...

    def position(self, container: Any, index: Any) -> Any:
        """Return an index of a list, tuple or cell that the graph computes, as a run-time number between 0 and the container's length.

        index  the index as the user has written it; negative ones count from the end

        An index that is out of range or has a wrong type raises the error of eager mode: at once if that is known, otherwise when the graph
        runs.
        """
        ...

    def python_types(self, x: object) -> Sequence[type]:
        """Return the types that `type(x)` may give in eager mode.  There are several only for a tensor of which a branch or a loop decides
        whether it is a Parameter.
        """
        ...

    def place(self, x: object) -> Any:
        """Return an object that reads and restores the state of `x` (the value of a tensor of the graph, or a cell), so that the journal
        can undo changes of it; None for any other `x`.

        See `journal.MutablePlace`.
        """
        ...

    def is_outside(self, place: Any) -> bool:
        """Return True if a changed object belongs to the program around the user's function, False if it belongs to the graph.

        place  what `World.place` has returned for the object
        """
        ...

    # regions
    def is_outermost(self) -> bool:
        """Return True if new nodes go to the body of the graph itself, not to a branch, a loop or a cell inside of it."""
        ...

    def open(self) -> Builder:
        """Open a new region (nested list of nodes), and return its builder.  Nodes are emitted to the region until `close`."""
        ...

    def reopen(self, builder: Builder) -> None: ...

    def cell_calls(self) -> int:
        """Return the number of calls of cells so far."""
        ...

    def count_again(self, calls: int) -> None:
        """Count calls of cells from a number on: what was run since then is thrown away, or is run again."""
        ...

    def close(self) -> Builder: ...

    def emit_region(self, op: Op, operands: Sequence[Atom], regions: Sequence[Region], hints: Sequence[str]) -> Sequence[Value]: ...

    # what Python objects are
    def is_cell(self, x: object) -> bool: ...

    def is_cell_class(self, cls: type) -> bool: ...

    def part_of_cells(self, cells: Any, part: slice) -> Any:
        """Return a slice of a cell that is a sequence, such as `SequentialCell`: a new cell that holds some of the same cells.

        cells  the cell
        part   the slice
        """
        ...

    def is_cells(self, x: object) -> bool:
        """Return True for a cell that holds other cells by position, such as `SequentialCell`, and whose items the library looks up."""
        ...

    def call_cell(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def is_library(self, function: object) -> bool:
        """Return True for a function, class, module or object of this library.  Python runs its code as it is, on tensors and numbers of
        the graph.
        """
        ...

    def parsed_function(self, function: object) -> Any:
        """Return the user's function that `jit` has wrapped.  Any other object is returned itself."""
        ...

    def check_call(self, function: object) -> None:
        """Raise CompileError for a function of the library whose effect runs of a graph cannot repeat, such as setting a seed."""
        ...

    def convert(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a class of the library, and return the new object.  The arguments, as in `Tensor([x, y])`, may be known only when the graph
        runs.
        """
        ...

    def of_each_run(self, found: Any) -> Any:
        """Prepare the result of code that Python itself has run for use in the graph.

        Tensors that the code has created from numbers are replaced by values of the graph, since each run must have its own.  Everything
        else in the result is returned as it is.

        found  the result
        """
        ...

    def is_region(self, x: object) -> bool:
        """Return True if `x` is a context manager that affects the nodes emitted in its body, such as `_no_grad()`.  The frontend enters it
        while it runs the body.
        """
        ...

    def new_cell(self, cls: type) -> Any:
        """Return a new cell of a class, without calling `__init__`.  The graph keeps this one cell for all its runs."""
        ...

    def initialise(self, cell: Any, init: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Call a library class's `__init__` on a new cell that the user's code creates.

        cell          the new cell
        init          the `__init__`
        args, kwargs  the arguments of the call
        """
        ...

    def check_parts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise CompileError if a new cell would hold a cell or a Parameter from outside of the function, since it would change the names
        of Parameters.

        args, kwargs  the arguments with which the new cell is created or changed
        """
        ...

    def store_attribute(self, holder: Any, name: str, value: Any) -> bool:
        """If the attribute `holder.name` is a Parameter, let the graph write its value for `holder.name = value`, and return True.

        Return False without doing anything otherwise: the caller then assigns the attribute.
        """
        ...

    # effects
    @property
    def raises_late(self) -> bool:
        """Return True if an exception that Python raises while the graph is made must be raised by the graph when it runs.

        That is so if a run may not reach this line, or if effects come before it (prints, writes, hooks, random draws).
        """
        ...

    def effect(self, name: str, function: Callable[..., Any], values: Sequence[Any], *, shows: bool = False) -> None:
        """Let the graph call `function(*values)` when it runs, in order with its other effects.  The function receives real tensors and
        numbers.

        name   the name of the effect in the printed IR
        shows  True if the function only shows the values: then it runs no user code if they are tensors, numbers and text
        """
        ...

    # Python state outside
    def can_keep(self, place: Any, value: Any) -> bool:
        """Return True if what the code that becomes the graph writes to an attribute or a name can be kept apart until the graph is made,
        so that no other code sees it.

        That requires that the write runs no user code, and changes nothing else.

        place  the attribute or name
        value  the value that is written
        """
        ...

    def keep_attributes(self, holder: Any, values: dict[str, Any]) -> None:
        """Let library code find the attribute values that the code that becomes the graph has written to `holder`, which the object itself
        does not have yet.

        values  the written attributes by name; further ones are added to this dict later
        """
        ...

    def expose(self) -> None:
        """Announce that a value which the code that becomes the graph has written is about to be put into an object of the user's.

        Other threads must not see it there.  So until the values are taken out again, at the end of this lowering, graphs that run take the
        lowering lock before they read or write Python objects.
        """
        ...

    def saw(self, place: Any, value: Any, is_own: bool) -> None:
        """Record the value that the first read of an attribute or a name from outside of the function has found.  A later call makes a new
        graph if it has changed.

        place   the attribute or name
        is_own  False if the object inherits the attribute from its class
        """
        ...

    def can_write(self, value: Any) -> bool:
        """Return True if the graph, when it runs, can write such a value to an attribute or a name from outside of the function: tensors,
        numbers and constants, or tuples of them.
        """
        ...

    def write_later(self, place: Any, value: Any) -> bool:
        """Let the graph write an attribute or a name from outside of the function each time it runs, as the user's code is about to do.

        place  the attribute or name
        value  the value to write

        Return False if the graph cannot do it.
        """
        ...

    def is_written_later(self, place: Any) -> bool:
        """Return True if the graph, each time it runs, makes all changes of an attribute or a name from outside of the function, so that
        the change need not be refused.

        place  the attribute or name
        """
        ...

    def found_in(self, place: Any, value: Any) -> None:
        """Record that the user's code has found a list or dict in an attribute or a name from outside of the function: a change of it may
        be one that the graph can repeat.

        place  the attribute or name
        """
        ...

    def change(self, container: Any) -> None:
        """Prepare for the user's code to change a list, a dict or another container: if the graph has stored it in an attribute or a name
        from outside, the graph will change it there when it runs.
        """
        ...

    def want(self, container: Any, before: Any, after: Any) -> None:
        """Record that the user's code changes a list, a dict or another container from outside of the function, which is a constant of this
        graph: another graph may change it each time it runs.

        before, after  a copy of its contents before the first change, and after the last
        """
        ...

    def refresh(self, container: Any) -> None:
        """Prepare for the user's code to read a list, a dict or another container: if the graph has stored it in an attribute or a name
        from outside, where other code may have changed it, the graph reads it again when it runs.
        """
        ...

    def catch_up(self) -> None:
        """Add the nodes for changes that the user's code has made just now, before these are undone or the region ends."""
        ...

    def refuse_write(self, place: Any) -> None:
        """Record that the user's code changes something from outside of the function in a way that the graph cannot repeat when it runs,
        such as deleting an attribute.

        place  the attribute, name or container
        """
        ...

    # guards
    def read_name(self, namespace: dict[str, Any], name: str) -> None: ...

    def read_closure(self, cell: CellType) -> None: ...

    def read_attribute(self, holder: object, name: str) -> None: ...

    def read_object(self, x: object) -> None:
        """Record that Python code is about to use `x`, so the graph depends on its state.

        This concerns objects of the user's classes, tensors from outside of the function, and cells that are sequences; nothing is recorded
        for other objects.
        """
        ...

    def read_outcome(self, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
        """Record what a Python function returns for objects from outside of the function.  A later call of the user's function makes a new
        graph if that has changed.
        """
        ...

    def read_identity(self, x: object) -> None:
        """Record that the graph returns the object `x` itself.  Another object with the same contents then needs another graph."""
        ...

    def read_contents(self, container: object) -> None:
        """Record that the user's code reads the contents of a container from outside of the function.  Hooks that run before may have
        changed the container.
        """
        ...

    def read_count(self) -> int:
        """Return the number of reads that have been recorded so far.  `unread` accepts such numbers."""
        ...

    def unread(self, since: int, until: int) -> None:
        """Drop recorded reads that the graph does not depend on after all.

        since, until  what `read_count` has returned before and after these reads
        """
        ...

    def call_depth(self) -> int:
        """Return the maximum depth of nested calls, as set by `set_context(max_call_depth=...)`."""
        ...
