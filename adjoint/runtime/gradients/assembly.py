"""Turn what a tape has recorded into IR, and make its adjoint."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import Atom, Node, Region, Value
from adjoint.passes.autodiff import Pulled, pullback
from adjoint.passes.escapes import with_escapes
from adjoint.runtime.gradients.path import Path
from adjoint.runtime.gradients.trie import TrieStep

__all__ = ["Assembled", "adjoint_of", "assembled"]


@dataclass(frozen=True)
class Assembled:
    """A part of a path as IR.

    nodes    its nodes; they may use values of the path before it, and values that no step of the path defines
    results  the values of the slots that are wanted at its end
    slots    value -> slot of the tape
    hosts    symbol -> index among the tape's hosts
    """

    nodes: tuple[Node, ...]
    results: tuple[Atom, ...]
    slots: dict[Value, int]
    hosts: dict[str, int]


def assembled(path: Path, start: TrieStep, wanted: Sequence[int]) -> Assembled:
    """Return the steps of the path after `start` as IR; `wanted` are the slots that are needed at its end."""
    slots = {value: slot for slot, value in enumerate(path.values)}
    region, copies = with_escapes(Region((), tuple(path.nodes(start)), tuple([path.values[slot] for slot in wanted])))
    slots.update((copy, slots[value]) for copy, value in copies.items())
    return Assembled(region.nodes, region.results, slots, {symbol: position for position, symbol in enumerate(path.hosts)})


def adjoint_of(made: Assembled, count: int) -> Pulled:
    """Return the gradients of the first `count` results with respect to the others."""
    wanted = made.results[count:]
    return pullback("adjoint", made.nodes, made.results[:count], wanted, (True,) * count)  # pyright: ignore[reportArgumentType] - no literals
