"""`_Function`: functions with their own forward and backward passes."""

from __future__ import annotations

from adjoint import Parameter, Tensor, _Function, _no_grad, grad, nn
from programs.program import f32, f64, program


class Scaled(_Function):
    """x * y, with a gradient by x that is ten times too large."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y * 10, gradient * x


class Several(_Function):
    """Two results and a number; keeps an intermediate value."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        wave = x.sin()
        ctx.save_for_backward(wave, None)
        return wave * factor, x * x, 3

    @staticmethod
    def backward(ctx, first, second, number):
        wave, nothing = ctx.saved_tensors
        assert nothing is None and number is None
        return first * ctx.factor * wave + second * 100, None


class Marked(_Function):
    """A result that is constant, and gradients that may be None."""

    @staticmethod
    def forward(ctx, x):
        constant, unused, used = x * 2, x * 3, x * 5
        ctx.mark_non_differentiable(constant)
        ctx.set_materialize_grads(False)
        return constant, unused, used

    @staticmethod
    def backward(ctx, constant, unused, used):
        print(constant is None, unused is None)
        return used * 7


class Dirty(_Function):
    """An argument that is written in place."""

    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 7


class SetUp(_Function):
    """The context is filled after the forward pass, with the defaults."""

    @staticmethod
    def forward(x, power=2):
        return x**power

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.power = inputs
        ctx.save_for_backward(x, output)

    @staticmethod
    def backward(ctx, gradient):
        x, output = ctx.saved_tensors
        return gradient * ctx.power * output / x, None


class Chosen(_Function):
    """What is saved depends on a tensor."""

    @staticmethod
    def forward(ctx, x):
        if x.sum() > 0:
            ctx.save_for_backward(x * 2)
        else:
            ctx.save_for_backward(x * 3)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]


@program(f32(1.0, -2.0), f32(0.5, 3.0), wrt=(0, 1), features="custom functions", differences=False)
def custom(x, y):
    """A custom function among others, called twice."""
    z = Scaled.apply(x * 2, y)
    return Scaled.apply(z, z) + x


@program(f64(1.0, -2.0), wrt=0, features="custom functions, grad, second order", differences=False)
def custom_second_order(x):
    """The backward pass is differentiated, also through saved values."""
    return grad(lambda y: (Scaled.apply(y, y) * y).sum())(x) + grad(lambda y: SetUp.apply(y, 3).sum())(x)


@program(f32(1.0, -2.0), wrt=0, features="custom functions", differences=False)
def custom_results(x):
    """Several results, one of which is not a tensor, and an argument that is not a tensor."""
    first, second, number = Several.apply(x, 2.0)
    return first * number + second


@program(f32(1.0, -2.0), wrt=0, features="custom functions, printing", differences=False)
def custom_marked(x):
    """Results that take no gradient, and absent gradients."""
    constant, _, used = Marked.apply(x)
    return constant * x + used


@program(f32(1.0, -2.0), wrt=0, features="custom functions, in place", differences=False)
def custom_dirty(x):
    """A value written in place is the result from then on."""
    y = x * 2
    z = Dirty.apply(y)
    return y * z


@program(f32(1.0, 2.0), wrt=0, features="custom functions", differences=False)
def custom_set_up(x):
    """`setup_context`, with a keyword argument and an omitted one."""
    return SetUp.apply(x) + SetUp.apply(x, power=3)


@program(f32(1.0, -0.5), wrt=0, features="custom functions, tensor if", differences=False)
def custom_chosen(x):
    """Each path saves its own values."""
    return Chosen.apply(x) * Chosen.apply(-x)


@program(f32(1.0, -2.0), wrt=0, features="custom functions, no_grad, loops", differences=False)
def custom_in_a_loop(x):
    """In a loop, and inside of `_no_grad`."""
    y = x
    for _ in range(3):
        y = Scaled.apply(y, x) * 0.5
    with _no_grad():
        z = Scaled.apply(x, x)
    return y * z


@program(f32(1.0, -2.0), wrt=0, features="custom functions, cells, parameters read", differences=False)
class CustomInCell(nn.Cell):
    """A parameter as an argument."""

    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor([0.5, 2.0]), name="weight")

    def construct(self, x):
        return Scaled.apply(x, self.weight) * self.weight
