"""What passes make of a function: its nodes, and those that fused ones hold."""

from __future__ import annotations

from adjoint.ir.core import Module, Node
from adjoint.ir.ops.fused import Fused
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.verify import verify_module
from adjoint.passes.manager import Pipeline

__all__ = ["held", "nodes", "transformed"]


def transformed(body: str, params: str, results: str, weight: str, passes: str) -> Module:
    """Return the module of `f` after passes, verified and printed; `@w` is a parameter of the type `weight`, `@h` a host."""
    text = f'param @w : {weight}\nhost @h = "t:h"\nfunc @f({params}) -> {results} {{\n{body}\n}}\n'
    module = Pipeline.parse(passes).run(parse_module(text))
    verify_module(module)
    assert print_module(parse_module(print_module(module))) == print_module(module)
    return module


def nodes(module: Module) -> list[Node]:
    """The nodes of `f`."""
    return list(module.functions["f"].body.nodes)


def held(module: Module) -> list[list[str]]:
    """The ops that each fused node holds; of another node its own."""
    return [[inner.op.name for inner in n.regions[0].nodes] if isinstance(n.op, Fused) else [n.op.name] for n in nodes(module)]
