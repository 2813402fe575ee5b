"""Indexing works like NumPy's: reading, writing, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint
from adjoint import Tensor, ops

ARRAY = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
MASK = ARRAY > 5

KEYS: dict[str, Any] = {
    "an int": 0,
    "an int from the end": -1,
    "ints for all axes": (0, 1, 2),
    "a slice": slice(1, None),
    "steps": (slice(None), slice(None, None, 2)),
    "backwards": (slice(None, None, -1), slice(2, None, -2)),
    "nothing": slice(5, 2),
    "dots": (..., 1),
    "dots between": (0, ..., 1),
    "dots alone": ...,
    "an empty tuple": (),
    "new axes": (None, 0, None),
    "a list": [0, 1, 1],
    "a list on another axis": (slice(None), [0, 2]),
    "lists side by side": (slice(None), [0, 2], [1, 3]),
    "lists apart": ([0, 1], slice(None), [1, 2]),
    "an int beside a list": (slice(None), 0, [1, 3]),
    "an int apart from a list": (0, slice(None), [1, 2]),
    "lists that broadcast": (np.array([[0], [1]]), np.array([0, 2])),
    "an empty list": [],
    "a tuple inside": ((0, 1, 1),),
    "tuples side by side": (slice(None), (0, 2), (1, 3)),
    "a tuple of tuples": (((0, 1), (1, 0)), 2),
    "a tuple of bools": (slice(None), (True, False, True)),
    "an empty tuple inside": (..., ()),
    "an array of rows": np.array([[0, 1], [1, 0]]),
    "places from the end": ([0, -1], ..., -1),
    "a new axis between lists": (None, [0, 1], None, [1, 0]),
    "a mask": MASK,
    "a mask of two axes": MASK[:, :, 0],
    "a mask of one axis": (slice(None), np.array([True, False, True])),
    "a list of bools": (slice(None), [True, False, True], 0),
    "a mask behind dots": (..., MASK[0, 0]),
    "true": True,
    "false": False,
    "true before an int": (True, 0),
    "true behind an int": (0, True),
}


def with_tensors(key: Any) -> Any:
    """Return the key with its arrays as Tensors."""
    if isinstance(key, tuple):
        return tuple(map(with_tensors, key))
    return Tensor(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_reading(key: Any) -> None:
    wanted = ARRAY[key]
    for form in (key, with_tensors(key)):
        got = Tensor(ARRAY)[form]
        assert got.shape == wanted.shape
        assert np.array_equal(got.asnumpy(), wanted)


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_writing(key: Any) -> None:
    wanted, number = ARRAY.copy(), Tensor(ARRAY)
    wanted[key] = -1
    number[key] = -1
    assert np.array_equal(number.asnumpy(), wanted)
    region = -np.arange(wanted[key].size, dtype=np.float32).reshape(wanted[key].shape)
    tensor = Tensor(ARRAY)
    wanted[key] = region
    tensor[with_tensors(key)] = Tensor(region)
    assert np.array_equal(tensor.asnumpy(), wanted)


def axis_key(size: int) -> st.SearchStrategy[Any]:
    bound = st.none() | st.integers(-size - 2, size + 2)
    step = st.integers(-3, 3).filter(bool) | st.none()
    places = st.lists(st.integers(-size, size - 1), min_size=2, max_size=2)
    return st.one_of(st.integers(-size, size - 1), st.builds(slice, bound, bound, step), places, st.just(slice(None)))


@st.composite
def keys(draw: st.DrawFn) -> Any:
    parts: list[Any] = [draw(axis_key(size)) for size in ARRAY.shape[: draw(st.integers(0, 3))]]
    for _ in range(draw(st.integers(0, 2))):
        parts.insert(draw(st.integers(0, len(parts))), None)
    if draw(st.booleans()):
        parts.append(...)
    return tuple(parts)


@settings(max_examples=60, deadline=None)
@given(keys())
def test_any_key_reads_as_in_numpy(key: Any) -> None:
    got = Tensor(ARRAY)[key]
    assert got.shape == ARRAY[key].shape
    assert np.array_equal(got.asnumpy(), ARRAY[key])


@settings(max_examples=30, deadline=None)
@given(keys())
def test_any_key_writes_as_in_numpy(key: Any) -> None:
    """If a position occurs twice, the last value stays."""
    wanted, tensor = ARRAY.copy(), Tensor(ARRAY)
    values = np.arange(ARRAY[key].size, dtype=np.float32).reshape(ARRAY[key].shape)
    wanted[key] = values
    tensor[key] = Tensor(values)
    assert np.array_equal(tensor.asnumpy(), wanted)


def block_keys() -> st.SearchStrategy[Any]:
    """Ints and slices without steps along the first axes."""
    along = [st.integers(-n, n - 1) | st.builds(slice, st.integers(-n, n) | st.none(), st.integers(-n, n) | st.none()) for n in ARRAY.shape]
    return st.integers(1, 3).flatmap(lambda count: st.tuples(*along[:count]))


@settings(max_examples=60, deadline=None)
@given(block_keys())
def test_a_block_that_is_written(key: Any) -> None:
    """Written values have the gradient of their positions; overwritten ones have none."""
    wanted, shape = ARRAY.copy(), ARRAY[key].shape
    wanted[key] = -1 - np.arange(ARRAY[key].size, dtype=np.float32).reshape(shape)
    weights = np.arange(ARRAY.size, dtype=np.float32).reshape(ARRAY.shape)
    seen: list[Tensor] = []

    def function(x: Tensor, value: Tensor) -> Tensor:
        y = x * 1.0
        y[key] = value
        seen.append(y)
        return (y * Tensor(weights)).sum()

    by_x, by_value = adjoint.grad(function, (0, 1))(Tensor(ARRAY), Tensor(wanted[key]))
    assert np.array_equal(seen[0].asnumpy(), wanted)
    kept = weights.copy()
    kept[key] = 0
    assert np.array_equal(by_x.asnumpy(), kept) and np.array_equal(by_value.asnumpy(), weights[key])


@adjoint.jit
def written(x: Tensor, key: Tensor, values: Tensor) -> Tensor:
    x[key] = values
    return x


@adjoint.jit
def written_behind(x: Tensor, key: Tensor, values: Tensor) -> Tensor:
    x[:, 1:, key] = values
    return x


@pytest.mark.parametrize("count", [1, 2, 7, 300])
def test_graphs_write_to_places_as_numpy_does(count: int) -> None:
    """If a position occurs twice, the last value stays."""
    random = np.random.default_rng(count)
    for function, sizes, part in ((written, (count, 3, 4), np.s_[:]), (written_behind, (2, 2, count), np.s_[:, 1:])):
        places, values = random.integers(-2, 2, count), random.random(sizes).astype(np.float32)
        wanted = ARRAY.copy()
        wanted[places if part == np.s_[:] else (*part, places)] = values
        assert np.array_equal(function(Tensor(ARRAY), Tensor(places), Tensor(values)).asnumpy(), wanted)


@adjoint.jit
def written_at_list(x: Tensor, column: Tensor, values: Any) -> Tensor:
    x[[0, -2, 1, -1], column] = values
    return x


@pytest.mark.parametrize("values", [5.0, [1.0, 2.0, 3.0, 4.0]])
def test_graphs_write_to_a_list_of_places_beside_a_tensor(values: Any) -> None:
    """The list contains each row twice, once counted from the end: the last value stays, and differences are not added."""
    wanted = ARRAY[0, :2].copy()
    wanted[[0, -2, 1, -1], 1] = values
    given = values if isinstance(values, float) else Tensor(values)
    assert np.array_equal(written_at_list(Tensor(ARRAY[0, :2]), Tensor(1), given).asnumpy(), wanted)


@pytest.mark.parametrize("key", [np.s_[:0], np.s_[:, 2:2], np.s_[2:1], [], np.zeros((2, 3, 4), bool)], ids=str)
def test_any_value_fits_where_nothing_is_written(key: Any) -> None:
    """As in MindSpore, in graphs too."""
    for value in (5.0, [1.0, 2.0], np.ones((5, 7), np.float32)):
        for function in (lambda x, v: x.__setitem__(key, v), adjoint.jit(lambda x, v: x.__setitem__(key, v))):
            x = Tensor(ARRAY)
            function(x, value if isinstance(value, float) else Tensor(value))
            assert np.array_equal(x.asnumpy(), ARRAY)


def test_graphs_write_to_many_places() -> None:
    """Memory is proportional to the number of positions: comparing every pair would take 3 GB for bools."""
    random = np.random.default_rng(0)
    places, values = random.integers(-5_000, 5_000, 60_000), random.random(60_000).astype(np.float32)
    wanted = np.zeros(5_000, np.float32)
    wanted[places] = values
    x = Tensor(np.zeros(5_000, np.float32))
    slopes = adjoint.grad(lambda v: (written(x * 1.0, Tensor(places), v) ** 2).sum())(Tensor(values)).asnumpy()
    assert np.array_equal(written(x, Tensor(places), Tensor(values)).asnumpy(), wanted)
    last = {place % 5_000: at for at, place in enumerate(places)}
    kept = np.zeros(60_000, bool)
    kept[list(last.values())] = True
    np.testing.assert_allclose(slopes, np.where(kept, 2 * values, 0), rtol=1e-6)


def gradient(function: Any, x: Tensor) -> np.ndarray[Any, Any]:
    return ops.GradOperation(get_all=True)(function)(x)[0].asnumpy()


@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("around", [lambda m: m, lambda m: (m, 0), lambda m: (0, m), lambda m: (..., m), lambda m: (m, [1])])
def test_graphs_take_a_bool_without_dimensions_as_numpy_does(around: Any, chosen: bool) -> None:
    """It makes an axis of one element or of none, also of a tensor without dimensions; what it does not choose is not written."""
    mask, graph = Tensor(chosen), adjoint.jit(lambda x, m: x[around(m)])
    got, wanted = graph(Tensor(ARRAY), mask), ARRAY[around(np.bool_(chosen))]
    assert got.shape == wanted.shape and np.array_equal(got.asnumpy(), wanted)
    assert adjoint.jit(lambda x, m: ops.masked_select(x, m))(Tensor(3.0), mask).tolist() == [3.0] * chosen

    def written(x: Tensor, m: Tensor) -> Tensor:
        x = x * 1
        x[around(m)] = 9.0
        return x

    wanted = ARRAY.copy()
    wanted[around(np.bool_(chosen))] = 9.0
    assert np.array_equal(adjoint.jit(written)(Tensor(ARRAY), mask).asnumpy(), wanted)


def test_a_part_gives_its_gradient_to_where_it_was_taken_from() -> None:
    taken = gradient(lambda x: x[::-1, 1, [0, 0, 2]].sum(), Tensor(ARRAY))
    wanted = np.zeros_like(ARRAY)
    wanted[:, 1, 0], wanted[:, 1, 2] = 2, 1
    assert np.array_equal(taken, wanted)
    assert np.array_equal(gradient(lambda x: (x[x > 5.0] * 2.0).sum(), Tensor(ARRAY)), np.where(MASK, 2, 0))


def test_what_is_written_over_has_no_gradient_and_what_is_written_has() -> None:
    def function(x: Tensor) -> Tensor:
        y = x * 2.0
        y[0] = y[1] * 3.0
        return y.sum()

    assert np.array_equal(gradient(function, Tensor(ARRAY))[:, 0, 0], [0.0, 8.0])


def test_a_write_does_not_change_what_shares_the_memory() -> None:
    x = Tensor(ARRAY)
    flat, view = x.reshape(24), x.asnumpy()
    x[0] = 0
    assert np.array_equal(flat.asnumpy(), ARRAY.reshape(-1))
    assert np.array_equal(view, ARRAY)


@pytest.mark.parametrize("key", [1, slice(1, 3), [1], [True, False, True], ...], ids=str)
@pytest.mark.parametrize("number", [0.5, -0.5, 2, 256, float("nan"), 0.0, 0], ids=str)
def test_a_number_that_is_not_zero_is_written_as_true(key: Any, number: float) -> None:
    """A float written into bools is compared with 0, not truncated."""

    def written(x: Tensor) -> Tensor:
        x = x.copy()
        x[key] = number
        return x

    for start in (False, True):
        wanted = np.full(3, start)
        wanted[key] = number
        for function in (written, adjoint.jit(written)):
            assert np.array_equal(function(Tensor(np.full(3, start))).asnumpy(), wanted)


def test_a_write_keeps_the_dtype() -> None:
    x = Tensor([1, 2, 3])
    x[0] = 2.7
    x[1] = Tensor([5.9])
    x[2] = np.int8(4)
    assert x.dtype is adjoint.int64
    assert x.tolist() == [2, 5, 4]


def test_iteration_goes_over_the_first_axis() -> None:
    assert [row.tolist() for row in Tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    assert 3 in Tensor([1, 3])
    assert 2 not in Tensor([1, 3])
    with pytest.raises(TypeError, match="0-d"):
        iter(Tensor(1.0))


@pytest.mark.parametrize(
    ("key", "kind", "said"),
    [
        (2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        ((0, 0, 4), IndexError, "index 4"),
        ((0, 0, 0, 0), IndexError, "3 dimensions, but 4 were indexed"),
        ((slice(None), [0, 3]), IndexError, "index 3"),
        ((slice(None), Tensor([-4])), IndexError, "index -4"),
        ("a", IndexError, "'a' of type str"),
        (1.0, IndexError, "1.0 of type float"),
        ([1.0], IndexError, "float64"),
        ([[0], [0, 1]], IndexError, "rows of one length"),
        ((..., ...), IndexError, "only one ellipsis"),
        (([0, 1], [0, 1, 2]), IndexError, "broadcast together"),
        (slice("a", None), IndexError, "ends of a slice"),
        (slice(None, None, 0), ValueError, r"'Tensor\[...\]', the step of a slice .* other than 0, but got slice\(None, None, 0\)"),
        (Tensor([True]), ValueError, "size 1 where dimension 0 of the tensor has size 2"),
        (Tensor([True]), IndexError, "mask"),
    ],
)
def test_a_key_that_names_nothing(key: Any, kind: type[Exception], said: str) -> None:
    x = Tensor(ARRAY)
    with pytest.raises(kind, match=said):
        x[key]
    with pytest.raises(kind, match=said):
        x[key] = 0
    assert x[0, 0, 1].item() == 1


def test_a_value_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"must broadcast to the shape \(3, 4\) .* but got shape \(5,\)"):
        Tensor(ARRAY)[0] = Tensor(np.zeros(5, np.float32))


def test_a_tensor_without_dimensions_has_no_parts() -> None:
    x = Tensor(2.5)
    with pytest.raises(TypeError, match="item"):
        x[0]
    assert x[...].item() == x[()].item() == 2.5
    assert x[None].shape == (1,)
    x[...] = 4
    assert x.item() == 4


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("key", [
    [slice(0, 2), slice(1, 3)], [slice(0, 2)], [slice(0, 2), 1], [None, 0], [..., 0], [slice(None), [2, 0]], [None, slice(1), None, 3]])
def test_a_list_with_a_slice_is_read_as_a_tuple(key: list[Any], graph: bool) -> None:
    numbers = np.arange(12.0, dtype=np.float32).reshape(3, 4)

    def read(x: Tensor) -> Tensor:
        return x[key] * 2

    def written(x: Tensor) -> Tensor:
        x = x * 1
        x[key] = -1.0
        return x

    expected = numbers.copy()
    expected[tuple(key)] = -1.0
    run = adjoint.jit if graph else (lambda function: function)
    np.testing.assert_array_equal(run(read)(Tensor(numbers)).asnumpy(), numbers[tuple(key)] * 2)
    np.testing.assert_array_equal(run(written)(Tensor(numbers)).asnumpy(), expected)
