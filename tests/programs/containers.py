# ruff: noqa: C408, C417 - programs stay as users write them
"""Tuples, lists, dicts, named tuples, comprehensions, strings, and the builtins that work on them."""

from __future__ import annotations

from typing import NamedTuple

from adjoint import Tensor, nn, ops
from programs.program import f32, f64, grid, i32, program


class Line(NamedTuple):
    """A straight line."""

    slope: Tensor
    offset: Tensor

    def at(self, x):
        return self.slope * x + self.offset


@program(f32(1.0, -2.0), f32(0.5), wrt=(0, 1), features="tuples")
def tuples(x, y):
    """Tuples: made, joined, repeated, sliced, indexed from behind."""
    pair = (x, y)
    longer = (*pair, x * y) + pair * 2
    return longer[2] * longer[-1] + longer[1:4][1], len(longer)


@program(f32(1.0, -2.0), f32(0.5), wrt=(0, 1), features="tuples")
def nested_results(x, y):
    """The result may be nested: tuples, lists, dicts, numbers and None."""
    return (x * y, [x, (y, 3)]), {"sum": x + y, "none": None}, "text", 2.5


@program(f32(1.0, -2.0), f32(0.5), wrt=(0, 1), features="named tuples")
def named_tuples(x, y):
    """Fields by name, by position, unpacked; methods; _replace."""
    line = Line(slope=x, offset=y)
    steeper = line._replace(slope=line.slope * 2)
    slope, offset = steeper
    return line.at(x) + slope * line[1] + offset


@program(Line(f32(1.0, -2.0), f32(0.5)), f32(3.0, 0.25), wrt=(0, 1), features="named tuples")
def named_tuple_in_and_out(line, x):
    """A named tuple as argument and as result."""
    return Line(line.at(x), line.slope)


@program(f32(1.0, -2.0), f32(0.5), wrt=(0, 1), features="list methods")
def list_methods(x, y):
    """Lists grow, shrink and are reversed while parsing."""
    parts = [x]
    parts.append(y)
    parts.extend([x * y, x + y])
    parts.insert(1, x - y)
    last = parts.pop()
    second = parts.pop(1)
    parts.reverse()
    parts[0] = parts[0] * 2
    parts += [last]
    copied = parts.copy()
    parts.clear()
    total = second
    for part in copied:
        total = total + part * len(copied)
    return total + len(parts)


@program(f32(1.0, -2.0), wrt=0, features="list methods")
def lists_of_numbers(x):
    """Sorting, searching and counting among Python numbers."""
    powers = [3, 1, 2, 1]
    powers.sort()
    place = powers.index(2)
    ones = powers.count(1)
    powers.remove(1)
    powers.sort(key=lambda power: -power)
    del powers[0]
    total = x * place + ones
    for power in powers:
        total = total + x**power
    return total


@program(f32(1.0, -2.0), wrt=0, features="list methods, functions")
def list_changed_by_function(x):
    """A function appends to a list that its caller gave it."""

    def note(y, notes):
        notes.append(y * y)
        return y + 1

    notes = []
    x = note(note(x, notes), notes)
    return x, notes[0] + notes[1]


@program(f32(1.0, -2.0), wrt=0, features="list methods, aliases")
def list_under_two_names(x):
    """Two names for one list."""
    first = [x]
    second = first
    second.append(x * x)
    third = list(first)
    third.append(x)
    return first[1] * len(first), len(third)


@program(f32(1.0, -2.0), f32(0.5), wrt=(0, 1), features="dicts")
def dicts(x, y):
    """Dicts: made, read, set, merged, emptied."""
    parts = {"x": x, "y": y}
    parts["product"] = x * y
    parts.update(sum=x + y)
    extra = dict(x=parts.pop("x") * 2, shift=1.5)
    merged = {**parts, **extra}
    known = "sum" in merged and "none" not in merged
    merged.setdefault("scale", 0.5)
    return merged["x"] + merged["sum"] * merged["product"] * merged["scale"] + merged.get("none", merged["shift"]) + known, len(merged)


@program(f32(1.0, -2.0), f32(0.5), wrt=(0, 1), features="dicts")
def dict_result(x, y):
    """A dict as result, with keys of several kinds."""
    result = {"x": x * 2, 1: y, (0, 1): x * y}
    result["x"] += 1
    return result


@program(f32(1.0, -2.0, 0.5), wrt=0)
def list_comprehensions(x):
    """With conditions, two loops, unpacking, and nested in each other."""
    squares = [x * i for i in range(5) if i % 2 == 1 if i > 0]
    products = [a * b for a in squares for b in (x, 2.0)]
    table = [[x[i] * j for j in range(2)] for i in range(3)]
    pairs = [a + b for a, b in zip(squares, products)]
    flat = [entry for row in table for entry in row]
    return sum(products) + sum(pairs), sum(flat)


@program(f32(1.0, -2.0, 0.5), wrt=0, features="dicts")
def dict_and_set_comprehensions(x):
    """Dict and set comprehensions."""
    powers = {f"p{i}": x**i for i in range(1, 4)}
    wanted = {name for name in powers if name != "p2"}
    swapped = {value: key for key, value in {"a": 1, "b": 2}.items()}
    total = x * len(wanted)
    for name in sorted(wanted):
        total = total + powers[name] * len(swapped[2])
    return total


@program(f32(1.0, -2.0, 0.5), wrt=0, features="tensor conditional expression, for tensor rows")
def comprehension_of_tensors(x):
    """A comprehension over the elements of a tensor, with a branch in it."""
    parts = [v * v if v > 0 else -v for v in x]
    return ops.stack(parts) * ops.stack([p + i for i, p in enumerate(parts)])


@program(f32(1.0, -2.0, 0.5), wrt=0)
def generators(x):
    """Generator expressions in sum, max, tuple, all and any."""
    total = sum(x * i for i in range(3))
    highest = max(i * i for i in (-2, 1))
    pair = tuple(x + i for i in range(2))
    if all(i < 3 for i in range(3)) and any(i == 2 for i in range(3)):
        total = total * highest
    return total + pair[0] * pair[1]


@program(f32(1.0, -2.0), "gain", wrt=0, gain=f32(2.0, 0.5), shift=f32(1.0, 1.0))
def f_strings(x, kind, **parts):
    """Names composed as strings."""
    index = 1
    names = [f"{kind}_{index}", "shift", f"{kind:>6}".strip()]
    if names[0] == "gain_1" and names[2].upper() == "GAIN" and kind.startswith("g"):
        x = x * parts[f"{kind}"]
    return x + parts["".join(["sh", "ift"])] * len("%s-%d" % (kind, 3)) * len("{}!".format(kind))  # noqa: UP031, UP032


@program([f32(1.0, -2.0), f32(0.5, 3.0), f32(2.0, 2.0)], wrt=0)
def builtins_of_sequences(parts):
    """len, zip, map, filter, reversed, sorted, sum, list and tuple."""
    doubled = list(map(lambda part: part * 2, parts))
    order = sorted(range(len(parts)), key=lambda i: -i)
    odd = tuple(filter(lambda i: i % 2, order))
    total = sum(doubled, doubled[0]) * len(odd)
    for part, i in zip(reversed(parts), order):
        total = total * part + i
    for product in map(lambda a, b: a * b, parts, doubled):
        total = total + product
    return total


@program(f32(1.5, -2.0), 7, -2.5, wrt=0)
def builtins_of_numbers(x, n, r):
    """min, max, abs, round, pow, divmod, int, float, bool, str of Python numbers."""
    k = max(n, 3) - min([4, 2, 8]) + abs(int(r)) + round(r) + pow(2, 3)
    quotient, rest = divmod(n, 2)
    scale = float(k) if bool(rest) else float("0.5")
    return x * scale + quotient + len(str(n)) + round(3.14159, 2)


@program(f32(1.5, -2.0), f32(0.5, 0.25), wrt=(0, 1))
def builtins_of_tensors(x, y):
    """abs, sum, len, pow, round and divmod-like parts of tensors."""
    return abs(x) + sum([x, y]) + sum(x * y) + pow(y, 2) * len(x)


@program(f64(1.5), f64(-0.25), wrt=(0, 1), features="tensor min and max")
def min_and_max_of_tensors(x, y):
    """min and max compare tensors of one element."""
    return max(x, y) * 2 + min(x, y, x * y)


@program(f32(2.5), i32(3), f32(1.0, -2.0), wrt=2, features="numbers of tensors")
def numbers_of_tensors(scale, power, x):
    """int, float, bool and item of tensors."""
    y = x * float(scale) + int(power)
    if bool(power > 2):
        y = y * int(scale)
    return y + x ** power.item()


@program(f32(1.0, -2.0), [2.0, None, 3], "relu", wrt=0)
def kinds_of_values(x, options, name):
    """isinstance and type."""
    total = x
    for option in options:
        if isinstance(option, float):
            total = total * option
        elif option is None:
            continue
        elif isinstance(option, (int, bool)):
            total = total + option
    if isinstance(x, Tensor) and not isinstance(x, nn.Cell) and type(name) is str and isinstance(options, list):
        total = total * x
    if callable(ops.relu) and not callable(name):
        total = total - 1
    return total


@program(f32(1.0, -2.0), wrt=0, features="constants from self, getattr and hasattr, cells")
class AttributesByName(nn.Cell):
    """getattr and hasattr of a cell, a tensor and a module."""

    def __init__(self):
        super().__init__()
        self.gain = 2.0
        self.layer_0 = nn.Tanh()
        self.layer_1 = nn.Sigmoid()

    def construct(self, x):
        for i in range(3):
            if hasattr(self, f"layer_{i}"):
                x = getattr(self, f"layer_{i}")(x)
        if hasattr(x, "shape") and not hasattr(self, "bias"):
            x = x * getattr(self, "gain")  # noqa: B009
        return getattr(ops, "exp")(x) * getattr(self, "scale", 0.5)  # noqa: B009


@program(f32(1.0, -2.0, 3.0, 0.5), wrt=0)
def python_slices(x):
    """Slices of Python sequences, with steps, backwards, and slice objects."""
    numbers = [1, 2, 3, 4, 5]
    middle = slice(1, 3)
    y = x[middle] * numbers[::2][1] + numbers[-1]
    backwards = numbers[::-1]
    return y * backwards[0] + sum(numbers[middle]) + "abc"[1:].count("c")


@program(grid(2, 2), wrt=0, features="list methods, tensor if")
def list_filled_in_loop(x):
    """Results collected in a list in a loop, with values that depend on tensors."""
    states = []
    h = x
    for i in range(3):
        h = ops.tanh(h @ x)
        if h.sum() > 0:
            h = h * 0.5
        states.append(h + i)
    return ops.stack(states), ops.concat(states[::-1], axis=1)


@program(f32(1.0, -2.0), f32(1.0), wrt=(0, 1), features="list methods, tensor if")
def list_changed_in_branch(x, y):
    """Both branches change a list in the same way."""
    parts = [x]
    if y > 0:
        parts.append(x * y)
    else:
        parts.append(x - y)
    parts[0] = parts[1] * 2
    return parts[0] + parts[1]


@program(f32(1.0, -2.0), f32(3.0, 0.5), features="tuples, lists of tensors")
def tensors_from_lists(x, y):
    """New tensors from Python numbers, and stacks of tensors."""
    weights = Tensor([[1.0, 2.0], [-0.5, 0.0]])
    return weights @ ops.stack([x, y]), ops.ones(2) * Tensor(3), Tensor([1, 2, 3])


@program([f32(1.0, -2.0), f32(0.5, 3.0)], [f32(2.0, 2.0)], wrt=(0, 1), features="list methods")
def queue(parts, more):
    """A list used as a queue and as a stack."""
    waiting = list(parts)
    waiting.extend(part * 2 for part in more)
    waiting.insert(0, waiting[-1] + 1)
    waiting.reverse()
    done = []
    while waiting:
        done.append(waiting.pop(0) * len(waiting))
    return sum(done), done.index(done[0])


@program(f32(1.0, -2.0), wrt=0, features="dicts")
def registry(x):
    """A dict of functions, updated, and read by keys and values."""
    table = {"square": lambda y: y * y}
    table.update({"halve": lambda y: y / 2})
    powers = {key: len(key) for key in table.keys() if not key.startswith("_")}  # noqa: SIM118
    lengths = {size for size in powers.values()}  # noqa: C416
    for function in table.values():
        x = function(x)
    return x * max(lengths) + len(lengths)


@program([f32(1.0, -2.0), 2.0, f32(0.5, 3.0), 7], wrt=0)
def mixed_list(parts):
    """Tensors and numbers distinguished by filter, isinstance and type."""
    arrays = list(filter(lambda part: isinstance(part, Tensor), parts))
    numbers = [part for part in parts if type(part) in (int, float)]
    scaled = map(lambda part, by: part * by, arrays, reversed(numbers))
    total = sum(scaled)
    if all([len(arrays) == 2, any(number > 5 for number in numbers)]):
        total = total * round(sum(numbers) / 2.0)
    return total


@program(f32(1.0, -2.0), wrt=0, features="getattr and hasattr, f-strings")
def operators_by_name(x):
    """Operators looked up by name."""
    for name in ("tanh", "no_such_operator", "exp"):
        if hasattr(ops, name):
            x = getattr(ops, name)(x)
    method = f"{'cl'}{'amp'}"
    return getattr(x, method)(0.5, 1.5)
