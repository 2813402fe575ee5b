"""Lowering: make a function into a graph, by running its source on symbolic tensors, so that each op becomes a node.

The frontend runs the function's syntax tree.  All computation on the symbolic tensors, in the user's code or the library's, goes through
`apply` or a related function, which looks for the thread's *tracer*.  If that is a tape (the recording for a gradient), the op runs and is
recorded; if it is a `Lowering`, the op becomes a node instead.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, cast

from adjoint.foundation import collector
from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.diagnostics import CompileError, Loc, Within
from adjoint.foundation.made import count
from adjoint.frontend import errors
from adjoint.frontend.changes.journal import OutsidePlace
from adjoint.frontend.control.branches import Unreachable
from adjoint.frontend.lowerer import Lowerer
from adjoint.frontend.world import Kind
from adjoint.ir.core import Function, Module, Region, Value, free_values, tensor_type
from adjoint.passes.differentiate import without_batches
from adjoint.passes.escapes import with_escapes
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.inputs.outline import outlined
from adjoint.runtime.graphs.inputs.templates import Template
from adjoint.runtime.graphs.lowering.assumptions import Assumptions, CountedSize, Counts, NumberNeeded
from adjoint.runtime.graphs.lowering.batches import Batches
from adjoint.runtime.graphs.lowering.categories import value_slot
from adjoint.runtime.graphs.lowering.cell_calls import CellCalls
from adjoint.runtime.graphs.lowering.changes import AtomPlace
from adjoint.runtime.graphs.lowering.cuts import Cuts
from adjoint.runtime.graphs.lowering.forward_hooks import ForwardHooks
from adjoint.runtime.graphs.lowering.gradients import Gradients
from adjoint.runtime.graphs.lowering.graph_values import Owner
from adjoint.runtime.graphs.lowering.hosts import Hosts
from adjoint.runtime.graphs.lowering.library_instances import LibraryInstances
from adjoint.runtime.graphs.lowering.made import Made
from adjoint.runtime.graphs.lowering.operations import Operations
from adjoint.runtime.graphs.lowering.python_objects import PythonObjects
from adjoint.runtime.graphs.lowering.python_state import Begun, PythonState
from adjoint.runtime.graphs.lowering.reads import Reads
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.returned import Returned
from adjoint.runtime.graphs.lowering.run_time_numbers import RunTimeNumbers
from adjoint.runtime.graphs.lowering.symbols import Symbols
from adjoint.runtime.graphs.lowering.value_hooks import ValueHooks
from adjoint.runtime.graphs.lowering.values import Values
from adjoint.runtime.graphs.lowering.world import GraphWorld
from adjoint.runtime.process.tracer import set_tracer, state
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Lowered", "Lowering", "Subject", "continued", "lowered", "lowered_for_any_size", "lowered_reading"]

_TRIES = 3
"""How often at most a graph is made again because other threads have changed what it was made from; then it is used for one call only."""

_DEPTH = 10_000
"""The recursion limit while a function is parsed: each nested call or `if` takes about 15 Python frames."""


class Lowered:
    """The result of making a function into a graph: the graph, and what is needed to run it in place of the function.

    graph      the graph, ready to be bound
    guards     the conditions under which it may run, in addition to the types of its arguments
    outline    the nested structure of the function's result, with a slot for each tensor; the graph's first results fill the slots
    written    the indices of the arguments that the function writes in place; their new values are the graph's last results
    decisions  what forward hooks are assumed to return, and which hooks cells are assumed to have.  The keys are sites: the index of a
               cell's call in the graph, with the kind of hooks
    sites      for each node that calls such hooks, by symbol (the name in the IR), its site
    begun      the Python state (attributes, variables) that it reads and writes, as it is at the beginning of a call
    rewritten  the tensors from outside of the graph that it writes
    counted    the sizes that values decide, in the order of the calls that need them
    exact      True if it is for these numbers only, since Python needs to know them
    packs      True if `saved_tensors_hooks` are entered in it: only a tape knows what gradients read, so the function itself runs
    """

    def __init__(
        self, graph: Graph, guards: Guards, outline: Any, written: tuple[int, ...], decisions: dict[Any, Any], sites: dict[str, Any],
        begun: Begun, rewritten: Sequence[Tensor], counted: Sequence[CountedSize] = (),
        exact: bool = False, packs: bool = False,
    ):
        self.graph, self.guards, self.outline, self.written = graph, guards, outline, written
        self.decisions, self.sites, self.begun, self.rewritten = decisions, sites, begun, rewritten
        self.counted, self.exact, self.packs = counted, exact, packs

    def _repr_html_(self) -> str:
        """Return the IR of the graph as HTML; notebooks show it."""
        return self.graph._repr_html_()


@dataclass(frozen=True)
class Subject:
    """A function with the arguments for which it is to be made into a graph.

    call       runs the function on the lowering, with the symbolic arguments
    arguments  the template of (args, kwargs): their structure with the tensors taken out
    symbol     the name of the graph's function in the IR
    loc        the line of the function's definition
    names      names of the tensors among the arguments
    constant   keys of attributes and variables whose numbers Python needs to know; lowering adds those that it finds
    tries_numbers  True in an attempt with numbers as inputs: where Python fails on one, a graph with constants is made instead
    counts     the numbers for which the graph is made of the sizes that values decide
    may_end    True if the graph may end at forward hooks where it cannot be made with what they are assumed to return
    """

    call: Callable[[Lowering, tuple[Any, ...], dict[str, Any]], Any]
    arguments: Template
    symbol: str
    loc: Loc
    names: Sequence[str] = ()
    constant: set[Any] = field(default_factory=set)
    tries_numbers: bool = False
    counts: Counts = Counts()
    may_end: bool = True


def lowered(subject: Subject) -> Lowered:
    """Make a function into a graph and return it.

    Which attributes and variables differ from call to call is found by trying.  If the function writes one that it reads, the number or
    tensor there becomes a value of the graph, which is read each time it runs.  If Python then needs the number while parsing, the number
    is a constant, and each number has its own graph.

    subject  the function and its arguments
    """
    # Python may need to know a size that values decide: each number then has a graph of its own.  Where what is taken for it does not fit,
    # the graph ends at the size, and gives its number.
    exact = Counts(subject.counts.known, exact=True)
    attempts: list[_Attempt] = []
    for counts in dict.fromkeys((subject.counts, exact, exact._replace(ends=True))):
        constant = {*subject.constant}
        attempts.append(_read_where_needed(replace(subject, counts=counts, constant=constant)))
        if attempts[-1].made is not None or not attempts[-1].counted:
            subject.constant.update(constant)
            return attempts[-1].result()
    return attempts[0].result()


def _read_where_needed(subject: Subject) -> _Attempt:
    """Return an attempt in which attributes and variables that differ from call to call are read each time the graph runs, but where Python
    needs their numbers.  If no attempt makes a graph, return the first one.
    """
    first = _Attempt(subject)
    places = first.found
    while places:
        attempt = _Attempt(subject, state=places)
        if attempt.made is None:
            # It is not known which number Python needs, so all of them become constants.
            needed = attempt.numbers or {place.key for place in places}
            subject.constant.update(needed)
            places = [place for place in places if place.key not in needed]
        elif attempt.found:
            places = [*places, *attempt.found]
        else:
            return attempt
    return first


def lowered_reading(subject: Subject, places: Sequence[OutsidePlace]) -> Lowered | None:
    """Return a graph that reads some attributes and variables each time it runs, besides those that the function writes; None if it cannot
    be made.

    subject  the function and its arguments
    places   the attributes and variables
    """
    while True:
        attempt = _Attempt(subject, state=places)
        if attempt.made is None or not attempt.found:
            return attempt.made
        places = [*places, *attempt.found]


def lowered_for_any_size(subject: Subject) -> Lowered | None:
    """Return a graph for arguments with named sizes.

    Return None if Python needs to know a size, or if the function writes attributes or variables from outside of the graph.

    subject  the function and its arguments
    """
    attempt = _Attempt(subject)
    made = attempt.made
    return made if made is not None and made.begun.is_empty else None


@collector.paused(lasting=False)
def continued(subject: Subject, before: Lowered, decisions: dict[Any, Any]) -> Lowered:
    """Return a graph in which a call can be continued that could not be finished in another graph, because of what forward hooks returned.

    The caller holds `lowering_lock`.

    subject    the function and its arguments
    before     the graph in which the call began
    decisions  what forward hooks return, as was seen, by site: the index of a cell's call in the graph, with the kind of hooks
    """
    return _Attempt(subject, decisions, [living() for living in before.begun.loaded], before.begun).result()


class _Attempt:
    """One attempt to make a graph, with some attributes and variables read each time it runs; `lowered` makes several with different ones.

    subject    the function and its arguments
    decisions  what forward hooks return, as was seen, by site
    state      the attributes and variables that the graph is to read each time it runs
    begun      what attributes and variables contained when the call began, if another graph has begun it
    made       the graph; None if an exception was raised
    raised     the exception
    found      attributes and variables that differ from call to call, but were taken for constants
    numbers    the keys of those that are read each time and hold numbers
    counted    True if values decide a size
    """

    def __init__(self, subject: Subject, decisions: dict[Any, Any] | None = None, state: Sequence[OutsidePlace] = (),
                 begun: Begun | None = None):
        self.made: Lowered | None = None
        self.raised: Exception | None = None
        self.found: list[OutsidePlace] = []
        self.numbers: frozenset[Any] = frozenset()
        self.counted = False
        self._state, self._begun = state, begun
        try:
            self.made = self._made(subject, decisions or {})
        except Exception as raised:
            self.raised = raised

    def result(self) -> Lowered:
        """Return the graph, or raise the exception that the attempt has ended with."""
        if self.made is not None:
            return self.made
        raised, self.raised = self.raised, None
        assert raised is not None
        try:
            raise raised
        finally:
            del raised  # its frames refer to this one

    def _made(self, subject: Subject, decisions: dict[Any, Any]) -> Lowered:
        outer, limit, no_grad = state.tracer, sys.getrecursionlimit(), state.no_grad
        sys.setrecursionlimit(max(limit, _DEPTH))
        state.no_grad = []  # a graph does not depend on where it is called
        try:
            # A function that also runs without a graph does so before any hook has been called, not after some of them.
            may_end = subject.may_end or bool(decisions)
            for asks in (False, True) if may_end else (False,):
                restless, disturbed = False, 0
                while True:
                    sizes_differ = not all(t.is_static for t in subject.arguments.types)
                    counts = None if sizes_differ or subject.tries_numbers else subject.counts
                    assumptions = Assumptions(decisions, asks, self._state, self._begun, sizes_differ, subject.tries_numbers, counts)
                    state.tracer = lowering = Lowering(subject, assumptions, restless)
                    try:
                        made = lowering.run()
                        if lowering.is_disturbed and disturbed < _TRIES:
                            disturbed += 1
                        elif lowering.python.needs_care:
                            restless = True
                        else:
                            if lowering.is_disturbed:
                                made.guards.give_up()
                            return made
                    except Exception as raised:
                        # Causes other than the user's code: a write of another thread, or the assumption that hooks keep structure and
                        # types.
                        if lowering.may_be_disturbed(raised) and disturbed < _TRIES:
                            disturbed += 1
                            continue
                        if not assumptions.guessed or not may_end:
                            raise
                        break
                    finally:
                        # Those of a graph that is given up, since it guessed what hooks return, count too: the next graph is for a part.
                        known = {place.key for place in self.found} | subject.constant
                        self.found += [place for place in lowering.python.found if place.key not in known]
                        self.numbers = lowering.python.numbers
                        self.counted = bool(assumptions.counted)
                        lowering.end()
            raise AssertionError("a lowering that asks assumes nothing")
        finally:
            set_tracer(outer)
            state.tracer, state.no_grad = outer, no_grad
            sys.setrecursionlimit(limit)


class Lowering:
    """Makes one function into a graph: the thread's tracer while the function's source runs on symbolic tensors.

    It only puts parts together; each part does one kind of work.  A part takes the parts that it uses as arguments, so they are made in the
    order below.

        part              does                                                    owns

        Regions           nodes and regions                                       open regions, the place in the user's program
        Made              cells, Parameters and tensors made by parsed code       these
        Owner             what the graph's tensors and numbers call
        Assumptions       results that forward hooks are assumed to have          these
        Symbols           tensors from outside, objects of host nodes             their symbols
        Values            Python's objects as atoms, atoms as tensors, numbers    values that leave a cell's region
        Cuts              values inside of `_no_grad`                             what replaces them
        Hosts             Python functions that run with the graph
        RunTimeNumbers    numbers known when the graph runs
        Operations        ops, writes, random draws, sizes that values decide
        ValueHooks        hooks on values
        PythonState       attributes and names outside that parsed code writes    what they hold at the beginning
        Reads             reads of the program around, as guards
        PythonObjects     what Python objects are
        LibraryInstances  instances of the library's classes
        ForwardHooks      forward hooks of cells
        CellCalls         calls of cells                                          their sites
        Gradients         `grad`, `vjp`
        Batches           `vmap`

    Three interfaces lead to it.  Ops and cells call this object, the thread's tracer; the frontend calls a `GraphWorld`; tensors of the
    graph call their `Owner`.  The last two are made before the parts and get their methods when the parts exist.
    """

    emits: Literal[True] = True

    def __init__(self, subject: Subject, assumptions: Assumptions, restless: bool):
        self._subject, self._assumptions, self._packs = subject, assumptions, False
        regions = self._regions = Regions(subject.loc)
        regions.restless = restless
        made = self._made = Made()
        owner = self.owner = Owner()
        world = self._world = GraphWorld(regions)
        frontend = self.frontend = Lowerer(world)
        guards = self.guards = Guards(frontend.workspace.is_shared, lambda: regions.loc)
        symbols = self._symbols = Symbols(subject.symbol, regions, guards, made)
        values = self._values = Values(owner, regions, symbols)
        cuts = Cuts(regions)
        hosts = Hosts(regions, symbols, values, assumptions, frontend.journal)
        numbers = RunTimeNumbers(regions, values, hosts, frontend.branching)
        operations = Operations(regions, symbols, values, cuts, made, assumptions, frontend.aliases)
        hooks = ValueHooks(regions, symbols, values, hosts, frontend.as_python)
        python = self.python = PythonState(
            regions, values, hosts, guards, frontend.journal, frontend.workspace, frontend.outside, assumptions.state, assumptions.begun)
        reads = self._reads = Reads(guards, symbols, frontend.journal, python)
        objects = self._objects = PythonObjects(regions, made, guards)
        instances = LibraryInstances(owner, regions, values, hosts, operations, made, reads, frontend)
        forward_hooks = ForwardHooks(regions, values, hosts, guards, assumptions, frontend.aliases)
        cells = self._cells = CellCalls(
            regions, symbols, values, guards, objects, hosts, forward_hooks, assumptions, frontend, self.packing)
        gradients = Gradients(owner, regions, symbols, values, guards, frontend)
        batches = Batches(regions, values, frontend)

        world.connect(values, hosts, numbers, reads, python, objects, instances, cells)
        owner.regions, owner.made, owner.aliases = regions, made, frontend.aliases
        owner.touch = lambda x: frontend.journal.touch(AtomPlace(x))
        owner.atom, owner.rewritten, owner.attach = values.atom, cuts.rewritten, hooks.attach
        owner.tries = subject.tries_numbers
        owner.number, owner.either, owner.host_number, owner.check = numbers.number, numbers.either, hosts.number, hosts.check

        self.emit, self.write, self.draw, self.undrawn = operations.emit, operations.write, operations.draw, operations.undrawn
        self.lend, self.size_of_values, self.number_of_size = operations.lend, operations.size_of_values, numbers.of_size
        self.size_is_asked = operations.size_is_asked
        self.attach, self.hook, self.registered_inside = hooks.attach, hooks.hook, hooks.registered_inside
        self.check, self.effect, self.convert, self.call = hosts.check, hosts.effect, instances.convert, frontend.call
        self.with_around = frontend.with_around
        self.made, self.new_parameter, self.new_cell = made.add_tensor, instances.new_parameter, instances.add_cell
        self.drawn, self.first_value = instances.drawn, instances.first_value
        self.new_object, self.keep_attribute = instances.new_object, instances.keep_attribute
        self.read_attribute, self.read_numbers, self.read_setting = reads.read_attribute, reads.read_numbers, reads.read_setting
        self.call_cell, self.differentiate, self.record = cells.call_cell, gradients.differentiate, gradients.record
        self.batch, self.tangent, self.differentiable = batches.batch, gradients.tangent, gradients.differentiable
        self.present = values.present
        self.linear = gradients.linear

    @property
    def loc(self) -> Loc:
        """The line of the user's program that is being made into nodes."""
        return self._regions.loc

    def packing(self, hooks: object) -> Lowering:
        """Note that `saved_tensors_hooks` are entered, and return this object."""
        self._packs = True
        return self

    def trains_with(self, part: weakref.ref[Any], attribute: str) -> None:
        """Note that the graph uses an optimiser or a loss scaler, which has its number of steps, or its scale, as this attribute."""
        cast(list[Any], self._regions.within.training).append((part, attribute))

    @contextmanager
    def finite_ok(self) -> Iterator[None]:
        """Within a `with` statement, mark new nodes: their results may be infinite or NaN."""
        regions, around = self._regions, self._regions.within
        regions.within = Within(around.cell, True, around.training, around.callers)
        try:
            yield
        finally:
            regions.within = around

    def run(self) -> Lowered:
        """Run the function's source on symbolic arguments, and return the graph of the nodes that this has added."""
        count("lowerings")
        self.guards.begin()
        try:
            made = self._run()
        finally:
            self.python.end()
            self.guards.end()
        self.guards.freeze(self.frontend.workspace.as_found)
        self.frontend.workspace.compare()
        return made

    @property
    def is_disturbed(self) -> bool:
        """True if another thread has changed what was read or written.

        The graph may then mix two states of the program, and is made again.
        """
        return self.guards.is_disturbed or self.frontend.workspace.is_disturbed

    def may_be_disturbed(self, raised: Exception) -> bool:
        """Return True if `raised`, an exception while the graph was made, may come from a change by another thread, not from the user's
        code.
        """
        if not self.frontend.workspace.is_shared or not isinstance(raised, CompileError):
            return False
        return self.is_disturbed or self.guards.others_changed or raised.diagnostic.code == errors.CHANGED_OUTSIDE.code

    def _run(self) -> Lowered:
        subject = self._subject
        arguments, names = subject.arguments, subject.names
        regions, values, symbols = self._regions, self._values, self._symbols
        params = [Value(type_, names[i] if i < len(names) else "x") for i, type_ in enumerate(arguments.types)]
        regions.named.update(params)
        categories = [arguments.numbers[i].__name__ if i in arguments.numbers else "tensor" for i in range(len(params))]
        bounds = arguments.bounds()
        leaves = [values.number(category, param, bounds[i]) if i in bounds else values.wrapped(Kind(category, tensor_type(param)), param)
                  for i, (category, param) in enumerate(zip(categories, params, strict=True))]
        args, kwargs = arguments.build(leaves)
        self.frontend.aliases.given = leaves
        self.python.begin()
        nodes = None
        try:
            result = subject.call(self, args, kwargs)
        except Unreachable:
            result = None
        except NumberNeeded as needed:
            # Within the region of a gradient, nodes depend on its parameters: then the graph is left empty, and cannot run in parts.
            result, nodes = None, needed.nodes if {*free_values(needed.nodes, ())} <= {*params} else ()
        regions.catch_up()
        pattern = Returned(self.frontend, self._objects, self._made, self._reads, self.python).taken(result)
        outline, found = outlined(pattern, value_slot)
        if nodes is None:
            written = tuple(i for i, (x, param) in enumerate(zip(leaves, params, strict=True)) if x.atom is not param)
            results = values.atoms((*found, *(leaves[i] for i in written)))
            nodes = tuple(regions.builder.nodes)
        else:
            written, results = (), ()
        body, _ = with_escapes(Region(tuple(params), nodes, tuple(results)))
        function = Function(subject.symbol, body, loc=subject.loc)
        parsed = Module({s: x.type for s, x in symbols.tensors.items()}, dict(symbols.declared), {subject.symbol: function})
        whole, cells = without_batches(function, parsed)
        module = parsed if whole is function else parsed.with_function(whole)
        sites = {**self._cells.sites, **{new: self._cells.sites[old] for new, old in cells.items() if old in self._cells.sites}}
        graph = Graph(module, subject.symbol, symbols.tensors, symbols.hosts, sites, tuple(self._made.cells))
        return Lowered(graph, self.guards, outline, written, self._assumptions.taken, self._assumptions.sites, self.python.begun(),
                       symbols.rewritten(), tuple(self._assumptions.counted), subject.counts.exact, self._packs)

    def end(self) -> None:
        """Drop the parts when the graph is made, so that cells and other objects are freed at once.  Nothing can be lowered afterwards.

        Tensors of the graph that have escaped still refer to their `Owner`, which then raises an error.  Functions that parsed code (the
        user's code of the graph) has defined and that are still used elsewhere keep the parts.
        """
        in_use = self.frontend.end()
        self.owner.end()
        if not in_use:
            self._world.end()
        vars(self).clear()
