"""Python's operators on tensors: both operands become tensors of one dtype (see `promotion`), and an op is run on them.

    binary     fast path for two tensors for which the op has run before; otherwise like `combined`
    combined   promote both operands, run the op, cast the result to its dtype
    _beside    convert a number next to a tensor to a tensor of the dtype in which the op is computed

While a function is made into a graph, a number may be known only when the graph runs: it converts itself (`run_time_promotion`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from adjoint.foundation.budget import Refillable, budget
from adjoint.ir.op import Op, mistake
from adjoint.ir.ops.arithmetic import Abs, Add, Div, FloorDiv, Mod, Mul, Neg, Sub
from adjoint.ir.ops.comparison import Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.ops.logic import BitwiseAnd, BitwiseOr, BitwiseXor, LogicalAnd, LogicalNot, LogicalOr, LogicalXor
from adjoint.ir.ops.power import Pow
from adjoint.ir.types import BOOL, F32, I64, U64, DType
from adjoint.runtime.memory.op_plans import pairs, pairs_of, plan_for
from adjoint.runtime.process.tracer import emitter, state, tracing
from adjoint.runtime.tensor.conversion import out_of_range
from adjoint.runtime.tensor.promotion import common_dtype, nearest, scalar_dtype, working_dtype
from adjoint.runtime.tensor.structure import leaves
from adjoint.runtime.tensor.tensor import Tensor, apply, as_tensor, constant

__all__ = ["binary", "combined", "divided", "dtype_beside", "logical", "nearest_in", "promoted", "together"]

Number = (bool, int, float, complex, np.bool_, np.number)

_ADD, _SUB, _MUL, _DIV, _FLOOR_DIV, _MOD, _POW = Add(), Sub(), Mul(), Div(), FloorDiv(), Mod(), Pow()
_NEG, _ABS, _LOGICAL_NOT = Neg(), Abs(), LogicalNot()
_EQUAL, _NOT_EQUAL, _LESS, _LESS_EQUAL, _GREATER, _GREATER_EQUAL = Equal(), NotEqual(), Less(), LessEqual(), Greater(), GreaterEqual()
_LOGICAL_AND, _LOGICAL_OR, _LOGICAL_XOR = LogicalAnd(), LogicalOr(), LogicalXor()
_BITWISE_AND, _BITWISE_OR, _BITWISE_XOR = BitwiseAnd(), BitwiseOr(), BitwiseXor()
_SUMS, _PRODUCTS = pairs_of(_ADD), pairs_of(_MUL)

_new = object.__new__


def binary(op: Any, a: Any, b: Any) -> Tensor:
    """Run an op on two operands, tensors or numbers, in their common dtype.

    A number is possible only for an op on elements (`Elementwise`).
    """
    tracer = state.tracer if tracing else None
    if tracer is not None and tracer.emits is True:
        return combined(op, a, b, lambda first, second: tracer.emit(op, (first, second)))
    given = a, b
    try:
        if b.__class__ is float or b.__class__ is int:
            b = _beside_types[op, a.type, b.__class__, b or repr(b)]
        elif a.__class__ is float or a.__class__ is int:
            a = _beside_types[op, b.type, a.__class__, a or repr(a)]
        plan = pairs[op][a.type][b.type]
    except (KeyError, AttributeError):
        plan = None
    if plan is None:
        a, b = given
        first, second = promoted(op, a, b)
        if first is not a and second is not b:
            return _narrowed(op, a, b, apply(op, first, second))
        a, b = first, second
        plan = plan_for(op, (a.type, b.type))
    result = _new(Tensor)
    result.type = plan.type
    result.memory = plan.run(a.memory, b.memory)
    if tracer is not None:
        tracer.record(op, (a, b), (result,))
    return result


def combined(op: Elementwise, a: Any, b: Any, compute: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Convert both operands to the dtype in which `op` is computed, call `compute` on them, and cast the result to the dtype that it must
    have.

    compute  takes the two tensors, and returns the result.  It is called once for each dtype that is possible: that is one, unless a number
        is known only when a graph runs

    TypeError if an operand is neither tensor, number, list of numbers nor array, or if none is a tensor.
    """
    if emitter() is not None:
        a, b = _sizes_as_numbers(a), _sizes_as_numbers(b)
    if not (isinstance(a, _KNOWN) and isinstance(b, _KNOWN)) and (_is_of_the_run(a) or _is_of_the_run(b)):
        return _with_run_time_number(op, a, b, compute)
    first, second = promoted(op, a, b)
    return _narrowed(op, a, b, compute(first, second))


def together(op: Any, *operands: Any) -> Tensor:
    """Run an operator of the user's own on any number of operands, tensors or numbers, in their common dtype.

    If it takes floats only, integers and bools become Float32.  TypeError for an operand that is neither, or if none is a tensor.
    """
    for name, x in zip(op.takes, operands, strict=True):
        if not isinstance(x, (Tensor, *Number, np.ndarray)) and not _is_of_the_run(x):
            raise mistake(op, name, "a Tensor or a number", repr(x) if isinstance(x, str) else x, TypeError)
    given = [Tensor(x) if isinstance(x, np.ndarray) else x for x in operands]
    dtypes = [x.type.dtype for x in given if isinstance(x, Tensor)]
    if not dtypes:
        raise mistake(op, op.takes[0], "a Tensor, since no other operand is one", given[0], TypeError)
    if not any(dtype.is_inexact for dtype in dtypes) and I64 not in op.accepts:
        given = [_as_dtype(x, F32) if isinstance(x, Tensor) else x for x in given]
    if len(given) == 2 and isinstance(op, Elementwise):
        return binary(op, *given)
    dtype = functools.reduce(common_dtype, [x.type.dtype for x in given if isinstance(x, Tensor)])
    for x in given:
        if not isinstance(x, Tensor):
            dtype = scalar_dtype(dtype, x.python_type(0) if _is_of_the_run(x) else x)
    return apply(op, *[_as_dtype(x, dtype) if isinstance(x, Tensor) else _number_in(op, x, dtype) for x in given])


def _number_in(op: Op, number: Any, dtype: DType) -> Tensor:
    if _is_of_the_run(number):
        return number.as_tensor(dtype)
    try:
        return constant(number.item() if isinstance(number, np.generic) else number, dtype)
    except RuntimeError:
        raise out_of_range(op, number, dtype) from None


_KNOWN = (Tensor, float, int)


def _sizes_as_numbers(x: Any) -> Any:
    """Return the size of a tensor that is known only when a graph runs as a number of that kind, and anything else unchanged."""
    return x.as_run_time_number() if hasattr(type(x), "as_run_time_number") else x


def _is_of_the_run(x: object) -> bool:
    return getattr(x, "is_run_time_number", False)


def _with_run_time_number(op: Elementwise, a: Any, b: Any, compute: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    if isinstance(b, Tensor):
        return a.beside(op, b, lambda x, number: compute(number, x))
    if not isinstance(a, Tensor):
        # Of two numbers the first one counts as a tensor.
        if _is_of_the_run(a):
            a = a.tensor()
        else:
            _check_number(op, a)
            a = as_tensor(a)
    if _is_of_the_run(b):
        return b.beside(op, a, compute)
    _check_number(op, b)
    return combined(op, a, b, compute)


def promoted(op: Elementwise, a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Return both operands as tensors of the dtype in which `op` is computed.  Their numbers must be known, not only when a graph runs."""
    if isinstance(a, Tensor):
        if isinstance(b, (float, int, complex)):
            return _beside(op, a, b)
        if isinstance(b, Tensor):
            if a.dtype is b.dtype:
                return a, b
            dtype = common_dtype(a.dtype, b.dtype)
            return _as_dtype(a, dtype), _as_dtype(b, dtype)
        if isinstance(b, (list, tuple)):
            return promoted(op, a, _of_numbers(op, b))
        if isinstance(b, np.ndarray):
            return promoted(op, a, Tensor(b))
        _check_number(op, b)
        return _beside(op, a, b.item())
    if isinstance(b, Tensor):
        second, first = promoted(op, b, a)
        return first, second
    if isinstance(a, Number) and isinstance(b, Number):
        return promoted(op, as_tensor(a), b)
    _check_number(op, a)
    _check_number(op, b)
    raise TypeError(f"For '{type(op).__name__}', at least one operand must be a Tensor.")


_numbers: dict[tuple[Any, ...], Tensor] = {}
"""The cache of numbers as tensors, for operators: by the class of the op, the dtype of the other operand, and the number."""
_beside_types: dict[tuple[Any, ...], Tensor] = {}
"""The same where the other operand is not cast: by the op, the type of the other operand, and the number."""
_NUMBER = 300
"""Estimated bytes of an entry in the cache of constants for Python numbers, without the constant itself."""

Refillable("numbers beside tensors", lambda: len(_numbers) * _NUMBER, _numbers.clear)
Refillable("numbers beside types", lambda: len(_beside_types) * _NUMBER, _beside_types.clear)


def _beside(op: Elementwise, x: Tensor, number: bool | int | float | complex) -> tuple[Tensor, Tensor]:
    """Convert a number that stands next to a tensor `x` in an operator; return both as tensors of the dtype in which `op` is computed."""
    key = (op.__class__, x.type.dtype, number.__class__, repr(number) if number.__class__ is complex else number or repr(number))
    found = _numbers.get(key)
    if found is None:
        if len(_numbers) > 512:
            _numbers.clear()
        found = _numbers[key] = _number_beside(op, x, number)
        budget.charge(_NUMBER)
    dtype = found.type.dtype
    if x.type.dtype is not dtype:
        return _as_dtype(x, dtype), found
    if len(_beside_types) > 512:
        _beside_types.clear()
    _beside_types[op, x.type, *key[2:]] = found
    budget.charge(_NUMBER)
    return x, found


def _number_beside(op: Elementwise, x: Tensor, number: bool | int | float | complex) -> Tensor:
    own = dtype_beside(op, x)
    dtype = working_dtype(own, number, exact=op.beyond == "exact", compares=op.yields is BOOL)
    if isinstance(number, int) and not own.is_inexact:
        if op.beyond == "nearest":
            number = nearest(dtype, number)
        elif not -(2**63) <= number < (2**64 if own is U64 else 2**63):
            raise out_of_range(op, number, U64 if own is U64 else I64)
        elif own is U64 and dtype is I64:
            raise out_of_range(op, number, U64)
    try:
        return constant(number, dtype)
    except RuntimeError:
        raise out_of_range(op, number, dtype) from None


def nearest_in(dtype: DType, number: Any) -> Tensor:
    """Return an int as a tensor of an integer dtype; an int out of the range of the dtype becomes the nearest end of that range.

    The int may be known only when a graph runs.
    """
    if _is_of_the_run(number):
        return number.nearest_in(dtype)
    return constant(nearest(dtype, number), dtype)


def dtype_beside(op: Elementwise, x: Tensor) -> DType:
    """Return the dtype that a tensor counts as next to a number: Float32 for integers and bools in a division, otherwise its own."""
    dtype = x.type.dtype
    return F32 if isinstance(op, Div) and not dtype.is_inexact else dtype


def _narrowed(op: Elementwise, a: Any, b: Any, result: Tensor) -> Tensor:
    """Cast the result of an op on a tensor and a number from the dtype in which it was computed to the dtype that it must have."""
    x, number = (a, b) if isinstance(a, Tensor) else (b, a)
    # A list or an array is converted to a tensor first.
    if not isinstance(number, Number) or not isinstance(x, Tensor) or op.yields is not None:
        return result
    return _as_dtype(result, scalar_dtype(dtype_beside(op, x), number))


def divided(a: Any, b: Any) -> Tensor:
    """Return the quotient `a / b`; integers and bools are divided as Float32."""
    x = a if isinstance(a, Tensor) else b
    if isinstance(x, Tensor) and x.type.dtype.is_inexact:  # so both become floats or complex
        return binary(_DIV, a, b)
    return combined(_DIV, a, b, _quotient)


def _quotient(a: Tensor, b: Tensor) -> Tensor:
    return binary(_DIV, a, b) if a.dtype.is_inexact else binary(_DIV, _as_dtype(a, F32), _as_dtype(b, F32))


def logical(on_bool: Op, on_integers: Elementwise, a: Any, b: Any) -> Tensor:
    """Run the op `on_bool` if both operands are bools, otherwise the bitwise op `on_integers`."""
    x = a if isinstance(a, Tensor) else b
    if isinstance(x, Tensor) and x.type.dtype is not BOOL:  # so the common dtype is none of bools
        return binary(on_integers, a, b)
    if isinstance(a, Tensor) and isinstance(b, Tensor) and b.type.dtype is BOOL:
        return binary(on_bool, a, b)
    return combined(on_integers, a, b, lambda x, y: apply(on_bool if x.dtype is BOOL else on_integers, x, y))


def _as_dtype(x: Tensor, dtype: DType) -> Tensor:
    return x if x.type.dtype is dtype else apply(Cast(dtype), x)


def _check_number(op: Op, x: Any) -> None:
    if _is_of_the_run(x):
        raise x.owner.unknown("the number is used")  # after its graph has been made
    if not isinstance(x, Number):
        raise TypeError(
            f"For '{type(op).__name__}', an operand must be a Tensor or a number, but got {x!r} of type {type(x).__name__}.")


def _of_numbers(op: Op, items: Any) -> Tensor:
    """Convert a list that stands next to a tensor to a tensor.

    TypeError if it is empty or holds Tensors, which would lose their gradient.
    """
    if not items:
        raise TypeError(f"For '{type(op).__name__}', a list or tuple beside a Tensor must hold numbers, but got {items!r}.")
    known = True
    for item in leaves(items):
        if isinstance(item, Tensor):
            raise TypeError(f"For '{type(op).__name__}', a list or tuple beside a Tensor must hold numbers, "
                            "but got one with a Tensor in it: make one Tensor of it, with `ops.stack(items)`.")
        known = known and not _is_of_the_run(item)
    graph = emitter()
    return graph.convert(Tensor, (items,), {}) if graph is not None and not known else Tensor(items)


# -- on Tensor -------------------------------------------------------------------------------------------------------------
def _comparable(x: object) -> bool:
    return isinstance(x, (Tensor, *Number, np.ndarray)) or _is_of_the_run(x)


class _Operators:
    """The operators of Tensor (`__add__` and so on) as methods of a separate class; they are copied to Tensor below."""

    def __add__(self: Any, other: Any) -> Tensor:
        if not tracing and other.__class__ is Tensor:
            try:
                plan = _SUMS[self.type][other.type]
            except (KeyError, AttributeError):
                pass  # an error of `binary` should not show this exception as its context
            else:
                result = _new(Tensor)
                result.type = plan.type
                result.memory = plan.run(self.memory, other.memory)
                return result
        if isinstance(other, tuple) and hasattr(other, "to_dense"):
            return NotImplemented  # a sparse matrix adds itself
        return binary(_ADD, self, other)

    def __sub__(self: Any, other: Any) -> Tensor:
        return binary(_SUB, self, other)

    def __mul__(self: Any, other: Any) -> Tensor:
        if not tracing and other.__class__ is Tensor:
            try:
                plan = _PRODUCTS[self.type][other.type]
            except (KeyError, AttributeError):
                pass  # an error of `binary` should not show this exception as its context
            else:
                result = _new(Tensor)
                result.type = plan.type
                result.memory = plan.run(self.memory, other.memory)
                return result
        return binary(_MUL, self, other)

    def __truediv__(self: Any, other: Any) -> Tensor:
        return divided(self, other)

    def __radd__(self: Any, other: Any) -> Tensor:
        return binary(_ADD, other, self)

    def __rsub__(self: Any, other: Any) -> Tensor:
        return binary(_SUB, other, self)

    def __rmul__(self: Any, other: Any) -> Tensor:
        return binary(_MUL, other, self)

    def __rtruediv__(self: Any, other: Any) -> Tensor:
        return divided(other, self)

    def __floordiv__(self: Any, other: Any) -> Tensor:
        return binary(_FLOOR_DIV, self, other)

    def __rfloordiv__(self: Any, other: Any) -> Tensor:
        return binary(_FLOOR_DIV, other, self)

    def __mod__(self: Any, other: Any) -> Tensor:
        return binary(_MOD, self, other)

    def __rmod__(self: Any, other: Any) -> Tensor:
        return binary(_MOD, other, self)

    def __pow__(self: Any, other: Any) -> Tensor:
        return binary(_POW, self, other)

    def __rpow__(self: Any, other: Any) -> Tensor:
        return binary(_POW, other, self)

    def __neg__(self: Any) -> Tensor:
        return apply(_NEG, self)

    def __pos__(self: Any) -> Tensor:
        return self

    def __abs__(self: Any) -> Tensor:
        return apply(_ABS, self)

    def __lt__(self: Any, other: Any) -> Tensor:
        return binary(_LESS, self, other)

    def __le__(self: Any, other: Any) -> Tensor:
        return binary(_LESS_EQUAL, self, other)

    def __gt__(self: Any, other: Any) -> Tensor:
        return binary(_GREATER, self, other)

    def __ge__(self: Any, other: Any) -> Tensor:
        return binary(_GREATER_EQUAL, self, other)

    def __eq__(self: Any, other: object) -> Any:
        return binary(_EQUAL, self, other) if _comparable(other) else False

    def __ne__(self: Any, other: object) -> Any:
        return binary(_NOT_EQUAL, self, other) if _comparable(other) else True

    def __and__(self: Any, other: Any) -> Tensor:
        return logical(_LOGICAL_AND, _BITWISE_AND, self, other)

    def __or__(self: Any, other: Any) -> Tensor:
        return logical(_LOGICAL_OR, _BITWISE_OR, self, other)

    def __xor__(self: Any, other: Any) -> Tensor:
        return logical(_LOGICAL_XOR, _BITWISE_XOR, self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self: Any) -> Tensor:
        return apply(_LOGICAL_NOT, _as_dtype(self, BOOL))

    def __iadd__(self: Any, other: Any) -> Tensor:
        return self + other

    def __isub__(self: Any, other: Any) -> Tensor:
        return self - other

    def __imul__(self: Any, other: Any) -> Tensor:
        return self * other

    def __itruediv__(self: Any, other: Any) -> Tensor:
        return self / other


for _name, _method in vars(_Operators).items():
    if isinstance(_method, FunctionType):
        _method.__qualname__ = f"Tensor.{_method.__name__}"
        setattr(Tensor, _name, _method)
