"""Types are interned; dimensions are polynomials in normal form; broadcasting follows NumPy."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoint.ir.parse import parse_types
from adjoint.ir.types import (
    BF16,
    BOOL,
    DTYPES,
    F16,
    F32,
    F64,
    I8,
    I64,
    U8,
    U64,
    Dim,
    DType,
    Poly,
    TensorType,
    Type,
    broadcast_shapes,
    scalar,
    stack_of,
    substituted,
    symbol,
    tensor,
    tuple_of,
)

NAMES = ("b", "n", "t")
SIZES = {"b": 3, "n": 5, "t": 2}


@st.composite
def dims(draw: st.DrawFn) -> Dim:
    """Small polynomials over three names."""
    total: Dim = draw(st.integers(-4, 4))
    for _ in range(draw(st.integers(0, 3))):
        term: Dim = draw(st.integers(-3, 3))
        for name in draw(st.lists(st.sampled_from(NAMES), max_size=3)):
            term = term * symbol(name)
        total = total + term
    return total


def value(dim: Dim) -> int:
    """Return the value of the dimension for SIZES."""
    result = dim.substituted(SIZES) if isinstance(dim, Poly) else dim
    assert isinstance(result, int)
    return result


@given(dims(), dims(), dims())
def test_dimensions_calculate_as_numbers_do(a: Dim, b: Dim, c: Dim) -> None:
    # The normal form makes equal polynomials equal objects of a dictionary, so the laws hold with `==`.
    assert a + b == b + a and a * b == b * a
    assert (a + b) + c == a + (b + c)
    assert a * (b + c) == a * b + a * c
    assert a - a == 0 and a - b == -1 * (b - a)
    assert hash(a + b) == hash(b + a)
    assert value(a + b) == value(a) + value(b)
    assert value(a - b) == value(a) - value(b)
    assert value(a * b) == value(a) * value(b)


@given(dims())
def test_a_dimension_without_names_is_a_number(a: Dim) -> None:
    assert isinstance(a, int) or a.names()


def test_substitution_may_leave_names() -> None:
    dim = symbol("b") * symbol("n") + 1
    assert isinstance(dim, Poly)
    assert dim.substituted({"b": 2}) == 2 * symbol("n") + 1
    assert substituted(tuple_of([tensor(F32, (dim,)), stack_of(tensor(F32, (symbol("b"),)))]), {"b": 2, "n": 3}) is tuple_of(
        [tensor(F32, (7,)), stack_of(tensor(F32, (2,)))]
    )


@st.composite
def types(draw: st.DrawFn, depth: int = 2) -> Type:
    """Draw any type whose dimensions may be written."""
    kind = draw(st.integers(0, 4)) if depth else 0
    if kind == 3:
        return stack_of(draw(types(depth - 1)))
    if kind == 4:
        return tuple_of(draw(st.lists(types(depth - 1), max_size=3)))
    shape = [dim if isinstance(dim, Poly) else abs(dim) for dim in draw(st.lists(dims(), max_size=3))]
    return tensor(draw(st.sampled_from(list(DTYPES.values()))), shape)


@given(st.lists(types(), max_size=3))
def test_types_read_back_as_the_same_objects(drawn: list[Type]) -> None:
    assert parse_types(", ".join(map(str, drawn))) == tuple(drawn)
    for type_ in drawn:
        (read,) = parse_types(str(type_))
        assert read is type_


@given(types())
def test_copies_of_types_are_the_types(type_: Type) -> None:
    if isinstance(type_, TensorType):
        assert pickle.loads(pickle.dumps(type_)) is type_
        assert copy.deepcopy(type_) is type_


def test_types_are_interned() -> None:
    assert tensor(F32, [2, 3]) is tensor(F32, (2, 3))
    assert scalar(F32) is tensor(F32)
    assert tensor(F32, (symbol("b"),)) is tensor(F32, (symbol("b"),))
    assert stack_of(scalar(F32)) is stack_of(scalar(F32))
    assert tuple_of([scalar(F32)]) is tuple_of([scalar(F32)])


def test_size_in_elements_and_bytes() -> None:
    assert (tensor(F64, (2, 3)).count, tensor(F64, (2, 3)).nbytes) == (6, 48)
    assert (tensor(BF16, (0, 3)).count, scalar(BOOL).nbytes) == (0, 1)
    symbolic = tensor(F32, (symbol("b"), 3))
    assert (symbolic.count, symbolic.nbytes, symbolic.is_static) == (-1, -1, False)
    with pytest.raises(ValueError, match="symbolic"):
        _ = symbolic.sizes


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_a_dtype_agrees_with_the_array_that_holds_it(dtype: DType) -> None:
    assert dtype.array.itemsize == dtype.size == dtype.itemsize
    assert pickle.loads(pickle.dumps(dtype)) is dtype


def test_kinds_of_dtypes() -> None:
    assert (F16.compute, BF16.compute, F64.compute, I8.compute) == (F32, F32, F64, I8)
    assert [U8.is_float, U64.is_integer, I64.is_integer, BOOL.is_integer, F16.is_float] == [False, True, True, False, True]


SHAPES = [shape for rank in range(4) for shape in itertools.product((0, 1, 2, 3), repeat=rank)]


@given(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3))
def test_broadcasting_is_numpys(shapes: list[tuple[int, ...]]) -> None:
    try:
        expected = np.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(ValueError, match="cannot be broadcast"):
            broadcast_shapes(*shapes)
    else:
        assert broadcast_shapes(*shapes) == expected


def test_a_symbolic_dimension_broadcasts_with_one_and_itself() -> None:
    b, n = symbol("b"), symbol("n")
    assert broadcast_shapes((b, 3), (1, 3), (3,)) == (b, 3)
    assert broadcast_shapes((b, 1), (b, n)) == (b, n)
    for other in (2, n, b + 1):
        with pytest.raises(ValueError, match="cannot be broadcast"):
            broadcast_shapes((b,), (other,))
