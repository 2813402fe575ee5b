"""Python numbers that are known only when the graph runs: how they are made from tensors, and used as conditions and indices."""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Callable
from typing import Any

from adjoint.foundation.diagnostics import Loc
from adjoint.frontend import errors
from adjoint.frontend.control.branches import Branching
from adjoint.frontend.values.text import RunTimeText
from adjoint.frontend.world import Kind
from adjoint.ir.core import Atom, Literal
from adjoint.ir.ops.arithmetic import Add, Mod, Mul
from adjoint.ir.ops.comparison import NotEqual
from adjoint.ir.ops.conversion import Cast, StopGradient
from adjoint.ir.ops.shape import Broadcast, Reshape
from adjoint.ir.ops.sums import Sum
from adjoint.ir.types import BOOL, I64, U64, DType, Poly, TensorType, scalar, symbol, tensor
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.lowering.categories import NUMBERS
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber, GraphTensor
from adjoint.runtime.graphs.lowering.hosts import Hosts
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.values import Values
from adjoint.runtime.tensor.promotion import holds, scalar_dtype
from adjoint.runtime.tensor.run_time_checks import TRUE, Range, RangeCheck
from adjoint.runtime.tensor.run_time_promotion import is_held
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["RunTimeNumbers"]

_LARGEST_SIZE = 2**40
"""No size of a tensor is larger."""


class RunTimeNumbers:
    """Makes and uses Python numbers that are known only when the graph runs, such as `int(x)` of a tensor.

    They can be conditions of branches and loops, and indices.

    regions, values, hosts  the parts of the `Lowering` that it uses
    branching               makes nodes of branches, for checks that depend on a number
    """

    def __init__(self, regions: Regions, values: Values, hosts: Hosts, branching: Branching):
        self._regions, self._values, self._hosts, self._branching = regions, values, hosts, branching

    def number(self, category: str, x: Any) -> Any:
        """Return `int(x)`, `float(x)` or `bool(x)` of a tensor or number; a run-time number (known only when the graph runs) if the value
        is not known while parsing.

        category  "int", "float" or "bool"
        """
        if isinstance(x, GraphNumber):
            return x.converted(category)
        if not isinstance(x, Tensor):
            kind = self._values.kind(x)
            assert kind is not None
            return x if kind.category == category else NUMBERS[category][0](x)
        if x.size != 1:
            return NUMBERS[category][0](x)  # raises what eager mode raises
        if category == "int" and isinstance(x, GraphTensor) and x.known is not None:
            return int(x.known.item())
        if x.dtype is U64:
            return self._hosts.number("int", int, x).converted(category)
        atom = self._values.atom(x)
        if x.ndim:
            atom = self._regions.node(Reshape(scalar(x.dtype)), atom)
        if x.dtype.is_complex:
            if category != "bool":
                NUMBERS[category][0](0j)  # raises what eager mode raises
            return self._values.number("bool", self._regions.node(NotEqual(), atom, Literal(0.0, scalar(x.dtype)))).converted(category)
        own = "bool" if x.dtype is BOOL else "float" if x.dtype.is_float else "int"
        dtype = NUMBERS[own][1].dtype
        if x.dtype is not dtype:
            atom = self._regions.node(Cast(dtype), atom)
        if x.dtype.is_float:
            # The derivative of a Python number is zero.
            atom = self._regions.node(StopGradient(), atom)
        return self._values.number(own, atom, 2 ** (8 * x.dtype.size)).converted(category)

    def of_size(self, size: Poly) -> GraphNumber:
        """Return a size of tensors as a number that is known when the graph runs, so that it can stand beside a tensor or be divided."""
        node, total = self._regions.node, None
        for names, count in size.terms:
            term: Atom = Literal(count, scalar(I64))
            for name in names:
                own = node(Sum((0,)), node(Broadcast(tensor(I64, (symbol(name),))), Literal(1, scalar(I64))))
                term = own if isinstance(term, Literal) and term.value == 1 else node(Mul(), term, own)
            total = term if total is None else node(Add(), total, term)
        return self._values.number("int", total or Literal(0, scalar(I64)), _LARGEST_SIZE)

    def truth(self, x: Any) -> bool | Atom:
        """Return whether `x` is true: a Python bool if that is known while parsing, else a bool that the graph computes."""
        if isinstance(x, GraphNumber):
            truth = x.converted("bool").atom
            return bool(truth.value) if isinstance(truth, Literal) else truth
        if isinstance(x, RunTimeText):
            return bool(x.pieces)
        if not isinstance(x, Tensor):
            return bool(x)
        if x.size != 1:
            return bool(x)  # raises what eager mode raises
        return self.number("bool", x).atom

    def either(self, condition: GraphNumber, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
        """Add a branch to the graph that calls one of two functions as `condition` decides; return its result.

        The results of the two must have the same types.

        first, second  the functions; the first is called if the condition is true
        """
        truth = self.truth(condition)
        if isinstance(truth, bool):
            return first() if truth else second()
        branching = self._branching
        return branching.merged(truth, branching.branch(first), branching.branch(second), lambda branch: False)

    def position(self, container: Any, index: Any) -> Any:
        """Return an index that is known only when the graph runs as a run-time number from 0 up to the length of a container.

        An index of a wrong type, or any index of an empty container, raises now as in eager mode.  An index out of range raises when the
        graph runs.

        container  a list, tuple or cell
        index      a tensor or a number; it may be negative
        """
        if isinstance(index, Tensor) and (index.dtype.is_float or index.size != 1):
            operator.index(index)
        # Raises for an empty container, and for a float as index.
        container[index.python_type() if isinstance(index, GraphNumber) else 0]
        number = self.number("int", index)
        count = len(container)
        if isinstance(container, Cell):
            held: Callable[[], Any] = weakref.ref(container)
        else:
            alike = [None] * count if isinstance(container, list) else (None,) * count
            held = lambda: alike  # noqa: E731 - the other branch has a function that is made elsewhere
        self._hosts.check(RangeCheck(Range(-count, count - 1), functools.partial(_check_position, held)), (number,))
        atom = self._regions.node(Mod(), self._values.atom(number), Literal(count, scalar(I64)))
        return self._values.number("int", atom, count)

    def joins(self, number: Any, type_: TensorType) -> bool:
        """Return True if arithmetic between a Python number and tensors of this type gives tensors of the same dtype."""
        if isinstance(number, GraphNumber):
            return scalar_dtype(type_.dtype, number.python_type()) is type_.dtype
        return isinstance(number, (bool, int, float)) and scalar_dtype(type_.dtype, number) is type_.dtype and holds(type_.dtype, number)

    def atom_as(self, x: Any, kind: Kind) -> Atom:
        """Return a tensor or number as an atom (a value or literal of the IR) of a given kind; a number becomes a tensor if the kind is
        one.

        Where branches of an `if`, or rounds of a loop, give values of different kinds, all become one kind in this way.
        """
        if kind.category != "tensor" or isinstance(x, Tensor):
            return self._values.atom(x)
        if isinstance(x, GraphNumber):
            number = x
            if not number.always_fits(kind.type.dtype):
                dtype = kind.type.dtype
                held = is_held(number, dtype).as_tensor(BOOL)
                check = functools.partial(_check_joins, self._regions.loc, dtype)
                self._hosts.check(check, (number.as_tensor(number.type.dtype),), [(held, TRUE)])
        else:
            number = self._values.number(type(x).__name__, self._values.atom(x))
        atom = self._values.atom(number.as_tensor(kind.type.dtype))
        return self._regions.node(Broadcast(kind.type), atom) if kind.type.rank else atom


def _check_joins(loc: Loc, dtype: DType, number: Tensor) -> None:
    """Raise CompileError if a number of one branch cannot be converted to the dtype of the tensor that the other branch has."""
    if not holds(dtype, number.item()):
        raise errors.NUMBER_RANGE.at(loc, f"{number.item()!r} meets a tensor of {dtype} here, which has no such number",
                                     help="make it a tensor of a wider dtype on both paths")


def _check_position(container: Callable[[], Any], index: int, _: Range) -> None:
    """Raise the error of a list, tuple or cell for an index that is out of range.

    container  returns it, or None if it has been freed
    """
    held = container()
    if held is None:
        raise RuntimeError("this graph belongs to a cell that is gone")
    held[index]
