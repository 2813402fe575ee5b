"""A pipeline as a tree of nodes that never change.

A node is *addressable* if it can give any of an epoch's rows by their places: sources with an index, and most of what stands on them.  Then
places, not rows, are shuffled, skipped and shared among workers, and a run goes on in the middle without what came before.  Generators and
`filter` have no places: their rows come in order, and going on reads what came before again.

Random choices are made from (seed, place in the tree, epoch, index of the row) alone; see streams.py.
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
"""The number of rows of a pipeline that repeats for ever."""

Places = np.ndarray[Any, Any]
"""Which rows of an epoch, int64."""

Pending = Callable[[], Block]
"""Rows that were asked for; calling it waits for them."""


class Helpers(Protocol):
    """Those who make rows for one run, as its nodes see them: `workers.Workers`."""

    def tasks_ahead(self, node: Node, /) -> int: ...
    def submit(self, run: Run, node: Node, method: str, /, *given: Any) -> Pending: ...
    def close(self) -> None: ...


class Run:
    """One iterator's walk through a pipeline: its seed, its workers, and what nodes remember of an epoch."""

    def __init__(self, seed: int, workers: Helpers | None = None):
        self.seed = seed
        self.workers = workers
        self.dtypes: dict[tuple[int, str], Any] = {}
        """Dtypes of columns that have to stay the same, by the node that asks for it and the column."""
        self._orders: dict[tuple[int, int], Places] = {}

    def order_of(self, owner: Node, epoch: int, drawn: Callable[[], Places]) -> Places:
        """What `drawn` returns, asked once for an owner and epoch; that of earlier epochs is forgotten."""
        key = id(owner), epoch
        if key not in self._orders:
            for old in [other for other in self._orders if other[0] == key[0] and other[1] < epoch - 1]:
                del self._orders[old]
            self._orders[key] = drawn()
        return self._orders[key]

    def alone(self) -> Run:
        """The same run for what works inside of a worker: it has no workers of its own."""
        run = Run(self.seed)
        run._orders = self._orders
        return run

    def close(self) -> None:
        """End the workers."""
        if self.workers is not None:
            self.workers.close()


class Node:
    """What gives rows.

    children     nodes whose rows this one takes
    columns      the names of its columns
    addressable  whether `begin` gives any rows of an epoch by their places
    """

    children: tuple[Node, ...] = ()
    columns: tuple[str, ...] = ()
    addressable = True

    @property
    def depth(self) -> int:
        """How many nodes stand below: part of the key of random choices, the same whatever is added on top."""
        return 1 + max((child.depth for child in self.children), default=-1)

    @property
    def workers(self) -> int:
        """How many workers of its own this node asks for; 0 for none."""
        return 0

    @property
    def processes(self) -> bool:
        """Whether its workers may be processes; else they are threads."""
        return False

    @property
    def portable(self) -> bool:
        """Whether a worker may make the rows: nothing below is the user's code that asked for no workers, or a user's sampler."""
        return self.addressable and all(child.portable for child in self.children)

    @property
    def epochs_differ(self) -> bool:
        """Whether epochs may have different numbers of rows, since a user's sampler says what they are."""
        return False

    @property
    def weight(self) -> int:
        """How many rows of a source stand behind one row of this node, about."""
        return max((child.weight for child in self.children), default=1)

    def walk(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def length(self, run: Run, epoch: int) -> int:
        """Return the rows of an epoch of an addressable node; `ENDLESS` if it never ends."""
        raise NotImplementedError

    def known_length(self, run: Run) -> int | None:
        """Return the rows of the first epoch, None where only reading them tells."""
        return self.length(run, 0) if self.addressable else None

    def begin(self, run: Run, epoch: int, places: Places) -> Pending:
        """Ask for rows of an addressable node."""
        raise NotImplementedError

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        """The rows of an epoch in order from row `start` on, at most `size` at a time.

        As many blocks are asked for ahead as there are workers to make them.
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
        """Rows of a source in one row: the product of the sizes of batches."""
        return self.children[0].batch_size() if self.children else 1

    def repeats(self) -> int:
        """Return the factor by which `repeat` makes an epoch longer; -1 for ever."""
        return self.children[0].repeats() if self.children else 1

    def classes(self) -> int | None:
        """Return the number of classes where the source knows it."""
        return self.children[0].classes() if self.children else None

    def class_indexing(self) -> dict[str, int]:
        return self.children[0].class_indexing() if self.children else {}


def columns_after(columns: Sequence[str], inputs: Sequence[str], outputs: Sequence[str]) -> tuple[str, ...]:
    """Return the columns behind a step that makes `outputs` of `inputs`: as many in their places, else in front of the others."""
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
    """Ask several owners for rows and put them in order.

    owners  for each row the number of who has it
    begin   called with an owner's number and the indices in `owners` where it stands
    """
    numbers = np.unique(owners)
    if len(numbers) == 1:
        return begin(int(numbers[0]), np.arange(len(owners)))
    parts = [np.flatnonzero(owners == number) for number in numbers]
    pending = [begin(int(number), part) for number, part in zip(numbers, parts)]
    back = np.argsort(np.concatenate(parts), kind="stable")
    return lambda: joined([ask() for ask in pending]).reordered(back)
