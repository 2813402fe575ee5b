"""Gradients of functions that run as graphs, without a tape: the graph and its gradient are one function.

    grad(f)(x)      the graph of f for x     func @f(x) { R; yield y }
                    its joint gradient       func @f(x) { x' = gradient of=1 carry (x) { R; yield y }; yield y, x' }

The gradient belongs to the graph that a call of `f` would run, so it is made once for all calls for which this graph is right.  It is
optimised and run like the graph of a function that takes this gradient itself.

A tape (a recording of the operations of a call) is needed instead

    where something else is recorded              where the gradient sums in another order than eager mode does (`passes.order`)
    where the user's code runs in the graph       where a hook waits on an argument or a parameter for its gradient
    where arguments are written in place          where an argument to differentiate by is not a Tensor itself
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

from adjoint.foundation import collector
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Region, Value, tensor_type
from adjoint.ir.ops.control import Gradient
from adjoint.ir.types import BOOL, NamedSizes
from adjoint.runtime.execution.run import Run
from adjoint.runtime.graphs.calls.any_size import SizedGraph
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.inputs.argument_text import argument_text, filling
from adjoint.runtime.graphs.inputs.outline import OutlineSlot, expression_of, slots_of
from adjoint.runtime.graphs.inputs.templates import Template
from adjoint.runtime.graphs.lowering.graph_sizes import GraphSize
from adjoint.runtime.graphs.lowering.lowering import Lowered
from adjoint.runtime.graphs.running.binding import bind
from adjoint.runtime.graphs.running.counted_sizes import CountedParts, OtherCount, counted_parts
from adjoint.runtime.graphs.running.optimised import Alone, optimised_alone, runs_alone
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.structure import RESULTS, Gap, emptied, leaves
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["GradientOf", "JointGradient", "joint_gradient"]


class GradientOf(NamedTuple):
    """A request for a gradient of a function that runs as a graph: what to differentiate by, and what to return.

    leaves   the arguments to differentiate by, as indices among the tensors of the call
    weights  the Parameters to differentiate by
    trained  for each Parameter, True if it requires a gradient
    has_aux  True if only the first item of the result is differentiated
    valued   True if the result of the function is asked for, besides the gradients
    """

    leaves: tuple[int, ...]
    weights: tuple[Parameter, ...]
    trained: tuple[bool, ...]
    has_aux: bool
    valued: bool


class JointGradient:
    """Computes a function's result and gradient by one graph, without a tape (the recording for a gradient); `jit` calls it for
    `grad(f)(x)`.

    graph       the graph that returns the result, then the gradients
    optimised   the optimised form of its function
    template    the structure of the arguments
    result      a Python expression that makes the result of a call from the tensors `leaf0`, `leaf1`, ...
    objects     the values of the other names in that expression
    conditions  the guards of the graph
    parts       runs the graph if values decide sizes in it; None for other graphs
    plan        the bound plan that runs it; its `call_function`, once it is compiled, returns what `run` returns
    nbytes      an estimate of its bytes
    """

    def __init__(self, graph: Graph, optimised: Function, template: Template, result: str, objects: dict[str, Any], conditions: Guards,
                 parts: CountedParts | None):
        self._parts = parts
        given = argument_text(template) if parts is None else None
        call = None if given is None else given.call(result, objects, conditions)
        self.plan = bind(graph, guarded=True, call=call, alone=Alone(optimised, True, len(optimised.body.nodes)))
        self.nbytes = _GRADIENT + _NODE * len(optimised.body.nodes)
        self._fill = filling(result, len(optimised.body.results), objects)

    def run(self, tensors: Sequence[Tensor]) -> Any:
        """Run the graph on the tensors of a call, and return three things: the result (None if it was not asked for), the gradients of the
        arguments, and those of the Parameters.

        Return None alone if this cannot run now, because an argument or a Parameter has a hook that waits for its gradient, or because a
        size that values decide is 0 or 1.
        """
        if self._parts is not None:
            if not self._parts.fits(tensors):
                return None
            try:
                return self._fill(*self._parts.run(tensors)[0])
            except OtherCount:
                return None
        return self._fill(*self.plan.run_fitting(tensors, Run(None))) if self.plan.fits(tensors) else None


@collector.paused(lasting=False)
def joint_gradient(lowered: Lowered, template: Template, of: GradientOf) -> JointGradient | str:
    """Return the object that computes a graph's result and gradient at once; if a tape (the recording for a gradient) is needed instead,
    return a text that says why.

    lowered   the function, lowered to a graph
    template  the structure of the arguments
    of        what to differentiate by, and what to return
    """
    graph, outline = lowered.graph, lowered.outline
    general = graph.general if isinstance(graph, SizedGraph) else graph
    objects: dict[str, Any] = {"zeros": zeros}
    result = expression_of(outline, objects=objects)
    if result is None or any(isinstance(x, GraphSize) for x in objects.values()):
        return "Python makes its result"
    if lowered.written:
        return "an argument is written in place"
    if lowered.packs:
        return "hooks pack what it reads"
    if lowered.exact:
        return "Python needs to know a size that values decide"
    if not runs_alone(general):
        return "code of the user's runs in it"
    values = general.function.body.results[: len(slots_of(outline))]
    chosen = _differentiated(outline, values, of.has_aux)
    if not chosen:
        return "nothing of its result can be differentiated"
    symbols = {id(tensor): symbol for symbol, tensor in graph.state.items()}
    by = list(dict.fromkeys(symbols[id(w)] for w, takes in zip(of.weights, of.trained, strict=True) if takes and id(w) in symbols))
    try:
        made = _made(graph, len(values), chosen, of, by)
        if made is None:
            return "it would be summed in another order than in eager mode"
        joint, optimised = made
        parts = counted_parts(joint, lowered.counted) if lowered.counted else None
    except NamedSizes:
        return "it needs to know a size that values decide"
    if isinstance(parts, str):
        return parts
    numbers = count(len(values) if of.valued else 0)
    by_leaf = [f"leaf{next(numbers)}" for _ in of.leaves]
    by_symbol = {symbol: f"leaf{next(numbers)}" for symbol in by}
    by_weight: list[str] = []
    for i, (weight, takes) in enumerate(zip(of.weights, of.trained, strict=True)):
        symbol = symbols.get(id(weight)) if takes else None
        objects[f"weight{i}"] = weight  # this also keeps its id from being used again
        by_weight.append(f"zeros(weight{i}.type)" if symbol is None else by_symbol[symbol])
    text = f"({result if of.valued else None}, [{', '.join(by_leaf)}], [{', '.join(by_weight)}])"
    return JointGradient(joint, optimised, template, text, objects, lowered.guards, parts)


def _made(graph: Graph, outputs: int, chosen: Sequence[int], of: GradientOf, by: Sequence[str]) -> tuple[Graph, Function] | None:
    """Return a graph that computes a function and its gradient, and the optimised form of this graph.

    Return None if the optimised form would add up gradients in another order than eager mode does, and so might round differently (see
    `passes.order`).  If the graph was specialised from one for any size, so is this one, where possible.

    graph    the graph of the function
    outputs  how many of its results are those of the user's function
    chosen   the indices of the results that are differentiated
    of       which arguments to differentiate by, and whether the function's result is asked for, too
    by       the symbols of the Parameters to differentiate by
    """

    def with_gradient(graph: Graph) -> Graph:
        function = _with_gradient(graph, graph.function.body.results[:outputs], chosen, of, by)
        return Graph(graph.module.with_function(function), graph.symbol, graph.state, graph.hosts, cells=graph.cells)

    if isinstance(graph, SizedGraph):
        found = graph.derived((of.leaves, of.valued, tuple(chosen), tuple(by)), with_gradient)
        if found is not None:
            return found
    joint = with_gradient(graph)
    optimised = optimised_alone(joint)
    return None if optimised is None else (joint, optimised)


_GRADIENT, _NODE = 4000, 900
"""Estimated bytes that are charged to the memory budget: for a gradient, and for each of its nodes."""


def _differentiated(outline: Any, values: Sequence[Atom], has_aux: bool) -> list[int]:
    """Return which results of a graph are differentiated, as indices; an empty list if eager mode would refuse the function's result.

    outline  the structure of the function's result, with a slot for each tensor
    values   the graph's results, in the order of the slots
    has_aux  True if only the first item of the result is differentiated
    """
    if has_aux and not (isinstance(outline, tuple) and len(outline) > 1):
        return []
    gaps = leaves(emptied(outline[0] if has_aux else outline, OutlineSlot), Gap, RESULTS)
    return [gap.index for gap in gaps if tensor_type(values[gap.index]).dtype is not BOOL]


def _with_gradient(graph: Graph, values: Sequence[Atom], chosen: Sequence[int], of: GradientOf, by: Sequence[str]) -> Function:
    """Return a graph's function with gradients of some of its results as further results.

    values  its results
    chosen  the indices of those to differentiate
    by      the symbols of the Parameters to differentiate by
    """
    function, body = graph.function, graph.function.body
    params = tuple([Value(p.type, p.hint) if i in of.leaves else p for i, p in enumerate(body.params)])
    order = [*chosen, *(i for i in range(len(values)) if i not in chosen)]
    region = Region(tuple([body.params[i] for i in of.leaves]), body.nodes, tuple([values[i] for i in order]))
    b = Builder(function.loc)
    op = Gradient(len(chosen), tuple(by), tuple([graph.state[symbol].type for symbol in by]))
    made = b.emit_node(op, [params[i] for i in of.leaves], regions=(region,)).results
    shown = [made[order.index(i)] for i in range(len(values))] if of.valued else []
    return dataclasses.replace(function, body=Region(params, tuple(b.nodes), (*shown, *made[len(values):])))
