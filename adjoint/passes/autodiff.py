"""Reverse-mode differentiation of ordered SSA.

Given are nodes y1 = op1(..), .., yn = opn(..) in program order, outputs with cotangents, and the leaves (values, or symbols of parameters)
whose gradients are wanted.  Let x' be the cotangent of x: the gradient that belongs to it.  The adjoint walks the nodes backwards:

    out'   +=  the given cotangent
    x'     +=  vjp(op)(y')       for y = op(.., x, ..), from last to first

Each x' is one running sum in reverse program order.  It begins with its first summand, not with zero.  A node is skipped if none of its
results has a cotangent: absent is not zero.  When the walk reaches the definition of x, x' is complete: callbacks (hooks) that `attach!`
registered on x run then.  Callbacks of leaves run at the end, in reverse order of first use.

The adjoint is ordinary IR and can be differentiated again.  It is built as if it could see every forward value; the forward values that it
uses are the residuals.

`sweep` walks backwards, `autodiff_regions` has the rules of nodes with regions, and `reverse` runs both.  `residuals` builds the forward
copy that returns the residuals.  `activity` finds the values that depend on leaves, and the callbacks that are attached to them.

This module offers the gradient in four forms:

    adjoint          the reverse pass, emitted into a Builder
    pullback         the reverse pass as a closed function of residuals and cotangents
    Grad             function to function: forward copy and adjoint in one
    ForwardBackward  function to two functions: forward with residuals, and pullback

Gradients inside of the function (`gradient` nodes) are expanded first (see `differentiate`).

Not supported: no value is computed again to save memory, and recursion has no gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import InternalError
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, free_values, walk
from adjoint.ir.ops.host import Attach
from adjoint.passes import errors
from adjoint.passes.activity import Leaf, differentiable, differentiable_by_default
from adjoint.passes.cotangent import Sometimes, presence, value_of
from adjoint.passes.dce import living
from adjoint.passes.differentiate import expanded, forward_and_adjoint
from adjoint.passes.inline import inlined
from adjoint.passes.manager import Pass, chosen, unused, with_replaced
from adjoint.passes.residuals import extended
from adjoint.passes.reverse import swept

__all__ = ["Grad", "ForwardBackward", "Pulled", "adjoint", "pair", "pullback"]


def adjoint(
    b: Builder,
    nodes: Sequence[Node],
    outputs: Sequence[Atom],
    cotangents: Sequence[Atom | None],
    wanted: Sequence[Value],
) -> list[Atom | None]:
    """Append the nodes that compute gradients (the reverse pass over `nodes`) to `b`.  They read forward values directly.

    nodes       in program order, without `if`, `for` and `while`; for these, use `pullback`, which runs them again
    outputs     the values that are differentiated
    cotangents  for each output, its cotangent of the same type, or None if it has none
    wanted      the values whose gradients are wanted

    Return for each wanted value its gradient, or None if it has none.
    """
    sweep, found = swept(b, nodes, outputs, cotangents, wanted)
    if sweep.looked:
        raise InternalError("adjoint of nodes with if, for or while: take their pullback")
    return found  # pyright: ignore[reportReturnType] - only those nodes make cotangents that are there sometimes


@dataclass(frozen=True)
class Pulled:
    """The reverse pass over some nodes as a function, together with what its caller must know.

    function   parameters: the residuals, then the cotangents of the outputs that have one; results: the gradients of the wanted leaves
        (values or parameters) that are not missing, then a bool for each gradient that exists only under a condition
    residuals  the forward values that the first parameters of the function receive, in order
    missing    for each wanted leaf, True if it never has a gradient
    bits       for each wanted leaf, the index of the result that tells whether its gradient exists; -1 if it always does
    nodes      the forward nodes to run: the given ones, in which some nodes have additional results for residuals
    """

    function: Function
    residuals: tuple[Value, ...]
    missing: tuple[bool, ...]
    bits: tuple[int, ...]
    nodes: tuple[Node, ...]


def pullback(
    symbol: str,
    nodes: Sequence[Node],
    outputs: Sequence[Atom],
    wanted: Sequence[Leaf],
    present: Sequence[bool],
    *,
    module: Module | None = None,
    closed: bool = False,
) -> Pulled:
    """Make the function that maps cotangents of outputs to gradients of leaves (the reverse pass over `nodes`), without dead code.

    symbol   the name of the function
    nodes    in program order
    outputs  the values that may have cotangents
    wanted   the leaves (values, or symbols of parameters) whose gradients are wanted
    present  for each output, True if it has a cotangent
    module   the module with the functions of calls
    closed   True if values inside of cells must become results of the cells to be used; False for a tape, which has all of them
    """
    seeds = [_seed(y) if there else None for y, there in zip(outputs, present, strict=True)]
    b = Builder()
    sweep, found = swept(b, nodes, outputs, seeds, wanted, module)
    there = [ct for ct in found if ct is not None]
    bits = [presence(b, ct) for ct in there if isinstance(ct, Sometimes)]
    results = [*(value_of(ct) for ct in there), *bits]
    kept = living(b.nodes, results)
    params = [seed for seed in seeds if seed is not None]
    residuals = free_values(kept, results, params)
    body = Region((*residuals, *params), tuple(kept), tuple(results))

    forward = tuple(nodes)
    if closed or sweep.looked:
        whole = Builder()
        extended(whole, nodes, sweep.looked, sweep.needed(residuals) if closed else set())
        forward = tuple(whole.nodes)
    index = iter(range(len(there), len(results)))
    where = tuple(next(index) if isinstance(ct, Sometimes) else -1 for ct in found)
    return Pulled(Function(symbol, body), tuple(residuals), tuple(ct is None for ct in found), where, forward)


def _seed(output: Atom) -> Value:
    """Make a new value for the cotangent (gradient) of `output`, to be a parameter of the pullback; its name is that of the output."""
    return Value(output.type, f"{output.hint}'" if isinstance(output, Value) else "ct")


@dataclass(frozen=True)
class Grad(Pass):
    """The pass `grad{wrt=[x, @w]}`: replace a function by one that computes its gradients.

        func @f(x, ..) -> y              func @f.grad(x, .., y') -> (x', w')

    Its additional parameters are the cotangents of the results, its results the cotangents of `wrt`; zeros for one that is absent.

    wrt    parameters by name, symbols with their `@`; empty for all parameters that hold floating-point numbers
    of     the function's symbol; empty for the module's first function
    value  True if the results of the function are returned first, before the cotangents
    """

    name: ClassVar[str] = "grad"
    wrt: tuple[str, ...] = ()
    of: str = ""
    value: bool = False

    def on_module(self, module: Module) -> Module:
        function = expanded(inlined(chosen(module, self.of), module), module)
        body = function.body
        wanted = _wanted(function, module, self.wrt)
        seeds = [_seed(y) if there else None for y, there in zip(body.results, _seeded(body.results, wanted), strict=True)]
        b = Builder()
        types = {leaf: module.params[leaf] if isinstance(leaf, str) else leaf.type for leaf in wanted}
        forward, cotangents = forward_and_adjoint(b, body.nodes, body.results, seeds, types, module)
        by_leaf = dict(zip(types, cotangents, strict=True))
        cotangents = [by_leaf[leaf] for leaf in wanted]

        whole = Builder(body.loc)
        whole.nodes = _unattached(forward) + b.nodes
        params = [*body.params, *(seed for seed in seeds if seed is not None)]
        results = [*body.results, *cotangents] if self.value else cotangents
        symbol = unused(module, f"{function.symbol}.grad")
        return with_replaced(module, function.symbol, Function(symbol, whole.finish(results, params, body.loc), None, function.loc))


@dataclass(frozen=True)
class ForwardBackward(Pass):
    """The pass `pair{wrt=[x, @w]}`: replace a function by two, one that also returns residuals, and the pullback, which computes the
    gradients.

        func @f(x, ..) -> y              func @f.fwd(x, ..) -> (y, residuals)
                                         func @f.bwd(residuals, y') -> (x', w')

    Residuals are forward values that the gradient needs.  A cotangent that is always absent has no result.  For one that exists only under
    a condition, a bool that tells so is returned after all cotangents (see `Pulled`).

    wrt  parameters by name, symbols with their `@`; empty for all parameters that hold floating-point numbers
    of   the function's symbol; empty for the module's first function
    """

    name: ClassVar[str] = "pair"
    wrt: tuple[str, ...] = ()
    of: str = ""

    def on_module(self, module: Module) -> Module:
        function = expanded(inlined(chosen(module, self.of), module), module)
        forward, pulled = pair(function, _wanted(function, module, self.wrt), module)
        return with_replaced(module, function.symbol, forward, pulled.function)


def pair(function: Function, wanted: Sequence[Leaf], module: Module, present: Sequence[bool] | None = None) -> tuple[Function, Pulled]:
    """Make two functions of one, and return them: `@f.fwd` returns its results and then the residuals (values that the gradient needs);
    `@f.bwd` is the pullback, which computes the gradients.

    wanted   the leaves (values, or symbols of parameters) whose gradients the pullback returns
    present  for each result, True if it has a cotangent; by default floating-point results do
    """
    body = function.body
    if present is None:
        present = _seeded(body.results, wanted)
    pulled = pullback(unused(module, f"{function.symbol}.bwd"), body.nodes, body.results, wanted, present, module=module, closed=True)
    region = Region(body.params, tuple(_unattached(pulled.nodes)), (*body.results, *pulled.residuals), body.loc)
    return Function(unused(module, f"{function.symbol}.fwd"), region, None, function.loc), pulled


def _unattached(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes without `attach!` nodes (which register hooks on values), also in regions: the pullback already calls these hooks.
    """
    kept: list[Node] = []
    for node in nodes:
        if not isinstance(node.op, Attach):
            if any(isinstance(inner.op, Attach) for region in node.regions for inner in walk(region)):
                regions = [replace(region, nodes=tuple(_unattached(region.nodes))) for region in node.regions]
                node = Builder(node.loc).emit_node(node.op, node.operands, regions=regions, results=node.results)
            kept.append(node)
    return kept


def _seeded(results: Sequence[Atom], wanted: Sequence[Leaf]) -> list[bool]:
    """Return for each result True if it has a cotangent.

    Floats do; integers do only if the gradient of an integer parameter is wanted.
    """
    integers = any(isinstance(leaf, Value) and not differentiable_by_default(leaf.type) for leaf in wanted)
    chosen_by = differentiable if integers else differentiable_by_default
    return [chosen_by(y.type) for y in results]


def _wanted(function: Function, module: Module, names: Sequence[str]) -> list[Leaf]:
    """Return what a function is differentiated by: its parameters with these names, or the symbols of module parameters written with `@`.

    Without names, return all floating-point parameters.  CompileError for an unknown name.
    """
    if not names:
        return [param for param in function.params if differentiable_by_default(param.type)]
    by_name = {param.hint: param for param in function.params}
    found: list[Leaf] = []
    for name in names:
        if name.removeprefix("@") in module.params and name.startswith("@"):
            found.append(name[1:])
        elif name in by_name:
            found.append(by_name[name])
        else:
            known = ", ".join([*by_name, *(f"@{symbol}" for symbol in module.params)])
            raise errors.NO_LEAF.at(function.loc, f"@{function.symbol} has no `{name}`", help=f"there are: {known}")
    return found
