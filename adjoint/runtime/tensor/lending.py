"""Lending: for a while Parameters stand for other tensors.

    with lent([net.weight], [w]) as now:
        y = net(x)              what reads `net.weight` gets `w`, and gradients flow to `w`
        new, = now()            the value of `net.weight`, another one if it was written
    ...                         `net.weight` is as before, also if it was written

So a network becomes a function of tensors, although its layers read and write their Parameters.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.tensor import Tensor, unshared, wrap

__all__ = ["lent"]

_lock = threading.RLock()
"""Held while Parameters have other memory: all threads see that."""

Now = Callable[[], list[Tensor]]


@contextmanager
def lent(parameters: Sequence[Tensor], values: Sequence[Tensor]) -> Iterator[Now]:
    """Let Parameters, or buffers, stand for tensors of their types within `with lent(parameters, values) as now:`.

    `now()` returns the tensors that they stand for at present: those given, and for Parameters that were written their new values.

    While a graph is made, only that graph sees it.  Otherwise the Parameters have the memory of the tensors, for all threads; a thread that
    lends others waits.  Hooks on the Parameters do not run: a gradient is taken by the tensors.
    """
    tape = state.tracer
    if tape is not None and tape.emits is True:
        with tape.lend(parameters, values) as now:
            yield now
        return
    with _lock:
        before = [p.memory for p in parameters]
        given = [unshared(x) for x in values]  # a second reference, so that nothing is written in place

        def now() -> list[Tensor]:
            made = [x if p.memory is memory else wrap(p.type, p.memory) for p, x, memory in zip(parameters, values, given, strict=True)]
            if tape is not None:
                tape.lent_as(parameters, values, made)
            return made

        try:
            for p, memory in zip(parameters, given, strict=True):
                p.memory = memory
            with nullcontext() if tape is None else tape.lend(parameters, values):
                yield now
        finally:
            for p, memory in zip(parameters, before, strict=True):
                p.memory = memory
