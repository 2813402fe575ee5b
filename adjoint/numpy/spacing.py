"""Evenly spaced numbers, on a linear or a logarithmic scale."""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Iota
from adjoint.ir.types import F32, F64, DType, tensor
from adjoint.numpy.conversion import broadcast_shape, real_array_like
from adjoint.numpy.dtypes import checked_dtype, nan
from adjoint.ops.arguments import axis_argument, flag, integer, number, wrong
from adjoint.ops.arithmetic import pow, where
from adjoint.ops.shapes import broadcast_to, reshape
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["geomspace", "linspace", "logspace"]


def _bounds(op: str, start: Any, stop: Any, num: Any, dtype: Any) -> tuple[Tensor, Tensor, int, DType]:
    """Return both ends as Float64 arrays of one shape, the number of elements, and their dtype."""
    first, last = real_array_like(op, start, "start"), real_array_like(op, stop, "stop")
    to = (F64 if F64 in (first.dtype, last.dtype) else F32) if dtype is None else checked_dtype(op, dtype)
    first, last = first.astype(F64, copy=False), last.astype(F64, copy=False)
    count = integer(op, "num", num)
    if count < 1:
        raise wrong(op, "num", "at least 1", count)
    sizes = broadcast_shape(op, first, last)
    return broadcast_to(first, sizes), broadcast_to(last, sizes), count, to


def _between(first: Tensor, last: Tensor, count: int, endpoint: bool, along: int) -> tuple[Tensor, Tensor]:
    """Return `count` numbers from `first` to `last` along a new axis, and the distance between two."""
    steps = count - 1 if endpoint else count
    apart = (last - first) / steps if steps else first * nan
    sizes = (*first.shape[:along], 1, *first.shape[along:])
    low, distance = reshape(first, sizes), reshape(apart, sizes)
    places = apply(made(Iota, tensor(F64, tuple(count if a == along else 1 for a in range(len(sizes)))), along))
    if count == 1:
        return low, apart
    line = low + places * distance
    return where(places == steps, reshape(last, sizes), line) if endpoint else line, apart


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    """Return `num` numbers from `start` to `stop`, along a new axis if these are arrays; by default Float32, or Float64 for Float64.

    endpoint  True if `stop` is the last number
    retstep   True to return (numbers, distance between two)
    """
    first, last, count, to = _bounds("linspace", start, stop, num, dtype)
    along = axis_argument("linspace", axis, first.ndim + 1)
    line, apart = _between(first, last, count, flag("linspace", "endpoint", endpoint), along)
    line = line.astype(to, copy=False)
    return (line, apart.astype(F64 if to is F64 else F32, copy=False)) if flag("linspace", "retstep", retstep) else line


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0) -> Tensor:
    """Return `base` to the power of `num` evenly spaced numbers from `start` to `stop`."""
    first, last, count, to = _bounds("logspace", start, stop, num, dtype)
    along = axis_argument("logspace", axis, first.ndim + 1)
    line, _ = _between(first, last, count, flag("logspace", "endpoint", endpoint), along)
    return pow(float(number("logspace", "base", base)), line).astype(to, copy=False)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Tensor:
    """Return `num` numbers from `start` to `stop`, with a constant ratio between adjacent ones."""
    first, last, count, to = _bounds("geomspace", start, stop, num, dtype)
    along = axis_argument("geomspace", axis, first.ndim + 1)
    ends = flag("geomspace", "endpoint", endpoint)
    zeros = first * 0.0
    exponents, _ = _between(zeros, zeros + 1.0, count, ends, along)
    sizes = (*first.shape[:along], 1, *first.shape[along:])
    low, ratio = reshape(first, sizes), reshape(last / first, sizes)
    line = low * pow(ratio, exponents)
    if ends and count > 1:
        line = where(exponents == 1.0, reshape(last, sizes), line)
    return line.astype(to, copy=False)
