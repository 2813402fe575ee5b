"""The C that kernels are made of, as a tree: expressions that know their type, statements, and one function.

The tree is small because kernels are: no strings of C are glued anywhere, `codegen.c_print` turns the tree into text once.
An expression's `dtype` is the IR dtype of its *value*: a float16 element that was widened on loading is `f32`.  Indices
are `i64`.  Arithmetic asks for equal dtypes on both sides (a Python number takes the other side's), so that no C
conversion happens that nobody wrote; `conversion.cast` is the way from one dtype to another.

Integer arithmetic wraps in every dtype.  For 32 and 64 bits that is the compiler's promise (`-fwrapv`); the narrower ones,
which C computes as `int`, are cast back after each operation.  Arithmetic between two integer literals is done here.

Nodes are not frozen, since that takes longer to make, for every kernel; they are not changed all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.types import BOOL, F64, I8, I16, I64, U8, U16, DType

__all__ = [
    "Assign", "Binary", "Block", "Call", "CastTo", "Comment", "Conditional", "Declare", "DeclareArray", "DeclarePointer",
    "Expr", "Expression", "For", "Function", "If", "Increment", "Index", "Integer", "Name", "Operand", "Real", "Return",
    "Statement", "String", "Unary", "While", "address", "binary", "both", "complex_of", "either", "equal", "expression", "greater",
    "greater_equal", "less", "less_equal", "literal", "maximum_of", "minimum_of", "negation", "not_equal", "select", "wrapped",
]

COMPARISONS: Final = frozenset({"<", "<=", ">", ">=", "==", "!="})
LOGIC: Final = frozenset({"&&", "||"})
BITWISE: Final = frozenset({"&", "|", "^"})
NARROW: Final = frozenset({I8, I16, U8, U16})
"""Integer dtypes that C computes as `int`."""


class Expr:
    """An expression of C; `dtype` is the dtype of its value."""

    __slots__ = ()
    dtype: DType

    def __add__(self, other: Operand) -> Expr:
        return binary("+", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return binary("+", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return binary("-", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return binary("-", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return binary("*", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return binary("*", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return binary("/", self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return binary("/", other, self)

    __floordiv__ = __truediv__
    """C's division: integers are truncated towards zero."""
    __rfloordiv__ = __rtruediv__

    def __mod__(self, other: Operand) -> Expr:
        return binary("%", self, other)

    def __rmod__(self, other: Operand) -> Expr:
        return binary("%", other, self)

    def __and__(self, other: Operand) -> Expr:
        return binary("&", self, other)

    def __rand__(self, other: Operand) -> Expr:
        return binary("&", other, self)

    def __or__(self, other: Operand) -> Expr:
        return binary("|", self, other)

    def __ror__(self, other: Operand) -> Expr:
        return binary("|", other, self)

    def __xor__(self, other: Operand) -> Expr:
        return binary("^", self, other)

    def __rxor__(self, other: Operand) -> Expr:
        return binary("^", other, self)

    def __lshift__(self, other: Operand) -> Expr:
        return binary("<<", self, other)

    def __rlshift__(self, other: Operand) -> Expr:
        return binary("<<", other, self)

    def __rshift__(self, other: Operand) -> Expr:
        return binary(">>", self, other)

    def __rrshift__(self, other: Operand) -> Expr:
        return binary(">>", other, self)

    def __neg__(self) -> Expr:
        match self:
            case Integer(value, dtype):
                return Integer(wrapped(-value, dtype), dtype)
            case Real(value, dtype):
                return Real(-value, dtype)
            case _:
                _arithmetic("-", self.dtype)
                return _narrowed(Unary("-", self, self.dtype))

    def __invert__(self) -> Expr:
        if not self.dtype.is_integer:
            raise TypeError(f"~ needs an integer, not {self.dtype.name}; `negation` is for bool")
        return _narrowed(Unary("~", self, self.dtype))

    # Mistakes that Python would let pass silently: `if x[i] < 0`, `x[i] == 0`.

    def __bool__(self) -> bool:
        raise TypeError("a C expression has no truth value in Python: use `k.when`, `select`, `both`, `either`")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        raise TypeError("== compares nothing here: use `equal(a, b)` for C, `is` for Python")

    __hash__ = object.__hash__


Operand: TypeAlias = "Expr | int | float"
"""An operand of arithmetic: an expression, or a Python number that becomes a literal."""


@dataclass(slots=True, eq=False)
class Name(Expr):
    """A local, a size, or (with the dtype of its elements) a pointer."""

    name: str
    dtype: DType


@dataclass(slots=True, eq=False)
class Integer(Expr):
    """An integer or bool literal."""

    value: int
    dtype: DType = I64


@dataclass(slots=True, eq=False)
class Real(Expr):
    """A floating-point literal, infinity or NaN."""

    value: float
    dtype: DType = F64


@dataclass(slots=True, eq=False)
class String(Expr):
    """A string literal."""

    text: str
    dtype: DType = U8


@dataclass(slots=True, eq=False)
class Unary(Expr):
    """`-`, `~`, `!` or `&` (address of) before its operand."""

    operator: str
    operand: Expr
    dtype: DType


@dataclass(slots=True, eq=False)
class Binary(Expr):
    """Two operands and the operator between them.  Made by `binary`, which checks dtypes."""

    operator: str
    left: Expr
    right: Expr
    dtype: DType


@dataclass(slots=True, eq=False)
class Index(Expr):
    """`base[index]`: an element as it is stored; dtype f16 and bf16 are bits here."""

    base: Expr
    index: Expr
    dtype: DType


@dataclass(slots=True, eq=False)
class Call(Expr):
    """`function(arguments)`"""

    function: str
    arguments: tuple[Expr, ...]
    dtype: DType


@dataclass(slots=True, eq=False)
class Conditional(Expr):
    """`condition ? then : otherwise`"""

    condition: Expr
    then: Expr
    otherwise: Expr
    dtype: DType


@dataclass(slots=True, eq=False)
class CastTo(Expr):
    """`(type)operand`"""

    operand: Expr
    dtype: DType


# ---- statements ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Declare:
    """A local with its first value."""

    name: str
    dtype: DType
    value: Expr
    constant: bool = False


@dataclass(slots=True, eq=False)
class DeclareArray:
    """A local array of `length` elements; zeroed if `zeroed`."""

    name: str
    dtype: DType
    length: int
    zeroed: bool = False


@dataclass(slots=True, eq=False)
class DeclarePointer:
    """A pointer to elements of `dtype`; to elements that are changed through no other pointer, if `alone`."""

    name: str
    dtype: DType
    value: Expr
    constant: bool = False
    alone: bool = True


@dataclass(slots=True, eq=False)
class Assign:
    """`target = value;`"""

    target: Expr
    value: Expr


@dataclass(slots=True, eq=False)
class Increment:
    """`target += value;`"""

    target: Expr
    value: Expr


@dataclass(slots=True, eq=False)
class For:
    """`for (int64_t variable = start; variable < stop; variable += step)`

    independent  whether no round reads or writes what another one writes, which the compiler is told
    """

    variable: str
    start: Expr
    stop: Expr
    step: int
    body: tuple[Statement, ...]
    independent: bool = False


@dataclass(slots=True, eq=False)
class While:
    """`while (condition)`"""

    condition: Expr
    body: tuple[Statement, ...]


@dataclass(slots=True, eq=False)
class If:
    """`if (condition)`, with an `else` unless `otherwise` is empty."""

    condition: Expr
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(slots=True, eq=False)
class Return:
    """`return value;`"""

    value: Expr


@dataclass(slots=True, eq=False)
class Expression:
    """An expression for its effect: a call."""

    value: Expr


@dataclass(slots=True, eq=False)
class Comment:
    """A remark on lines of its own."""

    text: str


@dataclass(slots=True, eq=False)
class Block:
    """Statements in a scope of their own."""

    body: tuple[Statement, ...]


Statement: TypeAlias = (
    Declare | DeclareArray | DeclarePointer | Assign | Increment | For | While | If | Return | Expression | Comment | Block
)


@dataclass(slots=True, eq=False)
class Function:
    """A function that returns `int`.

    parameters  (declaration without name, name)
    prologue    declarations, of which those are printed that the body uses; pointers become parameters of an inner function
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    prologue: tuple[Declare | DeclarePointer, ...]
    body: tuple[Statement, ...]


# ---- making expressions --------------------------------------------------------------------------------------------------


def wrapped(value: int, dtype: DType) -> int:
    """Return `value` modulo 2^bits, in the range of `dtype`."""
    bits = 8 * dtype.size
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def complex_of(real: Expr, imag: Expr, dtype: DType) -> Expr:
    """Return the number of a complex dtype with these parts."""
    return Call(f"adjoint_complex_{dtype.name}", (real, imag), dtype)


def literal(value: complex | bool, dtype: DType) -> Expr:
    """Return `value` as a literal of `dtype` (of the dtype it is computed in); ValueError if an integer does not fit."""
    if dtype.is_complex:
        number = complex(value)
        return complex_of(Real(number.real, dtype.part), Real(number.imag, dtype.part), dtype)
    if isinstance(value, complex):
        raise TypeError(f"{value!r} is not a literal of {dtype.name}")
    if dtype.is_float:
        return Real(float(value), dtype.compute)
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is not a literal of {dtype.name}")
    if dtype is BOOL:
        return Integer(1 if value else 0, BOOL)
    if wrapped(value, dtype) != value:
        raise ValueError(f"{value} does not fit in {dtype.name}")
    return Integer(int(value), dtype)


def expression(value: Operand, dtype: DType) -> Expr:
    """Return `value` itself, or the Python number as a literal of `dtype`."""
    return value if isinstance(value, Expr) else literal(value, dtype)


_FOLDED: Final[dict[str, Callable[[int, int], int]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def _arithmetic(operator: str, dtype: DType) -> None:
    if dtype is BOOL or dtype.compute is not dtype:
        raise TypeError(f"{operator} cannot compute in {dtype.name}")


def _narrowed(value: Expr) -> Expr:
    return CastTo(value, value.dtype) if value.dtype in NARROW else value


def binary(operator: str, left: Operand, right: Operand) -> Expr:
    """Return `left operator right`; TypeError when dtypes differ or the operator does not exist for them."""
    if isinstance(left, Expr):
        dtype = left.dtype
        if not isinstance(right, Expr):
            right = literal(right, I64 if operator in ("<<", ">>") else dtype)
    elif isinstance(right, Expr):
        dtype = right.dtype
        left = literal(left, dtype)
    else:
        raise TypeError("one side must be an expression")
    if operator in ("<<", ">>"):
        if not (dtype.is_integer and right.dtype.is_integer):
            raise TypeError(f"{dtype.name} {operator} {right.dtype.name}")
        value = Binary(operator, left, right, dtype)
        return _narrowed(value) if operator == "<<" else value
    if right.dtype is not dtype:
        raise TypeError(f"{dtype.name} {operator} {right.dtype.name}: cast one side")
    if operator in COMPARISONS:
        if dtype.compute is not dtype or (dtype.is_complex and operator not in ("==", "!=")):
            raise TypeError(f"{operator} cannot compare {dtype.name}")
        return Binary(operator, left, right, BOOL)
    if operator in LOGIC:
        if dtype is not BOOL:
            raise TypeError(f"{operator} needs bool, not {dtype.name}")
        return Binary(operator, left, right, BOOL)
    if operator in BITWISE:
        if dtype.is_inexact:
            raise TypeError(f"{operator} needs integers or bool, not {dtype.name}")
        return Binary(operator, left, right, dtype)
    _arithmetic(operator, dtype)
    if operator == "%" and dtype.is_inexact:
        raise TypeError("% needs integers: call fmod")
    if dtype.is_complex and operator in "*/":  # those of C may call a slow function, and depend on the compiler
        return Call(f"adjoint_{'times' if operator == '*' else 'over'}_{dtype.name}", (left, right), dtype)
    if dtype.is_integer:
        if isinstance(left, Integer) and isinstance(right, Integer) and operator in _FOLDED:
            return Integer(wrapped(_FOLDED[operator](left.value, right.value), dtype), dtype)
        if dtype is I64 and (simpler := _simpler_index(operator, left, right)) is not None:
            return simpler
        if operator != "%":
            return _narrowed(Binary(operator, left, right, dtype))
    return Binary(operator, left, right, dtype)


def _simpler_index(operator: str, left: Expr, right: Expr) -> Expr | None:
    """Simplify index expressions: `i + 0`, `i - 0`, `i * 1`, `i / 1` are `i`; `i * 0` is 0."""
    if isinstance(right, Integer):
        if (right.value == 0 and operator in "+-") or (right.value == 1 and operator in "*/"):
            return left
        if right.value == 0 and operator == "*":
            return right
    if isinstance(left, Integer):
        if (left.value == 0 and operator == "+") or (left.value == 1 and operator == "*"):
            return right
        if left.value == 0 and operator == "*":
            return left
    return None


def less(a: Operand, b: Operand) -> Expr:
    """Return `a < b`."""
    return binary("<", a, b)


def less_equal(a: Operand, b: Operand) -> Expr:
    """Return `a <= b`."""
    return binary("<=", a, b)


def greater(a: Operand, b: Operand) -> Expr:
    """Return `a > b`."""
    return binary(">", a, b)


def greater_equal(a: Operand, b: Operand) -> Expr:
    """Return `a >= b`."""
    return binary(">=", a, b)


def equal(a: Operand, b: Operand) -> Expr:
    """Return `a == b`."""
    return binary("==", a, b)


def not_equal(a: Operand, b: Operand) -> Expr:
    """Return `a != b`."""
    return binary("!=", a, b)


def both(a: Expr, b: Expr) -> Expr:
    """Return `a && b`."""
    return binary("&&", a, b)


def either(a: Expr, b: Expr) -> Expr:
    """Return `a || b`."""
    return binary("||", a, b)


def negation(a: Expr) -> Expr:
    """Return `!a`."""
    if a.dtype is not BOOL:
        raise TypeError(f"! needs bool, not {a.dtype.name}")
    return Unary("!", a, BOOL)


def select(condition: Expr, a: Operand, b: Operand) -> Expr:
    """Return `condition ? a : b`; at most one of `a` and `b` may be a Python number."""
    if condition.dtype is not BOOL:
        raise TypeError(f"a condition is bool, not {condition.dtype.name}")
    if isinstance(a, Expr):
        b = expression(b, a.dtype)
    elif isinstance(b, Expr):
        a = expression(a, b.dtype)
    else:
        raise TypeError("one of the values must be an expression")
    if a.dtype is not b.dtype:
        raise TypeError(f"select between {a.dtype.name} and {b.dtype.name}")
    return Conditional(condition, a, b, a.dtype)


def minimum_of(a: Operand, b: Operand) -> Expr:
    """Return `a < b ? a : b`; the second when one of them is NaN."""
    return select(less(a, b), a, b)


def maximum_of(a: Operand, b: Operand) -> Expr:
    """Return `a > b ? a : b`; the second when one of them is NaN."""
    return select(greater(a, b), a, b)


def address(element: Expr) -> Expr:
    """Return `&base[index]`, the pointer to an element as it is stored."""
    if not isinstance(element, Index):
        raise TypeError("only elements have an address")
    return Unary("&", element, element.dtype)
