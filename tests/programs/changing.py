# ruff: noqa: B007, SIM300 - programs stay as users write them
"""Changes that depend on a tensor: of containers of all kinds, iterators, objects with special methods."""

from __future__ import annotations

import array
import collections
import itertools

import numpy as np

from adjoint import Tensor
from programs.program import f32, program

# containers -----------------------------------------------------------------------------------------------------------


@program(f32(1.0, -2.0, 3.0), wrt=0, features="deque, tensor if")
def deque_in_branches(x):
    """A deque with a maximum length, filled on both paths in different ways."""
    last = collections.deque(maxlen=2)
    if x.sum() > 0:
        last.append(x)
        last.append(x * 2)
        last.append(x * 3)
    else:
        last.extendleft([x * 4, x * 5])
    last.rotate(1)
    return last[0] - last[1], len(last)


@program(f32(1.0, -2.0, 3.0), wrt=0, features="deque, tensor while")
def deque_in_a_loop(x):
    """A queue that rotates while a condition on a tensor holds."""
    queue = collections.deque([x, x * 2])
    while queue[0].sum() < 50:
        queue.append(queue[0] + queue[1])
        queue.popleft()
    return queue[0], queue[1]


@program(f32(1.0, -2.0, 3.0), wrt=0, features="deque, tensor if")
def deque_items_written(x):
    """Items of a deque are assigned on one path only."""
    parts = collections.deque([x, x * 2])
    if x.sum() > 5:
        parts[0] = x * 7
        parts += [x]
        parts.pop()
    return parts[0]


@program(f32(1.0, -2.0, 3.0), wrt=0, features="deque, tensor if", refused="E204")
def one_deque_or_another(x):
    """Two deques are two objects."""
    near, far = collections.deque([x]), collections.deque([x * 2])
    parts = near if x.sum() > 5 else far
    return parts[0]


@program(f32(1.0, -2.0, 3.0), wrt=0, features="defaultdict, tensor if, tensor while")
def default_dicts(x):
    """Entries created by reading."""
    parts = collections.defaultdict(list)
    if x.sum() > 5:
        parts["a"].append(x)
    else:
        parts["a"].append(x * 2)
    counts = collections.defaultdict(int)
    for i in range(4):
        counts[i % 2] += x[i % 3]
    while x.sum() < 30:
        counts[0] = counts[0] + 1
        x = x * 2
    return parts["a"][0] * counts[0] + counts[1]


@program(f32(1.0, -2.0, 3.0), features="defaultdict, tensor if", refused="E204")
def default_dict_read_on_one_path(x):
    """Reading creates an entry, so the two paths leave dicts of different lengths."""
    counts = collections.defaultdict(int)
    if x.sum() > 5:
        x = x + counts["a"]
    return x, len(counts)


@program(f32(1.0, -2.0, 3.0), wrt=0, features="NumPy")
def arrays_filled(x):
    """NumPy's arrays and Python's are Python's values."""
    weights, bias, marks = np.zeros(3, np.float32), array.array("f", [0, 0, 0]), bytearray(3)
    for i in range(3):
        weights[i] = i
        bias[i] = 2 * i
        marks[i] = 5
    bias.append(bias.pop(0))
    if x.sum() > 0:
        scale = np.ones(3, np.float32)
        scale[1:] = 4
        x = x * Tensor(scale)
    return x * Tensor(weights) + Tensor(list(bias)) + sum(marks)


@program(f32(1.0, -2.0, 3.0), features="NumPy, tensor if", refused="E204")
def array_written_on_one_path(x):
    """An array is not a tensor: a graph cannot choose between its numbers."""
    weights = np.zeros(3, np.float32)
    if x.sum() > 5:
        weights[0] = 100
    return x * Tensor(weights)


@program(f32(1.0, -2.0, 3.0), features="tensor if", refused="E204")
def array_appended_to_on_one_path(x):
    """The same for Python's array, by its methods."""
    numbers = array.array("d", [1.0])
    if x.sum() > 0:
        numbers.append(2.0)
    return x * sum(numbers)


@program(f32(1.0, -2.0, 3.0), features="NumPy, tensor if", refused="E204")
def array_written_by_numpy_on_one_path(x):
    """The same by NumPy functions that write their argument."""
    weights = np.zeros(3, np.float32)
    if x.sum() > 5:
        np.copyto(weights, 7)
        np.add(weights, 1, out=weights)
    return x * Tensor(weights)


@program(f32(1.0, -2.0, 3.0), features="tensor if", refused="E204")
def bytes_written_on_one_path(x):
    """The same for a bytearray."""
    marks = bytearray(b"abc")
    if x.sum() > 5:
        marks[0] = 100
    return x * marks[0]


@program(f32(1.0, -2.0, 3.0), features="tensor if", refused="E202")
def user_dict_written_on_one_path(x):
    """Collections of Python's library that are written in Python."""
    parts = collections.UserDict(a=1)
    if x.sum() > 5:
        parts["a"] = 4
    return x * parts["a"]


@program(f32(1.0, -2.0, 3.0), features="tensor if", refused="E202")
def chain_map_updated_on_one_path(x):
    """The same by a method."""
    parts = collections.ChainMap({"a": 1}, {"b": 2})
    if x.sum() > 5:
        parts.update(a=4)
    return x * parts["a"]


class Parts(list):
    """A user's list class."""


@program(f32(1.0, -2.0, 3.0), wrt=0, features="tensor if")
def list_of_a_class(x):
    """A subclass of list has list's methods."""
    parts = Parts([x, x * 2])
    if x.sum() > 5:
        parts[0] = x * 5
    else:
        parts.append(x)
        parts.pop()
    return parts[0] + parts[1]


# iterators ------------------------------------------------------------------------------------------------------------


@program(f32(1.0, -2.0, 3.0), wrt=0, features="iterators, tensor if")
def iterators(x):
    """Iterators that advance on conditions of Python values, and those that exist on one path only."""
    parts = iter([x, x * 2, x * 3])
    first = next(parts)
    pairs = [a * b for a, b in zip(parts, parts)]
    if x.sum() > 0:
        counted = itertools.count(3)
        first = first * next(counted) + next(counted)
    return first + pairs[0], list(parts)


@program(f32(1.0, -2.0, 3.0), features="iterators, tensor if", refused="E202")
def iterator_goes_on_in_a_branch(x):
    """After the branch it is not known whether it has advanced."""
    parts = iter([x, x * 2, x * 3])
    y = next(parts)
    if x.sum() > 5:
        y = y + next(parts)
    return y + next(parts)


@program(f32(1.0, -2.0, 3.0), features="iterators, tensor while", refused="E202")
def iterator_goes_on_in_a_loop(x):
    """Nor how far."""
    numbers = itertools.count()
    while x.sum() < 30:
        x = x * 2 + next(numbers)
    return x


@program(f32(1.0, -2.0, 3.0), features="iterators")
def iterator_goes_on_besides(x):
    """A loop takes one item at a time."""
    parts = iter([x, x * 2, x * 3])
    for part in parts:
        after = next(parts, None)
        x = x + part if after is None else x + part * after
    return x


@program(f32(1.0, -2.0, 3.0), features="iterators")
def iterator_goes_on_behind_a_loop(x):
    """Also when the loop is left early, and when it is over something made from the iterator."""
    parts = iter([x, x * 2, x * 3])
    for i, part in enumerate(parts):
        break
    return part + next(parts)


@program(f32(1.0, -2.0, 3.0), features="iterators")
def iterator_without_end(x):
    """Python's numbers end a loop over it."""
    for i in itertools.count():
        if i > 5:
            break
        x = x + i
    return x


# objects --------------------------------------------------------------------------------------------------------------


class Point:
    """An object whose operators count their calls, and look at tensors."""

    def __init__(self, value):
        self.value = value
        self.count = 0

    def __add__(self, other):
        self.count += 1
        if self.value.sum() > 5:
            value = self.value + other
        else:
            value = self.value - other
        return Point(value)

    __radd__ = __add__

    def __mul__(self, other):
        return NotImplemented if other is None else Point(self.value * other)

    def __rmul__(self, other):
        return Point(other * self.value * 3)

    def __iadd__(self, other):
        self.value = self.value + other
        self.count += 1
        return self

    def __neg__(self):
        self.count += 1
        return Point(-self.value)

    def __abs__(self):
        return self.value if self.value.sum() > 0 else -self.value

    def __eq__(self, other):
        self.count += 1
        return (self.value - other).sum() > 0

    def __lt__(self, other):
        return self.value.sum() < other

    def __getitem__(self, index):
        self.count += 1
        return self.value[index]

    def __setitem__(self, index, value):
        self.value[index] = value

    def __delitem__(self, index):
        self.count -= index

    def __contains__(self, item):
        self.count += 1
        return self.value.max() > item

    def __len__(self):
        self.count += 1
        return 3

    def __bool__(self):
        self.count += 1
        return bool(self.value.sum() > 0)

    def __iter__(self):
        self.count += 1
        return iter([self.value, self.value * 2])


@program(f32(1.0, -2.0, 3.0), wrt=0, features="special methods, tensor if")
def operators_of_a_class(x):
    """Arithmetic, reflected and in place; a method that declines."""
    point = Point(x)
    made = 2.0 + (point + 1.0) * x
    if x.sum() > 5:
        point += x
        made = -made
    else:
        made = 3.0 * (made * 2)
    return made.value, abs(point), point.count, made.count


@program(f32(1.0, -2.0, 3.0), raises=(TypeError, "unsupported operand type(s) for *: 'Point' and 'NoneType'"), features="special methods")
def operator_of_a_class_declines(x):
    """Both sides decline."""
    return (Point(x) * None).value


class Spot(Point):
    """A subclass whose reflected operators are tried first; it leaves products to its base class."""

    def __radd__(self, other):
        return other.value * self.value

    def __rsub__(self, other):
        return other.value - self.value

    def __gt__(self, other):
        return self.value.sum() > other.value.sum()


@program(f32(1.0, -2.0, 3.0), wrt=0, features="special methods, tensor if")
def operators_of_a_narrower_class(x):
    """The operand of the subclass is tried first, if it has a reflected operator or a comparison of its own."""
    wide, narrow = Point(x), Spot(x * 2)
    total = wide + narrow
    wide_first = Point(x * 3)
    wide_first += narrow.value
    if wide < narrow:
        total = total - (Point(x) - narrow)
    return total, wide_first.value, wide.count, narrow.count


@program(f32(1.0, -2.0, 3.0), raises=(TypeError, "unsupported operand type(s) for -: 'Spot' and 'Spot'"), features="special methods")
def operator_of_one_class_is_not_reflected(x):
    """For two operands of one class the reflected operator is not tried."""
    return Spot(x) - Spot(x * 2)


@program(f32(1.0, -2.0, 3.0), wrt=0, features="special methods, tensor if, tensor while")
def items_of_a_class(x):
    """Reading, writing and deleting items, in a loop too."""
    point = Point(x * 1)
    while point.value.sum() < 40:
        point += x
        point[0] = point[1] + 10
        point.value += 1
    if point[0] > 0:
        point.value *= 2
        del point[2]
    return point.value, point.count


@program(f32(1.0, -2.0, 3.0), wrt=0, features="special methods, tensor if")
def comparisons_of_a_class(x):
    """`==`, `!=`, `<`, its reflection, `in`; truth and length."""
    point = Point(x)
    y = x
    if x.sum() > 5:
        y = y * len(point)
    if point == 0.0:
        y = y + 1
    if point != 0.0:
        y = y + 2
    if point < 3:
        y = y + 4
    if 2.5 > point:
        y = y + 8
    if 1.5 in point:
        y = y + 16
    if 1.5 not in point:
        y = y + 32
    if point:
        y = y + 64
    return y, point.count


@program(f32(1.0, -2.0, 3.0), wrt=0, features="special methods, tensor if")
def loop_over_an_object(x):
    """`__iter__` runs when the loop does."""
    point = Point(x)
    if x.sum() > 1:
        for part in point:
            x = x + part
    return x, [part * 2 for part in point], point.count


@program(f32(1.0, -2.0, 3.0), wrt=0, features="objects, tensor if, tensor while")
def objects_of_one_path(x):
    """An object made in a branch or in an iteration belongs to it."""
    while x.sum() < 50:
        point = Point(x * 2)
        point.count += 1
        x = point.value + point.count
    if x.sum() > 60:
        other = Point(x)
        other.value = other.value * 2
        x = other.value
    return x
