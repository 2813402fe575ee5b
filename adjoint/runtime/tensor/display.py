"""Tensors as text, as MindSpore writes them: `str` is NumPy's, `repr` has its own rules.

In a `repr` every number has the width of the widest that is shown; floats are `%.8e` (`%.4e` in float16) with a blank for the sign,
bfloat16 is `%g`, and so are both parts of complex numbers, which have no common width.  A vector has a line break after every 12 floats
or bools or 24 others, after its last element too, and omits its middle above 1000 elements; with more dimensions every dimension above 6
omits its middle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.ir.types import BF16, F16, TensorType

__all__ = ["represented", "written"]

Array = np.ndarray[Any, Any]

_EDGE = 3
"""The number of elements shown at either end if the middle is omitted."""


def written(type_: TensorType, array: Array) -> str:
    """Return `str(tensor)`: the values as NumPy writes them; bfloat16 with six decimals.

    array  the values, in the compute dtype
    """
    if type_.dtype is not BF16:
        return str(array.astype(type_.dtype.array, copy=False))
    return np.array2string(array, formatter={"float_kind": lambda v: f"{v:.6f}"}) if type_.rank else f"{array.item():.6f}"


def represented(type_: TensorType, array: Array) -> str:
    """Return `repr(tensor)`, such as `Tensor(shape=[1], dtype=Float32, value= [ 2.00000000e+00])`."""
    head = f"Tensor(shape=[{', '.join(map(str, type_.shape))}], dtype={type_.dtype.long_name}, value="
    if type_.rank == 0:
        if type_.dtype.is_complex:
            return f"{head} {_number(type_)(array.item())})"
        return f"{head} {array.item():g})" if type_.dtype.is_float else f"{head} {array.item()})"
    start = " " if type_.rank == 1 else "\n"
    if array.size == 0:
        return f"{head}{start})"
    shown = array
    limit = 1000 if type_.rank == 1 else 2 * _EDGE
    for axis, size in enumerate(array.shape):
        if size > limit:
            places = np.r_[0:_EDGE, size - _EDGE : size]
            shown = np.take(shown, places, axis)
    number = _number(type_)
    texts = [number(v) for v in shown.reshape(-1).tolist()]
    width = 0 if type_.dtype.is_complex else max(map(len, texts))
    if type_.dtype.is_float and type_.dtype is not BF16:
        # NaN and infinities are as wide as any number.
        width = max(width, 11 if type_.dtype is F16 else 15)
    cells = np.array([text.rjust(width) for text in texts], dtype=object).reshape(shown.shape)
    cut = tuple(size > limit for size in array.shape)
    per_line = 24 if type_.dtype.is_integer or type_.dtype.is_complex else 12
    return f"{head}{start}{_vector(cells, cut[-1], per_line) if type_.rank == 1 else _nested(cells, cut, 1)})"


def _number(type_: TensorType) -> Callable[[Any], str]:
    """Return a function that formats one number."""
    if type_.dtype.is_complex:
        return lambda v: f"{v.real:g}{v.imag:+g}j"
    if not type_.dtype.is_float:
        return str
    if type_.dtype is BF16:
        return lambda v: f"{v:g}"
    digits = 4 if type_.dtype is F16 else 8
    return lambda v: f"{v: .{digits}e}" if np.isfinite(v) else f"{v}"


def _row(cells: Array, cut: bool) -> str:
    """Write numbers, which are texts already, on one line; `cut` is True if the middle is omitted and dots stand there."""
    if not cut:
        return ", ".join(cells)
    return f"{', '.join(cells[:_EDGE])} ... {', '.join(cells[_EDGE:])}"


def _vector(cells: Array, cut: bool, per_line: int) -> str:
    """Write the numbers of a tensor with one dimension, broken into lines.

    cells     the numbers as texts, all of one width
    cut       True if the middle is omitted
    per_line  how many numbers a line has
    """
    if cut:
        return f"[{_row(cells, cut)}]"
    lines = [", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]
    end = "\n " if len(cells) % per_line == 0 else ""
    return "[" + ", \n ".join(lines) + end + "]"


def _nested(cells: Array, cut: tuple[bool, ...], depth: int) -> str:
    """Write the numbers of a tensor with several dimensions, each row of the innermost on a line.

    cells  the numbers as texts
    cut    for each dimension, True if its middle is omitted
    depth  how many brackets are open around it, for the indentation
    """
    if cells.ndim == 1:
        return f"[{_row(cells, cut[0])}]"
    parts = [_nested(part, cut[1:], depth + 1) for part in cells]
    indent = "\n" + " " * depth
    if not cut[0]:
        return "[" + f",{indent}".join(parts) + "]"
    return "[" + f",{indent}".join([*parts[:_EDGE], "...", *parts[_EDGE:]]).replace(f"...,{indent}", f"...{indent}", 1) + "]"
