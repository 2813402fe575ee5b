"""Where the values of a standalone function are: in an arena, in the memory of state, or in the caller's.

There is an arena for each C type of elements: an array whose size is known.  A value has its items from the node that computes it to the
last one that reads it; then other values of the type use them.  Values of other types never do: compilers take it that a number that is
written through a pointer to one type is not read through a pointer to another one, and change the order of the two.

    y = reshape(x)                y is the memory of x
    w = read @w                   w is the memory of the state, unless @w is written while w is still read: then it is copied
    m = update(w, ..); write @w(m)   an op that works in place computes m in the memory of the state
    if, for, while                results, and what a loop carries, keep their bytes while the regions run
    for .. carry (h = h0)         if nothing reads h any more, what the next round gets is computed in its bytes

A stack is its depth and room for as many items as there can be rounds.  It changes in place, since each stack value is used once.

A function for several batches has one plan, with room for the largest values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from adjoint.codegen.errors import NOT_STANDALONE
from adjoint.codegen.standalone.batch import Versions
from adjoint.codegen.standalone.hooks import HOOKS
from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.arena import Arena
from adjoint.ir.core import Atom, Function, Literal, Node, Region, Value, free_of
from adjoint.ir.ops.control import For, If, While, known_rounds
from adjoint.ir.ops.stack import Pop, Push, Stack, Undef
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import DTYPES, StackType, TensorType, Type

__all__ = ["ALIGNMENT", "SIZES", "MemoryPlan", "Room", "ValueLayout", "aligned", "element_of", "loop_parts", "memory_of"]

ALIGNMENT: Final = 8
"""Values begin at multiples of this number of bytes in the arena."""

SIZES: Final = {dtype.c_name: dtype.size for dtype in DTYPES.values()}
"""The bytes of each C type of elements."""


def aligned(nbytes: int) -> int:
    """Return the number of bytes rounded up to a multiple of the alignment."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


@dataclass(eq=False)
class Room:
    """The room of one or several stacks that are the same memory.

    capacity  how many items there can be
    item      the bytes of an item; for a stack of stacks the room of each
    bounded   True: there may be more rounds than it has room for, so that a push can fail
    same      the room that this one was joined with, if it was
    """

    item: int | Room
    capacity: int = 0
    bounded: bool = False
    same: Room | None = None

    @property
    def found(self) -> Room:
        """Return the room that stands for all that this one was joined with."""
        return self if self.same is None else self.same.found

    @property
    def item_bytes(self) -> int:
        """Return the bytes of an item."""
        item = self.found.item
        return item.nbytes if isinstance(item, Room) else item

    @property
    def nbytes(self) -> int:
        """Return the bytes of the stack: its depth, and its items."""
        return ALIGNMENT + self.found.capacity * aligned(self.item_bytes)


@dataclass
class MemoryPlan:
    """Where the values of one function are.

    roots    for each value the one that owns its memory: itself, or another
    offsets  for each value that owns memory in an arena, the byte in that of its type where it begins
    states   for each value that is the memory of state, the symbol
    shared   for each value that has the memory of a result, of the function or of a branch, the index of that result
    spares   for each loop: by index of a carried value, where it is kept while the carried values change places
    scratch  for each node, where each scratch buffer of its kernel begins
    rooms    the room of each stack
    most     for each tensor whose size depends on the batch the bytes of the largest
    arenas   for each C type of elements the bytes of its arena
    """

    roots: dict[Value, Value] = field(default_factory=dict)
    offsets: dict[Value, int] = field(default_factory=dict)
    states: dict[Value, str] = field(default_factory=dict)
    shared: dict[Value, int] = field(default_factory=dict)
    spares: dict[Node, dict[int, int]] = field(default_factory=dict)
    scratch: dict[Node, list[int]] = field(default_factory=dict)
    rooms: dict[Value, Room] = field(default_factory=dict)
    most: dict[Value, int] = field(default_factory=dict)
    arenas: dict[str, int] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Return the bytes of all arenas."""
        return sum(self.arenas.values())

    def root(self, value: Value) -> Value:
        """Return the value that owns the memory of a value."""
        return self.roots.get(value, value)

    def size(self, value: Value) -> int:
        """Return the bytes of a value, at most."""
        if isinstance(value.type, StackType):
            return self.rooms[value].nbytes
        assert isinstance(value.type, TensorType)
        return self.most.get(value, value.type.nbytes)


def element_of(type_: Type) -> str:
    """Return the C type of the items of a tensor; a stack is made of numbers of 64 bits, into which items of any type are copied."""
    if isinstance(type_, StackType):
        return "int64_t"
    assert isinstance(type_, TensorType)
    return type_.dtype.c_name


def memory_of(versions: Versions, scratch: Callable[[Node], Sequence[tuple[str, int]]], max_rounds: int | None = None) -> MemoryPlan:
    """Return where the values of a function are.

    versions    the function, for one batch or several
    scratch     returns the C type of the elements and the bytes of each scratch buffer of a node's kernel
    max_rounds  the largest number of rounds of a loop that keeps values for its gradient and whose rounds are not known

    CompileError for such a loop without `max_rounds`.
    """
    memory = MemoryPlan(rooms=_Rooms(versions, max_rounds).of(versions.function), most=versions.most_bytes())
    ValueLayout(versions.function, memory, scratch).body(versions.function)
    return memory


def loop_parts(node: Node) -> tuple[Sequence[Atom], Sequence[Value]]:
    """Return the initial values of what a loop carries, and the parameters that hold it in a round."""
    if isinstance(node.op, For):
        return node.operands[3:], node.regions[0].params[1:]
    return node.operands, node.regions[1].params


# -- stacks ---------------------------------------------------------------------------------------------------------------
class _Rooms:
    """Finds how many items each stack can have: how often it is pushed to, at most.

    depth  for each stack value, the number of items it has at most
    """

    def __init__(self, versions: Versions, max_rounds: int | None):
        self.versions, self.max_rounds = versions, max_rounds
        self.rooms: dict[Value, Room] = {}
        self.depth: dict[Value, int] = {}

    def of(self, function: Function) -> dict[Value, Room]:
        self.region(function.body)
        return {value: room.found for value, room in self.rooms.items()}

    def region(self, region: Region) -> None:
        for node in region.nodes:
            self.node(node)

    def node(self, node: Node) -> None:
        match node.op:
            case Stack() | Undef() if isinstance(node.results[0].type, StackType):
                self.define(node.results[0], _room_for(self.versions.types_of(node.results[0])), 0)
            case Push():
                stack, item = node.operands
                room = self.room(stack)
                if isinstance(item.type, StackType):
                    assert isinstance(room.item, Room)
                    _join(room.item, self.room(item))
                self.define(node.results[0], room, self.depth_of(stack) + 1)
            case Pop():
                room = self.room(node.operands[0])
                self.define(node.results[0], room, self.depth_of(node.operands[0]))
                if isinstance(room.item, Room):
                    self.define(node.results[1], room.item, room.item.found.capacity)
            case If():
                for region in node.regions:
                    self.region(region)
                for result, *yields in zip(node.results, *(region.results for region in node.regions), strict=True):
                    if isinstance(result.type, StackType):
                        for each in yields:
                            self.define(result, self.room(each), self.depth_of(each))
            case For() | While():
                self.loop(node)
            case _:
                pass

    def loop(self, node: Node) -> None:
        initial, params = loop_parts(node)
        stacks = [i for i, param in enumerate(params) if isinstance(param.type, StackType)]
        for i in stacks:
            self.define(params[i], self.room(initial[i]), self.depth_of(initial[i]))
        for region in node.regions:
            self.region(region)
        for i in stacks:
            last = node.regions[-1].results[i]
            begin = self.depth_of(initial[i])
            more = self.depth_of(last) - begin
            room = self.room(last)
            _join(room, self.room(params[i]))
            rounds, is_known = self.rounds(node) if more > 0 else (0, True)
            self.define(node.results[i], room, begin + more * rounds)
            room.found.bounded |= not is_known

    def rounds(self, node: Node) -> tuple[int, bool]:
        """Return the largest number of rounds of a loop, and whether there cannot be more; CompileError if none is known."""
        known = [known_rounds(each.operands[:3]) if isinstance(node.op, For) else None for each in self.versions.nodes_of(node)]
        if None not in known:
            return max(len(rounds) for rounds in known if rounds is not None), True
        if self.max_rounds is None:
            raise NOT_STANDALONE.at(
                node.loc, "the gradient of this loop keeps values of each round, and the number of rounds is known only when it runs",
                help="give the largest number of rounds: max_steps=100 (--max-steps 100)")
        return self.max_rounds, False

    def room(self, atom: Atom) -> Room:
        assert isinstance(atom, Value)
        return self.rooms[atom].found

    def depth_of(self, atom: Atom) -> int:
        assert isinstance(atom, Value)
        return self.depth[atom]

    def define(self, value: Value, room: Room, depth: int) -> None:
        if value in self.rooms:
            _join(self.rooms[value], room)
        self.rooms[value] = room = room.found
        self.depth[value] = max(depth, self.depth.get(value, 0))
        room.capacity = max(room.capacity, depth)


def _room_for(types: Sequence[Type]) -> Room:
    """Return the room for a stack of which these are the types, one for each batch."""
    items = [type_.item for type_ in types if isinstance(type_, StackType)]
    if isinstance(items[0], StackType):
        return Room(_room_for(items))
    return Room(max(item.nbytes for item in items if isinstance(item, TensorType)))


def _join(first: Room, second: Room) -> None:
    first, second = first.found, second.found
    if first is second:
        return
    second.same, first.capacity, first.bounded = first, max(first.capacity, second.capacity), first.bounded or second.bounded
    if isinstance(first.item, Room) and isinstance(second.item, Room):
        _join(first.item, second.item)


# -- the arenas -----------------------------------------------------------------------------------------------------------
class ValueLayout:
    """Finds the place of each value of a function.

    begin, end  for each node its number in the order of the program, and the number after those inside of it
    accesses    for each symbol of state the nodes that read or write it
    last        for each value the index, in its region, of the last node that uses it; the number of nodes if the region yields it
    after       the same as a number in the order of the program: that of the last node's end
    home        for each value the region that defines it
    maker       for each value the node that defines it
    members     for each value that owns memory, all values that are in it
    carried     for each result of a loop, the parameter that holds it while the loop runs
    """

    def __init__(self, function: Function, memory: MemoryPlan, scratch: Callable[[Node], Sequence[tuple[str, int]]]):
        self.memory, self.scratch = memory, scratch
        self.arenas: dict[str, Arena] = {}
        self.begin: dict[Node, int] = {}
        self.end: dict[Node, int] = {}
        self.accesses: dict[str, list[Node]] = {}
        self.last: dict[Value, int] = {}
        self.after: dict[Value, int] = {}
        self.home: dict[Value, Region] = {}
        self.maker: dict[Value, Node] = {}
        self.members: dict[Value, list[Value]] = {}
        self.carried: dict[Value, Value] = {}
        self.count = 0
        self.number(function.body)

    def number(self, region: Region) -> None:
        """Number the nodes of a region, and note the last use of each value that it defines."""
        own = {*region.params, *(value for node in region.nodes for value in node.results)}
        self.home.update(dict.fromkeys(own, region))
        self.last.update(dict.fromkeys(region.params, -1))
        for index, node in enumerate(region.nodes):
            self.begin[node] = self.count
            self.count += 1
            if isinstance(node.op, (Read, Write)):
                self.accesses.setdefault(node.op.symbol, []).append(node)
            for inner in node.regions:
                self.number(inner)
            self.end[node] = self.count
            self.maker.update(dict.fromkeys(node.results, node))
            self.last.update(dict.fromkeys(node.results, index))
            for value in _mentioned(node):
                if value in own:
                    self.last[value], self.after[value] = index, self.end[node]
        self.count += 1
        for atom in region.results:
            if isinstance(atom, Value) and atom in own:
                self.last[atom], self.after[atom] = len(region.nodes), self.count

    def body(self, function: Function) -> None:
        self.block(function.body, _computed(function.body))
        # A value without items has an address, too.
        self.memory.arenas.update({element: arena.nbytes or aligned(SIZES[element]) for element, arena in self.arenas.items()})

    def take(self, element: str, nbytes: int) -> int:
        """Return where free bytes of the arena of a C type begin."""
        return self.arenas.setdefault(element, Arena()).take(aligned(nbytes))

    def take_for(self, value: Value) -> int:
        return self.take(element_of(value.type), self.memory.size(value))

    def give_back(self, value: Value, offset: int) -> None:
        self.arenas[element_of(value.type)].give_back(offset, aligned(self.memory.size(value)))

    def block(self, region: Region, direct: Mapping[Value, int], at_end: Callable[[], None] = lambda: None) -> None:
        """Find the places of the values that a region computes.

        direct  those that have the place of a result of the region, unless they turn out to be in other memory
        at_end  called while the memory of the results is still in use
        """
        active: list[Value] = []
        for index, node in enumerate(region.nodes):
            self.node(region, index, node, direct, active)
            for root in [root for root in active if self.is_dead(root, index, region)]:
                active.remove(root)
                self.give_back(root, self.memory.offsets[root])
        at_end()
        for root in active:
            self.give_back(root, self.memory.offsets[root])

    def is_dead(self, root: Value, index: int, region: Region) -> bool:
        """Return True if no node of a region after this index uses a value that is in the memory of `root`."""
        return all(self.last[value] <= index for value in self.members[root] if self.home[value] is region)

    def own(self, value: Value, direct: Mapping[Value, int], active: list[Value]) -> None:
        """Give a value memory of its own."""
        self.members[value] = [value]
        if value in direct:
            self.memory.shared[value] = direct[value]
            return
        self.memory.offsets[value] = self.take_for(value)
        active.append(value)

    def alias(self, value: Value, other: Atom) -> None:
        """Let a value be in the memory of another."""
        assert isinstance(other, Value)
        root = self.memory.root(other)
        self.memory.roots[value] = root
        self.members.setdefault(root, [root]).append(value)
        if root in self.memory.states:
            self.memory.states[value] = self.memory.states[root]

    def node(self, region: Region, index: int, node: Node, direct: Mapping[Value, int], active: list[Value]) -> None:
        op: Any = node.op
        if isinstance(op, Read):
            (value,) = node.results
            if self.must_copy(region, node):
                self.own(value, direct, active)
            else:
                self.members[value] = [value]
                self.memory.states[value] = op.symbol
        elif isinstance(op, (Push, Pop)):
            self.alias(node.results[0], node.operands[0])
            for value in node.results[1:]:
                self.own(value, direct, active)
        elif isinstance(op, If):
            self.branch(node, direct, active)
        elif isinstance(op, (For, While)):
            self.loop(node, direct, active)
        elif getattr(op, "aliases", False) and isinstance(node.operands[0], Value):
            self.alias(node.results[0], node.operands[0])
        else:
            in_place = _in_place(node)
            for place, value in enumerate(node.results):
                operand = node.operands[in_place[place]] if place in in_place else None
                if isinstance(operand, Value) and self.may_take_over(region, index, node, value, operand):
                    self.alias(value, operand)
                else:
                    self.own(value, direct, active)
            if needed := self.scratch(node):
                offsets = self.memory.scratch[node] = [self.take(element, nbytes) for element, nbytes in needed]
                for offset, (element, nbytes) in zip(offsets, needed, strict=True):
                    self.arenas[element].give_back(offset, aligned(nbytes))

    # -- state ------------------------------------------------------------------------------------------------------------
    def must_copy(self, region: Region, node: Node) -> bool:
        """Return True if the state that a node reads is written while its value is still used."""
        last = self.unused_after(region, node.results[0])
        return any(isinstance(other.op, Write) and self.begin[node] < self.begin[other] and self.end[other] < last
                   for other in self.accesses[node.op.symbol])

    def unused_after(self, region: Region, value: Value) -> int:
        """Return the number, in the order of the program, after which nothing uses a value of a region or what may be in its memory."""
        last, names = self.after.get(value, -1), {value}
        for node in region.nodes:
            inside = {0: 0} if getattr(node.op, "aliases", False) else _in_place(node)
            for result, operand in inside.items():
                if node.operands[operand] in names:
                    names.add(node.results[result])
                    last = max(last, self.after.get(node.results[result], -1))
        return last

    def may_take_over(self, region: Region, index: int, node: Node, value: Value, operand: Value) -> bool:
        """Return True if a result can be computed in the memory of an operand, by an op that can do so."""
        root = self.memory.root(operand)
        given = [self.memory.root(x) for x in node.operands if isinstance(x, Value)]
        held = self.carried.get(root, root)
        if given.count(root) != 1 or self.home.get(held) is not region or root not in self.members:
            return False
        if element_of(value.type) != element_of(operand.type):
            return False
        if not self.is_dead(root, index, region):
            return False
        symbol = self.memory.states.get(root)
        return root in self.memory.offsets or held is not root if symbol is None else self.may_change(region, index, node, value, symbol)

    def may_change(self, region: Region, index: int, node: Node, value: Value, symbol: str) -> bool:
        """Return True if state may have its new value from a node on, since nothing reads the old one until it is written."""
        root = self.memory.root(cast("Value", node.operands[_in_place(node)[node.results.index(value)]]))
        writes = [other for other in region.nodes[index + 1 :] if isinstance(other.op, Write) and value in other.operands]
        if len(writes) != 1 or writes[0].op.symbol != symbol or self.after.get(value) != self.end[writes[0]]:
            return False
        begin, end = self.begin[node], self.begin[writes[0]]
        for other in self.accesses[symbol]:
            if begin < self.begin[other] < end:
                return False
            if isinstance(other.op, Read) and self.begin[other] < begin and other.results[0] is not root:
                home = self.home[other.results[0]]
                if home is not region or self.unused_after(home, other.results[0]) > begin:
                    return False
        return True

    # -- control flow -----------------------------------------------------------------------------------------------------
    def branch(self, node: Node, direct: Mapping[Value, int], active: list[Value]) -> None:
        kept: dict[Value, Value] = {}
        for i, result in enumerate(node.results):
            same = self.same_stack([region.results[i] for region in node.regions], node) if isinstance(result.type, StackType) else None
            if same is None:
                self.own(result, direct, active)
            else:
                kept[result] = same
        for region in node.regions:
            self.block(region, _computed(region))
        for result, same in kept.items():
            self.alias(result, same)

    def same_stack(self, yields: Sequence[Atom], node: Node) -> Value | None:
        """Return the stack from outside of a branch of which all yielded ones are later states; None if there is none."""
        origins = {self.origin(each) for each in yields}
        if len(origins) != 1:
            return None
        (origin,) = origins
        maker = self.maker.get(origin)
        inside = maker is not None and self.begin[node] <= self.begin[maker] < self.end[node]
        return None if inside else origin

    def origin(self, atom: Atom) -> Value:
        """Return the stack in whose memory a stack is."""
        assert isinstance(atom, Value)
        node = self.maker.get(atom)
        match node and node.op:
            case Push() | Pop() if node is not None and atom is node.results[0]:
                return self.origin(node.operands[0])
            case For() | While() if node is not None:
                return self.origin(loop_parts(node)[0][node.results.index(atom)])
            case If() if node is not None:
                index = node.results.index(atom)
                return self.same_stack([region.results[index] for region in node.regions], node) or atom
            case _:
                return self.memory.root(atom)

    def loop(self, node: Node, direct: Mapping[Value, int], active: list[Value]) -> None:
        initial, params = loop_parts(node)
        body = node.regions[-1]
        taken: set[Value] = set()
        for value, param, result in zip(initial, params, node.results, strict=True):
            if isinstance(param.type, StackType) and self.memory.root(cast("Value", value)) not in taken:
                taken.add(self.memory.root(cast("Value", value)))
                self.alias(param, value)
                self.alias(result, value)
            else:
                self.own(result, direct, active)
                self.alias(param, result)
                self.carried[result] = param
        for region in node.regions[:-1]:
            self.block(region, {})
        self.block(body, self.passed(body, params), lambda: self.exchange(node, body, params))

    def exchange(self, node: Node, body: Region, params: Sequence[Value]) -> None:
        """Find room for carried values that change places at the end of a round; the values that the round yields are in use until then."""
        carried = {self.memory.root(param) for param in params}
        spares = self.memory.spares[node] = {}
        for i, (atom, param) in enumerate(zip(body.results, params, strict=True)):
            root = self.memory.root(atom) if isinstance(atom, Value) else None
            if root in carried and root is not self.memory.root(param):
                spares[i] = self.take_for(param)
        for i, offset in spares.items():
            self.give_back(params[i], offset)

    def passed(self, body: Region, params: Sequence[Value]) -> dict[Value, int]:
        """Return the values for the next round that can be computed where those of this round are, since nothing reads these any more."""
        return {value: i for value, i in _computed(body).items() if self.unused_after(body, params[i]) <= self.begin[self.maker[value]]}


def _in_place(node: Node) -> Mapping[int, int]:
    """Return for results of a node, by index, the operand in whose memory it can be."""
    if isinstance(node.op, HOOKS):
        return {place: place for place in range(len(node.results))}
    return getattr(node.op, "in_place", {})


def _computed(region: Region) -> dict[Value, int]:
    """Return the tensors that a region computes and yields, with the index of the result."""
    computed = {value for node in region.nodes for value in node.results}
    found: dict[Value, int] = {}
    for index, atom in enumerate(region.results):
        if isinstance(atom, Value) and atom in computed and isinstance(atom.type, TensorType):
            found.setdefault(atom, index)
    return found


def _mentioned(node: Node) -> Iterator[Value]:
    for atom in node.operands:
        if not isinstance(atom, Literal):
            yield atom
    for region in node.regions:
        yield from free_of(region)
