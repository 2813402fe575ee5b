"""Operations on the rows of a pipeline, one node each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import name_of
from adjoint.dataset.blocks import Block, as_item, items, stacked
from adjoint.dataset.errors import UserError, quoted, user_error, wrong_result
from adjoint.dataset.nodes import ENDLESS, Node, Pending, Places, Run, columns_after, scattered
from adjoint.dataset.streams import Draws, here, key_of, keys_of, with_word
from adjoint.dataset.transforms.operation import Operation
from adjoint.dataset.transforms.tables import tables_of
from adjoint.dataset.transforms.transforms import flattened
from adjoint.dataset.workers import wanted

__all__ = ["Concat", "Filter", "Map", "Project", "Rename", "Repeat", "Shards", "ShuffleRows", "Skip", "Take", "Zip"]


class _Unary(Node):
    """A node on one other, with its columns."""

    def __init__(self, child: Node):
        self.child = child
        self.children = (child,)
        self.columns = child.columns
        self.addressable = child.addressable

    def length(self, run: Run, epoch: int) -> int:
        return self.child.length(run, epoch)


class Map(_Unary):
    """Operations, one after the other, on some columns.

    outputs  the names of the results; the other columns come after them if names or numbers change
    """

    def __init__(self, child: Node, operations: Sequence[Callable[..., Any]], inputs: Sequence[str], outputs: Sequence[str], workers: int,
                 processes: bool):
        super().__init__(child)
        self.operations = tuple(flattened(tuple(operations)))
        self._tables = tables_of(self.operations)
        chosen = list(inputs) or [child.columns[0]]
        for column in chosen:
            if column not in child.columns:
                raise RuntimeError(f"Invalid parameter, input column name: {column} doesn't exist in the dataset columns. "
                                   f"They are {quoted(child.columns)}.")
        self.inputs = tuple(chosen)
        self.outputs = tuple(outputs) or self.inputs
        self._taken = [child.columns.index(column) for column in self.inputs]
        rest = [column for column in child.columns if column not in self.inputs]
        for column in self.outputs:
            if column in rest:
                raise RuntimeError(f"Invalid parameter, output column name: {column} conflicts with existing column name.")
        self.columns = columns_after(child.columns, self.inputs, self.outputs)
        self._workers, self._processes = workers, processes
        self._depth = self.depth

    @property
    def workers(self) -> int:
        return self._workers

    @property
    def processes(self) -> bool:
        return self._processes

    @property
    def portable(self) -> bool:
        return super().portable and (self._workers > 1 or all(isinstance(operation, Operation) for operation in self.operations))

    def known_length(self, run: Run) -> int | None:
        return self.child.known_length(run)

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        if not wanted(self, run):
            below = self.child.begin(run, epoch, places)
            return lambda: self.applied(run, epoch, places, below())
        assert run.workers is not None
        if self.child.portable:
            return run.workers.submit(run, self, "fetched", epoch, places)
        return run.workers.submit(run, self, "applied", epoch, places, self.child.begin(run, epoch, places)())

    def fetched(self, run: Run, epoch: int, places: Places) -> Block:
        """Makes rows by index, in this process."""
        return self.applied(run, epoch, places, self.child.begin(run, epoch, places)())

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        if self.addressable:
            yield from super().blocks(run, epoch, start, size)
            return
        if not wanted(self, run):
            for block in self.child.blocks(run, epoch, start, size):
                yield self.applied(run, epoch, np.arange(start, start + block.length), block)
                start += block.length
            return
        assert run.workers is not None
        ahead, pending = run.workers.tasks_ahead(self), list[Pending]()
        for block in self.child.blocks(run, epoch, start, max(size, 8)):
            pending.append(run.workers.submit(run, self, "applied", epoch, np.arange(start, start + block.length), block))
            start += block.length
            if len(pending) > ahead:
                yield pending.pop(0)()
        for result in pending:
            yield result()

    def applied(self, run: Run, epoch: int, places: Places, block: Block) -> Block:
        """Return a block with the operations applied; row i is row `places[i]` of the epoch."""
        columns = [block.columns[index] for index in self._taken]
        key = key_of(run.seed, self._depth, epoch)
        done_until = 0
        for number, operation in enumerate(self.operations):
            if number < done_until:
                continue
            table = self._tables.get(number)
            if table is not None and (looked_up := table.on_blocks(columns)) is not None:
                columns, done_until = looked_up, number + len(table.operations)
                continue
            own = with_word(key, number)
            if isinstance(operation, Operation):
                done = operation.on_blocks(columns, lambda own=own: keys_of(own, places))
                if done is not None:
                    columns = done
                    continue
            columns = self._each(operation, number, own, epoch, places, columns, block.length)
        if len(columns) != len(self.outputs):
            raise wrong_result(f"map {self._named(self.operations[-1])}",
                               "the number of columns returned in 'map' operations should match the number of 'output_columns', but got "
                               "the "
                               f"number of columns returned in 'map' operations: {len(columns)}, the number of 'output_columns': "
                               f"{len(self.outputs)}.")
        if len(self.outputs) == len(self.inputs):
            result = list(block.columns)
            for index, column in zip(self._taken, columns):
                result[index] = column
        else:
            result = [*columns, *(column for index, column in enumerate(block.columns) if index not in self._taken)]
        return Block(result, block.length)

    def _each(self, operation: Callable[..., Any], number: int, key: int, epoch: int, places: Places, columns: list[Any],
              length: int) -> list[Any]:
        """Return the columns with an operation called for each row, each with its own random draws."""
        rows: list[tuple[Any, ...]] = []
        own = isinstance(operation, Operation)
        last = number == len(self.operations) - 1
        before = here.draws
        try:
            for place, row in zip(places.tolist(), zip(*map(items, columns))):
                here.draws = Draws(with_word(key, place))
                try:
                    result = operation(*row)
                    if result is None:
                        raise wrong_result(f"map {self._named(operation)}", "it returned None; an operation returns an array, or a tuple "
                                           "of one for each output column.")
                    values = result if isinstance(result, tuple) else (result,)
                    # Values between operations of the list are not converted; what leaves the list becomes arrays.
                    rows.append(values if own or not last else tuple(map(_as_output, values)))
                except UserError:
                    raise
                except Exception as error:
                    raise user_error(f"operation {self._named(operation)} of map on {quoted(self.inputs)}, row {place} of epoch {epoch}",
                                     error) from None
        finally:
            here.draws = before
        width = len(rows[0]) if rows else len(self.outputs)
        if any(len(row) != width for row in rows):
            raise wrong_result(f"map {self._named(operation)}", "it returns different numbers of columns for different rows.")
        return [list(column) for column in zip(*rows)] if rows else [[] for _ in range(width)]

    @staticmethod
    def _named(operation: Callable[..., Any]) -> str:
        return type(operation).__name__ if isinstance(operation, Operation) else name_of(operation)


def _as_output(value: Any) -> Any:
    """Return the result of an operation as an array that others may own."""
    if type(value) is np.ndarray and value.dtype.kind != "O":
        return value
    return as_item(value)


class Filter(_Unary):
    """The rows for which a function of some columns is true."""

    addressable = False

    def __init__(self, child: Node, predicate: Callable[..., Any], inputs: Sequence[str]):
        super().__init__(child)
        self.addressable = False
        self.predicate = predicate
        self.inputs = tuple(inputs) or child.columns
        for column in self.inputs:
            if column not in child.columns:
                raise RuntimeError(f"Invalid parameter, input column name: {column} doesn't exist in the dataset columns. "
                                   f"They are {quoted(child.columns)}.")
        self._taken = [child.columns.index(column) for column in self.inputs]
        self._depth = self.depth

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        place = 0
        key = key_of(run.seed, self._depth, epoch)
        for block in self.child.blocks(run, epoch, 0, size):
            kept: list[int] = []
            for index, row in enumerate(zip(*(items(block.columns[taken]) for taken in self._taken))):
                before, here.draws = here.draws, Draws(with_word(key, place + index))
                try:
                    if bool(self.predicate(*row)):
                        kept.append(index)
                except Exception as error:
                    raise user_error(f"predicate {name_of(self.predicate)} of filter on {quoted(self.inputs)}, row {place + index} of "
                                     f"epoch {epoch}", error) from None
                finally:
                    here.draws = before
            place += block.length
            skipped = min(start, len(kept))
            start -= skipped
            if len(kept) > skipped:
                yield block.reordered(np.array(kept[skipped:]))


class Project(_Unary):
    """Some of the columns, in a new order."""

    def __init__(self, child: Node, columns: Sequence[str]):
        super().__init__(child)
        for column in columns:
            if column not in child.columns:
                raise RuntimeError(f"Invalid column, column name: {column} does not exist. They are {quoted(child.columns)}.")
        self.columns = tuple(columns)
        self._taken = [child.columns.index(column) for column in columns]

    def _chosen(self, block: Block) -> Block:
        return Block([block.columns[index] for index in self._taken], block.length)

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        below = self.child.begin(run, epoch, places)
        return lambda: self._chosen(below())

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        return map(self._chosen, self.child.blocks(run, epoch, start, size))


class Rename(_Unary):
    """The same rows with columns renamed."""

    def __init__(self, child: Node, inputs: Sequence[str], outputs: Sequence[str]):
        super().__init__(child)
        for column in inputs:
            if column not in child.columns:
                raise RuntimeError(f"Invalid column, column to be renamed does not exist: {column!r}. They are {quoted(child.columns)}.")
        new = dict(zip(inputs, outputs))
        self.columns = tuple(new.get(column, column) for column in child.columns)
        if len(set(self.columns)) != len(self.columns):
            raise RuntimeError(f"Invalid column, columns renamed to the same name: {quoted(self.columns)}.")

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        return self.child.begin(run, epoch, places)

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        return self.child.blocks(run, epoch, start, size)


class Wait(_Unary):
    """The same rows, `count` of them at a time, so that what a program changes between two rows reaches the operations on later ones.

    condition  the name by which the program tells of a change
    callback   is called with what it tells; None for nothing
    """

    def __init__(self, child: Node, condition: str, count: int, callback: Callable[[Any], Any] | None):
        super().__init__(child)
        self.addressable = False  # rows come in order
        self.condition, self.count, self.callback = condition, count, callback
        if any(isinstance(node, Wait) and node.condition == condition for node in child.walk()):
            raise RuntimeError(f"Condition name is already in use: {condition!r}.")

    def known_length(self, run: Run) -> int | None:
        return self.child.known_length(run)

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        return self.child.blocks(run, epoch, start, min(size, self.count))


class Skip(_Unary):
    """All rows of an epoch except the first ones."""

    def __init__(self, child: Node, count: int):
        super().__init__(child)
        self.count = count

    def length(self, run: Run, epoch: int) -> int:
        rows = self.child.length(run, epoch)
        return rows if rows == ENDLESS else max(0, rows - self.count)

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        return self.child.begin(run, epoch, places + self.count)

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        if self.addressable:
            return super().blocks(run, epoch, start, size)
        return self.child.blocks(run, epoch, start + self.count, size)


class Take(_Unary):
    """The first rows of an epoch."""

    def __init__(self, child: Node, count: int):
        super().__init__(child)
        self.count = count

    def length(self, run: Run, epoch: int) -> int:
        return min(self.count, self.child.length(run, epoch))

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        return self.child.begin(run, epoch, places)

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        if self.addressable:
            yield from super().blocks(run, epoch, start, size)
            return
        left = self.count - start
        if left <= 0:
            return
        for block in self.child.blocks(run, epoch, start, min(size, left)):
            yield block[:left]
            left -= block.length
            if left <= 0:
                return


class Repeat(_Unary):
    """Several epochs of the child as one; without end if count is -1.  Each is an epoch of its own: it is shuffled anew."""

    def __init__(self, child: Node, count: int):
        super().__init__(child)
        self.count = count
        self.addressable = child.addressable and not any(node.epochs_differ for node in child.walk())

    def length(self, run: Run, epoch: int) -> int:
        length = self.child.length(run, 0)
        return length if length == 0 or length == ENDLESS else ENDLESS if self.count < 0 else length * self.count

    def _epoch(self, epoch: int, repetition: int) -> int:
        return repetition if self.count < 0 else epoch * self.count + repetition

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        repetitions, inner = np.divmod(places, self.child.length(run, 0))
        return scattered(repetitions, lambda number, part: self.child.begin(run, self._epoch(epoch, number), inner[part]))

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        if self.addressable:
            yield from super().blocks(run, epoch, start, size)
            return
        repetition = 0
        while self.count < 0 or repetition < self.count:
            rows = 0
            for block in self.child.blocks(run, self._epoch(epoch, repetition), 0, size):
                rows += block.length
                skipped = min(start, block.length)
                start -= skipped
                if block.length > skipped:
                    yield block[skipped:]
            if not rows:
                return
            repetition += 1

    def repeats(self) -> int:
        return -1 if self.count < 0 else self.count * super().repeats()


class ShuffleRows(_Unary):
    """The rows in random order: each is drawn from the next `buffer` rows.

    seed  gives one order for all epochs and runs; None: the run's seed gives another order in each epoch
    """

    def __init__(self, child: Node, buffer: int, seed: int | None = None):
        super().__init__(child)
        self.buffer = buffer
        self.seed = seed
        self._depth = self.depth

    def _random(self, run: Run, epoch: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=key_of(run.seed, epoch, self._depth) if self.seed is None else self.seed))

    def _order(self, length: int, random: np.random.Generator) -> Places:
        """Return the order of `length` rows.  A buffer that holds all of them is a permutation."""
        if self.buffer >= length:
            return random.permutation(length)
        order = np.empty(length, np.int64)
        line = np.arange(self.buffer)
        chosen = random.integers(0, self.buffer, length - self.buffer).tolist()
        for place, slot in enumerate(chosen):
            order[place] = line[slot]
            line[slot] = self.buffer + place
        order[length - self.buffer :] = random.permutation(line)
        return order

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        length = self.child.length(run, epoch)
        if length == ENDLESS:
            raise RuntimeError("Rows that never end cannot be shuffled: put 'shuffle' before 'repeat'.")
        order = run.order_of(self, epoch, lambda: self._order(length, self._random(run, epoch)))
        return self.child.begin(run, epoch, order[places])

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        if self.addressable:
            yield from super().blocks(run, epoch, start, size)
            return
        random = self._random(run, epoch)
        line: list[tuple[Any, ...]] = []
        ready: list[tuple[Any, ...]] = []
        for block in self.child.blocks(run, epoch, 0, size):
            for row in block.rows():
                if len(line) < self.buffer:
                    line.append(row)
                    continue
                slot = int(random.integers(0, self.buffer))
                ready.append(line[slot])
                line[slot] = row
            start, ready, out = _released(start, ready, size)
            if out is not None:
                yield out
        ready += [line[index] for index in random.permutation(len(line))]
        while ready:
            start, ready, out = _released(start, ready, size)
            if out is not None:
                yield out


def _released(start: int, ready: list[tuple[Any, ...]], size: int) -> tuple[int, list[tuple[Any, ...]], Block | None]:
    """How many rows remain to be skipped and returned, and a block of at most `size` rows."""
    skipped = min(start, len(ready))
    ready = ready[skipped:]
    out = Block([stacked(list(column)) for column in zip(*ready[:size])], len(ready[:size])) if ready else None
    return start - skipped, ready[size:], out


class Zip(Node):
    """The columns of several pipelines side by side; the shortest one ends an epoch."""

    def __init__(self, children: Sequence[Node]):
        self.children = tuple(children)
        self.columns = tuple(column for child in children for column in child.columns)
        for index, column in enumerate(self.columns):
            if column in self.columns[:index]:
                raise RuntimeError(f"Invalid data, duplicate column {column} already exists when zipping datasets.")
        self.addressable = all(child.addressable for child in children)

    def length(self, run: Run, epoch: int) -> int:
        return min(child.length(run, epoch) for child in self.children)

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        parts = [child.begin(run, epoch, places) for child in self.children]
        return lambda: _side_by_side([part() for part in parts])

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        if self.addressable:
            yield from super().blocks(run, epoch, start, size)
            return
        streams = [_Rows(child.blocks(run, epoch, start, size)) for child in self.children]
        while True:
            ready = min(stream.ready() for stream in streams)
            if not ready:
                return
            yield _side_by_side([stream.taken(ready) for stream in streams])


class _Rows:
    """Blocks of one pipeline, cut as they are needed."""

    def __init__(self, blocks: Iterator[Block]):
        self._blocks = blocks
        self._rest: Block | None = None

    def ready(self) -> int:
        """How many rows are there; 0 at the end."""
        if self._rest is None or not self._rest.length:
            self._rest = next(self._blocks, None)
        return 0 if self._rest is None else self._rest.length

    def taken(self, rows: int) -> Block:
        assert self._rest is not None
        block, self._rest = self._rest[:rows], self._rest[rows:]
        return block


def _side_by_side(blocks: Sequence[Block]) -> Block:
    return Block([column for block in blocks for column in block.columns], blocks[0].length)


class Concat(Node):
    """Several pipelines with the same columns, concatenated."""

    def __init__(self, children: Sequence[Node]):
        self.children = tuple(children)
        self.columns = children[0].columns
        for child in children:
            if child.columns != self.columns:
                raise RuntimeError("Invalid columns, 'column name' or 'column order' of concat datasets should be the same, but got "
                                   f"{quoted(self.columns)} and {quoted(child.columns)}.")
        self.addressable = all(child.addressable for child in children)

    def length(self, run: Run, epoch: int) -> int:
        return min(ENDLESS, sum(child.length(run, epoch) for child in self.children))

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        lengths = (child.length(run, epoch) for child in self.children)
        ends = np.array(list(itertools.accumulate(lengths, lambda so_far, rows: min(ENDLESS, so_far + rows))))
        owners = np.searchsorted(ends, places, side="right")
        firsts = np.concatenate([[0], ends])
        below = scattered(owners, lambda number, part: self.children[number].begin(run, epoch, places[part] - firsts[number]))
        return lambda: self._checked(run, below())

    def _checked(self, run: Run, block: Block) -> Block:
        """Return the block; raise RuntimeError if a column changes its dtype, which would change that of batches."""
        for column, name in zip(block.columns, self.columns):
            for item in column if isinstance(column, list) else [column]:
                dtype = _dtype(item)
                before = run.dtypes.setdefault((id(self), name), dtype)
                if dtype != before:
                    raise RuntimeError("Concat: the data types of the two datasets to be concatenated should be the same, but got: "
                                       f"{before} and {dtype} in column {name!r}. 'TypeCast' makes them equal.")
        return block

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        if self.addressable:
            yield from super().blocks(run, epoch, start, size)
            return
        for child in self.children:
            rows = child.length(run, epoch) if child.addressable else None
            if rows is not None and rows <= start:
                start -= rows
                continue
            skipped, start = (start, 0) if rows is not None else (0, start)
            for block in child.blocks(run, epoch, skipped, size):
                dropped = min(start, block.length)
                start -= dropped
                if block.length > dropped:
                    yield self._checked(run, block[dropped:])

    def batch_size(self) -> int:
        return self.children[0].batch_size()


def _dtype(item: Any) -> Any:
    """Return the properties that must agree between pipelines: strings of all lengths agree."""
    dtype = getattr(item, "dtype", None)
    return dtype if dtype is None or dtype.kind not in "US" else dtype.kind


class Shards(_Unary):
    """Every `count`-th row, from row `first` on.

    seed  draws the order of the rows before that, another one in each epoch; None: they keep their order
    """

    def __init__(self, child: Node, count: int, first: int, seed: int | None = None):
        super().__init__(child)
        if seed is not None and not self.addressable:
            raise RuntimeError("The rows of a generator or of 'filter' cannot be shuffled by a sampler: use 'shuffle', or a sampler that "
                               "does not shuffle.")
        self.count, self.first, self.seed = count, first, seed

    def length(self, run: Run, epoch: int) -> int:
        rows = self.child.length(run, epoch)
        return rows if rows == ENDLESS else max(0, -(-(rows - self.first) // self.count))

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        below = places * self.count + self.first
        if self.seed is not None:
            random = np.random.Generator(np.random.Philox(key=key_of(self.seed, epoch)))
            below = run.order_of(self, epoch, lambda: random.permutation(self.child.length(run, epoch)))[below]
        return self.child.begin(run, epoch, below)

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        if self.addressable:
            yield from super().blocks(run, epoch, start, size)
            return
        place = -self.first - start * self.count
        for block in self.child.blocks(run, epoch, 0, size):
            rows = np.arange(place, place + block.length)
            place += block.length
            kept = np.flatnonzero((rows >= 0) & (rows % self.count == 0))
            if len(kept):
                yield block.reordered(kept)
