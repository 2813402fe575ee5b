"""Specialising: named sizes become numbers.

    specialized(f, {b: 4})      every f32[b, 2*b + 1] in f is f32[4, 9]; the attributes of ops likewise

Types are inferred anew from the parameters, so a size that does not fit is found here.  Names without a number stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from adjoint.diagnostics import UNKNOWN
from adjoint.ir.core import Function, Module
from adjoint.ir.op import Op, with_sizes
from adjoint.ir.types import Dim, Type, substituted
from adjoint.passes import errors
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import Rewriter

__all__ = ["Specialize", "specialized"]


def specialized(function: Function, sizes: Mapping[str, Dim]) -> Function:
    """Return the function with `sizes` for the named dimensions of all types."""
    return replace(function, body=_Specializer(sizes).body(function.body)) if sizes else function


class _Specializer(Rewriter):
    def __init__(self, sizes: Mapping[str, Dim]):
        self._sizes = sizes

    def type(self, type_: Type) -> Type:
        return substituted(type_, self._sizes)

    def op(self, op: Op) -> Op:
        return with_sizes(op, self._sizes)


@dataclass(frozen=True)
class Specialize(Pass):
    """`specialize{sizes=[b:4, t:16]}`: numbers for named sizes, in all functions and parameters of the module."""

    name: ClassVar[str] = "specialize"
    sizes: tuple[str, ...] = ()

    def on_module(self, module: Module) -> Module:
        sizes = dict(map(_size, self.sizes))
        params = {s: substituted(t, sizes) for s, t in module.params.items()}
        functions = {symbol: specialized(function, sizes) for symbol, function in module.functions.items()}
        return Module(params, module.hosts, functions)


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition(":")
    if not number.isdecimal():
        raise errors.NOT_A_PIPELINE.at(UNKNOWN, f"`{text}` is not a size: sizes are written `b:4`")
    return name, int(number)
