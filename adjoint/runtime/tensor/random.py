"""Seeds and random streams.

Every random op draws from a stream of its own, identified by a key: the global seed and the number of the draw.  The numbers come from the
counter-based generator in `ir/ops/random.py`, so a draw depends on its key and shape alone, never on threads.
"""

from __future__ import annotations

import os

import numpy as np

from adjoint.foundation.locking import Lock
from adjoint.runtime.process.tracer import emitter

__all__ = ["get_seed", "key_numbers", "next_generator", "set_seed", "times_seeded"]


class _Stream:
    """Holds the state of all random streams of the process.

    chosen  the seed that the user has set; None if none was set
    seed    the seed in use
    draws   the number of keys given out since the seed was set
    times   how often a seed was set
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.chosen: int | None = None
        self.seed = int.from_bytes(os.urandom(8), "little") >> 1
        self.draws = 0
        self.times = 0


_stream = _Stream()


def set_seed(seed: int) -> None:
    """Restart all random streams from `seed`, and NumPy's global one; TypeError if it is not an int, ValueError if it is negative."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"For 'set_seed', the argument 'seed' must be an int, but got {seed!r} of type {type(seed).__name__}.")
    if not 0 <= seed < 2**63:
        raise ValueError(f"For 'set_seed', the argument 'seed' must be in [0, 2**63), but got {seed}.")
    np.random.seed(int(seed) % 2**32)
    with _stream.lock:
        _stream.chosen = _stream.seed = int(seed)
        _stream.draws = 0
        _stream.times += 1


def get_seed() -> int | None:
    """Return the seed that was set; None if none was."""
    return _stream.chosen


def times_seeded() -> int:
    """Return how often `set_seed` was called in this process."""
    return _stream.times


def streams_state() -> dict[str, int | None]:
    """Return the state of the random streams as ints: the seed that was set, the seed in use, and the number of draws since."""
    with _stream.lock:
        return {"chosen": _stream.chosen, "seed": _stream.seed, "draws": _stream.draws}


def load_streams(state: dict[str, int | None]) -> None:
    """Restore the state that `streams_state` returned; NumPy's stream is unchanged."""
    with _stream.lock:
        _stream.chosen, _stream.seed, _stream.draws = state["chosen"], int(state["seed"] or 0), int(state["draws"] or 0)


def key_numbers(seed: int | None = None) -> tuple[int, int]:
    """Return the seed and the stream number for the next draw of random numbers; each call counts as one draw.

    seed  a seed for this draw only; None or 0: the global seed
    """
    with _stream.lock:
        draw = _stream.draws
        _stream.draws += 1
        return (seed or _stream.seed), draw


def next_generator() -> np.random.Generator:
    """Return a NumPy generator for the next draw of random numbers.

    While a graph is made, drawing from it raises an error, since the numbers have to be drawn each time the graph runs.
    """
    graph = emitter()
    if graph is not None:
        return graph.undrawn()
    return np.random.default_rng(key_numbers())
