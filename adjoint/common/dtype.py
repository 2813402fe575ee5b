"""Element types by MindSpore's names: `float32`, `int32`, `bool_`, ..."""

from __future__ import annotations

import builtins
import contextlib
from typing import Any

import numpy as np

from adjoint.ir.types import BF16, BOOL, C64, C128, DTYPES, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, DType
from adjoint.runtime.tensor.conversion import dtype_argument, dtype_of_array
from adjoint.runtime.tensor.kinds import KINDS, TensorType
from adjoint.runtime.tensor.tensor import Tensor

bool_, int8, int16, int32, int64 = BOOL, I8, I16, I32, I64
uint8, uint16, uint32, uint64 = U8, U16, U32, U64
float16, bfloat16, float32, float64 = F16, BF16, F32, F64
complex64, complex128 = C64, C128
half, single, double, cfloat, cdouble = F16, F32, F64, C64, C128
byte, short, intc, long, intp = I8, I16, I32, I64, I64
ubyte, ushort, uintc, uintp = U8, U16, U32, U64
Type = DType
tensor_type, number, string, type_none = KINDS["Tensor"], KINDS["Number"], KINDS["String"], KINDS["None"]
int_, uint, float_, list_, tuple_ = KINDS["Int"], KINDS["UInt"], KINDS["Float"], KINDS["List"], KINDS["Tuple"]

bool = BOOL  # not in `__all__`, as in MindSpore: `from mindspore import *` leaves Python's alone

number_type = tuple(d for d in DTYPES.values() if d is not BOOL)
int_type = (I8, I16, I32, I64)
uint_type = (U8, U16, U32, U64)
float_type = (F16, BF16, F32, F64)

__all__ = [
    "TensorType", "Type", "bfloat16", "bool_", "byte", "cdouble", "cfloat", "complex128", "complex64", "double", "dtype_to_nptype",
    "dtype_to_pytype", "float16", "float32", "float64", "float_", "get_py_obj_dtype", "half", "int16", "int32", "int64", "int8", "int_",
    "intc", "intp", "list_", "long", "number", "pytype_to_dtype", "short", "single", "string", "tensor_type", "tuple_", "type_none",
    "ubyte", "uint", "uint16", "uint32", "uint64", "uint8", "uintc", "uintp", "ushort",
]


def dtype_to_nptype(type_: DType) -> Any:
    """Return the NumPy scalar type of a dtype; raise TypeError for bfloat16, which NumPy lacks."""
    if not isinstance(type_, DType) or type_ is BF16:
        raise TypeError(f"For 'dtype_to_nptype', there is no NumPy type for {type_!r}.")
    return type_.array.type


def dtype_to_pytype(type_: DType) -> type:
    """Return the Python type of a dtype's numbers."""
    if not isinstance(type_, DType):
        raise TypeError(f"For 'dtype_to_pytype', a dtype such as float32 is expected, but got {type_!r}.")
    return complex if type_.is_complex else float if type_.is_float else builtins.bool if type_ is BOOL else int


def get_py_obj_dtype(obj: Any) -> Any:
    """Return the kind of a value: the dtype of a number, of its type or of a NumPy type; `TensorType` of a tensor; `string`, `list_`, ...

    NotImplementedError for a value of another kind, such as a dict.
    """
    if isinstance(obj, Tensor):
        return TensorType(obj.dtype)
    if isinstance(obj, (builtins.bool, int, float, complex)):
        return dtype_argument(type(obj))
    if isinstance(obj, type):
        with contextlib.suppress(TypeError):
            return dtype_argument(obj)
    for kind in (string, tuple_, list_, type_none, KINDS["Function"]):
        if not isinstance(obj, type) and kind.accepts(obj):
            return kind
    raise NotImplementedError(f"For 'get_py_obj_dtype', there is no kind for {obj!r} of type {type(obj).__name__}.")


def pytype_to_dtype(obj: Any) -> DType:
    """Return the dtype of a Python type, a NumPy type or a NumPy dtype."""
    if isinstance(obj, np.dtype):
        return dtype_of_array(np.empty(0, obj))
    return dtype_argument(obj)
