"""Conversions between dtypes in C: casts, and elements as they are stored and as they are computed in.

Elements are loaded in the dtype that they are computed in: f16 and bf16 as float, bool as bool.  They are rounded when stored.
"""

from __future__ import annotations

from typing import Final

from adjoint.ir.kernel.c_ast import (
    Binary,
    Call,
    CastTo,
    Conditional,
    Expr,
    Index,
    Integer,
    Name,
    Operand,
    Real,
    complex_of,
    literal,
    not_equal,
    select,
    wrapped,
)
from adjoint.ir.types import BF16, BOOL, F16, F32, U8, DType

__all__ = ["cast", "lvalue_of", "part_of", "stored", "widened"]


def cast(x: Operand, dtype: DType) -> Expr:
    """Return `x` as `dtype`, by C's rules: floats are truncated to integers, and the caller must rule out values out of range.

    To bool: whether it is not zero.  To f16 or bf16: rounded to it, and still a float, as those are computed in f32.
    From a complex dtype to another kind: the real part.
    """
    if not isinstance(x, Expr):
        return literal(x, dtype)
    if x.dtype.is_complex and dtype is not x.dtype:
        first, second = part_of(x, "real"), part_of(x, "imag")
        return complex_of(cast(first, dtype.part), cast(second, dtype.part), dtype) if dtype.is_complex else cast(first, dtype)
    if dtype.is_complex and dtype is not x.dtype:
        return complex_of(cast(x, dtype.part), Real(0.0, dtype.part), dtype)
    if dtype is F16 or dtype is BF16:
        return widened(_narrowed_float(cast(x, F32), dtype))
    if dtype is x.dtype:
        return x
    if dtype is BOOL:
        return not_equal(x, 0)
    if x.dtype.compute is not x.dtype:
        raise TypeError(f"{x.dtype.name} as it is stored: load it instead")
    if x.dtype is BOOL and dtype.is_float:  # a selection: of a loop with a conversion compilers may not make one of vectors
        return select(x, literal(1.0, dtype), literal(0.0, dtype))
    if isinstance(x, Integer):
        if dtype.is_float and abs(x.value) <= 1 << 24:
            return Real(float(x.value), dtype)
        if dtype.is_integer:
            return Integer(wrapped(x.value, dtype), dtype)
    return CastTo(x, dtype)


def part_of(x: Expr, part: str) -> Expr:
    """Return a part of a complex number.

    part  "real" or "imag"
    """
    return Call(f"adjoint_{part}_{x.dtype.name}", (x,), x.dtype.part)


_WIDEN: Final = {F16: "adjoint_f32_of_f16", BF16: "adjoint_f32_of_bf16"}
_NARROW: Final = {F16: "adjoint_f16_of_f32", BF16: "adjoint_bf16_of_f32"}


def widened(element: Expr) -> Expr:
    """Return a stored element as a value of the dtype it is computed in."""
    if element.dtype in _WIDEN:
        return Call(_WIDEN[element.dtype], (element,), F32)
    if element.dtype is BOOL:
        return Binary("!=", element, Integer(0, U8), BOOL)
    return element


def _narrowed_float(value: Expr, dtype: DType) -> Expr:
    """Return a float as it is stored in `dtype`."""
    return Call(_NARROW[dtype], (value,), dtype) if dtype in _NARROW else value


def stored(value: Expr, dtype: DType) -> Expr:
    """Return `value`, which has the dtype that `dtype` is computed in, as an element of `dtype`."""
    if value.dtype is dtype:  # a choice between bools is an `int` in C
        return CastTo(value, BOOL) if dtype is BOOL and isinstance(value, Conditional) else value
    if value.dtype is not dtype.compute:
        raise TypeError(f"a value of {value.dtype.name} cannot be stored in {dtype.name}: cast it")
    if isinstance(value, Call) and value.function in _WIDEN.values():
        (element,) = value.arguments
        if element.dtype is dtype:
            return element
    return _narrowed_float(value, dtype)


def lvalue_of(target: Expr) -> Expr:
    """Return the local or element that a value was loaded from."""
    match target:
        case Name() | Index():
            return target
        case Call(_, (Index() as element,)) if element.dtype in _WIDEN:
            return element
        case Binary("!=", Index(_, _, dtype) as element, Integer(0)) if dtype is BOOL:
            return element
        case _:
            raise TypeError("only a local or an element can be assigned to")
