"""Structures taken apart and put together again; what `mutable` marks."""

from __future__ import annotations

import collections
import copy
import gc
import math
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ms
from adjoint import Parameter, ParameterTuple, Tensor, mutable, nn
from adjoint.ir.types import BOOL, F32, F64, I64, tensor
from adjoint.runtime.graphs.inputs.templates import flatten


class Pair(NamedTuple):
    first: Any
    second: Any


class Opaque:
    pass


OBJECT, CELL, PARAMETER = Opaque(), nn.ReLU(), Parameter(Tensor([1.0]))

tensors = st.builds(lambda n, dtype: Tensor(np.zeros(n), dtype), st.integers(0, 3), st.sampled_from([ms.float32, ms.int32]))
constants = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=3), st.complex_numbers(),
    st.sampled_from([OBJECT, CELL, PARAMETER, ms.float32, Tensor, len, ...]), st.frozensets(st.integers(), max_size=2))
names = st.one_of(st.text(max_size=2), st.integers(), st.tuples(st.integers(), st.text(max_size=1)))
structures = st.recursive(
    st.one_of(tensors, constants),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple), st.dictionaries(names, inner, max_size=3),
        st.dictionaries(names, inner, max_size=2).map(collections.OrderedDict), st.builds(Pair, inner, inner),
        st.builds(slice, inner, inner, inner)),
    max_leaves=12)


def same(a: Any, b: Any) -> bool:
    """By the rules of constants, and tensors by identity."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, slice):
        return same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, (int, str, bytes, frozenset)):
        return a == b
    return a is b or (isinstance(a, complex) and repr(a) == repr(b))


@settings(max_examples=150, deadline=None)
@given(structures)
def test_what_is_taken_apart_can_be_put_together(value: Any) -> None:
    template, parts = flatten(value)
    assert same(template.build(parts), value)
    assert template.types == tuple(x.type for x in parts)


@settings(max_examples=150, deadline=None)
@given(structures, structures)
def test_equal_templates_are_equal_structures(a: Any, b: Any) -> None:
    first, second = flatten(a), flatten(b)
    other = [Tensor(np.ones(x.shape), x.dtype) for x in first[1]]
    again = flatten(first[0].build(other))[0]
    assert again == first[0] and hash(again) == hash(first[0])
    if first[0] == second[0]:
        assert same(first[0].build(first[1]), second[0].build(first[1]))


DIFFERENT = [
    1, True, 1.0, 0, 0.0, -0.0, "1", b"1", None, math.nan, (1,), [1], {"a": 1}, {"b": 1}, {"a": 1.0}, Pair(1, 2), (1, 2), (1, (2,)),
    {"a": 1, "b": 2}, {"b": 2, "a": 1}, slice(1), slice(1, 2), complex(0.0, 0.0), complex(0.0, -0.0), {1: 1}, {1.0: 1}, {True: 1},
    Tensor([1.0]), Tensor([1]), Tensor([1.0, 2.0]), (Tensor([1.0]),), OBJECT, Opaque(), CELL, nn.ReLU(), PARAMETER, np.float32(1),
    np.float64(1), np.ones(1), np.ones((1, 1)), np.ones(1, np.int64), {1}, frozenset({1}), range(3), range(0, 3, 2), (), [], {},
    mutable(1), mutable(1.0), mutable(True),
]


def test_what_differs() -> None:
    templates = [flatten(value)[0] for value in DIFFERENT]
    for i, a in enumerate(templates):
        for j, b in enumerate(templates):
            assert (a == b) == (i == j), (DIFFERENT[i], DIFFERENT[j])
    assert len(set(templates)) == len(DIFFERENT)
    for value in DIFFERENT:
        assert flatten(value)[0] == flatten(value)[0]


def test_text() -> None:
    x = Tensor([[1.0]])
    assert repr(flatten((x, 0.5, {"a": [x]}, mutable(2)))[0]) == "(f32[1, 1], 0.5, {'a': [f32[1, 1]]}, mutable i64)"


def test_a_parameter_is_no_input() -> None:
    listed = ParameterTuple([Parameter(Tensor([1.0]), name="a"), Parameter(Tensor([2.0]), name="b")])
    template, parts = flatten((PARAMETER, listed))
    assert parts == [] and template.build([])[0] is PARAMETER
    assert type(template.build([])[1]) is ParameterTuple and template.build([])[1][1] is listed[1]


def test_arrays_are_compared_by_what_is_in_them() -> None:
    array = np.zeros(3)
    before = flatten(array)[0]
    array[1] = -0.0
    assert flatten(array)[0] != before and flatten(np.zeros(3))[0] == before


def test_wrong_numbers_of_tensors() -> None:
    template, parts = flatten((Tensor(1), Tensor(2)))
    for given_ in (parts[:1], [*parts, Tensor(3)]):
        with pytest.raises(ValueError, match="places for 2 tensors"):
            template.build(given_)


def test_a_structure_in_itself() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="contains itself"):
        flatten(endless)


def test_a_lasting_template_keeps_nothing_alive() -> None:
    """A graph found by a cell that was its argument does not keep that cell; another at its address finds nothing."""
    gc.disable()
    try:
        cell = nn.ReLU()
        graphs = {flatten((cell, Tensor(1.0)))[0].lasting(): "graph"}
        assert graphs[flatten((cell, Tensor(2.0)))[0]] == "graph"
        key, = graphs
        assert key.is_alive
        del cell
        assert not key.is_alive
        assert all(graphs.get(flatten((nn.ReLU(), Tensor(1.0)))[0]) is None for _ in range(20))
    finally:
        gc.enable()
    with pytest.raises(ValueError, match="cannot be built"):
        key.build([Tensor(1.0)])
    assert repr(key) == "<template of f32>"


# -- mutable ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value, dtype", [(3, I64), (2.5, F64), (True, BOOL), (False, BOOL)])
def test_marked_numbers_are_inputs(value: Any, dtype: Any) -> None:
    template, (x,) = flatten(mutable(value))
    assert x.type is tensor(dtype) and x.item() == value and template.numbers == {0: type(value)}
    assert flatten(mutable(type(value)(0)))[0] == template != flatten(value)[0]
    assert template.build([x]) is x


def test_marked_structures() -> None:
    """What is in a marked structure is an input, however deep; names of dicts, and strings nowhere, are not."""
    x = Tensor([1.0])
    template, parts = flatten(mutable((1, [2.0, (True, x)], {"a": 3})))
    assert [p.type for p in parts] == [tensor(I64), tensor(F64), tensor(BOOL), tensor(F32, (1,)), tensor(I64)]
    assert template == flatten(mutable((7, [8.0, (False, x)], {"a": 9})))[0] != flatten(mutable((7, [8.0, (False, x)], {"b": 9})))[0]
    built = template.build("vwxyz")
    assert built == ("v", ["w", ("x", "y")], {"a": "z"}) and type(built) is tuple
    assert flatten((mutable(1), 1))[0].numbers == {0: int}
    assert flatten(mutable([x]))[0] == flatten([x])[0]


@pytest.mark.parametrize("value", [0, 5, -1.5, True, False, (1, 2), [1, [2.0]], {"a": 1}, (), [], {}])
def test_what_is_marked_is_what_it_was(value: Any) -> None:
    marked = mutable(value)
    assert marked == value and isinstance(marked, type(value)) and repr(marked) == repr(value) and str(marked) == str(value)
    for other in (copy.deepcopy(marked), pickle.loads(pickle.dumps(marked))):
        assert other == value and type(other) is type(marked)


def test_a_marked_bool() -> None:
    yes = mutable(True)
    assert yes and isinstance(yes, bool) and (yes & True) is True and (yes ^ yes) is False and (yes | False) is True and not mutable(False)
    assert f"{yes} {yes!r}" == "True True" and yes + 1 == 2


def test_tensors_are_inputs_anyway() -> None:
    x = Tensor([1.0])
    assert mutable(x) is x and mutable(PARAMETER) is PARAMETER


def test_dynamic_len() -> None:
    assert mutable([1, 2], dynamic_len=True).dynamic_len and mutable((1,), True).dynamic_len and not mutable((1,)).dynamic_len


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize("arguments, message", [
    (("a",), r"should be one of \(bool, int, float, Tensor, tuple, list, dict\) or their nested structures with no self-reference, "
             r"but got str: a\."),
    ((None,), "but got NoneType: None"), (((1, "a"),), r"but got tuple: \(1, 'a'\)"), (({"a": None},), "but got dict"),
    ((ENDLESS,), "but got list"), ((np.zeros(2),), "but got ndarray"), ((1 + 2j,), "but got complex"), ((slice(1),), "but got slice"),
    (([1], 1), "should be bool, but got: int"), (({"a": 1}, True), "first input should be list or tuple, but got: dict"),
    ((1, True), "first input should be list or tuple, but got: int"), ((Tensor(1), True), "but got: Tensor"),
])
def test_what_cannot_be_marked(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        mutable(*arguments)


def test_twice_the_same_item_is_no_cycle() -> None:
    inner = [1]
    assert mutable((inner, inner)) == ([1], [1])
