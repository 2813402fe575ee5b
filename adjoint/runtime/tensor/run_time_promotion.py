"""Ops on a tensor and a number that is known only when the graph runs, computed as in eager mode.

Eager mode computes in a dtype that holds the number, or in a wider one (`runtime/tensor/promotion.py`).  A graph chooses the dtype when it
runs:

    y = x * float(t)         if the dtype holds it { x * narrow(t) } else { narrow(wide(x) * t) }

The node is an `if`, not a `select`: the branch that is taken is the one that eager mode takes, in the gradient too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Protocol

from adjoint.ir.ops.arithmetic import Maximum, Minimum
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.types import I64, U64, DType
from adjoint.runtime.tensor.conversion import out_of_range
from adjoint.runtime.tensor.operators import dtype_beside
from adjoint.runtime.tensor.promotion import float_range, nearest, scalar_dtype, working_dtypes
from adjoint.runtime.tensor.run_time_checks import Range, RangeCheck
from adjoint.runtime.tensor.tensor import Tensor, apply, as_tensor, constant

__all__ = ["RunTimeNumber", "beside", "is_held", "nearest_in"]


class RunTimeNumber(Protocol):
    """The attributes of a Python number known only when a graph runs that this module uses; `graphs.lowering.graph_values.GraphNumber` has
    them.

    owner  the graph that is being made
    bound  an upper bound of the absolute value of an int; None if none is known
    """

    @property
    def owner(self) -> Any: ...
    @property
    def category(self) -> str: ...
    @property
    def bound(self) -> int | None: ...
    @property
    def python_type(self) -> type[bool | int | float]: ...
    def as_tensor(self, dtype: DType, /) -> Tensor: ...
    def both(self, other: Any, /) -> Any: ...
    def either(self, other: Any, /) -> Any: ...
    def negated(self) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __abs__(self) -> Any: ...


def beside(op: Elementwise, x: Tensor, number: RunTimeNumber, compute: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Compute an op on a tensor and a number that is known only when the graph runs, as eager mode would for that number.

    compute  takes the tensor and the number as tensors of one dtype, and returns the result; it is called for each dtype that is possible

    Return the result, cast to the dtype that it must have.
    """
    own, compares = dtype_beside(op, x), op.yields is not None
    kind = number.python_type
    result = scalar_dtype(own, kind())

    def computed(dtype: DType) -> Tensor:
        whole = op.beyond == "nearest" and kind is int and dtype.is_integer
        made = compute(as_tensor(x, dtype), nearest_in(dtype, number) if whole else number.as_tensor(dtype))
        return made if compares else as_tensor(made, result)

    def first_of(dtypes: tuple[DType, ...]) -> Tensor:
        if len(dtypes) == 1:
            return computed(dtypes[0])
        return number.owner.either(is_held(number, dtypes[0]), lambda: computed(dtypes[0]), lambda: first_of(dtypes[1:]))

    dtypes = working_dtypes(own, kind, number.bound, exact=op.beyond == "exact", compares=compares)
    if dtypes == (U64,) and op.beyond == "exact" and kind is int:
        number.owner.check(RangeCheck(Range(0, 2**63 - 1), functools.partial(_check_unsigned, op)), (number.as_tensor(I64),))
    return first_of(dtypes)


def _check_unsigned(op: Elementwise, number: Tensor, _: Range) -> None:
    if number.item() < 0:
        raise out_of_range(op, number.item(), U64)


def is_held(number: RunTimeNumber, dtype: DType) -> Any:
    """Return whether `dtype` can hold the number (`promotion.holds`), as a bool that is known only when the graph runs.

    Use it only for a dtype that cannot hold all numbers of this kind.
    """
    if dtype.is_integer and dtype is not U64:
        return (number >= nearest(dtype, -(2**63))).both(number <= nearest(dtype, 2**63 - 1))
    if dtype is U64:
        return number >= 0
    low, high = float_range(dtype)
    if number.category == "int":
        return (number >= -int(high)).both(number <= int(high))
    size = abs(number)
    subnormal = (size < low).both(size > 0.0)
    return subnormal.either((size > high).both(size < math.inf)).negated()


def nearest_in(dtype: DType, number: RunTimeNumber) -> Tensor:
    """Return an int that is known only when the graph runs as a tensor of an integer dtype.

    An int out of the range of the dtype becomes the nearest end of that range.
    """
    lowest, highest = (nearest(dtype, end) for end in (-(2**63), 2**63 - 1))
    bounded: Tensor = number.as_tensor(I64)
    if lowest > -(2**63):
        bounded = apply(Maximum(), bounded, constant(lowest, I64))
    if highest < 2**63 - 1:
        bounded = apply(Minimum(), bounded, constant(highest, I64))
    return as_tensor(bounded, dtype)
