"""What eager execution does, as an oracle: a function is run, what ran is recorded flat, and the record is pulled back.

No region is left in the record except cells, and a value that passes through a loop, a branch or a parameter stays the same
value, as a tensor does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Module, Node, Value
from adjoint.ir.interpret import Interpreter
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Cell
from adjoint.ir.types import I64, scalar
from adjoint.passes.activity import differentiable_by_default
from adjoint.passes.autodiff import pullback


@dataclass(frozen=True)
class Tensor:
    """An array and what it is called on the record."""

    array: Any
    atom: Atom


class Recorder(Interpreter):
    """Runs a function on Tensors and records."""

    def __init__(self, module: Module, **options: Any):
        super().__init__(module, **options)
        self.builders = [Builder()]
        self.arrays: dict[Value, Any] = {}
        self.parameters: dict[str, Tensor] = {}

    def leaf(self, array: Any, value: Value) -> Tensor:
        self.arrays[value] = array
        return Tensor(array, value)

    def constant(self, literal: Literal) -> Tensor:
        return Tensor(super().constant(literal), literal)

    def number(self, value: int) -> Tensor:
        return self.leaf(np.asarray(value, np.int64), Value(scalar(I64), "i"))

    def truth(self, array: Any) -> bool:
        return bool(array.array)

    def integer(self, array: Any) -> int:
        return int(array.array)

    def execute(self, node: Node, op: Op, operands: Sequence[Any]) -> Sequence[Any]:
        arrays = super().execute(node, op, [x.array for x in operands])
        return self.record(node, op, operands, arrays)

    def record(self, node: Node, op: Op, operands: Sequence[Any], arrays: Sequence[Any]) -> list[Tensor]:
        made = self.builders[-1].emit_node(op, [x.atom for x in operands], loc=node.loc)
        for value, old in zip(made.results, node.results):
            value.hint = old.hint
        return [self.leaf(array, value) for array, value in zip(arrays, made.results, strict=True)]

    def node(self, node: Node, environment: dict[Value, Any]) -> Sequence[Any]:
        match node.op.name:
            case "hook" | "outputs" | "attach!":
                operands = [self.value(atom, environment) for atom in node.operands]
                return self.record(node, node.op, operands, [x.array for x in operands] if node.results else [])
            case "read":
                symbol = node.op.symbol
                if symbol not in self.parameters:
                    self.parameters[symbol] = self.leaf(self.state[symbol], Value(node.result.type, symbol))
                return [self.parameters[symbol]]
            case "cell":
                return self._cell(node, environment)
            case _:
                return super().node(node, environment)

    def _cell(self, node: Node, environment: dict[Value, Any]) -> Sequence[Any]:
        assert isinstance(node.op, Cell)
        (body,) = node.regions
        operands = [self.value(atom, environment) for atom in node.operands]
        inner = [self.leaf(x.array, Value(p.type, p.hint)) for x, p in zip(operands, body.params, strict=True)]
        environment.update(zip(body.params, inner, strict=True))
        b = self.builders[-1].inner()
        self.builders.append(b)
        results = self.region(body, environment)
        self.builders.pop()
        region = b.finish([x.atom for x in results], [x.atom for x in inner])
        made = self.builders[-1].emit_node(node.op, [x.atom for x in operands], regions=[region], loc=node.loc)
        return [self.leaf(x.array, value) for x, value in zip(results, made.results, strict=True)]


def eager_gradient(
    module: Module,
    function: Function,
    arguments: Sequence[Any],
    seeds: Sequence[Any],
    *,
    state=None,
    hosts=None,
    symbols: Sequence[str] = (),
) -> list[Any]:
    """The cotangents of all floating-point parameters, then of `symbols`; zeros for one that is absent."""
    recorder = Recorder(module, state=dict(state or {}), hosts=hosts)
    leaves = [recorder.leaf(x, Value(p.type, p.hint)) for x, p in zip(arguments, function.params, strict=True)]
    recorder._sizes = {}
    results = recorder.region(function.body, dict(zip(function.params, leaves, strict=True)))
    wanted = [x.atom for x in leaves if differentiable_by_default(x.atom.type)]
    wanted += [recorder.parameters[s].atom if s in recorder.parameters else Value(module.params[s], s) for s in symbols]
    outputs = [y for y in results if differentiable_by_default(y.atom.type)]
    pulled = pullback("bwd", recorder.builders[0].nodes, [y.atom for y in outputs], wanted, [True] * len(outputs))
    residuals = [recorder.arrays[value] for value in pulled.residuals]
    found = iter(Interpreter(module, hosts=hosts).call(pulled.function, [*residuals, *seeds]))
    shapes = [value.type for value in wanted]
    return [np.zeros(t.sizes, t.dtype.array) if gone else next(found) for gone, t in zip(pulled.missing, shapes, strict=True)]
