"""The plan of a function: the order of execution, and the slot of each value.

    Plan      slots, the slots of the parameters, the block of the body
    Block     the pieces of a region, in order, and the slots that it yields
    Piece     Straight: launches of kernels with no Python between them, accesses of state, and nested control flow
              HostCall: one node that calls Python, or uses state or a stack
              Control:  one node with regions, and their blocks

A branch or loop that needs no Python is nested in the straight piece around it (`Nested`).

A value that is used only inside of one straight piece has its buffer in the piece's arena: one block of memory, in which buffers whose
values are not needed at the same time share bytes.  Every other value has memory of its own.

A plan refers to slots by number and to hosts and state by symbol.  It holds no memory, no pointer and no Python object, so
that an executor can bind it, a person can read it, and a C file can be printed from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.core import Function, Literal, Node
from adjoint.ir.ops.control import Cell, Differentiated
from adjoint.ir.ops.stack import Pop, Push
from adjoint.ir.types import Type

__all__ = ["Access", "Block", "Control", "HostCall", "Launch", "Nested", "Piece", "PieceEntry", "Plan", "PythonAccess", "Slot", "Straight",
           "Transfer", "aliases", "continues"]


@dataclass(frozen=True, slots=True)
class Slot:
    """Describes one value of a plan: its name and where its memory is.

    name     the value's name, for display
    literal  the constant that it holds, for a constant
    shown    True if Python code sees the value: it is then held as a tensor, else as memory
    offset   where its buffer begins in the arena (the memory that the values of a piece share), in bytes; None if it has memory of its own
    state    the symbol whose value it is, for a value that an access reads
    """

    name: str
    type: Type
    literal: Literal | None = None
    shown: bool = False
    offset: int | None = None
    state: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _OfNode:
    """An entry of a plan for one node, with the slots (value numbers) that it reads and fills.

    freed  slots that nothing reads after it
    """

    node: Node
    operands: tuple[int, ...]
    results: tuple[int, ...]
    freed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Launch(_OfNode):
    """An entry of a plan for a node that kernels compute."""


@dataclass(frozen=True, slots=True, eq=False)
class Access(_OfNode):
    """A read or a write of state, between launches: no Python code of the user's can run before, during or after it.

    dying  operands that only this node uses
    """

    dying: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Transfer(_OfNode):
    """An entry for a node that makes a stack, pushes to it or pops from it, or leaves a value undefined.  It stands between launches.

    A stack is memory as any value is; it changes in place, since it is used once.
    """


@dataclass(frozen=True, slots=True, eq=False)
class PythonAccess(_OfNode):
    """An entry for a node that reads or writes numbers that Python objects hold.  In a piece, reads come before all launches, writes after
    them.
    """


@dataclass(frozen=True, slots=True, eq=False)
class HostCall(_OfNode):
    """A node that calls the user's Python code, uses state, or handles values that are no tensors.

    dying  operands that only this node uses
    """

    dying: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Control:
    """A node with regions, such as a branch, a loop or a cell, as a part of a plan.

    params  the slots of its regions' parameters
    blocks  the plans of its regions
    freed   slots that nothing reads after it
    """

    node: Node
    operands: tuple[int, ...]
    results: tuple[int, ...]
    params: tuple[int, ...]
    blocks: tuple[Block, ...]
    freed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Nested:
    """A branch or loop in a straight piece: its regions hold launches, transfers, accesses of state and other branches and loops.

    Its buffers are in the arena of the piece, at other offsets than its slots say: those count where the regions run as blocks.

    control   the node and its blocks, of which a straight piece or nested control flow are the only pieces
    reads     the reads in its regions of state that does not change while it runs
    writes    the writes of state in its regions
    operands  all slots from outside of its regions that they, or the node itself, read
    offsets   by slot of its regions, where its buffer begins in the arena, in bytes
    spares    by result of a loop, where the buffer of the next round's value begins, if the region does not compute it in place
    """

    control: Control
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    operands: tuple[int, ...]
    offsets: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    spares: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def node(self) -> Node:
        """Return the branch or loop as a node of the IR."""
        return self.control.node

    @property
    def results(self) -> tuple[int, ...]:
        """Return the slots (value numbers) of the node's results."""
        return self.control.results

    @property
    def freed(self) -> tuple[int, ...]:
        """Return the slots (value numbers) that nothing reads after the node."""
        return self.control.freed


@dataclass(frozen=True, slots=True, eq=False)
class Straight:
    """A piece of a plan that runs without Python in between: launches, and the state and stacks that they use.

    entries  launches, accesses, transfers and nested control flow in the order of the program
    arena    the bytes of its arena (the memory that its values share)
    kept     the results that are used after it
    """

    entries: tuple[PieceEntry, ...]
    arena: int = 0
    kept: frozenset[int] = frozenset()

    @property
    def launches(self) -> tuple[Launch, ...]:
        """Return all launches of the piece, also those inside of nested branches and loops."""
        return tuple(_launches(self.entries))


PieceEntry = Launch | Access | PythonAccess | Transfer | Nested
"""The entries of which a straight piece consists."""

Piece = Straight | HostCall | Control


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The plan of a region: its pieces in order, and the slots (value numbers) that it yields."""

    pieces: tuple[Piece, ...]
    yields: tuple[int, ...]


def aliases(entry: PieceEntry) -> bool:
    """Return True if an entry is a launch whose result shares the memory of its operand, as a reshape does."""
    return getattr(entry.node.op, "aliases", False)


def continues(entry: PieceEntry | Control) -> bool:
    """Return True if the first result is the first operand, in the same memory: of a launch that aliases it, or as a stack."""
    return isinstance(entry, (Launch, Transfer)) and (aliases(entry) or isinstance(entry.node.op, (Push, Pop)))


def _launches(entries: tuple[PieceEntry, ...]) -> Iterator[Launch]:
    for entry in entries:
        if isinstance(entry, Launch):
            yield entry
        elif isinstance(entry, Nested):
            yield from _launches_in(entry.control)


def _launches_in(control: Control) -> Iterator[Launch]:
    for block in control.blocks:
        for piece in block.pieces:
            if isinstance(piece, Straight):
                yield from _launches(piece.entries)
            elif isinstance(piece, Control):
                yield from _launches_in(piece)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The plan of a function; the first slots are those of its parameters.

    identities  True if tensors keep their identity: an argument that is returned is the same object
    accesses    True if state and stacks are used between launches, not by Python
    """

    function: Function
    slots: tuple[Slot, ...]
    body: Block
    identities: bool = True
    accesses: bool = False

    def certain_launches(self) -> Iterator[Launch]:
        """Yield the launches that happen whenever the function is executed: all but those in branches and loops."""
        blocks = [self.body]
        for block in blocks:
            for piece in block.pieces:
                match piece:
                    case Straight():
                        yield from piece.launches
                    case Control(node=Node(op=Cell() | Differentiated())):
                        blocks += piece.blocks
                    case _:
                        pass

    @property
    def params(self) -> range:
        """Return the slots of the parameters."""
        return range(len(self.function.params))
