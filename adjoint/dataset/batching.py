"""Batches: several rows as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import name_of
from adjoint.dataset.blocks import Block, as_item, is_uniform, items, joined, together
from adjoint.dataset.errors import quoted, user_error, wrong_result
from adjoint.dataset.nodes import ENDLESS, Node, Pending, Places, Run, columns_after, gathered
from adjoint.dataset.streams import Draws, here, key_of, with_word
from adjoint.dataset.workers import wanted

__all__ = ["Batch", "BatchInfo", "BucketBatch", "Padding"]

Padding = Mapping[str, tuple[list[int | None] | None, Any] | None]
"""Shape (None: as long as the longest) and value to pad a column to; None for both."""


class BatchInfo:
    """The batch that a function is called for."""

    def __init__(self, batch: int, epoch: int):
        self._batch, self._epoch = batch, epoch

    def get_batch_num(self) -> int:
        """Return the number of the batch in its epoch, from 0."""
        return self._batch

    def get_epoch_num(self) -> int:
        """Return the number of the epoch, from 0."""
        return self._epoch


class Batch(Node):
    """Rows in batches.

    size     rows of a batch, or a function of a BatchInfo that says how many
    mapping  called with a list of rows for each of `inputs` and a BatchInfo; returns a column for each of `outputs`
    padding  which columns are padded to one shape, and how; None for no padding
    """

    def __init__(self, child: Node, size: int | Callable[[BatchInfo], int], drop: bool, mapping: Callable[..., Any] | None = None,
                 inputs: Sequence[str] = (), outputs: Sequence[str] = (), padding: Padding | None = None, workers: int = 0,
                 processes: bool = False):
        self.child = child
        self.children = (child,)
        self.size, self.drop, self.mapping, self.padding = size, drop, mapping, padding
        self.addressable = child.addressable and not callable(size)
        for column in (*inputs, *(padding or ())):
            if column not in child.columns:
                what = "pad_info" if padding and column in padding else "parameter, input"
                raise RuntimeError(f"Invalid {what}, column name: {column} does not exist. The columns are {quoted(child.columns)}.")
        self.inputs = tuple(inputs) or child.columns
        self.outputs = tuple(outputs) or self.inputs
        self.columns = child.columns if mapping is None else columns_after(child.columns, self.inputs, self.outputs)
        self._workers, self._processes = (workers, processes) if mapping is not None else (0, False)
        self._depth = self.depth

    @property
    def workers(self) -> int:
        return self._workers

    @property
    def processes(self) -> bool:
        return self._processes

    @property
    def portable(self) -> bool:
        return super().portable and (self._workers > 1 or self.mapping is None)

    @property
    def weight(self) -> int:
        return super().weight * (self.size if isinstance(self.size, int) else 1)

    def batch_size(self) -> int:
        return self.size if isinstance(self.size, int) else 1

    def known_length(self, run: Run) -> int | None:
        rows = self.child.known_length(run)
        return None if rows is None or not isinstance(self.size, int) else self._batches(rows, self.size)

    def length(self, run: Run, epoch: int) -> int:
        assert isinstance(self.size, int)
        return self._batches(self.child.length(run, epoch), self.size)

    def _batches(self, rows: int, size: int) -> int:
        """Return the number of batches that rows make."""
        return ENDLESS if rows == ENDLESS else rows // size if self.drop else -(-rows // size)

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        if not wanted(self, run):
            return self._begun(run, epoch, places)
        assert run.workers is not None
        if self.child.portable:
            return run.workers.submit(run, self, "fetched", epoch, places)
        lengths, rows = self._rows(run, epoch, places)
        return run.workers.submit(run, self, "batched", epoch, places, lengths, self.child.begin(run, epoch, rows)())

    def _rows(self, run: Run, epoch: int, places: Places) -> tuple[list[int], Places]:
        """Lengths of all batches, and their indices in the epoch."""
        assert isinstance(self.size, int)
        end = self.child.length(run, epoch)
        firsts = places * self.size
        lengths = np.minimum(firsts + self.size, end) - firsts
        if len(places) == 1:
            return lengths.tolist(), np.arange(firsts[0], firsts[0] + lengths[0])
        return lengths.tolist(), np.concatenate([np.arange(first, first + length) for first, length in zip(firsts, lengths)])

    def _begun(self, run: Run, epoch: int, places: Places) -> Pending:
        lengths, rows = self._rows(run, epoch, places)
        below = self.child.begin(run, epoch, rows)
        return lambda: self.batched(run, epoch, places, lengths, below())

    def fetched(self, run: Run, epoch: int, places: Places) -> Block:
        """Makes batches by index, in this process."""
        return self._begun(run, epoch, places)()

    def batched(self, run: Run, epoch: int, places: Places, lengths: Sequence[int], block: Block) -> Block:
        """Return the rows of a block as batches of these lengths, batch i being number `places[i]` of the epoch."""
        batches: list[list[Any]] = []
        first = 0
        for place, length in zip(places.tolist(), lengths):
            batches.append(self._batch(run, epoch, place, block[first : first + length]))
            first += length
        return Block([list(column) for column in zip(*batches)], len(batches))

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        if self.addressable:
            yield from super().blocks(run, epoch, start, size)
            return
        place, skip = (start, start) if isinstance(self.size, int) else (0, 0)
        if isinstance(self.size, int):
            for block in gathered(self.child.blocks(run, epoch, skip * self.size, self.size), self.size):
                if not self.drop or block.length == self.size:
                    yield self._one(run, epoch, place, block)
                place += 1
            return
        rest = self.child.blocks(run, epoch, 0, 1)
        have: list[Block] = []
        while True:
            wanted_rows = self._size_of(place, epoch)
            while sum(block.length for block in have) < wanted_rows and (block := next(rest, None)) is not None:
                have.append(block)
            if not have:
                return
            all_rows = joined(have)
            if all_rows.length < wanted_rows and self.drop:
                return
            if place >= start:
                yield self._one(run, epoch, place, all_rows[:wanted_rows])
            have = [all_rows[wanted_rows:]] if all_rows.length > wanted_rows else []
            place += 1

    def _one(self, run: Run, epoch: int, place: int, rows: Block) -> Block:
        return Block([[column] for column in self._batch(run, epoch, place, rows)], 1)

    def _size_of(self, place: int, epoch: int) -> int:
        assert callable(self.size)
        try:
            size = self.size(BatchInfo(place, epoch))
        except Exception as error:
            raise user_error(f"batch_size {name_of(self.size)} for batch {place} of epoch {epoch}", error) from None
        if not isinstance(size, (int, np.integer)) or size <= 0:
            raise wrong_result(f"batch_size {name_of(self.size)}", f"Batch size function should return an integer greater than 0, but got: "
                               f"{size!r}.")
        return int(size)

    def _batch(self, run: Run, epoch: int, place: int, rows: Block) -> list[Any]:
        """Return the columns of one batch."""
        columns = dict(zip(self.child.columns, rows.columns))
        if self.mapping is not None:
            columns = self._mapped(run, epoch, place, columns, self.mapping)
        made = []
        for index, (name, column) in enumerate(columns.items()):
            if self.padding is not None and not isinstance(column, dict) and (not self.padding or name in self.padding):
                shape, value = self.padding.get(name) or (None, None)
                column = padded(items(column), shape, value, name)
            made.append(_as_batch(column, index, name))
        return made

    def _mapped(self, run: Run, epoch: int, place: int, columns: dict[str, Any], mapping: Callable[..., Any]) -> dict[str, Any]:
        before, here.draws = here.draws, Draws(with_word(key_of(run.seed, self._depth, epoch), place))
        where = f"per_batch_map {name_of(mapping)} for batch {place} of epoch {epoch}"
        try:
            result = mapping(*(list(items(columns[name])) for name in self.inputs), BatchInfo(place, epoch))
        except Exception as error:
            raise user_error(where, error) from None
        finally:
            here.draws = before
        values = result if isinstance(result, tuple) else (result,)
        if len(values) != len(self.outputs):
            raise wrong_result(where, f"the number of columns returned in 'per_batch_map' function should be {len(self.outputs)} , but "
                                      f"got: "
                               f"{len(values)}")
        try:
            made = [as_item(value) if isinstance(value, dict)
                    else value if isinstance(value, np.ndarray) and value.dtype.kind != "O" else [as_item(item) for item in value]
                    for value in values]
        except TypeError as error:
            raise wrong_result(where, f"it returns a column as a list of arrays, or as one array. {error}") from None
        done = dict(zip(self.outputs, made))
        if len(self.outputs) == len(self.inputs):
            renamed = dict(zip(self.inputs, self.outputs))
            return {renamed.get(name, name): done[renamed[name]] if name in renamed else column for name, column in columns.items()}
        return {**done, **{name: column for name, column in columns.items() if name not in self.inputs}}


def _as_batch(column: Any, index: int, name: str) -> Any:
    """Return a column's rows as one array; raise RuntimeError where they differ in shape or dtype."""
    if isinstance(column, (np.ndarray, dict)):
        return column
    first = column[0]
    if is_uniform(column):
        return together(column)
    if isinstance(first, dict):
        return {key: _as_batch([_part_of(row, key, index) for row in column], index, name) for key in first}
    for row in column:
        if row.shape != first.shape:
            raise RuntimeError(f"Cannot batch tensors with different shapes in column {index} ({name!r}). First element had shape "
                               f"{_shape(first)} and this element had shape {_shape(row)}. 'padded_batch' makes them equal.")
        if row.dtype != first.dtype and (row.dtype.kind not in "US" or row.dtype.kind != first.dtype.kind):
            raise RuntimeError(f"Cannot batch tensors with different types in column {index} ({name!r}). First element had type "
                               f"{first.dtype} and this element had type {row.dtype}. 'TypeCast' makes them equal.")
    return np.stack(column)


def _part_of(row: dict[Any, Any], key: Any, index: int) -> Any:
    """Return an item of a dict to batch, as an array unless it is a dict."""
    value = row[key]
    if isinstance(value, (dict, np.ndarray)):
        return value
    array = as_item(value) if isinstance(value, (list, tuple)) else None
    if array is None:
        raise RuntimeError(f"Batch: failed to create a NumPy array with primitive types for the dictionary objects in column {index}, key: "
                           f"{key!r}. If you want a customized array, define a custom 'per_batch_map' function.")
    return array


def _shape(array: np.ndarray[Any, Any]) -> str:
    return f"<{','.join(map(str, array.shape))}>"


def padded(rows: Sequence[np.ndarray[Any, Any]], shape: Sequence[int | None] | None, value: Any, name: str) -> list[Any]:
    """Return rows of one rank, each padded at its end, or cut, to `shape`.

    None in the shape, or in place of it, means the greatest size of the rows; the value is 0 or "" unless it is given.
    """
    rank = rows[0].ndim
    if any(row.ndim != rank for row in rows):
        raise RuntimeError(f"Invalid data, column {name!r} has rows of different ranks, which cannot be padded to one shape.")
    if shape is not None and len(shape) != rank:
        raise RuntimeError(f"Invalid pad_info, the shape of column {name!r} has {len(shape)} dimensions, but its rows have {rank}.")
    longest = [max(row.shape[axis] for row in rows) for axis in range(rank)]
    target = tuple(size or greatest for size, greatest in zip(shape or [None] * rank, longest))
    return [filled(row, target, value) for row in rows]


def filled(row: np.ndarray[Any, Any], target: tuple[int, ...], value: Any) -> np.ndarray[Any, Any]:
    """Return an array padded with a value at its end, or cut, to a shape."""
    if row.shape == target:
        return row
    text = row.dtype.kind in "US"
    fill: Any = np.array(("" if row.dtype.kind == "U" else b"") if value is None else value) if text else row.dtype.type(value or 0)
    result = np.full(target, fill, np.result_type(row.dtype, fill.dtype) if text else row.dtype)
    common = tuple(slice(0, min(size, other)) for size, other in zip(row.shape, target))
    result[common] = row[common]
    return result


class BucketBatch(Node):
    """Batches rows of similar length: each row goes to the bucket of its length, and a full bucket is a batch.

    boundaries  upper bounds of all buckets but the last, exclusive
    sizes       rows of a batch, for each bucket
    measure     the length of a row, from the columns `names`; None for the size along the first axis
    to_boundary whether rows are padded to the greatest length that the bucket may hold
    """

    def __init__(self, child: Node, names: Sequence[str], boundaries: Sequence[int], sizes: Sequence[int],
                 measure: Callable[..., Any] | None, padding: Padding | None, to_boundary: bool, drop: bool):
        self.child, self.children, self.columns, self.addressable = child, (child,), child.columns, False
        for name in (*names, *(padding or ())):
            if name not in child.columns:
                raise RuntimeError(f"Invalid column, column name: {name} does not exist. The columns are {quoted(child.columns)}.")
        self.names, self.boundaries, self.sizes, self.measure = tuple(names), list(boundaries), list(sizes), measure
        self.padding, self.to_boundary, self.drop = padding or {}, to_boundary, drop

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        buckets: list[list[tuple[Any, ...]]] = [[] for _ in self.sizes]
        for block in self.child.blocks(run, epoch, 0, size):
            for row in block.rows():
                number = int(np.searchsorted(self.boundaries, self._length(row), side="right"))
                buckets[number].append(row)
                if len(buckets[number]) == self.sizes[number]:
                    if start <= 0:
                        yield self._batch(buckets[number], number)
                    start -= 1
                    buckets[number] = []
        for number, rows in enumerate(buckets):
            if rows and not self.drop:
                if start <= 0:
                    yield self._batch(rows, number)
                start -= 1

    def _length(self, row: tuple[Any, ...]) -> int:
        named = [row[self.columns.index(name)] for name in self.names]
        if self.measure is None:
            return len(named[0])
        try:
            return int(np.asarray(self.measure(*named)))
        except Exception as error:
            raise user_error(f"element_length_function {name_of(self.measure)}", error) from None

    def _batch(self, rows: list[tuple[Any, ...]], number: int) -> Block:
        made = []
        for index, (name, column) in enumerate(zip(self.columns, zip(*rows))):
            if name in self.padding:
                shape, value = self.padding[name] or (None, None)
                if self.to_boundary:
                    if number == len(self.boundaries):
                        raise RuntimeError("Invalid data, a row is longer than the last of bucket_boundaries, so it cannot be padded to "
                                           "one.")
                    shape = [self.boundaries[number] - 1 if size is None else size for size in shape or [None] * column[0].ndim]
                column = padded(column, shape, value, name)
            made.append([_as_batch(list(column), index, name)])
        return Block(made, 1)
