"""Arguments, and everything that can be called."""

from __future__ import annotations

import functools
from functools import partial

from adjoint import Tensor, nn, ops
from adjoint.ops import operations as P
from programs.program import f32, f64, grid, i32, program

SCALE = 0.75
TWISTS = (1.0, -2.0, 0.5)
OFFSET = Tensor([0.25, -0.5, 1.0])


# Arguments ------------------------------------------------------------------------------------------------------------


@program(f32(1.5, -2.0, 0.25), f32(-3.0, 0.5, 2.0), wrt=(0, 1))
def positional(x, y):
    """Two arguments in order."""
    return x * y + x


@program(f32(1.5, -2.0, 0.25), wrt=0, y=f32(-3.0, 0.5, 2.0))
def keyword(x, y):
    """An argument given by its name."""
    return x - 2.0 * y


@program(f32(1.5, -2.0), wrt=0)
def default_number(x, scale=3.0, shift=-1):
    """Arguments left at their defaults, Python numbers."""
    return x * scale + shift


@program(f32(1.5, -2.0), wrt=0)
def default_none(x, weight=None):
    """None as default stands for 'not given'."""
    if weight is None:
        weight = ops.ones_like(x)
    return x * weight


@program(f32(1.5, -2.0), wrt=0, weight=f32(2.0, -0.0))
def default_replaced(x, weight=None):
    """The default None replaced by a tensor."""
    if weight is not None:
        x = x * weight
    return x + 1


@program(f32(1.5, -2.0), 2, True, "square", wrt=0)
def constants_as_arguments(x, times, negate, kind):
    """Numbers, bools and strings among the arguments are known while parsing."""
    y = x**2 if kind == "square" else x
    y = y * times
    return -y if negate else y


@program(f32(1.0, -2.0), f32(3.0, 0.5), f32(-1.0, 4.0), wrt=(0, 2))
def many_positional(*parts):
    """Any number of arguments."""
    total = parts[0]
    for part in parts[1:]:
        total = total * part
    return total, len(parts)


@program(f32(1.0, -2.0), f32(3.0, 0.5), f32(-1.0, 4.0), wrt=(0, 1), scale=2.0)
def many_of_all_kinds(first, *rest, scale=1.0, **named):
    """All kinds of parameters at once."""
    total = first * scale
    for part in rest:
        total = total + part
    for name in named:
        total = total * named[name]
    return total


@program(f32(1.0, -2.0), wrt=0, bias=f32(0.5, 0.5), gain=f32(-1.5, 3.0))
def named_arguments(x, **named):
    """A dict of the keyword arguments."""
    return x * named["gain"] + named["bias"]


def weighted(x, weight=1.0, *, bias=0.0):
    return x * weight + bias


@program(f32(1.0, -2.0), wrt=0)
def forwarding(x):
    """Arguments passed on with * and **."""
    positional_part = (x, 2.0)
    named_part = {"bias": -1.0}
    return weighted(*positional_part, **named_part) + weighted(x, bias=0.5) + weighted(x)


def spread(*args, **kwargs):
    return weighted(*args, **kwargs)


@program(f32(1.0, -2.0), wrt=0)
def forwarding_twice(x):
    """What * and ** collect, passed on once more."""
    return spread(x, 3.0, bias=x.sum())


@program((f32(1.0, -2.0), f32(0.5)), wrt=0)
def tuple_argument(pair):
    """A tuple of tensors is one argument, and its gradient a tuple."""
    x, scale = pair
    return x * x * scale


@program([f32(1.0, -2.0), f32(3.0, 4.0)], {"scale": f32(0.5), "power": 2})
def containers_as_arguments(parts, options):
    """Lists and dicts as arguments."""
    return (parts[0] - parts[1]) ** options["power"] * options["scale"]


@program()
def no_arguments():
    """A function without arguments computes from constants."""
    return ops.ones((2, 2)) * SCALE


# Operators, functions, cells -------------------------------------------------------------------------------------------


@program(f32(1.0, -2.0, 0.5), wrt=0, features="ops functions")
def functions_of_ops(x):
    """Operators as functions."""
    return ops.tanh(x) + ops.exp(x) * ops.sigmoid(x)


@program(grid(2, 3), grid(3, 2, 1), wrt=(0, 1), features="ops functions")
def functions_with_options(x, w):
    """Operators with options given by name."""
    y = ops.matmul(x, w)
    y = ops.softmax(y, axis=0)
    return ops.concat((y, y * 2.0), axis=1).sum(axis=-1, keepdims=True)


@program(f32(1.0, -2.0), f32(0.5, 3.0), wrt=(0, 1), features="primitives")
def primitives_made_on_the_spot(x, y):
    """A Primitive made and called in one line."""
    return ops.Mul()(ops.Add()(x, y), x)


@program(grid(2, 3), grid(2, 3, 1), wrt=(0, 1), features="primitives")
class PrimitivesOfACell(nn.Cell):
    """Primitives made in __init__, with their attributes."""

    def __init__(self):
        super().__init__()
        self.matmul = P.MatMul(transpose_b=True)
        self.softmax = ops.Softmax(axis=0)
        self.total = P.ReduceSum(keep_dims=True)

    def construct(self, x, y):
        return self.total(self.softmax(self.matmul(x, y)) * 2.0, 1)


@program(f32(1.0, -2.0, 3.0), wrt=0, features="primitives")
def primitives_of_shapes(x):
    """Primitives that give shapes and move elements."""
    sizes = P.Shape()(x)
    y = P.Reshape()(x, (*sizes, 1))
    y = P.Tile()(y, (1, 2))
    return P.Transpose()(y, (1, 0)) * P.OnesLike()(x)


@program(f32([0.5, -1.0]), wrt=0, features="cells")
class CellOfCells(nn.Cell):
    """Cells called inside a cell."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(2, 3, weight_init="ones", bias_init="zeros")
        self.activate = nn.Tanh()

    def construct(self, x):
        return self.activate(self.dense(x.reshape(1, 2)))


@program(f32(1.0, -2.0), wrt=0, features="cells")
def cells_made_on_the_spot(x):
    """A cell made inside the function."""
    return nn.Sigmoid()(x) + nn.LeakyReLU(0.1)(x)


def cube(x):
    return x * x * x


def double_cube(x):
    return 2 * cube(x) + cube(-x)


@program(f32(1.0, -2.0), wrt=0, features="functions")
def calls_of_functions(x):
    """Functions that call functions, one of them several times."""
    return cube(x) + double_cube(x * 0.5)


@program(f32(1.0, -2.0), wrt=0, features="functions, nested functions")
def function_within(x):
    """A function defined inside, which sees the variables around it."""
    scale = x.sum()

    def scaled(y):
        return y * scale

    return scaled(x) + scaled(x * x)


@program(f32(1.0, -2.0), wrt=0, features="functions, nested functions")
def function_sees_later_value(x):
    """A function defined inside sees the value a variable has when it is called."""
    factor = 2.0

    def scaled(y):
        return y * factor

    first = scaled(x)
    factor = -3.0
    return first, scaled(x)


@program(f32(1.0, -2.0), wrt=0, features="functions, nested functions")
def function_with_nonlocal(x):
    """A function that changes a variable of the enclosing function."""
    count = 0
    total = x

    def add(y):
        nonlocal count, total
        count += 1
        total = total + y

    add(x * x)
    add(ops.exp(x))
    return total * count


@program(f32(1.0, -2.0), wrt=0, features="closures", made=True)
def closure_of_numbers():
    """A function made by another, with numbers and a tensor from there."""
    gain, shift = 1.5, Tensor([0.5, -0.5])

    def affine(x):
        return x * gain + shift

    return affine


@program(f32(1.0, -2.0), wrt=0, features="closures", made=True)
def closure_of_functions():
    """A function composed of functions from a closure."""

    def compose(*functions):
        def composed(x):
            for function in functions:
                x = function(x)
            return x

        return composed

    return compose(ops.tanh, cube, lambda y: y + 1.0)


@program(f32(1.0, -2.0), wrt=0, features="higher-order functions")
def lambdas(x):
    """Small functions without a name, kept, passed on and called at once."""
    square = lambda y: y * y  # noqa: E731
    twice = lambda function, y: function(function(y))  # noqa: E731
    return twice(square, x) + (lambda y, by=0.5: y * by)(x)


@program(f32(1.0, -2.0), wrt=0, features="higher-order functions")
def function_as_argument(x):
    """Functions as values: in a dict, in a list, as arguments."""
    activations = {"tanh": ops.tanh, "cube": cube}

    def applied(function, y):
        return function(y)

    total = applied(activations["tanh"], x)
    for function in [cube, ops.exp]:
        total = total + applied(function, x)
    return total


@program(f32(1.0, -2.0), wrt=0, features="partial")
def partial_application(x):
    """functools.partial fixes some arguments."""
    halved = partial(weighted, weight=0.5)
    shifted = functools.partial(halved, bias=-1.0)
    return halved(x) + shifted(x * x)


@program(f32(1.0, -2.0), wrt=0, features="partial, closures", made=True)
def partial_as_program():
    """The program itself is called through a partial."""

    def power(exponent, x):
        return x**exponent

    cubed = partial(power, 3)

    def run(x):
        return cubed(x) - x

    return run


@program(f32(1.0, -2.0, 0.5), wrt=0, features="methods, constants from self")
class MethodsOfACell(nn.Cell):
    """construct calls methods of the cell, and reads numbers, tuples and tensors from it."""

    sign = -1.0

    def __init__(self):
        super().__init__()
        self.gain = 2.0
        self.powers = (1, 2, 3)
        self.shift = Tensor([0.5, -0.5, 0.0])

    def polynomial(self, x, *, scale):
        total = self.shift
        for power in self.powers:
            total = total + scale * x**power
        return total

    @staticmethod
    def halved(x):
        return x / 2

    @property
    def factor(self):
        return self.gain * self.sign

    def construct(self, x):
        return self.halved(self.polynomial(x, scale=self.factor))


class Affine(nn.Cell):
    """gain * x + shift."""

    def __init__(self, gain, shift):
        super().__init__()
        self.gain, self.shift = gain, shift

    def combine(self, x):
        return x * self.gain + self.shift

    def construct(self, x):
        return self.combine(x)


class Softened(Affine):
    """An Affine whose result goes through tanh."""

    def combine(self, x):
        return ops.tanh(super().combine(x))


@program(f32(1.0, -2.0), wrt=0, features="methods, inheritance")
class InheritedConstruct(nn.Cell):
    """Cells that inherit construct, and methods that call super()."""

    def __init__(self):
        super().__init__()
        self.plain = Affine(2.0, -1)
        self.softened = Softened(0.5, 0.25)

    def construct(self, x):
        return self.plain(x) + self.softened.combine(x) + self.softened(x)


class Rescaling:
    """A plain Python object that can be called."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor

    def inverse(self, x):
        return x / self.factor


HALVE = Rescaling(0.5)


@program(f32(1.0, -2.0), wrt=0, features="methods, globals")
def plain_objects(x):
    """Methods of an object that is not a cell."""
    return HALVE(x) + HALVE.inverse(x * x)


@program(f32(1.0, -2.0, 3.0), wrt=0, features="globals")
def global_constants(x):
    """Numbers, tuples and tensors of the module."""
    for twist in TWISTS:
        x = x * twist + OFFSET
    return x * SCALE


@program(f64(0.5, -1.5), 4, wrt=0, features="recursion")
def power_by_recursion(x, n):
    """Recursion whose depth is a Python number."""
    if n == 0:
        return ops.ones_like(x)
    half = power_by_recursion(x, n // 2)
    return half * half * x if n % 2 else half * half


def pairwise(parts):
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return pairwise(parts[:middle]) + pairwise(parts[middle:])


@program(f32(1.0, -2.0, 4.0, 0.5, 3.0), wrt=0, features="recursion")
def sum_by_halves(x):
    """Recursion over a list that gets shorter."""
    return pairwise([x[i] * (i + 1) for i in range(5)])


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


@program(i32(3, -4), 7, features="recursion, results of dtype int")
def mutual_recursion(x, n):
    """Two functions that call each other, with Python numbers."""
    return x * 2 if is_even(n) else x * 3 - n


@program(f32(1.0, -2.0), wrt=0, features="nested functions, closures")
def counter_in_closure(x):
    """A function that counts its own calls, made by a function."""

    def counting(function):
        calls = 0

        def called(y):
            nonlocal calls
            calls += 1
            return function(y) * calls

        return called

    tanh = counting(ops.tanh)
    return tanh(x) + tanh(x) + tanh(tanh(x))
