"""Bound plans: plans bound to memory, ready to run.

A plan is a function of the IR whose nodes are sorted into pieces, with a numbered slot for each value.

    bound = BoundPlan(planned(function, identities=True), makers)
    bound.run([x, y], Run(tape))          any number of times, from several threads

A bound plan has three forms, each made when it is first needed:

    quiet      nothing is recorded or logged.  Values that no Python code sees are held as memory, not as tensors.
               If it runs often, it gets fused kernels.
    recording  every value is a tensor, and every node is recorded on the tape (the recording of this thread's operations for a
               gradient) as in eager mode.  So gradients, hooks and gradients of gradients are those of eager mode.
    emitting   nodes are added to another graph, which is being made.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Listed
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import InternalError
from adjoint.ir.core import Node, tensor_type
from adjoint.ir.interpret import UNDEFINED
from adjoint.ir.op import Op
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.ops.fused import kernel_op
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.stack import Pop, Push, Stack, Undef
from adjoint.ir.ops.tuples import Group, Item
from adjoint.ir.plan import Access, Control, HostCall, Launch, Nested, Piece, Plan, PythonAccess, Straight, Transfer
from adjoint.ir.plan import Block as PlannedBlock
from adjoint.ir.types import TensorType
from adjoint.runtime.execution.call_functions import CallText, call_function
from adjoint.runtime.execution.checks import Explanations, check_step
from adjoint.runtime.execution.control import control_step
from adjoint.runtime.execution.launches import add_when_reached, emitted, recorded_launch, straight
from adjoint.runtime.execution.recorded import recorded_piece
from adjoint.runtime.execution.run import Block, LoggingBlock, Run, Step, is_constant
from adjoint.runtime.execution.tiers import FirstForm, Runnable
from adjoint.runtime.execution.written_calls import Part, Results, StraightPart, WrittenStep, written_call
from adjoint.runtime.memory.op_plans import prepare
from adjoint.runtime.memory.tuning import tuning
from adjoint.runtime.process.location import site_of
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.tensor import Tensor, constant

_new = object.__new__

__all__ = ["RunsAtOnce", "Bound", "Faster", "Form", "Maker", "BoundPlan", "computing"]


@dataclass(frozen=True)
class Bound:
    """The argument of a maker (a function that makes the step of one node): the node, and where its values are.

    A step is a Python function that does the work of a node; a position is an index in the list of values that a step reads and fills.

    operands  the positions of the operands
    results   the positions of the results
    site      the node with whose source location its events are recorded: see `location.site_of`
    held      for each operand, then each result, True if it is held as a tensor, False if it is held as bare memory
    recorded  True if its events may be recorded on a tape; then all values are tensors
    params    the positions of its regions' parameters
    blocks    the steps of its regions
    yields    for each region the positions of the values that it yields
    dying     the positions of operands that a launch has computed and that no other node uses
    """

    node: Node
    site: Node | None
    operands: tuple[int, ...]
    results: range
    held: tuple[bool, ...] = ()
    recorded: bool = False
    params: tuple[int, ...] = ()
    blocks: tuple[Block, ...] = ()
    yields: tuple[tuple[int, ...], ...] = ()
    dying: tuple[int, ...] = ()


Maker = Callable[[Bound], Step | None]
"""A function that makes the step (a Python function that does the work) of a node that calls Python; it returns None if running the node
is only running its region.
"""


@dataclass(frozen=True)
class Faster:
    """A faster function that a bound plan may run instead of its own: it has the same parameters, results and effects.

    plan  makes the plan of the faster function; returns None if there is no such function
    fits  returns True if the faster function may run on these arguments now; None if it always may
    """

    plan: Callable[[], Plan | None]
    fits: Callable[[Listed[Tensor]], bool] | None


class BoundPlan:
    """Runs the plan of a function, for graphs, adjoints and IR text.

    See the module's docstring for the three forms in which it runs.  A step is the Python function that does the work of one node or of
    one straight piece (kernels, reads and writes of state that one C call does).

    plan    the plan, or a function that makes it when it is first needed
    makers  the functions that make steps, by class of op: for ops that call Python, and for ops with regions that are not control flow
    state   the tensors that straight pieces read and write, by symbol
    explanations  the functions that raise the exceptions of failed checks, by symbol
    sited   True: events are recorded with the locations of the nodes; False: with the line that runs the plan
    faster  the function that runs instead when nothing is recorded or logged; None if there is none
    hosts   makes, for each execution of the faster function, the Python functions that its host calls call; None if there are none
    call    the source text before and after the execution, for a function that does a whole call; None if no such function is wanted
    at_once makes the object that runs and records the whole function by one call on a tape, None if there is no such object; it is called
        when the function has run on a tape several times

    call_function  does a whole call in which nothing is recorded or logged: it takes the caller's arguments and returns the caller's
        result, or NOT_RUN if it may not run on these arguments now.  None until it has been made
    """

    def __init__(
        self, plan: Plan | Callable[[], Plan], makers: Mapping[type[Op], Maker], state: Mapping[str, Tensor] = MappingProxyType({}), *,
        explanations: Explanations = MappingProxyType({}), sited: bool = True, faster: Faster | None = None,
        hosts: Callable[[], Listed[Any]] | None = None, call: CallText | None = None,
        at_once: Callable[[], RunsAtOnce | None] | None = None,
    ):
        self._plan, self.makers, self.state, self.explanations = plan, makers, state, explanations
        self.sited, self._faster, self._hosts, self._call, self._at_once = sited, faster, hosts, call, at_once
        self.call_function: Callable[..., Any] | None = None
        self._recorded: Callable[..., Any] | None = None
        self._quiet: Runnable | None = None
        self._fastest: Runnable | None = None
        self._emitting: Form | None = None
        self._recording: Form | _OnTape | None = None

    @property
    def plan(self) -> Plan:
        """Return the plan (the nodes of the function, sorted into pieces).  If it is given by a function, make it at the first use.

        Two threads that need it first may get two plans, which are equal.
        """
        plan = self._plan
        if not isinstance(plan, Plan):
            plan = self._plan = plan()
        return plan

    def run(self, arguments: Listed[Tensor], run: Run) -> list[Tensor]:
        """Run the function on these arguments and return its results.

        arguments  tensors of the types of the function's parameters; InternalError for other types
        run        the state of this one execution: the tape that records it, if any, and the log of results, if one is kept

        Raise Deviation if Python code (such as a hook) returns something that the graph was not made for; the log then ends with what it
        returned.  Other exceptions come from the nodes and get a note that shows the user's line.
        """
        types = [p.type for p in self.plan.function.params]
        if [x.type for x in arguments] != types:
            raise InternalError(f"a function of {types} was run on {[x.type for x in arguments]}")
        return self.run_fitting(arguments, run)

    def run_fitting(self, arguments: Listed[Tensor], run: Run) -> list[Tensor]:
        """Do what `run` does, without checking the types of the arguments."""
        tape = run.tape
        if tape is None and run.plain:
            faster = self._faster
            quick = faster is not None and (faster.fits is None or faster.fits(arguments))
            if quick and self._hosts is not None:
                run.hosts = self._hosts()
            form = self._fastest or self.fastest if quick else self._quiet or self.quiet
        else:
            form = self.emitting if tape is not None and tape.emits else self.recording
        if form.takes is None:
            return form.run(arguments, run)
        if not form.takes:
            return form.run([x.memory for x in arguments], run)
        return form.run([x if i in form.takes else x.memory for i, x in enumerate(arguments)], run)

    def fits(self, arguments: Listed[Tensor]) -> bool:
        """Return True if the faster function (the optimised one, see `Faster`) may run on these arguments now.  Return False also if there
        is no such function; `run_fitting` then runs the plan itself.
        """
        faster = self._faster
        return faster is not None and (faster.fits is None or faster.fits(arguments))

    @property
    def quiet(self) -> Runnable:
        """The object by which the plan runs while no tape records and no log is kept; it is made at the first use."""
        return self._quiet or self._tiered("_quiet", self.plan)

    @property
    def fastest(self) -> Runnable:
        """The object by which the faster function (the optimised one, see `Faster`) runs; it is made at the first use.

        If it turns out that there is no faster function, this is `quiet`, now and later.
        """
        plan = None if self._faster is None else self._faster.plan()
        if plan is None:
            self._faster = None
            return self.quiet
        return self._fastest or self._tiered("_fastest", plan)

    def _tiered(self, name: str, plan: Plan) -> Runnable:
        form = FirstForm(self.bound(plan), plan, self, name)
        self.use(name, form)
        return form

    def bound(self, plan: Plan) -> Runnable:
        """Make a form (the plan made ready for one way of running) that records and logs nothing.

        plan  the plan to run: the one of this object, or later, called by `tiers`, one of the same function with fused kernels
        """
        return _Binder(self, plan, recording=False).form()

    def use(self, name: str, form: Runnable) -> None:
        """Use the form `form` for all calls of `run` that begin from now on.

        name  the attribute to set: "_quiet", or "_fastest" for the faster function
        """
        setattr(self, name, form)
        if self._call is not None and name == ("_quiet" if self._faster is None else "_fastest"):
            self.call_function = None
            tuning.afterwards(functools.partial(_make_call_function, weakref.ref(self), form))

    def make_call_function(self, form: Runnable) -> None:
        """Set `call_function` to a function that does a whole call with `form`.  Do nothing if another form has replaced `form` by now."""
        fits = None if self._faster is None else self._faster.fits
        if self._call is not None and form is (self._quiet if self._faster is None else self._fastest):
            self.call_function = form.function_of_calls(self._call, fits, None if self._faster is None else self._hosts)

    @property
    def recorded(self) -> Callable[..., Any] | None:
        """Return a function that does a whole call and records it on the tape of the thread; None if this object was made without `call`.

        It is called as `call_function` is, with the caller's arguments.
        """
        if self._recorded is None and self._call is not None:
            form = self.recording
            self._recorded = call_function(form.run, form.takes, len(form.results), self._call, None, None, recorded=True)
        return self._recorded

    @property
    def emitting(self) -> Form:
        """The object that adds the plan's ops as nodes to the graph that this thread is making, instead of computing them; it is made at
        the first use.
        """
        # No lock: two threads may both make a form, and one is kept.  At a fork another thread could hold a lock.
        form = self._emitting
        if form is None:
            form = self._emitting = _Binder(self, self.plan, recording=True, emitting=True).form()
        return form

    @property
    def recording(self) -> Form | _OnTape:
        """The object by which the plan runs on a tape: every value is a tensor, and every node is recorded.  It is made at the first use.
        """
        form = self._recording
        if form is None:
            form = _Binder(self, self.plan, recording=True).form()
            form = self._recording = form if self._at_once is None else _OnTape(form, self._at_once)
        return form


def _make_call_function(reference: weakref.ref[BoundPlan], form: Runnable) -> None:
    bound = reference()
    if bound is not None:
        bound.make_call_function(form)


@dataclass(frozen=True, slots=True)
class Form:
    """A plan made ready for one way of running: the steps (Python functions that each do the work of some nodes), and the initial values.

    block     the steps
    template  the list of values at the beginning: constants at their positions, None elsewhere
    takes     the indices of the arguments that are held as tensors, the others as bare memory; None if all are tensors
    results   the position of each result, with its type if it is held as memory; a constant becomes a new tensor each time
    parts     the parts of a function that does a whole call as text; None if some step cannot be written as text
    run_of_its_own  True if some step needs a subclass of `Run`: then only a call written as text can run this form
    """

    block: Block
    template: list[Any]
    takes: frozenset[int] | None
    results: Results
    parts: Listed[Part] | None
    run_of_its_own: bool

    def run(self, arguments: Listed[Any], run: Run) -> list[Tensor]:
        """Run the steps and return the results as tensors.

        arguments  for each parameter a tensor or its memory, as `takes` says
        """
        values = self.template.copy()
        values[: len(arguments)] = arguments
        self.block.run(values, run)
        results: list[Tensor] = []
        for i, type_ in self.results:
            if type_ is None:
                results.append(values[i])
            else:
                result = _new(Tensor)
                result.type, result.memory = type_, values[i]
                results.append(result)
        return results

    def function_of_calls(
        self, call: CallText, fits: Callable[[Listed[Tensor]], bool] | None, hosts: Callable[[], Listed[Any]] | None
    ) -> Callable[..., Any] | None:
        """Return a function that does a whole call, from the caller's arguments to the caller's result; None if it cannot be made.

        The C calls are in its text if all parts can be written as text; otherwise it calls `run`.

        call, fits, hosts  as for `call_functions.call_function`
        """
        made = None if self.parts is None else written_call(self.parts, self.template, self.results, call, fits)
        if made is not None or self.run_of_its_own:
            return made
        return call_function(self.run, self.takes, len(self.results), call, fits, hosts)


class RunsAtOnce(Protocol):
    """The protocol of an object that runs and records a function by one call on a tape (`graphs.running.at_once`)."""

    def run(self, arguments: Listed[Tensor], run: Run) -> list[Tensor] | None:
        """Return the results; None, with nothing done, if the function has to run node by node."""
        ...


class _OnTape:
    """Runs a plan on a tape: by one call if that can be done, otherwise node by node.

    form  runs it node by node
    make  makes the object that runs it by one call
    """

    def __init__(self, form: Form, make: Callable[[], RunsAtOnce | None]):
        self.form, self.takes, self.results = form, form.takes, form.results
        self._make: Callable[[], RunsAtOnce | None] | None = make
        self._at_once: RunsAtOnce | None = None
        self._runs = 0

    def run(self, arguments: Listed[Tensor], run: Run) -> list[Tensor]:
        """Run the plan on tensors, and return its results."""
        if run.plain:
            if (at_once := self._at_once) is not None and (results := at_once.run(arguments, run)) is not None:
                return results
            self._runs += 1
            if self._runs >= _SEVERAL and (make := self._make) is not None:
                self._at_once, self._make = make(), None
        return self.form.run(arguments, run)


_SEVERAL = 3
"""After how many runs on a tape it is tried to run a plan by one call: many run once or twice."""


class _Binder:
    """Makes one form of a bound plan: walks over the plan's pieces and makes their steps.  The form does not refer to the binder.

    tensors    the positions (indices in the list of values) that hold tensors; other positions hold memory
    recording  True if every position in the block that is being bound holds a tensor
    """

    def __init__(self, bound: BoundPlan, plan: Plan, *, recording: bool, emitting: bool = False):
        self.plan, self.makers, self.state, self.sited = plan, bound.makers, bound.state, bound.sited
        self.explanations = bound.explanations
        self.slots, self.recording, self.emitting = plan.slots, recording, emitting
        self.template: list[Any] = [None] * len(self.slots)
        self.tensors: set[int] = set()
        self.constants: dict[int, int] = {}
        self.parts: dict[Piece, Part] = {}
        self.run_of_its_own = False

    def form(self) -> Form:
        """Make the steps of all pieces of the plan, and return them as a Form."""
        params = self.plan.params
        for i, slot in enumerate(self.slots):
            if slot.literal is not None:
                self.template[i] = constant(slot.literal.value, slot.literal.type.dtype)
        self.define(params)
        takes = None if len(params) == len(self.tensors) else frozenset(self.tensors)
        if not self.emitting:
            prepare((kernel_op(launch.node), [tensor_type(x) for x in launch.node.operands]) for launch in self.plan.certain_launches())
        block = self.bound(self.plan.body, None)
        results = tuple(self.result(i) for i in self.plan.body.yields)
        parts = [self.parts.get(piece) for piece in self.plan.body.pieces]
        written = None if self.recording or None in parts else [part for part in parts if part is not None]
        return Form(block, self.template, takes, results, written, self.run_of_its_own)

    # -- positions --------------------------------------------------------------------------------------------------
    def define(self, slots: Listed[int]) -> None:
        """Decide for each of these slots (numbers of values) whether its value is held as a tensor or as bare memory; note those that are
        tensors.
        """
        self.tensors.update(i for i in slots if self.recording or self.slots[i].shown)

    def holds(self, position: int) -> bool:
        return position in self.tensors

    def as_tensors(self, slots: Listed[int]) -> tuple[int, ...]:
        """Return, for each slot, the position (an index in the list of values) at which its value is held as a tensor.

        Only a constant may be held twice, as a tensor and as memory.
        """
        return tuple(self.constant(i, tensor=True) if self.is_constant(i) else i for i in slots)

    def as_they_are(self, slots: Listed[int]) -> tuple[int, ...]:
        return tuple(self.constant(i, tensor=self.recording) if self.is_constant(i) else i for i in slots)

    def fitting(self, slots: Listed[int], targets: Listed[int]) -> tuple[int, ...]:
        """Return the positions (indices in the list of values) of values that are copied to the slots `targets`.

        A constant is held like its target: as a tensor if the target holds one, otherwise as memory.
        """
        return tuple(
            self.constant(i, tensor=self.holds(target)) if self.is_constant(i) else i for i, target in zip(slots, targets, strict=True))

    def is_constant(self, slot: int) -> bool:
        return self.slots[slot].literal is not None

    def constant(self, slot: int, *, tensor: bool) -> int:
        """Return the position (an index in the list of values) of a constant, held as a tensor or, if `tensor` is False, as memory.  A
        position for memory is made once.
        """
        if tensor:
            self.tensors.add(slot)
            return slot
        if slot not in self.constants:
            self.constants[slot] = len(self.template)
            self.template.append(self.template[slot].memory)
        return self.constants[slot]

    def result(self, slot: int) -> tuple[int, TensorType | None]:
        type_ = self.slots[slot].type
        if self.is_constant(slot):
            assert isinstance(type_, TensorType)
            return self.constant(slot, tensor=False), type_
        return (slot, None) if self.holds(slot) or not isinstance(type_, TensorType) else (slot, type_)

    # -- steps ------------------------------------------------------------------------------------------------------
    def bound(self, planned: PlannedBlock, around: Node | None) -> Block:
        """Make the steps (functions that do the work) of a block, which is a planned region.

        around  the node whose location is recorded for nodes of the region that have none; None outside of regions
        """
        block = LoggingBlock() if self.recording else Block()
        for piece in planned.pieces:
            match piece:
                case Straight() if isinstance(block, LoggingBlock):
                    self.recorded(block, piece, around)
                case Straight():
                    self.straight(block, piece)
                case HostCall():
                    self.host(block, piece, around)
                    _free(block, piece.freed)
                case Control():
                    self.control(block, piece, around)
                    _free(block, piece.freed)
        return block

    def site(self, node: Node, around: Node | None) -> Node | None:
        return site_of(node, around) if self.sited else None

    def straight(self, block: Block, piece: Straight) -> None:
        operands: list[tuple[int, ...]] = []
        nested: dict[Nested, Step] = {}
        for each in piece.entries:
            self.define(each.results)
            operands.append(self.as_they_are(each.operands))
            if isinstance(each, Nested):
                nested[each] = self.control_step(each.control, None)
        tensors = {i for each, given in zip(piece.entries, operands, strict=True) for i in (*given, *each.results) if self.holds(i)}
        self.parts[piece] = Part(StraightPart(piece, operands, self.slots, tensors, self.state, self.explanations))
        make = functools.partial(straight, piece, operands, self.slots, tensors, self.state, nested, self.explanations)
        add_when_reached(block, piece.entries[0].node, None, make)

    def recorded(self, block: LoggingBlock, piece: Straight, around: Node | None) -> None:
        """Make the steps of a straight piece (consecutive nodes without Python between them) whose values are all tensors, and add them to
        `block`.

        When the block replays a log (the results of an earlier execution), there is a step for each node.  Otherwise one step does all
        nodes that follow each other.

        around  the node whose location is recorded for nodes that have none; None outside of regions
        """
        row = _Row(len(block.steps))
        last = {slot: index for index, entry in enumerate(piece.entries) for slot in entry.operands}
        for index, each in enumerate(piece.entries):
            freed = tuple(slot for slot in each.freed if self.slots[slot].state is None)
            if isinstance(each, Launch) and not self.emitting:
                operands = self.launch(block, each, around)
                row.add(replace(each, freed=freed), operands, self.site(each.node, around))
                _free(block, freed, every=False)
                continue
            self.row(block, piece, row, {slot for slot in row.results if last.get(slot, -1) >= index})
            if isinstance(each, Nested):
                self.control(block, each.control, around)
            elif isinstance(each, Launch):
                self.define(each.results)
                block.add(emitted(each.node, self.as_they_are(each.operands), _range(each.results)), each.node, _range(each.results))
            else:
                self.host(block, each, around)
            _free(block, freed)
            row = _Row(len(block.steps))
        self.row(block, piece, row, set())

    def launch(self, block: Block, each: Launch, around: Node | None) -> tuple[int, ...]:
        """Make the function that computes one node alone by its kernels, and append it to `block`.  Return the positions of the node's
        operands (indices in the list of values).

        block   the list of functions that run the plan
        each    the node with the slots of its operands and results
        around  the node whose location is recorded if this one has no location
        """
        self.define(each.results)
        node, operands, results, site = each.node, self.as_they_are(each.operands), _range(each.results), self.site(each.node, around)
        if isinstance(node.op, Check):
            add_when_reached(block, node, results, lambda run: check_step(node, operands, [True] * len(operands), self.explanations))
        else:
            logged = None if is_constant(node) else results
            add_when_reached(block, node, logged, lambda run: recorded_launch(node, operands, results, site))
        return operands

    def row(self, block: LoggingBlock, piece: Straight, row: _Row, used: set[int]) -> None:
        """Make one step for launches (nodes computed by kernels) that follow each other, for blocks that replay no log.

        block  gets the step
        piece  the piece of the plan that contains them
        row    the launches
        used   the results of these launches that later entries of the piece read
        """
        if not row.launches:
            return
        if len(row.launches) == 1:
            (launch,), steps, index = row.launches, block.steps, row.begin  # that step is replaced when it is first reached
            made = None if is_constant(launch.node) else _range(launch.results)
            block.joined.add(lambda values, run: steps[index](values, run), launch.node, made)
            _free(block.joined, launch.freed)
            return
        reference, begin, end = weakref.ref(block), row.begin, len(block.steps)  # weak: the block holds the step

        def alone(values: list[Any], run: Run) -> None:
            logging = reference()
            assert logging is not None
            logging.run_part(begin, end, values, run)

        part = Straight(tuple(row.launches), piece.arena, piece.kept.intersection(row.results) | used)
        step = recorded_piece(part, row.operands, self.slots, row.sites, self.explanations, alone)
        block.joined.add(step, row.launches[0].node, None)

    def host(self, block: Block, call: HostCall | Access | PythonAccess | Transfer, around: Node | None) -> None:
        node, results = call.node, _range(call.results)
        self.define(call.results)
        kind = type(node.op)
        tensors = all(self.holds(i) or self.is_constant(i) for i in call.operands) and all(map(self.holds, call.results))
        operands = self.as_tensors(call.operands) if tensors else self.as_they_are(call.operands)
        held = tuple(map(self.holds, (*operands, *results)))
        bound = Bound(node, self.site(node, around), operands, results, held, self.recording,
                      dying=() if isinstance(call, (PythonAccess, Transfer)) else call.dying)
        if kind in self.makers:
            step: Step | None = self.makers[kind](bound)
        elif kind in _VALUES:
            step = computing(_VALUES[kind](node.op), bound)
        else:
            step = None
        if step is None:
            raise InternalError(f"{node.op.name} has no place in what is run")
        if isinstance(step, WrittenStep) and isinstance(call, HostCall):
            self.parts[call] = Part(step, call.freed)
            self.run_of_its_own = self.run_of_its_own or step.run_of_its_own
        block.add(step, node, results)

    def control(self, block: Block, piece: Control, around: Node | None) -> None:
        block.add(self.control_step(piece, around), piece.node, None)

    def control_step(self, piece: Control, around: Node | None) -> Step:
        node, results, site = piece.node, _range(piece.results), self.site(piece.node, around)
        differentiated = isinstance(node.op, Differentiated)
        outer, self.recording = self.recording, self.recording or differentiated
        self.define(piece.params)
        blocks = tuple(self.bound(inner, site) for inner in piece.blocks)
        self.recording = outer
        self.define(piece.results)
        bound = Bound(node, site, self.as_tensors(piece.operands), results, params=piece.params, blocks=blocks,
                      yields=tuple(self.as_tensors(inner.yields) for inner in piece.blocks))
        maker = self.makers.get(type(node.op))
        step = (maker(bound) if maker is not None else None) or control_step(piece, blocks, results, self)
        if step is None:
            raise InternalError(f"{node.op.name} has no place in what is run")
        return step


class _Row:
    """Consecutive launches (nodes computed by kernels), collected so that one step can run them all.

    begin  the index in the block's list of steps where the single steps of these launches begin, one for each
    """

    def __init__(self, begin: int):
        self.begin = begin
        self.launches: list[Launch] = []
        self.operands: list[tuple[int, ...]] = []
        self.sites: list[Node | None] = []

    @property
    def results(self) -> list[int]:
        """Return the slots (value numbers) of the values that the launches compute."""
        return [slot for launch in self.launches for slot in launch.results]

    def add(self, launch: Launch, operands: tuple[int, ...], site: Node | None) -> None:
        """Append a launch.

        operands  the positions of its operands (indices in the list of values)
        site      the node with whose location it is recorded; None for the line that runs the plan
        """
        self.launches.append(launch)
        self.operands.append(operands)
        self.sites.append(site)


def _range(slots: Listed[int]) -> range:
    """Return slots (value numbers) as a range; the slots of one node's results follow each other."""
    return range(slots[0], slots[-1] + 1) if slots else range(0)


def _free(block: Block, slots: tuple[int, ...], *, every: bool = True) -> None:
    """Append a step that frees the values in these slots, by putting None into the list of values in their place.

    every  False: in a LoggingBlock, add the step only to the list that replays use, not to `joined`
    """
    if not slots:
        return

    def free(values: list[Any], run: Run) -> None:
        for i in slots:
            values[i] = None

    (block.add if every else functools.partial(Block.add, block))(free, None, None)


# -- steps that need no maker ---------------------------------------------------------------------------------------------
def _item(op: Any) -> Callable[..., Listed[Any]]:
    index = op.index
    return lambda items: (items[index],)


_VALUES: dict[type[Op], Callable[[Any], Callable[..., Listed[Any]]]] = {
    Undef: lambda op: lambda: (UNDEFINED,),
    Group: lambda op: lambda *items: (items,),
    Item: _item,
    Stack: lambda op: lambda: (None,),
    Push: lambda op: lambda below, top: ((below, top),),
    Pop: lambda op: lambda stack: stack,
    Draw: lambda op: lambda: (next_key(op.seed or None),),
}
"""The functions that compute ops on values other than tensors, and on keys of the random stream, by class of op."""


def computing(function: Callable[..., Listed[Any]], bound: Bound) -> Step:
    """Return a step that computes the results of a node with a Python function.

    function  takes the values of the operands, one by one, and returns the sequence of results
    bound     the node, with the positions of its values (indices in the list of values)
    """
    operands, results = bound.operands, bound.results

    def compute(values: list[Any], run: Run) -> None:
        values[results.start : results.stop] = function(*[values[i] for i in operands])

    return compute
