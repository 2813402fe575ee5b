"""How an operand of a call is changed: to another dtype, shape or kind of value.  Read by both interpreters."""

from __future__ import annotations

from typing import Any

import numpy as np

DTYPES = ("float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64", "bool")
COMPLEX = ("complex64", "complex128")
SHAPES = ("empty", "without axes", "one row", "one axis more", "flat", "turned")
NUMBERS = ("2", "2.5", "True", "an array", "a list")
VALUES = ("special", "kinks", "zeros", "ties")
WRONG = ("None", "a str", "an object")

SPECIAL = (np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, 1e-30, -88.8, 104.0, 0.5, 3e38, 17.0, -3.0)
KINKS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 6.0, 20.0, -20.0, 2.5, 1.5, -2.5)


class Thing:
    """Something that no operator knows."""


def changed(value: Any, how: str, turn: int, ms: Any) -> Any:
    """Return a tensor changed as `how` says.  `turn` is its place in the call: two operands get different special values."""
    if how in DTYPES:
        whole = value.abs() if how == "uint8" else value  # what becomes of negative numbers is left to the processor there
        return _as(value, whole.astype(ms.bool_ if how == "bool" else getattr(ms, how)), ms)
    if how in COMPLEX:
        array = value.asnumpy()
        return _as(value, ms.Tensor((array + 1j * np.roll(array, 1)).astype(how)), ms)
    if how in ("2", "2.5", "True"):
        return {"2": 2, "2.5": 2.5, "True": True}[how]
    if how in WRONG:
        return {"None": None, "a str": "text", "an object": Thing()}[how]
    array = value.asnumpy()
    if how == "a list":
        return array.tolist()
    if how == "an array":
        return array
    return _as(value, ms.Tensor(np.array(_array(array, how, turn))), ms)


def _as(value: Any, made: Any, ms: Any) -> Any:
    """A Parameter if the operand was one."""
    return ms.Parameter(made, name=value.name) if isinstance(value, ms.Parameter) else made


def _array(array: np.ndarray[Any, Any], how: str, turn: int) -> np.ndarray[Any, Any]:
    match how:
        case "empty":
            return array[:0] if array.ndim else array.reshape(1)[:0]
        case "without axes":
            return array.reshape(-1)[0]
        case "one row":
            return array[:1]
        case "one axis more":
            return array[None]
        case "flat":
            return array.reshape(-1)
        case "turned":
            return array.T
        case "zeros":
            return np.zeros_like(array)
        case "ties":
            return np.ones_like(array)
    numbers = np.resize(np.roll(SPECIAL if how == "special" else KINKS, -5 * turn), array.shape)
    with np.errstate(all="ignore"):
        return numbers.astype(array.dtype) if array.dtype.kind == "f" else array
