"""Branches on conditions of Python values, which are decided while parsing, and on conditions of tensors, decided at run time."""

from __future__ import annotations

from adjoint import Tensor, nn, ops
from programs.program import boolean, f16, f32, f64, grid, i32, program


@program(f32(1.0, -2.0), 0, wrt=0)
def python_branches(x, kind):
    """if, elif and else on a Python number."""
    if kind == 0:
        y = x * 2
    elif kind == 1:
        y = x + 1
    else:
        y = -x
    return y * y


@program(f32(1.0, -2.0, 3.0), wrt=0)
def branch_on_shape(x):
    """Shapes, ranks and dtypes are known while parsing."""
    if x.ndim == 1 and x.shape[0] > 2:
        x = x[:2] * x[1:]
    if str(x.dtype) == "Float32":
        x = x + 1
    return x


@program(f32(1.0, -2.0), wrt=0, features="tensor if")
def tensor_branch(x):
    """A branch on the sum of a tensor."""
    if x.sum() > 0:
        y = x * 2
    else:
        y = x * x
    return y


@program(f32(-0.5), wrt=0, features="tensor if")
def without_else(x):
    """A branch that is only sometimes taken."""
    y = x * 3
    if x < 0:
        y = y * y
    return y + x


@program(f32(0.5), wrt=0, features="tensor if")
def not_taken(x):
    """A branch that is not taken changes nothing."""
    if x < 0:
        x = ops.log(x)
    return x * 2


@program(f64(1.7), wrt=0, features="tensor if, tensor elif")
def piecewise(x):
    """A function in four pieces."""
    if x < -1:
        y = -x - 0.5
    elif x < 0:
        y = x * x / 2
    elif x < 1:
        y = x**3
    else:
        y = 3 * x - 2
    return y


@program(f64(-0.4), wrt=0, features="tensor if, tensor early return")
def huber(x):
    """Early returns from tensor branches."""
    size = abs(x)
    if size <= 1:
        return 0.5 * x * x
    return size - 0.5


@program(f32(2.0), f32(-3.0), wrt=(0, 1), features="tensor if, tensor early return, nested tensor if")
def quadrants(x, y):
    """Branches within branches, all of which return."""
    if x > 0:
        if y > 0:
            return x * y
        return x - y
    elif y > 0:
        return x + y
    else:
        return x / y


@program(f32(2.0), f32(-3.0), 1, wrt=(0, 1), features="tensor if, tensor early return, nested tensor if")
def mixed_conditions(x, y, kind):
    """Python and tensor conditions within each other."""
    if kind == 1:
        if x > y:
            x = x * y
            if kind > 0:
                x = x + 1
            else:
                return y
        elif kind == 0:
            return x
    elif y > 0:
        return y * 2
    return x + y


@program(f32(2.0), wrt=0, features="tensor if")
def variable_of_one_branch(x):
    """A variable that only one branch sets, used if that branch was taken."""
    if x > 1:
        extra = x * x
    y = x + 1
    if x > 1:
        y = y + extra
    return y


@program(f32(1.0, 2.0), f32(-1.0), wrt=(0, 1), features="tensor if, tuples")
def several_variables(x, y):
    """Branches that set several, different variables."""
    a, b, c = x, x, x
    if y > 0:
        a = x * y
        b = b + 1
    else:
        b = x - y
        c, a = a, b
    return a * b, b + c


@program(f32(1.0, 2.0), f32(-1.0), wrt=(0, 1), features="tensor if, tuples")
def tuple_of_branches(x, y):
    """Branches that return tuples and lists of equal structure."""
    if y > 0:
        pair = (x, [y, x * 2])
    else:
        pair = (x * y, [y * y, x])
    first, (second, third) = pair
    return first + second, third


@program(f32(1.0, 2.0), f32(-1.0), wrt=(0, 1), features="tensor if, dicts")
def dict_of_branches(x, y):
    """A dict whose entries a branch replaces."""
    state = {"position": x, "speed": y}
    if y < 0:
        state["speed"] = -0.5 * state["speed"]
        state["position"] = state["position"] + 1
    return state["position"] * state["speed"]


@program(f32(1.5), 3, wrt=0, features="tensor if, results of dtype int, Python number in tensor branch")
def number_of_branches(x, k):
    """A Python number that differs by branch."""
    if x > 1:
        k = k + 4
    else:
        k = 0
    return x * k, k


@program(f32(1.5), wrt=0, features="tensor if, Python number in tensor branch")
def number_and_tensor(x):
    """A variable is a number in one branch and a float tensor in the other."""
    if x > 1:
        scale = x * 2
    else:
        scale = 0.5
    return x * scale


@program(f32(1.5), f32(2.0), features="tensor if, Python number in tensor branch")
def flags(x, y):
    """Bools set in branches, tested later."""
    small, close = False, False
    if x < 1:
        small = True
    if abs(x - y) < 1:
        close = True
    if close and not small:
        return x + y
    return x - y


@program(f32(0.7, -0.2), True, wrt=0)
def python_conditional_expression(x, double):
    """A conditional expression on a Python bool, nested."""
    return x * 2 if double else x if x.ndim == 1 else -x


@program(f64(0.7), f64(-0.2), wrt=(0, 1), features="tensor conditional expression")
def tensor_conditional_expression(x, y):
    """Conditional expressions on tensors; only the chosen side is computed."""
    larger = x if x > y else y
    root = ops.sqrt(y) if y > 0 else y * y
    return larger * 2 + root + (1.0 if x > 0 else -1.0) * x


@program(f64(0.7), wrt=0, features="tensor conditional expression")
def nested_conditional_expressions(x):
    """A chain of conditional expressions."""
    return x * 3 if x > 2 else x * x if x > 0.5 else -x if x > 0 else ops.exp(x)


@program(i32(5), features="tensor if, results of dtype int, tensor elif")
def branches_on_integers(n):
    """Integer tensors are conditions and results."""
    if n % 2 == 0:
        return n // 2
    elif n % 3 == 0:
        return n // 3
    return 3 * n + 1


@program(boolean(True), f32(1.0, -2.0), wrt=1, features="tensor if")
def branch_on_bool_tensor(flag, x):
    """A bool tensor as condition, and a float tensor, which is true when it is not 0."""
    if flag:
        x = x * 2
    if not flag:
        x = x + 1
    if x[0] - 2.0:
        x = x + 5
    return x


@program(f32(1.0, -2.0, 4.0), wrt=0, features="tensor if, any and all")
def branch_on_any_and_all(x):
    """Conditions over all elements."""
    if (x > 0).all():
        return ops.sqrt(x)
    if (x > 3).any():
        return ops.tanh(x)
    return x


@program(f16(0.25), wrt=0, features="tensor if, tensor early return", differences=False)
def branches_in_half_precision(x):
    """Comparison and results in float16."""
    if x * 4 >= 1:
        return x * 0.1
    return x / 3


@program(f32(2.0), wrt=0, features="tensor if, closures, nested functions")
def functions_of_branches(x):
    """A function that returns early, called in several places."""

    def clipped(y, limit):
        if y > limit:
            return limit + (y - limit) * 0.1
        return y

    return clipped(x, 1.5) + clipped(-x, 0.5) * clipped(x * x, 3.0)


@program(f32(2.0), wrt=0, features="tensor if")
def function_chosen_by_python(x):
    """A name that stands for one of two functions."""
    if x.ndim == 0:
        activate = ops.tanh
    else:
        activate = ops.sigmoid
    return activate(x)


@program(f32(2.0), f32(0.5), wrt=(0, 1), features="tensor if, stop_gradient", differences=False)
def gradient_by_one_branch(x, w):
    """Only the branch taken brings a gradient to w."""
    if x > 1:
        return x * x + w * ops.stop_gradient(x)
    return x * w


@program(grid(2, 3), wrt=0, features="tensor if, gated unit, cells")
class GatedUnit(nn.Cell):
    """A unit that is skipped when its gate is closed."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Dense(3, 3, weight_init="ones", bias_init="zeros")
        self.gate = nn.Dense(3, 1, weight_init=Tensor([[0.5, -1.0, 2.0]]), bias_init="ones")

    def construct(self, x):
        gate = ops.sigmoid(self.gate(x).mean())
        if gate > 0.5:
            x = x + gate * ops.tanh(self.inner(x))
        return x


@program(grid(2, 3), wrt=0, features="tensor if, cells, CellList")
class ChosenExpert(nn.Cell):
    """One of two experts computes, chosen by the input."""

    def __init__(self):
        super().__init__()
        self.experts = nn.CellList([nn.Dense(3, 2, "ones", "zeros"), nn.Dense(3, 2, "ones", "ones")])

    def construct(self, x):
        if x.sum() > 0:
            y = self.experts[0](x)
        else:
            y = self.experts[-1](x * x)
        return y


@program(f32(1.0, -2.0), wrt=0, features="tensor if")
def empty_branches(x):
    """Branches that do nothing."""
    if x.sum() > 0:
        pass
    else:
        "nothing to do"
    if x[0] > 5:
        return x
    else:
        pass
    return x * 2


@program(f32(3.0, -2.0), 0.5, wrt=0, features="tensor if, chained comparison")
def clipped_to_a_range(x, limit):
    """Branch by branch over the elements of a small vector."""
    first, second = x[0], x[1]
    first = limit if first > limit else first
    if not -limit <= second <= limit:
        second = second * limit / abs(second)
    return first * 2 + second


@program(f32(1.0, -2.0), f32(3.0), wrt=(0, 1), features="match")
def python_match(x, y):
    """match on Python values."""
    match x.shape:
        case (2,):
            return x * y
        case _:
            return x
