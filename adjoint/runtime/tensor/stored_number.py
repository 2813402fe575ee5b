"""A Python number converted for storage in a tensor: an element is written, or a tensor is filled."""

from __future__ import annotations

import functools
import math
from typing import Any

from adjoint.ir.types import BOOL, F64, DType
from adjoint.runtime.tensor.run_time_checks import TRUE, checked_on_host, is_run_time_number
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["stored_number"]


def stored_number(op: str, number: Any, dtype: DType) -> Tensor:
    """Convert a Python number that is written into a tensor of `dtype` to a 0-d tensor.

    An integer is taken modulo 2**n, a float in an integer dtype is truncated.

    op  the operator, for messages

    ValueError for a float that is not finite in an integer dtype, RuntimeError for an integer of more than 64 bits; for a number that is
    known only when a graph runs, the run raises the error.
    """
    if is_run_time_number(number):
        if number.python_type is float and dtype.is_integer:
            fits = lambda: [((number >= -(2.0**63)).both(number < 2.0**64).as_tensor(BOOL), TRUE)]  # noqa: E731
            checked_on_host(functools.partial(_check_cut, op, dtype), number.as_tensor(F64), conditions=fits)
        return number.as_tensor(dtype)
    if dtype is BOOL:
        return constant(bool(number), dtype)
    return constant(_cut(op, dtype, number) if dtype.is_integer and isinstance(number, float) else number, dtype)


def _cut(op: str, dtype: DType, number: float) -> int:
    if not math.isfinite(number):
        raise ValueError(f"For '{op}', a tensor of {dtype} cannot hold {number}.")
    return int(number)


def _check_cut(op: str, dtype: DType, number: Tensor) -> None:
    constant(_cut(op, dtype, number.item()), dtype)
