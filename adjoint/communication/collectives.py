"""Collectives over several processes: with the same number of processes, every run gives the same bits.

A reduction is computed in the order of the ranks, element by element:

    ((x of rank 0) + (x of rank 1)) + (x of rank 2) + ..

Each process receives the same part of the numbers from all others, reduces it, and sends the result to all: every process sends
twice the bytes of the numbers, whatever the number of processes.  A small tensor is sent whole to every process, and each reduces
it in the same order: one message instead of two.  Tensors of one dtype are put together into buckets; this changes no bits, since
each number is reduced on its own.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.communication.messages import Messages

__all__ = ["BUCKET", "Processes", "described"]

Array = np.ndarray[Any, Any]

BUCKET = 2**25
"""Bytes that are reduced at once: besides its operands and results, a reduction takes three times as much memory."""
_FEW = 2**14
"""Bytes up to which every process receives all numbers."""
_SHOWN = 160
"""Characters of operand types in a message; the rest is replaced by a digest."""

_COMBINED: dict[str, Callable[..., Any]] = {"sum": np.add, "avg": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}


class Processes:
    """Collectives over several processes.

    messages  the connection to them
    rank      this process
    ranks_of  the ranks of a group by its name
    """

    def __init__(self, messages: Messages, rank: int, ranks_of: Callable[[str], tuple[int, ...]]):
        self._messages, self._rank, self._ranks_of = messages, rank, ranks_of

    def all_reduce(self, arrays: Sequence[Array], reduction: str, group: str) -> list[Array]:
        ranks = self._ranks_of(group)
        call = described("AllReduce", f"({reduction!r})", group, _types(arrays))
        results: list[Array] = [np.empty(x.shape, x.dtype) for x in arrays]
        if not arrays:
            self._messages.agree(call, ranks, {})
            self._messages.swap(call, {}, {})
        for places in _buckets(arrays):
            flat = np.concatenate([arrays[i].reshape(-1) for i in places])
            self._reduce_flat(call, flat, reduction, ranks)
            end = 0
            for i in places:
                begin, end = end, end + arrays[i].size
                results[i][...] = flat[begin:end].reshape(arrays[i].shape)
        return results

    def reduce(self, array: Array, root: int, reduction: str, group: str) -> Array:
        ranks = self._ranks_of(group)
        call = described("Reduce", f"({root}, {reduction!r})", group, _types((array,)))
        mine, to = np.ascontiguousarray(array), ranks[root]
        if self._rank != to:
            self._messages.agree(call, ranks, {to: mine})
            self._messages.swap(call, {}, {})
            return np.zeros(array.shape, array.dtype)
        self._messages.agree(call, ranks, {})
        given = {rank: mine if rank == to else np.empty_like(mine) for rank in ranks}
        self._messages.swap(call, {}, {rank: x for rank, x in given.items() if rank != to})
        return _reduced([given[rank] for rank in ranks], reduction)

    def all_gather(self, array: Array, group: str) -> Array:
        ranks = self._ranks_of(group)
        call = described("AllGather", "", group, _types((array,)))
        mine = np.ascontiguousarray(array)
        result = np.empty((len(ranks), *array.shape), array.dtype)
        result[ranks.index(self._rank)] = mine
        self._messages.agree(call, ranks, {rank: mine for rank in ranks if rank != self._rank})
        self._messages.swap(call, {}, {rank: result[i] for i, rank in enumerate(ranks) if rank != self._rank})
        return result.reshape(len(ranks) * array.shape[0], *array.shape[1:])

    def reduce_scatter(self, array: Array, reduction: str, group: str) -> Array:
        given = self._exchanged(array, described("ReduceScatter", f"({reduction!r})", group, _types((array,))), group)
        return _reduced(list(given), reduction)

    def broadcast(self, arrays: Sequence[Array], root: int, group: str) -> list[Array]:
        ranks = self._ranks_of(group)
        call = described("Broadcast", f"({root})", group, _types(arrays))
        origin = ranks[root]
        results = [x.copy() if self._rank == origin else np.empty(x.shape, x.dtype) for x in arrays]
        self._messages.agree(call, ranks, {})
        for x in results:
            out = {rank: x for rank in ranks if rank != origin} if self._rank == origin else {}
            self._messages.swap(call, out, {} if self._rank == origin else {origin: x})
        return results

    def all_to_all(self, array: Array, group: str) -> Array:
        return self._exchanged(array, described("AlltoAll", "", group, _types((array,))), group).reshape(array.shape)

    def barrier(self, group: str) -> None:
        call = described("Barrier", "", group, ())
        self._messages.agree(call, self._ranks_of(group), {})
        self._messages.swap(call, {}, {})

    def _exchanged(self, array: Array, call: str, group: str) -> Array:
        """Return this process's part along the first axis, from each process of the group in order."""
        ranks = self._ranks_of(group)
        parts = np.ascontiguousarray(array).reshape(len(ranks), array.shape[0] // len(ranks), *array.shape[1:])
        given = np.empty_like(parts)
        own = ranks.index(self._rank)
        given[own] = parts[own]
        self._messages.agree(call, ranks, {rank: parts[i] for i, rank in enumerate(ranks) if rank != self._rank})
        self._messages.swap(call, {}, {rank: given[i] for i, rank in enumerate(ranks) if rank != self._rank})
        return given

    def _reduce_flat(self, call: str, flat: Array, reduction: str, ranks: Sequence[int]) -> None:
        """Reduce a vector over the processes, in place."""
        own = ranks.index(self._rank)
        others = {rank: i for i, rank in enumerate(ranks) if rank != self._rank}
        if flat.nbytes <= _FEW:
            every = [flat if i == own else np.empty_like(flat) for i in range(len(ranks))]
            self._messages.agree(call, ranks, dict.fromkeys(others, flat))
            self._messages.swap(call, {}, {rank: every[i] for rank, i in others.items()})
            flat[...] = _reduced(every, reduction)
            return
        cuts = [flat.size * i // len(ranks) for i in range(len(ranks) + 1)]
        part = [flat[cuts[i] : cuts[i + 1]] for i in range(len(ranks))]
        given = [part[own] if i == own else np.empty_like(part[own]) for i in range(len(ranks))]
        self._messages.agree(call, ranks, {rank: part[i] for rank, i in others.items()})
        self._messages.swap(call, {}, {rank: given[i] for rank, i in others.items()})
        part[own][...] = _reduced(given, reduction)
        self._messages.swap(call, dict.fromkeys(others, part[own]), {rank: part[i] for rank, i in others.items()})


def _reduced(given: Sequence[Array], reduction: str) -> Array:
    """Combine the arrays of the processes, which are in the order of their ranks."""
    combined = _COMBINED[reduction]
    with np.errstate(all="ignore"):
        result = combined(given[0], given[1])
        for x in given[2:]:
            combined(result, x, out=result)
        return np.divide(result, result.dtype.type(len(given)), out=result) if reduction == "avg" else result


def _buckets(arrays: Sequence[Array]) -> Iterator[list[int]]:
    """Yield the indices of arrays that are reduced together: of one dtype, in order, up to BUCKET bytes."""
    for dtype in dict.fromkeys(x.dtype for x in arrays):
        bucket: list[int] = []
        room = BUCKET
        for i, x in enumerate(arrays):
            if x.dtype != dtype:
                continue
            if bucket and x.nbytes > room:
                yield bucket
                bucket, room = [], BUCKET
            bucket.append(i)
            room -= x.nbytes
        yield bucket


def _types(arrays: Sequence[Array]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((x.dtype.name, x.shape) for x in arrays)


@functools.lru_cache(maxsize=256)
def described(operator: str, attributes: str, group: str, types: tuple[tuple[str, tuple[int, ...]], ...]) -> str:
    """Format a call for messages, such that two calls are equal if their texts are."""
    text = ", ".join(f"{name}{list(shape)}" for name, shape in types)
    if len(text) > _SHOWN:
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        text = f"{len(types)} tensors, {text[: _SHOWN - 60].rpartition(', ')[0]}, ... (all: {digest})"
    return f"{operator}{attributes}{' of ' if text else ''}{text} in the group {group!r}"
