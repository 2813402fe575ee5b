"""Seeds and random streams.

Every random op draws from a stream of its own, identified by a key: the global seed and the number of the draw.  The numbers come from the
counter-based generator in `ir/ops/random.py`, so a draw depends on its key and shape alone, never on threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from adjoint.foundation.locking import Lock
from adjoint.runtime.process.tracer import emitter

__all__ = ["RandomStream", "drawn_from", "get_seed", "key_numbers", "next_generator", "of_process", "set_seed", "times_seeded"]


class RandomStream:
    """Gives out keys, each with a seed and the number of the draw.

    seed   from -2**63 to 2**63 - 1
    draws  the number of keys given out since the seed was set
    """

    def __init__(self, seed: int) -> None:
        self.lock = Lock()
        self.seed = seed
        self.draws = 0

    def restart(self, seed: int, draws: int = 0) -> None:
        """Go on as if `draws` keys had been given out since the stream began with `seed`."""
        with self.lock:
            self.seed, self.draws = seed, draws

    def next(self, seed: int | None = None) -> tuple[int, int]:
        """Return the key of the next draw: a seed from 0 to 2**64 - 1, and the number of the draw.

        seed  a seed for this draw only; None or 0: that of the stream
        """
        with self.lock:
            draw = self.draws
            self.draws += 1
            return (seed or self.seed) % 2**64, draw


class _Process(RandomStream):
    """The stream that all random ops of the process draw from, unless they are given one of their own.

    chosen  the seed that `set_seed` has set; None if none was set
    times   how often a seed was set
    """

    def __init__(self) -> None:
        super().__init__(int.from_bytes(os.urandom(8), "little") >> 1)
        self.chosen: int | None = None
        self.times = 0

    def restart(self, seed: int, draws: int = 0) -> None:
        super().restart(seed, draws)
        self.times += 1


of_process = _Process()


class _Thread(threading.local):
    """What a thread draws from: a stream of its own inside of `drawn_from`; None for that of the process."""

    stream: RandomStream | None = None


_thread = _Thread()


@contextmanager
def drawn_from(stream: RandomStream) -> Iterator[None]:
    """Let random ops of this thread draw from a stream, instead of that of the process."""
    before, _thread.stream = _thread.stream, stream
    try:
        yield
    finally:
        _thread.stream = before


def set_seed(seed: int) -> None:
    """Restart all random streams from `seed`, and NumPy's global one; TypeError if it is not an int, ValueError if it is negative."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"For 'set_seed', the argument 'seed' must be an int, but got {seed!r} of type {type(seed).__name__}.")
    if not 0 <= seed < 2**63:
        raise ValueError(f"For 'set_seed', the argument 'seed' must be in [0, 2**63), but got {seed}.")
    np.random.seed(int(seed) % 2**32)
    of_process.chosen = int(seed)
    of_process.restart(int(seed))


def get_seed() -> int | None:
    """Return the seed that `set_seed` has set; None if none was set."""
    return of_process.chosen


def times_seeded() -> int:
    """Return how often the stream of the process was restarted from a seed."""
    return of_process.times


def streams_state() -> dict[str, int | None]:
    """Return the state of the random streams as ints: the seed that was set, the seed in use, and the number of draws since."""
    with of_process.lock:
        return {"chosen": of_process.chosen, "seed": of_process.seed, "draws": of_process.draws}


def load_streams(state: dict[str, int | None]) -> None:
    """Restore the state that `streams_state` returned; NumPy's stream is unchanged."""
    with of_process.lock:
        of_process.chosen, of_process.seed, of_process.draws = state["chosen"], int(state["seed"] or 0), int(state["draws"] or 0)


def key_numbers(seed: int | None = None) -> tuple[int, int]:
    """Return the seed and the stream number for the next draw of random numbers; each call counts as one draw.

    seed  a seed for this draw only; None or 0: that of the stream
    """
    return (_thread.stream or of_process).next(seed)


def next_generator() -> np.random.Generator:
    """Return a NumPy generator for the next draw of random numbers.

    While a graph is made, drawing from it raises an error, since the numbers have to be drawn each time the graph runs.
    """
    graph = emitter()
    if graph is not None:
        return graph.undrawn()
    return np.random.default_rng(key_numbers())
