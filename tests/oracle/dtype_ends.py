"""Tensors with the ends of a dtype's range: those that MindSpore is asked about, and that tests compute with."""

# pyright: reportMissingImports=false

import mindspore as ms
import numpy as np
from mindspore import Tensor

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")


def ends(dtype: str) -> Tensor:
    """0, 1, 3 and the ends of the range of an integer dtype; 0, 1, -2.5 and almost the largest number of a floating one."""
    if dtype == "bool":
        return Tensor(np.array([False, True]))
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        return Tensor(np.array([0, 1, 3, limits.min, limits.max], dtype))
    largest = {"float16": 60000.0, "float64": 1e300}.get(dtype, 3e38)
    numbers = np.array([0.0, 1.0, -2.5, largest], "float32" if dtype == "bfloat16" else dtype)
    return Tensor(numbers).astype(getattr(ms, dtype))
