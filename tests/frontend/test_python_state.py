"""Attributes and names outside that a function assigns have eager mode's values, in graphs and after them.

A case returns a body and a function that shows the state.  The body is called several times without `jit` and with it; results and state
after each call are the same, and the number of graphs is the one given.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from things import Thing

import adjoint as ms
from adjoint import Tensor, jit, ops
from adjoint.runtime.process.jitted import graphs_of

CALLS = 4
Made = tuple[Callable[..., Any], Callable[[], Any]]
CASES: dict[str, tuple[Callable[[], Made], int]] = {}
COUNT, LAST = 0, None


def case(graphs: int = 1) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    """A case whose calls need so many graphs."""

    def note(made: Callable[[], Made]) -> Callable[[], Made]:
        CASES[made.__name__] = made, graphs
        return made

    return note


def x_of(call: int) -> Tensor:
    return Tensor(np.array([1.0, -2.0, 3.0], np.float32) * (call + 1))


class Kept:
    """An object with attributes."""

    made = 0

    def __init__(self, **attributes: Any):
        self.__dict__.update(attributes)


class Slotted:
    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 3


class Pair(NamedTuple):
    mean: Any
    count: Any


@dataclasses.dataclass
class Record:
    total: Any = 0.0


# -- numbers ----------------------------------------------------------------------------------------------------------------------
@case()
def counter() -> Made:
    kept = Kept(n=0)

    def body(x):
        kept.n += 1
        return x * kept.n

    return body, lambda: kept.n


@case()
def counter_read_before_and_after() -> Made:
    kept = Kept(n=5)

    def body(x):
        before = kept.n
        kept.n = kept.n * 2 - 1
        return x * before, kept.n, kept.n - before

    return body, lambda: kept.n


@case()
def decay() -> Made:
    kept = Kept(rate=1.0)

    def body(x):
        kept.rate *= 0.9
        kept.rate = kept.rate + 1e-3
        return x * kept.rate

    return body, lambda: kept.rate


@case()
def division_and_power() -> Made:
    kept = Kept(n=7, f=2.0)

    def body(x):
        kept.f = kept.n / 3 + kept.f ** 2 % 5
        kept.n = kept.n // 2 + 10
        return x * kept.f

    return body, lambda: (kept.n, kept.f)


@case(2)
def flag() -> Made:
    kept = Kept(on=False)

    def body(x):
        kept.on = not kept.on
        return x * 2 if kept.on else x

    return body, lambda: kept.on


@case(CALLS)
def size() -> Made:
    """Python needs the number for a shape."""
    kept = Kept(n=1)

    def body(x):
        kept.n += 1
        return ops.ones((kept.n,)) * x[0]

    return body, lambda: kept.n


@case(CALLS)
def size_beside_a_total() -> Made:
    """One number is needed while parsing; the tensor beside it stays a value of the graph."""
    kept = Kept(n=1, total=Tensor(0.0))

    def body(x):
        kept.n += 1
        kept.total = kept.total + x.sum()
        return ops.ones((kept.n,)) * kept.total

    return body, lambda: (kept.n, kept.total)


@case()
def number_in_a_condition() -> Made:
    kept = Kept(n=0)

    def body(x):
        kept.n += 1
        if kept.n % 2 == 0:
            x = x * 10
        return x + kept.n

    return body, lambda: kept.n


@case()
def number_as_an_index() -> Made:
    kept = Kept(n=-1)

    def body(x):
        kept.n = (kept.n + 1) % 3
        return x[kept.n]

    return body, lambda: kept.n


@case()
def number_becomes_a_bound() -> Made:
    kept = Kept(n=0)

    def body(x):
        kept.n += 1
        y = x
        for _ in range(kept.n):
            y = y * 2
        return y

    return body, lambda: kept.n


@case()
def number_in_a_text() -> Made:
    kept = Kept(n=0, text="")

    def body(x):
        kept.n += 1
        kept.text = f"call {kept.n}"
        return x

    return body, lambda: (kept.n, kept.text)


@case(CALLS)
def text_that_grows() -> Made:
    kept = Kept(text="")

    def body(x):
        kept.text = kept.text + "."
        return x * len(kept.text)

    return body, lambda: kept.text


@case(2)
def int_that_becomes_a_float() -> Made:
    kept = Kept(n=1)

    def body(x):
        kept.n = kept.n * 1.5
        return x * kept.n

    return body, lambda: kept.n


@case(2)
def int_that_grows() -> Made:
    """Beyond 2**31 products may overflow: that is another graph."""
    kept = Kept(n=2**31 - 2)

    def body(x):
        kept.n += 1
        return x, kept.n * 3

    return body, lambda: kept.n


@case(CALLS)
def int_of_many_bits() -> Made:
    kept = Kept(n=2**70)

    def body(x):
        kept.n += 1
        return x

    return body, lambda: kept.n


# -- tensors ----------------------------------------------------------------------------------------------------------------------
@case()
def running_mean() -> Made:
    kept = Kept(mean=Tensor(np.zeros(3, np.float32)))

    def body(x):
        kept.mean = kept.mean * 0.9 + x * 0.1
        return x - kept.mean

    return body, lambda: kept.mean


@case(2)
def tensor_that_is_none_before() -> Made:
    kept = Kept(last=None)

    def body(x):
        found = x if kept.last is None else x + kept.last
        kept.last = x * 2
        return found

    return body, lambda: kept.last


@case(2)
def attribute_that_is_not_there_before() -> Made:
    kept = Kept()

    def body(x):
        if not hasattr(kept, "first"):
            kept.first = x * 1
        return kept.first

    return body, lambda: kept.first


@case()
def tensor_that_is_only_written() -> Made:
    kept = Kept(last=None)

    def body(x):
        kept.last = x.sum()
        return kept.last * 2

    return body, lambda: kept.last


@case()
def the_argument_itself() -> Made:
    kept = Kept(last=None, same=False)

    def body(x):
        kept.last = x
        return x

    return body, lambda: kept.last


@case()
def tuple_of_state() -> Made:
    kept = Kept(state=(Tensor(np.zeros(3, np.float32)), (1, "sum")))

    def body(x):
        h, (n, kind) = kept.state
        kept.state = (h + x, (n + 1, kind))
        return kept.state[0] * n

    return body, lambda: kept.state


@case()
def named_tuple() -> Made:
    kept = Kept(pair=Pair(Tensor(0.0), 0))

    def body(x):
        kept.pair = Pair(kept.pair.mean + x.mean(), kept.pair.count + 1)
        return kept.pair.mean / kept.pair.count

    return body, lambda: kept.pair


@case()
def two_names_for_one_tensor() -> Made:
    first = Tensor(np.ones(3, np.float32))
    kept = Kept(a=first, b=first)

    def body(x):
        kept.a = kept.a + x
        return kept.a * kept.b

    return body, lambda: (kept.a, kept.b)


@case()
def swapped() -> Made:
    kept = Kept(a=Tensor(1.0), b=Tensor(2.0))

    def body(x):
        kept.a, kept.b = kept.b, kept.a
        return x * kept.a - kept.b

    return body, lambda: (kept.a, kept.b)


# -- where it is ------------------------------------------------------------------------------------------------------------------
@case()
def global_name() -> Made:
    global COUNT
    COUNT = 0

    def body(x):
        global COUNT
        COUNT += 1
        return x * COUNT

    return body, lambda: COUNT


@case(2)
def global_tensor() -> Made:
    global LAST
    LAST = None

    def body(x):
        global LAST
        LAST = x if LAST is None else LAST + x
        return LAST * 2

    return body, lambda: LAST


@case()
def name_around() -> Made:
    n, total = 0, Tensor(0.0)

    def body(x):
        nonlocal n, total
        n += 1
        total = total + x.sum()
        return total / n

    return body, lambda: (n, total)


@case()
def attribute_of_a_class() -> Made:
    Kept.made = 0

    def body(x):
        Kept.made += 1
        return x * Kept.made

    return body, lambda: Kept.made


@case()
def default_of_a_class() -> Made:
    """The first call makes it the object's own."""
    Kept.made = 0
    kept = Kept()

    def body(x):
        kept.made += 1
        return x * kept.made

    return body, lambda: (kept.made, Kept.made)


@case()
def attribute_of_a_module() -> Made:
    settings: Any = types.ModuleType("settings")
    settings.n = 1

    def body(x):
        settings.n *= 2
        return x * settings.n

    return body, lambda: settings.n


@case()
def attribute_of_a_function() -> Made:
    def helper(x):
        helper.calls += 1  # type: ignore[attr-defined]
        return x * helper.calls  # type: ignore[attr-defined]

    helper.calls = 0  # type: ignore[attr-defined]
    return (lambda x: helper(x)), lambda: helper.calls  # type: ignore[attr-defined]


@case()
def slot() -> Made:
    kept = Slotted()

    def body(x):
        kept.n += 2
        return x * kept.n

    return body, lambda: kept.n


@case()
def data_class() -> Made:
    record = Record()

    def body(x):
        record.total = record.total + 0.5
        setattr(record, "total", record.total * 2)  # noqa: B010 - the function is meant
        return x * record.total

    return body, lambda: record.total


@case()
def behind_a_property() -> Made:
    class Level:
        hidden = 1

        @property
        def level(self):
            return self.hidden

        @level.setter
        def level(self, value):
            self.hidden = value

    level = Level()
    level.hidden = 1

    def body(x):
        level.level = level.level + 1
        return x * level.level

    return body, lambda: level.hidden


@case()
def what_was_not_there_and_a_constant() -> Made:
    kept = Kept(n=0)

    def body(x):
        setattr(kept, "fresh", x.ndim + 5)  # noqa: B010 - the function is meant
        kept.n = 4
        return x * kept.n + kept.fresh

    return body, lambda: (kept.n, kept.fresh)


@case()
def the_same_again() -> Made:
    """Another value from outside is written over."""
    kept = Kept(n=1)

    def body(x):
        kept.n = 1
        return x

    def shown():
        found, kept.n = kept.n, 5
        return found

    return body, shown


@case()
def by_the_users_own_iadd() -> Made:
    thing = Thing()

    def body(x):
        other = thing
        other += 1
        return x

    return body, lambda: thing.n


@case()
def of_the_class_of_an_own_object() -> Made:
    Thing.made = 0

    def body(x):
        type(Thing()).made += 1
        return x

    return body, lambda: Thing.made


@case()
def by_a_method_of_an_argument() -> Made:
    thing = Thing()
    return (lambda x: x * thing.count()), lambda: thing.n


# -- control flow -----------------------------------------------------------------------------------------------------------------
@case()
def in_a_branch() -> Made:
    kept = Kept(n=0, last=Tensor(0.0))

    def body(x):
        if x.sum() > 4:
            kept.n += 1
            kept.last = x.max()
        else:
            kept.last = kept.last - 1
        return x * kept.n + kept.last

    return body, lambda: (kept.n, kept.last)


@case()
def in_one_branch_that_returns() -> Made:
    kept = Kept(n=0)

    def body(x):
        if x.sum() > 4:
            kept.n += 10
            return x
        kept.n += 1
        return x * kept.n

    return body, lambda: kept.n


@case()
def in_a_loop_of_the_graph() -> Made:
    kept = Kept(n=0, last=Tensor(0.0))

    def body(x):
        while x.max() > 1:
            x = x / 2
            kept.n += 1
            kept.last = kept.last + x.sum()
        return x * kept.n + kept.last

    return body, lambda: (kept.n, kept.last)


@case()
def in_an_unrolled_loop() -> Made:
    kept = Kept(n=0)

    def body(x):
        for factor in (1.0, 2.0, 3.0):
            kept.n += 1
            x = x * factor + kept.n
        return x

    return body, lambda: kept.n


@case()
def in_a_called_function_twice() -> Made:
    kept = Kept(n=0)

    def helper(x):
        kept.n += 1
        return x * kept.n

    return (lambda x: helper(helper(x))), lambda: kept.n


@case()
def undone() -> Made:
    kept = Kept(n=3)

    def body(x):
        before, kept.n = kept.n, 8
        y = x * kept.n
        kept.n = before
        return y * kept.n

    return body, lambda: kept.n


@case()
def under_a_gradient() -> Made:
    kept = Kept(n=0, aux=None)

    def loss(x):
        kept.n += 1
        kept.aux = (x * x).sum()
        return (x * kept.n).sum() + kept.aux

    def body(x):
        return ms.value_and_grad(loss)(x), kept.aux * 1, kept.n

    return body, lambda: (kept.n, kept.aux)


@pytest.mark.parametrize("name", CASES)
def test_a_graph_leaves_the_state_of_eager_mode(name: str) -> None:
    make, graphs = CASES[name]

    def played(wrap: Callable[[Any], Any]) -> tuple[list[str], Any]:
        body, shown = make()
        run = wrap(body)
        # A float as text has all its digits, and a tensor its dtype.
        return [_text((run(x_of(i)), shown())) for i in range(CALLS)], run

    wanted, _ = played(lambda body: body)
    found, run = played(jit)
    assert found == wanted
    made = [entry for entries in graphs_of(run).graphs.values() for entry in entries]
    assert len(made) == graphs, [str(entry.lowered.graph.module) for entry in made]


def _text(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype}{value.asnumpy().tolist()}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({', '.join(map(_text, value))})"
    return repr(value)
