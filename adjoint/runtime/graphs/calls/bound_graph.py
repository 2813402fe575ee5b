"""A graph that is ready to run, with what all ways of running it need: how to take arguments, make the result, and explain the way."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from adjoint.frontend import errors
from adjoint.ir.core import walk
from adjoint.ir.op import Effect
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.calls.call import Call
from adjoint.runtime.graphs.graph import Graph, HookCall
from adjoint.runtime.graphs.inputs.argument_text import argument_text, filling
from adjoint.runtime.graphs.inputs.callables import definition_of
from adjoint.runtime.graphs.inputs.outline import expression_of, filled, slots_of
from adjoint.runtime.graphs.inputs.templates import Template
from adjoint.runtime.graphs.lowering.graph_sizes import with_numbers
from adjoint.runtime.graphs.lowering.lowering import Lowered
from adjoint.runtime.graphs.reports.history import MadeGraph
from adjoint.runtime.graphs.reports.ways import HOOK_CHANGES, NOT_OBSERVABLE, PACKS, Way, Why
from adjoint.runtime.graphs.running import observed_runs, two_parts
from adjoint.runtime.graphs.running.binding import bind
from adjoint.runtime.graphs.running.observed_functions import why_not_observed
from adjoint.runtime.graphs.running.optimised import Alone
from adjoint.runtime.graphs.running.user_code import UserCode, has_user_code, is_decided, may_leave
from adjoint.runtime.hooks.firing import AFTER_CONSTRUCT, BEFORE_CONSTRUCT, ForwardKind
from adjoint.runtime.hooks.handles import described, subject_of
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.structure import mapped
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["BoundGraph"]


class BoundGraph:
    """A graph that is ready to run; the classes in `entry` that run calls ask it for facts, results and explanations.

    The constructor takes the first four of these, and `count`, the number of arguments that `call` takes one by one; None if it takes
    `args, kwargs`.

    lowered      the function, lowered to a graph
    template     the structure of the arguments; not kept
    record       the record of the graph in the function's history
    alone        the optimised form if it was specialised from a graph for any size; None if it is made when needed
    plan         the bound plan, which runs it
    kind         the hash of the template of its arguments
    nodes        the number of its nodes
    in_python     the names of the operators in it that Python calls, though there is a compiler
    slots        the slots for tensors in the structure of the result
    leaves       True if a call may have to be continued in another graph, because the user's Python code returns or changes something
    around       references to the cells in whose calls the user's code runs
    fill         makes the result of the tensors; None if arguments are written in place or the result cannot be written as text
    call         the source text of a function for a whole call; None if its arguments or result cannot be written as text
    guard_text   the source text of a function that checks whether the graph is for a call; its body may do anything instead of running it.
        None if arguments are written in place or cannot be checked by statements
    may_share    True if it writes a tensor from outside of the graph that is not a Parameter: the caller may pass the same tensor as an
        argument
    is_one_call  True if running the plan is all that a call does; `plan.call_function`, once it is compiled, then does a whole call
    observed     runs the graph as long as forward hooks change nothing; None if that is not possible, or nobody has asked for it
    """

    def __init__(self, lowered: Lowered, template: Template, record: MadeGraph, alone: Alone | None = None, count: int | None = None):
        self.lowered, self.record, self.kind = lowered, record, hash(template)
        self.nodes = len([*walk(lowered.graph.function.body)]) if alone is None else alone.nodes
        self.in_python = _called_in_python(lowered.graph if alone is None else alone)
        user = UserCode(lowered.graph) if alone is None and has_user_code(lowered.graph) else None
        self.leaves = may_leave(lowered.graph, user)
        self.around = () if user is None else tuple(site.reference for site in user.around)
        self.slots = slots_of(lowered.outline)
        self.may_share = any(not isinstance(x, Parameter) for x in lowered.rewritten)
        self._writes = bool(lowered.written) or self.may_share
        objects = dict(_CONVERTING)
        result = None if lowered.written else expression_of(lowered.outline, converts=True, objects=objects)
        self.fill = None if result is None else filling(result, len(self.slots), objects)
        given = None if self._writes else argument_text(template, count)  # not kept: it holds the arguments
        self.call = None if result is None or given is None else given.call(result, objects, lowered.guards)
        self.guard_text = None if given is None else given.call("None", {}, lowered.guards)
        self.is_one_call = self.fill is not None and not (self.leaves or self.around or self.may_share)
        self.plan = bind(lowered.graph, guarded=True, alone=alone, call=self.call if self.is_one_call else None)
        self.observed: observed_runs.Observed | None = None
        self._parts: two_parts.HeadAndTail | bool = False

    @functools.cached_property
    def is_decided(self) -> bool:
        """True if the graph has branches or loops, which depend on the values of tensors."""
        return is_decided(self.lowered.graph)

    @functools.cached_property
    def why_not_observed(self) -> Why:
        """The reason, for reports, why the hooks of the graph cannot be called while it runs as a graph."""
        return Why(PACKS) if self.lowered.packs else Why(NOT_OBSERVABLE, why_not_observed(self.lowered.graph))

    @property
    def parts(self) -> two_parts.HeadAndTail | None:
        """The graph split in two, so that the second part can be optimised although the user's code runs in the first; None if no such
        second part is large enough.
        """
        if self._parts is False:
            # Two threads may both make it: the parts are equal.
            self._parts = two_parts.head_and_tail(self.lowered.graph, first=self.observed is None) or True
        return self._parts if isinstance(self._parts, two_parts.HeadAndTail) else None

    # -- before a run ----------------------------------------------------------------------------------------------------
    def check_written(self, named: Any, tensors: Sequence[Tensor]) -> None:
        """Raise CompileError if a call writes a tensor in place that the graph knows under two names: it would treat it as two tensors.

        The two names may be two arguments, or an argument and a tensor from outside of the graph.

        named    the function, for the message
        tensors  the tensors among the arguments
        """
        lowered, tape = self.lowered, state.tracer
        one: Callable[[Tensor], int] = tape.identity if tape is not None and tape.emits is False else id
        given = [one(x) for x in tensors]
        rewritten = {one(x) for x in lowered.rewritten}
        outside = {one(x) for x in lowered.graph.state.values()} if lowered.written else rewritten
        for i in range(len(given)):
            if i in lowered.written and given.count(given[i]) > 1:
                raise errors.written_under_two_names(definition_of(named), from_outside=False)
            if given[i] in (outside if i in lowered.written else rewritten):
                raise errors.written_under_two_names(definition_of(named), from_outside=True)

    def checked(self, call: Call) -> bool:
        """If the graph writes tensors, check a call as `check_written` does, and return True; return False if there is nothing to check.

        The check is needed if the graph writes arguments or tensors that may be arguments.  On a tape (the recording for a gradient) it is
        also needed if the graph writes Parameters, which an argument may then refer to.
        """
        if self._writes or (self.lowered.rewritten and state.tracer is not None):
            self.check_written(call.named, call.tensors)
            return True
        return False

    def may_be_hooked(self) -> bool:
        """Return True if a cell that calls the user's code while it runs has hooks now, or has been freed.

        Then forward hooks may have been added that must run at the end of its call, and for which the graph has no nodes.
        """
        return any(cell is None or cell._cell_hooks for cell in [reference() for reference in self.around])

    def alive(self) -> list[Any]:
        """Return the objects that must be kept alive while the graph runs, since the user's hooks may replace them in the middle.

        In eager mode the running functions keep the old objects alive.
        """
        return self.lowered.guards.alive()

    # -- after it --------------------------------------------------------------------------------------------------------
    def returned(self, results: list[Tensor], tensors: Sequence[Tensor], counted: Mapping[str, int] = MappingProxyType({})) -> Any:
        """Return the result of the function, after writing the arguments that the function writes in place.

        results  the tensors that the graph has computed
        tensors  the tensors among the arguments
        counted  the numbers for the sizes that values decide, by name
        """
        lowered, slots = self.lowered, self.slots
        if self.fill is not None and not counted:
            return self.fill(*results)
        for i, value in zip(lowered.written, results[len(slots) :], strict=True):
            tensors[i].overwrite(value)
        leaves = [x if slot.category == "tensor" else _CONVERTING[f"{slot.category}_of"](x)
                  for slot, x in zip(slots, results, strict=False)]
        outline = mapped(lowered.outline, functools.partial(with_numbers, counted)) if counted else lowered.outline
        return filled(outline, leaves)

    def changed_by(self, symbol: str) -> Why:
        """Return the reason, for reports, why a call could not be finished in this graph: the text names the hooks that changed something.

        symbol  the symbol of the node that calls these hooks
        """
        host = self.lowered.graph.hosts.get(symbol)
        cell: Cell | None = host.cell() if isinstance(host, HookCall) else None
        if cell is None or cell._cell_hooks is None:
            return Why(HOOK_CHANGES, "a forward hook")
        kinds = [kind for kind in (*BEFORE_CONSTRUCT, *AFTER_CONSTRUCT) if isinstance(kind, ForwardKind)]
        found = [described(function) for kind in kinds for function in cell._cell_hooks.functions(kind.slot)]
        of = f"of {subject_of(cell)}"
        return Why(HOOK_CHANGES, f"the forward hook {found[0]} {of}" if len(found) == 1 else f"one of the {len(found)} forward hooks {of}")

    def not_whole(self, way: Way, why: Why) -> Exception:
        """Return the error for a call of a function with `fullgraph=True` that would not run entirely as a graph.  The caller raises it.

        way  how it would run, as an entry of `reports.ways.WAYS`
        why  the reason
        """
        return errors.NOT_WHOLE.at(self.lowered.graph.function.loc, f"{why}; the way of this call is '{way.name}'", help=why.reason.way_out)


def _number(kind: type, x: Any) -> Any:
    """Return the number in a 0-d tensor as an int, float or bool; return anything else unchanged, such as None for a missing result.

    kind  the class of the number
    """
    return kind(x.item()) if isinstance(x, Tensor) else x


_CONVERTING: dict[str, Any] = {f"{kind.__name__}_of": functools.partial(_number, kind) for kind in (int, float, bool)}


def _called_in_python(graph: Graph | Alone) -> tuple[str, ...]:
    """Return the names of a graph's operators that Python calls, though there is a compiler."""
    functions = [graph.function, *(graph.module.functions.values() if isinstance(graph, Graph) else ())]
    return tuple(sorted({node.op.name for function in functions for node in walk(function.body)
                         if node.op.in_python and node.op.effect is Effect.PURE}))
