"""Values of a graph that is being made: Python's objects as atoms of the IR, and atoms as tensors and numbers.

An atom is what a node takes as an operand: the result of another node, a parameter, or a literal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.world import Kind
from adjoint.ir.core import Atom, Literal, Value, tensor_type
from adjoint.ir.ops.conversion import Identity
from adjoint.ir.types import I64
from adjoint.runtime.graphs.lowering.categories import DYNAMIC, NUMBERS
from adjoint.runtime.graphs.lowering.graph_sizes import GraphSize
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber, GraphTensor, Owner
from adjoint.runtime.graphs.lowering.python_arithmetic import is_int64
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.symbols import Symbols
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Values"]


class Values:
    """Translates between what parsed code (the user's code of the graph) sees and what the IR has.

    `atom` gives the atom (value or literal of the IR) for a tensor or number; `tensor` and `number` give parsed code an object for a value.

    owner    what tensors and numbers of the graph call
    regions  the regions (bodies of nodes) that are open
    symbols  the tensors from outside of the graph, with their names in the IR
    """

    def __init__(self, owner: Owner, regions: Regions, symbols: Symbols):
        self._owner, self._regions, self._symbols = owner, regions, symbols

    # -- from Python to the graph -----------------------------------------------------------------------------------------
    def kind(self, x: object) -> Kind | None:
        """Return the kind of a tensor or number: its category and its type in the IR.

        Return None for other objects, and for an int of more than 64 bits.
        """
        if isinstance(x, Tensor):
            return Kind("tensor", x.type)
        if isinstance(x, GraphNumber):
            return Kind(x.category, x.type)
        for category, (python, type_) in NUMBERS.items():
            if type(x) is python and (not isinstance(x, int) or is_int64(x)):
                return Kind(category, type_)
        return None

    def is_dynamic(self, x: object) -> bool:
        return isinstance(x, DYNAMIC)

    def is_tensor(self, x: object) -> bool:
        return isinstance(x, Tensor)

    def python_types(self, x: object) -> list[type]:
        if isinstance(x, GraphTensor):
            return [*{Parameter if each._is_parameter else Tensor: None for each in self._owner.aliases.merged_from(x) or [x]}]
        return [int if isinstance(x, GraphSize) else type(x)]

    def atom(self, x: Any) -> Atom:
        """Return the operand of the IR that stands for a tensor or number in the open region; a tensor from outside of the graph is read by
        a node.

        CompileError for a value of another graph, or of a branch or loop that has ended.
        """
        if isinstance(x, (GraphTensor, GraphNumber)):
            if x.owner is not self._owner:
                raise errors.NOT_IN_GRAPH.at(self._regions.loc, "this tensor belongs to another graph", help="pass it as an argument")
            if isinstance(x.atom, Value) and not self._regions.is_open(x.home):
                self._check_leaves(x)
            return x.atom
        if isinstance(x, Tensor):
            made = self._owner.made
            other = made.lent.get(id(x), made.drawn.get(id(x)))
            return self._symbols.read(x) if other is None else self.atom(other)
        for python, type_ in NUMBERS.values():
            if type(x) is python:
                if python is int and not is_int64(x):
                    raise errors.NUMBER_RANGE.at(
                        self._regions.loc, f"{x} has more than 64 bits", help="compute it outside, or with floats")
                return Literal(x, type_)
        raise TypeError(f"{x!r} of type {type(x).__name__} is no value of a graph")

    def atoms(self, values: Iterable[Any]) -> list[Atom]:
        return [self.atom(x) for x in values]

    def _check_leaves(self, x: GraphTensor | GraphNumber) -> None:
        """Raise CompileError if a value was made in a branch or loop that has ended; values of a cell that has ended may be used."""
        if not self._regions.is_of_cell(x.home):
            raise errors.NOT_IN_GRAPH.at(
                self._regions.loc, f"this value ({self.kind(x)}) was made inside a branch or loop that has ended",
                help="assign it to a name that has a value on every path")

    # -- from the graph to Python -----------------------------------------------------------------------------------------
    def wrapped(self, kind: Kind, value: Value) -> Any:
        """Return the object by which parsed code (the user's code of the graph) sees a value of the IR: a tensor or a number."""
        if kind.category == "tensor":
            return GraphTensor(self._owner, value, kind.type)
        return GraphNumber(self._owner, kind.category, value)

    def tensor(self, atom: Atom) -> GraphTensor:
        """Return the tensor by which parsed code (the user's code of the graph) sees a value or literal of the IR."""
        return GraphTensor(self._owner, atom, tensor_type(atom))

    def tensors(self, values: Iterable[Value]) -> list[GraphTensor]:
        """Return the tensors by which parsed code (the user's code of the graph) sees values of the IR."""
        return [self.tensor(value) for value in values]

    def like(self, given: Sequence[Any], values: Sequence[Value]) -> list[Any]:
        """Return the tensors and numbers by which parsed code (the user's code of the graph) sees values of the IR, of the same kinds as
        the objects in `given`.
        """
        kinds = [self.kind(x) for x in given]
        return [self.wrapped(kind, value) for kind, value in zip(kinds, values, strict=False) if kind is not None]

    def number(self, category: str, atom: Atom, bound: int | None = None) -> GraphNumber:
        """Return the number by which parsed code (the user's code of the graph) sees a value or literal of the IR.

        category  its Python type: "int", "float" or "bool"
        bound     an upper bound of its absolute value; None if none is known
        """
        return GraphNumber(self._owner, category, atom, bound)

    def renamed(self, x: Any) -> Any:
        """Return a new tensor object with the present value of a tensor of the graph; return any other object unchanged."""
        if not isinstance(x, GraphTensor):
            return x
        made = GraphTensor(self._owner, x.atom, x.type)
        made.home = x.home
        return made

    def present(self, given: Sequence[Any]) -> list[GraphTensor]:
        """Return new tensor objects with the present values of tensors: later writes to these do not change them."""
        return [self.renamed(x) if isinstance(x, GraphTensor) else self.tensor(self._regions.node(Identity(), self.atom(x)))
                for x in given]

    def is_here(self, x: Any) -> bool:
        """Return True if `x` is a tensor of the graph that nodes of the open region can use."""
        return isinstance(x, GraphTensor) and (not isinstance(x.atom, Value) or self._regions.is_within_reach(x.home))

    def hint(self, x: Any, name: str) -> None:
        """Give a value of the IR the name of the first variable that it is assigned to, unless its name is longer than a letter already."""
        atom = getattr(x, "atom", None)
        if isinstance(atom, Value) and atom not in self._regions.named:
            self._regions.named.add(atom)
            if len(atom.hint) == 1:
                atom.hint = name

    # -- parts of tensors -------------------------------------------------------------------------------------------------
    def index(self, key: Any) -> Any:
        """Return an index of a tensor with run-time numbers (known only when the graph runs) replaced by tensors, for use by operators."""
        if isinstance(key, GraphNumber):
            return key.as_tensor(I64)
        return tuple(self.index(part) for part in key) if isinstance(key, tuple) else key

    @staticmethod
    def rows(x: Any) -> Sequence[Any]:
        """Return the slices of a tensor along its first axis, as a sequence; TypeError for a 0-d tensor."""
        if not x.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return _Rows(x)


class _Rows(Sequence[Any]):
    """The slices of a tensor along its first axis, for iteration; each is made when it is accessed."""

    def __init__(self, x: Any):
        self._x = x

    def __len__(self) -> int:
        return self._x.shape[0]

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._x[index]
