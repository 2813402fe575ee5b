"""Planning: make the plan of a function, which an executor runs.

Planning gives each value a numbered slot.  It sorts nodes into launches of kernels, host calls (calls of Python) and control flow, and
decides which values Python code sees.

identities=True   tensors keep their identity: an argument that is returned is the same object, and a host sees the tensor
                  that another host returned.  Used for graphs.
identities=False  each host call gets new tensors.  Used for adjoints: a hook that writes to the gradient that it gets changes
                  no other gradient.  Hooks of gradients that are part of a graph get new tensors, too.

With `accesses=True` reads and writes of state, and nodes that use stacks, stand between launches instead of being host calls.  The bound
plan then needs the tensors of the state.  A value that is read from state is not shown to Python as long as only launches and writes use
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from itertools import chain

from adjoint.foundation.made import count
from adjoint.ir.core import Atom, Function, Literal, Node, Region, Value, free_of
from adjoint.ir.op import Effect
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.collective import Collective
from adjoint.ir.ops.control import Cell, Differentiated, For, If, RegionOp, While
from adjoint.ir.ops.fused import Fused
from adjoint.ir.ops.host import GradientHost, NumberAccess
from adjoint.ir.ops.stack import Pop, Push, Stack, Undef
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.ops.tuples import Group, Item
from adjoint.ir.plan import (
    Access,
    Block,
    Control,
    HostCall,
    Launch,
    Piece,
    PieceEntry,
    Plan,
    PythonAccess,
    Slot,
    Straight,
    Transfer,
    continues,
)
from adjoint.ir.types import TensorType, Type
from adjoint.runtime.execution.buffers import with_arenas
from adjoint.runtime.execution.nesting import Candidate, by_kernels, candidate, holds_memory, join, roots_of, sources_of, staying

__all__ = ["planned"]

_KEPT = 4096
"""A buffer of at most this many bytes is kept until the plan has run to its end, although nothing reads it any more."""


def planned(function: Function, *, identities: bool, accesses: bool = False) -> Plan:
    """Make the execution plan of a function: the order of what is done, and a slot (a numbered place) for each value.

    identities  True: an argument that is returned, or a tensor that a host (a Python function of the graph) returned, stays the same
        object; False: host calls get new tensors
    accesses    True: reads and writes of state, and nodes on stacks, are entries between the launches of kernels; False: each of them is a
        call of Python
    """
    count("plans")
    planner = _Planner(identities, accesses)
    params = [planner.define(p) for p in function.params]
    body = planner.block(function.body, own_params=True)
    planner.show_read(body.yields)
    if identities:
        planner.show_known(body.yields, params)
    nested = planner.nested()
    slots = tuple(Slot(name, type_, literal, i in planner.shown, state=planner.read.get(i))
                  for i, (name, type_, literal) in enumerate(planner.slots))
    return with_arenas(Plan(function, slots, join(body, nested), identities, accesses))


class _Planner:
    """Makes the plan of one function: gives slots (value numbers) to values, and collects what must be known about the slots.

    shown      the slots whose values Python code sees
    read       for each slot that an access reads, the symbol of the state
    undefined  the slots that an `undef` may reach: their values may not be tensors and may have no memory
    taken_out  the slots of values that Python takes out of stacks and tuples, into which an `undef` may have been put
    flows      for each slot the slots that control flow copies to it; if it is shown, so are they
    launched   the slots that launches fill with memory of their own
    candidates the branches and loops that may be nested; their copies are not in `flows` as long as they are candidates

    identities, accesses  as for `planned`
    """

    def __init__(self, identities: bool, accesses: bool):
        self.identities, self.accesses = identities, accesses
        self.slots: list[tuple[str, Type, Literal | None]] = []
        self.slot_of: dict[Value, int] = {}
        self.constants: dict[tuple[str, Type], int] = {}
        self.shown: set[int] = set()
        self.read: dict[int, str] = {}
        self.undefined: set[int] = set()
        self.taken_out: set[int] = set()
        self.flows: dict[int, set[int]] = {}
        self.launched: set[int] = set()
        self.candidates: dict[Control, Candidate] = {}

    # -- slots ------------------------------------------------------------------------------------------------------
    def define(self, value: Value) -> int:
        slot = self.slot_of[value] = len(self.slots)
        self.slots.append((value.hint, value.type, None))
        return slot

    def slot(self, atom: Atom) -> int:
        if isinstance(atom, Value):
            return self.slot_of[atom]
        # The key is the number's text: 0.0 and -0.0 compare equal.
        key = (repr(atom.value), atom.type)
        if key not in self.constants:
            self.constants[key] = len(self.slots)
            self.slots.append((repr(atom.value), atom.type, atom))
        return self.constants[key]

    def show(self, *slots: int) -> None:
        self.shown.update(slots)

    def show_read(self, slots: Iterable[int]) -> None:
        """Mark those of these slots (value numbers) that were read from state as seen by Python: it may get them as the state's tensor
        itself.
        """
        self.show(*(slot for slot in slots if slot in self.read))

    def show_known(self, results: Sequence[int], params: Sequence[int]) -> None:
        """Mark each result as seen by Python that may be the same tensor as an argument, a tensor of the state or another result.

        A result that a loop carries is left out: the loop may run in a C call, and then its result is a new tensor.

        results  the slots (value numbers) of the function's results
        params   the slots of its parameters
        """
        sources: dict[int, Iterable[int]] = {**self.flows}
        for each in self.candidates:
            if isinstance(each.node.op, If):
                sources.update(sources_of(each))
        origins = [{root for root in roots_of(slot, sources) if self.slots[root][2] is None} for slot in results]
        met = Counter(chain.from_iterable(origins))
        known = {*params, *self.read, *(root for root, count in met.items() if count > 1)}
        self.show(*(slot for slot, roots in zip(results, origins, strict=True) if not known.isdisjoint(roots)))

    def flow(self, sources: Iterable[int], targets: Iterable[int]) -> None:
        for source, target in zip(sources, targets, strict=True):
            self.flows.setdefault(target, set()).add(source)

    def spread(self) -> None:
        """Complete `shown`: add the slots (value numbers) that may be undefined, and all slots from which control flow copies values to a
        shown one.
        """
        self.undefined = self.reached(self.undefined)
        self.show(*self.undefined)
        left = list(self.shown)
        while left:
            for source in self.flows.get(left.pop(), ()):
                if source not in self.shown:
                    self.shown.add(source)
                    left.append(source)

    def reached(self, slots: set[int]) -> set[int]:
        """Return these slots (value numbers) and all slots to which an `if` or a loop copies their values, directly or by way of others."""
        found = set(slots)
        while more := [target for target, sources in self.flows.items() if target not in found and sources & found]:
            found.update(more)
        return found

    def nested(self) -> dict[Control, Candidate]:
        """Decide which branches and loops are nested, and return them; `shown` is complete afterwards."""
        while True:
            self.spread()
            undefined = self.reached(self.undefined | self.taken_out)
            left = staying(self.candidates.values(), self.shown, undefined, self.read, self.fresh)
            if len(left) == len(self.candidates):
                return self.candidates
            stay = {each.control: each for each in left}
            for piece in self.candidates.keys() - stay.keys():
                self.connect(piece)
            self.candidates = stay

    def fresh(self, slot: int) -> bool:
        """Return True if a launch or a constant fills a slot (value number) with memory that Python does not see."""
        return slot not in self.shown and (slot in self.launched or self.slots[slot][2] is not None)

    # -- nodes ------------------------------------------------------------------------------------------------------
    def block(self, region: Region, own_params: bool = False) -> Block:
        """Plan the nodes of a region, whose parameters have slots (value numbers) already.

        own_params  True if its parameters may be freed, since nothing outside of the region reads them
        """
        pieces: list[Piece] = []
        straight: list[PieceEntry] = []
        dying = _last_uses(region, own_params, self.accesses)
        computed: set[Value] = set()
        for index, node in enumerate(region.nodes):
            operands = tuple(self.slot(atom) for atom in node.operands)
            results = tuple(self.define(value) for value in node.results)
            last = dying.get(index, ())
            freed = tuple(self.slot_of[value] for value in last)
            if isinstance(node.op, RegionOp) and not isinstance(node.op, Fused):
                piece: Piece | None = self.control(node, operands, results, freed)
            elif self.accesses and isinstance(node.op, (Read, Write)):
                piece = None
                own = self.own(node, computed, last)
                straight.append(Access(node, operands, results, freed, own))
                self.read.update(dict.fromkeys(results, node.op.symbol))
            elif self.accesses and isinstance(node.op, NumberAccess):
                piece = None
                straight.append(PythonAccess(node, operands, results, freed))
            elif self.accesses and _transfers(node):
                piece = None
                straight.append(each := Transfer(node, operands, results, freed))
                self.launched.update(results[1:] if continues(each) else results)
            elif _meets_python(node):
                own = self.own(node, computed, last)
                piece = HostCall(node, operands, results, freed, own)
                if (self.identities and not isinstance(node.op, GradientHost)) or _holds_others(node):
                    self.show(*operands, *results)
                if isinstance(node.op, Undef):
                    self.undefined.update(results)
                elif isinstance(node.op, (Pop, Item)):
                    self.taken_out.update(results)
            else:
                launch = Launch(node, operands, results, freed)
                # An op without kernels is a piece of its own, so that its neighbours still run by one call.
                piece = None if by_kernels(launch) else Straight((launch,))
                if piece is None:
                    straight.append(launch)
                computed.update(node.results)
                if not continues(launch):
                    self.launched.update(results)
            if piece is not None:
                if straight:
                    pieces.append(Straight(tuple(straight)))
                    straight = []
                pieces.append(piece)
        if straight:
            pieces.append(Straight(tuple(straight)))
        return Block(tuple(pieces), tuple(self.slot(atom) for atom in region.results))

    def own(self, node: Node, computed: Container[Value], last: Container[Value]) -> tuple[int, ...]:
        """Return the slots (value numbers) of those operands of a node that a launch of the same region computes and that no other node
        uses.

        computed  the values that launches of the region compute
        last      the values that the node is the last to use
        """
        return tuple(self.slot_of[x] for x in node.operands if isinstance(x, Value) and x in computed and x in last)

    def control(self, node: Node, operands: tuple[int, ...], results: tuple[int, ...], freed: tuple[int, ...]) -> Control:
        params = tuple(self.define(p) for region in node.regions[-1:] for p in region.params)
        whole = isinstance(node.op, (Cell, Differentiated))
        blocks = tuple(self.block(region, own_params=whole) for region in node.regions)
        piece = Control(node, operands, results, params, blocks, freed)
        found = candidate(piece, self.candidates)
        if found is None:
            self.connect(piece)
        else:
            self.candidates[piece] = found
        return piece

    def connect(self, piece: Control) -> None:
        """Record, for a node with regions, between which slots (value numbers) Python copies values when it runs the node, and which it
        sees then.
        """
        node, operands, results, params, blocks = piece.node, piece.operands, piece.results, piece.params, piece.blocks
        self.show_read(operands)
        for block in blocks:
            self.show_read(block.yields)
        match node.op:
            case If():
                for block in blocks:
                    self.flow(block.yields, results)
            case For():
                self.loop(operands[3:], params[1:], blocks[0], results)
            case While():
                self.loop(operands, params, blocks[1], results)
            case Cell():
                self.flow(operands, params)
                self.flow(blocks[0].yields, results)
                if self.identities and node.op.title:
                    # Stacks that the gradient of a loop around passes through are no tensors, and its hooks do not get them.
                    seen = (*operands, *params, *blocks[0].yields, *results)
                    self.show(*(slot for slot in seen if isinstance(self.slots[slot][1], TensorType)))
            case _:
                # The region runs on tensors.
                free = [self.slot_of[value] for region in node.regions for value in free_of(region)]
                self.show(*operands, *results, *params, *free)

    def loop(self, initial: Sequence[int], params: Sequence[int], body: Block, results: Sequence[int]) -> None:
        self.flow(initial, params)
        self.flow(body.yields, params)
        self.flow(params, results)


def _meets_python(node: Node) -> bool:
    return _holds_others(node) or (node.op.effect is not Effect.PURE and not isinstance(node.op, (Check, Collective)))


def _holds_others(node: Node) -> bool:
    """Return True if a node has operands or results that are not tensors."""
    return isinstance(node.op, (Stack, Push, Pop, Undef, Group, Item))


def _transfers(node: Node) -> bool:
    """Return True for a node on stacks or undefined values that can be held as memory, so that it needs no Python."""
    return isinstance(node.op, (Stack, Push, Pop, Undef)) and all(map(holds_memory, (*node.operands, *node.results)))


def _last_uses(region: Region, own_params: bool, accesses: bool) -> dict[int, list[Value]]:
    """Return which values each node is the last to use, by the index of the node in the region.

    Only large values are listed, and values of state, whose memory a later write may use again.

    own_params  True if the region's parameters are listed too
    accesses    True if values read from state are listed, too, whatever their size
    """
    last: dict[Value, int] = dict.fromkeys(region.params, 0) if own_params and region.nodes else {}
    for index, node in enumerate(region.nodes):
        last.update(dict.fromkeys(node.results, index))
        for atom in (*node.operands, *(value for inner in node.regions for value in free_of(inner))):
            if atom in last:
                last[atom] = index
    read = {value for node in region.nodes if accesses and isinstance(node.op, Read) for value in node.results}
    dying: dict[int, list[Value]] = {}
    for value, index in last.items():
        if isinstance(value.type, TensorType) and (value.type.nbytes > _KEPT or value in read) and value not in region.results:
            dying.setdefault(index, []).append(value)
    return dying
