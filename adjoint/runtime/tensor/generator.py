"""Generators: states of random numbers that a program reads, restores and gives to operators, in MindSpore's form."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from adjoint.ir.types import U8
from adjoint.runtime.process.tracer import emitter
from adjoint.runtime.tensor.random import RandomStream, of_process
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state", "stream_of"]

_BYTES = 16


class Generator:
    """A state of random numbers: a seed, and how many draws were made since it was set.  A new one has seed 0.

    `mint.rand` and its like draw from the Generator that is given as `generator`.
    """

    def __init__(self) -> None:
        self._stream = RandomStream(0)

    def seed(self) -> int:
        """Set a seed that the operating system draws, below 2**32, and return it."""
        chosen = int.from_bytes(os.urandom(4), "little")
        self._stream.restart(chosen)
        return chosen

    def manual_seed(self, seed: int) -> Generator:
        """Set the seed, and return the Generator.

        TypeError if it is not an int; RuntimeError if it has more than 64 bits.
        """
        if not isinstance(seed, int):
            raise TypeError(f"For 'Generator.manual_seed', the argument 'seed' must be an int, but got {seed!r} of type "
                            f"{type(seed).__name__}.")
        if not -(2**63) <= seed < 2**64:
            raise RuntimeError(f"For 'Generator.manual_seed', the argument 'seed' must have at most 64 bits, but got {seed}.")
        self._stream.restart(_signed(int(seed)))
        return self

    def initial_seed(self) -> int:
        """Return the seed that was set last."""
        return self._stream.seed

    def get_state(self) -> Tensor:
        """Return the state: UInt8 of shape (16,), the bytes of the seed and of the number of draws."""
        with self._stream.lock:
            numbers = self._stream.seed, self._stream.draws
        return Tensor(np.frombuffer(np.array(numbers, "<i8").tobytes(), np.uint8))

    def set_state(self, state: Tensor) -> None:
        """Restore a state that `get_state` returned.  RuntimeError for anything but a UInt8 tensor of 16 elements."""
        if not isinstance(state, Tensor) or state.dtype is not U8 or state.size != _BYTES:
            got = f"{state.dtype} of shape {state.shape}" if isinstance(state, Tensor) else f"{state!r} of type {type(state).__name__}"
            raise RuntimeError(f"For 'Generator.set_state', the argument 'state' must be a UInt8 tensor of {_BYTES} elements, "
                               f"but got {got}.")
        chosen, draws = np.frombuffer(state.asnumpy().tobytes(), "<i8").tolist()
        self._stream.restart(chosen, draws)


def _signed(seed: int) -> int:
    return seed - 2**64 if seed >= 2**63 else seed


default_generator = Generator()
"""The Generator that operators draw from unless they are given another one: `set_seed` sets its seed, too."""
default_generator._stream = of_process


def stream_of(op: str, generator: Any) -> RandomStream:
    """Return the random stream from which an operator draws: that of its argument `generator`, or that of the process for None.

    TypeError if `generator` is neither None nor a Generator; in a graph also for any Generator but the default one, since each run would
    have to change its state.

    op  the operator's name, for the message
    """
    if generator is None:
        return of_process
    if not isinstance(generator, Generator):
        raise TypeError(f"For '{op}', the argument 'generator' must be a Generator or None, but got {generator!r} "
                        f"of type {type(generator).__name__}.")
    if emitter() is not None and generator is not default_generator:
        raise TypeError(f"For '{op}', the argument 'generator' must be None in a graph, which draws from the state that `set_seed` and "
                        f"`manual_seed` set, but got {generator!r}.")
    return generator._stream


def get_rng_state() -> Tensor:
    """Return the state that operators draw from: UInt8 of shape (16,)."""
    return default_generator.get_state()


def set_rng_state(state: Tensor) -> None:
    """Restore a state that `get_rng_state` returned.  RuntimeError for anything but a UInt8 tensor of 16 elements."""
    default_generator.set_state(state)


def seed() -> int:
    """Let operators draw from a seed that the operating system chooses, below 2**32, and return it.  `get_seed` does not show it."""
    return default_generator.seed()


def manual_seed(seed: int) -> Generator:
    """Set the seed that operators draw from, and return `default_generator`.  NumPy's stream and `get_seed` stay as they are.

    TypeError if it is not an int; RuntimeError if it has more than 64 bits.
    """
    return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """Return the seed that operators draw from: that which was set last, else one that the operating system chose."""
    return default_generator.initial_seed()
