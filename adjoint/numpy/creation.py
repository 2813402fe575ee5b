"""New arrays: from data, filled with one number, ranges, random.

A shape is an int, a tuple or list of ints, or an integer Tensor.  Raise TypeError or ValueError for anything else.
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import BOOL, F16, F32, F64, I8, I16, I32, I64, DType
from adjoint.numpy.conversion import array_like, number_dtype
from adjoint.numpy.dtypes import checked_dtype
from adjoint.ops import creation, random_numbers, shapes
from adjoint.ops.arguments import integer, number, sizes_argument, wrong
from adjoint.runtime.tensor.run_time_checks import emitting
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "arange", "array", "asarray", "asfarray", "copy", "empty", "empty_like", "full", "full_like", "ones", "ones_like", "rand", "randint",
    "randn", "zeros", "zeros_like",
]


# From data -----------------------------------------------------------------------------------------------------------


def array(obj: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """Return a Tensor of numbers, of nested lists or tuples of them, or of another Tensor.

    dtype  by default that of the data: Bool, Int32 or Float32 for Python's numbers
    copy   whether a Tensor is copied
    ndmin  the least number of axes: axes of size 1 are added in front
    """
    found = _of("array", obj, dtype)
    if integer("array", "ndmin", ndmin) > found.ndim:
        found = shapes.reshape(found, (*(1,) * (ndmin - found.ndim), *found.shape))
    return found.copy() if copy and found is obj else found


def asarray(a: Any, dtype: Any = None) -> Tensor:
    """Return a Tensor of numbers or nested lists or tuples of them; a Tensor of the requested dtype is returned unchanged."""
    return _of("asarray", a, dtype)


def asfarray(a: Any, dtype: Any = F32) -> Tensor:
    """Same as `asarray`, in a floating-point dtype: Float32 if another dtype is requested."""
    found = None if dtype is None else checked_dtype("asfarray", dtype)
    return _of("asfarray", a, F32 if found is not None and not found.is_float else found)


def copy(a: Any) -> Tensor:
    """Return a new Tensor with the same numbers; gradients flow through it."""
    return array(a)


def _of(op: str, value: Any, dtype: Any) -> Tensor:
    to = None if dtype is None else checked_dtype(op, dtype)
    if isinstance(value, Tensor):
        return value if to is None else value.astype(to, copy=False)
    if to is F64 and isinstance(value, (tuple, list)) and not emitting():
        return Tensor(value, F64)  # without converting to Float32 first
    found = array_like(op, value, "a")
    # In a graph each run makes a new tensor, which it may write in place.
    return found.copy() if to is None or to is found.dtype else found.astype(to)


# Filled with one number ----------------------------------------------------------------------------------------------


def zeros(shape: Any, dtype: Any = F32) -> Tensor:
    """Return an array of zeros."""
    return creation.zeros(sizes_argument("zeros", "shape", shape), checked_dtype("zeros", dtype))


def ones(shape: Any, dtype: Any = F32) -> Tensor:
    """Return an array of ones."""
    return creation.ones(sizes_argument("ones", "shape", shape), checked_dtype("ones", dtype))


def empty(shape: Any, dtype: Any = F32) -> Tensor:
    """Return an array of zeros: uninitialised memory would make results depend on chance."""
    return creation.zeros(sizes_argument("empty", "shape", shape), checked_dtype("empty", dtype))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """Return an array filled with one number, or with an array broadcast to the shape; by default in the dtype of the value."""
    sizes = sizes_argument("full", "shape", shape)
    to = None if dtype is None else checked_dtype("full", dtype)
    if isinstance(fill_value, (bool, int, float)):
        return creation.full(sizes, fill_value, dtype=number_dtype(fill_value) if to is None else to)
    value = array_like("full", fill_value, "fill_value")
    return shapes.broadcast_to(value if to is None else value.astype(to, copy=False), sizes)


def _like(op: str, prototype: Any, dtype: Any, shape: Any) -> tuple[tuple[int, ...], DType]:
    """Return the requested shape and dtype, by default those of the prototype."""
    x = array_like(op, prototype, "prototype")
    unsaid = shape is None or (isinstance(shape, (tuple, list)) and not shape)
    return x.shape if unsaid else sizes_argument(op, "shape", shape), x.dtype if dtype is None else checked_dtype(op, dtype)


def zeros_like(a: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """Return zeros, by default with the shape and dtype of an array."""
    return creation.zeros(*_like("zeros_like", a, dtype, shape))


def ones_like(a: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """Return ones, by default with the shape and dtype of an array."""
    return creation.ones(*_like("ones_like", a, dtype, shape))


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """Return zeros, by default with the shape and dtype of an array."""
    return creation.zeros(*_like("empty_like", prototype, dtype, shape))


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """Return an array filled with one number, by default with the shape and dtype of an array."""
    sizes, to = _like("full_like", a, dtype, shape)
    return full(sizes, fill_value, to)


# Ranges ------------------------------------------------------------------------------------------------------------


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Tensor:
    """Return the numbers from `start` (default 0) up to but excluding `stop`, `step` (default 1) apart; Int32, or Float32 if any is a
    float.

    ZeroDivisionError for a step of 0.
    """
    given = [start, stop, step]
    numbers = [number("arange", name, value) for name, value in zip(("start", "stop", "step"), given, strict=True) if value is not None]
    first, last = (0, start) if stop is None else (start, stop)
    first, last, apart = (number("arange", "start", value) for value in (first, last, 1 if step is None else step))
    if apart == 0:
        raise wrong("arange", "step", "a number other than 0", apart, ZeroDivisionError)
    if dtype is not None:
        to = checked_dtype("arange", dtype)
    elif any(isinstance(value, Tensor) and value.dtype.is_float for value in given) or any(isinstance(value, float) for value in numbers):
        to = F32
    else:
        to = BOOL if all(isinstance(value, bool) for value in numbers) else I32
        to = I64 if any(number_dtype(value) is I64 for value in numbers) else to
    if (last - first) * apart <= 0:
        return creation.zeros((0,), to)
    return creation.arange(first, last, apart, dtype=to)


# Random numbers ------------------------------------------------------------------------------------------------------


def _drawn_shape(op: str, shape: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the sizes, given one by one or as one tuple or list; (1,) if there are none."""
    if not shape:
        return (1,)
    if len(shape) > 1 and not all(isinstance(size, int) for size in shape):
        raise wrong(op, "shape", "ints, or one tuple or list of them", shape, TypeError)
    return sizes_argument(op, "shape", shape[0] if len(shape) == 1 else shape)


def _drawn_dtype(op: str, dtype: Any, allowed: tuple[DType, ...], unit: str) -> DType:
    try:
        found = checked_dtype(op, dtype)
    except TypeError:
        found = None
    if found not in allowed:
        raise wrong(op, "dtype", f"{unit}: one of {', '.join(d.long_name for d in allowed)}", repr(dtype))
    return found


def rand(*shape: Any, dtype: Any = F32) -> Tensor:
    """Return uniformly distributed random numbers in [0, 1); raise ValueError for a dtype other than Float16, Float32 and Float64."""
    to = _drawn_dtype("rand", dtype, (F16, F32, F64), "a floating point type")
    return random_numbers.rand(_drawn_shape("rand", shape), dtype=to)


def randn(*shape: Any, dtype: Any = F32) -> Tensor:
    """Return normally distributed random numbers with mean 0 and standard deviation 1; raise ValueError for a dtype other than Float16,
    Float32 and Float64."""
    to = _drawn_dtype("randn", dtype, (F16, F32, F64), "a floating point type")
    return random_numbers.randn(_drawn_shape("randn", shape), dtype=to)


def randint(minval: Any, maxval: Any = None, shape: Any = None, dtype: Any = I32) -> Tensor:
    """Return random integers, at least `minval` and less than `maxval`; if only `minval` is given, at least 0 and less than that.

    Raise ValueError if there is no integer between the bounds, and for a dtype that is not a signed integer.
    """
    low, high = integer("randint", "minval", minval), None if maxval is None else integer("randint", "maxval", maxval)
    low, high = (0, low) if high is None else (low, high)
    if low >= high:
        raise wrong("randint", "minval" if maxval is None else "maxval", f"above {low}", high)
    to = _drawn_dtype("randint", dtype, (I8, I16, I32, I64), "a signed integer type")
    sizes = (1,) if shape is None else sizes_argument("randint", "shape", shape)
    return random_numbers.randint(low, high, sizes, dtype=I64).astype(to, copy=False)
