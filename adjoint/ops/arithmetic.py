
"""Arithmetic, comparison and logic, element by element: the functions of `generated`, each one op, and those made of several.

Two operands broadcast as in NumPy and are brought to one dtype first (`runtime/tensor/promotion.py`); a Python number changes the
dtype by its kind only, and counts with its own value.  `input` and `other` are Tensors or numbers, the result is a Tensor.
TypeError for anything else and for dtypes that an operator does not have, ValueError for shapes that do not broadcast.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops import transcendental
from adjoint.ir.ops.arithmetic import Add, Ceil, Div, Floor, FloorDiv, Fmod, Maximum, Minimum, Mul, RootOfSum, Round, Sub
from adjoint.ir.ops.comparison import Equal, Less
from adjoint.ir.ops.composed import Clip
from adjoint.ir.ops.conversion import Cast, Identity, Select, StopGradient
from adjoint.ir.ops.logic import BitwiseNot, LogicalNot
from adjoint.ir.types import BF16, BOOL, F16, F32, F64, I64, U64, DType
from adjoint.ops import generated
from adjoint.ops.arguments import brought_to, choice, filler, flag, floating, integer, number, operand, real, wrong
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.operators import binary, combined, divided, nearest_in
from adjoint.runtime.tensor.promotion import scalar_dtype
from adjoint.runtime.tensor.run_time_checks import is_run_time_number
from adjoint.runtime.tensor.structure import like
from adjoint.runtime.tensor.tensor import Tensor, apply, as_tensor, constant

if TYPE_CHECKING:
    from adjoint.ops.generated import *  # noqa: F403

__all__ = [
    "accumulate_n", "addcdiv", "addcmul", "addn", "bitwise_and", "bitwise_or", "bitwise_xor", "cast", "clamp", "clip", "clip_by_value",
    "depend", "div", "divide", "fmod", "identity", "invert", "isclose", "lerp", "masked_fill", "mixed_precision_cast", "nan_to_num",
    "reciprocal", "round", "select", "stop_gradient", "subtract", "true_divide", "trunc", "type_as", "where", "xlogy",
]

_ADD, _SUB, _MUL, _DIV, _FMOD, _FLOOR_DIV = Add(), Sub(), Mul(), Div(), Fmod(), FloorDiv()
_MAXIMUM, _MINIMUM = Maximum(), Minimum()
_ROOT_OF_SUM = RootOfSum()
_FLOOR, _CEIL, _ROUND = Floor(), Ceil(), Round()
_LESS, _EQUAL = Less(), Equal()
_SELECT, _IDENTITY, _STOP = Select(), Identity(), StopGradient()
LARGEST = {F16: 65504.0, BF16: 3.3895313892515355e38, F32: 3.4028234663852886e38, F64: 1.7976931348623157e308}


def __getattr__(name: str) -> Any:
    """Return a function of `generated`: the modules of operators find all of arithmetic here."""
    function = globals()[name] = getattr(generated, name)
    return function


# Two operands -------------------------------------------------------------------------------------------------------


def added(input: Any, other: Any, alpha: int | float = 1) -> Tensor:
    """input + alpha * other."""
    return binary(_ADD, input, _scaled("Add", other, alpha))


@fusible
def subtract(input: Any, other: Any, *, alpha: int | float = 1) -> Tensor:
    """input - alpha * other."""
    return binary(_SUB, input, _scaled("Subtract", other, alpha))


def _scaled(op: str, other: Any, alpha: Any) -> Any:
    """alpha * other."""
    factor = number(op, "alpha", alpha)
    # A factor of 1 leaves the dtype unchanged where others do not: so a graph must know it.
    multiplies = is_run_time_number(factor) and isinstance(other, Tensor) and scalar_dtype(other.dtype, factor.python_type()) is other.dtype
    if not (multiplies or factor != 1):
        return other
    return binary(_MUL, other, factor) if isinstance(other, Tensor) else other * factor


@fusible
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """input / other; integers divide as Float32.

    rounding_mode  None; "floor" rounds the quotient down, "trunc" toward zero; with these a 0-d tensor next to one with dimensions
                   counts as a number: of the same kind, it takes the other's dtype
    """
    if rounding_mode is None:
        return divided(input, other)
    first, second = _as_number(input, other), _as_number(other, input)
    if choice("Div", "rounding_mode", rounding_mode, ("floor", "trunc")) == "floor":
        return binary(_FLOOR_DIV, first, second)
    return combined(_FLOOR_DIV, first, second, _cut_quotient)


def _cut_quotient(x: Tensor, y: Tensor) -> Tensor:
    return trunc(x / y) if x.dtype.is_inexact else binary(_FLOOR_DIV, binary(_SUB, x, binary(_FMOD, x, y)), y)


def _as_number(x: Any, beside: Any) -> Any:
    """Return a 0-d tensor next to one with dimensions in the other's dtype, if that holds such numbers."""
    if not (isinstance(x, Tensor) and isinstance(beside, Tensor) and x.ndim == 0 and beside.ndim) or x.dtype is beside.dtype:
        return x
    if x.dtype.is_complex or beside.dtype.is_complex:
        return cast(x, beside.dtype) if beside.dtype.is_complex else x
    kept = beside.dtype.is_float or (x.dtype.is_integer and beside.dtype.is_integer) or x.dtype is BOOL
    return cast(x, beside.dtype) if kept else x


@fusible
def true_divide(dividend: Any, divisor: Any) -> Tensor:
    """dividend / divisor; integers divide as Float32."""
    return divided(dividend, divisor)


@fusible
def fmod(input: Any, other: Any) -> Tensor:
    """Return the remainder of input / other with the sign of input, exactly as C's fmod.

    A 0-d `other` counts as a number if `input` has dimensions: of the same kind, it takes the dtype of `input`.
    """
    return binary(_FMOD, input, _as_number(other, input))


def truncated_mod(x: Any, y: Any) -> Tensor:
    """Return the remainder of x / y with the sign of x, exactly as C's fmod."""
    return binary(_FMOD, x, y)


@fusible
def xlogy(input: Any, other: Any) -> Tensor:
    """input * log(other), 0 where input is 0 unless other is NaN.

    The gradient for input is log(other); where input is 0 and other not above 0, it is 0.
    """
    return combined(_DIV, input, other, _xlogy)  # as a quotient: with a number, integers are Float32


def _xlogy(first: Tensor, second: Tensor) -> Tensor:
    return apply(made(transcendental.XLogY), floating(first), floating(second))


def root_of_sum(x: Tensor) -> Tensor:
    """Return the square root of a sum of squares, the gradient of which is 0 at 0."""
    return apply(_ROOT_OF_SUM, x)


def flat_power(x: Tensor, power: float) -> Tensor:
    """Return x**power of numbers not below 0, for a power other than 0; the gradient at 0, where some powers have none, is 0."""
    zero, one = constant(0.0, x.dtype), constant(1.0, x.dtype)
    nothing = generated.equal(x, zero)
    return where(nothing, zero if power > 0 else constant(math.inf, x.dtype), generated.pow(where(nothing, one, x), power))


@fusible
def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """input + weight * (end - input)."""
    operand("Lerp", input)
    operand("Lerp", end, "end")
    return input + weight * (end - input)


def _is_one(value: Any, x: Tensor) -> bool:
    """Return True if the product of a value and a tensor is the tensor."""
    return value.__class__ is int and value == 1 and x.dtype is not BOOL


@fusible
def addcmul(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Tensor:
    """Return input + value * tensor1 * tensor2; among integers, a number is truncated to an integer."""
    product = operand("Addcmul", tensor1, "tensor1") * operand("Addcmul", tensor2, "tensor2")
    if product.dtype.is_integer:
        value = int(value) if isinstance(value, float) else value.converted("int") if is_run_time_number(value) else value
    return operand("Addcmul", input) + (product if _is_one(value, product) else product * value)


@fusible
def addcdiv(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    return operand("Addcdiv", input) + operand("Addcdiv", tensor1, "tensor1") / operand("Addcdiv", tensor2, "tensor2") * value


@fusible
def addn(x: Any) -> Tensor:
    """Return the sum of a list of tensors of one shape and dtype, added from left to right."""
    if isinstance(x, Tensor):
        return x
    if not isinstance(x, (tuple, list)) or not x:
        raise wrong("AddN", "x", "a Tensor or a non-empty list of Tensors", x, TypeError)
    total = operand("AddN", x[0], "x")
    for item in x[1:]:
        if operand("AddN", item, "x").type is not x[0].type:
            kind = ValueError if item.dtype is x[0].dtype else TypeError
            raise wrong("AddN", "x", f"tensors of one type, {x[0].type}", item, kind)
        total = total + item
    return total


@fusible
def accumulate_n(x: Any) -> Tensor:
    """As `addn`."""
    return addn(x)


# Comparison ---------------------------------------------------------------------------------------------------------


@fusible
def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Return whether |input - other| <= atol + rtol * |other|; equal infinities are close, two NaN only if `equal_nan`."""
    def is_close(first: Tensor, second: Tensor) -> Tensor:
        allowed = binary(_ADD, generated.abs(_measured(second)) * rtol, atol)
        near = generated.logical_and(generated.isfinite(second), _distance(first, second) <= allowed)
        close = generated.logical_or(near, generated.equal(first, second))
        return generated.logical_or(close, generated.logical_and(generated.isnan(first), generated.isnan(second))) if both_nan else close

    both_nan = flag("IsClose", "equal_nan", equal_nan)
    return combined(_EQUAL, operand("IsClose", input), other, is_close)


def _measured(x: Tensor) -> Tensor:
    """Return floats and complex numbers unchanged, integers as Float64."""
    return x if x.dtype.is_inexact else cast(x, F64)


def _distance(x: Tensor, y: Tensor) -> Tensor:
    """Return the distance of two numbers; of integers in Float64, since their own dtype may not hold it."""
    if x.dtype.is_float:
        return generated.abs(x - y)
    if x.dtype is not U64:
        x, y = cast(x, I64), cast(y, I64)
    # Modulo 2**64 the difference of two integers of 64 bits is exact.
    return cast(cast(generated.maximum(x, y) - generated.minimum(x, y), U64), F64)


# Logic and bits -----------------------------------------------------------------------------------------------------


def _tensor_first(input: Any, other: Any) -> tuple[Any, Any]:
    """Return the operands of a symmetric operator, the Tensor first where the other one is a number."""
    return (other, input) if isinstance(other, Tensor) and isinstance(input, (bool, int)) else (input, other)


@fusible
def bitwise_and(input: Any, other: Any) -> Tensor:
    """Return the bitwise and of integers or bools, of which one may be a number."""
    first, second = _tensor_first(input, other)
    return operand("BitwiseAnd", first) & second


@fusible
def bitwise_or(input: Any, other: Any) -> Tensor:
    """Return the bitwise or of integers or bools, of which one may be a number."""
    first, second = _tensor_first(input, other)
    return operand("BitwiseOr", first) | second


@fusible
def bitwise_xor(input: Any, other: Any) -> Tensor:
    """Return the bitwise exclusive or of integers or bools, of which one may be a number."""
    first, second = _tensor_first(input, other)
    return operand("BitwiseXor", first) ^ second


@fusible
def invert(x: Any) -> Tensor:
    """Return the bitwise complement of integers or bools."""
    given = operand("Invert", x, "x")
    return apply(LogicalNot() if given.dtype is BOOL else BitwiseNot(), given)


# One operand --------------------------------------------------------------------------------------------------------


@fusible
def reciprocal(input: Any) -> Tensor:
    """1 / input; of integers in Float32."""
    return divided(1, operand("Reciprocal", input))


@fusible
def round(input: Any, *, decimals: int = 0) -> Tensor:
    """Return the input rounded to the given number of decimals, halves to even."""
    x = operand(_ROUND, input)
    places = integer(_ROUND, "decimals", decimals)
    if not -300 <= places <= 300:
        raise wrong(_ROUND, "decimals", "in [-300, 300]", places)
    if not x.dtype.is_inexact:
        return apply(_IDENTITY, x)
    return apply(_ROUND, x) if places == 0 else apply(_ROUND, x * 10.0**places) / 10.0**places


@fusible
def trunc(input: Any) -> Tensor:
    """Return the input rounded toward zero."""
    x = operand("Trunc", input)
    if not x.dtype.is_inexact:
        return apply(_IDENTITY, x)
    return apply(_SELECT, apply(_LESS, x, constant(0.0, x.dtype)), apply(_CEIL, x), apply(_FLOOR, x))


@fusible
def nan_to_num(input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Replace NaN and the infinities: by default with 0 and the largest numbers of the dtype."""
    x = operand("NanToNum", input)
    if x.dtype.is_complex:
        raise wrong("NanToNum", "input", "a Tensor of any dtype but a complex one", x, TypeError)
    if not x.dtype.is_float:
        return apply(_IDENTITY, x)
    largest = LARGEST[x.dtype]
    infinity = constant(math.inf, x.dtype)
    given = {"nan": (nan, 0.0), "posinf": (posinf, largest), "neginf": (neginf, -largest)}
    for_nan, for_high, for_low = (
        constant(default if value is None else real("NanToNum", name, value), x.dtype) for name, (value, default) in given.items())
    finite = where(generated.isnan(x), for_nan, x)
    return where(generated.equal(x, -math.inf), for_low, where(generated.equal(x, infinity), for_high, finite))


@fusible
def identity(x: Any) -> Any:
    """Return x itself, a Tensor, or a tuple or list of them; gradients flow through."""
    if isinstance(x, (tuple, list)):
        return like(x, [identity(item) for item in x])
    return apply(_IDENTITY, operand(_IDENTITY, x, "x"))


def mixed_precision_cast(dst_dtype: DType, x: Any) -> Any:
    """Return floating point Tensors in another dtype, also those in a tuple or list; all else is returned as it is.

    Raises TypeError for a `dst_dtype` that is not a dtype.
    """
    if not isinstance(dst_dtype, DType):
        raise wrong("Cast", "dst_dtype", "a dtype", dst_dtype, TypeError)
    if isinstance(x, (tuple, list)):
        return like(x, [mixed_precision_cast(dst_dtype, item) for item in x])
    return cast(x, dst_dtype) if isinstance(x, Tensor) and x.dtype.is_float else x


def depend(value: Any, expr: Any) -> Any:
    """Return the value; `expr`, an argument, has been computed before.  Effects always run in program order."""
    return value


def stop_gradient(value: Any) -> Any:
    """Return the value without a gradient, also for tensors inside tuples and lists; anything else unchanged."""
    if isinstance(value, Tensor):
        stopped = apply(_STOP, value)
        stopped._takes_gradient = False  # a hook on it would never run: registering one is an error
        return stopped
    if isinstance(value, (tuple, list)):
        return like(value, [stop_gradient(item) for item in value])
    return value


def cast(input: Any, dtype: Any) -> Tensor:
    """Return the numbers in another dtype; `input` is a Tensor, or a number of Python's or NumPy's, `dtype` one of adjoint's."""
    if not isinstance(dtype, DType):
        raise wrong("Cast", "dtype", "a dtype such as float32", repr(dtype), TypeError)
    if isinstance(input, (bool, int, float, np.number, np.bool_)):
        input = as_tensor(input)
    return apply(made(Cast, dtype), operand("Cast", input))


@fusible
def type_as(input: Any, other: Any) -> Tensor:
    """`input` in the dtype of `other`."""
    return apply(made(Cast, operand("TypeAs", other, "other").dtype), operand("TypeAs", input))


# Choice -------------------------------------------------------------------------------------------------------------


@fusible
def select(condition: Any, input: Any, other: Any) -> Tensor:
    """Return `input` where the condition is true, elsewhere `other`; the shapes broadcast.

    condition      Tensor of bools
    input, other   Tensors or numbers, at least one of them a Tensor or both numbers of one kind
    """
    condition = operand(_SELECT, condition, "condition")
    if condition.dtype is not BOOL:
        raise wrong(_SELECT, "condition", "a Tensor of Bool", condition, TypeError)
    if isinstance(input, (Tensor, bool, int, float)) or isinstance(other, Tensor) or is_run_time_number(input):
        return combined(_SELECT, input, other, lambda x, y: apply(_SELECT, condition, x, y))
    raise wrong(_SELECT, "input", "a Tensor or a number", input, TypeError)


@fusible
def where(condition: Any, input: Any, other: Any) -> Tensor:
    """Return `input` where the condition is true, elsewhere `other`; the shapes broadcast."""
    return select(condition, input, other)


@fusible
def masked_fill(input_x: Any, mask: Any, value: Any) -> Tensor:
    """Return `value` where the mask is true, elsewhere the elements of `input_x`."""
    x = operand("MaskedFill", input_x, "input_x")
    if operand("MaskedFill", mask, "mask").dtype is not BOOL:
        raise wrong("MaskedFill", "mask", "a Tensor of Bool", mask, TypeError)
    filling = value if isinstance(value, Tensor) else filler("MaskedFill", "value", value, x.dtype)
    if filling.ndim:
        raise wrong("MaskedFill", "value", "a number or a Tensor without dimensions", value, TypeError)
    return apply(_SELECT, mask, brought_to("MaskedFill", filling, x.dtype, "value"), x)


def _bound(name: str, x: Tensor, bound: Any) -> Any:
    """Return a bound as a Tensor or number; an int that the dtype of `x` cannot hold is clipped to its range."""
    if bound is None or isinstance(bound, Tensor):
        return bound
    found = number("Clamp", name, bound)
    whole = not isinstance(found, float) and getattr(found, "python_type", int) is not float
    return nearest_in(x.dtype, found) if whole and x.dtype.is_integer else found


def _is_exact(bound: Any) -> bool:
    """Return True for a Python number that is a double, and small."""
    return bound.__class__ in (int, float) and -(2**53) <= bound <= 2**53


@fusible
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """Return each element, or `min` where it is below and `max` where it is above; `max` if `min` is above `max`.

    The gradient is that of the input from `min` to `max`, both included, and of the bound outside.  Bounds are numbers or
    Tensors; where one is NaN, so is the result.  Raise ValueError when both are None.
    """
    if min is None and max is None:
        raise ValueError("For 'Clamp', at least one of 'min' and 'max' must not be None.")
    if isinstance(input, (tuple, list)):
        return like(input, [clamp(item, min, max) for item in input])
    x = operand("Clamp", input)
    if x.dtype in (F32, F64) and all(bound is None or _is_exact(bound) for bound in (min, max)):
        return apply(Clip(-math.inf if min is None else float(min), math.inf if max is None else float(max)), x)
    low, high = _bound("min", x, min), _bound("max", x, max)
    if low is not None:
        x = _bounded(x, low, generated.less, generated.greater_equal)
    if high is not None:
        x = _bounded(x, high, generated.greater, generated.less_equal)
    return x


def _bounded(x: Tensor, bound: Any, beyond: Any, within: Any) -> Tensor:
    """Return `x`, or the bound where `x` is beyond it; a NaN of either stays."""
    if not isinstance(bound, Tensor) and not is_run_time_number(bound) and bound == bound:
        return where(beyond(x, bound), bound, x)
    stays = within(x, bound)
    return where(generated.logical_or(stays, generated.isnan(x)) if x.dtype.is_float else stays, x, bound)


@fusible
def clip(input: Any, min: Any = None, max: Any = None) -> Any:
    """As `clamp`."""
    return clamp(input, min, max)


@fusible
def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """Clip each element to the bounds, in its own dtype; where it is equal to a bound, half the gradient is that bound's.

    ValueError when both bounds are None.
    """
    if clip_value_min is None and clip_value_max is None:
        raise ValueError("For 'ClipByValue', at least one of 'clip_value_min' and 'clip_value_max' must not be None.")
    if isinstance(x, (tuple, list)):
        return like(x, [clip_by_value(item, clip_value_min, clip_value_max) for item in x])
    given = result = operand("ClipByValue", x, "x")
    if clip_value_min is not None:
        result = binary(_MAXIMUM, result, clip_value_min)
    if clip_value_max is not None:
        result = binary(_MINIMUM, result, clip_value_max)
    return apply(made(Cast, given.dtype), result) if given.dtype.is_integer else result


divide = div
