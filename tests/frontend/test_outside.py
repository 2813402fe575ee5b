"""A change of something outside that a graph cannot repeat is an error at its line, and is undone.

A case is a function that returns the body and an object `shown` that the body changes.  In the body, the line with the error ends in
`# here`.
"""

from __future__ import annotations

import array
import bisect
import collections
import copy
import dataclasses
import decimal
import functools
import heapq
import itertools
import linecache
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import things
from things import Thing

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn, ops
from adjoint.foundation.diagnostics import CompileError

X = Tensor(np.array([1.0, 2.0], np.float32))
Made = tuple[Callable[..., Any], Callable[[], Any]]
CHANGES: dict[str, tuple[Callable[[], Made], str]] = {}
TOTAL, LIST, TABLE, RATES = 0, [3, 1, 2], {"rate": 2.0}, {3.0}


@pytest.fixture(autouse=True)
def eager() -> Iterator[None]:
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def changes(what: str) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    """A case whose message contains `what`."""

    def note(made: Callable[[], Made]) -> Callable[[], Made]:
        CHANGES[made.__name__] = made, what
        return made

    return note


@dataclasses.dataclass
class Numbered:
    x: Any

    def __post_init__(self) -> None:
        LIST.append(4)  # here


class Kept:
    last: Any = None

    def __new__(cls, x: Any) -> Kept:
        cls.last = 5  # here
        return super().__new__(cls)


# -- attributes -----------------------------------------------------------------------------------------------------------------
@changes("`n` of a Thing from outside the function is changed")
def attribute_by_object_setattr() -> Made:
    thing = Thing()

    def body(x):
        object.__setattr__(thing, "n", 4)  # here
        return x * thing.n

    return body, lambda: thing.n


@changes("`n` of a Thing from outside the function is changed")
def attribute_taken_away() -> Made:
    thing = Thing()

    def body(x):
        delattr(thing, "n")  # here
        return x

    return body, lambda: hasattr(thing, "n")


@changes("a dict from outside the function is changed")
def attribute_by_dict() -> Made:
    thing = Thing()

    def body(x):
        thing.__dict__["n"] = 7  # here
        return x * thing.n

    return body, lambda: thing.n


@changes("`prec` of a Context from outside the function is changed")
def attribute_of_what_a_global_leads_to() -> Made:
    context = {"of numbers": decimal.Context(prec=9)}

    def body(x):
        list(context.values())[0].prec = 20  # here  # noqa: RUF015 - the list is meant
        return x

    return body, lambda: context["of numbers"].prec


# -- cells ------------------------------------------------------------------------------------------------------------------------
class Counting(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0
        self.seen: list[Any] = []
        self.inner = nn.Dense(2, 2)


class Shapes(Counting):
    def construct(self, x):
        self.seen.append(x.shape)  # here
        return x


class Evaluating(Counting):
    def construct(self, x):
        self.set_train(False)  # here
        return x


class Renaming(Counting):
    def construct(self, x):
        self.inner.weight.requires_grad = False  # here
        return x


class ByDict(Counting):
    def construct(self, x):
        self.__dict__.update(n=5)  # here
        return x * self.n


class OwnSetattr(Counting):
    def __setattr__(self, name, value):
        super().__setattr__(name, value)  # here

    def construct(self, x):
        self.n = 8
        return x


CELLS: dict[type[Counting], tuple[Callable[[Any], Any], str]] = {
    Shapes: (lambda cell: cell.seen, "a list from outside the function is changed"),
    Evaluating: (lambda cell: (cell.training, cell.inner.training), "an Evaluating from outside the function is changed"),
    Renaming: (lambda cell: cell.inner.weight.requires_grad, "`requires_grad` of a Parameter from outside the function is changed"),
    ByDict: (lambda cell: cell.n, "a dict from outside the function is changed"),
    OwnSetattr: (lambda cell: cell.n, "`n` of an OwnSetattr from outside the function is changed"),
}


@pytest.mark.parametrize("kind", CELLS)
def test_a_cell_that_changes_itself(kind: type[Counting]) -> None:
    look, what = CELLS[kind]
    for form in ("jit", "mode", "gradient", "below"):
        cell = kind().set_train()
        before = copy.copy(look(cell))
        run: Any = {"jit": jit(cell), "gradient": jit(ms.grad(lambda x, cell=cell: cell(x).sum())),
                    "below": jit(nn.SequentialCell(nn.ReLU(), cell))}.get(form, cell)
        ms.set_context(mode=ms.GRAPH_MODE if form == "mode" else ms.PYNATIVE_MODE)
        for _ in range(2):
            check_refused(lambda run=run: run(X), what)
            assert look(cell) == before


def test_parameters_and_tensors_are_written_at_each_call() -> None:
    w, t = Parameter(Tensor(0.0), name="w"), Tensor([0.0, 0.0])

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w, self.t = w, t

        def construct(self, x):
            self.w += 1
            self.t[0] = self.w * 2
            ops.assign_add(self.w, Tensor(1.0))
            return x * self.w + self.t

    net = jit(Net())
    assert [net(X).asnumpy().tolist() for _ in range(3)] == [[4.0, 4.0], [10.0, 8.0], [16.0, 12.0]]
    assert float(w) == 6.0 and t.asnumpy().tolist() == [10.0, 0.0]


# -- containers -------------------------------------------------------------------------------------------------------------------
def container(change: Callable[[Any], Any], start: Any, what: str) -> None:
    """A lambda that changes something like `start`, the value of a variable of an enclosing function."""

    def made() -> Made:
        held = copy.deepcopy(start)

        def body(x):
            change(held)
            return x

        return body, lambda: repr(held)

    CHANGES[f"container_{len(CHANGES)}"] = made, what


for change, start in [
    (lambda a: a.append(1), [1]), (lambda a: list.sort(a), [2, 1]), (lambda a: a.pop(), [1]),
    (lambda a: operator.setitem(a, 0, [3]), [1]), (lambda a: operator.iadd(a, [2]), [1]), (lambda a: heapq.heappush(a, 0), [1]),
    (lambda a: bisect.insort(a, 0), [1]), (lambda a: a.extend(x for x in (1, 2)), [1]), (lambda a: a[1].append(2), [0, [1]]),
    (lambda a: [row.append(0) for row in a], [[1]]), (lambda a: [row.append(0) for _, row in enumerate(a)], [[1]]),
    (lambda a: next(iter(a)).append(0), [[1]]), (lambda a: list(a)[0].append(0), [[1]]), (lambda a: a[:][0].append(0), [[1]]),  # noqa: RUF015
    (lambda a: max(a, key=len).clear(), [[1]]), (lambda a: [b.append(0) for b, _ in zip(a, (1,), strict=True)], [[1]]),
    (lambda a: copy.copy(a)[0].append(0), [[1]]), (lambda a: operator.itemgetter(0)(a).append(0), [[1]]),
    (lambda a: functools.partial(a.append, 0)(), [1]), (lambda a: a.sort(key=lambda b: -b), [1, 2]),
    (lambda a: list(map(a.append, (1, 2))), [1]), (lambda a: [*itertools.starmap(a.insert, [(0, 1)])], [1]),
]:
    container(change, start, "a list from outside the function is changed")
for change, start in [
    (lambda a: a.get("b").append(1), {"b": []}), (lambda a: a.setdefault("b", []).append(1), {"b": [2]}),
    (lambda a: [inner.clear() for inner in a.values()], {"b": [1]}), (lambda a: [inner.insert(0, 1) for _, inner in a.items()], {"b": []}),
]:
    container(change, start, "a list from outside the function is changed")
container(lambda a: a.update(b={1}), {}, "a dict from outside the function is changed")
for change, start, kind in [
    (lambda a: a["b"].append(1), collections.defaultdict(list), "defaultdict"),
    (lambda a: a["b"], collections.defaultdict(list), "defaultdict"), (lambda a: a.subtract(b=1), collections.Counter(b=2), "Counter"),
    (lambda a: a.rotate(), collections.deque([1, 2]), "deque"), (lambda a: a.add(2), {1}, "set"),
    (lambda a: operator.ior(a, {2}), {1}, "set"),
    (lambda a: a.extend(b"c"), bytearray(b"b"), "bytearray"), (lambda a: memoryview(a).__setitem__(0, 1), bytearray(b"b"), "bytearray"),
    (lambda a: a.byteswap(), array.array("i", [1]), "array"), (lambda a: a.update(b=1), collections.UserDict(), "dict"),
    (lambda a: a.append(1), collections.UserList(), "list"),
]:
    container(change, start, f"{kind} from outside the function is changed")
for change in [
    lambda a: operator.setitem(a, 0, 9), lambda a: a.sort(), lambda a: a.fill(1), lambda a: operator.iadd(a, 1), lambda a: np.put(a, 0, 9),
    lambda a: a.T.__setitem__(0, 9), lambda a: a.reshape(3, 1)[1:].fill(9), lambda a: a.flat.__setitem__(0, 9), lambda a: np.add(a, 1, a),
    lambda a: np.add(a, 1, out=a), lambda a: np.add(a, 1, out=(a,)), lambda a: np.add.at(a, [0], 1), lambda a: np.cumsum(a, out=a[:]),
    lambda a: np.copyto(a, 0), lambda a: a.partition(1),
    lambda a: setattr(a, "shape", (3, 1)), lambda a: setattr(a, "dtype", np.int64),
]:
    container(change, np.array([3.0, 1.0, 2.0]), "from outside the function is changed")


@changes("a list from outside the function is changed")
def default() -> Made:
    def helper(x, seen=[]):  # noqa: B006 - what is meant
        seen.append(1)  # here
        return x * len(seen)

    return (lambda x: helper(x)), lambda: helper.__defaults__


@changes("a list from outside the function is changed")
def container_of_an_object() -> Made:
    thing = Thing()

    def body(x):
        for item in thing.items:
            if isinstance(item, dict):
                item["deep"].append(4)  # here
        return x

    return body, lambda: thing.items


@changes("a dict from outside the function is changed")
def container_of_a_class() -> Made:
    def body(x):
        Thing().table["a"] = 1  # here
        return x

    return body, lambda: dict(Thing.table)


@changes("a dict from outside the function is changed")
def by_the_users_own_setitem() -> Made:
    thing = Thing()

    def body(x):
        thing["a"] = {1}
        return x

    return body, lambda: dict(thing.table)


@changes("a list from outside the function is changed")
def in_a_post_init() -> Made:
    return (lambda x: (Numbered(None), x)[1]), lambda: LIST


# -- names ------------------------------------------------------------------------------------------------------------------------
@changes("a list from outside the function is changed")
def global_list_sorted() -> Made:
    def body(x):
        LIST.sort(key=lambda n: -n)  # here
        return x, LIST

    return body, lambda: LIST


@changes("a dict from outside the function is changed")
def in_a_branch_that_a_tensor_decides() -> Made:
    def body(x):
        if x.sum() > 0:
            TABLE["rates"] = RATES  # here
        else:
            TABLE["rates"] = RATES
        return x

    return body, lambda: TABLE


@changes("a list from outside the function is changed")
def before_what_is_raised() -> Made:
    def body(x):
        LIST.append(1)  # here
        raise ValueError("at each call")

    return body, lambda: LIST


@changes("a list from outside the function is changed")
def in_a_gradient() -> Made:
    def inner(x):
        LIST.append(1)  # here
        return (x * x).sum()

    return (lambda x: ms.grad(inner)(x)), lambda: LIST


def check_refused(run: Callable[[], Any], what: str) -> None:
    """Check for E217 at a line that ends in `# here`, or in a lambda."""
    with pytest.raises(CompileError) as caught:
        run()
    found = caught.value.diagnostic
    assert found.code == "E217" and what in found.label, str(caught.value)
    assert found.help
    loc: Any = found.loc
    line = linecache.getline(loc.file, loc.line)
    assert loc.file in (__file__, things.__file__) and loc.column > 1 and ("# here" in line or "lambda" in line), line


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_outside_is_refused_and_taken_back(name: str) -> None:
    made, what = CHANGES[name]
    body, shown = made()
    before = copy.deepcopy(shown())
    run = jit(body)
    for _ in range(2):
        check_refused(lambda: run(X), what)
        assert shown() == before if not isinstance(before, np.ndarray) else np.array_equal(shown(), before)


@pytest.mark.parametrize("change", [lambda a: a.append(1), lambda a: a.sort(), lambda a: operator.setitem(a, 0, 2)])
def test_a_list_among_the_arguments(change: Callable[[Any], Any]) -> None:
    run = jit(lambda x, given: (change(given), x)[1])
    check_refused(lambda: run(X, [3, 1]), "a list among the arguments is changed")


def test_an_array_and_an_object_among_the_arguments() -> None:
    given, thing = np.zeros(2), Thing()
    run = jit(lambda x, a: (a.fill(1), x)[1])
    check_refused(lambda: run(X, given), "a ndarray among the arguments is changed")
    check_refused(lambda: jit(lambda x, a: (delattr(a, "n"), x)[1])(X, thing), "`n` of a Thing from outside the function is changed")
    assert given.tolist() == [0, 0] and thing.n == 0


# -- iterators --------------------------------------------------------------------------------------------------------------------
def numbers() -> Iterator[int]:
    yield from range(5)


@pytest.mark.parametrize("go_on", [
    lambda it: next(it), lambda it: it.__next__(), lambda it: [*it], lambda it: 3 in it, lambda it: sum(a for a in it),
    lambda it: list(itertools.chain.from_iterable([it])), lambda it: dict(enumerate(iterable=it)), lambda it: list(map(next, [it])),
    lambda it: [].extend(it),
])
@pytest.mark.parametrize("begin", [numbers, lambda: iter([1, 2, 3]), itertools.count], ids=["generator", "list", "count"])
def test_an_iterator_from_outside_does_not_go_on(begin: Callable[[], Any], go_on: Callable[[Any], Any]) -> None:
    it = begin()
    run = jit(lambda x: (go_on(it), x)[1])
    with pytest.raises(CompileError, match="an iterator from outside"):
        run(X)
    assert next(it) in (0, 1) and next(it) in (1, 2)


def test_a_generator_is_not_sent_to() -> None:
    it = numbers()
    with pytest.raises(CompileError, match="an iterator from outside"):
        jit(lambda x: x * it.send(None))(X)  # type: ignore[attr-defined]


@pytest.mark.parametrize("call, name", [
    (lambda: ms.set_seed(3), "set_seed"), (lambda: ms.set_context(mode=ms.GRAPH_MODE), "set_context"),
    (lambda: np.seterr(all="raise"), "np.seterr"), (lambda: decimal.setcontext(decimal.Context()), "decimal.setcontext"),
])
def test_settings_are_made_outside(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(CompileError, match=f"`{name}` would be called once"):
        jit(lambda x: (call(), x)[1])(X)
