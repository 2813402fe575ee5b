"""Seeds and streams.

Every random op draws from a stream of its own: a key of the global seed and the number of the draw.  The numbers come
from the counter-based generator in `ir/ops/random.py`, so a draw depends on its key and shape alone, never on threads.
"""

from __future__ import annotations

import os
import threading

import numpy as np

from adjoint.runtime.process.tracer import emitter

__all__ = ["get_seed", "key_numbers", "next_generator", "set_seed", "times_seeded"]


class _Stream:
    """seed: None until the user sets one; draws: how many keys were given out since; times: how often one was set."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.chosen: int | None = None
        self.seed = int.from_bytes(os.urandom(8), "little") >> 1
        self.draws = 0
        self.times = 0


_stream = _Stream()


def set_seed(seed: int) -> None:
    """Begin all random streams anew from `seed`, NumPy's global one too; TypeError, ValueError for a negative one."""
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
    """The seed that was set, None when none was."""
    return _stream.chosen


def times_seeded() -> int:
    """How often `set_seed` was called in this process."""
    return _stream.times


def streams_state() -> dict[str, int | None]:
    """Return where the random streams are, as ints: the seed that was set, the seed in force, and the draws since."""
    with _stream.lock:
        return {"chosen": _stream.chosen, "seed": _stream.seed, "draws": _stream.draws}


def load_streams(state: dict[str, int | None]) -> None:
    """Let the random streams go on where `streams_state` found them; NumPy's stays where it is."""
    with _stream.lock:
        _stream.chosen, _stream.seed, _stream.draws = state["chosen"], int(state["seed"] or 0), int(state["draws"] or 0)


def key_numbers(seed: int | None = None) -> tuple[int, int]:
    """Seed and stream number of the next draw; `seed`, if given and not 0, takes the global seed's place."""
    with _stream.lock:
        draw = _stream.draws
        _stream.draws += 1
        return (seed or _stream.seed), draw


def next_generator() -> np.random.Generator:
    """NumPy's generator of the next draw.  While a graph is made it is one that nothing can be drawn from: each run would draw anew."""
    graph = emitter()
    if graph is not None:
        return graph.undrawn()
    return np.random.default_rng(key_numbers())
