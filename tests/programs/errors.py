# ruff: noqa: SIM102 - programs stay as users write them
"""Programs that raise, and those that could."""

from __future__ import annotations

from adjoint import Parameter, Tensor, nn, ops
from programs.program import f32, f64, i32, program


@program(f32(1.0, -2.0), 3, raises=(ValueError, "at most 2, but got 3"))
def raise_on_number(x, n):
    """A condition of Python numbers."""
    if n > 2:
        raise ValueError(f"n must be at most 2, but got {n}.")
    return x * n


@program(f32(1.0, -2.0), 2, wrt=0)
def raise_not_reached(x, n):
    """The same, not raised."""
    if n > 2:
        raise ValueError(f"n must be at most 2, but got {n}.")
    return x * n


@program(f32(-1.0), raises=(ValueError, "must be positive"), features="tensor raise, tensor if")
def raise_on_tensor(x):
    """A raise that depends on a tensor."""
    if x < 0:
        raise ValueError("x must be positive")
    return ops.sqrt(x)


@program(f64(2.0), wrt=0, features="tensor raise, tensor if")
def raise_on_tensor_not_reached(x):
    """It does not."""
    if x < 0:
        raise ValueError("x must be positive")
    return ops.sqrt(x)


@program(f64(2.0), wrt=0, features="tensor raise, tensor elif")
def raise_in_last_branch(x):
    """The last branch raises, so the others determine the result."""
    if x > 1:
        y = x * 3
    elif x > 0:
        y = x * x
    else:
        raise RuntimeError("x must not be negative")
    return y + 1


@program(f32(1.0, -2.0), raises=(AssertionError, "two elements or fewer"))
def assert_on_shape(x):
    """An assertion about a shape."""
    assert len(x) > 2, "not two elements or fewer"
    return x


@program(f32(-1.0), raises=(AssertionError, "x must be positive"), features="tensor assert")
def assert_on_tensor(x):
    """An assertion about a tensor."""
    assert x > 0, "x must be positive"
    return ops.sqrt(x)


@program(f64(0.5, 2.0), wrt=0, features="tensor assert, any and all")
def assert_holds(x):
    """Assertions that hold."""
    assert x.ndim == 1
    assert (x > 0).all(), f"negative elements in {x}"
    return ops.log(x)


@program(f64(0.5), raises=(RuntimeError, "does not converge"), features="tensor raise, for else, tensor break")
def raise_in_loop(x):
    """Raised when a loop ends without a result."""
    for _ in range(5):
        x = x * x + 1
        if x < 0.25:
            break
    else:
        raise RuntimeError("the iteration does not converge")
    return x


@program(i32(3), raises=(IndexError, "beyond 2"), features="tensor raise, tensor while, nested tensor if")
def raise_in_while(n):
    """Raised in a branch of a tensor loop, after some iterations."""
    while n > 0:
        n = n - 1
        if n < 2:
            if n == 1:
                raise IndexError("gone beyond 2")
    return n


@program(f32(1.0, -2.0), f32(1.0, 2.0, 3.0), raises=(ValueError, ""))
def shapes_that_do_not_fit(x, y):
    """The operators' own errors are raised."""
    return x + y


@program(f32(1.0, -2.0), raises=(KeyError, "sigmoid"))
def missing_key(x):
    """A missing key of a dict."""
    return {"relu": x}["sigmoid"]


@program(f32(1.0, -2.0), raises=(IndexError, "out of bounds"))
def index_out_of_range(x):
    """An index beyond a tensor."""
    return x[2]


@program(f32(1.0, -2.0), raises=(AttributeError, "bias"), features="constants from self")
class MissingAttribute(nn.Cell):
    """A missing attribute of a cell."""

    def construct(self, x):
        return x + self.bias


@program(f32(1.0, -2.0), raises=(TypeError, ""))
def missing_argument(x):
    """A function called without one of its arguments."""

    def scaled(y, by):
        return y * by

    return scaled(x)


class Divergence(ArithmeticError):
    """Raised by a program."""


@program(f32(3.0), raises=(Divergence, "after 2 rounds"), features="tensor raise, tensor while, number computed in loop")
def raise_own_exception(x):
    """An exception class of the user's, with a number from the loop in its message."""
    k = 0
    while x > 1:
        x = x * x
        k += 1
        if x > 50:
            raise Divergence(f"x is too large after {k} rounds")
    return x


@program(f32(-3.0), raises=(ValueError, "negative"), features="tensor raise, parameters written, printing")
class RaisesAfterWriting(nn.Cell):
    """Prints and writes before an exception keep their effect."""

    def __init__(self):
        super().__init__()
        self.calls = Parameter(Tensor(0.0), name="calls")

    def construct(self, x):
        self.calls = self.calls + 1
        print("looking at", x)
        if x < 0:
            raise ValueError("x is negative")
        self.calls = self.calls * 10
        return x


@program(f32(1.0, 2.0), 2, raises=(UnboundLocalError, "'k'"), features="tensor while")
def loop_over_a_name_without_a_value(x, n):
    """The test of a loop reads a name that was given no value on the way there."""
    if n > 2:
        k = 0
    while k < 3 and x.sum() < 9:
        x = x * 2
    return x


@program(f32(1.0, 2.0), 2, raises=(NameError, "free variable 'k'"), features="nested functions, printing")
def function_that_reads_a_name_without_a_value(x, n):
    """A variable of the function around was given no value on the way there."""
    if n > 2:
        k = 0

    def shifted(y):
        print("shifting", y)
        return y + k

    return shifted(x * 2)


@program(f32(1.0, 2.0), raises=(ValueError, "matrices of 2 rows"), features="printing, tensor if")
def mistake_behind_a_print(x):
    """A shape error in a branch, after a print: first the print, then the exception."""
    print("sum", x.sum())
    if x.sum() > 0:
        x = ops.matmul(x, ops.ones((3, 2)))
    return x


@program(f32(-1.0, 2.0, -3.0), wrt=0, features="tensor if")
def mistake_not_reached(x):
    """The same kind of mistake in a branch that is not taken."""
    if x.sum() > 0:
        x = ops.matmul(x, ops.ones((2, 2)))
    return x * x
