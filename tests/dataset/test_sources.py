"""Sources: what they read, which samples an epoch contains, and the errors for missing or damaged files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
import adjoint.dataset as ds
from dataset.small import Samples, numbers, rows, values, write_idx


def generated() -> Iterator[Any]:
    for i in range(4):
        yield i, np.array([i])


class Counted:
    def __iter__(self) -> Iterator[Any]:
        return iter([(1,), (2,), (3,)])


def test_generator_dataset_takes_functions_iterables_and_objects_with_an_index() -> None:
    for source in (generated, generated()):
        dataset = ds.GeneratorDataset(source, ["a", "b"])
        assert rows(dataset) == rows(dataset) == [(0, [0]), (1, [1]), (2, [2]), (3, [3])]
        assert dataset.get_dataset_size() == 4
    assert rows(ds.GeneratorDataset(Counted(), "a")) == [1, 2, 3]
    assert rows(ds.GeneratorDataset(zip([1, 2], [3, 4]), ["a", "b"], shuffle=False)) == [(1, 3), (2, 4)]
    assert rows(ds.GeneratorDataset(generated, ["a", "b"], num_samples=2)) == [(0, [0]), (1, [1])]
    assert numbers()[3][1] == 3
    assert rows(ds.GeneratorDataset([({"k": 1},)], ["a"])) == [{"k": np.array(1)}]


def test_what_a_generator_gives_is_copied() -> None:
    """A generator may fill the same array again and again."""

    def reusing() -> Iterator[Any]:
        array = np.zeros(2)
        for i in range(3):
            array[:] = i
            yield (array,)

    assert rows(ds.GeneratorDataset(reusing, ["a"]).batch(3)) == [[[0, 0], [1, 1], [2, 2]]]


def test_a_batch_sampler_makes_batches() -> None:
    lists = [[0, 1], [2, 3, 4]]
    assert values(numbers(batch_sampler=lists)) == lists
    summed = numbers(batch_sampler=lists, collate_fn=lambda a, b: (np.stack(a).sum(0), np.stack(b)))
    assert rows(summed) == [([1.0, 1.0], [0, 1]), ([9.0, 9.0], [2, 3, 4])]
    assert numbers(batch_sampler=lists).get_dataset_size() == 2


@pytest.mark.parametrize(("data", "columns", "expected"), [
    ({"x": [1, 2], "y": [1.5, 2.5]}, ["x", "y"], [(1, 1.5), (2, 2.5)]),
    (([1, 2], np.ones((2, 1))), ["column_0", "column_1"], [(1, [1.0]), (2, [1.0])]),
    ([[1, 2], [3, 4]], ["column_0"], [[1, 2], [3, 4]]),
    (np.arange(2), ["column_0"], [0, 1]),
])
def test_numpy_slices(data: Any, columns: list[str], expected: Any) -> None:
    dataset = ds.NumpySlicesDataset(data, shuffle=False)
    assert dataset.get_col_names() == columns and rows(dataset) == expected


class Backwards(ds.Sampler):
    def __iter__(self) -> Iterator[int]:
        yield from range(4, -1, -2)


@pytest.mark.parametrize(("named", "expected"), [
    ({"sampler": ds.SequentialSampler(1, 3)}, [1, 2, 3]), ({"sampler": ds.SubsetSampler([3, 1])}, [3, 1]), ({"sampler": [0, 2]}, [0, 2]),
    ({"sampler": Backwards()}, [4, 2, 0]), ({"sampler": range(3, 1, -1)}, [3, 2]), ({"num_samples": 3, "shuffle": False}, [0, 1, 2]),
    ({"sampler": ds.DistributedSampler(3, 2, shuffle=False)}, [2, 0]), ({"sampler": ds.DistributedSampler(3, 2, False, offset=0)}, [2]),
    ({"num_shards": 2, "shard_id": 1, "shuffle": False}, [1, 3, 0]),
    ({"sampler": ds.WeightedRandomSampler([0, 0, 1], 4)}, [2, 2, 2, 2]),
    ({"sampler": ds.WeightedRandomSampler([0, 0, 1], 1, replacement=False)}, [2]),
])
def test_a_sampler_says_which_samples_make_an_epoch(named: Any, expected: list[int]) -> None:
    dataset = numbers(**named)
    assert dataset.get_dataset_size() == len(expected)
    assert values(dataset) == expected


def dealt(order: list[int], hands: int, hand: int, offset: int, most: int | None) -> list[int]:
    """What a shard has of an order that is dealt out like cards, as MindSpore 2.10 was seen to do it for all of these.

    With an offset the first card goes to that hand, and an empty one has card 0; without one all hands are filled up from the beginning.
    """
    held: list[list[int]] = [[] for _ in range(hands)]
    count = len(order) if offset >= 0 else -(-len(order) // hands) * hands
    for turn in range(count):
        held[(max(offset, 0) + turn) % hands].append(order[turn % len(order)])
    return held[hand][:most] or [0]


@pytest.mark.parametrize("length", [1, 2, 5, 6, 7])
def test_the_samples_of_each_shard(length: int) -> None:
    wrong: list[str] = []
    for shards in range(1, 5):
        for offset in range(-1, shards + 1):
            for most in (None, 1, 2):
                for shard in range(shards):
                    made = ds.DistributedSampler(shards, shard, False, most, offset)
                    dataset = numbers(length, sampler=made)
                    expected = dealt(list(range(length)), shards, shard, offset, most)
                    for _ in range(2):
                        if (found := values(dataset)) != expected or dataset.get_dataset_size() != len(expected):
                            wrong.append(f"{shards=} {offset=} {most=} {shard=}: {found}, expected {expected}")
    assert not wrong


@pytest.mark.parametrize("offset", [-1, 0, 1, 2])
def test_the_shards_of_a_shuffled_source_are_dealt_from_one_order(offset: int) -> None:
    """Also with an offset that is set later, and of the samples that another sampler chose."""
    ds.config.set_seed(5)
    order = values(numbers(10, sampler=ds.DistributedSampler(1, 0)))
    assert sorted(order) == list(range(10)) != order
    for shard in range(3):
        expected = dealt(order, 3, shard, offset, None)
        assert values(numbers(10, sampler=ds.DistributedSampler(3, shard, offset=offset))) == expected
        assert values(numbers(10, sampler=ds.DistributedSampler(3, shard).set_offset(offset))) == expected
        upper = ds.DistributedSampler(3, shard, shuffle=False, offset=offset)
        upper.add_child(ds.SubsetSampler([7, 3, 5, 1]))
        assert values(numbers(10, sampler=upper)) == dealt([7, 3, 5, 1], 3, shard, offset, None)


def test_random_samplers() -> None:
    assert sorted(values(numbers(50, shuffle=True))) == list(range(50)) and values(numbers(50, shuffle=True)) != list(range(50))
    assert sorted(values(numbers(sampler=ds.SubsetRandomSampler([4, 2, 1])))) == [1, 2, 4]
    drawn = values(numbers(100, sampler=ds.RandomSampler(replacement=True)))
    assert len(drawn) == 100 and len(set(drawn)) < 100
    shards = [values(numbers(10, num_shards=3, shard_id=i, shuffle=True)) for i in range(3)]
    assert [len(shard) for shard in shards] == [4, 4, 4] and {value for shard in shards for value in shard} == set(range(10))
    halves = numbers(1000, sampler=ds.WeightedRandomSampler([1.0] * 500 + [3.0] * 500, 1000))
    assert 700 < sum(value >= 500 for value in values(halves)) < 800


def test_samplers_choose_from_each_other() -> None:
    dataset = numbers(10)
    dataset.add_sampler(ds.SequentialSampler(2, 6))
    dataset.add_sampler(ds.SubsetSampler([0, 5]))
    assert values(dataset) == [2, 7]
    dataset.use_sampler(ds.SubsetSampler([1]))
    assert values(dataset) == [3]


@pytest.mark.parametrize(("make", "kind", "message"), [
    (lambda: ds.GeneratorDataset(Samples()), ValueError, "Neither columns_names nor schema are provided"),
    (lambda: ds.GeneratorDataset(3, ["a"]), TypeError, "should be callable, iterable or random accessible"),
    (lambda: ds.GeneratorDataset(Samples(), ["a", "a"]), ValueError, "Every column name should not be same"),
    (lambda: ds.GeneratorDataset(generated, ["a"], sampler=ds.SequentialSampler()), ValueError, "does not have attribute '__getitem__'"),
    (lambda: numbers(num_shards=2), ValueError, "num_shards and shard_id need to be passed in together"),
    (lambda: numbers(sampler=ds.PKSampler(2)), ValueError, "doesn't support PKSampler"),
    (lambda: numbers(num_parallel_workers=0), ValueError, "num_parallel_workers exceeds the boundary"),
    (lambda: ds.NumpySlicesDataset(([1], [2, 3])), ValueError, "Data length in each column is not equal"),
    (lambda: ds.NumpySlicesDataset([1], ["a", "b"]), ValueError, "Num of input column names is 2, but required is 1"),
    (lambda: ds.NumpySlicesDataset(3), TypeError, "Argument data with value 3 is not of type"),
    (lambda: values(numbers(sampler=ds.SubsetSampler([9]))), RuntimeError, r"Sample ID \(9\) is out of bound, expected range \[0, 4\]"),
    (lambda: ds.DistributedSampler(2, 2), RuntimeError, "'shard_id' must be in"),
    (lambda: ds.WeightedRandomSampler([0.0]), RuntimeError, "not all 0"),
    (lambda: ds.SubsetSampler(["a"]), TypeError, "Type of indices element must be int"),
    (lambda: rows(ds.GeneratorDataset(Samples(), ["a"])), RuntimeError,
     "size of column_names is:1 and number of returned NumPy array is:2"),
    (lambda: rows(ds.GeneratorDataset([None], ["a"])), RuntimeError, "'NoneType' object is not iterable"),
    (lambda: rows(ds.GeneratorDataset([(1,)], ["a"], [ms.float32])), RuntimeError, "column 'a' is int64, specified column type: float32"),
    (lambda: ds.MnistDataset("/nowhere"), ValueError, "The folder /nowhere does not exist"),
])
def test_arguments_are_refused_as_mindspore_refuses_them(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


def test_mnist(digits: Any) -> None:
    place, images, labels = digits
    train = ds.MnistDataset(str(place), "train", shuffle=False)
    assert train.get_col_names() == ["image", "label"] and train.num_classes() == 10
    assert train.output_types() == [np.uint8, np.uint32] and train.output_shapes() == [[28, 28, 1], []]
    assert (len(train), len(ds.MnistDataset(str(place), "test")), len(ds.FashionMnistDataset(str(place)))) == (12, 8, 20)
    batch = next(ds.MnistDataset(str(place), shuffle=False).batch(20).create_dict_iterator(output_numpy=True))
    assert (batch["image"][..., 0] == images).all() and (batch["label"] == labels).all()
    few = values(ds.MnistDataset(str(place), sampler=ds.PKSampler(1)), "label")
    assert few == list(range(10))


@pytest.mark.parametrize(("damage", "message"), [
    (lambda path: path.unlink(), r"train-images-idx3-ubyte does not exist. In this directory are expected train-images-idx3-ubyte and"),
    (lambda path: (path.rename(f"{path}.gz")), "There is a packed one: unpack it with gunzip"),
    (lambda path: path.write_bytes(path.read_bytes()[:-1]), r"train-images-idx3-ubyte is damaged: its head says 12x28x28 numbers, which "
                                                            r"makes "
     r"9424 bytes, but it has 9423"),
    (lambda path: path.write_bytes(b"\0\0\0\1" + bytes(12)), "expected the magic number 2051 at its beginning, but got the magic number 1"),
    (lambda path: path.write_bytes(b""), "but got 0 bytes"),
    (lambda path: path.write_bytes(b"\x1f\x8b" + bytes(20)), "is compressed: unpack it with gunzip"),
    (lambda path: write_idx(path, np.zeros((3, 28, 28))), "there are 3 images in train-images-idx3-ubyte, but 12 labels"),
])
def test_a_damaged_file_is_named_with_what_was_expected(digits: Any, damage: Any, message: str) -> None:
    place, *_ = digits
    damage(place / "train-images-idx3-ubyte")
    with pytest.raises(RuntimeError, match=message) as caught:
        rows(ds.MnistDataset(str(place), "train"))
    assert str(place) in str(caught.value)


@pytest.mark.parametrize("length", [None, 3])
def test_a_sampler_of_items_is_asked_for_one_after_the_other(length: int | None) -> None:
    """One with `__getitem__` only; `__len__` says how many, as in MindSpore."""
    class Items:
        def __getitem__(self, place: int) -> int:
            return [2, 0, 1, 2][place]

    if length is not None:
        Items.__len__ = lambda self: length  # type: ignore[attr-defined]
    source = ds.NumpySlicesDataset([5, 6, 7], sampler=Items())
    assert [row[0].item() for row in source.create_tuple_iterator(output_numpy=True)] == [7, 5, 6, 7][:length]


def test_a_sampler_with_getitem_and_len_alone() -> None:
    """It may never raise IndexError; MindSpore 2.10.0 gives the same rows and raises the same."""
    class Places:
        def __getitem__(self, index: int) -> int:
            return (3, 1, 2)[index % 3]

        def __len__(self) -> int:
            return 3

    assert rows(numbers(sampler=Places()).project("b")) == [3, 1, 2] and len(numbers(sampler=Places())) == 3
    for sampler in (Places(), [3, 1, 2]):
        assert rows(numbers(sampler=sampler, num_samples=2).project("b")) == [3, 1]
    assert rows(numbers(sampler=Places(), shuffle=True).project("b").repeat(2)) == [3, 1, 2] * 2
    with pytest.raises(ValueError, match=r"Conflicting arguments during sampler assignments\. num_samples: 2, num_shards: None"):
        numbers(sampler=ds.SequentialSampler(), num_samples=2)
    with pytest.raises(RuntimeError, match="sampler and sharding cannot be specified"):
        numbers(sampler=Places(), num_shards=2, shard_id=0)
