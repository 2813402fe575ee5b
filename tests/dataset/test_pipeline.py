"""Operations of pipelines: rows, columns, sizes and errors as MindSpore 2.10 has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
import adjoint.dataset as ds
from adjoint import Tensor
from dataset.small import Samples, numbers, rows, values


def test_rows_are_lists_of_tensors_or_dicts() -> None:
    (first, second), *_ = numbers()
    assert isinstance(first, Tensor) and first.dtype == ms.float32 and first.shape == (2,)
    assert second.dtype == ms.int64 and second.shape == ()
    row = next(numbers().create_dict_iterator(output_numpy=True))
    assert list(row) == ["a", "b"] and row["a"].dtype == np.float32 and type(row["b"]) is np.ndarray
    assert rows(numbers(2)) == [([0.0, 0.0], 0), ([1.0, 1.0], 1)]
    assert [row[0].item() for row in numbers(2).create_tuple_iterator("b", output_numpy=True)] == [0, 1]


@pytest.mark.parametrize(("value", "dtype"), [
    (1, "int64"), (1.5, "float64"), (True, "bool"), (np.float16(2), "float16"), ([1, 2], "int64"), (Tensor([1, 2], ms.int32), "int32"),
    ("s", "<U"), (b"s", "S"), (np.zeros(2, np.uint16), "uint16"),
])
def test_values_have_numpys_dtypes(value: Any, dtype: str) -> None:
    assert ds.GeneratorDataset([(value,)], ["a"]).output_types() == [np.dtype(dtype)]


def test_strings_stay_numpys() -> None:
    ((text,),) = ds.NumpySlicesDataset(["ab"], ["s"])
    assert text.dtype == np.dtype("<U2") and text == "ab"
    assert rows(ds.NumpySlicesDataset(["a", "bc"], shuffle=False).batch(2)) == [["a", "bc"]]


def test_what_a_pipeline_knows_of_itself() -> None:
    batched = numbers().batch(2)
    assert (len(batched), batched.get_dataset_size(), batched.get_batch_size(), batched.get_repeat_count()) == (3, 3, 2, 1)
    assert batched.output_shapes() == [[2, 2], [2]]
    assert batched.output_shapes(estimate=True) == [[None, 2], [None]]
    assert batched.output_types() == [np.dtype("float32"), np.dtype("int64")]
    assert batched.repeat(3).get_dataset_size() == 9 and batched.repeat(3).get_repeat_count() == 3
    assert numbers().batch(2, drop_remainder=True).get_dataset_size() == 2
    assert numbers().skip(7).get_dataset_size() == 0 and numbers().take(7).get_dataset_size() == 5
    assert numbers().num_classes() is None
    for endless in (numbers().repeat(), numbers().repeat().skip(1), numbers().repeat() + numbers()):
        with pytest.raises(RuntimeError, match="repeats for ever"):
            endless.get_dataset_size()
    assert values((numbers() + numbers(2).repeat()).take(8)) == [0, 1, 2, 3, 4, 0, 1, 0]


def test_map_takes_and_gives_columns() -> None:
    assert values(numbers(3).map(lambda b: b + 1, ["b"])) == [1, 2, 3]
    assert rows(numbers(1).map(lambda a: a * 2)) == [([0.0, 0.0], 0)], "the first column, unless others are named"
    swapped = numbers(2).map(lambda a, b: (b, a, a), ["a", "b"], ["p", "q", "r"])
    assert swapped.get_col_names() == ["p", "q", "r"] and rows(swapped)[1] == (1, [1.0, 1.0], [1.0, 1.0])
    assert numbers().map(lambda b: (b, b), ["b"], ["c", "d"]).get_col_names() == ["c", "d", "a"], "new columns stand before the others"
    assert numbers().map(lambda b: b, ["b"], ["c"]).get_col_names() == ["a", "c"]
    assert values(numbers(2).map([lambda b: b + 1, lambda b: b * 10], "b")) == [10, 20]


@pytest.mark.parametrize(("returned", "expected"), [(3, 3), ([1, 2], [1, 2]), (Tensor([1.5]), [1.5]), ("s", "s")])
def test_map_makes_arrays_of_what_is_returned(returned: Any, expected: Any) -> None:
    assert values(numbers(1).map(lambda b: returned, "b")) == [expected]


def test_an_operation_may_write_into_what_it_is_given() -> None:
    source = np.arange(6.0).reshape(3, 2)

    def doubled(x: Any) -> Any:
        x *= 2
        return x

    class Views(Samples):
        def __getitem__(self, index: int) -> Any:
            return source[index]

    for dataset in (ds.NumpySlicesDataset(source, shuffle=False), ds.GeneratorDataset(Views(3), ["x"], shuffle=False)):
        assert rows(dataset.map(doubled)) == (source * 2).tolist()
        assert source.tolist() == np.arange(6.0).reshape(3, 2).tolist()


def test_a_batch_is_made_when_it_is_asked_for() -> None:
    seen: list[int] = []
    iterator = iter(numbers(6).map(lambda b: seen.append(int(b)) or b, "b").batch(2))
    next(iterator)
    assert seen == [0, 1]
    next(iterator)
    assert seen == [0, 1, 2, 3]


def test_batch_calls_per_batch_map_with_lists() -> None:
    def mapped(a: list[Any], b: list[Any], info: ds.BatchInfo) -> Any:
        assert isinstance(a, list) and a[0].shape == (2,)
        return [x + 1 for x in a], np.stack(b) * 2, [info.get_batch_num()] * len(b)

    dataset = numbers(3).batch(2, per_batch_map=mapped, output_columns=["a", "twice", "number"])
    assert rows(dataset) == [([[1.0, 1.0], [2.0, 2.0]], [0, 2], [0, 0]), ([[3.0, 3.0]], [4], [1])]
    assert rows(numbers(3).batch(2, per_batch_map=lambda b, info: ([x * 10 for x in b],), input_columns=["b"]))[1] == ([[2.0, 2.0]], [20])
    epochs = numbers(1).batch(1, per_batch_map=lambda b, info: ([info.get_epoch_num()],), input_columns=["b"])
    iterator = epochs.create_tuple_iterator(output_numpy=True)
    assert [[row[1].item() for row in iterator] for _ in range(3)] == [[0], [1], [2]]


def test_a_function_says_how_large_batches_are() -> None:
    growing = numbers().batch(lambda info: info.get_batch_num() + 1)
    assert values(growing) == [[0], [1, 2], [3, 4]]
    assert values(numbers().batch(lambda info: info.get_batch_num() + 1, drop_remainder=True)) == [[0], [1, 2]]


@pytest.mark.parametrize(("pad_info", "expected"), [
    ({}, [[1, 2], [3, 0]]), ({"column_0": None}, [[1, 2], [3, 0]]), ({"column_0": ([4], -1)}, [[1, 2, -1, -1], [3, -1, -1, -1]]),
    ({"column_0": ([1], -1)}, [[1], [3]]), ({"column_0": ([None], 7)}, [[1, 2], [3, 7]]),
])
def test_padded_batch(pad_info: Any, expected: Any) -> None:
    assert rows(ds.NumpySlicesDataset([[1, 2], [3]], shuffle=False).padded_batch(2, pad_info=pad_info)) == [expected]


def test_buckets_hold_rows_of_one_length() -> None:
    ragged = ds.NumpySlicesDataset([[1], [2, 3], [4, 5, 6], [1], [7, 7]], ["a"], shuffle=False)
    assert rows(ragged.bucket_batch_by_length(["a"], [2, 3], [2, 2, 2], pad_info={"a": None})) == [[[1], [1]], [[2, 3], [7, 7]], [[4, 5,
                                                                                                                                   6]]]
    assert rows(ragged.take(2).bucket_batch_by_length(["a"], [4], [2, 2], lambda a: len(a), {"a": ([None], 0)}, True)) == [
        [[1, 0, 0], [2, 3, 0]]]


def test_rows_in_front_behind_beside() -> None:
    assert values(numbers().skip(1).take(2)) == [1, 2]
    assert values(numbers(2) + numbers(3)) == [0, 1, 0, 1, 2]
    assert rows(numbers().zip(ds.NumpySlicesDataset([7, 8], ["c"], shuffle=False))) == [([0.0, 0.0], 0, 7), ([1.0, 1.0], 1, 8)]
    assert values(numbers(2).repeat(2)) == [0, 1, 0, 1]
    assert values(numbers(3).repeat().take(7)) == [0, 1, 2, 0, 1, 2, 0]
    assert values(numbers().filter(lambda b: b % 2 == 1, "b")) == [1, 3]
    assert numbers().filter(lambda a, b: b > 2).get_dataset_size() == 2
    assert rows(numbers(1).project(["b", "a"])) == [(0, [0.0, 0.0])]
    assert numbers().rename("a", "z").get_col_names() == ["z", "b"]
    assert values(numbers(3).flat_map(lambda a, b: numbers(int(b) + 1))) == [0, 0, 1, 0, 1, 2]
    assert values(numbers().apply(lambda dataset: dataset.take(1))) == [0]


@pytest.mark.parametrize("buffer", [2, 3, 100])
def test_shuffle_draws_each_row_once_from_the_next_in_line(buffer: int) -> None:
    for source in (numbers(20), ds.GeneratorDataset(lambda: ((np.zeros(2), i) for i in range(20)), ["a", "b"])):
        order = values(source.shuffle(buffer))
        assert sorted(order) == list(range(20)) and order != sorted(order)
        assert all(value < place + buffer for place, value in enumerate(order)), "row i is not drawn before place i - buffer + 1"


def test_two_pipelines_may_stand_on_one() -> None:
    source = numbers(4)
    assert values(source.batch(2)) == [[0, 1], [2, 3]] and values(source.batch(4)) == [[0, 1, 2, 3]]
    halves = ds.zip((source.project("a"), source.project("b")))
    assert rows(halves) == rows(source)


@pytest.mark.parametrize("randomize", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_split_shares_no_row(randomize: bool, shuffle: bool) -> None:
    for source in (numbers(10, shuffle=shuffle), numbers(10, shuffle=shuffle).map(lambda b: b, "b") if not shuffle else numbers(10)):
        first, second = source.split([0.7, 0.3], randomize)
        assert (first.get_dataset_size(), second.get_dataset_size()) == (7, 3)
        iterators = [part.create_tuple_iterator("b", output_numpy=True) for part in (first, second)]
        for _ in range(2):
            assert sorted(row[0].item() for iterator in iterators for row in iterator) == list(range(10))


def test_epochs_of_an_iterator_end_with_stop_iteration() -> None:
    iterator = numbers(2).create_tuple_iterator(num_epochs=2, output_numpy=True)
    assert [[row[1].item() for row in iterator] for _ in range(2)] == [[0, 1], [0, 1]]
    with pytest.raises(RuntimeError, match="beyond the specified number of epochs: num_epochs is 2"):
        next(iterator)
    endless = numbers(1).create_dict_iterator()
    assert [len(list(endless)) for _ in range(5)] == [1] * 5
    endless.stop()
    with pytest.raises(RuntimeError, match="does not have a running pipeline"):
        next(endless)


@pytest.mark.parametrize(("make", "kind", "message"), [
    (lambda: numbers().batch(0), ValueError, r"Input batch_size is not within the required interval of \[1, 2147483647\]"),
    (lambda: numbers().batch("2"), TypeError, "batch_size should either be an int or a callable"),
    (lambda: numbers().batch(2, drop_remainder=1), TypeError, "Argument drop_remainder with value 1 is not of type"),
    (lambda: numbers().shuffle(1), ValueError, r"Input buffer_size is not within the required interval of \[2, 2147483647\]"),
    (lambda: numbers().repeat(0), ValueError, "count should be either -1 or positive integer"),
    (lambda: numbers().take(0), ValueError, "count should be either -1 or within the required interval"),
    (lambda: numbers().skip(-1), ValueError, "Input count is not within"),
    (lambda: numbers().map(3), ValueError, "should be callable"),
    (lambda: numbers().map(ds.transforms.TypeCast), ValueError, "missing parentheses for instantiation"),
    (lambda: numbers().map(ms.nn.ReLU()), ValueError, "network computing operator"),
    (lambda: numbers().map(len, ["z"]), RuntimeError, "input column name: z doesn't exist in the dataset columns. They are 'a', 'b'"),
    (lambda: numbers().project("z"), RuntimeError, "column name: z does not exist"),
    (lambda: numbers().rename("z", "y"), RuntimeError, "column to be renamed does not exist"),
    (lambda: numbers().rename(["a", "b"], "y"), ValueError, "Number of column in input_columns and output_columns is not equal"),
    (lambda: numbers().zip(numbers()), RuntimeError, "duplicate column a already exists when zipping datasets"),
    (lambda: ds.zip([numbers(), numbers()]), TypeError, "Argument datasets with value"),
    (lambda: numbers() + 3, TypeError, "Argument datasets with value 3 is not of type"),
    (lambda: numbers() + numbers().project("b"), RuntimeError, "'column name' or 'column order' of concat datasets should be the same"),
    (lambda: numbers().split([3, 3]), RuntimeError, "Sum of split sizes 6 is not equal to dataset size 5"),
    (lambda: numbers().split([0.5, 0.6]), ValueError, "do not sum up to 1"),
    (lambda: numbers(num_shards=2, shard_id=0).split([1, 2]), RuntimeError, "should not be sharded before split"),
    (lambda: numbers().filter(3), TypeError, "Predicate should be a Python function"),
    (lambda: numbers().create_dict_iterator(num_epochs=-2), ValueError, "Input num_epochs is not within"),
    (lambda: numbers().padded_batch(2, pad_info={"z": None}), RuntimeError, "Invalid pad_info, column name: z does not exist"),
    (lambda: numbers().batch(2, input_columns=["a"]), ValueError, "only when per_batch_map is set"),
    (lambda: numbers().save("x", 1, "tfrecord"), ValueError, "tfrecord dataset format is not supported"),
    (lambda: numbers().save("x", 0), ValueError, "num_files should between 0 and 1000"),
    (lambda: ds.config.set_seed(-1), ValueError, "seed given is not within"),
    (lambda: ds.config.set_num_parallel_workers("2"), TypeError, "num isn't of type int"),
])
def test_arguments_are_refused_as_mindspore_refuses_them(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


@pytest.mark.parametrize(("dataset", "message"), [
    (lambda: ds.NumpySlicesDataset([[1, 2], [3]], ["a"], shuffle=False).batch(2),
     r"different shapes in column 0 \('a'\). First element had shape <2> and this element had shape <1>. 'padded_batch' makes them equal"),
    (lambda: ds.GeneratorDataset([(1,), (2.5,)], ["a"], shuffle=False).batch(2), "First element had type int64 and this element had "
                                                                                 "type float64"),
    (lambda: ds.NumpySlicesDataset([7.0], ["c"]) + ds.NumpySlicesDataset([7], ["c"]), "should be the same, but got: float64 and int64"),
    (lambda: numbers().map(lambda b: None, "b"), "it returned None"),
    (lambda: numbers().map(lambda b: (b, b), "b"), "returned in 'map' operations: 2, the number of 'output_columns': 1"),
    (lambda: numbers().batch(2, per_batch_map=lambda a, b, info: (a,)), "should be 2 , but got: 1"),
    (lambda: numbers().map(lambda b: object(), "b"), "expected to be int or float or str, but got object"),
    (lambda: numbers().batch(lambda info: 0), "should return an integer greater than 0"),
])
def test_rows_that_are_wrong_are_refused(dataset: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        rows(dataset())


def failing(value: Any) -> Any:
    raise KeyError("the user's message")


@pytest.mark.parametrize("dataset", [
    lambda: numbers().map(failing, "b"), lambda: numbers().filter(failing, "b"), lambda: numbers().batch(2, per_batch_map=lambda a, b,
                                                                                                         i: failing(a)),
    lambda: ds.GeneratorDataset(lambda: failing(0), ["a"]), lambda: numbers().batch(failing), lambda: numbers().map(failing, "b",
                                                                                                                    num_parallel_workers=2),
])
def test_an_error_of_the_users_is_shown_with_its_traceback(dataset: Any) -> None:
    with pytest.raises(RuntimeError, match="Exception thrown from user defined Python function in dataset") as caught:
        rows(dataset())
    text = str(caught.value)
    assert 'raise KeyError("the user\'s message")' in text and "in failing" in text and "adjoint/dataset" not in text
    assert isinstance(caught.value.user_exception, KeyError)  # pyright: ignore[reportAttributeAccessIssue] - of this package's class


def test_a_wrong_call_names_the_function_and_the_row() -> None:
    with pytest.raises(RuntimeError, match=r"operation .*<lambda> \(.*test_pipeline.py:\d+\) of map on 'a', row 0 of epoch 0") as caught:
        rows(numbers().map(lambda x, y: (x, y)))
    assert "missing 1 required positional argument: 'y'" in str(caught.value)


def test_dicts_hold_other_objects() -> None:
    """Numbers and strings in them are arrays, also in lists and tuples, which stay such; a batch of them needs arrays."""
    given = {"l": [1, 2], "t": (1, "a"), "n": {"z": 2.5}, "b": b"q", "none": None}
    (row,) = ds.GeneratorDataset([(given,)], ["a"]).create_dict_iterator(1, True)
    assert repr(row["a"]) == ("{'l': [array(1), array(2)], 't': (array(1), array('a', dtype='<U1')), 'n': {'z': array(2.5)}, 'b': b'q', "
                              "'none': None}")
    (tensors,) = ds.GeneratorDataset([({"l": [1]},)], ["a"]).create_dict_iterator(1)
    assert isinstance(tensors["a"]["l"][0], ms.Tensor)
    dataset = ds.NumpySlicesDataset([0, 1], shuffle=False).batch(2, per_batch_map=lambda a, info: ({"x": a, "y": 3},))
    assert repr(next(dataset.create_tuple_iterator(num_epochs=1, output_numpy=True))) == "[{'x': [array(0), array(1)], 'y': array(3)}]"
    (batch,) = ds.GeneratorDataset([({"l": [1, 2]},), ({"l": [3, 4]},)], ["a"], shuffle=False).batch(2).create_dict_iterator(1, True)
    assert batch["a"]["l"].tolist() == [[1, 2], [3, 4]]
    with pytest.raises(RuntimeError, match="column 0, key: 'none'"):
        next(iter(ds.GeneratorDataset([({"none": None},)] * 2, ["a"]).batch(2)))


def test_callbacks_of_map_are_told_of_epochs_and_steps() -> None:
    """With the counts that MindSpore 2.10.0 gives; in order, for a row is made when it is requested, and not when rows are counted."""
    told: list[tuple[Any, ...]] = []

    class Told(ds.DSCallback):
        def ds_begin(self, ds_run_context: Any) -> None:
            told.append(("begin",))

        def ds_epoch_begin(self, ds_run_context: Any) -> None:
            told.append(("epoch", ds_run_context.cur_epoch_num))

        def ds_step_begin(self, ds_run_context: Any) -> None:
            told.append(("step", ds_run_context.cur_step_num_in_epoch, ds_run_context.cur_step_num))

        def ds_step_end(self, ds_run_context: Any) -> None:
            told.append(("end of step", ds_run_context.cur_step_num))

        def ds_epoch_end(self, ds_run_context: Any) -> None:
            told.append(("end of epoch", ds_run_context.cur_step_num))

    def mapped(callbacks: Any, operation: Any = lambda x: x + 1) -> Any:
        return ds.NumpySlicesDataset([0, 1, 2], ["a"], shuffle=False).map(operation, "a", callbacks=callbacks)

    data = mapped(Told(step_size=2), lambda x: told.append(("mapped", int(x))) or x).batch(2)
    assert len(data) == 2 and told == []
    iterator = data.create_tuple_iterator(num_epochs=2)
    next(iterator)
    first = [("begin",), ("epoch", 1), ("step", 1, 1), ("mapped", 0), ("end of step", 1), ("mapped", 1)]
    assert told == first
    assert len(list(iterator)) == 1 and told[6:] == [("step", 3, 3), ("mapped", 2), ("end of step", 3), ("end of epoch", 3)]
    list(iterator)
    assert told[10:13] == [("epoch", 2), ("step", 1, 4), ("mapped", 0)]
    told.clear()
    assert len(mapped(Told()).filter(lambda x: x > 1)) == 2 and told == [], "rows that are only counted"
    assert len(rows(mapped([Told(), ds.DSCallback()]).shuffle(3).skip(1).take(1))) == 1
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: mapped(3), TypeError, "Argument callbacks with value 3"), (lambda: mapped([3]), TypeError, r"callbacks\[0\]"),
        (lambda: Told(0), ValueError, "step_size")]
    for call, kind, message in wrong:
        with pytest.raises(kind, match=message):
            call()

    class Failing(ds.DSCallback):
        def ds_step_begin(self, ds_run_context: Any) -> None:
            raise KeyError("lost")

    with pytest.raises(RuntimeError, match=r"ds_step_begin of callback Failing, step 1 of epoch 0(.|\n)*KeyError: 'lost'"):
        list(mapped(Failing()))


def test_samplers_of_concatenated_pipelines() -> None:
    """The rows are those that MindSpore 2.10.0 gives; a shard may be shorter than the others."""
    def joined(sampler: Any, *others: Any) -> Any:
        both = ds.NumpySlicesDataset([0, 1, 2], ["b"], shuffle=False).concat([*others, numbers(3).skip(1).project("b")])
        both.use_sampler(sampler)
        return both

    assert [rows(joined(ds.DistributedSampler(2, shard, False))) for shard in (0, 1)] == [[0, 2, 2], [1, 1]]
    assert len(joined(ds.DistributedSampler(2, 1, False))) == 2 and joined(ds.DistributedSampler(2, 1, False)).is_sharded()
    shards = [rows(joined(ds.DistributedSampler(2, shard)).repeat(2)) for shard in (0, 1)]
    assert sorted(shards[0][:3] + shards[1][:2]) == sorted(shards[0][3:] + shards[1][2:]) == [0, 1, 1, 2, 2]
    assert sorted(rows(joined(ds.RandomSampler()))) == [0, 1, 1, 2, 2] and joined(ds.RandomSampler()).is_shuffled()
    kept = numbers(9).project("b").filter(lambda x: x % 2 == 0)
    assert [rows(joined(ds.DistributedSampler(3, shard, False), kept)) for shard in (0, 1, 2)] == [[0, 0, 6, 2], [1, 2, 8], [2, 4, 1]]
    assert rows(joined(ds.DistributedSampler(3, 0, False), kept).skip(1)) == [0, 6, 2]
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: joined(ds.SequentialSampler()), TypeError, "of concat must be DistributedSampler or RandomSampler"),
        (lambda: joined(ds.RandomSampler(num_samples=2)), ValueError, "num_samples of RandomSampler is not support"),
        (lambda: joined(ds.DistributedSampler(2, 0), kept), RuntimeError, "cannot be shuffled by a sampler")]
    for call, kind, message in wrong:
        with pytest.raises(kind, match=message):
            call()
    pipeline = numbers()
    assert pipeline.input_indexs == ()
    pipeline.input_indexs = 3
    assert pipeline.input_indexs == 3


def test_operations_see_what_the_program_tells_between_two_rows() -> None:
    """`sync_update` calls the function of `sync_wait`, and the rows after it are made after it."""
    told: list[Any] = [0]
    dataset = numbers(6).sync_wait("policy", callback=told.append).map(lambda b: b + 10 * told[-1], "b").batch(2)
    found = []
    for number, row in enumerate(dataset.create_dict_iterator(num_epochs=1, output_numpy=True), 1):
        found += row["b"].tolist()
        dataset.sync_update("policy", data=number)
    assert found == [0, 1, 12, 13, 24, 25] and told == [0, 1, 2, 3] and dataset.get_dataset_size() == 3
    waiting = numbers().sync_wait("a")
    for call, kind, text in (
        (lambda: waiting.sync_update("b"), RuntimeError, "not found: 'b'"),
        (lambda: waiting.sync_wait("a"), RuntimeError, "already in use"), (lambda: waiting.shuffle(2), RuntimeError, "No shuffle"),
        (lambda: waiting.sync_update("a", 0), RuntimeError, "positive integer, got: 0"),
        (lambda: numbers().sync_wait("a", 0), ValueError, "num_batch"), (lambda: numbers().sync_wait("a", 1, 3), TypeError, "callback"),
    ):
        with pytest.raises(kind, match=text):
            call()


def test_steps_have_names() -> None:
    data = ds.NumpySlicesDataset(np.arange(6), shuffle=False)
    renamed = data.rename("column_0", "b")
    made = {"Batch": data.batch(2), "Repeat": data.repeat(2), "Map": data.map(lambda x: x), "Shuffle": data.shuffle(2),
            "Skip": data.skip(1), "Take": data.take(2), "Zip": ds.zip((data, renamed)), "Rename": renamed,
            "Project": data.project(["column_0"]), "Filter": data.filter(lambda x: True), "Concat": data + data}
    for name, found in made.items():
        assert [kind for kind in made if isinstance(found, getattr(ds, f"{kind}Dataset"))] == [name]
    with pytest.raises(TypeError, match="'BatchDataset' is made by a method"):
        ds.BatchDataset(data, 2)


def test_a_cache_without_a_server() -> None:
    cache = ds.DatasetCache(1, size=0)
    for wrong in (lambda: ds.ImageFolderDataset(".", cache=cache), cache.get_stat):
        with pytest.raises(RuntimeError, match="no cache server"):
            wrong()
    for given, kind in ((0, ValueError), (2**32, ValueError), ("a", TypeError)):
        with pytest.raises(kind, match="session_id"):
            ds.DatasetCache(given)
