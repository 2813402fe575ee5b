"""Written by `make docs` from the classes of the ops, and compared with them by a test."""

from typing import Any

from adjoint.ops.publish import Names
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin",
    "asinh", "atan", "atan2", "atanh", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1", "bessel_k0",
    "bessel_k0e", "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1", "ceil", "cos", "cosh", "digamma", "eq", "equal", "erf", "erfc",
    "erfinv", "exp", "exp2", "expm1", "floor", "floor_div", "floor_divide", "floor_mod", "floordiv", "floormod", "ge", "greater",
    "greater_equal", "gt", "i0", "igamma", "igammac", "isfinite", "isinf", "isnan", "le", "less", "less_equal", "lgamma", "log",
    "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "maximum", "minimum", "mod", "mul",
    "mul_no_nan", "multiply", "ne", "neg", "negative", "nextafter", "not_equal", "population_count", "pow", "pows", "remainder",
    "rsqrt", "sigmoid", "sign", "sin", "sinc", "sinh", "sqrt", "square", "sub", "tan", "tanh", "tensor_add", "tensor_exp",
    "tensor_expm1", "tensor_floordiv", "tensor_ge", "tensor_gt", "tensor_le", "tensor_lt", "tensor_mod", "tensor_mul", "tensor_pow",
    "tensor_sub",
]

def names_of(op: str) -> Names: ...

def sigmoid(input: Any) -> Tensor:
    """1 / (1 + exp(-input)).

    gradient  ct * conj(y * (1 - y)), with y = sigmoid(input)
    ct        the gradient of the result
    """


def add(input: Any, other: Any) -> Tensor:
    """input + other; `or` for bools.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  ct for both, summed over the axes along which each was broadcast
    ct        the gradient of the result
    """

tensor_add = add

def sub(input: Any, other: Any) -> Tensor:
    """input - other; whether they differ for bools.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  ct for input, -ct for other, each summed over the axes along which it was broadcast
    ct        the gradient of the result
    """

tensor_sub = sub

def mul(input: Any, other: Any) -> Tensor:
    """input * other; `and` for bools.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  ct * conj(other) for input, ct * conj(input) for other, each summed over the axes along which it was broadcast
    ct        the gradient of the result
    """

multiply = mul
tensor_mul = mul

def mul_no_nan(x: Any, y: Any) -> Tensor:
    """x * y, but 0 where y is 0, even if x is infinite or NaN.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  ct * y for x, where y is 0 zero; x * ct for y, where ct is 0 zero; each summed over the axes along which it was
              broadcast
    ct        the gradient of the result
    """


def floor_divide(input: Any, other: Any) -> Tensor:
    """input / other rounded down, like Python's `//`; an integer input // 0 is 0, as in NumPy; `and` for bools.

    For floats it is (input - input % other) / other rounded to a whole number, so that 1.0 // 0.1 is 9; input // 0.0 is input / 0.0.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  none: piecewise constant
    """


def floor_div(x: Any, y: Any) -> Tensor:
    """x / y rounded down, like Python's `//`; an integer x // 0 is 0, as in NumPy; `and` for bools.

    For floats it is (x - x % y) / y rounded to a whole number, so that 1.0 // 0.1 is 9; x // 0.0 is x / 0.0.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  none: piecewise constant
    """

floordiv = floor_div
tensor_floordiv = floor_div

def remainder(input: Any, other: Any) -> Tensor:
    """input - other * (input // other), with the sign of other, like Python's `%`; an integer input % 0 is 0 and a float one NaN, as in
    NumPy.

    For floats it is C's fmod(input, other), which is exact, plus other, rounded once, if the signs of fmod(input, other) and other
    differ.  For bools it is false.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  ct for input, -ct * (input // other) for other, each summed over the axes along which it was broadcast
    ct        the gradient of the result
    """


def mod(x: Any, y: Any) -> Tensor:
    """x - y * (x // y), with the sign of y, like Python's `%`; an integer x % 0 is 0 and a float one NaN, as in NumPy.

    For floats it is C's fmod(x, y), which is exact, plus y, rounded once, if the signs of fmod(x, y) and y differ.  For bools it is
    false.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  ct for x, -ct * (x // y) for y, each summed over the axes along which it was broadcast
    ct        the gradient of the result
    """

tensor_mod = mod

def floor_mod(x: Any, y: Any) -> Tensor:
    """x - y * (x // y), with the sign of y, like Python's `%`; an integer x % 0 is 0 and a float one NaN, as in NumPy.

    For floats it is C's fmod(x, y), which is exact, plus y, rounded once, if the signs of fmod(x, y) and y differ.  For bools it is
    false.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  ct for x, -ct * (x // y) for y, each summed over the axes along which it was broadcast
    ct        the gradient of the result
    """

floormod = floor_mod

def neg(input: Any) -> Tensor:
    """-input.

    gradient  -ct
    ct        the gradient of the result
    """

negative = neg

def abs(input: Any) -> Tensor:
    """|input|; for the least integer and for a bool, itself.  Of a complex number a complex one, whose imaginary part is 0.

    gradient  ct * sign(input), of a complex number the real part of ct * input / |input|: 0 at 0
    ct        the gradient of the result
    """

absolute = abs

def sign(input: Any) -> Tensor:
    """-1, 0 or 1 with the sign of input; NaN for NaN.  Of a complex number input / |input|, 0 for 0.

    gradient  none: piecewise constant; of a complex number input = r u, |u| = 1, (ct - u Re(conj(u) ct)) / r: the part along u is
              that of the length; 0 at 0
    ct        the gradient of the result
    """


def sqrt(x: Any) -> Tensor:
    """Return the square root; NaN below zero, of a complex number the one with a real part of at least 0.

    Integers and bools become Float32.

    gradient  ct * 0.5 / conj(sqrt(x)): infinite at 0
    ct        the gradient of the result
    """


def rsqrt(input: Any) -> Tensor:
    """1 / sqrt(input), each step rounded; infinite at 0.

    gradient  ct * -0.5 / conj(sqrt(input)**3)
    ct        the gradient of the result
    """


def square(input: Any) -> Tensor:
    """input * input.

    gradient  ct * conj(2x)
    ct        the gradient of the result
    """


def maximum(input: Any, other: Any) -> Tensor:
    """Return the larger of input and other, input at a tie; NaN if either is, as in NumPy.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  ct for the larger, half for each at a tie (truncated for integers), ct for both where one is NaN; each summed
              over the axes along which it was broadcast
    ct        the gradient of the result
    """


def minimum(input: Any, other: Any) -> Tensor:
    """Return the smaller of input and other, input at a tie; NaN if either is, as in NumPy.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  ct for the smaller, half for each at a tie (truncated for integers), ct for both where one is NaN; each summed
              over the axes along which it was broadcast
    ct        the gradient of the result
    """


def floor(input: Any) -> Tensor:
    """input rounded down.

    gradient  none: piecewise constant
    """


def ceil(input: Any) -> Tensor:
    """input rounded up.

    gradient  none: piecewise constant
    """


def nextafter(input: Any, other: Any) -> Tensor:
    """Return the number of T next to input in the direction of other; other where they are equal, NaN if either is.

    gradient  ct for input, summed over the axes along which it was broadcast; none for other
    ct        the gradient of the result
    """


def bessel_i0(x: Any) -> Tensor:
    """Return the modified Bessel function of the first kind of order 0.

    The power series up to 8 (DLMF 10.25.2), sqrt(x) e^-x I(x) as polynomials in 1 / x beyond. The error is below 3 units in the last
    place.

    gradient  ct * bessel_i1(x)
    ct        the gradient of the result
    """


def i0(input: Any) -> Tensor:
    """Return the modified Bessel function of the first kind of order 0.

    The power series up to 8 (DLMF 10.25.2), sqrt(input) e^-input I(input) as polynomials in 1 / input beyond. The error is below 3
    units in the last place.

    gradient  ct * bessel_i1(input)
    ct        the gradient of the result
    """


def bessel_i0e(x: Any) -> Tensor:
    """Return the modified Bessel function of the first kind of order 0, times e^-|x|.

    The power series up to 8 (DLMF 10.25.2), sqrt(x) e^-x I(x) as polynomials in 1 / x beyond. The error is below 3 units in the last
    place.

    gradient  ct * (bessel_i1e(x) - sign(x) bessel_i0e(x))
    ct        the gradient of the result
    """


def bessel_i1(x: Any) -> Tensor:
    """Return the modified Bessel function of the first kind of order 1.

    The power series up to 8 (DLMF 10.25.2), sqrt(x) e^-x I(x) as polynomials in 1 / x beyond. The error is below 3 units in the last
    place.

    gradient  ct * (bessel_i0(x) - bessel_i1(x) / x), ct / 2 at 0: DLMF 10.29.2
    ct        the gradient of the result
    """


def bessel_i1e(x: Any) -> Tensor:
    """Return the modified Bessel function of the first kind of order 1, times e^-|x|.

    The power series up to 8 (DLMF 10.25.2), sqrt(x) e^-x I(x) as polynomials in 1 / x beyond. The error is below 3 units in the last
    place.

    gradient  ct * (bessel_i0e(x) - bessel_i1e(x) (1 / x + sign(x))), ct / 2 at 0.  There the second derivative jumps from 1 to -1,
              and sign is 0: it is taken as 0, and those that follow as those of bessel_i1
    ct        the gradient of the result
    """


def bessel_j0(x: Any) -> Tensor:
    """Return the Bessel function of the first kind of order 0.

    Polynomials up to 8, from which the zeros are divided out, Hankel's expansion beyond (DLMF 10.17.3). The error is below 3 units in
    the last place up to 8, and beyond of the larger of the result and the amplitude sqrt(2 / (pi x)).

    gradient  -ct * bessel_j1(x)
    ct        the gradient of the result
    """


def bessel_j1(x: Any) -> Tensor:
    """Return the Bessel function of the first kind of order 1.

    Polynomials up to 8, from which the zeros are divided out, Hankel's expansion beyond (DLMF 10.17.3). The error is below 3 units in
    the last place up to 8, and beyond of the larger of the result and the amplitude sqrt(2 / (pi x)).

    gradient  ct * (bessel_j0(x) - bessel_j1(x) / x), ct / 2 at 0: DLMF 10.6.2
    ct        the gradient of the result
    """


def bessel_y0(x: Any) -> Tensor:
    """Return the Bessel function of the second kind of order 0; -infinity at 0 and below.

    The series of DLMF 10.8 up to 1, polynomials up to 8, from which the zeros are divided out, Hankel's expansion beyond (DLMF
    10.17.4).
    The error is below 3 units in the last place up to 8, and beyond of the larger of the result and the amplitude sqrt(2 / (pi x)).

    gradient  -ct * bessel_y1(x)
    ct        the gradient of the result
    """


def bessel_y1(x: Any) -> Tensor:
    """Return the Bessel function of the second kind of order 1; -infinity at 0 and below.

    The series of DLMF 10.8 up to 1, polynomials up to 8, from which the zeros are divided out, Hankel's expansion beyond (DLMF
    10.17.4).
    The error is below 3 units in the last place up to 8, and beyond of the larger of the result and the amplitude sqrt(2 / (pi x)).

    gradient  ct * (bessel_y0(x) - bessel_y1(x) / x): DLMF 10.6.2
    ct        the gradient of the result
    """


def bessel_k0(x: Any) -> Tensor:
    """Return the modified Bessel function of the second kind of order 0; infinite at 0 and below.

    By the series of DLMF 10.31 up to 1, sqrt(x) e^x K(x) as polynomials in 1 / x beyond. The error is below 3 units in the last
    place.

    gradient  -ct * bessel_k1(x)
    ct        the gradient of the result
    """


def bessel_k0e(x: Any) -> Tensor:
    """Return the modified Bessel function of the second kind of order 0, times e^x; infinite at 0 and below.

    By the series of DLMF 10.31 up to 1, sqrt(x) e^x K(x) as polynomials in 1 / x beyond. The error is below 3 units in the last
    place.

    gradient  ct * (bessel_k0e(x) - bessel_k1e(x))
    ct        the gradient of the result
    """


def bessel_k1(x: Any) -> Tensor:
    """Return the modified Bessel function of the second kind of order 1; infinite at 0 and below.

    By the series of DLMF 10.31 up to 1, sqrt(x) e^x K(x) as polynomials in 1 / x beyond. The error is below 3 units in the last
    place.

    gradient  -ct * (bessel_k0(x) + bessel_k1(x) / x): DLMF 10.29.2
    ct        the gradient of the result
    """


def bessel_k1e(x: Any) -> Tensor:
    """Return the modified Bessel function of the second kind of order 1, times e^x; infinite at 0 and below.

    By the series of DLMF 10.31 up to 1, sqrt(x) e^x K(x) as polynomials in 1 / x beyond. The error is below 3 units in the last
    place.

    gradient  ct * (bessel_k1e(x) (1 - 1 / x) - bessel_k0e(x))
    ct        the gradient of the result
    """


def less(input: Any, other: Any) -> Tensor:
    """input < other; false where one is NaN.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  none: piecewise constant
    """

lt = less
tensor_lt = less

def less_equal(input: Any, other: Any) -> Tensor:
    """input <= other; false where one is NaN.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  none: piecewise constant
    """

le = less_equal
tensor_le = less_equal

def greater(input: Any, other: Any) -> Tensor:
    """input > other; false where one is NaN.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  none: piecewise constant
    """

gt = greater
tensor_gt = greater

def greater_equal(input: Any, other: Any) -> Tensor:
    """input >= other; false where one is NaN.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  none: piecewise constant
    """

ge = greater_equal
tensor_ge = greater_equal

def equal(input: Any, other: Any) -> Tensor:
    """input == other; false where one is NaN.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  none: piecewise constant
    """

eq = equal

def not_equal(input: Any, other: Any) -> Tensor:
    """input != other; true where one is NaN.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  none: piecewise constant
    """

ne = not_equal

def isnan(input: Any) -> Tensor:
    """Whether input is NaN; an integer or a bool never is, a complex number if one of its parts is.

    gradient  none: piecewise constant
    """


def isinf(input: Any) -> Tensor:
    """Whether input is infinite; an integer or a bool never is, a complex number if one of its parts is.

    gradient  none: piecewise constant
    """


def isfinite(input: Any) -> Tensor:
    """Whether input is neither infinite nor NaN; an integer or a bool always is, a complex number if both parts are.

    gradient  none: piecewise constant
    """


def lgamma(input: Any) -> Tensor:
    """Return the logarithm of |gamma(input)|; infinite at 0, -1, -2, ...

    A polynomial on [1/2, 9], in float32 up to 3, Stirling's series beyond (DLMF 5.11.1), reflection below 0 (DLMF 5.5.3). The
    error is below 3 units in the last place for input > 0; below 0 it is that of the larger of the terms, as the logarithm has a
    zero between each two poles.

    Integers and bools become Float32.

    gradient  ct * digamma(input)
    ct        the gradient of the result
    """


def digamma(input: Any) -> Tensor:
    """Return the derivative of the logarithm of gamma(input); -infinity at 0, infinity at -0, NaN at -1, -2, ... and at -infinity.

    A polynomial on [1/2, 9], from which the zero at 1.4616 is divided out, the asymptotic series beyond (DLMF 5.11.2), reflection
    below 0
    (DLMF 5.5.4). The error is below 3 units in the last place for input > 0; below 0 it is that of the larger of the terms.

    gradient  ct * polygamma(1, input)
    ct        the gradient of the result
    """


def igamma(input: Any, other: Any) -> Any:
    """Return the regularised lower incomplete gamma function: the integral of t^(input - 1) e^-t from 0 to other, over gamma(input).
    DLMF 8.2.4.

    The power series up to 1.5 (DLMF 8.7.3); beyond, the trapezoidal rule after an exponential change of variable, from other away
    from the
    mean; in float32 input series or input continued fraction (DLMF 8.11.4, 8.9.2), where input is below 400. The error is below 16
    units in the last
    place of float64 where the result is above 0.01; where it is smaller, below 16 and 3 for each unit of its logarithm.
    NaN for input < 0, for other < 0, and where both are 0 or both infinite.

    gradient  ct times the derivative by input, ct * other^(input - 1) e^-other / gamma(input) for other; each summed over the axes
              along which it was broadcast
    ct        the gradient of the result
    """


def igammac(input: Any, other: Any) -> Any:
    """Return the regularised upper incomplete gamma function, 1 - igamma(input, other), accurate where it is small. DLMF 8.2.4.

    gradient  that of igamma, negative
    """


def logical_and(input: Any, other: Any) -> Tensor:
    """Whether input and other are both true.

    Numbers other than 0 are true.

    gradient  none: bools have none
    """


def logical_or(input: Any, other: Any) -> Tensor:
    """Whether input or other is true.

    Numbers other than 0 are true.

    gradient  none: bools have none
    """


def logical_xor(input: Any, other: Any) -> Tensor:
    """Whether exactly one of input and other is true.

    Numbers other than 0 are true.

    gradient  none: bools have none
    """


def logical_not(input: Any) -> Tensor:
    """Whether input is false.

    Numbers other than 0 are true.

    gradient  none: bools have none
    """


def population_count(input_x: Any) -> Tensor:
    """How many bits of input_x are set, of a negative integer those of its two's complement.

    gradient  none: bits have none
    """


def pow(input: Any, exponent: Any) -> Tensor:
    """input to the power exponent; 0 ** 0 is 1, a negative input to a power that is not an integer is NaN; input ** 2 is input * input
    and input ** 1 is input, to the bit.

    An integer to a negative power is 1 / input**-exponent truncated toward zero: 1 for 1, 1 or -1 for -1, else 0.  A complex input to
    a whole number of
    at most 64 is a product, or 1 divided by it, to another power e ** (exponent log(input)); 0 to a power whose real part is not
    above 0 is NaN.

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  ct * exponent * input**(exponent - 1) for input, so NaN at 0**0; ct * input**exponent * log(input) for exponent, where
              log(0) is taken as 0 if
              exponent >= 0, so NaN for a negative input; for complex numbers with the conjugates of these factors; each summed over
              the axes along which it was broadcast
    ct        the gradient of the result
    """

tensor_pow = pow
pows = pow

def exp(input: Any) -> Tensor:
    """e to the power input.

    gradient  ct * conj(exp(input))
    ct        the gradient of the result
    """

tensor_exp = exp

def exp2(input: Any) -> Tensor:
    """2 to the power input.

    Integers and bools become Float32.

    gradient  ct * log(2) * conj(2**input)
    ct        the gradient of the result
    """


def expm1(input: Any) -> Tensor:
    """exp(input) - 1, accurate near 0.

    gradient  ct * conj(exp(input))
    ct        the gradient of the result
    """

tensor_expm1 = expm1

def log(input: Any) -> Tensor:
    """Return the natural logarithm; -infinity at 0, NaN below.

    gradient  ct / conj(input)
    ct        the gradient of the result
    """


def log2(input: Any) -> Tensor:
    """Return the logarithm to base 2; -infinity at 0, NaN below.

    gradient  ct / conj(input log(2))
    ct        the gradient of the result
    """


def log10(input: Any) -> Tensor:
    """Return the logarithm to base 10; -infinity at 0, NaN below.

    gradient  ct / conj(input log(10))
    ct        the gradient of the result
    """


def log1p(input: Any) -> Tensor:
    """log(1 + input), accurate near 0.

    gradient  ct / conj(1 + input)
    ct        the gradient of the result
    """


def sin(input: Any) -> Tensor:
    """Return the sine of input radians.

    gradient  ct * conj(cos(input))
    ct        the gradient of the result
    """


def cos(input: Any) -> Tensor:
    """Return the cosine of input radians.

    gradient  -ct * conj(sin(input))
    ct        the gradient of the result
    """


def tan(input: Any) -> Tensor:
    """Return the tangent of input radians.

    gradient  ct * conj(1 + tan(input)**2)
    ct        the gradient of the result
    """


def asin(input: Any) -> Tensor:
    """Return the inverse sine, in [-pi/2, pi/2]; NaN outside of [-1, 1].

    gradient  ct / conj(sqrt(1 - input**2)): infinite at -1 and 1
    ct        the gradient of the result
    """


def arcsin(x: Any) -> Tensor:
    """Return the inverse sine, in [-pi/2, pi/2]; NaN outside of [-1, 1].

    gradient  ct / conj(sqrt(1 - x**2)): infinite at -1 and 1
    ct        the gradient of the result
    """


def acos(input: Any) -> Tensor:
    """Return the inverse cosine, in [0, pi]; NaN outside of [-1, 1].

    gradient  -ct / conj(sqrt(1 - input**2)): infinite at -1 and 1
    ct        the gradient of the result
    """

arccos = acos

def atan(input: Any) -> Tensor:
    """Return the inverse tangent, in [-pi/2, pi/2].

    gradient  ct / conj(1 + input**2)
    ct        the gradient of the result
    """

arctan = atan

def sinh(input: Any) -> Tensor:
    """Return the hyperbolic sine.

    gradient  ct * conj(cosh(input))
    ct        the gradient of the result
    """


def cosh(input: Any) -> Tensor:
    """Return the hyperbolic cosine.

    gradient  ct * conj(sinh(input))
    ct        the gradient of the result
    """


def asinh(input: Any) -> Tensor:
    """Return the inverse hyperbolic sine.

    gradient  ct / conj(cosh(asinh(input))), which is sqrt(1 + input**2)
    ct        the gradient of the result
    """

arcsinh = asinh

def acosh(input: Any) -> Tensor:
    """Return the non-negative inverse hyperbolic cosine; NaN below 1.

    gradient  ct / conj(sinh(acosh(input))), which is sqrt(input**2 - 1): infinite at 1
    ct        the gradient of the result
    """

arccosh = acosh

def atanh(input: Any) -> Tensor:
    """Return the inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.

    gradient  ct / conj(1 - input**2)
    ct        the gradient of the result
    """

arctanh = atanh

def atan2(input: Any, other: Any) -> Tensor:
    """Return the angle, in [-pi, pi], of the point (other, input).

    The operands are Tensors or numbers, of shapes that broadcast; they are brought to one dtype.

    gradient  ct * other / (other**2 + input**2) for input, -ct * input / (other**2 + input**2) for other, both 0 for (0, 0); each
              summed over the axes
              along which it was broadcast
    ct        the gradient of the result
    """

arctan2 = atan2

def tanh(input: Any) -> Tensor:
    """Return the hyperbolic tangent.

    gradient  ct * conj(1 - tanh(input)**2)
    ct        the gradient of the result
    """


def erf(input: Any) -> Tensor:
    """Return the error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to input.

    gradient  ct * 2 / sqrt(pi) * exp(-input**2)
    ct        the gradient of the result
    """


def erfc(input: Any) -> Tensor:
    """1 - erf(input), accurate where it is small.

    gradient  -ct * 2 / sqrt(pi) * exp(-input**2)
    ct        the gradient of the result
    """


def erfinv(input: Any) -> Tensor:
    """Return the y with erf(y) = input; infinite at -1 and 1, NaN beyond.

    input p(input^2) up to 1/2, polynomials in sqrt(-ln(1 - |input|)) above; in float32, of ln(1 - input^2). The error is below 3
    units in the last place.

    gradient  ct * sqrt(pi) / 2 * exp(erfinv(input)**2)
    ct        the gradient of the result
    """


def sinc(input: Any) -> Tensor:
    """sin(pi input) / (pi input), 1 at 0; exactly 0 at the other integers; NaN at infinity.

    The error is below 3 units in the last place.

    Integers and bools become Float32.

    gradient  ct * (cos(pi input) - sinc(input)) / input, for |input| < 1/2 by the power series of that
    ct        the gradient of the result
    """

