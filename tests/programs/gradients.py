# ruff: noqa: F841 - programs stay as users write them
"""Gradients taken inside a program, hooks registered inside, gradients that are stopped, inserted or written by hand."""

from __future__ import annotations

import adjoint
from adjoint import Parameter, ParameterTuple, Tensor, grad, nn, ops, value_and_grad
from adjoint.ops import GradOperation
from programs.program import f32, f64, grid, program


def cubic(x):
    return (x**3).sum()


def product(x, y):
    return (x * y * y).sum()


# Gradients inside ------------------------------------------------------------------------------------------------------


@program(f64(1.0, -2.0), wrt=0, features="grad, second order")
def gradient_inside(x):
    """The gradient of a function as part of another, which is differentiated too."""
    return grad(cubic)(x) * x


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="grad, second order")
def gradient_by_several(x, y):
    """Gradients by two arguments, and by the second alone."""
    dx, dy = adjoint.grad(product, grad_position=(0, 1))(x, y)
    return dx * dy + grad(product, 1)(x, y)


@program(f64(1.0, -2.0), wrt=0, features="value_and_grad, second order")
def value_and_gradient_inside(x):
    """Value and gradient together."""
    value, gradient = value_and_grad(cubic)(x)
    return value * gradient.sum()


@program(f64(1.0, -2.0), wrt=0, features="value_and_grad, has_aux")
def gradient_with_more_results(x):
    """Results that are returned but not differentiated."""

    def loss(y):
        squares = y * y
        return squares.sum(), squares, 3

    (value, squares, three), gradient = value_and_grad(loss, has_aux=True)(x)
    return value + (squares * gradient).sum() * three


@program(f64(0.7), wrt=0, features="grad, second order, third order")
def derivatives_of_derivatives(x):
    """Three gradients inside each other, and one more around."""
    return grad(grad(grad(lambda y: ops.sin(y) * y)))(x)


@program({"w": f64(1.0, -2.0), "b": [f64(0.5), (f64(3.0, 1.0),)], "power": 2, "name": "net"}, f64(0.3, -0.7), wrt=(0, 1), features="dict")
def parameters_in_a_dict(params, x):
    """Parameters in nested containers, together with numbers and names."""
    return ((params["w"] * x + params["b"][0]) ** params["power"] * params["b"][1][0]).sum()


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="grad, dict, second order")
def gradient_by_a_dict(x, y):
    """The gradient by a dict, taken inside: a dict, whose entries are differentiated again."""
    found = grad(lambda t: product(t["x"], t["more"][0]) * t["scale"])({"x": x, "more": [y, None], "scale": 3})
    assert found["scale"] == 0 and found["more"][1] is None
    return found["x"] * found["more"][0]


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="vjp, jvp, dict")
def products_with_dicts(x, y):
    """A pullback and a derivative along a direction, of a function from a dict to a dict."""

    def f(t):
        return {"product": t["x"] * t["y"], "sines": [ops.sin(t["x"])]}

    value, pull = adjoint.vjp(f, {"x": x, "y": y})
    (pulled,) = pull({"sines": [y], "product": x})
    _, along = adjoint.jvp(f, {"x": x, "y": y}, {"y": pulled["y"], "x": pulled["x"]})
    return along["product"] + along["sines"][0] * value["product"]


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="GradOperation")
def grad_operation(x, y):
    """GradOperation for the first and for all arguments."""
    first = GradOperation()(product)(x, y)
    by_x, by_y = ops.GradOperation(get_all=True)(product)(x, y)
    return first * by_y - by_x


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="GradOperation, cotangents")
def vector_jacobian_product(x, v):
    """A cotangent given to a gradient."""
    pull = GradOperation(sens_param=True)
    return pull(lambda y: y * y.sum())(x, v) + pull(ops.tanh)(x, sens=v)


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="GradOperation, cotangents, second order")
def jacobian_vector_product(x, v):
    """A derivative along a direction: the gradient of a vector-Jacobian product by its cotangent."""
    pull = GradOperation(sens_param=True)

    def pulled(cotangent):
        return pull(lambda y: y * y * y.sum())(x, cotangent)

    return pull(pulled)(ops.ones_like(x), v)


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="vjp, second order")
def vjp_inside(x, v):
    """vjp returns the result, and a function from cotangents to gradients that may be called repeatedly."""
    y, pull = ops.vjp(lambda a, b: a * b * b, x, v)
    by_x, by_v = pull(ops.ones_like(y))
    return y * by_x + by_v + pull(y)[0]


@program(f64(1.3), f64(0.5), wrt=(0, 1), features="vjp, tensor while, tensor if")
def vjp_of_control_flow(x, v):
    """vjp of a function with a loop, its pullback called in a branch."""

    def grown(a):
        while a < 10:
            a = a * a + 1
        return a

    y, pull = ops.vjp(grown, x)
    if y > 5:
        y = y + pull(v)[0]
    return y


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="jvp, second order")
def jvp_inside(x, v):
    """jvp returns the result and its derivative along a direction."""
    y, dy = ops.jvp(lambda a: ops.sin(a) * a.sum(), x, v)
    return y * dy


@program(f64(1.3), f64(0.5), wrt=(0, 1), features="jvp, tensor if, tensor while")
def jvp_by_several(x, v):
    """jvp along two directions at once, of a function with a branch, in a loop."""

    def bent(a, b):
        return a * b if a > 1 else a - b

    y = x
    while x < 3:
        y, dy = adjoint.jvp(bent, (x, v), (v, x))
        x = x + 0.5 * abs(dy) + 0.25
    return x * y


def grown_by(x, y):
    while x < 10:
        x = x * x * y + 1
    return x


@program(f64(1.3), f64(0.5), wrt=(0, 1), features="vjp, tensor while, tensor if, second order")
def vjp_of_a_global_function(x, v):
    """vjp of a function of the module with a tensor loop; its pullback is called twice, and once more in either branch."""
    y, pull = ops.vjp(grown_by, x, v + 1)
    by_x, by_v = pull(v)
    if by_x > 5:
        more = pull(x)[0] * by_v
    else:
        more = pull(y)[1]
    return y + by_x * pull(by_v)[1] + more


@program(f64(1.3), f64(0.5), wrt=(0, 1), features="vjp, tensor while, for tensor rows, second order")
def vjp_pulled_in_loops(x, v):
    """A pullback called in loops, each time with the result of the iteration before."""
    y, pull = ops.vjp(lambda a: ops.sin(a) * a, x)
    z, pull_loop = ops.vjp(lambda a: grown_by(a, a), x)
    for _ in range(2):
        v = pull(v)[0]
    while v < 100:
        v = v + abs(pull(v)[0]) + 0.01 * pull_loop(v)[0]
    return y * z + v


@program(f64(-1.0, 2.0), f64(0.5, -0.5), wrt=(0, 1), features="jvp, tensor if, tensor while, second order, min and max")
def jvp_of_what_the_path_makes_constant(x, v):
    """What does not depend on x on the path that runs has no tangent, which is not a tangent of zero: a root at 0 has an infinite slope."""
    nothing = Tensor(0.0, adjoint.float64)

    def lengths(a):
        total, rounds = nothing, a[0]
        for i in range(2):
            if a[i] > 5:
                total = total + a[i]
        while rounds > 5:
            total, rounds = total + a[1], rounds - 1
        return ops.sqrt(total) * Tensor([1.0, -1.0], adjoint.float64), ops.sqrt(max(a[0] * a[1], nothing)) - a

    (one, other), (along_one, along_other) = adjoint.jvp(lengths, x, v)
    return one + other, along_one, along_other + adjoint.jacfwd(lengths)(x)[1][0]


@program(f64(1.3), f64(0.5), wrt=(0, 1), features="jvp, tensor while, second order")
def jvp_of_a_global_function(x, v):
    """jvp of a function of the module with a tensor loop."""
    y, dy = ops.jvp(grown_by, (x, v + 1), (v, x))
    return y * dy


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="vjp, has_aux, containers")
def vjp_with_more_results(x, v):
    """Tensors in tuples, results that are only returned, a result without gradient."""

    def several(pair, factor):
        product = pair[0] * pair[1]
        return (product * factor, product.sum() > 0), product, 3

    (y, positive), pull, (product, three) = ops.vjp(several, (x, v), x, has_aux=True)
    (by_x, by_v), by_factor = pull((v, positive))
    (z, _), dz, (same, _) = ops.jvp(several, [(x, v), x], [(v, x), v], has_aux=True)
    return y * by_x + by_v * three + by_factor * product + z * dz[0] * same


class Counts(nn.Cell):
    """Scales by a parameter, prints, and counts its calls."""

    def __init__(self):
        super().__init__()
        self.scale = Parameter(Tensor([1.5, -0.5], adjoint.float64), name="scale")
        self.frozen = Parameter(Tensor([2.0, 3.0], adjoint.float64), name="frozen", requires_grad=False)
        self.calls = Parameter(Tensor(0, adjoint.int32), name="calls", requires_grad=False)

    def construct(self, x):
        self.calls = self.calls + 1
        print("called", self.calls, x)
        return (x * self.scale * self.frozen).sum() * x


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="vjp, printing, parameters written", differences=False)
class EffectsUnderVjp(nn.Cell):
    """Prints and writes of the function of a vjp happen once, however often it is pulled."""

    def __init__(self):
        super().__init__()
        self.net = Counts()

    def construct(self, x, v):
        y, pull = ops.vjp(self.net, x)
        by_x = pull(v)[0]
        again = pull(by_x)[0]
        z, dz = ops.jvp(self.net, x, v)
        print("after", self.net.calls)
        return y * again + z * dz * self.net.calls


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="vjp, parameters read, parameters written")
class VjpByWeights(nn.Cell):
    """A pullback by one parameter and by several, some of them frozen; they are written in between."""

    def __init__(self):
        super().__init__()
        self.net = Counts()

    def construct(self, x, v):
        net = self.net
        y, pull = ops.vjp(net, x, weights=net.scale)
        z, pull_all = ops.vjp(lambda a: net(a) * net.scale, x, weights=[net.scale, net.frozen])
        net.frozen = net.frozen * 2
        (by_x,), by_scale = pull(v)
        _, (by_scale_too, by_frozen) = pull_all(by_x)
        return y + z + by_x * by_scale + by_scale_too + by_frozen * net.frozen


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="vjp, random numbers", differences=False)
def random_numbers_under_vjp(x, v):
    """A function that draws random numbers: the pullback uses the numbers drawn."""
    y, pull = ops.vjp(lambda a: ops.dropout(a * a, 0.5) + adjoint.ops.randn_like(a) * a, x)
    return y, pull(v)[0], pull(y)[0], adjoint.ops.randn_like(x)


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="vjp, register_hook, cell hooks, printing", differences=False)
class HooksUnderVjp(nn.Cell):
    """Forward hooks run with the function, backward hooks at every pull."""

    def __init__(self):
        super().__init__()
        self.net = nn.Tanh()
        self.net.register_forward_hook(self.show)
        self.net.register_backward_hook(self.halve)

    def show(self, cell, args, output):
        print("forward", output)
        return output * 2

    def halve(self, cell, grad_input, grad_output):
        print("backward", grad_output[0])
        return (grad_input[0] / 2,)

    def construct(self, x, v):
        def hooked(a):
            b = self.net(a)
            b.register_hook(print_gradient)
            return ops.HookBackward(self.show_all)(b) * a

        y, pull = ops.vjp(hooked, x)
        by_x = pull(v)[0]
        if by_x.sum() > 0:
            by_x = by_x + pull(x)[0]
        z, dz = ops.jvp(hooked, x, v)
        return y * by_x + z * dz

    def show_all(self, gradients):
        print("value", gradients[0])


@program(f64(1.3), f64(0.5), wrt=(0, 1), features="vjp, cells, tensor while")
class VjpAcrossCells(nn.Cell):
    """A function recorded here is pulled within a cell."""

    def __init__(self):
        super().__init__()
        self.net = Pulls()

    def construct(self, x, v):
        y, pull = ops.vjp(grown_by, x, v + 1)
        return self.net(v, pull) * y


class Pulls(nn.Cell):
    """Calls a pullback that it receives."""

    def construct(self, v, pull):
        return pull(v * v)[0]


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="grad, second order")
def hessian_vector_product(x, v):
    """The gradient of a gradient's product with a vector."""
    return grad(lambda y: (grad(cubic)(y) * v).sum())(x)


@program(f64(1.3), wrt=0, features="grad, tensor if, tensor while")
def gradient_of_control_flow(x):
    """The gradient of a function with a branch and a loop."""

    def grown(y):
        while y < 10:
            y = y * y if y > 2 else y + 1
        return y

    return grad(grown)(x) + x


@program(f64(1.3), wrt=0, features="grad, for tensor rows, tensor if, tensor while")
def gradient_inside_control_flow(x):
    """Gradients taken in a branch and in loops."""
    if x > 0:
        x = x - 0.1 * grad(lambda y: y * y)(x)
    for _ in range(2):
        x = x + 0.01 * grad(cubic)(x)
    while x > 1:
        x = x - 0.25 * grad(lambda y: ops.exp(y))(x)
    return x * x


@program(f64(1.0, -2.0), wrt=0, features="grad, closures", made=True)
def gradient_outside():
    """A gradient function made outside of the program."""
    slope = grad(cubic)

    def run(x):
        return slope(x) + slope(x * x)

    return run


@program(grid(2, 3), grid(2, 2, 1), wrt=(), features="value_and_grad, parameters read", differences=False)
class GradientByWeights(nn.Cell):
    """Gradients by the parameters of a network, inside a cell."""

    def __init__(self):
        super().__init__()
        self.net = nn.Dense(3, 2, weight_init=Tensor(grid(2, 3, 5)), bias_init="zeros")
        self.weights = ParameterTuple(self.net.trainable_params())

    def construct(self, x, target):
        def loss(data):
            return ((self.net(data) - target) ** 2).mean()

        value, gradients = value_and_grad(loss, None, self.weights)(x)
        by_list = GradOperation(get_by_list=True)(self.net, self.weights)(x)
        return value, gradients, by_list


@program(grid(2, 3), wrt=0, features="grad, cells")
class GradientOfACell(nn.Cell):
    """A cell that holds a network and returns its gradient."""

    def __init__(self):
        super().__init__()
        self.net = nn.SequentialCell(nn.Dense(3, 2, Tensor(grid(2, 3, 5)), "zeros"), nn.Tanh())

    def construct(self, x):
        return grad(self.net)(x)


# Cut and inserted gradients ---------------------------------------------------------------------------------------------


@program(f32(1.0, -2.0), wrt=0, features="stop_gradient", differences=False)
def stopped_gradient(x):
    """The result of stop_gradient counts as a constant."""
    scale = ops.stop_gradient(x * x)
    return x * scale + ops.stop_gradient(x)


@program(f32(1.0, -2.0), wrt=0, features="stop_gradient, functions", differences=False)
def straight_through(x):
    """Rounding with the gradient of the identity."""
    return x + ops.stop_gradient(ops.round(x * 3) - x)


@program(f32(1.0, -2.0), f32(0.5, 3.0), wrt=(0, 1), features="unused arguments")
def unused_argument(x, y):
    """An unused argument has a gradient of zeros."""
    z = y * 2
    return x * x


@program(f32(1.0, -2.0), wrt=0, features="gradient by constants")
def constant_result(x):
    """A result that is constant."""
    return ops.ones(3) * 2, x * 0


def double_gradient(gradient):
    return gradient * 2


def print_gradient(gradient):
    print("gradient", gradient)


@program(f32(1.0, -2.0), wrt=0, features="register_hook", differences=False)
def tensor_hook(x):
    """A hook on a value sees the total gradient, also of uses before it."""
    y = x * 3
    z = y * x
    y.register_hook(double_gradient)
    return z + y


@program(f32(1.0, -2.0), wrt=0, features="register_hook, printing", differences=False)
def printing_hooks(x):
    """Hooks that print run in reverse order."""
    y = x * 3
    y.register_hook(print_gradient)
    z = ops.tanh(y)
    z.register_hook(print_gradient)
    return z * z


@program(f32(2.0), wrt=0, features="register_hook, tensor if, closures", differences=False)
def tensor_hook_in_branch(x):
    """A hook registered in a branch, which uses a limit from outside of it."""
    limit = 0.5

    def clipped(gradient):
        return ops.clamp(gradient, -limit, limit)

    y = x * x
    if x > 1:
        y.register_hook(clipped)
    return y * 3


@program(f32(0.5, 1.5), wrt=0, features="register_hook, nested loops, for tensor rows", differences=False)
def tensor_hook_in_loop(x):
    """A hook on the value of each iteration."""
    total = x.sum()
    for element in x:
        total = total * element
        total.register_hook(lambda gradient: gradient + 1)
    return total


@program(f32(1.0, -2.0), f32(0.5, 3.0), wrt=(0, 1), features="HookBackward", differences=False)
def hook_backward(x, y):
    """HookBackward on one tensor and on two."""

    def scaled(gradients):
        return gradients[0] * 2

    def exchanged(gradients):
        return gradients[1], gradients[0]

    one = ops.HookBackward(scaled)
    a, b = ops.HookBackward(exchanged)(x * y, x + y)
    return one(x) * y + a * 3 + b


@program(f32(1.0, -2.0), wrt=0, features="HookBackward, printing, cells", differences=False)
class HookBackwardInACell(nn.Cell):
    """HookBackward kept in a cell; it prints."""

    def __init__(self):
        super().__init__()
        self.hook = ops.HookBackward(self.show)

    def show(self, gradients):
        print("seen", gradients[0])
        return (gradients[0] * 0.5,)

    def construct(self, x):
        return self.hook(x * x) * 3


@program(f32(1.0, -2.0), wrt=0, features="InsertGradientOf", differences=False)
def insert_gradient(x):
    """InsertGradientOf replaces or observes a gradient."""
    clip = ops.InsertGradientOf(lambda gradient: ops.clamp(gradient, -1.0, 1.0))
    look = ops.InsertGradientOf(print_gradient)
    return look(clip(x * x) * 3)


@program(f32(1.5), wrt=0, features="InsertGradientOf, tensor if, tensor while", differences=False)
def insert_gradient_in_loop(x):
    """A gradient halved in every iteration of a tensor loop."""
    halve = ops.InsertGradientOf(lambda gradient: gradient / 2)
    while x < 10:
        x = halve(x * x) if x > 2 else x + 1
    return x


@program(f32(1.0, -2.0), wrt=0, features="cell hooks", differences=False)
class HookedCells(nn.Cell):
    """Cells with backward hooks registered in __init__."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Tanh(), nn.Sigmoid()
        self.first.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 2,))
        self.second.register_forward_hook(lambda cell, args, output: output * 3)
        self.second.register_backward_pre_hook(lambda cell, grad_output: grad_output[0] + 1)

    def construct(self, x):
        return self.second(self.first(x) + self.first(x * 2))


@program(f32(1.0, -2.0), wrt=0, features="cell hooks, parameters read", differences=False)
class ObservedCells(nn.Cell):
    """Backward hooks only: they see and change the gradients of a cell that is called twice, and of one with a parameter."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Tanh(), nn.Dense(2, 2, Tensor(grid(2, 2, 3)), "ones")
        self.first.register_backward_pre_hook(lambda cell, grad_output: grad_output[0] * 3)
        self.first.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 2,))
        self.second.register_backward_hook(lambda cell, grad_input, grad_output: None)

    def construct(self, x):
        y = self.second(self.first(x))
        return self.first(y) * y + x


@program(f32(1.0, -2.0), f32(0.5, 3.0), wrt=(0, 1), features="cell hooks, HookBackward", differences=False)
class HookedCellInAHookedCell(nn.Cell):
    """A cell whose cells have hooks has hooks itself; one argument of it is not used, and one result."""

    def __init__(self):
        super().__init__()
        self.inner = HooksInside()
        self.inner.register_backward_pre_hook(lambda cell, grad_output: None)
        self.inner.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] + 1, grad_input[1]))

    def construct(self, x, y):
        u, _ = self.inner(x, y)
        return u * x


class HooksInside(nn.Cell):
    """(tanh(x), y), with hooks on the tanh and on what it is given."""

    def __init__(self):
        super().__init__()
        self.tanh, self.seen = nn.Tanh(), ops.HookBackward(lambda gradients: gradients[0] * 0.5)
        self.tanh.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 2,))

    def construct(self, x, y):
        return self.tanh(self.seen(x) * 2), y


@program(f32(1.0, -2.0), wrt=0, features="bprop", differences=False)
class ClippedGradient(nn.Cell):
    """A cell that writes its own gradient."""

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (ops.clamp(dout * 2 * x, -1.5, 1.5),)


class ScaledProduct(nn.Cell):
    """x * y * factor, whose gradient is written by hand."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def construct(self, x, y):
        return x * y * self.factor

    def bprop(self, x, y, out, dout):
        return dout * y * self.factor, dout * x * self.factor


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="bprop, cells")
class CellsWithTheirOwnGradients(nn.Cell):
    """Cells with bprop inside a larger one, called twice."""

    def __init__(self):
        super().__init__()
        self.product = ScaledProduct(1.5)

    def construct(self, x, y):
        return ops.exp(self.product(x, y)) + self.product(y, x * x)


class Affine(nn.Cell):
    """w x + b and its parts, with their gradients by hand."""

    def construct(self, params, x, scale=1.0):
        y = params["w"] * x * scale
        return {"y": y + params["b"][0], "parts": (y, [x])}

    def bprop(self, params, x, scale, out, dout):
        dy = dout["y"] + dout["parts"][0]
        return {"w": dy * x * scale, "b": [dout["y"]]}, dy * params["w"] * scale + dout["parts"][1][0]


class Layers(nn.Cell):
    """Two of them, the first one's parts used by the second."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Affine(), Affine()

    def construct(self, params, x):
        first = self.first(params[0], x, scale=3.0)
        return self.second(x=first["y"] * first["parts"][1][0], params=params[1]), first["parts"][0]


@program([{"w": f64(1.0, -2.0), "b": [f64(0.5)]}, {"w": f64(3.0, 0.2), "b": (f64(-1.0, 1.0),)}], f64(0.5, 3.0), wrt=(0, 1), made=True,
         features="bprop, dict, keyword arguments, cells")
def bprop_with_structures():
    """Cells with bprop whose arguments and results hold tensors in containers; a gradient is summed over broadcast axes."""
    layers = Layers()

    def f(params, x):
        second, y = layers(params, x)
        return (second["y"] * second["parts"][1][0]).sum() + y

    return f


@program(f64(0.5, -1.0), f64(0.3), wrt=(0, 1), features="bprop, dict, grad, second order")
class SecondOrderOfBpropWithStructures(nn.Cell):
    """The gradient of a cell with bprop by a dict, inside another."""

    def __init__(self):
        super().__init__()
        self.affine = Affine()

    def construct(self, x, y):
        found = grad(lambda params: (self.affine(params, x)["y"] ** 2).sum())({"w": x * y, "b": [y]})
        return found["w"] * found["b"][0]


@program(f64(1.5), f64(0.5), wrt=(0, 1), features="bprop, tensor if, tensor while")
class OwnGradientInControlFlow(nn.Cell):
    """A cell with bprop inside a branch and a loop."""

    def __init__(self):
        super().__init__()
        self.product = ScaledProduct(2.0)

    def construct(self, x, y):
        while x < 10:
            x = self.product(x, y) + 1.5
            if x > 4:
                x = x + self.product(y, y)
        return x


@program(f64(0.5, -1.0), wrt=0, features="bprop, grad, second order")
class SecondOrderOfBprop(nn.Cell):
    """The gradient of a cell with bprop, inside another."""

    def __init__(self):
        super().__init__()
        self.product = ScaledProduct(0.5)

    def construct(self, x):
        return grad(lambda y: self.product(y, y * y).sum())(x)


@program(f32(1.0, -2.0), wrt=0, features="parameters read, cells, grad")
class ParameterAsArgument(nn.Cell):
    """Parameters passed to functions, and taken in a loop."""

    def __init__(self):
        super().__init__()
        self.weights = ParameterTuple([Parameter(Tensor([0.5, 1.5]), "first"), Parameter(Tensor([-1.0, 0.25]), "second")])
        self.gain = Parameter(Tensor(2.0), "gain")

    def construct(self, x):
        for weight in self.weights:
            x = product(x, weight) * x * self.gain
        return x


@program(f64(1.0, -2.0), f64(0.5, 3.0), wrt=(0, 1), features="grad, has_aux, second order")
def gradients_with_more_results(x, y):
    """grad with results that are only passed on, a tuple of them."""

    def loss(a, b):
        mixed = a * b
        return (mixed * a).sum(), mixed, (mixed + 1).sum()

    (dx, dy), (mixed, total) = grad(loss, (0, 1), has_aux=True)(x, y)
    return dx * dy + mixed * total


@program(grid(2, 3), wrt=0, features="cell hooks, printing, tensor if", differences=False)
class HookedBranches(nn.Cell):
    """Hooked cells in branches: the hooks of the branch taken run, in reverse order."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Dense(3, 3, Tensor(grid(3, 3, 5)), "zeros")
        self.small, self.large = nn.Tanh(), nn.Sigmoid()
        for cell in (self.inner, self.small, self.large):
            cell.register_backward_hook(self.show)
        self.inner.register_forward_pre_hook(self.halve)

    def show(self, cell, grad_input, grad_output):
        print(cell.title, grad_output[0].shape)

    def halve(self, cell, args):
        return args[0] * 0.5

    def construct(self, x):
        y = self.inner(x)
        if y.sum() > 0:
            return self.large(y)
        return self.small(y)


@program(f32(0.5), f32(-1.0), wrt=(0, 1), features="no gradient", differences=False)
def values_of_one_hot(on, off):
    """No gradient goes through the values of one_hot; it does through what they are multiplied by."""
    hot = ops.OneHot()(Tensor([0, 2, 1]), 3, on, off)
    return hot * on, ops.one_hot(Tensor([1, 5]), 2, off, off) + off
