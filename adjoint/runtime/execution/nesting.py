"""Nesting: decide which branches and loops run inside of the C call of the straight piece around them.

A straight piece is a part of a plan with no Python in it.  A branch or loop can be part of one if it computes by kernels alone: its regions
hold launches, stacks, accesses of state, and other such branches and loops.  It has memory of its own for its carried values and results,
so Python must not be able to see that a result is the same tensor as another one.

An `if` outside of any loop is nested only if it writes no state and its kernels are quick to compile, since one that is never taken should
compile nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import Atom, tensor_type
from adjoint.ir.ops import attention
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.control import Differentiated, For, If, While
from adjoint.ir.ops.fused import Fused, is_map, is_reduction
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.plan import Access, Block, Control, Launch, Nested, Piece, PieceEntry, PythonAccess, Straight, Transfer, aliases
from adjoint.ir.types import StackType, TensorType
from adjoint.runtime.execution.carrying import accesses_of, carried_by

__all__ = ["Candidate", "by_kernels", "candidate", "holds_memory", "join", "roots_of", "sources_of", "staying"]


_COPIED = 2**16
"""Limit of the bytes of state that a loop may write inside of the call, which copies them; Python hands larger state over without
a copy.
"""


@dataclass(frozen=True, eq=False)
class Candidate:
    """Describes a branch or loop that may be nested, since its regions need no Python; `staying` decides which of the candidates are.

    control  the branch or loop
    inner    all slots (value numbers) that its regions fill
    outside  all slots that its regions read and do not fill
    within   the candidates inside of it
    quick    True if its kernels are quick to compile and it writes no state
    """

    control: Control
    inner: frozenset[int]
    outside: tuple[int, ...]
    within: tuple[Candidate, ...]
    quick: bool


def candidate(piece: Control, known: Mapping[Control, Candidate]) -> Candidate | None:
    """Return a description of a branch or loop that may be nested; None if its regions or results do not allow it.

    piece  the node with its planned regions
    known  the candidates that have been found in its regions
    """
    if not isinstance(piece.node.op, (If, For, While)) or not all(map(holds_memory, piece.node.results)):
        return None
    entries: list[Launch | Access | Transfer | Control] = []
    for each in chain.from_iterable(map(_entries, piece.blocks)):
        match each:
            case Control() if each in known:
                entries.append(each)
            case Launch() | Access() if by_kernels(each):
                entries.append(each)
            case Transfer():
                entries.append(each)
            case _:
                return None
    within = tuple(known[each] for each in entries if isinstance(each, Control))
    inner = {slot for each in entries for slot in each.results}.union(piece.params, *(each.inner for each in within))
    read = [*piece.operands, *(slot for block in piece.blocks for slot in block.yields)]
    for each in entries:
        read += known[each].outside if isinstance(each, Control) else each.operands
    quick = all(each.quick for each in within) and all(map(_quick, entries))
    return Candidate(piece, frozenset(inner), tuple(dict.fromkeys(slot for slot in read if slot not in inner)), within, quick)


def _entries(block: Block) -> Iterator[Launch | Access | PythonAccess | Transfer | Piece]:
    for piece in block.pieces:
        if isinstance(piece, Straight):
            for entry in piece.entries:
                assert not isinstance(entry, Nested)
                yield entry
        else:
            yield piece


def by_kernels(each: Launch | Access) -> bool:
    """Return True if this entry of a plan can be part of a branch or loop that a C call runs: a node that kernels compute, one whose result
    only names its operand, a read of state, or a write of little state.
    """
    if isinstance(each, Access):
        return isinstance(each.node.op, Read) or tensor_type(each.node.operands[0]).nbytes <= _COPIED
    node = each.node
    return (aliases(each) or node.op.can_lower or isinstance(node.op, Fused)) and all(map(_static, (*node.operands, *node.results)))


def _static(x: Atom) -> bool:
    return isinstance(x.type, TensorType) and x.type.is_static


def holds_memory(x: Atom) -> bool:
    """Return True for a tensor of known size, or a stack of such tensors or stacks."""
    type_ = x.type
    while isinstance(type_, StackType):
        type_ = type_.item
    return isinstance(type_, TensorType) and type_.is_static


def _quick(each: Launch | Access | Transfer | Control) -> bool:
    if not isinstance(each, Launch):
        return not isinstance(each.node.op, Write)
    if isinstance(each.node.op, Fused):
        return not isinstance(each.node.op, attention.Attention)
    return aliases(each) or isinstance(each.node.op, Check) or is_map(each.node) or is_reduction(each.node)


# -- which stay -----------------------------------------------------------------------------------------------------------
def staying(
    found: Iterable[Candidate], shown: Set[int], undefined: Set[int], read: Container[int], fresh: Callable[[int], bool]
) -> list[Candidate]:
    """Return those candidates (branches and loops that need no Python) that can run inside of C calls, given the values that Python sees.

    found      the candidates
    shown      the slots (value numbers) that Python sees
    undefined  the slots whose value may be undefined, so that it is not a tensor
    read       the slots that hold tensors of the state
    fresh      returns True for a slot outside of all candidates that is filled with new memory and that Python does not see
    """
    left = list(found)
    while len(stay := _staying_among(left, shown, undefined, read, fresh)) < len(left):
        left = stay
    return left


def _staying_among(
    left: Sequence[Candidate], shown: Set[int], undefined: Set[int], read: Container[int], fresh: Callable[[int], bool]
) -> list[Candidate]:
    known = set(left)
    enclosed = {inner for each in left for inner in each.within}
    flows = {target: sources for each in left for target, sources in sources_of(each.control).items()}
    taken: set[int] = set()
    stay: list[Candidate] = []
    for each in left:
        if not (each.quick or each in enclosed or isinstance(each.control.node.op, (For, While))):
            continue
        if not (known.issuperset(each.within) and each.inner.isdisjoint(shown) and undefined.isdisjoint(each.outside)):
            continue
        # A result that Python sees must be a tensor of its own, whose memory Python sees nowhere else.
        roots = [roots_of(result, flows) for result in each.control.results if result in shown]
        among = set[int]().union(*roots)
        if len(among) < sum(map(len, roots)) or not taken.isdisjoint(among):
            continue
        if not all(fresh(root) or (root in each.inner and root not in read) for root in among):
            continue
        taken |= among
        stay.append(each)
    return stay


def sources_of(control: Control) -> dict[int, list[int]]:
    """Return, for each slot (value number) to which a branch or a loop copies values, the slots from which it copies."""
    if isinstance(control.node.op, If):
        first, second = control.blocks
        return {r: list(pair) for r, *pair in zip(control.results, first.yields, second.yields, strict=True)}
    initial, carried = carried_by(control)
    found = {p: [a, b] for p, a, b in zip(carried, initial, control.blocks[-1].yields, strict=True)}
    return found | {r: [p] for r, p in zip(control.results, carried, strict=True)}


def roots_of(slot: int, flows: Mapping[int, Iterable[int]]) -> set[int]:
    """Return the slots (value numbers) in which the value of `slot` may have been computed, following the copies of control flow backwards.

    flows  for each slot the slots that are copied to it
    """
    roots: set[int] = set()
    left, seen = [slot], {slot}
    while left:
        at = left.pop()
        if at not in flows:
            roots.add(at)
        for source in flows.get(at, ()):
            if source not in seen:
                seen.add(source)
                left.append(source)
    return roots


# -- joining --------------------------------------------------------------------------------------------------------------
def join(block: Block, nested: Mapping[Control, Candidate]) -> Block:
    """Return a block in which nested branches and loops are entries of the straight pieces around them.

    block   the block before, in which each branch and loop is a piece
    nested  the branches and loops to nest

    State is written before a loop begins, since a loop can be interrupted.  A loop that writes state becomes a piece of its own, so that
    values read before it are not in the memory that it writes.  Launches without kernels stay pieces of their own.
    """
    pieces: list[Piece] = []
    straight: list[PieceEntry] = []

    def end() -> None:
        if straight:
            pieces.append(Straight(tuple(straight)))
            straight.clear()

    for piece in block.pieces:
        if isinstance(piece, Straight):
            if not _computedby_kernels(piece):
                end()
                pieces.append(piece)
                continue
            straight += piece.entries
        elif isinstance(piece, Control) and piece in nested:
            if any(isinstance(entry, PythonAccess) and not entry.results for entry in straight):
                end()
            accesses = list(accesses_of(piece))
            writes = tuple(access for access in accesses if isinstance(access.node.op, Write))
            if writes or any(isinstance(entry.node.op, Write) for entry in straight):
                end()
            written = {access.node.op.symbol for access in writes}
            reads = tuple(access for access in accesses if access.node.op.symbol not in written)
            straight.append(Nested(piece, reads, writes, nested[piece].outside))
            if writes:
                end()
        else:
            end()
            if isinstance(piece, Control) and not isinstance(piece.node.op, Differentiated):  # launches inside of gradients are recorded
                piece = Control(piece.node, piece.operands, piece.results, piece.params,
                                tuple(join(inner, nested) for inner in piece.blocks), piece.freed)
            pieces.append(piece)
    end()
    return Block(tuple(pieces), block.yields)


def _computedby_kernels(piece: Straight) -> bool:
    return all(by_kernels(entry) for entry in piece.entries if isinstance(entry, Launch))
