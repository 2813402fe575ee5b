"""Dead code: nodes without effects whose results are not used are removed.

    live(y = op(x))   a live node uses some y, or op's effect is WRITES or HOST
    live(y = op(x))   with `failing`: also if op may fail, such as an index out of range
    live(region)      a region op stays for its effects or for results that are used; an `if` or a cell keeps only the results
                      that are used, a loop only the carried values on which these depend

Running the pass twice changes nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, free_of
from adjoint.ir.op import Effect
from adjoint.ir.ops.control import Call, Cell, For, If, RegionOp, While
from adjoint.passes.manager import Pass

__all__ = ["DeadCode", "living", "must_stay"]


def must_stay(node: Node, module: Module | None = None, called: tuple[str, ...] = ()) -> bool:
    """Return True if a node must not be removed although nothing uses its results.

    That is so if it, or a node inside of it, writes state or calls the user's Python code, and for a loop that may not end.

    module  the module with the functions of calls; without it, each call counts as an effect
    called  the functions around the node, to detect recursion
    """
    op = node.op
    if isinstance(op, Call):
        function = module.functions.get(op.symbol) if module else None
        # a recursive call stays, as a loop does
        return function is None or op.symbol in called or any(must_stay(x, module, (*called, op.symbol)) for x in function.body.nodes)
    if isinstance(op, While):
        return True  # a loop that does not end must stay
    if node.regions:
        return any(must_stay(inner, module, called) for region in node.regions for inner in region.nodes)
    return op.effect in (Effect.WRITES, Effect.HOST)


def living(nodes: Sequence[Node], results: Sequence[Atom], module: Module | None = None, *, failing: bool = False) -> list[Node]:
    """Remove dead code: return the nodes on which `results` and effects depend, in order, also with dead code inside of them removed.

    failing  True to keep nodes that may fail, too
    """
    used: set[Value] = {atom for atom in results if isinstance(atom, Value)}
    kept: list[Node] = []
    for node in reversed(nodes):
        if any(value in used for value in node.results) or must_stay(node, module) or (failing and _may_fail(node)):
            if isinstance(node.op, RegionOp) and node.regions:
                node = _trimmed(node, used, module, failing)
                for region in node.regions:
                    used.update(free_of(region))
            used.update(atom for atom in node.operands if isinstance(atom, Value))
            kept.append(node)
    return kept[::-1]


def _may_fail(node: Node) -> bool:
    return node.op.may_fail or any(_may_fail(inner) for region in node.regions for inner in region.nodes)


def _trimmed(node: Node, used: set[Value], module: Module | None, failing: bool) -> Node:
    """Return a node with regions without its unused results, and without dead code inside.

    used  the values that are used after the node
    """
    match node.op:
        case If():
            kept = [i for i, value in enumerate(node.results) if value in used]
            regions = [_region(r, r.params, [r.results[i] for i in kept], module, failing) for r in node.regions]
            return _again(node, node.operands, regions, [node.results[i] for i in kept])
        case Cell() as op:
            outputs = len(node.results) - op.residuals
            kept = [i for i, value in enumerate(node.results) if i < outputs or value in used]
            (body,) = node.regions
            region = _region(body, body.params, [body.results[i] for i in kept], module, failing)
            trimmed = replace(op, residuals=len(kept) - outputs)
            return _again(replace(node, op=trimmed), node.operands, [region], [node.results[i] for i in kept])
        case For() | While():
            return _trimmed_loop(node, used, module, failing)
        case _:
            return node


def _trimmed_loop(node: Node, used: set[Value], module: Module | None, failing: bool) -> Node:
    *tests, body = node.regions
    fixed = len(node.operands) - len(node.results)
    carried = body.params[len(body.params) - len(node.results) :]
    needed = {i for i, value in enumerate(node.results) if value in used}
    while True:
        results = [body.results[i] for i in sorted(needed)]
        seen = {v for r in tests for v in free_of(replace(r, params=()))}
        seen.update(free_of(replace(_region(body, (), results, module, failing), params=())))
        more = {i for i, param in enumerate(carried) if param in seen} | needed
        if more == needed:
            break
        needed = more
    kept = sorted(needed)
    params = [*body.params[: len(body.params) - len(carried)], *(carried[i] for i in kept)]
    operands = [*node.operands[:fixed], *(node.operands[fixed + i] for i in kept)]
    regions = [_region(r, params, r.results, module, failing) for r in tests]
    regions.append(_region(body, params, [body.results[i] for i in kept], module, failing))
    return _again(node, operands, regions, [node.results[i] for i in kept])


def _region(region: Region, params: Sequence[Value], results: Sequence[Atom], module: Module | None, failing: bool) -> Region:
    return Region(tuple(params), tuple(living(region.nodes, results, module, failing=failing)), tuple(results), region.loc)


def _again(node: Node, operands: Sequence[Atom], regions: Sequence[Region], results: Sequence[Value]) -> Node:
    return Builder(node.loc).emit_node(node.op, operands, regions=regions, results=results)


@dataclass(frozen=True)
class DeadCode(Pass):
    """The pass `dce`: remove nodes whose results are not used and whose effect is PURE or READS.

    failing  True to keep nodes that may fail: the function then raises the same errors as before
    """

    name: ClassVar[str] = "dce"
    failing: bool = False

    def on_function(self, function: Function, module: Module) -> Function:
        body = _region(function.body, function.params, function.body.results, module, self.failing)
        return replace(function, body=body)
