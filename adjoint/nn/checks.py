"""Checks of layer arguments: raise TypeError or ValueError with layer, argument, what was expected and got."""

from __future__ import annotations

import math
import numbers
from typing import Any

from adjoint.foundation.diagnostics import check_flag, float_of
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "boolean", "cell_argument", "choice", "floating", "integer", "least", "least_integer", "number", "pair", "positive", "positive_number",
    "tensor_argument",
]


def _name(owner: Cell | str) -> str:
    return owner if isinstance(owner, str) else type(owner).__name__


def integer(owner: Cell | str, argument: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"For '{_name(owner)}', the argument '{argument}' must be an int, "
                        f"but got {value!r} of type {type(value).__name__}.")
    return int(value)


def positive(owner: Cell | str, argument: str, value: Any) -> int:
    if not 0 < integer(owner, argument, value) < 2**63:
        raise ValueError(f"For '{_name(owner)}', the argument '{argument}' must be greater than 0 and of 64 bits, but got {value}.")
    return int(value)


def least_integer(owner: Cell | str, argument: str, value: Any, bound: int) -> int:
    """Check an int of 64 bits that is at least `bound`."""
    if not bound <= integer(owner, argument, value) < 2**63:
        raise ValueError(f"For '{_name(owner)}', the argument '{argument}' must be at least {bound} and of 64 bits, but got {value}.")
    return int(value)


def number(owner: Cell | str, argument: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"For '{_name(owner)}', the argument '{argument}' must be a number, "
                        f"but got {value!r} of type {type(value).__name__}.")
    return float_of(_name(owner), argument, value)


def least(owner: Cell | str, argument: str, value: Any, bound: float) -> float:
    """Check a finite number that is at least `bound`."""
    if not bound <= number(owner, argument, value) < math.inf:
        raise ValueError(f"For '{_name(owner)}', the argument '{argument}' must be at least {bound} and finite, but got {value}.")
    return float(value)


def positive_number(owner: Cell | str, argument: str, value: Any) -> float:
    if not 0 < number(owner, argument, value) < math.inf:
        raise ValueError(f"For '{_name(owner)}', the argument '{argument}' must be greater than 0 and finite, but got {value}.")
    return float(value)


def boolean(owner: Cell | str, argument: str, value: Any) -> bool:
    check_flag(_name(owner), argument, value)
    return value


def cell_argument(owner: Cell | str, argument: str, value: Any) -> Cell:
    if not isinstance(value, Cell):
        raise TypeError(f"For '{_name(owner)}', the argument '{argument}' must be a Cell, "
                        f"but got {value!r} of type {type(value).__name__}.")
    return value


def choice(owner: Cell | str, argument: str, value: Any, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"For '{_name(owner)}', the argument '{argument}' must be one of {list(known)}, but got {value!r}.")
    return value


def pair(owner: Cell | str, argument: str, value: Any, least: int = 1) -> tuple[int, int]:
    """Check an int for both directions, or (height, width)."""
    if isinstance(value, (tuple, list)):
        items = tuple(value)
        if len(items) == 4 and items[:2] == (1, 1):
            items = items[2:]
        if len(items) != 2:
            raise TypeError(f"For '{_name(owner)}', the argument '{argument}' must be an int or a tuple of 2, but got {value!r}.")
    else:
        items = (value, value)
    for item in items:
        if not least <= integer(owner, argument, item) < 2**63:
            raise ValueError(f"For '{_name(owner)}', the argument '{argument}' must be at least {least} and of 64 bits, but got {value!r}.")
    return int(items[0]), int(items[1])


def tensor_argument(owner: Cell | str, argument: str, value: Any, rank: int | tuple[int, ...] | None = None) -> Tensor:
    """Check a tensor, of this rank (or one of these) if it is given."""
    if not isinstance(value, Tensor):
        raise TypeError(f"For '{_name(owner)}', the argument '{argument}' must be a Tensor, "
                        f"but got {value!r} of type {type(value).__name__}.")
    ranks = (rank,) if isinstance(rank, int) else rank
    if ranks is not None and value.ndim not in ranks:
        raise ValueError(f"For '{_name(owner)}', the argument '{argument}' must have {' or '.join(map(str, ranks))} dimensions, "
                         f"but got shape {value.shape}.")
    return value


def floating(owner: Cell | str, argument: str, value: Any, rank: int | tuple[int, ...] | None = None, *, integers: bool = False) -> Tensor:
    """Check a tensor of a floating dtype (or of integers, if these are allowed)."""
    x = tensor_argument(owner, argument, value, rank)
    if not (x.dtype.is_float or (integers and x.dtype.is_integer)):
        raise TypeError(f"For '{_name(owner)}', the argument '{argument}' must be a Tensor of floating dtype, but got {x.dtype}.")
    return x
