"""Turns what a tape (the recording of a thread's operations) has recorded into IR, and makes the adjoint or the tangents of it."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import Atom, Node, Region, Value
from adjoint.passes import forward as forward_mode
from adjoint.passes.autodiff import Pulled, pullback
from adjoint.passes.escapes import with_escapes
from adjoint.runtime.gradients.path import Path
from adjoint.runtime.gradients.trie import TrieStep

__all__ = ["Assembled", "adjoint_of", "assembled", "tangents_of"]


@dataclass(frozen=True)
class Assembled:
    """A part of a recorded program as IR, from which `adjoint_of` makes the function that computes gradients.

    nodes    its nodes; they may use values that were recorded before, and values from outside of the recording
    results  the values that were requested: those to differentiate, then those to differentiate by
    slots    for each value its slot (value number) on the tape
    hosts    for the symbol of each hook or bprop its index among the tape's hosts
    """

    nodes: tuple[Node, ...]
    results: tuple[Atom, ...]
    slots: dict[Value, int]
    hosts: dict[str, int]


def assembled(path: Path, start: TrieStep, wanted: Sequence[int]) -> Assembled:
    """Return as IR what a tape has recorded after the step `start`.

    path    what the tape has recorded from its beginning, as a path through the trie (the tree of all recordings)
    start   the recorded event after which the IR begins
    wanted  the tape's slots (value numbers) of the values that become the results: first those to differentiate, then those to
        differentiate by
    """
    slots = {value: slot for slot, value in enumerate(path.values)}
    region, copies = with_escapes(Region((), tuple(path.nodes(start)), tuple([path.values[slot] for slot in wanted])))
    slots.update((copy, slots[value]) for copy, value in copies.items())
    return Assembled(region.nodes, region.results, slots, {symbol: position for position, symbol in enumerate(path.hosts)})


def adjoint_of(made: Assembled, count: int, hooks: bool = True) -> Pulled:
    """Make the function that computes gradients of recorded IR, and return it with what its caller must know (`Pulled`).

    count  how many of the results, from the first on, are differentiated; the other results are what they are differentiated by
    hooks  False to leave out hooks on gradients
    """
    wanted, nodes = made.results[count:], made.nodes if hooks else forward_mode.without_hooks(made.nodes)
    return pullback("adjoint", nodes, made.results[:count], wanted, (True,) * count)  # pyright: ignore[reportArgumentType] - no literals


def tangents_of(made: Assembled, count: int) -> forward_mode.Pushed:
    """Make the function that computes tangents of recorded IR, and return it with what its caller must know (`Pushed`).

    count  how many of the results, from the first on, have a tangent; the other results are what they are differentiated by

    NoGradient if the recording has no derivative in forward mode.
    """
    inputs = made.results[count:]
    return forward_mode.pushforward("tangents", made.nodes, made.results[:count], inputs)  # pyright: ignore[reportArgumentType] - no literals
