"""New tensors: filled with a number, ranges, patterns.

A shape is an int, or a tuple or list of ints, or an integer Tensor.  Raise TypeError and ValueError for anything else.  A tensor
that does not fit in memory raises a MemoryError with the requested size.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.indexing import Iota
from adjoint.ir.ops.shape import Broadcast, Reshape
from adjoint.ir.types import BOOL, F32, F64, I32, I64, DType, tensor
from adjoint.ops.arguments import dtype_or, integer, number, operand, real, sizes_argument, whole, wrong
from adjoint.ops.diagonals import on_diagonal
from adjoint.ops.generated import pow
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.run_time_checks import is_run_time_number
from adjoint.runtime.tensor.stored_number import stored_number
from adjoint.runtime.tensor.tensor import Tensor, apply, as_tensor

__all__ = [
    "arange", "eye", "fill", "full", "full_like", "linspace", "logspace", "ones", "ones_like", "range", "scalar_to_tensor",
    "tuple_to_array", "zeros", "zeros_like",
]


def filled(op: str, sizes: tuple[int, ...], value: Any, dtype: DType) -> Tensor:
    """Return a tensor filled with one number."""
    if len(sizes) > 8:
        raise wrong(op, "size", "at most 8 dimensions", sizes)
    if isinstance(value, Tensor):
        one = apply(made(Reshape, tensor(value.dtype)), value)
        return apply(made(Broadcast, tensor(dtype, sizes)), one.astype(dtype, copy=False))
    if isinstance(value, int) and dtype.is_float:
        real(op, "fill_value", value)  # ValueError for one beyond Float64
    return apply(made(Broadcast, tensor(dtype, sizes)), stored_number(op, value, dtype))


@fusible
def zeros(size: Any, dtype: DType | None = None) -> Tensor:
    """Return zeros; Float32 by default."""
    return filled("Zeros", sizes_argument("Zeros", "size", size), 0, dtype_or("Zeros", dtype, F32))


@fusible
def ones(shape: Any, dtype: DType | None = None) -> Tensor:
    """Return ones; Float32 by default."""
    return filled("Ones", sizes_argument("Ones", "shape", shape), 1, dtype_or("Ones", dtype, F32))


def full(size: Any, fill_value: Any, *, dtype: DType | None = None) -> Tensor:
    """Return a tensor filled with one number; by default its dtype follows the number: Bool, Int64, Float32 or Complex128."""
    value = _filling("Full", fill_value)
    if is_run_time_number(fill_value):
        found = {"bool": BOOL, "int": I64}.get(fill_value.category, F32)
    else:
        found = fill_value.dtype if isinstance(fill_value, Tensor) else as_tensor(value).dtype
    return filled("Full", sizes_argument("Full", "size", size), value, dtype_or("Full", dtype, found))


def _filling(op: str, value: Any) -> Any:
    """Return the number to fill with; a tensor of one element stays one, so that its gradient is that of the result."""
    return value if isinstance(value, complex) or (isinstance(value, Tensor) and value.size == 1) else number(op, "fill_value", value)


def fill(type: DType | None, shape: Any, value: Any) -> Tensor:
    """Return a tensor filled with one number, in the dtype `type`."""
    return full(shape, value, dtype=type)


@fusible
def zeros_like(input: Any, *, dtype: DType | None = None) -> Tensor:
    """Zeros in the shape and dtype of a tensor."""
    x = operand("ZerosLike", input)
    return filled("ZerosLike", x.shape, 0, dtype_or("ZerosLike", dtype, x.dtype))


@fusible
def ones_like(input: Any, *, dtype: DType | None = None) -> Tensor:
    """Ones in the shape and dtype of a tensor."""
    x = operand("OnesLike", input)
    return filled("OnesLike", x.shape, 1, dtype_or("OnesLike", dtype, x.dtype))


@fusible
def full_like(input: Any, fill_value: Any, *, dtype: DType | None = None) -> Tensor:
    """Return a tensor filled with one number, in the shape and dtype of a tensor."""
    x = operand("FullLike", input)
    return filled("FullLike", x.shape, _filling("FullLike", fill_value), dtype_or("FullLike", dtype, x.dtype))


def _bound(op: str, argument: str, value: Any) -> bool | int | float:
    """Return a Python number; raise ValueError for an int of more than 64 bits."""
    found = number(op, argument, value)
    return whole(op, argument, found) if type(found) is int else found


@fusible
def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: DType | None = None) -> Tensor:
    """Return the numbers from `start` to `end`, exclusive, `step` apart; Int64, or Float32 if one of them is a float."""
    first, last, apart = (_bound("Arange", name, v) for name, v in (("start", start), ("end", 0 if end is None else end), ("step", step)))
    if end is None:
        first, last = 0, first
    if apart == 0:
        raise wrong("Arange", "step", "a number other than 0", apart)
    whole = not any(isinstance(v, float) for v in (first, last, apart))
    if (last - first) * apart < 0 or not (whole or math.isfinite(last - first)) or math.isnan(apart):
        raise wrong("Arange", "end", f"reached from {first} in steps of {apart}", last)
    count: Any = last - first  # perhaps a size that is known when a graph runs
    if not whole or apart != 1:
        count = max(0, -int((first - last) // apart) if whole else math.ceil((last - first) / apart))
    to = dtype_or("Arange", dtype, I64 if whole else F32)
    places = apply(made(Iota, tensor(I64 if whole else F64, (count,))))
    values = places * apart if apart != 1 else places
    if first != 0 or not (whole or apart > 0):  # 0.0 times a negative step is -0.0
        values = values + first
    return values if values.dtype is to else apply(made(Cast, to), values)


@fusible
def range(start: Any, end: Any, step: Any, maxlen: int = 1000000) -> Tensor:
    """Return the numbers from `start` to `end`, exclusive, `step` apart; raise ValueError when there are more than `maxlen`."""
    found = arange(start, end, step, dtype=start.dtype if isinstance(start, Tensor) else None)
    if found.size > integer("Range", "maxlen", maxlen):
        raise wrong("Range", "maxlen", f"at least the {found.size} elements", maxlen)
    return found


@fusible
def linspace(start: Any, end: Any, steps: Any) -> Tensor:
    """Return `steps` numbers from `start` to `end`, inclusive; Float32, or the dtype of a floating Tensor given."""
    count = integer("LinSpace", "steps", steps)
    if count < 1:
        raise wrong("LinSpace", "steps", "at least 1", count)
    first, last = real("LinSpace", "start", start), real("LinSpace", "end", end)
    dtype = start.dtype if isinstance(start, Tensor) and start.dtype.is_float else F32
    places = apply(made(Iota, tensor(F64, (count,))))
    values = places * ((last - first) / max(1, count - 1)) + first
    return apply(made(Cast, dtype), values)


@fusible
def logspace(start: Any, end: Any, steps: Any, base: Any = 10, *, dtype: DType = F32) -> Tensor:
    """Return `base`, an int, to the power of `steps` numbers from `start` to `end`, inclusive."""
    count, root = integer("LogSpace", "steps", steps), integer("LogSpace", "base", base)
    if not 0 <= count < 2**40:
        raise wrong("LogSpace", "steps", "in [0, 2**40)", count)
    first, last = real("LogSpace", "start", start), real("LogSpace", "end", end)
    places = apply(made(Iota, tensor(F64, (count,))))
    exponents = places * ((last - first) / max(1, count - 1)) + first
    return apply(made(Cast, dtype_or("LogSpace", dtype, F32)), pow(float(whole("LogSpace", "base", root)), exponents))


@fusible
def eye(n: Any, m: Any = None, dtype: DType | None = None) -> Tensor:
    """`n` rows of `m` (`n`) columns with ones on the diagonal, zeros elsewhere; Float32 by default."""
    rows = integer("Eye", "n", n)
    columns = rows if m is None else integer("Eye", "m", m)
    if rows < 0 or columns < 0:
        raise wrong("Eye", "n", "at least 0, as 'm'", (rows, columns))
    return apply(made(Cast, dtype_or("Eye", dtype, F32)), on_diagonal(rows, columns))


@fusible
def scalar_to_tensor(input_x: Any, dtype: DType = F32) -> Tensor:
    """Return a number as a 0-d tensor."""
    value = number("ScalarToTensor", "input_x", input_x)
    return filled("ScalarToTensor", (), value, dtype_or("ScalarToTensor", dtype, F32))


def tuple_to_array(input_x: Any) -> Tensor:
    """Return the numbers in a tuple or range, of one kind, as a tensor of one dimension: Int32 or Float32."""
    if not isinstance(input_x, (tuple, builtins.range)):
        raise wrong("TupleToArray", "input_x", "a tuple of numbers", repr(input_x), TypeError)
    values = [number("TupleToArray", "input_x", item) for item in input_x]
    if len({getattr(value, "python_type", type(value)) for value in values}) > 1:
        raise wrong("TupleToArray", "input_x", "numbers of one kind", repr(input_x), TypeError)
    return as_tensor(values, F32 if any(getattr(value, "python_type", type(value)) is float for value in values) else I32)
