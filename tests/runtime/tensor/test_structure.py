"""Walking through containers: taken apart, put together, mapped, with the classes and keys they had."""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict, deque
from typing import Any, NamedTuple

import pytest

from adjoint import Parameter, ParameterTuple, Tensor
from adjoint.runtime.tensor.structure import arranged, emptied, items, leaves, mapped, refilled, replaced


class Pair(NamedTuple):
    first: Any
    second: Any


class Row(tuple[Any, ...]):
    """A tuple with an attribute, that iterates backwards."""

    def __iter__(self) -> Any:
        return reversed([*tuple.__iter__(self)])


class Names(dict[str, Any]):
    """A dict that must be told a label, and hides its values."""

    def __init__(self, label: str, **values: Any):
        super().__init__(**values)
        self.label = label

    def values(self) -> Any:
        raise AssertionError("what it holds is asked of the dict")


class Lines(list[Any]):
    label = "lines"


def row(*parts: Any) -> Row:
    made = Row(parts)
    made.label = "row"  # type: ignore[attr-defined]
    return made


class Moved(OrderedDict[str, Any]):
    """An OrderedDict of one's own."""


def moved(kind: type[OrderedDict[str, Any]], *parts: Any) -> Any:
    """Return an OrderedDict whose order is not that in which its items came."""
    made = kind(zip("ba", reversed(parts), strict=True))
    made.move_to_end("b")
    return made


@pytest.mark.parametrize("make", [
    lambda *x: moved(OrderedDict, *x), lambda *x: moved(Moved, *x),
    lambda *x: x, lambda *x: [*x], lambda *x: Pair(*x), lambda *x: deque(x, 5), lambda *x: slice(*x),
    lambda *x: dict(zip("ab", x, strict=True)), lambda *x: OrderedDict(zip("ba", x, strict=True)),
    lambda *x: defaultdict(list, zip("ab", x, strict=True)), lambda *x: Names("n", a=x[0], b=x[1]), lambda *x: Lines(x), row,
])
def test_a_container_keeps_class_keys_and_attributes(make: Any) -> None:
    value = make(1, 2)
    assert [*(items(value) or ())][:2] == [1, 2]
    new = mapped(value, lambda leaf: leaf and leaf * 10)
    expected = make(10, 20)
    assert new == expected and type(new) is type(value) and repr(new) == repr(expected)
    for name in ("label", "maxlen", "default_factory"):
        assert getattr(new, name, None) == getattr(value, name, None)
    assert value == make(1, 2), "what was given is left alone"


def test_leaves_in_order() -> None:
    value = {"b": [1, (2.0, {"a": "x"})], "a": Pair(None, deque([3])), 7: slice(4, None)}
    assert leaves(value) == [1, 2.0, "x", None, 3, 4, None, None]
    assert leaves(value, int) == [1, 3, 4] and leaves(5) == [5] and leaves({1, 2}, int) == []
    assert replaced(value, "wyz", int) == {"b": ["w", (2.0, {"a": "x"})], "a": Pair(None, deque(["y"])), 7: slice("z", None)}


@pytest.mark.parametrize("value", [3, "a", (3, 4), (), ("a", 3), (*range(40),), {"x": [3, "a"], "y": Pair(4, None)}])
def test_gaps(value: Any) -> None:
    """What is taken out of a copy can be put back, also where there are more leaves than gaps made in advance."""
    taken = leaves(value, int)
    empty = emptied(value, int)
    assert not leaves(empty, int) and refilled(empty, taken) == value
    assert refilled(empty, [x * 2 for x in taken]) == mapped(value, lambda leaf: leaf * 2 if isinstance(leaf, int) else leaf)


def test_a_copy_with_gaps_is_its_own() -> None:
    value = {"x": [3]}
    empty = emptied(value, int)
    value["x"].append(4)
    assert refilled(empty, [5]) == {"x": [5]}


def test_what_does_not_change() -> None:
    """A tuple is the same one; lists and dicts are new, so that who changes them changes only his own."""
    now = time.gmtime(0)
    value = (1, ["a"], now)
    same = mapped(value, lambda leaf: leaf)
    assert same == value and same[1] is not value[1] and same[2] is now
    assert mapped((1, (2, "a")), lambda leaf: leaf) is not None
    kept = (1, (2, "a"))
    assert mapped(kept, lambda leaf: leaf) is kept


def test_parameters_in_a_tuple() -> None:
    """With other things in it, a ParameterTuple is a tuple."""
    listed = ParameterTuple([Parameter(Tensor([1.0]), name="a"), Parameter(Tensor([2.0]), name="b")])
    assert mapped(listed, lambda leaf: leaf) is listed
    assert type(mapped(listed, lambda leaf: leaf.name)) is tuple
    assert type(mapped(listed, lambda leaf: leaf.clone())) is ParameterTuple


def test_arranged() -> None:
    pattern = {"a": 0, "b": [{"c": 0, "d": 0}], "e": 0}
    assert leaves(arranged({"e": 4, "b": [{"d": 3, "c": 2}], "a": 1}, pattern)) == [1, 2, 3, 4]
    assert leaves(arranged({"b": [{"d": 3}]}, pattern)) == [3]
    assert arranged([1, 2], pattern) == [1, 2] and arranged(5, pattern) == 5 and arranged((1, [2], 3), (0, [0])) == (1, [2], 3)
    with pytest.raises(ValueError, match="has the key 'x', which is not among 'c', 'd'"):
        arranged({"b": [{"x": 1}]}, pattern)


def test_a_structure_in_itself() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    with pytest.raises(ValueError, match="a dict cannot be walked: it contains itself"):
        leaves(endless)
