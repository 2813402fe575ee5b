# ruff: noqa: B007, RET503 - programs stay as users write them
"""Corner cases of the language: a graph must do what Python does."""

from __future__ import annotations

import numpy as np

import adjoint
from adjoint import Parameter, Tensor, nn, ops
from programs.program import f16, f32, f64, grid, i32, i64, program

# Order and truth --------------------------------------------------------------------------------------------------------


@program(f32(2.0), features="printing, tensor logic, tensor if")
def operands_in_order(x):
    """Operands of `and` and `or` are evaluated in order, and no more than needed."""

    def ask(name, answer):
        print("asked", name)
        return answer

    if ask("first", x > 1) and ask("second", x > 3) and ask("third", x > 0):
        x = x + 1
    if ask("fourth", x > 1) or ask("fifth", x > 0):
        x = x * 2
    return x


@program(f32(2.0), f32(-1.0), features="printing, chained comparison")
def chain_in_order(x, y):
    """Each operand of a chain is computed once."""

    def show(value):
        print("operand", value)
        return value

    if show(y) < show(x) < show(y * 2) < show(x * 5):
        return x
    return y


@program(f64(0.5), features="printing, tensor while, parameters written, number computed in loop")
class ConditionWithEffects(nn.Cell):
    """The condition of a loop writes and prints."""

    def __init__(self):
        super().__init__()
        self.asked = Parameter(Tensor(0, adjoint.int32), name="asked", requires_grad=False)

    def unfinished(self, x):
        self.asked = self.asked + 1
        print("asked", self.asked * 1)
        return x < 3

    def construct(self, x):
        rounds = 0
        while self.unfinished(x) and rounds < 5:
            x = x * 2
            rounds += 1
        return x * self.asked


@program(f32(np.nan), f32(-0.0), features="not finite, tensor if, tensor while, tensor conditional expression")
def conditions_of_odd_numbers(nan, zero):
    """NaN is true, and unequal to itself; -0.0 is false, and equal to 0."""
    count = 0
    if nan:
        count += 1
    if nan != nan:
        count += 10
    if zero:
        count += 100
    if zero == 0:
        count += 1000
    while nan < 1:
        count += 10000
    return (zero if zero <= 0 else nan), count, 1 / zero if zero == 0 else zero


@program(f32(1.0, -2.0), wrt=0, features="shadowing")
def names_of_builtins(x):
    """Names of builtins used for other objects."""
    sum = x * 2
    len = 3
    max = lambda value: value * len  # noqa: E731
    range = [sum, x]
    for input in range:
        sum = sum + max(input)
    return sum


@program(f32(1.0, -2.0), wrt=0, features="closures, list methods")
def late_binding(x):
    """Functions made in a loop see its last iteration, unless they keep their own value by a default."""
    late, early = [], []
    for i in range(3):
        late.append(lambda y: y * i)  # noqa: B023
        early.append(lambda y, i=i: y * i)
    return sum(f(x) for f in late) - sum(f(x) for f in early)


def remembering(x, seen=[]):  # noqa: B006
    return x + len(seen)


@program(f32(1.0, -2.0), wrt=0, features="identity")
def identities(x):
    """`is` on tensors, lists and functions."""
    y, z = x, x * 1
    if y is x and z is not x and remembering is not cubes:
        x = x * 2
    first = [1, 2]
    second = first
    if first is second and first == [1, 2] and first is not [1, 2] and (1, "a") < (1, "b"):  # noqa: F632
        x = remembering(x) + 1
    return x


def cubes(x):
    return x * x * x


@program(f16(1.0, -2.5), f32(0.1), i32(3, -4), wrt=(0, 1), features="functions, promotion", differences=False)
def one_function_for_all_dtypes(half, single, whole):
    """A function called with several dtypes and shapes."""
    return cubes(half) + 0.1, cubes(single), cubes(whole), cubes(half[0]) * 2


# Numbers that become tensors ----------------------------------------------------------------------------------------------


@program(f64(0.75), wrt=0, features="tensor while, number becomes tensor")
def total_from_zero(x):
    """A sum that begins with the number 0."""
    total = 0
    while x < 10:
        total = total + x
        x = x * 2
    return total


@program(f32(0.75, -0.5, 3.0), wrt=0, features="for tensor rows, tensor if, tensor continue, number becomes tensor")
def total_of_rows_from_zero(x):
    """The same over rows, some of which are skipped."""
    total, count = 0, 0
    for value in x:
        if value < 0:
            continue
        total += value * value
        count += 1
    return total / count


@program(f64(0.75), wrt=0, features="tensor while, number becomes tensor, None becomes tensor, is None")
def last_from_none(x):
    """A variable that is None before the first iteration."""
    last = None
    for i in range(3):
        if last is not None:
            x = x + last
        last = x * i
    return last


@program(f64(1.5), wrt=0, features="tensor while, number computed in loop, numbers of loops")
def arithmetic_of_counters(x):
    """Counters of tensor loops in all arithmetic: divided, negated, compared, as powers."""
    k, half, odd = -3, 0.0, False
    while x < 20:
        k += 2
        half = k / 2
        odd = not odd
        if k % 3 == 1:
            x = x * 1.25
        if odd and -2 < k <= 9:
            x = x + abs(k) // 2 + min(k, 4) - max(k, 0) * 0.25
        x = x * 1.5 + half**2 * 0.125
    return x * k, k // 2, k % 4, k * k, half, odd


@program(f32(-2.7), i32(7), wrt=0, features="numbers of tensors, tensor if", differences=False)
def arithmetic_of_numbers_of_tensors(x, n):
    """int() truncates; float() is a double, like Python's numbers."""
    k, r, m = int(x), float(x), int(n)
    y = x * (k // 2) + x * (r * 0.1) + m**2 % 5 - round(r)
    if k < 0 and r + 2.7 != 0:
        y = y * (m / 3)
    return y, k, -m // 2, m & 3, bool(x)


@program(f32(0.5, 1.5, -2.5, 4.0), i32(1), wrt=0, features="numbers of tensors, reads: computed index, reads: slice, range of a tensor")
def positions_from_tensors(x, start):
    """Numbers of tensors as indices, and as the ends of a range."""
    first = int(start)
    total = x[first] * 2 + x[first - 2]
    for i in range(first, int(start * 3)):
        total = total + x[i] * (i + 1)
    return total


@program(i32(2_000_000_000), f16(300.0), features="overflow, tensor while, results of dtype int")
def overflow(n, h):
    """int32 wraps; float16 becomes infinite."""
    rounds = 0
    while rounds < 2 and n > 0:
        n = n + 300_000_000
        h = h * h
        rounds += 1
    return n, h, n * 2


# Numbers as Python has them ---------------------------------------------------------------------------------------------------


@program(i64(5), features="numbers of tensors, overflow", refused="E214")
def product_beyond_64_bits(n):
    """Python's ints are unlimited; those of a graph have 64 bits, and overflow is an error."""
    k = int(n)
    for _ in range(6):
        k = k * k
    return float(k % 1000)


@program(i64(2**62), features="numbers of tensors, overflow", refused="E214")
def sum_beyond_64_bits(n):
    """The sum of two 64-bit ints has 65 bits."""
    k = int(n)
    return k + k


@program(i64(5), features="numbers of tensors")
def compared_with_large_numbers(n):
    """Bounds beyond any 64-bit int."""
    k = int(n)
    return k < 2**80, k == 2**64, k > -(2**65), k <= 2**64 - 1, (k + 2**53) == float(2**53)


@program(i64(3), features="numbers of tensors", refused="E214")
def power_below_one(n):
    """An int to the power of a negative int is a float: the sign must be known."""
    k = int(n)
    return 2.0 ** (k - 5), 2 ** (k - 5)


@program(i64(-7), f64(-7.5), features="numbers of tensors, f-strings")
def all_operators_of_numbers(n, x):
    """Shifts, bits, divisions with their remainders."""
    k, r = int(n), float(x)
    bits = k << 3, k >> 1, 1 << (k + 9), ~k
    return bits, divmod(k, 3), divmod(40, k), divmod(r, 2), k % -3, k // -2, r // -2, r % 3, round(r), round(k, -1)


@program(f32(2.5), f32(1.0), features="tensor if, numbers of tensors", wrt=(0, 1), differences=False)
def truths_alone(x, y):
    """A function whose results have no gradient."""
    if x > y:
        x = x * 2
    return x > y, int(x)


# One object, several names ------------------------------------------------------------------------------------------------------


@program(f32(1.0, 2.0, 3.0), wrt=0, features="aliases, tensor if, writes: int")
def two_names_of_what_a_branch_made(x):
    """Both branches give one tensor, and one list, two names."""
    if x.sum() > 0:
        y = x * 2
        parts = [x]
    else:
        y = x * 3
        parts = [x * 5]
    z, more = y, parts
    y[0] = 10.0
    parts.append(x * 3)
    return z * sum(more)


@program(f32(1.0, 2.0, 3.0), wrt=0, features="aliases, tensor while, writes: int, number computed in loop")
def two_names_of_what_a_loop_made(x):
    """A tensor and a list with two names each, new ones in every iteration."""
    y, parts, i = x * 1, [x], 0
    z, more = y, parts
    while x.sum() * i < 10:
        y = y * 2
        z = y
        parts = [y * 1]
        more = parts
        i += 1
    y[0] = 100.0
    parts[0] = parts[0] + 1
    return z * more[0]


@program(f32(1.0, 2.0, 3.0), wrt=0, features="aliases, tensor if, writes: int")
def written_or_replaced(x):
    """One branch writes into a tensor and a dict, the other replaces them."""
    y, table = x * 1, {"a": x}
    same = table
    if x.sum() > 0:
        y[0] = 9.0
        table["a"] = x * 2
    else:
        y = x * 2
        table = {"a": x * 7}
    return y * same["a"] + table["a"]


@program(f32(1.0, 2.0, 3.0), wrt=0, features="aliases, tensor while, writes: int, number computed in loop")
def written_and_replaced_in_a_loop(x):
    """An iteration writes into a value that it received, and replaces it."""
    y, pair, n = x * 1, [x * 1, x * 2], 0
    while y.sum() < 50:
        y[0] = y[1] + 1
        y = y * 1.5
        pair[0] = pair[0] + pair[1]
        pair = [pair[1], pair[0] * 1.5]
        pair[1] = pair[1] + 1
        n += 1
    return y * pair[0] + pair[1], n


@program(f32(1.0, 2.0, 3.0), features="aliases, tensor conditional expression, writes: int", refused="E215")
def written_under_a_chosen_name(x):
    """Which of two tensors is written depends on a tensor."""
    a, b = x * 1, x * 2
    y = a if x.sum() > 0 else b
    y[0] = 100.0
    return a + b


@program(f32(1.0, 2.0, 3.0), features="aliases, tensor conditional expression", refused="E215")
def appended_under_a_chosen_name(x):
    """Which of two lists grows depends on a tensor."""
    a, b = [x], [x * 2]
    c = a if x.sum() > 0 else b
    c.append(x * 4)
    return sum(a) + sum(b) * 2


@program(f32(1.0, 2.0, 3.0), features="aliases, tensor if, writes: int", refused="E215")
def argument_or_another_written(x):
    """Whether the caller's tensor is written depends on a tensor."""
    if x.sum() < 0:
        x = x * 2
    x[0] = 50.0
    return x * 2


@program(f32(1.0, 2.0, 3.0), wrt=0, features="writes: int, constants", differences=False)
def constant_of_each_call(x):
    """A tensor that each call creates and writes into."""
    v = Tensor([1.0, 2.0, 3.0])
    v[0] = x[0]
    v[1] = v[1] + 1
    v += 1
    return v * x, Tensor([5.0])


# Ways out -----------------------------------------------------------------------------------------------------------------


@program(f64(1.5), wrt=0, features="tensor break, nested loops, for else, while else, tensor while, nested tensor if")
def ways_out_of_nested_loops(x):
    """Loops of all kinds within each other, each with its own break and else."""
    for i in range(3):
        while x < 10 * (i + 1):
            x = x * 1.5
            for j in range(3):
                if x > 25:
                    if j:
                        break
                    continue
                x = x + 0.5
            else:
                x = x + 0.25
            if x > 40:
                break
        else:
            x = x - 1
        if x > 45:
            return x * i
    else:
        x = x / 2
    return x


@program(f32(1.0), wrt=0, features="tensor early return, nested tensor if")
def return_within_one_branch(x):
    """A branch of which one part returns, while the other continues with the statements after it."""
    if x > 0:
        if x > 5:
            return x * 100
        x = x + 1
    x = x * 2
    return x  # noqa: RET504 - it is what follows the branch that matters


@program(f32(1.0), wrt=0, differences=False,
         features="tensor break, tensor continue, nested tensor if, tensor while, number computed in loop")
def break_within_one_branch(x):
    """The same with `break` and `continue`."""
    n = 0
    while n < 30:
        n += 1
        if x > 0:
            if x > 50:
                break
            x = x + 1
        else:
            x = x * 3
            if x < -4:
                continue
        x = x * 1.5
    return x, n


@program(f32(2.0, 1.0, 3.0), wrt=0, features="tensor early return, nested tensor if, writes: int")
def write_behind_a_return(x):
    """A tensor that a branch makes and writes into."""
    y = x[0]
    if y > 0.5:
        y = y - 1
        if x[0] < 0.5:
            return x
    for _ in range(2):
        x = x * 2
        x[0] = y
    return x


@program(f64(1.5), wrt=0, features="tensor break, loop variable afterwards")
def loop_variable_after_break(x):
    """The variable of a loop that ended on a condition of a tensor."""
    for i in range(8):
        x = x * 1.5
        if x > 6:
            break
    return x * i, i


@program(f64(1.5), f64(0.25), wrt=(0, 1), features="tensor early return, functions, tensor while, nested loops")
def returns_of_functions_in_loops(x, y):
    """A function that returns from inside its own loops, called in a loop."""

    def first_above(limit, value):
        while value < 100:
            for factor in (1.5, 2.0):
                value = value * factor
                if value > limit:
                    return value
        return value * 0

    total = y
    for limit in (2.0, 20.0, 500.0):
        total = total + first_above(limit, x) * y
    return total


@program(f32(1.5), 3, wrt=0, features="tensor if, returning None, functions")
def functions_without_result(x, n):
    """Functions that return nothing."""

    def nothing(y):
        if n > 5:
            return y

    def bare(y):
        if y > 0:
            return
        print("not reached")

    if nothing(x) is None and bare(x) is None:
        x = x * 2
    return x


@program(f64(1.5), wrt=0, features="tensor if, list methods, lists in tensor branches")
def lists_in_branches(x):
    """Lists, dicts and sets changed in branches in the same way, and in loops around them."""
    parts, table = [], {"last": x}
    for i in range(3):
        if x > 2:
            parts.append(x * i)
            table["last"] = x
        else:
            parts.append(x)
            table["last"] = -x
        x = x * 1.25
    return sum(parts) * table["last"]


# State --------------------------------------------------------------------------------------------------------------------


@program(f32(1.0, 2.0, 3.0), features="aliases, tensor conditional expression, parameters written", refused="E215")
class WritesWhatWasChosen(nn.Cell):
    """A tensor decides whether a name is a Parameter, which is written afterwards: then that name has the new value."""

    def __init__(self):
        super().__init__()
        self.limit = Parameter(Tensor(2.5), name="limit")

    def construct(self, x):
        y = max(self.limit, x.sum() - 4.0)
        ops.assign(self.limit, self.limit * -1.25)
        return y


@program(f32(1.0, 2.0, 3.0), features="aliases, tensor conditional expression, parameters written")
class WritesAfterACopy(nn.Cell):
    """The same with a copy: the name keeps its value."""

    def __init__(self):
        super().__init__()
        self.limit = Parameter(Tensor(2.5), name="limit")

    def construct(self, x):
        y = max(self.limit, x.sum() - 4.0).copy()
        ops.assign(self.limit, self.limit * -1.25)
        return y * x


@program(f32(1.0, -2.0), features="parameters written, aliases", refused="E202")
class SwapsParameters(nn.Cell):
    """Parameters are storage: swapping them as variables gives one number twice, swapping values swaps."""

    def __init__(self):
        super().__init__()
        self.a, self.b = Parameter(Tensor([1.0, 1.0]), name="a"), Parameter(Tensor([2.0, 2.0]), name="b")
        self.c, self.d = Parameter(Tensor([3.0, 3.0]), name="c"), Parameter(Tensor([4.0, 4.0]), name="d")

    def construct(self, x):
        self.a, self.b = self.b, self.a
        self.c, self.d = self.d * 1, self.c * 1
        return x * self.a + self.b, x * self.c + self.d


@program(f32(1.0, -2.0), wrt=0, features="parameters written, tensor if, state that decides", differences=False)
class AlternatesByState(nn.Cell):
    """A value written in one call is a condition in the next."""

    def __init__(self):
        super().__init__()
        self.calls = Parameter(Tensor(0, adjoint.int32), name="calls", requires_grad=False)

    def construct(self, x):
        self.calls = self.calls + 1
        if self.calls % 2 == 0:
            return x * x
        return x * 3


@program(f32(1.0, -2.0), wrt=0, features="attributes written")
class RemembersChoice(nn.Cell):
    """A Python value of the cell, set in each call to the same, and read again."""

    def __init__(self):
        super().__init__()
        self.chosen = None

    def construct(self, x):
        self.chosen = {"name": "double", "factor": 2.0}
        return x * self.chosen["factor"]


@program(f32(1.0, -2.0), wrt=0, features="attributes written, tensor if")
class KeepsTensor(nn.Cell):
    """A tensor kept in an attribute within a call."""

    def __init__(self):
        super().__init__()
        self.kept = None

    def keep(self, x):
        self.kept = x * 2

    def construct(self, x):
        self.keep(x)
        if x.sum() > 0:
            self.kept = self.kept + 1
        y = self.kept * x
        self.kept = None
        return y


@program(f32(1.0, -2.0, 3.0), wrt=0, features="writes: int, aliases, tensor if, tensor while", differences=True)
def writes_through_aliases(x):
    """A tensor with two names, written under one in a branch and under the other in a loop."""
    y = x * 1
    same = y
    if x.sum() > 0:
        y[0] = x[1] * 2
    i = 0
    while same.sum() > -5:
        same[i] = same[i] - 2.25
        i = (i + 1) % 3
    return y * x


# Hooks where they may not run -----------------------------------------------------------------------------------------------


def announce(name):
    def hook(gradient):
        print(name, gradient)
        return gradient * 2

    return hook


@program(f32(2.0), f32(0.5), wrt=(0, 1), features="register_hook, printing, tensor if, zero rounds", differences=False)
def hooks_that_do_not_run(x, y):
    """Hooks on unused values, in a branch not taken, in a loop of no iterations."""
    unused = x * 2
    unused.register_hook(announce("unused"))
    used = x * y
    used.register_hook(announce("used"))
    if x < 0:
        used.register_hook(announce("not taken"))
    for _ in range(0):
        used.register_hook(announce("no round"))
    cut = ops.stop_gradient(used) * 1.0
    return used * 3 + cut


@program(f32(1.5), wrt=0, features="register_hook, HookBackward, printing, tensor while", differences=False)
def hooks_in_tensor_loop(x):
    """A hook in each iteration of a tensor loop: the last iteration comes first."""
    show = ops.HookBackward(lambda gradients: print("round", gradients[0]))
    while x < 5:
        x = show(x * 1.5)
        x.register_hook(announce("value"))
    return x


@program(f32(1.0, -2.0), wrt=0, features="register_hook, printing", differences=False)
def several_hooks_on_one_value(x):
    """Hooks run in the order they were registered; the argument has one too."""
    x.register_hook(announce("argument"))
    y = x * x
    y.register_hook(announce("first"))
    z = y * 3
    y.register_hook(announce("second"))
    return z


@program(f32(1.0, -2.0), wrt=0, features="register_hook, printing", differences=False)
def removed_hook(x):
    """A hook registered and removed again."""
    y = x * x
    handle = y.register_hook(announce("removed"))
    handle.remove()
    return y * 3


@program(f32(1.5), wrt=0, features="cell hooks, printing, tensor while, tensor if", differences=False)
class HookedCellInLoop(nn.Cell):
    """A hooked cell called in each iteration, and another that is not reached."""

    def __init__(self):
        super().__init__()
        self.tanh, self.other = nn.Tanh(), nn.Sigmoid()
        for cell in (self.tanh, self.other):
            cell.register_forward_pre_hook(lambda cell, args: print("into", cell.title, args[0]))
            cell.register_backward_hook(lambda cell, given, result: print("back through", cell.title, given[0], result[0]))

    def construct(self, x):
        while x < 5:
            if x < 0:
                x = self.other(x)
            x = x * 2 + self.tanh(x)
        return x


class Announced(nn.Cell):
    """x * y, which prints when its gradient is taken, and has no gradient by y."""

    def construct(self, x, y):
        return x * y

    def bprop(self, x, y, out, dout):
        print("bprop of", out)
        return dout * y, None


@program(f32(1.5), f32(2.0), wrt=(0, 1), features="bprop, printing, tensor if, nested loops", differences=False)
class BpropThatPrints(nn.Cell):
    """A bprop runs once for each call that has a gradient, in reverse."""

    def __init__(self):
        super().__init__()
        self.product = Announced()

    def construct(self, x, y):
        unused = self.product(y, y)
        for _ in range(2):
            x = self.product(x, y)
            if x > 100:
                x = self.product(x, x)
        return x + ops.stop_gradient(unused)


@program(grid(2, 3), wrt=0, features="grad, tensor if, cells, parameters written, second order", differences=False)
class GradientInBranchOfTraining(nn.Cell):
    """A penalty on a gradient, added in a branch; the network counts its calls."""

    def __init__(self):
        super().__init__()
        self.net = nn.Dense(3, 1, Tensor(grid(1, 3, 5)), "zeros")
        self.calls = Parameter(Tensor(0.0), name="calls", requires_grad=False)

    def score(self, x):
        self.calls = self.calls + 1
        return ops.tanh(self.net(x)).sum()

    def construct(self, x):
        loss = self.score(x)
        if loss < 100:
            slope = adjoint.grad(self.score)(x)
            loss = loss + 0.1 * (slope * slope).sum()
        return loss


@program(grid(3, 4), i64(2), wrt=0, features="for range of a tensor, items written")
def rows_written_in_a_range(x, n):
    """A tensor written in place in a loop that assigns no name: before and after the loop variable is bound."""
    y, z = x * 1.0, x * 2.0
    for k in range(n):
        y[k] = y[k] + k * 2.0
        z[1] = y[0] * 3.0
        y[-1, k] = z[k, 0] + 0.5
    return y, z


@program(grid(2, 3), i64(3), wrt=0, features="for range of a tensor, items written, lists")
def container_changed_in_a_range(x, n):
    """A list and a dict changed in place in a loop that assigns no name."""
    items, named = [x, x * 2], {"total": x * 0}
    for _ in range(n):
        items[0] = items[1] + 1
        named["total"] = named["total"] + items[0]
        items[1] = named["total"] * 0.5
    return items, named["total"]
