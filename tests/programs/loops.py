"""Loops over Python values and tensors, with all ways to leave them."""

from __future__ import annotations

from adjoint import nn, ops
from programs.program import f16, f32, f64, grid, i32, program

# for ------------------------------------------------------------------------------------------------------------------


@program(f32(1.0, -2.0), 4, wrt=0)
def for_range(x, rounds):
    """A known number of iterations."""
    y = x
    for _ in range(rounds):
        y = y * x + 1
    return y


@program(f32(1.0, -2.0), wrt=0)
def for_range_with_index(x):
    """The loop variable as a number: as factor, in a condition, after the loop; steps and backwards."""
    total = x * 0
    for i in range(1, 8, 3):
        total = total + x * i
    for i in range(5, 0, -2):
        if i == 3:
            total = total * 2
    return total + i


@program(f32(1.0, -2.0), 0, wrt=0, features="zero rounds")
def for_zero_rounds(x, rounds):
    """A loop that never runs does not change its variables."""
    y = x * 2
    for _ in range(rounds):
        y = y * x
    for part in []:
        y = y + part
    return y


@program(f32(1.0, -2.0), f32(0.5, 3.0), wrt=(0, 1))
def for_list_and_tuple(x, y):
    """Lists and tuples of tensors and of numbers, also nested ones."""
    total = x
    for part in [x, y, x * y]:
        total = total + part
    for factor in (2.0, -0.5):
        total = total * factor
    for a, (b, scale) in [(x, (y, 2)), (y, (x, 3))]:
        total = total + a * b * scale
    return total


@program(f32(1.0, -2.0), f32(0.5, 3.0), wrt=(0, 1), features="dicts")
def for_dict(x, y):
    """Keys, values and items of a dict."""
    parts = {"first": x, "second": y}
    weights = {"first": 2.0, "second": -1.0}
    total = x * 0
    for name, part in parts.items():
        total = total + part * weights[name]
    for name in parts:
        total = total * weights[name]
    for part in parts.values():
        total = total + part
    for name in parts.keys():  # noqa: SIM118
        total = total + len(name)
    return total


@program(f32(1.0, -2.0), wrt=0)
def for_enumerate_and_zip(x):
    """enumerate with a start, zip of three, and both together."""
    total = x * 0
    for i, scale in enumerate([2.0, 3.0], 1):
        total = total + x**i * scale
    for part, scale, shift in zip([x, x * x], (0.5, 2.0, 9.0), range(2)):
        total = total + part * scale + shift
    for i, (a, b) in enumerate(zip((x, -x), (1, 2))):
        total = total + a * b * i
    return total


@program(f32([1.0, -2.0], [0.5, 3.0]), wrt=0, features="for tensor rows")
def for_tensor_rows(table):
    """The rows of a tensor."""
    total = ops.zeros_like(table[0])
    for row in table:
        total = total * row + row
    return total


@program(f32([1.0, -2.0], [0.5, 3.0]), f32(2.0, 0.5), wrt=(0, 1), features="for tensor rows, nested loops, tensor if")
def for_rows_and_elements(table, weights):
    """Rows with enumerate and zip, and the elements of each."""
    total = weights.sum() * 0
    for i, row in enumerate(table):
        for element in row:
            if element > 0:
                total = total + element * (i + 1)
    for row, weight in zip(table, weights):
        total = total + (row * weight).sum()
    return total


@program(f32(1.0, -2.0, 0.5), f32(0.25), wrt=(0, 1), features="for tensor rows, index writes, tensor break")
def for_rows_that_it_writes(x, y):
    """Each row has the numbers of the time when it is taken."""
    x = x * 2
    for row in x:
        x[1:] *= y * row
    for i, row in enumerate(x):
        x[:-1] += row * i
        if row < -5:
            break
    return x


@program(f32(1.0, -2.0, 0.5), wrt=0, features="CellList, cells")
class LayersInAList(nn.Cell):
    """A loop over a CellList, forwards, with numbers, and over a slice."""

    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([nn.Tanh(), nn.Sigmoid(), nn.LeakyReLU(0.3)])

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        for i, layer in enumerate(self.layers[:2]):
            x = x + layer(x) * i
        for i in range(len(self.layers)):
            x = self.layers[i](x)
        return x


@program(f64(2.1), wrt=0, features="tensor if, number computed in loop")
def for_with_tensor_branch(x):
    """A branch on a tensor in every iteration."""
    for i in range(4):
        if x > 1.0:
            x = x * 0.5 - i
        else:
            x = x * x + 1
    return x


@program(f32(1.0, -2.0), 5, wrt=0)
def break_and_continue(x, limit):
    """break and continue on Python conditions."""
    total = x
    for i in range(10):
        if i % 2:
            continue
        if i > limit:
            break
        total = total * x + i
    return total


@program(f64(1.5), wrt=0, features="tensor break")
def tensor_break(x):
    """A break on a condition of a tensor."""
    total = x
    for i in range(8):
        total = total * x + i
        if total > 20:
            break
        total = total + 0.5
    return total


@program(f64(0.5, -1.5, 2.5, -0.25), wrt=0, features="tensor continue, for tensor rows")
def tensor_continue(x):
    """A continue on a condition of a tensor."""
    total = x.sum()
    for value in x:
        if value < 0:
            continue
        total = total * value
    return total


@program(f64(0.5, 1.5, 4.0, -0.25), wrt=0, features="tensor continue, tensor break, for tensor rows, nested tensor if")
def tensor_break_and_continue(x):
    """Both, and variables that are set before and after them."""
    total, last = x[0] * 0, x[0]
    for value in x:
        last = value * 2
        if value < 1:
            if value < 0:
                break
            continue
        last = last + 1
        total = total + value * last
        if total > 40:
            break
    return total + last


@program(f64(0.5, 1.5, 4.0), wrt=0, features="tensor early return, for tensor rows")
def return_inside_loop(x):
    """The first element above a limit."""
    for value in x:
        if value > 1:
            return value * value
    return x.sum()


@program(f64(0.5, 1.75, 4.0), f64(-1.0), wrt=(0, 1), features="tensor early return, nested tensor if, nested loops")
def return_inside_loop_inside_branch(x, y):
    """Return inside a loop inside a tensor branch inside a loop."""
    for i in range(2):
        if y < 0:
            for value in x:
                y = y + value
                if y > 1:
                    return y * value + i
        else:
            y = y * 2
    return y


@program(f64(1.2), wrt=0, features="nested loops, tensor break")
def break_in_nested_loops(x):
    """Each break leaves its own loop."""
    total = x
    for i in range(3):
        for j in range(4):
            total = total * x
            if total > 3:
                break
            total = total + j
        total = total - i
        if total < -1:
            break
    return total


@program(f32(1.0, -2.0), wrt=0, features="nested loops")
def nested_python_loops(x):
    """Nested loops whose bounds depend on the outer variable, with continue and break on numbers."""
    total = x
    for i in range(4):
        for j in range(i):
            if j == 2:
                continue
            if i * j > 4:
                break
            total = total + x * i * j
    return total


@program(f64(0.5), 3, wrt=0, features="for else, tensor break")
def for_else(x, limit):
    """The else of a loop runs if there was no break."""
    for i in range(5):
        if i == limit:
            break
        x = x * 2
    else:
        x = x + 100
    for _ in range(3):
        x = x - 1
        if x < 0:
            break
    else:
        x = x * x
    return x


@program(f64(0.5), wrt=0, features="for else, zero rounds, tensor early return")
def for_else_return(x):
    """Return from a loop, and from its else."""
    for i in range(0):
        x = x + i
    else:
        x = x * 3
    for _ in range(3):
        x = x * 2
        if x > 100:
            return x
    else:
        return -x


@program(f32(1.0, -2.0), i32(3), wrt=0, features="range of a tensor")
def rounds_from_a_tensor(x, rounds):
    """The number of iterations is an element of a tensor."""
    for i in range(int(rounds)):
        x = x * 0.5 + i
    return x


@program(f32(1.0, -2.0), i32(0), wrt=0, features="range of a tensor, zero rounds")
def zero_rounds_from_a_tensor(x, rounds):
    """No iterations, from the value of a tensor."""
    y = x * x
    for _ in range(int(rounds)):
        y = y * x
    return y


# while ----------------------------------------------------------------------------------------------------------------


@program(f32(1.0, -2.0), 3, wrt=0)
def while_python(x, rounds):
    """while with a Python counter."""
    while rounds > 0:
        x = x * 0.5 + rounds
        rounds -= 1
    return x


@program(f64(0.75), wrt=0, features="tensor while")
def while_tensor(x):
    """while on a tensor."""
    while x < 10:
        x = x * 2 + 0.25
    return x


@program(f64(25.0), wrt=0, features="tensor while, zero rounds")
def while_zero_rounds(x):
    """A tensor loop that never runs."""
    y = x + 1
    while x < 10:
        x = x * 2
        y = y * x
    return y


@program(f64(0.75), wrt=0, features="tensor while, number computed in loop, results of dtype int")
def while_with_counter(x):
    """A Python counter in a tensor loop."""
    k = 0
    while x < 10:
        x = x * 2
        k += 1
    return x * k, k


@program(f32(0.75), 10, wrt=0, features="tensor while, number computed in loop")
def while_tensor_and_counter(x, limit):
    """A condition of a tensor and a Python counter."""
    k = 0
    while x < 1000 and k < limit:
        x = x * 1.5
        k = k + 1
    return x + k


@program(f32(0.75, -2.0), wrt=0, features="tensor while, number computed in loop")
def while_with_changing_rate(x):
    """A Python float halved in a tensor loop, and a flag."""
    rate, started = 1.0, False
    while (x * x).sum() > 0.5:
        x = x - rate * x * 0.75
        rate = rate * 0.5
        started = True
    if started:
        x = x * rate
    return x


@program(f64(0.75), wrt=0, features="tensor while, tensor break, tensor continue")
def while_true(x):
    """An endless loop that breaks and continues on tensors."""
    total = x
    while True:
        x = x * 1.5
        if x > 10:
            break
        if x < 2:
            continue
        total = total + x
    return total


@program(f32(1.0, -2.0), wrt=0)
def while_true_python(x):
    """An endless loop that a Python number ends."""
    k = 0
    while True:
        k += 1
        if k > 4:
            return x
        x = x * k


@program(f64(0.75), wrt=0, features="tensor while, tensor early return")
def return_inside_while(x):
    """Two ways out of a tensor loop."""
    while x < 10:
        x = x * x + 1
        if x > 2.5:
            return x * 3
    return x


@program(f64(0.3), f64(0.5), wrt=(0, 1), features="tensor while, nested loops, tensor if")
def nested_whiles(x, y):
    """Tensor loops within each other."""
    total = x * y
    while x < 2:
        inner = y
        while inner < x:
            inner = inner * 1.75
            total = total + inner
        if inner > 1:
            x = x * 2
        x = x + 0.5
    return total * x


@program(f64(0.3), wrt=0, features="while else, tensor while")
def while_else(x):
    """The else of a tensor loop, which runs when the condition ends it."""
    while x < 2:
        x = x * 2
    else:
        x = x + 10
    while x < 100:
        x = x * x
        if x > 50:
            break
    else:
        x = x * 0
    return x


@program(f32(1.0, -2.0), 2, wrt=0, features="while else")
def while_else_python(x, k):
    """The same with a Python number."""
    while k:
        k -= 1
        if k == 7:
            break
        x = x * 3
    else:
        x = x - 1
    return x


@program(i32(27), features="tensor while, number computed in loop, results of dtype int, tensor if")
def collatz(n):
    """Integer tensors in a loop."""
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps == 30:
            break
    return n, steps


@program(f16(0.1), f32(8.0), wrt=(0, 1), features="tensor while, promotion", differences=False)
def while_in_half_precision(x, limit):
    """Rounding to float16 in each iteration."""
    while x < limit:
        x = (x * 1.7 + 0.01) + x
    return x * limit


@program(f64(0.5), wrt=0, features="tensor while, tuples")
def while_carrying_tuples(x):
    """Tuples, lists and dicts carried through a tensor loop."""
    pair, state = (x, x * x), {"total": x, "parts": [x, x]}
    while state["total"] < 5:
        pair = (pair[1], pair[0] + 0.5)
        state["total"] = state["total"] + pair[0]
        state["parts"] = [state["parts"][1], pair[1] * 2]
    return pair[0] * pair[1], state["total"], state["parts"]


@program(f64(0.5), wrt=0, features="tensor while, functions")
def while_calling_functions(x):
    """Functions as condition and as body."""

    def unfinished(y):
        return (y < 4) & (y > -4)

    def step(y, by=0.25):
        return y + y * y if y > by else y + by

    while unfinished(x):
        x = step(x)
    return x


@program(grid(1, 3), wrt=0, features="tensor while, cells")
class WhileOverACell(nn.Cell):
    """A cell applied until its result is small; its gradient adds up over the iterations."""

    def __init__(self):
        super().__init__()
        self.shrink = nn.Dense(3, 3, "ones", "zeros")
        self.shrink.weight.set_data(ops.eye(3) * 0.5 + 0.0625)

    def construct(self, x):
        while ops.abs(x).max() > 0.25:
            x = self.shrink(x)
        return x


@program(f64(0.6), f64(2.0), wrt=(0, 1), features="tensor while, nested tensor if, number computed in loop")
def early_stopping(x, target):
    """Descent that stops without improvement, or after some iterations."""
    best, patience = (x - target) ** 2, 2
    for i in range(12):
        x = x - 0.4 * (x - target) * (1 + 0.01 * i)
        loss = (x - target) ** 2
        if loss < best * 0.5:
            best = loss
        else:
            patience -= 1
            if patience == 0:
                break
    return x, best
