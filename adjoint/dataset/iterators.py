"""Iterators over a pipeline: rows as dicts or lists, of tensors or arrays, epoch after epoch."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.dataset.arguments import INT32_MAX, check_int, check_type
from adjoint.dataset.blocks import Block
from adjoint.dataset.config import get_debug_mode
from adjoint.dataset.nodes import Node, Run
from adjoint.dataset.streams import fresh_seed
from adjoint.dataset.workers import Workers
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["DictIterator", "RowIterator", "TupleIterator", "check_state"]

State = dict[str, int]
"""The position of an iterator: `epoch`, `position` in it, and the `seed` of its random choices."""


def check_state(state: Any) -> State:
    """Return a state as `state_dict` returns it; raise TypeError or ValueError for anything else."""
    check_type(state, (dict,), "state")
    if set(state) != {"epoch", "position", "seed"}:
        raise ValueError(f"The state of a pipeline has 'epoch', 'position' and 'seed', but got {sorted(map(str, state))}.")
    for name, value in state.items():
        check_int(value, 0, 2**64, name)
    return {name: int(value) for name, value in state.items()}


class RowIterator:
    """Yields the rows of one epoch, raises StopIteration, and yields those of the next epoch when it is asked again.

    num_epochs    after so many epochs, asking for more raises RuntimeError; -1 for any number
    output_numpy  whether rows hold arrays in place of tensors; strings are always arrays
    state         where to start, as `state_dict` returned it; None for the beginning
    """

    def __init__(self, node: Node, num_epochs: int, output_numpy: bool, state: State | None = None):
        self._node, self._num_epochs, self._numpy = node, num_epochs, output_numpy
        begin = state or {"epoch": 0, "position": 0, "seed": fresh_seed()}
        self._epoch, self._position = begin["epoch"], begin["position"]
        self._run = Run(begin["seed"], None if get_debug_mode() else Workers())
        self._rows: Iterator[tuple[Any, ...]] | None = None
        self._stopped = False
        self._finalize = weakref.finalize(self, self._run.close)

    def __iter__(self) -> RowIterator:
        return self

    def __next__(self) -> Any:
        if self._stopped:
            raise RuntimeError("Iterator does not have a running pipeline: 'stop' was called, or an error ended it.")
        if 0 <= self._num_epochs <= self._epoch:
            raise RuntimeError("EOF buffer encountered. User tries to fetch data beyond the specified number of epochs: num_epochs is "
                               f"{self._num_epochs}.")
        if self._rows is None:
            self._rows = _rows(self._node.blocks(self._run, self._epoch, self._position, 1))
        try:
            row = next(self._rows)
        except StopIteration:
            self._rows = None
            self._epoch, self._position = self._epoch + 1, 0
            raise
        except BaseException:
            self.stop()
            raise
        self._position += 1
        return self._output(row)

    def _output(self, row: tuple[Any, ...]) -> Any:
        raise NotImplementedError

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._value(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [*map(self._value, value)] if isinstance(value, list) else tuple(map(self._value, value))
        if not isinstance(value, np.ndarray):
            return value
        if self._numpy or value.dtype.kind in "US":
            return value
        return Tensor(value)

    def state_dict(self) -> State:
        """Return the position of this iterator as plain ints: `epoch`, `position` (rows returned in this epoch) and `seed`.

        A pipeline built in the same way continues from there, with the rows that this iterator would return next.
        """
        return {"epoch": self._epoch, "position": self._position, "seed": self._run.seed}

    def load_state_dict(self, state: State) -> None:
        """Continue where the iterator was that returned this `state_dict`.

        Raise TypeError or ValueError for what is not such a state; the iterator then keeps its position.
        """
        wanted = check_state(state)
        self._drop_rows()
        if wanted["seed"] != self._run.seed:
            self._finalize()
            self._run = Run(wanted["seed"], None if get_debug_mode() else Workers())
            self._finalize = weakref.finalize(self, self._run.close)
        self._epoch, self._position = wanted["epoch"], wanted["position"]

    def _drop_rows(self) -> None:
        rows, self._rows = self._rows, None
        if rows is not None:
            rows.close()  # pyright: ignore[reportAttributeAccessIssue] - it is a generator

    def stop(self) -> None:
        """End the iterator and its workers."""
        self._stopped = True
        self._rows = None
        self._finalize()

    release = stop

    def get_col_names(self) -> list[str]:
        return list(self._node.columns)


class DictIterator(RowIterator):
    """Rows as dicts by the names of columns."""

    def _output(self, row: tuple[Any, ...]) -> dict[str, Any]:
        return {name: self._value(value) for name, value in zip(self._node.columns, row)}


class TupleIterator(RowIterator):
    """Rows as lists in the order of columns."""

    def _output(self, row: tuple[Any, ...]) -> list[Any]:
        return [self._value(value) for value in row]


def _rows(blocks: Iterator[Block]) -> Iterator[tuple[Any, ...]]:
    for block in blocks:
        yield from block.rows()


def check_iterator(num_epochs: Any, output_numpy: Any, do_copy: Any) -> int:
    """Check the arguments of `create_dict_iterator`; return the number of epochs."""
    for name, value in (("output_numpy", output_numpy), ("do_copy", do_copy)):
        if value is not None:
            check_type(value, (bool,), name)
    if num_epochs is None:
        return -1
    check_int(num_epochs, -1, INT32_MAX, "num_epochs")
    return num_epochs
