"""Tensors as text, as MindSpore writes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.types import TensorType

__all__ = ["represented", "written"]


def written(type_: TensorType, array: np.ndarray[Any, Any]) -> str:
    """`str(tensor)`: the numbers as NumPy writes them."""
    return str(array)


def represented(type_: TensorType, array: np.ndarray[Any, Any]) -> str:
    """`repr(tensor)`: `Tensor(shape=[1], dtype=Float32, value= [ 2.00000000e+00])`."""
    if type_.rank == 0:
        value = f" {array.item():g}" if type_.dtype.is_float else str(array.item())
    elif type_.dtype.is_float:
        text = np.array2string(array, separator=", ", formatter={"float_kind": lambda v: f"{v: .8e}"}, threshold=1000)
        value = ("\n" if type_.rank > 1 else " ") + text
    else:
        value = ("\n" if type_.rank > 1 else " ") + np.array2string(array, separator=", ", threshold=1000)
    return f"Tensor(shape=[{', '.join(map(str, type_.shape))}], dtype={type_.dtype.long_name}, value={value})"
