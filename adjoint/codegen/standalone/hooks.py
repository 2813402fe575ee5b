"""Hooks in exported C: function pointers in the context, which the caller may set.

    void (*conv1_backward)(void *user, float *input_gradient, size_t n_0, const float *output_gradient, size_t n_1);

`callback!` and `backward!` may change gradients in place, as hooks in Python return other ones; `observe!`, a forward hook, sees values.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from adjoint.ir.core import Node, tensor_type
from adjoint.ir.ops.host import Callback, CellCallback, Observe

__all__ = ["HOOKS", "HookField", "hook_declaration", "hook_name"]

HOOKS: Final = (Callback, CellCallback, Observe)
"""The ops that call hooks, in a function whose gradients are expanded."""


class HookField(NamedTuple):
    """A hook of a program.

    name      of the member of `context->hooks`
    declared  its declaration, without a semicolon
    title     what it stands for in Python
    """

    name: str
    declared: str
    title: str


def hook_name(node: Node) -> str:
    """Return a name for the hook that a node calls: the symbol, with what the hook is told."""
    symbol = node.op.symbol
    if isinstance(node.op, CellCallback):
        return f"{symbol}.backward"
    if isinstance(node.op, Callback) and node.op.kind == "output":
        return f"{symbol.removesuffix('.pre')}.output"
    return symbol.removesuffix(".hook")


def hook_declaration(node: Node, name: str) -> str:
    """Return the declaration of a pointer to a function for the hook that a node calls.

    name  of the pointer
    """
    changed = len(node.results)
    kinds = ["value" if isinstance(node.op, Observe) else "gradient"] * len(node.operands)
    if isinstance(node.op, CellCallback):
        kinds = ["input_gradient"] * changed + ["output_gradient"] * (len(node.operands) - changed)
    parameters = ["void *user"]
    for place, (atom, kind) in enumerate(zip(node.operands, kinds, strict=True)):
        number = f"_{place}" if len(node.operands) > 1 else ""
        numbered = number if kinds.count(kind) > 1 else ""
        element = tensor_type(atom).dtype.c_name
        parameters += [f"{'' if place < changed else 'const '}{element} *{kind}{numbered}", f"size_t n{number}"]
    return f"void (*{name})({', '.join(parameters)})"
