"""`_no_grad`: values computed inside are constant, values written inside keep their gradient, and hooks inside are not called."""

from __future__ import annotations

from adjoint import Parameter, Tensor, _no_grad, grad, jit, nn, ops, vjp
from programs.program import f32, f64, grid, i32, program


@program(f32(1.0, -2.0), wrt=0, features="no_grad", differences=False)
def constant_part(x):
    """A sum of which one part is computed inside."""
    y = x * x
    with _no_grad():
        z = y * 3 + x
    return y * z


@program(f32(1.0, -2.0), wrt=0, features="no_grad", differences=False)
def all_constant(x):
    """A function that returns from inside has a zero gradient."""
    with _no_grad():
        return x * x


@_no_grad()
def squared(x, *, scale=1.0):
    return x * x * scale


@program(f32(1.0, -2.0), wrt=0, features="no_grad", differences=False)
def decorated(x):
    """A decorated function is constant, whoever calls it."""
    return squared(x, scale=3.0) * x


class Constant(nn.Cell):
    """A cell whose construct is decorated."""

    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor([0.5, 2.0]), name="weight")

    @_no_grad()
    def construct(self, x):
        return x * self.weight


@program(f32(1.0, -2.0), wrt=0, features="no_grad, cells, parameters read", differences=False)
class DecoratedConstruct(nn.Cell):
    """A cell with a decorated construct, inside of another; its parameter is used outside of it too."""

    def __init__(self):
        super().__init__()
        self.constant = Constant()

    def construct(self, x):
        return self.constant(x) * x * self.constant.weight


@program(f32(1.0, -2.0), wrt=0, features="no_grad", differences=False)
def nested(x):
    """Nested regions, and one object that is entered twice: each ends by itself."""
    switch = _no_grad()
    with switch, _no_grad():
        with switch:
            a = x * 2
        b = x * 3
    return a + b + x * x


@program(f32(1.0, -2.0), wrt=0, features="no_grad", differences=False)
def another_name(x):
    """A tensor that only gets another name inside keeps its gradient, whether or not a cell passes it on."""
    with _no_grad():
        y = x
        z = nn.Identity()(x)
    return y * x + z * x


@program(f32(1.0, -2.0), wrt=0, features="no_grad, in place", differences=False)
def written_inside(x):
    """A tensor that is written in place inside has new numbers, and its gradient as before."""
    y = x * x
    before = y * 2
    with _no_grad():
        y.add_(x)
        y[0] = 7.0
    return y * y + before


@program(f32(1.0, -2.0), wrt=0, features="no_grad, in place", differences=False)
def constant_written(x):
    """A constant written in place outside has a gradient from then on; one written inside stays constant."""
    with _no_grad():
        y, z = x * 2, x * 3
        z.add_(1)
    y.mul_(x)
    return y * z


@program(f32(1.0, -2.0), wrt=0, features="no_grad, parameters written", differences=False)
class MovedInside(nn.Cell):
    """A parameter that is written inside is trained as before: it is used with its old and with its new numbers."""

    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor([0.5, 2.0]), name="weight")

    def construct(self, x):
        y = x * self.weight
        with _no_grad():
            ops.assign_add(self.weight, x)
        return y * self.weight


@program(f32(1.0, -2.0), f32(0.5), wrt=0, features="no_grad, tensor if", differences=False)
def branches_inside(x, c):
    """A condition inside: one branch computes, the other only renames."""
    with _no_grad():
        if c > 0:
            y = x * 2
        elif c > -1:
            y = x
        else:
            y = x - 1
    return y * x


@program(f32(1.0, -2.0), f32(-0.5), wrt=0, features="no_grad, tensor if", differences=False)
def named_in_a_branch(x, c):
    """The branch that only renames is taken."""
    with _no_grad():
        if c > 0:
            y = x * 2
        else:
            y = x
    return y * x


@program(f32(1.0, -2.0), f32(0.5), wrt=0, features="no_grad, tensor if, early return", differences=False)
def left_early(x, c):
    """A return from inside on one path; the other continues outside."""
    y = x * x
    with _no_grad():
        z = x * 3
        if c > 0:
            return z + y
        z = z * y
    return z * x


@program(f32(1.0, -2.0), f32(-0.5), wrt=0, features="no_grad, tensor if, early return", differences=False)
def not_left_early(x, c):
    """The path that continues outside, where gradients are taken again."""
    y = x * x
    with _no_grad():
        z = x * 3
        if c > 0:
            return z + y
        z = z * y
    return z * x


@program(f32(1.0, -2.0), i32(3), wrt=0, features="no_grad, tensor while", differences=False)
def loop_inside(x, n):
    """A loop inside, and one around a region."""
    y = x
    with _no_grad():
        while n > 0:
            y = y * 2
            n = n - 1
    for _ in range(4):
        with _no_grad():
            z = y + x
        y = y * z * 0.1 + x
    return y


@program(f32(1.0, -2.0), i32(0), wrt=0, features="no_grad, tensor while", differences=False)
def no_round_inside(x, n):
    """A loop of no iterations inside changes nothing."""
    y = x
    with _no_grad():
        while n > 0:
            y = y * 2
            n = n - 1
    return y * x


@program(f32(3.0, 40.0), wrt=0, features="no_grad, tensor while, break", differences=False)
def left_by_break(x):
    """A loop left from inside a region."""
    y = x
    for i in range(5):
        y = y * x
        with _no_grad():
            if y.sum() > 100:
                break
            y = y + i
    return y * x


@program(f64(1.0, -2.0), wrt=0, features="no_grad, grad, second order", differences=False)
def second_order(x):
    """The gradient of a function with a region, as part of another one."""

    def inner(y):
        with _no_grad():
            slope = y * y
        return (slope * y * y).sum()

    return grad(inner)(x) * x


@program(f64(1.0, -2.0), wrt=0, features="no_grad, vjp", differences=False)
def pulled_back_inside(x):
    """A pullback made outside may be called inside: its result is constant."""
    y, pullback = vjp(lambda a: a * a * a, x)
    with _no_grad():
        (slope,) = pullback(y)
    return slope * x + y


@jit
def doubled(x):
    return x * 2


@program(f32(1.0, -2.0), wrt=0, features="no_grad, jit", differences=False)
def jitted_inside(x):
    """A jitted function that is called inside."""
    with _no_grad():
        y = doubled(x)
    return y * doubled(x)


@program(f32(1.0, -2.0), wrt=0, features="no_grad, random numbers", differences=False)
def random_inside(x):
    """Random numbers, Python numbers and comparisons inside."""
    with _no_grad():
        y = ops.standard_normal((2,), seed=3) + x
        larger = x > 0
        count = int(x.size)
    return ops.select(larger, y * x, x * count)


@program(grid(2, 3), wrt=0, features="no_grad, cell hooks, printing", differences=False)
class HookedInside(nn.Cell):
    """Forward hooks of a cell inside run, backward hooks do not, even for a cell that returns its argument."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Dense(3, 3, Tensor(grid(3, 3, 5)), "zeros")
        self.same = nn.Identity()
        for cell in (self.inner, self.same):
            cell.register_forward_pre_hook(lambda cell, args: (print("in", cell.title), args[0] * 0.5)[1])
            cell.register_forward_hook(lambda cell, args, output: print("out", cell.title))
            cell.register_backward_pre_hook(lambda cell, grad_output: print("pre", cell.title))
            cell.register_backward_hook(lambda cell, grad_input, grad_output: print("back", cell.title))

    def construct(self, x):
        with _no_grad():
            y = self.same(self.inner(x))
        return self.inner(x) * y


@program(f32(1.0, -2.0), wrt=0, features="no_grad, value hooks, printing", differences=False)
class ValueHooksInside(nn.Cell):
    """Hooks registered inside see the values from outside; those on constants are not called."""

    def construct(self, x):
        y = x * x
        with _no_grad():
            y.register_hook(lambda g: (print("y", g), g * 2)[1])
            z = x * 3
            z.register_hook(lambda g: print("z", g))
            marked = ops.HookBackward(lambda g: print("marked", g))(y)
        z.register_hook(lambda g: print("z", g))
        return y * z * marked


class Squared(nn.Cell):
    """x * x, with a wrong gradient of its own."""

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        print("bprop")
        return (dout * 100,)


@program(f32(1.0, -2.0), wrt=0, features="no_grad, bprop, printing", differences=False)
class BpropInside(nn.Cell):
    """The bprop of a cell that is called inside does not run."""

    def __init__(self):
        super().__init__()
        self.squared = Squared()

    def construct(self, x):
        with _no_grad():
            y = self.squared(x)
        return y * x + self.squared(x)


@program(f32(1.0, -2.0), features="no_grad, grad", raises=(RuntimeError, "In no_grad context, you can not calculate gradient"))
def gradient_asked_inside(x):
    """Taking a gradient inside is an error."""
    with _no_grad():
        return grad(lambda y: (y * y).sum())(x)


@program(f32(1.0, -2.0), features="no_grad, vjp", raises=(RuntimeError, "In no_grad context, you can not calculate gradient"))
def pullback_asked_inside(x):
    """So is taking a pullback."""
    with _no_grad():
        return vjp(lambda y: (y * y).sum(), x)[0]
