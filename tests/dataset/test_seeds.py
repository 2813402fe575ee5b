"""Seeds reproduce results for any number of workers, and a run can be resumed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
import adjoint.dataset as ds
from adjoint.dataset import transforms
from adjoint.dataset.streams import Draws, integers_of, key_of, keys_of, uniform_of
from dataset.small import numbers, rows, values


def noisy(dataset: Any, **named: Any) -> Any:
    """Random choices in a map, including nested ones."""
    choices = [transforms.RandomApply([lambda b: b + 100], 0.5), transforms.RandomChoice([lambda b: b, lambda b: b + 1000])]
    return dataset.map(choices, "b", **named)


def part_of(dataset: Any) -> Any:
    """A part chosen by the seed 7, whatever the iterators' seed is."""
    before = ds.config.get_seed()
    ds.config.set_seed(7)
    part = dataset.split([4, 5])[1]
    ds.config.set_seed(before)
    return part


PIPELINES: dict[str, Callable[[], Any]] = {
    "shuffled source": lambda: numbers(9, shuffle=True).batch(2),
    "map": lambda: noisy(numbers(7, shuffle=True)).batch(2),
    "workers": lambda: noisy(numbers(7, shuffle=True), num_parallel_workers=2).batch(2),
    "shuffle, repeat": lambda: noisy(numbers(7).batch(3, drop_remainder=True).shuffle(3).repeat(2)),
    "batches shuffled": lambda: numbers(9).batch(2).shuffle(4),
    "generator": lambda: noisy(ds.GeneratorDataset(lambda: ((i, i) for i in range(7)), ["a", "b"]).shuffle(3)).batch(2),
    "filter": lambda: noisy(numbers(9, shuffle=True)).filter(lambda b: b % 3 > 0, "b").batch(2),
    "zip": lambda: numbers(6, shuffle=True).zip(noisy(numbers(6, shuffle=True)).project("b").rename("b", "c")),
    "zip with a generator": lambda: numbers(6, shuffle=True).zip(ds.GeneratorDataset(lambda: iter(range(6)), "c")),
    "concat": lambda: (numbers(3, shuffle=True) + noisy(numbers(4))).batch(2),
    "concat with a filter": lambda: (numbers(3).filter(lambda a, b: b > 0) + numbers(4, shuffle=True)),
    "skip, take": lambda: numbers(9, shuffle=True).skip(2).take(5),
    "part": lambda: part_of(numbers(9)).shuffle(3),
    "endless": lambda: numbers(3, shuffle=True).repeat().take(8),
    "buckets": lambda: ds.NumpySlicesDataset([[1], [2, 2], [3], [4, 4], [5]], ["b"]).bucket_batch_by_length(["b"], [2], [2, 1]),
    "function of sizes": lambda: numbers(9, shuffle=True).batch(lambda info: 1 + info.get_batch_num() % 2),
    "batch sampler": lambda: numbers(batch_sampler=[[0], [1, 2], [3]]),
}


def epochs(dataset: Any, number: int, column: str = "b") -> list[Any]:
    iterator = dataset.create_dict_iterator(output_numpy=True)
    return [[row[column].tolist() for row in iterator] for _ in range(number)]


@pytest.mark.parametrize("name", PIPELINES)
def test_a_run_goes_on_where_it_was(name: str) -> None:
    """From the state at each row of two epochs, another iterator returns all remaining rows, bit by bit."""
    ds.config.set_seed(7)
    make = PIPELINES[name]
    iterator = make().create_dict_iterator(num_epochs=2, output_numpy=True)
    states: list[Any] = []
    seen: list[Any] = []
    for _ in range(2):
        states.append(iterator.state_dict())
        for row in iterator:
            seen.append(row["b"].tolist())
            states.append(iterator.state_dict())
        seen.append("end")
    assert len(seen) > 4 and all(type(value) is int for state in states for value in state.values())
    ds.config.set_seed(8)
    for state in states:
        dataset = make()
        dataset.load_state_dict(state)
        again = dataset.create_dict_iterator(num_epochs=2, output_numpy=True)
        assert again.state_dict() == state
        left: list[Any] = []
        for _ in range(state["epoch"], 2):
            left += [row["b"].tolist() for row in again]
            left.append("end")
        assert left == seen[len(seen) - len(left):] and left.count("end") == 2 - state["epoch"]


def test_an_iterator_goes_to_a_state() -> None:
    iterator = numbers(6, shuffle=True).create_tuple_iterator("b", output_numpy=True)
    first = [next(iterator)[0].item() for _ in range(4)]
    state = iterator.state_dict()
    rest = [row[0].item() for row in iterator]
    other = numbers(6, shuffle=True).create_tuple_iterator("b", output_numpy=True)
    next(other)
    other.load_state_dict(state)
    assert [row[0].item() for row in other] == rest and sorted(first + rest) == list(range(6))


def test_a_dataset_knows_the_state_of_its_latest_iterator() -> None:
    dataset = numbers(4)
    with pytest.raises(RuntimeError, match="has no iterator whose state"):
        dataset.state_dict()
    iterator = dataset.create_dict_iterator()
    next(iterator)
    assert {name: dataset.state_dict()[name] for name in ("epoch", "position")} == {"epoch": 0, "position": 1}
    dataset.load_state_dict({"epoch": 3, "position": 2, "seed": 1})
    assert dataset.state_dict() == {"epoch": 3, "position": 2, "seed": 1}
    assert [row[1].item() for row in dataset] == [2, 3]
    assert [row[1].item() for row in dataset] == [0, 1, 2, 3], "the state was for one iterator"


@pytest.mark.parametrize("state", [
    3, {}, {"epoch": 0, "position": 0}, {"epoch": 0, "position": -1, "seed": 0}, {"epoch": 0, "position": 1.5, "seed": 0},
])
def test_an_invalid_state_is_refused(state: Any) -> None:
    dataset = numbers(2)
    with pytest.raises((TypeError, ValueError)):
        dataset.load_state_dict(state)
    assert values(dataset) == [0, 1]


@pytest.mark.parametrize("name", PIPELINES)
def test_a_seed_gives_the_same_rows_again(name: str) -> None:
    found = []
    for _ in range(2):
        ds.config.set_seed(3)
        found.append(epochs(PIPELINES[name](), 2))
    assert found[0] == found[1]


def test_the_later_of_both_seeds_counts() -> None:
    def order() -> list[int]:
        return values(numbers(50, shuffle=True))

    ds.config.set_seed(1)
    one = order()
    ms.set_seed(2)
    two = order()
    assert ds.config.get_seed() == 2 and one != two
    ds.config.set_seed(1)
    assert order() == one == order()
    ms.set_seed(2)
    assert order() == two


def test_epochs_differ_and_nodes_draw_numbers_of_their_own() -> None:
    ds.config.set_seed(1)
    first, second, third = epochs(numbers(30, shuffle=True), 3)
    assert first != second != third and sorted(first) == sorted(second)
    twice = numbers(64).map(transforms.RandomApply([lambda b: b * 0], 0.5), "b").map(transforms.RandomApply([lambda b: b * 0], 0.5), "b")
    assert 8 < sum(value > 0 for value in values(twice)) < 26, "a quarter is left where both draw by themselves"


@pytest.mark.parametrize("processes", [False, True])
def test_rows_do_not_depend_on_workers(processes: bool) -> None:
    ds.config.set_seed(5)
    alone = epochs(noisy(numbers(20, shuffle=True)).batch(3), 2)
    for workers in (1, 2):
        shared = noisy(numbers(20, shuffle=True), num_parallel_workers=workers, python_multiprocessing=processes).batch(3)
        assert epochs(shared, 2) == alone
        reading = noisy(numbers(20, shuffle=True, num_parallel_workers=workers, python_multiprocessing=processes)).batch(3)
        assert epochs(reading, 2) == alone


def test_sources_of_one_length_are_shuffled_alike() -> None:
    """As in MindSpore: images and their masks in two sources stay together."""
    ds.config.set_seed(4)
    both = ds.zip((numbers(20, shuffle=True).project("b"), numbers(20, shuffle=True).project("b").rename("b", "c")))
    assert all(first == second for first, second in rows(both))


def test_transforms_that_are_called_directly_draw_from_the_seed() -> None:
    operation = transforms.RandomApply([lambda b: b + 1], 0.5)

    def drawn() -> list[int]:
        return [int(operation(np.array(0))) for _ in range(50)]

    ds.config.set_seed(1)
    first, second = drawn(), drawn()
    ds.config.set_seed(1)
    assert drawn() == first != second


def test_draws_are_uniform_and_the_same_for_arrays_of_keys() -> None:
    keys = keys_of(key_of(3, 1), np.arange(1000))
    singles = [Draws(int(key)) for key in keys]
    assert [draws.uniform() for draws in singles] == uniform_of(keys).tolist()
    for high in (0, 6, 2**24):
        assert [draws.integer(0, high) for draws in map(Draws, keys.tolist())] == integers_of(keys, 1, high).tolist()
    assert [draws.integer(0, 99) for draws in singles] == integers_of(keys, 2, 99).tolist()  # their first number was drawn above
    again = Draws(5)
    numbers_ = np.array([again.uniform() for _ in range(20000)])
    assert abs(numbers_.mean() - 0.5) < 0.01 and abs(np.var(numbers_) - 1 / 12) < 0.002
    counts = np.bincount([again.integer(2, 6) for _ in range(20000)], minlength=7)
    assert counts[:2].sum() == 0 and (abs(counts[2:] - 4000) < 300).all()
    normal = np.array([again.normal() for _ in range(20000)])
    assert abs(normal.mean()) < 0.03 and abs(normal.std() - 1) < 0.03
    orders = [tuple(again.order(3)) for _ in range(6000)]
    assert all(abs(orders.count(order) - 1000) < 150 for order in itertools.permutations(range(3)))
