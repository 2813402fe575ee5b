# ruff: noqa: SIM201 - programs stay as users write them
"""Operators of the language on tensors and on Python numbers, assignment, promotion."""

from __future__ import annotations

import numpy as np

import adjoint
from adjoint import Tensor, ops
from programs.program import boolean, f16, f32, f64, grid, i32, i64, program


@program(f32(1.5, -2.0, 0.5), f32(2.0, 3.0, -0.25), wrt=(0, 1))
def arithmetic(x, y):
    """The four operations, negation and powers, with tensors and numbers on either side."""
    return (x + y) * (x - 2) / y + 1 / y - (-x) ** 2 + 2.0**x


@program(f32(7.5, -7.5, -0.0), f32(2.0, 2.0, 3.0))
def whole_and_rest(x, y):
    """Whole quotients and remainders have the sign of the divisor."""
    return x // y, x % y, 10 // y, 10 % y, x // 2 * 2 + x % 2


@program(i32(7, -7, 5), i32(2, 2, -3), features="results of dtype int")
def integers(x, y):
    """Integers stay integers, except when divided."""
    return x + y, x - y, x * y, x // y, x % y, x / y, -x, abs(x), +x


@program(f32(1.0, -2.0, np.nan), f32(1.0, 3.0, 0.0))
def comparisons(x, y):
    """All comparisons, also with a NaN."""
    return x < y, x <= y, x > y, x >= y, x == y, x != y, x > 1, x == 1


@program(i32(12, -5, 0), i32(10, 3, -1))
def bits_of_integers(x, y):
    """And, or, exclusive or and complement of integers."""
    return x & y, x | y, x ^ y, x.bitwise_not(), (x & 6) | (y ^ 1)


@program(boolean(True, False, True), boolean(True, True, False))
def masks(a, b):
    """The same operators on bools are logical ones."""
    return a & b, a | b, a ^ b, ~a, ~(a & b) == (~a | ~b)


@program(f32(1.5, -2.0), 7, -2, 0.5, wrt=0)
def python_arithmetic(x, m, n, half):
    """Arithmetic of Python numbers while parsing."""
    k = (m + n) * (m - n) // 4 + m % 4 - m**2 + (m << 2) + (m >> 1) + (m & 5) + (m | 8) + (m ^ 3) + ~m
    r = m / n + half**2 - (-half) + +half
    return x * k + r


@program(f32(1.5, -2.0), 3, wrt=0)
def python_logic(x, n):
    """Comparisons and logic of Python numbers."""
    if (n > 2 and not n == 5) or n < -7:
        x = x * 2
    if n >= 3 and n <= 3 and n != 4:
        x = x + 1
    either = n or 9
    both = n and 0.5
    return x * either + both


@program(f32(1.5, -2.0), 3, wrt=0, features="chained comparison")
def python_chains(x, n):
    """Chained comparisons of Python numbers."""
    if 1 < n <= 3 == 3 != 4:
        return x * 2
    return x * (0 < n < 2)


@program(f32(2.5), wrt=0, features="chained comparison, tensor if")
def tensor_chain(x):
    """A chained comparison with a tensor in the middle."""
    if 1.0 < x < 3.0:
        return x * x
    return -x


@program(f32(2.5), f32(-1.0), wrt=(0, 1), features="tensor if, tensor logic")
def tensor_logic(x, y):
    """`and`, `or` and `not` of tensor conditions."""
    if x > 0 and not y > 0:
        x = x * y
    if x > 0 or y < 0:
        return x - y
    return x + y


@program(f32(0.0), f32(3.0), wrt=(0, 1), features="tensor logic", differences=False)
def value_of_logic(x, y):
    """`x or y` returns one of the two tensors."""
    return (x or y) * 2 + (x and y)


@program(f32(2.0), f32(-0.0), features="tensor logic, tensor if")
def lazy_logic(x, y):
    """The second operand of `and` is not computed if the first is false, so there is no division by zero."""
    if y != 0 and x / y > 1:
        return x / y
    return x - y


@program(f32(1.0, -2.0), "relu", wrt=0, features="in, is None")
def membership(x, kind):
    """`in` and `not in` on tuples, lists, dicts and strings; `is None`."""
    table = {"relu": 2.0, "tanh": -1.0}
    if kind in ("relu", "tanh") and "elu" in kind and kind not in ["none"]:
        x = x * table[kind]
    missing = table.get("sigmoid")
    if missing is None and kind in table and kind is not None:
        x = x + 1
    return x


@program(f32(1.0, -2.0, 4.0), features="in, tensor if")
def membership_in_tensor(x):
    """`in` tests whether a tensor has an element."""
    if 4.0 in x:
        return x * 2
    return x


@program(f32((1.0, -2.0, 4.0), (0.5, 3.0, 7.0)), f32(1.0, -9.0, 4.0), f32(2.0), wrt=0, features="in, tensor if", differences=False)
def membership_in_tensors_of_any_rank(x, row, number):
    """`in` compares every element of a tensor of any rank, broadcasting like `==`."""
    if 7.0 in x:
        x = x * 2
    if 7.0 in x or "seven" in x or None in x:
        x = x * 3
    if row in x and number not in x:
        x = x + number
    return x * 5 if 2 in number and 3 not in number and 1 not in row[:0] else x


@program(f32(1.0, -2.0), f32(3.0), wrt=0, features="in, not in, lists of tensors")
def membership_among_tensors(x, y):
    """A tensor equal to none in a list is not in it."""
    if None not in [x, y] and "y" not in (y,):
        x = x * 2
    if y in [y, x] and 2.0 not in [y]:
        x = x * 3
    return x


@program(f32(1.0, -2.0), None, wrt=0, features="is None")
def none_as_argument(x, mask):
    """None as an argument."""
    return x * 2 if mask is None else x * mask


# Assignment -------------------------------------------------------------------------------------------------------------


@program(f32(1.0, -2.0), wrt=0)
def assignments(x):
    """Several targets, and names that are rebound."""
    a = b = x * 2
    a = a + 1
    x, y = a, x
    x, y = y, x
    return x * b - y


@program(f32(1.0, -2.0), f32(0.5, 3.0), wrt=(0, 1), features="starred")
def unpacking(x, y):
    """Nested and starred unpacking."""
    (a, b), c = (x, y), x * y
    first, *middle, last = a, b, c, a + b
    [head, *tail] = [a, *middle]
    *_, end = tail
    return first * last + head - end


@program(f32(1.0, -2.0, 3.0), wrt=0, features="starred")
def unpacking_of_tensors(x):
    """A tensor is unpacked along its first axis."""
    a, b, c = x * x
    first, *rest = x
    return a * b - c + first * rest[1]


@program(f32(1.0, -2.0), wrt=0)
def augmented(x):
    """Augmented assignment of tensors creates new tensors: the argument does not change."""
    y = x
    y += 1.0
    y -= x * 0.5
    y *= x
    y /= 2
    y **= 2
    return x, y


@program(i32(13, -7), 9, features="results of dtype int")
def augmented_integers(x, n):
    """Augmented assignment with whole numbers."""
    n //= 2
    n %= 3
    n <<= 3
    n >>= 1
    n |= 1
    n ^= 2
    n &= 7
    x //= 2
    x %= 5
    x &= 6
    x |= n
    x ^= 3
    return x, n


@program(grid(2, 3), grid(3, 2, 1), wrt=(0, 1))
def matrix_product(x, w):
    """The operator @, also augmented."""
    y = x @ w
    y @= w.T
    return y


@program(f32(1.0, -2.0), wrt=0)
def walrus(x):
    """A value named where it is used."""
    if (n := len(x)) > 1:
        return (y := x * n) + y
    return x


@program(f32(1.0, -2.0), wrt=0)
def deleted_names(x):
    """A name may be deleted, and assigned again."""
    y = x * 2
    del x
    x = y * y
    table = {"a": x, "b": y}
    del table["a"]
    return x + table["b"]


@program(f32(1.0, -2.0), wrt=0)
def annotated(x: Tensor, scale: float = 2.0) -> Tensor:
    """Annotations have no effect."""
    y: Tensor = x * scale
    return y


# Broadcasting and promotion ----------------------------------------------------------------------------------------------


@program(f32([1.0], [-2.0]), f32([0.5, 3.0, -1.0]), f32(2.0), wrt=(0, 1, 2), features="broadcasting")
def broadcasting(column, row, scale):
    """A column, a row and a number form a table."""
    return (column + row) * scale - column * row


@program(f32([[1.0, 2.0]]), f64(0.5, -0.25), wrt=(0, 1), features="broadcasting, promotion")
def promotion_of_floats(x, y):
    """float32 and float64 give float64; each gradient has the dtype of its argument."""
    return x * y + x


@program(f16(1.0, -2.5, 0.0999), i32(3, -1, 7), wrt=0, features="promotion", differences=False)
def promotion_of_integers(x, n):
    """Integers with floats take their dtype; Python numbers take the tensor's."""
    return x * n + 0.1, n * 2.5, n + True, x / 3


@program(i32(3, -1), i64(5, 2), boolean(True, False), features="promotion, results of dtype int")
def promotion_among_integers(a, b, c):
    """Int32 with Int64 is Int64; bools count as numbers."""
    return a + b, a + c, c * 2, c + c


@program(f32(3.0), f32(1.0, 2.0), wrt=(0, 1), features="promotion, tensor if", differences=False)
def promotion_inside_branch(x, y):
    """A branch may compute in another dtype, and convert back."""
    if x > 1:
        y = (y.astype(adjoint.float16) * 3.1).astype(adjoint.float32)
    else:
        y = (y.astype(adjoint.float64) / 3).astype(adjoint.float32)
    return x * y


@program(f16(0.5, -1.5), f32(2.0), wrt=(0, 1), features="promotion, tensor if", differences=False)
def promotion_in_both_branches(x, y):
    """Both branches promote, each in its own way, to one dtype."""
    if y < 0:
        z = x * y
    else:
        z = x.astype(adjoint.float32) + y * 0.1
    return z * 2


@program(f32(np.inf, -np.inf, np.nan, -0.0), f32(0.0, 1.0, 1.0, 0.0), features="not finite")
def not_finite(x, y):
    """Infinities, NaN and -0.0 are preserved."""
    return x * y, x - x, ops.isnan(x), x + 0.0, -x, ops.maximum(x, y)


@program(f32([]), f32(np.zeros((0, 3))), wrt=(0, 1), features="empty")
def empty_tensors(x, table):
    """Tensors without elements."""
    return x * 2 + 1, table.sum(axis=0), x.sum(), ops.concat((table, table * 3), axis=0)


@program(f32([]), wrt=0, features="empty, tensor if, for tensor rows")
def empty_loop(x):
    """A loop over nothing, and a condition on an empty sum."""
    total = x.sum()
    for value in x:
        total = total + value
    if total > 0:
        return total
    return total - 1.0


@program(f32(1.0, -2.0), f32(0.5), wrt=(0, 1))
def walrus_in_loops(x, y) -> Tensor:
    """Names given in a condition and in a comprehension."""
    rounds: int = 0
    while (rounds := rounds + 1) < 4:
        x = x * y
    parts = [(part := x * i) + part for i in range(1, 3)]
    return parts[0] * parts[1]
