"""Objects returned by a graph: each call returns a new one, of Python's type, with the values of that call."""

from __future__ import annotations

import array
import collections
import collections.abc
import dataclasses
import functools
import itertools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from adjoint import Parameter, Tensor, grad, jit, nn, ops, value_and_grad
from adjoint.foundation.diagnostics import CompileError

X, Y = Tensor(np.array([1.0, 2.0], np.float32)), Tensor(np.array([3.0, 5.0], np.float32))
TABLE, ROW, ARRAY = {"a": 1}, [1, 2], np.arange(4)
WEIGHT, RELU = Parameter(Tensor([2.0]), name="weight"), nn.ReLU()


class Thing:
    kind = "thing"

    def __init__(self, x: Any) -> None:
        self.x = x
        self.parts = [x * 2, {"sum": x.sum()}]

    def scaled(self, by: Any) -> Any:
        return self.x * by


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self, x: Any) -> None:
        self.x = x


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any
    n: int = 3


class Pair(NamedTuple):
    a: Any
    b: Any


class Mine(dict):
    pass


class Row(list):
    pass


def linked(x: Any) -> Any:
    parent, child = Thing(x), Thing(x + 1)
    parent.child, child.parent = child, parent  # type: ignore[attr-defined]
    return parent


def with_slots(x: Any) -> Any:
    made = Slotted(x)
    made.y = [x * 3]
    return made


def function_of_names(x: Any) -> Any:
    y = x * 2
    counts = [1]

    def inner(z: Any, w: Any = x + 1, *, v: Any = 2) -> Any:
        counts.append(len(counts))
        return y * z + w * v + len(counts)

    return inner


def recursive(x: Any) -> Any:
    def power(n: int) -> Any:
        return x if n == 0 else power(n - 1) * x

    return power


def with_attributes(x: Any) -> Any:
    made = Mine(a=x)
    made["b"] = x + 1
    return made


def wrapped(x: Any) -> Any:
    def double(y: Any) -> Any:
        return y * 2

    @functools.wraps(double)
    def inner(y: Any) -> Any:
        inner.calls = getattr(inner, "calls", 0) + 1  # type: ignore[attr-defined]
        return double(y) + x * inner.calls  # type: ignore[attr-defined]

    inner.seen = inner(x)  # type: ignore[attr-defined]
    return inner


def list_with_attributes(x: Any) -> Any:
    made = Row([x])
    made.sum = x.sum()  # type: ignore[attr-defined]
    return made


def default_with_a_tensor(x: Any) -> Any:
    made = collections.defaultdict(lambda: x)
    made["a"] = x + 1
    return made


def begun(x: Any) -> Any:
    it = zip([x, x + 1, x + 2], "abc", strict=True)
    next(it)
    return it


RETURNED: dict[str, Callable[[Any], Any]] = {
    "values": lambda x: {"a": x + 1}.values(), "items": lambda x: {"a": x, "b": 2}.items(), "keys": lambda x: {"a": x}.keys(),
    "ordered_values": lambda x: collections.OrderedDict(a=x, b=x + 1).values(), "proxy": lambda x: types.MappingProxyType({"a": x}),
    "zip": lambda x: zip([x, x * 2], [1, 2], strict=True), "zip_of_nothing": lambda x: zip(), "begun": begun,
    "enumerate": lambda x: enumerate([x, x + 1], 5), "reversed": lambda x: reversed([x, x + 1]), "iter": lambda x: iter([x]),
    "iter_of_tuple": lambda x: iter((x, x * 2)), "map": lambda x: map(operator.neg, [x, x + 1]),
    "chain": lambda x: itertools.chain([x], [1]),
    "filter": lambda x: filter(lambda a: a is not None, [x, None]), "generator": lambda x: (a * 2 for a in (x, x + 1)),
    "islice": lambda x: itertools.islice([x, x, x], 2),
    "letters": lambda x: iter("ab"), "accents": lambda x: iter("\xe9a"), "bytes": lambda x: iter(b"ab"),
    "range": lambda x: iter(range(7, 1, -2)), "ranges": lambda x: [iter(range(0)), iter(range(5, 6))],
    "keys_in_turn": lambda x: iter({"a": x}), "values_in_turn": lambda x: iter({"a": x, "b": x + 1}.values()),
    "items_in_turn": lambda x: iter({"a": x}.items()),
    "set": lambda x: {x + 1}, "set_of_numbers": lambda x: {1, 2}, "frozenset": lambda x: frozenset([x]),
    "deque": lambda x: collections.deque([x, 1], 4),
    "deque_in_a_list": lambda x: [collections.deque([x])], "counter": lambda x: collections.Counter("aab"),
    "default": lambda x: collections.defaultdict(list, a=[x]), "bytearray": lambda x: bytearray(b"ab"),
    "array": lambda x: array.array("i", [1]),
    "ndarray": lambda x: np.zeros(2), "ndarray_of_objects": lambda x: np.array([None, "a", {"b": x}], object),
    "object": Thing, "linked": linked, "slots": with_slots, "frozen": Frozen, "pair": lambda x: Pair(x, [x + 1]), "mine": with_attributes,
    "same_twice": lambda x: (lambda thing: (thing, [thing]))(Thing(x)), "partial": lambda x: functools.partial(ops.add, x + 1),
    "partial_of_a_lambda": lambda x: functools.partial(lambda a, b: a - b * x, b=x), "method": lambda x: Thing(x).scaled,
    "method_of_a_list": lambda x: [x].index, "lambda": lambda x: lambda y: y + x, "function": function_of_names, "recursive": recursive,
    "functions_in_a_dict": lambda x: {"f": lambda: x, "g": lambda: x * 2}, "number": lambda x: (float(x[0]), [int(x[1])]),
    "wrapped": wrapped, "list_with_attributes": list_with_attributes, "namespace": lambda x: types.SimpleNamespace(a=x, b=[x]),
    "list_twice": lambda x: (lambda row: (row, {"row": row}))([x]), "rows": lambda x: [[x] * 2] * 2,
    "text": lambda x: Frozen(f"it is {x[0]}"), "none": lambda x: None,
}


def plain(x: Any, depth: int = 0) -> Any:
    """Return what an object is and holds, in a form that can be compared; iterators are consumed, functions called."""
    if depth > 6:
        return type(x)
    if isinstance(x, Tensor):
        return str(x.dtype), x.asnumpy().tolist()
    if isinstance(x, Iterator):
        return type(x).__name__, [plain(item, depth + 1) for item in x]
    if isinstance(x, np.ndarray):
        return x.dtype, [plain(item, depth + 1) for item in x.tolist()]
    if isinstance(x, collections.abc.Mapping):
        return type(x), [(plain(name), plain(item, depth + 1)) for name, item in x.items()]
    if isinstance(x, (tuple, list, set, frozenset, collections.deque, collections.abc.ValuesView, collections.abc.ItemsView)):
        return type(x), getattr(x, "maxlen", 0), [plain(item, depth + 1) for item in x]
    if isinstance(x, types.BuiltinMethodType):
        return x.__name__, plain(x.__self__, depth + 1)
    if callable(x) and not isinstance(x, type):
        takes_number = getattr(x, "__name__", "") in ("power", "index")
        given = (2,) if takes_number else () if getattr(x, "__code__", None) and not x.__code__.co_argcount else (Y,)
        return type(x), [plain(x(*given), depth + 1) for _ in range(2)]
    own = {**getattr(x, "__dict__", {}), **{name: getattr(x, name) for name in getattr(type(x), "__slots__", ()) if hasattr(x, name)}}
    return (type(x), [(name, plain(item, depth + 1)) for name, item in own.items()]) if own else (type(x), repr(x))


@pytest.mark.parametrize("name", RETURNED)
def test_as_eager(name: str) -> None:
    function = RETURNED[name]
    run = jit(lambda x: function(x))
    for x in (X, Y, X):
        for _ in range(2):
            assert plain(run(x)) == plain(function(x))


@pytest.mark.parametrize("name", RETURNED)
def test_each_call_gives_another(name: str) -> None:
    run = jit(lambda x: RETURNED[name](x))
    a, b = run(X), run(X)
    if not isinstance(a, (tuple, type(None))):
        assert a is not b


def test_what_a_caller_changes_is_not_in_the_next_result() -> None:
    @jit
    def f(x):
        return {1}, np.zeros(1), bytearray(b"a"), Thing(x), [1], Frozen([2])

    numbers, grid, text, thing, items, frozen = f(X)
    numbers.add(2)
    grid[0] = 5
    text.append(1)
    thing.n = 1
    thing.parts.clear()
    items.append(2)
    frozen.x.append(3)
    again = f(X)
    assert again[0] == {1} and again[1][0] == 0 and again[2] == b"a" and again[4] == [1] and again[5].x == [2]
    assert not hasattr(again[3], "n") and len(again[3].parts) == 2


def test_objects_keep_who_they_are_to_each_other() -> None:
    parent = jit(linked)(X)
    assert parent.child.parent is parent
    thing, (other,) = jit(RETURNED["same_twice"])(X)
    assert thing is other
    seen = jit(function_of_names)
    assert seen(X)(1).asnumpy().tolist() == seen(X)(1).asnumpy().tolist()


def test_a_container_at_several_places_is_one_object() -> None:
    @jit
    def rows(x: Any) -> Any:
        row, table, ends = [x], collections.OrderedDict(a=x), collections.deque([x], 2)
        return row, [row], Frozen(row), table, (table,), ends, {"ends": ends}

    row, (inner,), frozen, table, (same,), ends, held = rows(X)
    assert row is inner is frozen.x and table is same and ends is held["ends"] and ends.maxlen == 2
    row.append(1)
    assert len(rows(X)[0]) == 1 and len(rows(X)[1][0]) == 1


def test_a_list_that_contains_itself() -> None:
    @jit
    def endless(x: Any) -> Any:
        row = [x + 1]
        row.append(row)
        return row

    row = endless(X)
    assert row[1] is row and row is not endless(X) and row[0].asnumpy().tolist() == [2.0, 3.0]


def test_a_default_factory_gives_the_values_of_its_call() -> None:
    made = jit(default_with_a_tensor)
    assert made(X)["new"].asnumpy().tolist() == [1.0, 2.0] and made(Y)["new"].asnumpy().tolist() == [3.0, 5.0]


def test_a_returned_function_keeps_its_attributes() -> None:
    made = jit(wrapped)(X)
    assert made.__name__ == "double" and made.calls == 1 and made.seen.asnumpy().tolist() == [3.0, 6.0]
    assert made.__wrapped__(X).asnumpy().tolist() == [2.0, 4.0] and jit(wrapped)(X).calls == 1


def test_what_was_there_before_goes_out_as_it_is() -> None:
    @jit
    def f(x):
        return TABLE, ROW, ARRAY, WEIGHT, RELU, Thing, TABLE.values(), operator.add, ARRAY[1:]

    found = f(X)
    assert all(a is b for a, b in zip(found, (TABLE, ROW, ARRAY, WEIGHT, RELU, Thing), strict=False))
    assert list(found[6]) == [1] and found[7] is operator.add and found[8].base is ARRAY


def test_arguments_come_back_as_copies() -> None:
    run = jit(lambda x, items, thing: (items, thing, x))
    items, thing = [X, 1], Thing(X)
    first, same, _ = run(X, items, thing)
    assert first == items and first is not items and same is thing
    assert run(X, items, thing)[0] is not first


@pytest.mark.parametrize("make", [
    lambda: {1}, lambda: np.arange(2), lambda: collections.deque([1]), lambda: bytearray(b"a"), lambda: collections.OrderedDict(a=1),
    lambda: collections.defaultdict(int, a=1), lambda: types.MappingProxyType({"a": [1]}), lambda: [{1}], lambda: Pair({1}, [2]),
    lambda: Row([1]),
])
def test_an_argument_that_its_caller_changes_is_not_the_next_result(make: Callable[[], Any]) -> None:
    run = jit(lambda x, held: (x, held))

    def spoil(x: Any) -> None:
        match x:
            case set():
                x.add(5)
            case np.ndarray() | bytearray():
                x[0] = 7
            case list() | collections.deque():
                spoil(x[0])
                x.append(5)
            case tuple():
                spoil(x[0])
            case collections.abc.MutableMapping():
                x["b"] = 5
            case types.MappingProxyType():
                spoil(x["a"])

    given = make()
    first = run(X, given)[1]
    assert plain(first) == plain(make())
    spoil(first)
    spoil(given)
    assert plain(run(X, make())[1]) == plain(make())


def test_another_of_the_same_contents_is_not_what_was_there_before(monkeypatch: pytest.MonkeyPatch) -> None:
    thing = Thing(X)
    thing.parts = [1]
    run = jit(lambda x: (TABLE, [ROW], thing.parts, ARRAY[1:]))
    before = run(X)
    before[0]["b"] = 2
    assert run(X)[0] == {"a": 1, "b": 2}
    del TABLE["b"]
    monkeypatch.setitem(globals(), "TABLE", {"a": 1})
    monkeypatch.setitem(globals(), "ROW", [1, 2])
    monkeypatch.setitem(globals(), "ARRAY", np.arange(4))
    thing.parts = [1]
    table, (row,), parts, view = run(X)
    assert table is TABLE and row is ROW and parts is thing.parts and view.base is ARRAY


class Cell(nn.Cell):
    def construct(self, x):
        return zip([x], [x + 1], strict=True)


def test_a_cell_that_returns_an_iterator() -> None:
    cell = jit(Cell())
    for _ in range(2):
        ((a, b),) = cell(X)
        assert (b - a).asnumpy().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("function", [
    lambda x: itertools.cycle([x]), lambda x: itertools.repeat(x), lambda x: itertools.accumulate([x]), lambda x: ValueError(x),
    lambda x: itertools.pairwise([x, x]), lambda x: {x: 1}, lambda x: functools.lru_cache(lambda: x), lambda x: [itertools.tee([x])],
])
def test_what_holds_a_value_that_cannot_be_replaced_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(CompileError) as caught:
        jit(lambda x: function(x))(X)
    found = caught.value.diagnostic
    assert found.code == "E209" and "returned inside of" in found.label and found.help, str(caught.value)


@pytest.mark.parametrize(("function", "label"), [
    (lambda x: itertools.count(), "a count is returned, which a graph cannot make anew at each call"),
    (lambda x: [x, itertools.cycle("ab")], "a cycle is returned, which"),
    (lambda x: enumerate(itertools.count()), "an iterator that does not seem to end is returned"),
])
def test_iterators_of_numbers_that_cannot_be_made_anew_are_refused(function: Callable[[Any], Any], label: str) -> None:
    with pytest.raises(CompileError) as caught:
        jit(lambda x: function(x))(X)
    found = caught.value.diagnostic
    assert found.code == "E202" and found.label.startswith(label) and found.help, str(caught.value)


def test_iterators_go_on_once_in_the_body_too() -> None:
    @jit
    def f(x):
        generated, mapped, kept = (a * 2 for a in [x, x]), map(operator.neg, [x]), filter(None, [1, 0])
        first = next(generated)
        return first, len(list(generated)), len(list(generated)), len(list(mapped)), len(list(mapped)), [*kept, *kept]

    assert f(X)[1:] == (1, 0, 1, 0, [1])


def test_tuples_and_lists_of_tensors_are_made_anew_at_each_call() -> None:
    """The quick way to build a result gives what the general one gives."""
    graph = jit(lambda x: (x, [x + 1, (x * 2,)], ()))
    x = Tensor([1.0])
    first, second = graph(x), graph(x)
    for result in (first, second):
        assert type(result) is tuple and type(result[1]) is list and type(result[1][1]) is tuple and result[2] == ()
        assert result[0] is x and result[1][0].asnumpy() == 2 and result[1][1][0].asnumpy() == 2
    assert first[1] is not second[1] and first[1][0] is not second[1][0]


# -- objects that Python has besides -----------------------------------------------------------------------------------------
class Chooser(nn.Cell):
    """A cell whose result is what `choose` returns."""

    def __init__(self, choose: Callable[..., Any]) -> None:
        super().__init__()
        self.choose = choose
        self.w = Parameter(Tensor([1.0, 2.0]), name="w")
        self.kept: Any = None

    def construct(self, x: Any, y: Any) -> Any:
        return self.choose(self, x, y)


class Around(nn.Cell):
    def __init__(self, choose: Callable[..., Any]) -> None:
        super().__init__()
        self.inner = Chooser(choose)

    def construct(self, x: Any, y: Any) -> Any:
        return self.inner(x, y)


def early(cell: Any, x: Any, y: Any) -> Any:
    if x.sum() > 0:
        return x
    return y


def of_three(cell: Any, x: Any, y: Any) -> Any:
    if x.sum() > 0:
        return (x if x[0] > 1 else y), cell.w
    return y * 2, x


def next_to_it(cell: Any, x: Any, y: Any) -> Any:
    made = x * 2
    return made, made if x.sum() > 0 else x * 3


def in_both(cell: Any, x: Any, y: Any) -> Any:
    made = x * 2
    return [made if x.sum() > 0 else y * 3, y if x.sum() < 0 else made]


def written_before(cell: Any, x: Any, y: Any) -> Any:
    if x.sum() > 0:
        cell.w = cell.w * 2
    return ops.tanh(cell.w) if x[0] > 1 else cell.w


def written_in_a_loop(cell: Any, x: Any, y: Any) -> Any:
    for _ in range(3):
        if x.sum() > 0:
            cell.w = cell.w * 2
    return {"w": cell.w if x[0] < 1 else y}


def swapped(cell: Any, x: Any, y: Any) -> Any:
    for i in range(12):
        x, y = (y, x) if x.sum() > i else (x, y)
    return x, y


def kept(cell: Any, x: Any, y: Any) -> Any:
    cell.kept = y * 2 if x.sum() > 0 else cell.w
    return x * 2


CHOICES = {
    "an argument or another": lambda cell, x, y: x if x.sum() > 0 else y,
    "a new tensor or an argument": lambda cell, x, y: x * 2 if x.sum() > 0 else x,
    "an argument or a Parameter": lambda cell, x, y: x if x.sum() > 0 else cell.w,
    "a Parameter or one that is computed of it": lambda cell, x, y: cell.w if x.sum() > 0 else ops.tanh(cell.w),
    "an argument or what algebra makes it": lambda cell, x, y: x * 1 if x.sum() > 0 else x,
    "one of two equal ones": lambda cell, x, y: (x * 2 if x.sum() > 0 else y, x * 2),
    "in another order": lambda cell, x, y: (x, y) if x.sum() > 0 else (y, x),
    "next to itself": lambda cell, x, y: (x if x.sum() > 0 else y * 2, x),
    "early": early,
    "of three": of_three,
    "next to what it may be": next_to_it,
    "two of one": in_both,
    "after a write": written_before,
    "after writes in a loop": written_in_a_loop,
    "swapped many times": swapped,
    "kept": kept,
}


@pytest.mark.parametrize("choose", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("around", [Chooser, Around])
def test_a_branch_returns_the_object_itself(around: type[Any], choose: Callable[..., Any]) -> None:
    """Where a tensor decides which tensor is returned, it is the object that it is in eager mode: later writes are seen in it."""

    def found(call: Callable[[Any], Callable[..., Any]]) -> list[Any]:
        cell = around(choose)
        inner = getattr(cell, "inner", cell)
        called, seen = call(cell), []
        for values in ([1.0, 2.0], [0.5, 2.0], [-1.0, -2.0], [2.0, 1.0]):
            x, y = Tensor(values), Tensor([3.0, 5.0])
            result = called(x, y)
            known = [x, y, inner.w]
            for leaf in flattened((result, inner.kept)):
                place = next((i for i, one in enumerate(known) if one is leaf), None)
                seen.append((len(known) if place is None else place, leaf.asnumpy().tolist()))
                known.append(leaf)
        return seen

    assert found(lambda cell: functools.partial(with_arguments, jit(cell))) == found(lambda cell: functools.partial(with_arguments, cell))
    # Under a tape a cell that returns its argument returns a new tensor, in both modes.
    assert found(lambda cell: functools.partial(recorded, jit(cell))) == found(lambda cell: functools.partial(recorded, cell))


def flattened(x: Any) -> list[Tensor]:
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, (tuple, list)) else None
    return ([] if x is None else [x]) if parts is None else [leaf for part in parts for leaf in flattened(part)]


def with_arguments(called: Callable[..., Any], x: Any, y: Any) -> Any:
    return called(x, y), x, y


def recorded(called: Callable[..., Any], x: Any, y: Any) -> Any:
    """Return the result of a call under a tape, and its arguments."""
    found: list[Any] = []

    def loss(x: Any) -> Any:
        found[:] = with_arguments(called, x, y)
        return sum(leaf.sum() for leaf in flattened(found[0]))

    grad(loss)(x)
    return found


class Holder(nn.Cell):
    """Returns its Parameter, through as many cells as `depth` says."""

    def __init__(self, depth: int, form: str) -> None:
        super().__init__()
        self.inner = Holder(depth - 1, form) if depth else None
        self.w = Parameter(Tensor([1.0, 2.0]), name="w")
        self.form = form

    def construct(self, x: Any) -> Any:
        if self.inner is not None:
            return self.inner(x)
        if self.form == "decided by a tensor":
            return self.w if x.sum() > 0 else x * 2
        return (self.w, x * self.w) if self.form == "in a tuple" else self.w


GRADIENTS_OF_CELLS: dict[str, Callable[[nn.Cell], Callable[..., Any]]] = {
    "eager": lambda net: value_and_grad(net, 0, net.trainable_params()),
    "of a function": lambda net: value_and_grad(lambda x: net(x), 0, net.trainable_params()),
    "of a jitted cell": lambda net: value_and_grad(jit(net), 0, net.trainable_params()),
    "of a jitted function": lambda net: value_and_grad(jit(lambda x: net(x)), 0, net.trainable_params()),
    "jitted": lambda net: jit(value_and_grad(net, 0, net.trainable_params())),
}


@pytest.mark.parametrize("name", GRADIENTS_OF_CELLS)
@pytest.mark.parametrize("form", ["alone", "in a tuple", "decided by a tensor"])
@pytest.mark.parametrize("depth", [0, 2])
def test_a_parameter_that_a_differentiated_cell_returns_is_itself(name: str, form: str, depth: int) -> None:
    net = Holder(depth, form)
    weight = net.trainable_params()[-1]
    ask = GRADIENTS_OF_CELLS[name](net)
    for _ in range(4):
        result, _ = ask(X)
        assert (result[0] if form == "in a tuple" else result) is weight


def test_a_write_of_a_parameter_that_a_gradient_has_returned_is_refused() -> None:
    """In eager mode the result shows the write, as it is the Parameter; a graph has only the numbers from before."""
    net = Holder(0, "in a tuple")
    ask = value_and_grad(net, 0, net.trainable_params())

    def step(x: Any) -> Any:
        (w, y), (_, (gradient,)) = ask(x)
        ops.assign(net.w, net.w - gradient)
        return w, y

    assert step(X)[0] is net.w
    with pytest.raises(CompileError, match=r"(?s)E215.*may be the same object as `w`"):
        jit(step)(X)
