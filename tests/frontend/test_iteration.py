# ruff: noqa: C417, C419, C420, RUF059 - programs stay as users write them
"""An item is computed when Python takes it: each function gives in a graph what it gives in eager mode, alone and beside a thread."""

from __future__ import annotations

import functools
import gc
import itertools
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, jit, nn, ops
from adjoint.foundation.diagnostics import CompileError

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {}


def program(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    PROGRAMS[function.__name__] = function
    return function


# -- rows of a tensor that the loop writes -------------------------------------------------------------------------------------


@program
def rows(x, y):
    for r in x:
        x[1:] *= y * r
    return x


@program
def rows_enumerated(x, y):
    for i, r in enumerate(x):
        x[1:] *= y * r + i
    return x


@program
def rows_of_two(x, y):
    z = x * 2
    for r, s in zip(x, z):
        z[1:] *= y * r
        x[2:] += s
    return x, z


@program
def rows_reversed(x, y):
    for r in reversed(x):
        x[:-1] *= y * r
    backwards = reversed(x)
    first = next(backwards)
    x[:2] *= 7
    return first, list(backwards)


@program
def rows_by_next(x, y):
    rest = iter(x)
    first = next(rest)
    x[1:] *= y
    items = list(x)
    x[1:] *= y
    a, b, c = x
    x[1:] *= y
    return first, next(rest), items, a, b, c


@program
def rows_in_a_comprehension(x, y):
    def put(r):
        x[1:] *= y * r
        return r * 2

    return [put(r) for r in x], {i: put(r) for i, r in enumerate(x)}, x


@program
def rows_of_a_generator(x, y):
    late = (r * y for r in x)
    x[1:] *= 3
    out = [next(late)]
    for r in late:
        x[1:] *= 3
        out.append(r)
    return out


@program
def rows_of_a_map(x, y):
    out = []
    for r in map(lambda r: r * y, x):
        x[1:] *= 3
        y = y + 1
        out.append(r)
    return out


@program
def rows_summed(x, y):
    def one(r):
        x[1:] *= y
        return r

    return sum(one(r) for r in x), sum(map(one, x)), functools.reduce(lambda a, b: one(a) + b, x), x


@program
def rows_of_itertools(x, y):
    out = []
    for r in itertools.chain(x, x * 2):
        x[1:] *= y
        out.append(r)
    for r in itertools.accumulate(x):
        x[1:] *= y
        out.append(r)
    for r in itertools.islice(x, 2):
        x[1:] *= y
        out.append(r)
    return out


@program
def rows_until_a_tensor_breaks(x, y):
    for r in x:
        x[1:] *= y * r
        if r.sum() < 0:
            break
    return x


@program
def rows_until_a_tensor_returns(x, y):
    for i, r in enumerate(x):
        x[1:] *= 3
        if r.sum() < -1:
            return x * i
    return x


@program
def rows_that_a_tensor_skips(x, y):
    for r in x:
        if r.sum() < 0:
            continue
        x[1:] *= y * r
    return x


@program
def rows_written_in_a_branch(x, y):
    for r in x:
        if r.sum() > 0:
            x[1:] *= y * r
    return x


@program
def rows_nested(x, y):
    out = y
    for a in x:
        for b in x:
            out = out + a * b
            x[:] *= 0.5
            if out.sum() > 0.3:
                break
        else:
            out = out * 2
        if out.sum() < -1:
            break
    return out, x


@program
def rows_in_loops_of_the_graph(x, y):
    for _ in range(4):
        for r in x:
            x[:] = x + r * 0.1
    n = 0
    while x.sum() < 10 and n < 5:
        for r in x:
            x[:] = x + r * r
        n += 1
    return x, n


@program
def rows_of_rows(x, y):
    z = ops.stack([x, x * 2])
    for r in z:
        r[1:] *= y
        z[1] += r
    return z


# -- containers that the loop changes ------------------------------------------------------------------------------------------


@program
def list_that_grows(x, y):
    items = [x, y]
    out = y
    for item in items:
        out = out + item.sum()
        if len(items) < 4:
            items.append(item * 2)
    return out, [a for a in items if len(items) < 9 and not items.append(a * 2)]


@program
def list_that_shrinks(x, y):
    items = [1.0, 2.0, 3.0, 4.0]
    out = x
    for item in items:
        if item < 3.0:
            items.remove(item)
        out = out * item
    for item in items:
        items.clear()
        out = out + item
    return out, len(items)


@program
def list_whose_items_change(x, y):
    out = y
    for begin in (iter, reversed, enumerate):
        items = [x, y, y]
        for item in begin(items):
            items[2] = x * 3
            items[0] = y * 5
            out = out + (item[1] * item[0] if isinstance(item, tuple) else item)
    for _, item in zip((1, 2, 3), items):
        items[1:] = [x]
        out = out + item
    return out


@program
def list_extended_by_itself(x, y):
    items = [x]
    items.extend(r * len(items) for r in [x, y])
    items.extend(items)
    items += (r * len(items) for r in [x])
    return items


@program
def dict_whose_values_change(x, y):
    d = {"a": x, "b": y}
    out = y
    for k in d:
        d["b"] = x * 4
        out = out + d[k]
    for v in d.values():
        d["b"] = x * 5
        out = out + v
    for _, v in d.items():
        d["b"] = x * 6
        out = out + v
    return out


@program
def containers_changed_in_a_branch(x, y):
    d = {"a": x, "b": y, "c": x}
    del d["a"]
    d["e"] = y
    q = deque([x, y, x])
    s = {1, 2, 3}
    counter = Counter("aab")
    out = y
    for k, v, i, c in zip(d, q, s, counter):
        if out.sum() > 0:
            d["b"], q[2] = x * 2, x * 2
            s.add(2)
            counter["b"] = 5
        else:
            d["b"], q[2] = x * 3, x * 3
            s.discard(7)
            counter["b"] = 5
        out = out + d[k] + v * i * counter[c]
    return out


@program
def dict_that_grows(x, y):
    d = {"a": x}
    for k in d:
        d[k + "c"] = x
    return x


@program
def set_that_grows(x, y):
    s = {1, 2}
    for k in s:
        s.add(k + 10)
    return x


@program
def deque_that_grows(x, y):
    d = deque([x, y])
    for v in d:
        d.append(v)
    return x


# -- generators, map, filter -----------------------------------------------------------------------------------------------------


@program
def generator_sees_later_values(x, y):
    n = 2
    items = [x, y]
    g = (r * n for r in items)
    n = 3
    items.append(x)
    items = []
    return list(g)


@program
def generator_of_generators(x, y):
    def scaled(items, k):
        return (r * k for r in items)

    k = 5
    return list(scaled(scaled([x, y], 2), 3)), [a * b for a, b in ((r, k) for r in x for k in (1, 2) if k > 1)], k


@program
def generator_with_a_walrus(x, y):
    total = y
    late = ((total := total + r) for r in x)
    total = total * 10
    return list(late), total


@program
def only_what_is_taken_is_computed(x, y):
    seen = []

    def f(i):
        seen.append(i)
        return i > 1

    def count():
        found = len(seen)
        seen.clear()
        return found

    never = map(f, range(5))
    counts = [count(), any(f(i) for i in range(5)), count(), all(not f(i) for i in range(5)), count(), any(map(f, range(5))), count()]
    counts += [next(i for i in range(5) if f(i)), count(), next(filter(f, range(5))), count(), 2 in (f(i) + i for i in range(5)), count()]
    for i in (f(i) + i for i in range(5)):
        if i == 1:
            break
    counts.append(count())
    for _ in zip(map(f, range(5)), [x, y]):
        pass
    counts += [count(), list(itertools.takewhile(lambda i: not f(i), range(5))), count()]
    del never
    return x, counts


@program
def filter_sees_later_values(x, y):
    state = [1]
    out = []
    for i in filter(lambda i: i > state[0], [1, 2, 3, 4]):
        state[0] += 1
        out.append(x * i)
    return out


@program
def iterator_goes_on_in_and_after_its_loop(x, y):
    rest = iter([1, 2, 3, 4, 5, 6])
    for a in rest:
        x = x * a + next(rest)
        if a == 3:
            break
    return x, list(rest)


@program
def stop_iteration_from_inside(x, y):
    rest = iter([1, 2, 3])
    return [x * a for a in map(lambda _: next(rest), range(5))]


@program
def stop_iteration_in_a_generator(x, y):
    rest = iter([1, 2, 3])
    return [x * a for a in (next(rest) for _ in range(5))]


@program
def endless(x, y):
    for i in itertools.count():
        if i > 3:
            break
        x = x * 2 + i
    late = (x * i for i in itertools.count(2))
    return next(late), next(late), next(i for i in itertools.count() if i > 4)


@program
def any_stops_where_a_tensor_says_so(x, y):
    def f(r):
        x[:] = x * 2
        return r.sum() > 1

    def g(r):
        x[1:] += 1
        return r.sum() > -5

    return any(f(r) for r in x), x * 1, all(g(r) for r in x), x, any([r > 0.7 for r in x]), all(x)


@program
def any_raises_only_for_what_it_takes(x, y):
    n = int(y)
    return any(1 // (n + k) >= 0 for k in (1, 0))


@program
def tensor_breaks_over_iterators(x, y):
    out, n = x, 0
    for r in (a * n for a in [y, y, x]):
        out = out + r
        n = n + 1
        if out.sum() > 5:
            break
    else:
        out = out * 2
    for i, r in zip(range(5), [y, y, x]):
        out = out + r * i
        if out.sum() > 0.1:
            break
    return out, n


@program
def extremes(x, y):
    return max(r * 2 for r in x), min(x), max([1, 2], key=lambda i: -i), max((r for r in x), key=lambda r: -r), max((), default=y)


@program
def too_many_to_unpack(x, y):
    a, b = itertools.count()
    return x


class Host:
    """Containers from outside, which another thread might write."""

    def __init__(self) -> None:
        self.items = [1.0, 2.0]
        self.table = {"a": 1.0, "b": 2.0}
        self.known = {1, 2}


HOST = Host()


@program
def containers_from_outside(x, y):
    for item in HOST.items:
        x = x * item
        HOST.items.append(3.0)
        HOST.items.pop()
    for k, v in HOST.table.items():
        x = x * v + len(k)
    for i in HOST.known:
        x = x * i
    return x, [a * x for a in HOST.items], sum(HOST.items), {k: x for k in HOST.table}


@program
def list_from_outside_that_grows(x, y):
    begun = len(HOST.items)
    for item in HOST.items:
        x = x * item
        if len(HOST.items) < begun + 2:
            HOST.items.append(item + 5)
    HOST.items.pop()
    HOST.items.pop()
    return x


@program
def dict_from_outside_that_grows(x, y):
    try_again = dict(HOST.table)
    for k in HOST.table:
        HOST.table[k + "c"] = 1.0
        HOST.table.pop(k + "c")
        try_again[k] = x
    return try_again


def numbers(x: Any) -> Any:
    """Return a result as lists of Python's numbers."""
    if isinstance(x, Tensor):
        return x.asnumpy().tolist()
    if isinstance(x, (list, tuple)):
        return [numbers(item) for item in x]
    return {key: numbers(item) for key, item in x.items()} if isinstance(x, dict) else x


def outcome(function: Callable[[Any, Any], Any]) -> Any:
    try:
        return numbers(function(Tensor(np.array([1, -2, 0.5], np.float32)), Tensor(np.float32(0.25))))
    except (RuntimeError, ValueError, ZeroDivisionError) as raised:
        return type(raised)


@pytest.fixture(params=["alone", "beside a thread"])
def beside(request: pytest.FixtureRequest) -> Iterator[None]:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    if request.param != "alone":
        thread.start()
    yield
    ended.set()
    if request.param != "alone":
        thread.join()


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.usefixtures("beside")
def test_a_graph_takes_items_when_python_does(name: str) -> None:
    eager = outcome(PROGRAMS[name])
    graph = jit(PROGRAMS[name])
    assert [outcome(graph), outcome(graph)] == [eager, eager]


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "next after a tensor has left the loop": (lambda x: left_by_a_tensor(x), "a tensor decides how far this iterator has been advanced"),
    "next in a branch": (lambda x: advanced_in_a_branch(x), "an iterator created before a branch on a tensor is advanced inside it"),
    "a tensor ends a loop without an end": (lambda x: ended_by_a_tensor(x), "this iterator seems to be infinite"),
    "nothing ends the loop": (lambda x: without_end(x), "this iterator seems to be infinite"),
    "a part of what a tensor advances": (lambda x: part_of_what_a_tensor_advances(x), "a tensor decides how far this iterator"),
}


def left_by_a_tensor(x):
    rest = iter([1, 2, 3])
    for a in rest:
        x = x * a
        if x > 3:
            break
    return x, next(rest)


def part_of_what_a_tensor_advances(x):
    rest = iter([1, 2, 3])
    return any(x > a for a in rest), next(rest)


def advanced_in_a_branch(x):
    late = (x * i for i in range(3))
    return next(late) if x > 0 else x


def ended_by_a_tensor(x):
    for i in itertools.count():
        x = x * 2 + i
        if x > 100:
            break
    return x


def without_end(x):
    for i in itertools.count():
        x = x * 2 + i
    return x


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused(name: str) -> None:
    function, message = REFUSED[name]
    with pytest.raises(CompileError, match=message) as caught:
        jit(function)(Tensor(1.0))
    assert caught.value.diagnostic.code == "E202"


class Suspended(nn.Cell):
    """Leaves iterators that have items left."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.CellList([nn.ReLU(), nn.Tanh()])

    def construct(self, x: Tensor) -> Tensor:
        late = (layer(x) for layer in self.layers)
        mapped = map(lambda layer: layer(x), self.layers)
        for layer in self.layers:
            x = layer(x)
            if x.sum() > 100:
                break
        return x + next(late) + next(mapped) + any(layer(x).sum() > 0 for layer in self.layers)


def test_iterators_do_not_keep_cells_alive() -> None:
    gc.collect()
    gc.disable()
    try:
        net = Suspended()
        references = [weakref.ref(cell) for _, cell in net.cells_and_names()]
        jit(net)(Tensor([1.0, -2.0]))
        del net
        assert [reference() for reference in references] == [None] * len(references)
    finally:
        gc.enable()
