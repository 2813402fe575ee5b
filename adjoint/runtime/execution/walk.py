"""The walker: runs a graph on tensors, node by node, in the way eager mode runs the same program.

    walk = bind(graph)         nodes become closures over positions in one list, once
    walk.run([x, y])           as often as you like, from several threads

A pure node runs by its plan, found when it is first reached.  While a gradient is being taken every node is recorded on the
tape of the thread, cells are entered and left on it, and hooks hang on it: so gradients, hooks and gradients of gradients
are those of eager mode.  The tape knows a step by the node (`Tape.site`), and a location is the node's; for a
node without a place both are those of the node around it, and outside of all such those of the line that runs the graph.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.diagnostics import InternalError
from adjoint.ir.core import Atom, Literal, Node, Region, Value, free_of, tensor_type
from adjoint.ir.interpret import UNDEFINED
from adjoint.ir.op import Effect, Op
from adjoint.ir.ops.collective import Collective
from adjoint.ir.ops.control import Cell, Differentiated, For, Gradient, If, Pull, Record, RegionOp, While
from adjoint.ir.ops.conversion import NoGrad, StopGradient
from adjoint.ir.ops.host import Apply, Attach, Hook, Outputs
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.stack import Pop, Push, Stack, Undef
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.ops.tuples import Group, Item
from adjoint.ir.types import I64, TensorType, scalar
from adjoint.runtime.execution import cells as walk_cells
from adjoint.runtime.execution import hosts as walk_hosts
from adjoint.runtime.execution.graph import Graph
from adjoint.runtime.execution.run import Block, Run, Step, mover
from adjoint.runtime.memory.machine import Memory, ffi, machine
from adjoint.runtime.memory.plans import plan_for
from adjoint.runtime.process.location import site_of
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.tensor import Tensor, constant, wrap

__all__ = ["Walk", "bind"]

_KEPT = 4096
"""Bytes: a smaller memory is not worth letting go before the run ends."""


class Walk:
    """A graph that is ready to run.

    block     its nodes
    template  the list of values as it is at the start: constants in their places
    results   where the results stand at the end; a literal's tensor is given out anew each time
    """

    def __init__(self, graph: Graph, block: Block, template: list[Any], results: Sequence[tuple[int, bool]]):
        self.graph, self.block, self.template, self.results = graph, block, template, tuple(results)
        self.types = [p.type for p in graph.function.params]

    def run(self, arguments: Sequence[Tensor], log: list[Any] | None = None, replay: Sequence[Any] | None = None) -> list[Tensor]:
        """The results for these arguments, which must have the types of the function's parameters.

        log     takes the results of every node in the order in which they are executed
        replay  the log of a run in a graph that begins with the same nodes: its results are taken in place of executing
                nodes, without events on the tape and without effects, until it is used up

        Deviation when Python gives something else than the graph was made for; `log` then ends with what it gave.  Other
        exceptions are those of the nodes, with a note that shows the line.
        """
        if [x.type for x in arguments] != self.types:
            raise InternalError(f"a graph of {self.types} was run on {[x.type for x in arguments]}")
        values = self.template.copy()
        values[: len(arguments)] = arguments
        run = Run(state.tracer, log, replay)  # pyright: ignore[reportArgumentType] - what records is a Tape
        self.block.run(values, run)
        if run.replaying:
            raise InternalError("the run that is replayed was longer than the graph")
        return [wrap(values[i].type, values[i].memory) if literal else values[i] for i, literal in self.results]

    def run_one(self, arguments: Sequence[Tensor]) -> Tensor:
        """The only result for arguments that are known to be of the right types; nothing is logged."""
        values = self.template.copy()
        values[: len(arguments)] = arguments
        self.block.run(values, Run(state.tracer, None, None))  # pyright: ignore[reportArgumentType] - what records is a Tape
        i, literal = self.results[0]
        result = values[i]
        return wrap(result.type, result.memory) if literal else result


def bind(graph: Graph) -> Walk:
    """Make a graph ready to run.  Nothing is compiled: plans are found when their nodes are reached."""
    binder = _Binder(graph)
    function = graph.function
    for param in function.params:
        binder.place(param)
    block = binder.block(function.body, None, own_params=True)
    ends = [(binder.position(atom), isinstance(atom, Literal)) for atom in function.body.results]
    return Walk(graph, block, binder.template, ends)


class _Binder:
    """Gives every value of a function a position, and makes a step of every node."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.template: list[Any] = []
        self.places: dict[Value, int] = {}
        self.constants: dict[int, int] = {}

    def place(self, value: Value) -> int:
        self.places[value] = len(self.template)
        self.template.append(None)
        return self.places[value]

    def position(self, atom: Atom) -> int:
        if isinstance(atom, Value):
            return self.places[atom]
        # By the tensor, not by the literal: 0.0 and -0.0 are equal.
        tensor = constant(atom.value, atom.type.dtype)
        if id(tensor) not in self.constants:
            self.constants[id(tensor)] = len(self.template)
            self.template.append(tensor)
        return self.constants[id(tensor)]

    def positions(self, atoms: Sequence[Atom]) -> tuple[int, ...]:
        return tuple(self.position(atom) for atom in atoms)

    def block(self, region: Region, around: Node | None, own_params: bool = False) -> Block:
        """The nodes of a region whose parameters have their places; large values are let go after their last use.

        around      the site of the node whose region it is
        own_params  the parameters too: nothing else uses them
        """
        block = Block()
        dying = _last_uses(region, own_params)
        computed: set[Value] = set()
        for index, node in enumerate(region.nodes):
            operands = self.positions(node.operands)
            first = len(self.template)
            for value in node.results:
                self.place(value)
            results = range(first, len(self.template))
            inner, site = isinstance(node.op, RegionOp), site_of(node, around)
            if isinstance(node.op, Write):
                value = node.operands[0]
                dies = value in computed and value in dying.get(index, ())
                step = walk_hosts.write(node, self.graph.state, operands, dies)
            else:
                step = self.control(node, site, operands, results) if inner else self.step(node, site, operands, results)
            if node.op.effect is Effect.PURE and not inner:
                computed.update(node.results)
            block.add(step, node, None if inner else results)
            if index in dying:
                block.add(_release(self.positions(dying[index])), None, None)
        return block

    def step(self, node: Node, site: Node | None, operands: tuple[int, ...], results: range) -> Step:
        op, graph = node.op, self.graph
        match op:
            case Read():
                return walk_hosts.read(node, graph.state, results)
            case Hook():
                return walk_hosts.hook(node, site, graph.hosts, operands, results)
            case Attach():
                return walk_hosts.attach(node, site, graph.hosts, operands)
            case Apply():
                return walk_hosts.apply(node, site, graph.hosts, operands, results)
            case Outputs():
                return walk_hosts.outputs(node, site, graph.hosts, operands, results)
            case Draw(seed=seed):
                return walk_hosts.draw(seed, results)
            case Undef():
                return _plain(lambda: (UNDEFINED,), operands, results)
            case Group():
                return _plain(lambda *items: (items,), operands, results)
            case Item(index=index):
                return _plain(lambda items: (items[index],), operands, results)
            case Stack():
                return _plain(lambda: (None,), operands, results)
            case Push():
                return _plain(lambda below, top: ((below, top),), operands, results)
            case Pop():
                return _plain(lambda stack: stack, operands, results)
            case _ if op.effect is Effect.PURE or isinstance(op, Collective):
                return _pure(node, site, operands, results)
            case _:
                raise InternalError(f"{op.name} does not stand in a graph")

    def control(self, node: Node, site: Node | None, operands: tuple[int, ...], results: range) -> Step:
        regions = node.regions
        params = tuple(self.place(p) for region in regions[-1:] for p in region.params)
        whole = isinstance(node.op, (Cell, Differentiated))
        blocks = [self.block(region, site, own_params=whole) for region in regions]
        yields = [self.positions(region.results) for region in regions]
        match node.op:
            case If():
                return _if(operands[0], blocks, yields, results)
            case For():
                return _for(operands, params, blocks[0], yields[0], results)
            case While():
                return _while(operands, params, blocks, yields, results)
            case Cell():
                call = self.graph.site(node)
                if call is None:
                    return _inlined(operands, params, blocks[0], yields[0], results)
                return walk_cells.cell(node, site, call, blocks[0], operands, params, yields[0], results)
            case Gradient():
                return walk_cells.gradient(node, site, self.graph.state, blocks[0], operands, params, yields[0], results)
            case Record():
                return walk_cells.record(node, site, self.graph.state, blocks[0], operands, params, yields[0], results)
            case Pull():
                return walk_cells.pull(site, operands, results)
            case op:
                raise InternalError(f"{op.name} does not stand in a graph")


# -- memory ------------------------------------------------------------------------------------------------------------
def _last_uses(region: Region, own_params: bool) -> dict[int, list[Value]]:
    """By the index of a node, the large values of this region that are used there for the last time."""
    last: dict[Value, int] = dict.fromkeys(region.params, 0) if own_params and region.nodes else {}
    for index, node in enumerate(region.nodes):
        last.update(dict.fromkeys(node.results, index))
        for atom in (*node.operands, *(value for inner in node.regions for value in free_of(inner))):
            if atom in last:
                last[atom] = index
    dying: dict[int, list[Value]] = {}
    for value, index in last.items():
        if isinstance(value.type, TensorType) and value.type.nbytes > _KEPT and value not in region.results:
            dying.setdefault(index, []).append(value)
    return dying


def _release(positions: tuple[int, ...]) -> Step:
    def release(values: list[Any], run: Run) -> None:
        for i in positions:
            values[i] = None

    return release


# -- nodes without regions -----------------------------------------------------------------------------------------------
def _plain(function: Callable[..., Sequence[Any]], operands: tuple[int, ...], results: range) -> Step:
    """A step that only moves values."""

    def plain(values: list[Any], run: Run) -> None:
        values[results.start : results.stop] = function(*[values[i] for i in operands])

    return plain


_new = object.__new__


def _pure(node: Node, site: Node | None, operands: tuple[int, ...], results: range) -> Step:
    """A step that runs a plan and records it; `kernel` is the plan's function, found at the first run."""
    op = node.op
    types = [tensor_type(x) for x in node.operands]
    kernel: Callable[..., Any] | None = None
    if len(results) != 1:
        made = [tensor_type(v) for v in node.results]

        def several(values: list[Any], run: Run) -> None:
            nonlocal kernel
            if kernel is None:
                kernel = plan_for(op, types).run
            given = [values[i] for i in operands]
            outs = [wrap(t, m) for t, m in zip(made, kernel(*[x.memory for x in given]), strict=True)]
            values[results.start : results.stop] = outs
            if run.tape is not None:
                _record(run.tape, site, op, given, outs)

        return several
    type_ = tensor_type(node.result)
    out = results.start
    if isinstance(op, StopGradient):
        return _stopped(op, site, type_, operands[0], out)
    if isinstance(op, NoGrad):
        return _unrecorded(type_, operands[0], out)
    match operands:
        case (a,):

            def unary(values: list[Any], run: Run) -> None:
                nonlocal kernel
                if kernel is None:
                    kernel = plan_for(op, types).run
                x = values[a]
                result = _new(Tensor)
                result.type = type_
                result.memory = kernel(x.memory)
                values[out] = result
                if run.tape is not None:
                    _record(run.tape, site, op, (x,), (result,))

            return unary
        case (a, b):

            def binary(values: list[Any], run: Run) -> None:
                nonlocal kernel
                if kernel is None:
                    kernel = plan_for(op, types).run
                x, y = values[a], values[b]
                result = _new(Tensor)
                result.type = type_
                result.memory = kernel(x.memory, y.memory)
                values[out] = result
                if run.tape is not None:
                    _record(run.tape, site, op, (x, y), (result,))

            return binary
        case _:

            def general(values: list[Any], run: Run) -> None:
                nonlocal kernel
                if kernel is None:
                    kernel = plan_for(op, types).run
                given = [values[i] for i in operands]
                result = wrap(type_, kernel(*[x.memory for x in given]))
                values[out] = result
                if run.tape is not None:
                    _record(run.tape, site, op, given, (result,))

            return general


def _stopped(op: Op, site: Node | None, type_: TensorType, a: int, out: int) -> Step:
    """The step of `stop_gradient`: hooks cannot be registered on what it gives, as in eager mode."""

    def stopped(values: list[Any], run: Run) -> None:
        x = values[a]
        values[out] = result = wrap(type_, x.memory)
        result.requires_grad = False
        if run.tape is not None:
            _record(run.tape, site, op, (x,), (result,))

    return stopped


def _unrecorded(type_: TensorType, a: int, out: int) -> Step:
    """The step of `no_grad`: a tensor that no tape knows, so that nothing that is computed of it is recorded."""

    def unrecorded(values: list[Any], run: Run) -> None:
        values[out] = wrap(type_, values[a].memory)

    return unrecorded


def _record(tape: Any, site: Node | None, op: Op, operands: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    tape.site = site
    tape.record(op, operands, results)
    tape.site = None


# -- control -------------------------------------------------------------------------------------------------------------
_INDEX = scalar(I64)


def _truth(x: Tensor) -> bool:
    """A bool of the IR as Python's."""
    return x.memory[0] != b"\0"


def _integer(x: Tensor) -> int:
    """An i64 of the IR as Python's."""
    return int.from_bytes(ffi.buffer(x.memory, 8), sys.byteorder, signed=True)


def _index(value: int) -> Tensor:
    """A Python integer as an i64 of the IR, in memory of its own: hooks may write to it."""
    memory: Memory = machine().allocate(8)
    ffi.buffer(memory, 8)[:] = value.to_bytes(8, sys.byteorder, signed=True)
    return wrap(_INDEX, memory)


def _inlined(operands: Sequence[int], params: Sequence[int], block: Block, yielded: Sequence[int], results: range) -> Step:
    enter, leave = mover(operands, params), mover(yielded, results)

    def inlined(values: list[Any], run: Run) -> None:
        enter(values)
        block.run(values, run)
        leave(values)

    return inlined


def _if(condition: int, blocks: Sequence[Block], yields: Sequence[Sequence[int]], results: range) -> Step:
    then, otherwise = blocks
    then_leave, otherwise_leave = (mover(positions, results) for positions in yields)

    def branch(values: list[Any], run: Run) -> None:
        if _truth(values[condition]):
            then.run(values, run)
            then_leave(values)
        else:
            otherwise.run(values, run)
            otherwise_leave(values)

    return branch


def _for(operands: Sequence[int], params: Sequence[int], block: Block, yielded: Sequence[int], results: range) -> Step:
    start, stop, step = operands[:3]
    index, *carried = params
    enter, turn, leave = mover(operands[3:], carried), mover(yielded, carried), mover(carried, results)

    def rounds(values: list[Any], run: Run) -> None:
        enter(values)
        for i in range(_integer(values[start]), _integer(values[stop]), _integer(values[step])):
            values[index] = _index(i)
            block.run(values, run)
            turn(values)
        leave(values)

    return rounds


def _while(
    operands: Sequence[int], params: Sequence[int], blocks: Sequence[Block], yields: Sequence[Sequence[int]], results: range
) -> Step:
    (test, body), ((condition,), yielded) = blocks, yields
    enter, turn, leave = mover(operands, params), mover(yielded, params), mover(params, results)

    def loop(values: list[Any], run: Run) -> None:
        enter(values)
        while True:
            test.run(values, run)
            if not _truth(values[condition]):
                break
            body.run(values, run)
            turn(values)
        leave(values)

    return loop
