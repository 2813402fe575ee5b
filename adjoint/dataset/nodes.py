"""A pipeline as a tree of immutable nodes.

A node is *addressable* if it can return any rows of an epoch by index: sources with an index, and most nodes above them.  Then
indices, not rows, are shuffled, skipped and shared among workers, and a run can resume in the middle without making the rows before it.
Generators and `filter` cannot be indexed: their rows come in order, and a resumed run reads the earlier ones again.

Random choices depend only on (seed, place in the tree, epoch, index of the row); see streams.py.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from adjoint.dataset.blocks import Block, joined

__all__ = ["ENDLESS", "Node", "Pending", "Places", "Run", "columns_after", "gathered", "scattered"]

ENDLESS = sys.maxsize
"""The number of rows of a pipeline that repeats without end."""

Places = np.ndarray[Any, Any]
"""Which rows of an epoch, int64."""

Pending = Callable[[], Block]
"""Requested rows; calling it waits for them."""


class Helpers(Protocol):
    """The workers of one run, as its nodes see them: `workers.Workers`."""

    def tasks_ahead(self, node: Node, /) -> int: ...
    def submit(self, run: Run, node: Node, method: str, /, *given: Any) -> Pending: ...
    def close(self) -> None: ...


class Run:
    """The run of one iterator through a pipeline: its seed, its workers, and what nodes remember of an epoch."""

    def __init__(self, seed: int, workers: Helpers | None = None, tells: bool = True):
        self.seed = seed
        self.workers = workers
        self.tells = tells
        """Whether callbacks are told of it: not of a run that only counts rows."""
        self.steps: dict[int, int] = {}
        """Number of rows that a node with callbacks has passed on, by the node."""
        self.dtypes: dict[tuple[int, str], Any] = {}
        """Dtypes of columns that must not change, by the node that requires it and the column."""
        self._orders: dict[tuple[int, int], Places] = {}

    def order_of(self, owner: Node, epoch: int, drawn: Callable[[], Places]) -> Places:
        """Return the result of `drawn`, computed once for an owner and epoch; results of earlier epochs are dropped."""
        key = id(owner), epoch
        if key not in self._orders:
            for old in [other for other in self._orders if other[0] == key[0] and other[1] < epoch - 1]:
                del self._orders[old]
            self._orders[key] = drawn()
        return self._orders[key]

    def alone(self) -> Run:
        """Return the same run for code inside a worker, without workers of its own."""
        run = Run(self.seed)
        run._orders = self._orders
        return run

    def close(self) -> None:
        """End the workers."""
        if self.workers is not None:
            self.workers.close()


class Node:
    """A node of a pipeline: makes rows.

    children     nodes that this one takes its rows from
    columns      the names of its columns
    addressable  whether `begin` can return any rows of an epoch by index
    """

    children: tuple[Node, ...] = ()
    columns: tuple[str, ...] = ()
    addressable = True

    @property
    def depth(self) -> int:
        """Number of nodes below: part of the key of random choices, and unaffected by nodes added above."""
        return 1 + max((child.depth for child in self.children), default=-1)

    @property
    def workers(self) -> int:
        """Number of workers that this node requests for itself; 0 for none."""
        return 0

    @property
    def processes(self) -> bool:
        """Whether its workers may be processes; otherwise they are threads."""
        return False

    @property
    def portable(self) -> bool:
        """Whether a worker may make the rows: nothing below is user's code without workers, or a user's sampler."""
        return self.addressable and all(child.portable for child in self.children)

    @property
    def epochs_differ(self) -> bool:
        """Whether epochs may have different numbers of rows, because a user's sampler chooses them."""
        return False

    @property
    def weight(self) -> int:
        """Approximate number of source rows in one row of this node."""
        return max((child.weight for child in self.children), default=1)

    def walk(self) -> Iterator[Node]:
        """Iterate over this node and all nodes below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def length(self, run: Run, epoch: int) -> int:
        """Return the rows of an epoch of an addressable node; `ENDLESS` if it never ends."""
        raise NotImplementedError

    def known_length(self, run: Run) -> int | None:
        """Return the number of rows of the first epoch, None if only reading them tells."""
        return self.length(run, 0) if self.addressable else None

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        """Request rows of an addressable node."""
        raise NotImplementedError

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        """Yield the rows of an epoch in order from row `start` on, at most `size` at a time.

        As many blocks are requested ahead as there are workers to make them.
        """
        end = self.length(run, epoch)
        ahead = run.workers.tasks_ahead(self) if run.workers is not None else 0
        if ahead:
            size = max(size, 32 // self.weight)
        pending: deque[Pending] = deque()
        for first in range(start, end, size):
            pending.append(self.begin(run, epoch, np.arange(first, min(first + size, end))))
            if len(pending) > ahead:
                yield pending.popleft()()
        while pending:
            yield pending.popleft()()

    def batch_size(self) -> int:
        """Return the number of source rows in one row: the product of the batch sizes."""
        return self.children[0].batch_size() if self.children else 1

    def repeats(self) -> int:
        """Return the factor by which `repeat` makes an epoch longer; -1 for endless."""
        return self.children[0].repeats() if self.children else 1

    def classes(self) -> int | None:
        """Return the number of classes where the source knows it."""
        return self.children[0].classes() if self.children else None

    def class_indexing(self) -> dict[str, int]:
        return self.children[0].class_indexing() if self.children else {}


def columns_after(columns: Sequence[str], inputs: Sequence[str], outputs: Sequence[str]) -> tuple[str, ...]:
    """Return the columns after a step that makes `outputs` of `inputs`: in place if there are as many, else in front of the others."""
    if len(outputs) == len(inputs):
        renamed = dict(zip(inputs, outputs))
        return tuple(renamed.get(column, column) for column in columns)
    return (*outputs, *(column for column in columns if column not in inputs))


def gathered(blocks: Iterator[Block], length: int) -> Iterator[Block]:
    """Blocks of `length` rows each, the last one shorter."""
    parts: list[Block] = []
    have = 0
    for block in blocks:
        while have + block.length >= length:
            parts.append(block[: length - have])
            yield joined(parts)
            block = block[length - have :]
            parts, have = [], 0
        if block.length:
            parts.append(block)
            have += block.length
    if parts:
        yield joined(parts)


def scattered(owners: Places, begin: Callable[[int, Places], Pending]) -> Pending:
    """Request rows from several owners and put them in order.

    owners  for each row the number of its owner
    begin   called with an owner's number and the indices in `owners` that it has
    """
    numbers = np.unique(owners)
    if len(numbers) == 1:
        return begin(int(numbers[0]), np.arange(len(owners)))
    parts = [np.flatnonzero(owners == number) for number in numbers]
    pending = [begin(int(number), part) for number, part in zip(numbers, parts)]
    back = np.argsort(np.concatenate(parts), kind="stable")
    return lambda: joined([ask() for ask in pending]).reordered(back)
