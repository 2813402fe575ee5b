"""Gradients that a function takes while it is made into a graph: nodes `gradient`, `record`, `pull!`, `along!` and `tangent`.

The differentiated code is a region of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from adjoint.frontend import errors
from adjoint.frontend.changes.journal import MutablePlace
from adjoint.frontend.control.branches import Unreachable
from adjoint.frontend.lowerer import Lowerer
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Region, Value, walk
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Along, Gradient, OfTrace, Pull, Record, Tangent
from adjoint.ir.ops.conversion import NoGrad
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.stack import Undef
from adjoint.ir.types import BOOL, F32, TensorType, scalar
from adjoint.passes.forward import without_hooks
from adjoint.passes.order import calls_python, reads_what_it_writes
from adjoint.runtime.cells.nested_gradients import gradients_like
from adjoint.runtime.gradients.argument_copy import ArgumentCopy
from adjoint.runtime.gradients.grad import checked_sens, differentiated
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.inputs.outline import filled, outlined
from adjoint.runtime.graphs.lowering.categories import tensor_slot
from adjoint.runtime.graphs.lowering.changes import AtomPlace
from adjoint.runtime.graphs.lowering.graph_values import GraphTensor, Owner, place_of_use
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.symbols import Symbols
from adjoint.runtime.graphs.lowering.values import Values
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.structure import leaves, replaced
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Differentiable", "Gradients"]


class Gradients:
    """Adds nodes to the graph for `grad`, `vjp` and related functions; the function to differentiate becomes a region of the node.

    owner, regions, symbols, values, guards  the parts of the `Lowering` that it uses
    frontend  runs the function to differentiate
    """

    def __init__(self, owner: Owner, regions: Regions, symbols: Symbols, values: Values, guards: Guards, frontend: Lowerer):
        self._owner, self._regions, self._symbols, self._values = owner, regions, symbols, values
        self._guards, self._frontend = guards, frontend

    def differentiate(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], positions: Sequence[int], weights: Sequence[Parameter],
                      sens: Any = None, has_aux: bool = False,
                      sens_of: Callable[[Any], Any] | None = None) -> tuple[Any, list[Any], list[Tensor]]:
        """Add a node that runs a function and its gradient.

        Arguments and results are those of `adjoint.runtime.gradients.grad.differentiate`: the function's result, the gradients of
        arguments, and those of the weights.
        """
        if sens is not None:
            sens = replaced(sens, self._values.present(leaves(sens, Tensor)), Tensor)  # `fn` may write them
        inner = self.differentiable(fn, args, kwargs, positions, weights, has_aux)
        outputs = inner.outputs
        if inner.ends:
            sens = sens_of = None
        if sens_of is not None:
            # `sens_of` needs only the types of the results.
            sens = sens_of(inner.result)
        given = [] if sens is None else zip(outputs, checked_sens(inner.result, has_aux, sens), strict=True)
        sent = [s for x, s in given if x.dtype is not BOOL]
        result, rest = self._ran(Gradient(*inner.attributes), inner, self._values.atoms(sent))
        return result, *self._by_leaf(inner, rest)

    def tangent(self, inner: Differentiable, tangents: Sequence[Tensor]) -> tuple[Any, list[Tensor], list[Tensor]]:
        """Add a node that runs a function with the tangents of its values, as `jvp` does.

        Return the function's result, its differentiated tensors, and their tangents.

        inner     the function, called without weights
        tangents  one for each tensor in the arguments that are differentiated by
        """
        result, rest = self._ran(Tangent(inner.of), inner, self._values.atoms(tangents))
        outputs, found = differentiated(result, inner.has_aux), iter(self._values.tensors(rest))
        return result, outputs, [zeros(x.type) if x.dtype is BOOL else next(found) for x in outputs]

    def record(self, inner: Differentiable) -> tuple[Any, list[Tensor], Callable[[Sequence[Tensor]], tuple[list[Any], list[Tensor]]]]:
        """Add a node that runs a function and records it, so that gradients can be taken later, as `vjp` does.

        Return the function's result, its differentiated tensors, and the pullback: called with their cotangents it returns gradients.

        inner  the function
        """
        result, trace = self._recorded(inner)
        home, outputs = self._regions.builder, differentiated(result, inner.has_aux)

        def pullback(cotangents: Sequence[Tensor]) -> tuple[list[Any], list[Tensor]]:
            self._check_here(home, "pullback", "vjp")
            sent = [self._values.atom(ct) for x, ct in zip(outputs, cotangents, strict=True) if x.dtype is not BOOL]
            # Hooks run here and may write to tensors from outside.
            results = self._regions.add(Pull(), [trace, *(sent or [_NOTHING])], writes=True).results
            self._regions.user_code += 1
            return self._by_leaf(inner, [self._regions.node(NoGrad(), value) for value in results] if state.no_grad else results)

        return result, outputs, pullback

    def linear(self, inner: Differentiable) -> tuple[Any, list[Tensor], Callable[[Sequence[Tensor]], list[Tensor]]]:
        """Add a node that runs a function and records it, so that derivatives along directions can be taken later, as `linearize` does.

        Return the function's result, its differentiated tensors, and the function from tangents of the arguments to those of these tensors.

        inner  the function, called without weights
        """
        result, trace = self._recorded(inner)
        home, outputs = self._regions.builder, differentiated(result, inner.has_aux)

        def push(tangents: Sequence[Tensor]) -> list[Tensor]:
            self._check_here(home, "derivative", "linearize")
            found = iter(self._values.tensors(self._regions.add(Along(), [trace, *self._values.atoms(tangents)], writes=True).results))
            return [zeros(x.type) if x.dtype is BOOL else next(found) for x in outputs]

        return result, outputs, push

    def _recorded(self, inner: Differentiable) -> tuple[Any, Value]:
        """Add a `record` node; return the function's result, and the trace."""
        result, (trace,) = self._ran(Record(*inner.attributes), inner, ())
        trace.hint = "t"
        return result, trace

    def _check_here(self, home: Builder, what: str, maker: str) -> None:
        """Raise CompileError where a trace cannot be used.

        home   the region in which it was made
        what   the function that uses it, and `maker`, the function that has made that one
        """
        if not self._owner.is_traced:
            raise errors.NOT_IN_GRAPH.at(place_of_use(), f"this {what} belongs to another graph",
                                         help=f"call it in the function that calls `{maker}`")
        if not self._regions.is_open(home):
            raise errors.NOT_IN_GRAPH.at(self._regions.loc, f"this {what} was made inside a branch, loop or cell that has ended",
                                         help="call it there, and go on with its results")

    def differentiable(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], positions: Sequence[int],
                       weights: Sequence[Parameter], has_aux: bool) -> Differentiable:
        """Call a function in a new region (a body of nodes) whose parameters are the tensors to differentiate by, and return what came of
        it, for one of the nodes that `differentiate`, `tangent`, `record` and `linear` add.

        positions  the arguments to differentiate by
        weights    the Parameters to differentiate by
        has_aux    True if only the first item of the result is differentiated
        """
        loc, ends = self._regions.loc, False
        given = [*args, *kwargs.values()]
        given_by = [x for position in positions for x in leaves(given[position], Tensor)]
        for x in given_by:
            if isinstance(x, GraphTensor) and x.hooked is not None and x.hooked is not x.atom:
                # Hooks belong to the tensor object; in the graph they belong to the value that it had when they were registered.
                raise errors.UNSUPPORTED.at(
                    loc, "the gradient is taken by a tensor on which a hook was registered before it was written in place",
                    help="register the hook after the write, or write into a copy: `x = x.copy()`")
        for w in weights:
            if isinstance(w, GraphTensor):
                raise errors.UNSUPPORTED.at(self._regions.loc, f"the gradient by the Parameter '{w.name}' that the graph makes is taken",
                                            help="make it an argument of the function that is differentiated")
            if self._owner.made.is_drawn(w):
                raise errors.FROZEN_CALL.at(
                    self._regions.loc, f"the gradient by the Parameter '{w.name}' is taken, which each run draws anew",
                    help='make its cell outside, once: in `__init__`; or give values that are not drawn: `weight_init="ones"`')
            self._guards.of_attribute(w, "requires_grad")
        # The gradient by a Parameter that stands for another tensor is one by this tensor.
        lent = self._owner.made.lent
        wanted = list(dict.fromkeys(w for w in weights if w.requires_grad))
        trained, borrowed = [w for w in wanted if id(w) not in lent], [w for w in wanted if id(w) in lent]
        given_by += [lent[id(w)] for w in borrowed]
        operands = self._values.atoms(given_by)
        uses = self._symbols.uses(given_by)
        params = self._regions.params_like(operands)
        self._regions.open()
        for w in trained:  # the region reads them itself: of a value that was read before it, nothing is known of the Parameter
            self._symbols.read_anew(w)
        around = dict(lent)
        try:
            inner = self._values.tensors(params)
            inside = iter(inner)
            lent.update((id(w), x) for w, x in zip(borrowed, inner[len(inner) - len(borrowed) :], strict=True))
            called, copies = list(given), [ArgumentCopy(given[p], lambda leaf: next(inside) if isinstance(leaf, Tensor) else leaf)
                                           for p in positions]
            for position, copy in zip(positions, copies, strict=True):
                called[position], given[position] = copy.value, copy.given
            with self._frontend.journal.noting() as noted:
                try:
                    result = self._frontend.call(fn, tuple(called[: len(args)]), dict(zip(kwargs, called[len(args) :], strict=True)))
                except Unreachable:
                    # Nothing to differentiate: a run does not reach this point.
                    outputs, ends = [self._values.tensor(self._regions.node(Undef((scalar(F32),))))], True
                    result = outputs[0]
                else:
                    outputs = differentiated(result, has_aux)
            if any(copy.is_changed for copy in copies):
                raise errors.UNSUPPORTED.at(loc, "a function whose gradient is taken here changes a list or dict that it is given",
                                            help="let it return what it makes")
            outline, found = outlined(result, tensor_slot)
            # Bools have no gradient; if the function returns only bools, a constant is differentiated.
            chosen = [x for x in outputs if x.dtype is not BOOL] or [self._values.tensor(_NOTHING)]
            written = [(leaf, x) for leaf, x, param in zip(given_by, inner, params, strict=True) if x.atom is not param]
            self._symbols.check_names(given_by, [leaf for leaf, _ in written], uses, loc)
            written_around = self._written_around(noted, inner)
            if any(place.tensor is leaf for place, _ in written_around for leaf in given_by):
                raise errors.written_under_two_names(loc, from_outside=False)
            written += [(place.tensor, place.get()) for place, _ in written_around]
            order = [*chosen]
            for x in (*found, *(x for _, x in written)):
                if not any(x is c for c in order):
                    order.append(x)
            yielded = self._values.atoms(order)
            for place, before in written_around:
                place.set(before)  # until the node gives the new value
        finally:
            lent.clear()
            lent.update(around)
            builder = self._regions.close()
        self._regions.loc = loc
        region = builder.finish(yielded, params)
        return Differentiable(operands, region, result, outputs, order, outline, found, written, len(chosen), trained, borrowed,
                               ends, tuple(map(self._symbols.of, trained)), tuple(given), positions, weights, has_aux)

    def _written_around(
        self, noted: Mapping[tuple[Any, ...], tuple[MutablePlace, Any]], inner: Sequence[Tensor]
    ) -> list[tuple[AtomPlace, Any]]:
        """Return the tensors of the graph, other than those to differentiate by, that a function in the innermost open region has written
        in place though they were made before: arguments that are not differentiated by, and variables of enclosing functions.  With each
        comes its value before.

        noted  what has changed during the call of the function
        inner  what the tensors to differentiate by are in the region
        """
        return [(place, before) for place, before in noted.values()
                if isinstance(place, AtomPlace) and self._regions.is_around(before.home) and place.tensor.atom is not before.atom
                and not any(place.tensor is x for x in inner)]

    def _ran(self, op: Op, inner: Differentiable, more: Sequence[Atom]) -> tuple[Any, Sequence[Value]]:
        """Add a node for a function that was called in its own region; return the function's result, and the node's results after those of
        the function.

        op     the op of the node: it takes a gradient or records
        inner  the result of that call
        more   further operands, such as cotangents
        """
        node = self._regions.add(op, [*inner.operands, *more], [inner.region], writes=True)
        self._regions.user_code += 1  # backward hooks
        if inner.ends:
            raise Unreachable
        values = self._values
        made: list[Any] = [
            values.wrapped(kind, v) if (kind := values.kind(x)) else None for x, v in zip(inner.order, node.results, strict=False)]
        for x, value in zip(inner.order, made, strict=True):
            self._frontend.aliases.may_be(value, x)  # a Parameter that is returned is returned itself
        places = {id(x): value for x, value in zip(inner.order, made, strict=True)}
        for leaf, x in inner.written:
            leaf.overwrite(places[id(x)])
        return filled(inner.outline, [places[id(x)] for x in inner.found]), node.results[len(inner.order):]

    def _by_leaf(self, inner: Differentiable, values: Sequence[Value]) -> tuple[list[Any], list[Tensor]]:
        """Return the gradients of the arguments, each in the structure of its argument, and those of the weights; zeros for frozen weights.

        inner   the result of calling the differentiated function
        values  the gradients, as results of a node
        """
        gradients = self._values.tensors(values)
        left = iter(gradients[: len(inner.region.params)])
        by_position = [gradients_like(inner.args[position], left) for position in inner.positions]
        by_weight = dict(zip(map(id, (*inner.borrowed, *inner.trained)), (*left, *gradients[len(inner.region.params) :]), strict=True))
        return by_position, [by_weight[id(w)] if id(w) in by_weight else zeros(w.type) for w in inner.weights]


_NOTHING = Literal(0.0, scalar(F32))
"""A constant that stands in for the differentiated value, and for its gradient, if a function returns nothing that can have one."""


class Differentiable(NamedTuple):
    """What calling a function in a region of its own (a body of nodes) has given; the node that differentiates the function is made from
    it.

    operands  the tensors to differentiate by; `region` is the function's body
    result    the function's result, in values of the region; `outputs` are the tensors in it that are differentiated
    order     the values that the region returns; the first `of` are differentiated
    outline   the structure of the result with slots for its tensors; `found` are the values in the slots
    written   the arguments and the tensors of the graph from outside of it that the function wrote in place, each with its new value
              inside the region
    trained   the weights that require a gradient; `symbols` are their symbols
    borrowed  the weights that stand for other tensors: these are the last operands
    ends      True if the function does not return
    args      the arguments of the call, keyword arguments last, as the caller has them afterwards
    positions, weights  the arguments and Parameters to differentiate by
    has_aux   True if only the first item of the result is differentiated
    """

    operands: list[Atom]
    region: Region
    result: Any
    outputs: list[Any]
    order: list[Any]
    outline: Any
    found: list[Any]
    written: Sequence[tuple[Tensor, Tensor]]
    of: int
    trained: list[Parameter]
    borrowed: list[Parameter]
    ends: bool
    symbols: tuple[str, ...]
    args: tuple[Any, ...]
    positions: Sequence[int]
    weights: Sequence[Parameter]
    has_aux: bool

    @property
    def runs_along_a_path(self) -> bool:
        """True if only a run knows its derivatives: it calls hooks or other functions of Python, those of its own gradients aside, or a
        gradient in it goes through a parameter.
        """
        region = replace(self.region, nodes=tuple(without_hooks(self.region.nodes)))
        return reads_what_it_writes(region) or any(
            calls_python(node.op) and not isinstance(node.op, (Draw, OfTrace)) for node in walk(region))

    @property
    def attributes(self) -> tuple[int, tuple[str, ...], tuple[TensorType, ...]]:
        """Return the attributes of the op that differentiates: how many results, and the symbols and types of the weights."""
        return self.of, self.symbols, tuple(w.type for w in self.trained)
