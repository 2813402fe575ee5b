"""Checks of operator arguments, with messages that name operator, argument, what was expected and what was got.

MindSpore raises RuntimeError for some mistakes that Python has a better exception for.  There, the exceptions here derive
from both types, so that `except` catches them by either; they are printed under Python's name.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.foundation.diagnostics import float_of, printed_as
from adjoint.ir.op import Op, made, mistake
from adjoint.ir.ops.comparison import NotEqual
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.types import BF16, BOOL, F16, F32, F64, DType, Poly
from adjoint.runtime.memory.op_plans import physical_memory
from adjoint.runtime.tensor.conversion import dtype_argument
from adjoint.runtime.tensor.run_time_checks import is_run_time_number
from adjoint.runtime.tensor.tensor import Tensor, apply, as_tensor, constant

__all__ = [
    "ArgumentMistake", "IndexMistake", "as_bools", "axes_argument", "axis_argument", "channels_first", "check_memory", "choice",
    "dimension", "dtype_argument", "filler", "flag", "float_only", "float_tensor", "floating", "integer", "number", "only", "operand",
    "pair", "real", "real_operand", "roomy", "roomy_dtype", "seed_argument", "single", "single_dtype", "sizes_argument",
    "tensors_argument", "truth", "whole", "wrong",
]


@printed_as(IndexError)
class IndexMistake(IndexError, RuntimeError):
    """An index is out of range."""


@printed_as(ValueError)
class ArgumentMistake(ValueError, RuntimeError):
    """Shapes, axes or numbers do not fit."""


def wrong(op: Op | str, argument: str, expected: str, got: object, kind: Callable[[str], Exception] = ValueError) -> Exception:
    """Return the exception for a bad argument."""
    return mistake(op, argument, expected, got.type if isinstance(got, Tensor) else got, kind)


def operand(op: Op | str, x: Any, argument: str = "input") -> Tensor:
    """Return `x` if it is a Tensor; else raise TypeError."""
    if isinstance(x, Tensor):
        return x
    raise wrong(op, argument, "a Tensor", x if not isinstance(x, str) else repr(x), TypeError)


def check_memory(op: str, what: str, nbytes: float) -> None:
    """Raise MemoryError for more bytes than this machine has."""
    if nbytes > physical_memory():
        raise MemoryError(f"For '{op}', {what} would take {nbytes} bytes, but this machine has {physical_memory()}.")


def tensors_argument(op: Op | str, argument: str, tensors: Any) -> tuple[Tensor, ...]:
    """Return a non-empty tuple or list of Tensors as a tuple."""
    if not isinstance(tensors, (tuple, list)) or not all(isinstance(x, Tensor) for x in tensors):
        got = f"a {type(tensors).__name__} of {[type(x).__name__ for x in tensors]}" if isinstance(tensors, (tuple, list)) else tensors
        raise wrong(op, argument, "a tuple or list of Tensors", got, TypeError)
    if not tensors:
        raise wrong(op, argument, "at least one Tensor", tensors)
    return tuple(tensors)


def float_tensor(op: Op | str, x: Any, argument: str = "input") -> Tensor:
    """Return `x` if it is a Tensor of a floating point type; else raise TypeError."""
    found = operand(op, x, argument)
    if not found.dtype.is_float:
        raise wrong(op, argument, "a Tensor of a floating point type", found, TypeError)
    return found


def real_operand(op: Op | str, x: Any, argument: str = "input") -> Tensor:
    """Return a Tensor; raise TypeError for what is none, and for one of complex numbers."""
    found = operand(op, x, argument)
    if found.dtype.is_complex:
        raise wrong(op, argument, "a Tensor of real numbers", found, TypeError)
    return found


def brought_to(op: Op | str, x: Tensor, dtype: DType, argument: str) -> Tensor:
    """Return a Tensor in another dtype; raise TypeError for complex numbers that would lose their imaginary parts."""
    if x.dtype.is_complex and not dtype.is_complex:
        raise wrong(op, argument, f"a Tensor of real numbers; `ops.real({argument})` is the real part", x, TypeError)
    return x.astype(dtype, copy=False)


def as_bools(x: Tensor) -> Tensor:
    """Return for each element whether it is not 0."""
    if x.dtype.is_complex:  # a cast takes the real part
        return apply(made(NotEqual), x, constant(0, x.dtype))
    return x if x.dtype is BOOL else apply(made(Cast, BOOL), x)


def truth(op: Op | str, argument: str, x: Any) -> Tensor:
    """Return a Tensor or a number as a Tensor of bools: True for what is not 0."""
    found = as_tensor(x) if isinstance(x, (bool, int, float, complex)) else operand(op, x, argument)
    return as_bools(found)


def floating(x: Tensor) -> Tensor:
    """Return `x` in floating point, or complex as it is: integers and bools become Float32."""
    return x if x.dtype.is_inexact else apply(made(Cast, F32), x)


def single_dtype(dtype: DType) -> DType:
    """Return a dtype in which results of floats are computed: Float32 of two-byte floats, otherwise their own."""
    return F32 if dtype in (F16, BF16) else dtype


def single(x: Tensor) -> Tensor:
    """Return `x`, two-byte floats in Float32."""
    to = single_dtype(x.dtype)
    return x if x.dtype is to else apply(made(Cast, to), x)


def roomy_dtype(dtype: DType) -> DType:
    """Return a dtype in which squares do not overflow: Float32 for Float16, Float64 for BFloat16 and Float32, others unchanged."""
    return {F16: F32, BF16: F64, F32: F64}.get(dtype, dtype)


def roomy(x: Tensor) -> Tensor:
    """Return `x` in a dtype in which squares do not overflow."""
    to = roomy_dtype(x.dtype)
    return x if x.dtype is to else apply(made(Cast, to), x)


def integer(op: Op | str, argument: str, value: Any) -> int:
    """Return a Python int; NumPy integers and integer Tensors of one element are accepted, bools are not."""
    if isinstance(value, (bool, np.bool_)):
        raise wrong(op, argument, "an int", f"{value} of type bool", TypeError)
    try:
        return operator.index(value)
    except (TypeError, ValueError):
        raise wrong(op, argument, "an int", value if not isinstance(value, str) else repr(value), TypeError) from None


def whole(op: Op | str, argument: str, value: Any) -> int:
    """Return a Python int that fits in 64 bits, as kernels take."""
    found = integer(op, argument, value)
    if not -(2**63) <= found < 2**63:
        raise wrong(op, argument, "an int of 64 bits", found)
    return found


def seed_argument(op: Op | str, seed: Any) -> int | None:
    """Return a seed of an operator's own, or None for the global one."""
    if seed is None:
        return None
    if not 0 <= (chosen := integer(op, "seed", seed)) < 2**63:
        raise wrong(op, "seed", "in [0, 2**63)", chosen)
    return chosen


def real(op: Op | str, argument: str, value: Any) -> float:
    """Return a number known at trace time as a float; raise ValueError for an int that does not fit."""
    return float_of(op if isinstance(op, str) else type(op).__name__, argument, number(op, argument, value))


def float_only(op: Op | str, argument: str, value: Any) -> float:
    """Return a Python float; raise TypeError for an int, as MindSpore does."""
    if isinstance(value, float):
        return value
    raise wrong(op, argument, "a float", value if not isinstance(value, str) else repr(value), TypeError)


def number(op: Op | str, argument: str, value: Any) -> Any:
    """Return a Python number; in a graph it may be one that is known only at run time."""
    if isinstance(value, (bool, int, float)) or is_run_time_number(value):
        return value
    if isinstance(value, (np.bool_, np.integer, np.floating)) or (isinstance(value, Tensor) and value.size == 1):
        return value.item()
    raise wrong(op, argument, "a number", value if not isinstance(value, str) else repr(value), TypeError)


def filler(op: Op | str, argument: str, value: Any, dtype: DType) -> Tensor:
    """Return a number as a tensor of a dtype; raise TypeError when that cannot hold it."""
    if isinstance(value, (complex, np.complexfloating)) and dtype.is_complex:
        return constant(complex(value), dtype)
    found = number(op, argument, value)
    if getattr(found, "python_type", type(found)) is float and not dtype.is_inexact:
        raise wrong(op, argument, f"an int, which a tensor of {dtype} can hold", found, TypeError)
    if is_run_time_number(found):
        return found.as_tensor(dtype)
    return constant(whole(op, argument, found) if type(found) is int else found, dtype)


def flag(op: Op | str, argument: str, value: Any) -> bool:
    """Return a bool."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise wrong(op, argument, "a bool", value if not isinstance(value, str) else repr(value), TypeError)


def choice(op: Op | str, argument: str, value: Any, allowed: Sequence[str]) -> str:
    """Return one of a few words; case does not matter."""
    if not isinstance(value, str):
        raise wrong(op, argument, f"one of {list(allowed)}", value, TypeError)
    if value.lower() not in allowed:
        raise wrong(op, argument, f"one of {list(allowed)}", repr(value))
    return value.lower()


def channels_first(op: Op | str, data_format: Any) -> str:
    """Check the argument 'data_format' of an operator that takes images [n, c, h, w] only: "NCHW", in any case."""
    if isinstance(data_format, str) and data_format.upper() == "NHWC":
        raise wrong(op, "data_format", "'NCHW'", "'NHWC': bring the channels to axis 1 before, with `ops.transpose(x, (0, 3, 1, 2))`, "
                    "and back behind, with `ops.transpose(y, (0, 2, 3, 1))`")
    return choice(op, "data_format", data_format, ("nchw",)).upper()


def axis_argument(op: Op | str, axis: Any, rank: int, argument: str = "axis") -> int:
    """Return an axis as a number in 0..rank-1; a tensor without dimensions has the axes -1 and 0, as in MindSpore."""
    place = integer(op, argument, axis)
    bound = max(rank, 1)
    if not -bound <= place < bound:
        raise wrong(op, argument, f"in [{-bound}, {bound})", place)
    return place % bound


def only(op: Op | str, argument: str, value: Any, *, least: int = 0) -> int:
    """Return one size, given as an int, or a tuple or list of one."""
    sizes = sizes_argument(op, argument, value, least=least)
    if len(sizes) != 1:
        raise wrong(op, argument, "one int", value)
    return whole(op, argument, sizes[0])


def dimension(op: Op | str, axis: Any, x: Tensor, argument: str = "axis", tensor: str = "input") -> int:
    """Return an axis of a tensor that has at least one."""
    if not x.ndim:
        raise wrong(op, tensor, "of at least 1 dimension", x, ArgumentMistake)
    return axis_argument(op, axis, x.ndim, argument)


def axes_argument(op: Op | str, axis: Any, rank: int, argument: str = "axis") -> tuple[int, ...]:
    """Return axes in order: None and () mean all of them."""
    if axis is None:
        return tuple(range(rank))
    if isinstance(axis, Tensor):
        axis = axis.tolist()
    if not isinstance(axis, (tuple, list)):
        axis = (axis,)
    elif not axis:
        return tuple(range(rank))
    places = sorted(axis_argument(op, a, rank, argument) for a in axis)
    for before, after in itertools.pairwise(places):
        if before == after:
            raise wrong(op, argument, "axes without repetition", tuple(axis), ArgumentMistake)
    return tuple(places) if rank else ()


def _size(op: Op | str, argument: str, value: Any) -> int:
    # In a graph for any size it is no number.
    return value if isinstance(value, Poly) else integer(op, argument, value)  # pyright: ignore[reportReturnType] - an int to Python


def sizes_argument(op: Op | str, argument: str, value: Any, *, least: int | None = 0) -> tuple[int, ...]:
    """Return a shape, given as a tuple or list of ints, one int, or an integer Tensor.  Sizes are at least `least`, if that is given."""
    if isinstance(value, Tensor):
        if value.dtype.is_float or value.ndim > 1:
            raise wrong(op, argument, "a tuple of ints", value, TypeError)
        value = value.tolist()
    if isinstance(value, (tuple, list)):
        sizes = tuple(_size(op, argument, size) for size in value)
    else:
        sizes = (_size(op, argument, value),)
    if least is not None:
        for size in sizes:
            if size < least:
                raise wrong(op, argument, f"sizes of at least {least}", sizes)
    return sizes


def pair(op: Op | str, argument: str, value: Any, *, least: int = 1) -> tuple[int, int]:
    """Return two ints for height and width, given as one for both, a pair, or MindSpore's four with those of batch and channels first."""
    if isinstance(value, (tuple, list)):
        if len(value) == 4:
            value = value[2:]
        if len(value) != 2:
            raise wrong(op, argument, "an int or a tuple of two ints", tuple(value))
        first, second = (whole(op, argument, v) for v in value)
    else:
        first = second = whole(op, argument, value)
    if first < least or second < least:
        raise wrong(op, argument, f"at least {least}", value)
    return first, second


def dtype_or(op: Op | str, dtype: Any, default: DType) -> DType:
    """Return a DType argument, or the default for None."""
    if dtype is None:
        return default
    try:
        return dtype_argument(dtype)
    except TypeError:
        raise wrong(op, "dtype", "a dtype such as float32", dtype if not isinstance(dtype, str) else repr(dtype), TypeError) from None
