"""Tensors and numbers of a graph that is being made: they have a type and stand for a value or literal of the IR, but have no numbers
yet.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.foundation.diagnostics import CompileError, Loc
from adjoint.frontend import errors
from adjoint.frontend.changes.aliases import Aliases
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Value
from adjoint.ir.op import Op
from adjoint.ir.ops.arithmetic import Abs, Add, Div, FloorDiv, Mod, Mul, Neg, Sub
from adjoint.ir.ops.comparison import Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual
from adjoint.ir.ops.conversion import Cast, Select
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.ops.logic import BitwiseAnd, BitwiseOr, BitwiseXor, LogicalAnd, LogicalNot, LogicalOr, LogicalXor
from adjoint.ir.ops.number_power import NumberPower
from adjoint.ir.types import BOOL, F32, F64, I64, U64, DType, TensorType, scalar
from adjoint.runtime.graphs.lowering.graph_sizes import shape_of, size_of
from adjoint.runtime.graphs.lowering.made import Made
from adjoint.runtime.graphs.lowering.python_arithmetic import BOUND, DOUBLE, INT, bound_of, divides, is_large, is_real, python_number
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.memory.machine import Memory
from adjoint.runtime.process.location import user_location
from adjoint.runtime.process.tracer import emitter, state
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.promotion import holds
from adjoint.runtime.tensor.run_time_checks import TRUE
from adjoint.runtime.tensor.run_time_promotion import beside, nearest_in
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["GraphNumber", "GraphParameter", "GraphTensor", "Owner", "place_of_use"]

_CATEGORY: dict[str, DType] = {"bool": BOOL, "int": I64, "float": F64}
_PYTHON: dict[str, type[bool | int | float]] = {"bool": bool, "int": int, "float": float}


class Owner:
    """Lets the tensors and numbers of a graph that is being made add nodes to it; each of them holds it as `owner`.

    The parts of a lowering (objects that each do one kind of work) make tensors and numbers, and these in turn call the parts.  So the
    owner is made before all parts, and gets its attributes when they exist.  `end` removes the attributes: using a value afterwards raises
    CompileError.

    regions      the open regions, to which nodes are added
    made         objects that parsed code (the user's code of the graph) has made
    aliases      which tensors may be the same
    atom         returns the value or literal of the IR for a tensor or number, for use in the open region
    number       returns a value as a number of a category ("int", "float" or "bool") that is known only when the graph runs
    host_number  adds a call of a Python function of numbers, and returns its result
    touch        records the value of a tensor that is about to be written in place, so that a branch can undo the write
    rewritten    returns what a tensor stands for after it is written in place
    attach       registers a hook on a tensor
    either       adds an `if` between two functions
    check        adds a check of values
    tries        True in an attempt with numbers as inputs: it is given up where a number may differ from eager mode's
    """

    regions: Regions
    made: Made
    aliases: Aliases
    atom: Callable[[Any], Atom]
    number: Callable[[str, Any], Any]
    host_number: Callable[..., Any]
    touch: Callable[[Any], None]
    rewritten: Callable[[Atom, Atom], Atom]
    attach: Callable[[Any, Callable[..., Any]], Any]
    either: Callable[[Any, Callable[[], Any], Callable[[], Any]], Any]
    check: Callable[..., None]
    tries: bool

    def end(self) -> None:
        """Drop the attributes, once the graph is made; a later use of one of the graph's values raises CompileError."""
        vars(self).clear()

    @property
    def is_traced(self) -> bool:
        """True while this thread is making this graph, so that nodes can be added to it."""
        graph = emitter()
        return graph is not None and graph.owner is self

    def unknown(self, what: str) -> CompileError:
        """Return the error for code that needs a value while parsing, or that uses a symbolic value after the graph is made.

        what  says what is needed
        """
        return errors.VALUE_NEEDED.at(self.regions.loc, what, help="use operations on the tensor, or pass the number as an argument") \
            if self.is_traced else _is_over()

    def node(self, op: Op, *atoms: Atom) -> Any:
        """Add a node for an op to the graph; return its result or results."""
        return self.regions.node(op, *atoms)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _is_over()


def _is_over() -> CompileError:
    """Return the error for using a value of a graph after that graph has been made.  The caller raises it."""
    return errors.NOT_IN_GRAPH.at(place_of_use(), "this value belongs to a graph that is made already",
                                  help="return it from the function that computes it")


def place_of_use() -> Loc:
    """Return the line of the user's program that runs now, for an error.

    It is a line in the source of the graph that this thread is making, or else in Python.
    """
    graph = emitter()
    return graph.loc if graph is not None else user_location()


class GraphTensor(Tensor):
    """A tensor as parsed code (the user's code of the graph) sees it while a graph is made: it has a type, but no numbers, and operations
    on it become nodes.

    owner   the graph that is being made
    atom    what it stands for in the IR at present, a value or literal; a write in place replaces it
    home    the region in which the atom was made
    hooked  the atom at the time when a hook was last registered; None if none was
    """

    __slots__ = ("atom", "home", "hooked", "owner")

    atom: Atom
    owner: Owner
    home: Builder
    hooked: Atom | None

    def __init__(self, owner: Owner, atom: Atom, type_: TensorType):
        self.owner, self.atom, self.home, self.hooked, self.type = owner, atom, owner.regions.builder, None, type_

    @property
    def memory(self) -> Memory:
        """The numbers of a tensor that parsed code (the user's code of the graph) has made from known numbers; CompileError for any other,
        whose numbers are not known yet.
        """
        known = self.known
        if known is None:
            raise self.owner.unknown(f"this needs the numbers of a tensor {self.type}")
        return known.memory

    @property
    def known(self) -> Tensor | None:
        """The tensor outside of the graph with the same numbers, if parsed code has made this one from known numbers."""
        return self.owner.made.tensors.get(self.atom) if isinstance(self.atom, Value) else None

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.type)

    @property
    def size(self) -> int:
        return size_of(self.type)

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """Return the numbers of the tensor as a read-only array; CompileError unless they are known already.

        The array is read-only because a write to it now would not change the tensor each time the graph runs.
        """
        array = super().asnumpy()
        array.flags.writeable = False
        return array

    numpy = asnumpy

    def item(self, index: int | tuple[int, ...] | None = None) -> Any:
        """Return an element as a Python number: known already if the tensor's numbers are, otherwise when the graph runs.

        index  of the element; None for the only one
        """
        if self.known is not None:
            return super().item(index)
        if index is None and self.size != 1:
            raise ValueError(f"only a tensor of one element has an item without an index, but this one has {self.size}.")
        element = self if index is None else self.reshape((-1,))[index] if isinstance(index, int) else self[index]
        if self.dtype.is_complex:
            raise self.owner.unknown("a complex number is used as one of Python")
        category = "bool" if self.dtype is BOOL else "float" if self.dtype.is_float else "int"
        return self.owner.number(category, element)

    def max(self, /, *given: Any, **named: Any) -> Any:
        """Return the largest elements.

        Arguments by position are `axis` and `keepdims`, as in MindSpore's graphs.  Eager mode takes them for `dim` and `keepdim`, which
        give the indices too, as MindSpore's does.
        """
        return self._extreme("max", given, named)

    def min(self, /, *given: Any, **named: Any) -> Any:
        """Return the smallest elements; the arguments are those of `max`."""
        return self._extreme("min", given, named)

    def _extreme(self, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        method = getattr(super(), name)  # the methods of operators are added to Tensor when they are loaded
        if named or not given:
            return method(*given, **named)
        if len(given) > 2:
            raise TypeError(f"{name}() of a tensor takes 'axis' and 'keepdims' by position, but {len(given)} arguments were given.")
        return method(**dict(zip(("axis", "keepdims"), given, strict=False)))

    def overwrite(self, value: Tensor) -> None:
        self.owner.aliases.write(self)
        self.owner.touch(self)
        self.atom = self.owner.rewritten(self.owner.atom(self), self.owner.atom(value)) if state.no_grad else self.owner.atom(value)
        self.home = self.owner.regions.builder

    def set_data(self, data: Tensor, slice_shape: bool = False) -> Tensor:
        if not isinstance(data, Tensor):
            raise TypeError(f"For 'Tensor.set_data', the argument 'data' must be a Tensor, but got {type(data).__name__}.")
        self.overwrite(data)
        self.type = data.type
        return self

    def register_hook(self, hook: Callable[[Tensor], Any]) -> Any:
        self._check_takes_gradient()
        return self.owner.attach(self, hook)

    def _may_be_differentiated(self) -> bool:
        """Return True: whoever calls the graph may take its gradient."""
        return True

    def hooks(self) -> list[Any]:
        raise self.owner.unknown("the hooks of a tensor of the graph are there when the graph runs")

    def _may_be_parameter(self) -> bool:
        """Return True if a branch or loop decides whether this is a Parameter, or which one."""
        return not self._is_parameter and any(x._is_parameter for x in self.owner.aliases.merged_from(self))

    def checked_kind(self) -> GraphTensor:
        """Return the tensor itself; CompileError if a branch or loop decides whether it is a Parameter.

        Copies of a Parameter take no gradient, but copies of other tensors do.
        """
        if self._may_be_parameter():
            raise self.owner.unknown("whether this is a Parameter, of which such a copy takes no gradient, depends on a branch or loop; "
                                     "`x.copy()` lets gradients through, `ops.stop_gradient(x)` does not")
        return self

    def __getattr__(self, name: str) -> Any:
        if hasattr(Parameter, name) and self._may_be_parameter():
            raise self.owner.unknown(f"which Parameter this is, if it is one that has `{name}`, depends on a branch or loop")
        raise AttributeError(f"'Tensor' object has no attribute '{name}'", name=name, obj=self)

    def clone(self) -> Tensor:
        return self.checked_kind().copy()

    def __deepcopy__(self, memodict: Any) -> Tensor:
        return self.checked_kind().copy()

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "The truth value of a tensor with several elements is ambiguous. Please use 'all()' or 'any()'."
                if self.size else "The truth value of an empty tensor is ambiguous.")
        raise self.owner.unknown("whether a tensor is true")

    def __repr__(self) -> str:
        return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, value= <known when the graph runs>)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce__(self) -> tuple[Any, ...]:
        raise self.owner.unknown("a tensor of a graph cannot be pickled")


GraphTensor.__name__ = GraphTensor.__qualname__ = Tensor.__name__
"""The name in error messages: users know only one Tensor class."""


class GraphParameter(Parameter, GraphTensor):  # pyright: ignore[reportIncompatibleVariableOverride] - as in Parameter
    """A Parameter that parsed code (the user's code of the graph) makes as a copy of another one; each time the graph runs it makes a new
    Parameter.
    """

    __slots__ = ()

    def __init__(
        self, owner: Owner, atom: Atom, type_: TensorType, name: str, requires_grad: bool, layerwise_parallel: bool,
        parallel_optimizer: bool,
    ):
        GraphTensor.__init__(self, owner, atom, type_)
        self.name, self.requires_grad = name, requires_grad
        self.layerwise_parallel, self.parallel_optimizer = layerwise_parallel, parallel_optimizer

    def plain(self) -> GraphTensor:
        """Return a tensor of the graph with the Parameter's present value, which later writes to the Parameter do not change."""
        return GraphTensor(self.owner, self.owner.atom(self), self.type)

    def renamed(self, atom: Atom) -> GraphParameter:
        """Return the same Parameter, standing for another value of the IR, such as the result of the cell that has made it."""
        options = self.name, self.requires_grad, self.layerwise_parallel, self.parallel_optimizer
        return GraphParameter(self.owner, atom, self.type, *options)

    def maker(self) -> Callable[[Tensor], Parameter]:
        """Return the function that is called each time the graph runs, with a tensor of values, to make the Parameter."""
        options = self.name, self.requires_grad, self.layerwise_parallel, self.parallel_optimizer
        return lambda values: Parameter(values, *options)


GraphParameter.__name__ = GraphParameter.__qualname__ = Parameter.__name__


class GraphNumber:
    """A Python number that is known only when the graph runs.

    Sums, products, quotients, powers of floats and comparisons become nodes, with a check for operands that Python refuses.  Powers of ints
    and rounding call Python at run time, so that results and errors are the same to the bit.  An int has 64 bits: an operation whose result
    may be larger also calls Python, which reports an overflow.

    category  the Python type of the number: "int", "float" or "bool"
    bound     an upper bound of an int's absolute value; None if unknown, as for a number carried from round to round of a loop
    """

    __slots__ = ("atom", "bound", "category", "home", "owner")
    __array_ufunc__ = None
    is_run_time_number = True

    def __init__(self, owner: Owner, category: str, atom: Atom, bound: int | None = None):
        self.owner, self.category, self.atom, self.home = owner, category, atom, owner.regions.builder
        self.bound = 1 if category == "bool" else bound

    @property
    def type(self) -> TensorType:
        return scalar(_CATEGORY[self.category])

    @property
    def python_type(self) -> type[bool | int | float]:
        return _PYTHON[self.category]

    # -- conversions -------------------------------------------------------------------------------------------------
    def as_tensor(self, dtype: DType) -> GraphTensor:
        """Return the number as a 0-d tensor of a dtype, converted as eager mode converts a Python number."""
        atom, own = self.owner.atom(self), _CATEGORY[self.category]
        if dtype is BOOL and own is not BOOL:
            atom = self.owner.node(Cast(BOOL), atom)
        elif dtype is U64 and own is F64:
            # A negative number wraps, as it does for narrower integers; a number above Int64 does not.
            below = self.owner.node(Less(), atom, Literal(0.0, scalar(F64)))
            wrapped = self.owner.node(Cast(U64), self.owner.node(Cast(I64), atom))
            atom = self.owner.node(Select(), below, wrapped, self.owner.node(Cast(U64), atom))
        elif dtype is not own:
            if own is F64 and dtype.is_integer and dtype is not I64:
                atom = self.owner.node(Cast(I64), atom)  # first to 64 bits, then it wraps
            atom = self.owner.node(Cast(dtype), atom)
        return GraphTensor(self.owner, atom, scalar(dtype))

    def tensor(self) -> GraphTensor:
        """Return the 0-d tensor that `Tensor(number)` makes of this number."""
        return self.as_tensor(F32 if self.category == "float" else _CATEGORY[self.category])

    def always_fits(self, dtype: DType) -> bool:
        """Return True if a tensor of this dtype can hold every value that the number can have when the graph runs."""
        if self.category == "float":
            return dtype is F64
        most = 2**63 if self.bound is None else self.bound
        return self.category == "bool" or dtype is I64 or (holds(dtype, most) and holds(dtype, -most))

    def nearest_in(self, dtype: DType) -> Tensor:
        """Return the int as a 0-d tensor of an integer dtype; a value out of the dtype's range becomes the nearest one in it."""
        return nearest_in(dtype, self)

    def beside(self, op: Elementwise, x: Tensor, compute: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """Compute an elementwise op on a tensor `x` and this number, converted to the dtype in which eager mode would compute it; return
        the result.

        op       the op
        compute  takes `x` and the number, as tensors, and computes the op on them
        """
        if not self.owner.is_traced:
            raise self.owner.unknown("the number is used")
        return beside(op, x, self, compute)

    def converted(self, category: str) -> GraphNumber:
        """Return `int(x)`, `float(x)` or `bool(x)` of this number, known when the graph runs.

        category  "int", "float" or "bool"
        """
        if category == self.category:
            return self
        if category == "bool":
            return self != 0
        if category == "int" and self.category == "float":
            return self.owner.host_number("int", int, self)
        return GraphNumber(self.owner, category, self.owner.node(Cast(_CATEGORY[category]), self.owner.atom(self)), self.bound)

    # -- arithmetic ---------------------------------------------------------------------------------------------------
    def _wider(self, other: Any) -> str | None:
        """Return the category in which an operation with `other` is computed, "int" or "float"; None if `other` is not a number."""
        if isinstance(other, np.generic) and self.owner.tries:
            raise self.owner.unknown("NumPy makes a scalar of its own of a number")
        theirs = other.category if isinstance(other, GraphNumber) else _category(other)
        if theirs is None:
            return None
        return "float" if "float" in (self.category, theirs) else "int"

    def _computed(self, op: Any, python: Callable[[Any, Any], Any], other: Any, *, swapped: bool = False) -> Any:
        category = self._wider(other)
        if category is None:
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        bound = None
        if category == "int":
            bound = BOUND[python](bound_of(a), bound_of(b))
            if (bound is None and python is operator.mul) or (bound is not None and bound >= INT):
                return self._perhaps_large(python, a, b)
        elif is_large(other):
            return self.owner.host_number(category, python, a, b)
        return self._emitted(op, category, a, b, bound)

    def _perhaps_large(self, python: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        """Return the result of an int operation that may exceed 64 bits: a node calls Python, which reports an overflow, when the graph
        runs.
        """
        if self.owner.tries:
            raise self.owner.unknown("whether an int has more than 64 bits")
        return self.owner.host_number("int", python, a, b)

    def _divided(self, op: Any, python: Callable[[Any, Any], Any], other: Any, *, swapped: bool = False) -> Any:
        """Return a quotient or remainder; if the divisor is a run-time number (known only when the graph runs), a check that it is not 0
        comes first.

        op       the op of the kernel
        python   the operator of Python
        other    the other operand; the dividend if `swapped`
        """
        category = self._wider(other)
        if category is None:
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        whole = category == "int"
        if python is operator.truediv:
            category = "float"
        if not divides(python, a, b, whole):
            return self.owner.host_number(category, python, a, b)
        if isinstance(b, GraphNumber):
            self.owner.check(python_number(category, python, self.owner.regions.loc), (a, b), [((b != 0).as_tensor(BOOL), TRUE)])
        bound = BOUND[python](bound_of(a), bound_of(b)) if category == "int" else None
        return self._emitted(op, category, a, b, bound)

    def _power(self, other: Any, *, swapped: bool = False) -> Any:
        category = self._wider(other)
        if category is None:
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        if isinstance(b, (bool, int)) and b < 0:
            category = "float"
        if category == "int":
            bound = bound_of(a)
            fits = isinstance(b, int) and bound is not None and (b <= 1 or bound**min(b, 64) < INT)
            return self.owner.host_number(category, operator.pow, a, b) if fits else self._perhaps_large(operator.pow, a, b)
        if is_large(other):
            return self.owner.host_number(category, operator.pow, a, b)
        if self.owner.tries and not is_real(a, b):
            raise self.owner.unknown("whether a power is a complex number")
        x, y = (self.owner.number(category, side) for side in (a, b))
        power, given = self.owner.node(NumberPower(), self.owner.atom(x), self.owner.atom(y))
        check = python_number(category, operator.pow, self.owner.regions.loc)
        self.owner.check(check, (a, b), [(GraphTensor(self.owner, given, scalar(BOOL)), TRUE)])
        return GraphNumber(self.owner, category, power)

    def _emitted(self, op: Any, category: str, a: Any, b: Any, bound: int | None) -> GraphNumber:
        x, y = (self.owner.number(category, side) for side in (a, b))
        return GraphNumber(self.owner, category, self.owner.node(op, self.owner.atom(x), self.owner.atom(y)), bound)

    def __add__(self, other: Any) -> Any:
        return self._computed(Add(), operator.add, other)

    def __radd__(self, other: Any) -> Any:
        return self._computed(Add(), operator.add, other, swapped=True)

    def __sub__(self, other: Any) -> Any:
        return self._computed(Sub(), operator.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return self._computed(Sub(), operator.sub, other, swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._computed(Mul(), operator.mul, other)

    def __rmul__(self, other: Any) -> Any:
        return self._computed(Mul(), operator.mul, other, swapped=True)

    def __truediv__(self, other: Any) -> Any:
        return self._divided(Div(), operator.truediv, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._divided(Div(), operator.truediv, other, swapped=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._divided(FloorDiv(), operator.floordiv, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._divided(FloorDiv(), operator.floordiv, other, swapped=True)

    def __mod__(self, other: Any) -> Any:
        return self._divided(Mod(), operator.mod, other)

    def __rmod__(self, other: Any) -> Any:
        return self._divided(Mod(), operator.mod, other, swapped=True)

    def __divmod__(self, other: Any) -> Any:
        return (self // other, self % other) if self._wider(other) is not None else NotImplemented

    def __rdivmod__(self, other: Any) -> Any:
        return (other // self, other % self) if self._wider(other) is not None else NotImplemented

    def __pow__(self, other: Any) -> Any:
        return self._power(other)

    def __rpow__(self, other: Any) -> Any:
        return self._power(other, swapped=True)

    def __neg__(self) -> Any:
        return 0 - self if self.category != "float" else GraphNumber(
            self.owner, "float", self.owner.node(Neg(), self.owner.atom(self)))

    def __pos__(self) -> Any:
        return self.converted("int") if self.category == "bool" else self

    def __abs__(self) -> Any:
        x = +self
        return GraphNumber(self.owner, x.category, self.owner.node(Abs(), self.owner.atom(x)), x.bound)

    def __invert__(self) -> Any:
        return -1 - self if self.category != "float" else self.owner.host_number("int", operator.invert, self)

    def __lshift__(self, other: Any) -> Any:
        return self._shifted(operator.lshift, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return self._shifted(operator.lshift, other, self)

    def __rshift__(self, other: Any) -> Any:
        return self._shifted(operator.rshift, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return self._shifted(operator.rshift, other, self)

    def _shifted(self, python: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        other = b if a is self else a
        return NotImplemented if self._wider(other) is None else self._perhaps_large(python, a, b)

    def __and__(self, other: Any) -> Any:
        return self._bits(LogicalAnd(), BitwiseAnd(), other)

    def __or__(self, other: Any) -> Any:
        return self._bits(LogicalOr(), BitwiseOr(), other)

    def __xor__(self, other: Any) -> Any:
        return self._bits(LogicalXor(), BitwiseXor(), other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def _bits(self, on_bools: Any, on_integers: Any, other: Any) -> Any:
        wider = self._wider(other)
        if wider is None:
            return NotImplemented
        theirs = other.category if isinstance(other, GraphNumber) else _category(other)
        if wider == "float":
            raise TypeError(f"unsupported operand types for bits: '{self.category}' and '{theirs}'")
        category = "bool" if (self.category, theirs) == ("bool", "bool") else "int"
        if is_large(other):
            python = {BitwiseAnd: operator.and_, BitwiseOr: operator.or_}.get(type(on_integers), operator.xor)
            return self.owner.host_number("int", python, self, other)
        x, y = (self.owner.number(category, side) for side in (self, other))
        op = on_bools if category == "bool" else on_integers
        return GraphNumber(self.owner, category, self.owner.node(op, self.owner.atom(x), self.owner.atom(y)))

    def rounded(self, digits: int | None = None) -> Any:
        """Return `round(x)`, or `round(x, digits)` if `digits` is given, of this number."""
        if digits is None and self.category != "float":
            return +self
        return self.owner.host_number("int" if digits is None else self.category, round, self, *(() if digits is None else (digits,)))

    def __trunc__(self) -> Any:
        return self.converted("int")

    def __floor__(self) -> Any:
        return self.owner.host_number("int", math.floor, self) if self.category == "float" else +self

    def __ceil__(self) -> Any:
        return self.owner.host_number("int", math.ceil, self) if self.category == "float" else +self

    # -- comparison and truth -------------------------------------------------------------------------------------------
    def _compared(self, op: Any, python: Callable[[Any, Any], Any], other: Any) -> Any:
        category = self._wider(other)
        if category is None:
            return NotImplemented
        mixed = category == "float" and any((bound := bound_of(side)) is not None and bound > DOUBLE for side in (self, other))
        if mixed or is_large(other):
            return self.owner.host_number("bool", python, self, other)
        x, y = (self.owner.number(category, side) for side in (self, other))
        return GraphNumber(self.owner, "bool", self.owner.node(op, self.owner.atom(x), self.owner.atom(y)))

    def __lt__(self, other: Any) -> Any:
        return self._compared(Less(), operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._compared(LessEqual(), operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._compared(Greater(), operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._compared(GreaterEqual(), operator.ge, other)

    def __eq__(self, other: object) -> Any:
        return self._compared(Equal(), operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._compared(NotEqual(), operator.ne, other)

    __hash__ = object.__hash__

    def negated(self) -> GraphNumber:
        """Return `not x` of this number, as a bool that is known when the graph runs."""
        return GraphNumber(self.owner, "bool", self.owner.node(LogicalNot(), self.owner.atom(self.converted("bool"))))

    def either(self, other: GraphNumber) -> GraphNumber:
        """Return a run-time bool (known only when the graph runs) that is true if this number or `other` is true."""
        return self.converted("bool") | other.converted("bool")

    def both(self, other: GraphNumber) -> GraphNumber:
        """Return a run-time bool (known only when the graph runs) that is true if this number and `other` are true."""
        return self.converted("bool") & other.converted("bool")

    def kept_if(self, condition: GraphNumber) -> GraphNumber:
        """Return an int that is this number where `condition` is true when the graph runs, otherwise 0."""
        atoms = (self.owner.atom(x) for x in (self, condition.converted("int")))
        return GraphNumber(self.owner, "int", self.owner.node(Mul(), *atoms), self.bound)

    # -- operations that need the value -----------------------------------------------------------------------------------
    def _unknown(self, *_: Any) -> Any:
        raise self.owner.unknown(f"a Python {self.category} that is known when the graph runs is needed while parsing")

    __bool__ = __int__ = __float__ = __index__ = __complex__ = _unknown

    def __repr__(self) -> str:
        return f"<{self.category} known when the graph runs>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if hasattr({"int": int, "float": float, "bool": bool}[self.category], name):
            raise self.owner.unknown(f"`{name}` of a number that is known when the graph runs")
        raise AttributeError(f"'{self.category}' object has no attribute '{name}'")


GraphNumber.__name__ = GraphNumber.__qualname__ = "number"


def _category(x: object) -> str | None:
    return "bool" if isinstance(x, bool) else "int" if isinstance(x, int) else "float" if isinstance(x, float) else None
