"""Lists and dicts that a function stores outside, or finds there, and changes: graphs leave what eager mode leaves, at each moment.

A case returns a body and a function that shows the state.  `look` may be called in the body: it stands for any code of the user's that runs
with the graph, and notes the state that it sees there.  The body is called several times without `jit` and with it; results, state after
each call and what was seen are the same, and the number of graphs is the one given.
"""

from __future__ import annotations

import collections
import copy
import functools
import gc
import heapq
import itertools
import operator
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import CompileError, Tensor, jit, nn, ops
from adjoint.runtime.process.jitted import graphs_of

CALLS = 4
Made = tuple[Callable[..., Any], Callable[[], Any]]
CASES: dict[str, tuple[Callable[[Callable[[Any], Any]], Made], int]] = {}
KEPT: Any = None
SHARED = [0.0, 1.0]


def case(graphs: int = 1) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """A case whose calls need so many graphs."""

    def note(made: Callable[..., Made]) -> Callable[..., Made]:
        CASES[made.__name__] = made, graphs
        return made

    return note


def x_of(call: int) -> Tensor:
    return Tensor(np.array([1.0, -2.0, 3.0], np.float32) * (call + 1))


class Holder:
    """An object with attributes."""

    kept: Any
    log: Any
    mems: Any
    state: Any
    n: Any

    def __init__(self, **attributes: Any):
        self.__dict__.update(attributes)


# -- stored by the function ------------------------------------------------------------------------------------------------------
@case()
def appended_to(look: Any) -> Made:
    net = Holder(kept=[])

    def body(x):
        net.kept = []
        for i in range(3):
            x = x * 2
            net.kept.append(x)
            x = look(x) + i
        return x

    return body, lambda: net.kept


@case()
def appended_to_by_another_name(look: Any) -> Made:
    net = Holder()

    def body(x):
        kept = []
        kept.append(x)
        net.kept = kept
        kept += [x + 1, 3]
        x = look(x)
        kept[0] = x * 2
        kept.insert(0, "first")
        return look(x)

    return body, lambda: net.kept


@case()
def nested(look: Any) -> Made:
    net = Holder(kept=None)

    def body(x):
        net.kept = [[None] * 2 for _ in range(2)]
        for i in range(2):
            for j in range(2):
                net.kept[i][j] = x * (i + 2 * j)
            x = look(x)
        net.kept.append((x, {"last": [x]}))
        net.kept[2][1]["last"].append(x + 1)
        return look(x)

    return body, lambda: net.kept


@case()
def a_dict(look: Any) -> Made:
    net = Holder(kept=None)

    def body(x):
        net.kept = {"first": x}
        net.kept["second"] = x * 2
        x = look(x)
        net.kept["first"] = x * 3
        x = look(x)
        del net.kept["first"]
        net.kept.update(third=x, first=1.5)
        return look(x)

    return body, lambda: (net.kept, list(net.kept))


@case()
def an_ordered_dict(look: Any) -> Made:
    net = Holder(kept=None)

    def body(x):
        net.kept = collections.OrderedDict(a=x, b=x * 2)
        net.kept.move_to_end("a")
        return look(x)

    return body, lambda: (type(net.kept).__name__, net.kept, list(net.kept))


@case()
def one_list_in_two_places(look: Any) -> Made:
    net, other = Holder(), Holder()

    def body(x):
        kept = [x]
        net.kept = kept
        other.kept = [kept, kept]
        kept.append(x * 2)
        x = look(x)
        other.kept[1].append(x * 3)
        return look(x)

    return body, lambda: (net.kept, other.kept, net.kept is other.kept[0], net.kept is other.kept[1])


@case()
def returned_too(look: Any) -> Made:
    net = Holder()

    def body(x):
        net.kept = kept = [x, [x * 2]]
        return kept, kept[1], (x,)

    def show() -> Any:
        return net.kept

    return body, show


@case()
def numbers_and_texts(look: Any) -> Made:
    net = Holder(n=0, kept=None)

    def body(x):
        net.n += 1
        net.kept = [net.n, "text", None, True, 2.5]
        net.kept.append(net.n * 2)
        return look(x) * net.n

    return body, lambda: net.kept


@case()
def replaced_while_it_changes(look: Any) -> Made:
    net = Holder()

    def body(x):
        net.kept = [x]
        net.kept.append(x * 2)
        net.kept = [net.kept]
        x = look(x)
        net.kept[0].append(x * 3)
        net.kept = (net.kept[0], x)
        net.kept[0].append(x * 4)
        return look(x)

    return body, lambda: net.kept


@case()
def given_up(look: Any) -> Made:
    net = Holder()

    def body(x):
        kept = net.kept = [x]
        net.kept = None
        kept.append(x * 2)
        x = look(x)
        return x + kept[1]

    return body, lambda: net.kept


@case()
def of_a_slice_and_a_comprehension(look: Any) -> Made:
    net = Holder()

    def body(x):
        parts = [x * i for i in range(4)]
        net.kept = parts[1:]
        net.kept.append(parts[0])
        net.kept.reverse()
        return look(x)

    return body, lambda: net.kept


@case()
def a_global_name(look: Any) -> Made:
    def body(x):
        global KEPT
        KEPT = [x]
        KEPT.append(x + 1)
        return look(x)

    return body, lambda: KEPT


@case()
def a_name_around(look: Any) -> Made:
    kept = None

    def body(x):
        nonlocal kept
        kept = {"x": x}
        kept["y"] = look(x) + 1
        return x

    return body, lambda: kept


# -- found there -----------------------------------------------------------------------------------------------------------------
@case()
def memory_in_a_new_list(look: Any) -> Made:
    net = Holder(mems=[ops.zeros(3), ops.zeros(3)])

    def body(x):
        y = x + net.mems[0] * 2 + net.mems[1]
        net.mems = [net.mems[1], y]
        return look(y) + net.mems[0]

    return body, lambda: net.mems


@case()
def memory_in_the_same_list(look: Any) -> Made:
    mems = [ops.zeros(3), ops.zeros(3)]
    net, other = Holder(mems=mems), Holder(mems=mems)

    def body(x):
        y = x + net.mems[0] * 2 + net.mems[1]
        net.mems[0] = net.mems[1]
        y = look(y)
        net.mems[1] = y
        return look(y)

    return body, lambda: (net.mems, other.mems, net.mems is other.mems)


@case()
def numbers_found(look: Any) -> Made:
    net = Holder(state={"n": 0, "inside": [1.5, "text"]})

    def body(x):
        net.state["n"] += 1
        net.state["inside"][0] *= 2
        return look(x) * net.state["n"] + net.state["inside"][0]

    return body, lambda: net.state


@case(graphs=2)
def keys_that_are_added(look: Any) -> Made:
    net = Holder(state={})

    def body(x):
        net.state["last"] = look(x)
        net.state.setdefault("calls", 0)
        net.state["calls"] += 1
        return x * net.state["calls"]

    return body, lambda: net.state


@case()
def reversed_there(look: Any) -> Made:
    def body(x):
        SHARED.reverse()
        SHARED[0] += 1
        return look(x) * SHARED[0]

    return body, lambda: SHARED


@case()
def taken_away_and_put_back(look: Any) -> Made:
    net = Holder(kept=[1.0, 2.0])

    def body(x):
        last = net.kept.pop()
        net.kept.append(last + 1)
        x = x * last
        return look(x)

    return body, lambda: net.kept


# -- paths -----------------------------------------------------------------------------------------------------------------------
@case()
def in_a_branch(look: Any) -> Made:
    net = Holder(kept=None)

    def body(x):
        net.kept = [x, x * 2]
        if x.sum() > 4:
            net.kept[0] = x * 3
            x = x + 1
        net.kept.append(x)
        return x + net.kept[0]

    return body, lambda: net.kept


@case()
def in_a_branch_with_looks(look: Any) -> Made:
    net = Holder(kept=None)

    def body(x):
        net.kept = [x, x * 2]
        if x.sum() > 4:
            net.kept[0] = x * 3
            x = look(x) + 1
            net.kept[1] = x
        else:
            x = look(x)
        x = look(x) + net.kept[0]
        net.kept.append(x)
        return look(x)

    return body, lambda: net.kept


@case()
def in_a_loop_of_the_graph(look: Any) -> Made:
    net = Holder(kept=None)

    def body(x):
        net.kept = [x, x * 2]
        while x.sum() < 10:
            x = x + 1
            net.kept[1] = x
            net.kept[0] = net.kept[0] + net.kept[1]
        return x + net.kept[0]

    return body, lambda: net.kept


@case()
def in_a_loop_of_the_graph_with_looks(look: Any) -> Made:
    net = Holder(kept=None)

    def body(x):
        net.kept = [x, x * 2]
        while x.sum() < 10:
            x = look(x + 1)
            net.kept[1] = x
            x = look(x)
            net.kept[0] = net.kept[0] + net.kept[1]
        return look(x) + net.kept[0]

    return body, lambda: net.kept


@case()
def before_an_exception(look: Any) -> Made:
    net = Holder(kept=None, after=None)

    def body(x):
        net.kept = [x]
        net.kept.append(x * 2)
        if x.sum() > 4:
            raise ValueError("too large")
        net.kept.append(x * 3)
        return look(x)

    return body, lambda: net.kept


# -- gradients -------------------------------------------------------------------------------------------------------------------
@case()
def under_a_gradient(look: Any) -> Made:
    net = Holder(kept=None)

    def loss(x):
        net.kept = []
        for _ in range(3):
            x = x * x
            net.kept.append(x)
            x = look(x)
        return (x + net.kept[0] + net.kept[2] * 3).sum()

    return ms.grad(loss), lambda: net.kept


@case()
def around_a_gradient(look: Any) -> Made:
    net = Holder(kept=None)

    def loss(x):
        net.kept.append(x * 2)
        net.kept[0] = x * 3
        return (x * x * net.kept[0]).sum()

    def body(x):
        net.kept = [x]
        gradient = ms.grad(loss)(x)
        net.kept.append(gradient)
        return look(gradient) + net.kept[0] + net.kept[1]

    return body, lambda: net.kept


@case()
def of_order_two(look: Any) -> Made:
    net = Holder(kept=None)

    def loss(x):
        net.kept = [x * x]
        net.kept.append(net.kept[0] * x)
        return (net.kept[1] * net.kept[0]).sum()

    return ms.grad(lambda x: ms.grad(loss)(x).sum()), lambda: net.kept


# -- the tests -------------------------------------------------------------------------------------------------------------------
def plain(value: Any) -> Any:
    """Return a value with lists of numbers in place of tensors."""
    if isinstance(value, Tensor):
        return value.asnumpy().tolist()
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return type(value)(map(plain, value)) if isinstance(value, (list, tuple)) else value


class Looking(nn.Cell):
    """Passes a tensor on; its hook sees the state, and returns something else."""

    def __init__(self, look: Callable[[], None]):
        super().__init__()
        self.register_forward_hook(lambda cell, given, result: (look(), result * 2)[1])

    def construct(self, x):
        return x + 1


def outcome(made: Callable[..., Made], wrap: Callable[[Any], Any]) -> tuple[list[Any], Any]:
    global SHARED
    SHARED = [0.0, 1.0]
    seen: list[Any] = []
    show: Any = lambda: None  # noqa: E731
    cell = Looking(lambda: seen.append(plain(show())))
    body, show = made(cell)
    run, found = wrap(body), list[Any]()
    net_state = lambda: plain(show())  # noqa: E731
    for call in range(CALLS):
        try:
            found.append(plain(run(x_of(call))))
        except ValueError as raised:
            found.append(str(raised))
        found.append(net_state())
    return [found, seen], run


@pytest.mark.parametrize("name", CASES)
def test_a_graph_leaves_what_eager_mode_leaves(name: str) -> None:
    make, graphs = CASES[name]
    eager, _ = outcome(make, lambda body: body)
    graph, run = outcome(make, jit)
    assert graph == eager
    made = [entry for entries in graphs_of(run).graphs.values() for entry in entries]
    assert len(made) == graphs, [str(entry.lowered.graph.module) for entry in made]


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "operator.setitem": lambda kept, x: operator.setitem(kept, 0, x * 2),
    "operator.iadd": lambda kept, x: operator.iadd(kept, [x]),
    "operator.delitem": lambda kept, x: operator.delitem(kept, 0),
    "operator.methodcaller": lambda kept, x: operator.methodcaller("append", x)(kept),
    "map": lambda kept, x: list(map(kept.append, (x, x * 3))),
    "map of a method": lambda kept, x: list(map(list.append, [kept, kept], [x, x * 2])),
    "starmap": lambda kept, x: [*itertools.starmap(kept.insert, [(0, x)])],
    "partial": lambda kept, x: functools.partial(kept.append, x)(),
    "slice": lambda kept, x: operator.setitem(kept, slice(0, 1), [x, x]),
    "generator": lambda kept, x: kept.extend(part for part in (x, x)),
    "sort": lambda kept, x: kept.sort(key=lambda part: -part.ndim),
    "rotate": lambda kept, x: kept.append(kept.pop(0)),
    "clear": lambda kept, x: kept.clear(),
    "init": lambda kept, x: list.__init__(kept, [x, x]),
    "times": lambda kept, x: kept.__imul__(2),
    "heap": lambda kept, x: (kept.clear(), kept.extend([5, 3]), heapq.heapify(kept), heapq.heappush(kept, 1)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_however_a_list_is_changed_the_graph_changes_it_too(name: str) -> None:
    change = CHANGES[name]
    kept: list[Any] = []
    for wrap in (lambda body: body, jit):
        net = Holder()

        def body(x: Any, net: Any = net) -> Any:
            net.kept = [x, x + 1]
            change(net.kept, x)
            return x

        run = wrap(body)
        run(x_of(0))
        run(x_of(1))
        kept.append(plain(net.kept))
    assert kept[0] == kept[1]


CHANGES_OF_DICTS: list[tuple[Callable[[Any, Any], Any], Any]] = [
    (lambda kept, x: kept.update(b=x), {}), (lambda kept, x: kept.setdefault("b", 1), {}),
    (lambda kept, x: operator.delitem(kept, "b"), {"b": 1}), (lambda kept, x: dict.__setitem__(kept, "b", "2"), {"b": 1}),
    (lambda kept, x: [part.clear() for part in kept.values()], {"b": {"c": 1}}),
    (lambda kept, x: kept.get("b").popitem(), {"b": {"c": 1}}), (lambda kept, x: [part.update(d=x) for _, part in kept.items()], {"b": {}}),
    (lambda kept, x: kept.move_to_end("b"), collections.OrderedDict(b=1, c=2)), (lambda kept, x: kept.clear(), {"b": 1}),
    (lambda kept, x: kept.update({"x": x, "b": kept.pop("b")}), {"b": 1.5}), (lambda kept, x: kept.__ior__({"c": x}), {"b": 1}),
]


@pytest.mark.parametrize(("change", "start"), CHANGES_OF_DICTS)
def test_however_a_dict_is_changed_that_was_there_the_graph_changes_it_too(change: Callable[[Any, Any], Any], start: Any) -> None:
    kept: list[Any] = []
    for wrap in (lambda body: body, jit):
        held = Holder(kept=copy.deepcopy(start))

        def body(x: Any, held: Any = held) -> Any:
            change(held.kept, x)
            return x

        run = wrap(body)
        try:
            for call in range(3):
                run(x_of(call))
                kept.append((plain(held.kept), list(held.kept)))
        except KeyError as raised:
            kept.append(str(raised))
    assert kept[: len(kept) // 2] == kept[len(kept) // 2 :]


class Changing(nn.Cell):
    """Passes a tensor on; its hook does something first."""

    def __init__(self, act: Callable[[], Any]):
        super().__init__()
        self.register_forward_hook(lambda cell, given, result: (act(), None)[1])

    def construct(self, x):
        return x + 1


def body_with_a_hook(act: Callable[[Any], Any]) -> tuple[Callable[[Any], Any], Holder]:
    """A body that reads a list, in three ways, after a hook may have changed it."""
    net = Holder()
    cell = Changing(lambda: act(net))

    def body(x):
        net.kept = kept = [x, [x * 2]]
        x = cell(x)
        first = net.kept[0] + kept[1][0]
        kept.append(first)
        x = cell(x)
        return first + sum(kept[2:]), kept

    return body, net


@pytest.mark.parametrize("act", [
    lambda net: operator.setitem(net.kept, 0, net.kept[0] * 3), lambda net: operator.setitem(net.kept[1], 0, net.kept[0] + 1),
    lambda net: operator.setitem(net.kept, -1, net.kept[-1] if len(net.kept) == 2 else net.kept[-1] * 5), lambda net: None,
])
def test_what_a_hook_changes_in_a_list_is_read(act: Callable[[Any], Any]) -> None:
    results: list[Any] = []
    for wrap in (lambda body: body, jit):
        body, net = body_with_a_hook(act)
        run = wrap(body)
        results.append([plain((run(x_of(call)), net.kept)) for call in range(CALLS)])
    assert results[0] == results[1]


@pytest.mark.parametrize("act", [
    lambda net: net.kept.append(1), lambda net: setattr(net, "kept", (1, 2)), lambda net: net.kept.clear(),
])
def test_a_hook_may_give_a_list_another_structure(act: Callable[[Any], Any]) -> None:
    results: list[Any] = []
    for wrap in (lambda body: body, jit):
        body, net = body_with_a_hook(act)
        run = wrap(body)
        for call in range(CALLS):
            try:
                results.append(plain((run(x_of(call)), net.kept)))
            except Exception as raised:
                results.append((type(raised), str(raised)))
    assert results[:CALLS] == results[CALLS:]


def test_a_hook_may_add_to_a_list_that_the_body_does_not_read_again() -> None:
    net = Holder()
    cell = Changing(lambda: net.log.append(len(net.log)))

    def body(x):
        net.log = []
        return cell(cell(x))

    run = jit(body)
    for call in range(CALLS):
        run(x_of(call))
        assert net.log == [0, 1]


class Keeping(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.kept, self.memory, self.log = list[Any](), {"last": [ops.zeros(3)]}, list[Any]()

    def construct(self, x):
        self.kept = self.log = [x]
        self.kept.append(x * 2)
        self.memory["last"][0] = x
        self.memory["more"] = self.kept
        return self.kept


def test_a_graph_keeps_no_cell_alive_by_its_lists() -> None:
    net = Keeping()
    run = jit(lambda cell, x: cell(x))
    for call in range(3):
        assert plain(run(net, x_of(call))) == plain(net.kept) and net.kept is net.log is net.memory["more"]
    gc.collect()
    gone, made = weakref.ref(net), weakref.ref(net.kept[1])
    del net
    gc.collect()
    assert gone() is None and made() is None


def test_gradients_flow_through_a_list_that_is_kept() -> None:
    found: list[Any] = []
    for wrap in (lambda body: body, jit):
        net = Holder()

        def loss(x: Any, net: Any = net) -> Any:
            net.kept = [x * x]
            net.kept.append(net.kept[0] * x)
            return (net.kept[1] * net.kept[0]).sum(), net.kept

        run = wrap(loss)
        # The gradient is taken outside of the graph: the list that it returns is the kept one.
        (value, kept), gradient = ms.value_and_grad(run, has_aux=True)(x_of(0)), None
        gradient = ms.grad(lambda x, run=run: (run(x)[1][0] * 3).sum())(x_of(0))
        found.append(plain((value, kept, gradient, net.kept)))
    assert found[0] == found[1]


GROWING: list[Any] = []


@pytest.mark.parametrize(("body", "code"), [
    (lambda x: GROWING.append(x) or x, "E209"), (lambda x: GROWING.append(1) or x, "E217"),
    (lambda x: setattr(HELD, "kept", collections.deque([x])), "E217"), (lambda x: setattr(HELD, "kept", {x}), "E209"),
    (lambda x: setattr(HELD, "kept", [{1}, x]), "E209"), (lambda x: setattr(HELD, "kept", GROWING), "E217"),
])
def test_what_a_graph_cannot_store_is_an_error(body: Callable[[Any], Any], code: str) -> None:
    with pytest.raises(CompileError) as caught:
        jit(body)(x_of(0))
    assert caught.value.diagnostic.code == code and GROWING == [] and HELD.kept == "before"


HELD = Holder(kept="before")
