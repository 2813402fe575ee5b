"""Whatever a function reads of an object is changed in the object itself: the next call of its graph gives what eager mode gives.

Each kind of object is read in all ways that it has and changed in all ways that it has.
"""

from __future__ import annotations

import abc
import collections
import copy
import dataclasses
import decimal
import functools
import inspect
import math
import operator
import types
import typing
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, jit, nn, ops
from adjoint.foundation.diagnostics import CompileError

Reads = dict[str, Callable[[Tensor, Any], Any]]
Changes = dict[str, Callable[[Any], Any]]
Made = tuple[Any, Reads, Changes]
KINDS: dict[str, Callable[[], Made]] = {}
X = Tensor([1.0, 3.0])


def kind(make: Callable[[], Made]) -> Callable[[], Made]:
    KINDS[make.__name__] = make
    return make


# -- containers -----------------------------------------------------------------------------------------------------------
def product(x: Any, items: Any) -> Any:
    for item in items:
        x = x * item
    return x


def first_of(x: Any, items: Any) -> Any:
    match items:
        case [first, *_]:
            return x * first
        case {"a": first}:
            return x * first
        case _:
            return x * 7


SEQUENCE: Reads = {
    "item": lambda x, o: x * float(o[0]), "length": lambda x, o: x * len(o), "sum": lambda x, o: x * sum(o), "loop": product,
    "in": lambda x, o: x * (2 if 5.0 in o else 3), "list": lambda x, o: x * next(iter(o)), "starred": lambda x, o: x * max(*o),
    "zip": lambda x, o: x * sum(a * b for a, b in zip(o, o, strict=True)), "reversed": lambda x, o: x * next(reversed(o)),
    "sorted": lambda x, o: x * sorted(o)[0], "copy": lambda x, o: x * copy.copy(o)[0], "match": first_of,
    "math": lambda x, o: x * math.fsum(o), "numpy": lambda x, o: x * float(np.asarray(list(o)).sum()),
    "getter": lambda x, o: x * operator.itemgetter(0)(o), "text": lambda x, o: x * len(f"{o}"),
    "tensor": lambda x, o: x * Tensor(list(o)).sum(),
}
CHANGED_SEQUENCE: Changes = {"item": lambda o: operator.setitem(o, 0, 5.0), "more": lambda o: o.append(9.25), "less": lambda o: o.pop()}


class MyList(list[float]):
    pass


for name, of in {
    "list": list, "my_list": MyList, "user_list": collections.UserList, "deque": collections.deque, "array": lambda x: array("d", x),
}.items():
    KINDS[name] = lambda of=of: (of([1.0, 2.0, 3.0]), SEQUENCE, CHANGED_SEQUENCE)


@kind
def numpy_array() -> Made:
    whole: Any = np.asarray([1.0, 2.0, 3.0, 4.0])
    return whole[:3], SEQUENCE, {"item": lambda o: operator.setitem(whole, 0, 5.0)}


@kind
def memory() -> Made:
    held = bytearray([1, 2, 3])
    reads = {name: SEQUENCE[name] for name in ("item", "length", "sum", "in", "list", "starred", "numpy")}
    reads["bytes"] = lambda x, o: x * bytes(o)[0]
    reads["array"] = lambda x, o: x * int(np.frombuffer(o, np.uint8)[0])
    return memoryview(held), reads, {"item": lambda o: operator.setitem(held, 0, 5), "through it": lambda o: operator.setitem(o, 1, 9)}


MAPPING: Reads = {
    "item": lambda x, o: x * o["a"], "get": lambda x, o: x * o.get("a", 1.0), "length": lambda x, o: x * len(o),
    "in": lambda x, o: x * (2 if "c" in o else 3), "values": lambda x, o: x * sum(o.values()),
    "loop": lambda x, o: product(x, [o[k] for k in o]),
    "named": lambda x, o: x * (lambda **named: named["a"])(**o), "first": lambda x, o: x * o[next(iter(o))],
    "dict": lambda x, o: x * dict(o)["a"], "unpacked": lambda x, o: x * {**o}["a"], "match": first_of,
    "truth": lambda x, o: x * (2 if o else 3),
}
CHANGED_MAPPING: Changes = {"item": lambda o: operator.setitem(o, "a", 5.0), "more": lambda o: operator.setitem(o, "c", 6.0)}
for name, of in {
    "dict": dict, "user_dict": collections.UserDict, "default_dict": lambda **x: collections.defaultdict(float, **x),
    "chain_map": lambda **x: collections.ChainMap({}, x), "counter": collections.Counter,
}.items():
    KINDS[name] = lambda of=of: (of(a=1.0, b=2.0), MAPPING, CHANGED_MAPPING)


@kind
def ordered_dict() -> Made:
    return collections.OrderedDict(a=1.0, b=2.0), MAPPING, {**CHANGED_MAPPING, "order": lambda o: o.move_to_end("a")}


@kind
def proxy() -> Made:
    held = {"a": 1.0, "b": 2.0}
    return types.MappingProxyType(held), MAPPING, {name: lambda o, change=change: change(held) for name, change in CHANGED_MAPPING.items()}


@kind
def views() -> Made:
    held = {"a": 1.0, "b": 2.0}
    return types.SimpleNamespace(keys=held.keys(), values=held.values(), items=held.items()), {
        "keys": lambda x, o: x * len(o.keys), "values": lambda x, o: x * sum(o.values),
        "items": lambda x, o: x * sum(v for _, v in o.items),
        "in": lambda x, o: x * (2 if "c" in o.keys else 3),
    }, {name: lambda o, change=change: change(held) for name, change in CHANGED_MAPPING.items()}


# -- functions ------------------------------------------------------------------------------------------------------------
@kind
def partial() -> Made:
    def scaled(x: Any, by: float = 2.0, *rest: float, more: float = 0.0) -> Any:
        return x * by + more + sum(rest)

    inner = functools.partial(scaled, more=1.0)

    class Partial(functools.partial[Any]):
        pass

    outer = Partial(inner, by=3.0)
    return types.SimpleNamespace(inner=inner, outer=outer), {
        "call": lambda x, o: o.inner(x), "nested": lambda x, o: o.outer(x), "again": lambda x, o: functools.partial(o.inner, by=4.0)(x),
        "mapped": lambda x, o: next(iter(map(o.inner, [x]))), "keywords": lambda x, o: x * o.inner.keywords["more"],
        "method": lambda x, o: types.MethodType(o.inner, x)(),
    }, {
        "keywords": lambda o: o.inner.keywords.update(more=5.0), "more keywords": lambda o: o.inner.keywords.update(by=7.0),
        "outer": lambda o: o.outer.keywords.update(by=9.0), "all": lambda o: o.inner.__setstate__((scaled, (), {"more": 6.0}, {})),
        "default": lambda o: setattr(scaled, "__kwdefaults__", {"more": 8.0}),
    }


@kind
def defaults() -> Made:
    def scaled(x: Any, by: float = 2.0, *, more: float = 1.0, table: list[float] = [3.0]) -> Any:  # noqa: B006 - that is what is changed
        return x * by + more * table[0]

    return scaled, {
        "call": lambda x, o: o(x), "read": lambda x, o: x * o.__defaults__[0], "mapped": lambda x, o: next(iter(map(o, [x]))),
        "signature": lambda x, o: x * inspect.signature(o).parameters["by"].default,
    }, {
        "defaults": lambda o: setattr(o, "__defaults__", (3.0,)), "item": lambda o: operator.setitem(o.__kwdefaults__["table"], 0, 5.0),
        "named": lambda o: o.__kwdefaults__.update(more=4.0),
        "code": lambda o: setattr(o, "__code__", (lambda x, by=2.0, *, more=1.0, table=(): x * by - more).__code__),
    }


@kind
def dispatched() -> Made:
    @functools.singledispatch
    def number(value: Any) -> float:
        return 2.0

    @functools.singledispatch
    def scaled(x: Any) -> Any:
        return x * 2

    return types.SimpleNamespace(number=number, scaled=scaled), {
        "number": lambda x, o: x * o.number(1), "tensor": lambda x, o: o.scaled(x), "dispatch": lambda x, o: x * o.number.dispatch(int)(1),
    }, {"number": lambda o: o.number.register(int, lambda value: 5.0), "tensor": lambda o: o.scaled.register(Tensor, lambda x: x * 11)}


# -- objects of the user's ------------------------------------------------------------------------------------------------
LEVEL = 2.0
TABLE = {"level": 2.0}


class Slotted:
    __slots__ = ("__weakref__", "items", "rate", "table")

    def __init__(self, rate: float):
        self.rate, self.items, self.table = rate, [rate], types.SimpleNamespace(deep=types.SimpleNamespace(rate=rate))

    def __len__(self) -> int:
        return int(self.rate)

    def __float__(self) -> float:
        return float(self.rate)

    def __index__(self) -> int:
        return int(self.rate)

    def __bool__(self) -> bool:
        return self.rate > 2

    def __eq__(self, other: object) -> bool:
        return self.rate == other

    def __lt__(self, other: Any) -> bool:
        return self.rate < other

    def __hash__(self) -> int:
        return int(self.rate)

    def __getitem__(self, name: Any) -> float:
        return self.items[0]

    def __iter__(self) -> Iterator[float]:
        yield self.table.deep.rate

    def __str__(self) -> str:
        return "s" * int(self.rate)

    def __abs__(self) -> float:
        return LEVEL

    def __trunc__(self) -> int:
        return int(TABLE["level"])

    def keys(self) -> list[str]:
        return ["a"]


class Plain(Slotted):
    pass


class Unparsed:
    """Its methods are called by Python, and read names around them."""

    def __init__(self, rate: float, held: Any):
        self.rate, self.held = rate, held

        class Key:
            def __lt__(self, other: Any) -> bool:
                return held.rate > 2

            def __eq__(self, other: object) -> bool:
                return held.rate > 2

            def __hash__(self) -> int:
                return 1

        self.one, self.two = Key(), Key()


OBJECT: Reads = {
    "attribute": lambda x, o: x * o.rate, "getter": lambda x, o: x * operator.attrgetter("rate")(o), "length": lambda x, o: x * len(o),
    "float": lambda x, o: x * float(o), "index": lambda x, o: x * operator.index(o), "range": lambda x, o: x * len(range(o)),
    "truth": lambda x, o: x * (2 if o else 3), "equal": lambda x, o: x * (2 if o == 2.0 else 3), "hash": lambda x, o: x * hash(o),
    "item": lambda x, o: x * o["a"], "loop": product, "list": lambda x, o: x * next(iter(o)), "text": lambda x, o: x * len(f"{o}"),
    "percent": lambda x, o: x * len("%s" % o), "abs": lambda x, o: x * abs(o), "trunc": lambda x, o: x * math.trunc(o),  # noqa: UP031
    "named": lambda x, o: x * (lambda **named: named["a"])(**o), "as index": lambda x, o: x * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0][o],
    "as bound": lambda x, o: x * len([1, 2, 3, 4, 5, 6][:o]), "in a list": lambda x, o: x * (2 if 2.0 in [o] else 3),
    "counted": lambda x, o: x * (1 + [o].count(2.0)), "lists compared": lambda x, o: x * (2 if [o] == [2.0] else 3),
    "tuples compared": lambda x, o: x * (2 if (o, 1) < (3.0, 1) else 3), "as key": lambda x, o: x * {o: 1.0}.get(2.0, 5.0),
    "sorted": lambda x, o: x * (2 if sorted([o, 3.5])[0] == 3.5 else 3), "class": lambda x, o: x * len(type(o).__name__),
    "isinstance": lambda x, o: x * (2 if isinstance(o, Plain) else 3), "row": lambda x, o: ops.concat([x, x, x])[o],
    "copied": lambda x, o: x * copy.copy(o).rate, "least": lambda x, o: x * (2 if min(3.5, o) == 3.5 else 3),
}


def set_level(o: Any) -> None:
    global LEVEL
    LEVEL = 4.0


CHANGED_OBJECT: Changes = {
    "attribute": lambda o: setattr(o, "rate", 5.0), "item": lambda o: operator.setitem(o.items, 0, 6.0),
    "deep": lambda o: setattr(o.table.deep, "rate", 7.0), "class": lambda o: setattr(o,
    "__class__", Longer if isinstance(o, Plain) else Wider),
    "global": set_level, "table": lambda o: TABLE.update(level=4.0), "method": lambda o: setattr(type(o),
    "__lt__", lambda self, other: False),
}


class Longer(Plain):
    pass


class Wider(Slotted):
    __slots__ = ()


KINDS["slotted"] = lambda: (type("Slotted", (Slotted,), {"__slots__": ()})(2.0), OBJECT, CHANGED_OBJECT)
KINDS["plain"] = lambda: (type("Plain", (Plain,), {})(2.0), OBJECT, CHANGED_OBJECT)


@kind
def unparsed() -> Made:
    held = types.SimpleNamespace(rate=2.0)
    return Unparsed(2.0, held), {
        "sorted": lambda x, o: x * (2 if sorted([o.two, o.one])[0] is o.one else 3), "set": lambda x, o: x * len({o.one, o.two}),
        "in": lambda x, o: x * (2 if o.one in [o.two] else 3), "dict": lambda x, o: x * len({o.one: 1, o.two: 2}),
    }, {"closure": lambda o: setattr(held, "rate", 5.0)}


@dataclasses.dataclass(slots=True)
class Record:
    rate: float = 2.0
    items: list[float] = dataclasses.field(default_factory=lambda: [2.0])


@kind
def record() -> Made:
    other = Record()
    return Record(), {
        "equal": lambda x, o: x * (2 if o == other else 3), "dict": lambda x, o: x * dataclasses.asdict(o)["rate"],
        "tuple": lambda x, o: x * dataclasses.astuple(o)[0], "text": lambda x, o: x * len(repr(o)), "made": lambda x, o: x * Record().rate,
        "replaced": lambda x, o: x * dataclasses.replace(o, items=[]).rate,
    }, {"attribute": lambda o: setattr(o, "rate", 13.0), "item": lambda o: operator.setitem(o.items, 0, 14.0)}


@kind
def namespace() -> Made:
    return types.SimpleNamespace(rate=2.0, items=[2.0]), {
        "equal": lambda x, o: x * (2 if o == types.SimpleNamespace(rate=2.0, items=[2.0]) else 3), "text": lambda x, o: x * len(repr(o)),
        "copied": lambda x, o: x * copy.copy(o).rate, "names": lambda x, o: x * len([name for name in dir(o) if name[0] != "_"]),
    }, {"attribute": lambda o: setattr(o, "rate", 13.0), "item": lambda o: operator.setitem(o.items, 0, 14.0),
    "more": lambda o: setattr(o, "z", 1)}


# -- classes --------------------------------------------------------------------------------------------------------------
@kind
def bases() -> Made:
    class A:
        rate = 1.0

        def scaled(self, x: Any) -> Any:
            return x * 2

    class B:
        rate = 3.0

        def scaled(self, x: Any) -> Any:
            return x * 4

    class C(A):
        def through(self, x: Any) -> Any:
            return super().scaled(x)

    return types.SimpleNamespace(o=C(), A=A, B=B, C=C), {
        "attribute": lambda x, o: x * o.o.rate, "super": lambda x, o: o.o.through(x),
        "isinstance": lambda x, o: x * (2 if isinstance(o.o, o.B) else 3),
        "issubclass": lambda x, o: x * (2 if issubclass(o.C, o.B) else 3),
        "order": lambda x, o: x * (2 if type(o.o).__mro__[1] is o.A else 3),
    }, {"attribute": lambda o: setattr(o.A, "rate", 5.0), "bases": lambda o: setattr(o.C, "__bases__", (o.B,))}


@kind
def abstract() -> Made:
    class Base(abc.ABC):  # noqa: B024 - classes are registered
        pass

    @typing.runtime_checkable
    class Shown(typing.Protocol):
        def show(self) -> None: ...

    class K:
        pass

    def matched(x: Any, o: Any) -> Any:
        match o.k:
            case o.Base():
                return x * 2
            case _:
                return x * 3

    return types.SimpleNamespace(Base=Base, Shown=Shown, K=K, k=K()), {
        "isinstance": lambda x, o: x * (2 if isinstance(o.k, o.Base) else 3),
        "tuple": lambda x, o: x * (2 if isinstance(o.k, (int, o.Base)) else 3),
        "union": lambda x, o: x * (2 if isinstance(o.k, int | o.Base) else 3),
        "issubclass": lambda x, o: x * (2 if issubclass(o.K, o.Base) else 3),
        "number": lambda x, o: x * (2 if isinstance(1, o.Base) else 3), "tensor": lambda x, o: x * (2 if isinstance(x, o.Base) else 3),
        "match": matched, "protocol": lambda x, o: x * (2 if isinstance(o.k, o.Shown) else 3),
    }, {"register": lambda o: o.Base.register(o.K), "register int": lambda o: o.Base.register(int),
    "register Tensor": lambda o: o.Base.register(Tensor),
        "method": lambda o: setattr(o.K, "show", lambda self: None)}


class Meta(type):
    hidden: float

    def __len__(cls) -> int:
        return int(cls.hidden)

    def __iter__(cls) -> Iterator[float]:
        return iter([cls.hidden])

    def __instancecheck__(cls, x: Any) -> bool:
        return cls.hidden > 2

    def __call__(cls, *args: Any) -> Any:
        return type.__call__(cls, *args)


@kind
def metaclass() -> Made:
    class K(metaclass=Meta):
        hidden = 2.0

    return K, {
        "length": lambda x, o: x * len(o), "list": lambda x, o: x * next(iter(o)),
        "isinstance": lambda x, o: x * (2 if isinstance(3, o) else 3),
        "instance": lambda x, o: x * o().hidden,
    }, {"attribute": lambda o: setattr(o, "hidden", 5.0)}


@kind
def context() -> Made:
    def set_precision(o: Any) -> None:
        decimal.getcontext().prec = 5

    reads: Reads = {"root": lambda x, o: x * len(str(o.sqrt())), "quotient": lambda x, o: x * len(str(o / 3))}
    return decimal.Decimal(2), reads, {"precision": set_precision}


@kind
def cell() -> Made:
    class C(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.cells = nn.CellList([nn.ReLU()])
            self.w = ms.Parameter(Tensor([1.0]), name="w")

        def construct(self, x: Any) -> Any:
            return x * 2

    class D(C):
        def construct(self, x: Any) -> Any:
            return x * 3

    return C(), {
        "text": lambda x, o: x * len(repr(o)), "f-string": lambda x, o: x * len(f"{o}"),
        "of a Parameter": lambda x, o: x * int(o.w.layerwise_parallel),
        "call": lambda x, o: o(x), "class": lambda x, o: x * len(type(o).__name__),
        "isinstance": lambda x, o: x * (2 if isinstance(o, D) else 3),
    }, {"more cells": lambda o: o.cells.append(nn.Tanh()), "Parameter": lambda o: setattr(o.w, "layerwise_parallel", True),
        "class": lambda o: setattr(o, "__class__", D)}


# -- the test -------------------------------------------------------------------------------------------------------------
class InCell(nn.Cell):
    def __init__(self, read: Callable[[Tensor, Any], Any], o: Any):
        super().__init__()
        self.read, self.o = read, o

    def construct(self, x: Tensor) -> Any:
        return self.read(x, self.o)


def outcome(function: Callable[[Tensor], Any], mode: int) -> Any:
    ms.set_context(mode=mode)
    try:
        result = function(X)
        return result.dtype, result.shape, result.asnumpy().tobytes()
    except CompileError:
        raise
    except Exception as raised:
        return type(raised)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("form", ["jit", "cell", "argument"])
def test_each_change_is_seen(name: str, form: str) -> None:
    global LEVEL
    before, differs = decimal.getcontext().prec, 0
    for title, read in KINDS[name]()[1].items():
        o, _, changes = KINDS[name]()
        given = jit(read) if form == "argument" else None
        run: Any = InCell(read, o) if form == "cell" else jit(lambda x, read=read, o=o: read(x, o)) if given is None else \
            lambda x, given=given, o=o: given(x, o)
        steps: list[tuple[str, Callable[[Any], Any]]] = [("at first", lambda o: None), *changes.items()]
        expected, results = None, list[Any]()
        try:
            for change, make in steps:
                make(o)
                for _ in range(2):
                    expected = outcome(lambda x, read=read, o=o: read(x, o), ms.PYNATIVE_MODE)
                    found = outcome(run, ms.GRAPH_MODE if form == "cell" else ms.PYNATIVE_MODE)
                    assert found == expected, (title, change)
                results.append(expected)
        finally:
            LEVEL, decimal.getcontext().prec = 2.0, before
            TABLE.update(level=2.0)
        differs += len({*map(str, results)}) > 1
    assert differs > len(KINDS[name]()[1]) // 2  # most reads see some change
