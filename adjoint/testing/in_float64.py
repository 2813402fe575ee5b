"""A recorded function in float64: the same nodes with every floating-point type widened, and their meaning in NumPy.

    widened(nodes)     y: f32 = mul(a: f32, b: f32)    becomes    y: f64 = mul(a: f64, b: f64)

An operator that lets no gradient through (`cuts`, such as a comparison, `argmax` or `stop_gradient`) is a constant for the gradient.  So it
keeps the results that were recorded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Module, Node, Region, Value, tensor_type
from adjoint.ir.interpret import Environment, Interpreter
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Cell
from adjoint.ir.types import F64, DType, TensorType, Type
from adjoint.passes.rebuild import Known, Rewriter, became
from adjoint.runtime.cells.custom_bprop import Rule
from adjoint.runtime.memory.machine import memory_of
from adjoint.runtime.process.tracer import not_recording
from adjoint.runtime.tensor.tensor import wrap
from adjoint.testing.recording import Array, Recorded, numbers

__all__ = ["Execution", "InFloat64", "is_opaque", "wide"]


def wide(type_: Type) -> Type:
    """Return a type with float64 in place of another floating-point dtype."""
    return type_.with_dtype(F64) if isinstance(type_, TensorType) and type_.dtype.is_float else type_


@dataclass(frozen=True)
class Execution:
    """One execution of a node.

    node      the widened node
    operands  the numbers of its operands
    results   the numbers of its results
    """

    node: Node
    operands: tuple[Any, ...]
    results: tuple[Any, ...]


class InFloat64:
    """Computes a recorded function in float64.

    recorded  the function
    names     names of its inputs and Parameters, for messages
    leaves    its inputs and Parameters, as values of the widened IR
    outside   the numbers of all values that no node computes, the leaves among them
    """

    def __init__(self, recorded: Recorded, names: Sequence[str]):
        known: Known = {value: Value(wide(value.type), value.hint) for value in recorded.outside}
        b, widen = Builder(), _Widen(recorded.cut)
        widen.nodes(b, recorded.nodes, known)
        self.recorded, self.names, self.nodes = recorded, names, b.nodes
        self.results = [became(x, known) for x in recorded.results]
        self.leaves: list[Any] = [known[x] for x in recorded.leaves]
        self.outside: dict[Any, Any] = {known[x]: _widened(array) for x, array in recorded.outside.items()}
        self._kept = widen.kept

    def at(self, leaves: Mapping[int, Array], *, log: list[Execution] | None = None) -> list[Array]:
        """Compute the results, with other numbers for some leaves.

        leaves  the numbers for some leaves, by index
        log     gets the executions of all nodes, in order, if it is given
        """
        environment = {**self.outside, **{self.leaves[i]: array for i, array in leaves.items()}}
        evaluator = Evaluator(self.recorded.rules, self._kept, log)
        evaluator.nodes(self.nodes, environment)
        return [evaluator.value(x, environment) for x in self.results]

    def name(self, leaf: Value) -> str:
        return self.names[self.leaves.index(leaf)]

    def of_cell(self, node: Node, operands: Sequence[Array], environment: Environment | None = None) -> list[Array]:
        """Compute the region of a cell alone.

        operands     the numbers of its arguments
        environment  other numbers for values from outside of the cell
        """
        inside = {**self.outside, **(environment or {})}
        inside.update(zip(node.operands, operands, strict=True))
        return list(Evaluator(self.recorded.rules, self._kept, None).node(node, inside))


def _widened(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def is_opaque(node: Node) -> bool:
    """Return True for a cell with a `bprop` whose region does not compute its results, such as a `_Function`, whose `forward` is not
    recorded.
    """
    if not isinstance(node.op, Cell) or not node.op.rule:
        return False
    (region,) = node.regions
    inside = {*region.params, *(x for inner in region.nodes for x in inner.results)}
    return any(x not in inside for x in region.results)


class Evaluator(Interpreter):
    """Interprets widened nodes.

    rules  the objects that call bprops, by symbol
    kept   for a node whose operator lets no gradient through, the results that it keeps
    log    gets the executions; None if they are not wanted
    """

    def __init__(self, rules: Mapping[str, Rule], kept: Mapping[Node, Sequence[Any]], log: list[Execution] | None):
        super().__init__(Module())
        self.rules, self.kept, self.log = rules, kept, log

    def node(self, node: Node, environment: Environment) -> Sequence[Any]:
        if isinstance(node.op, Cell) and node.op.rule:
            return self.cell(node, node.op.rule, environment)
        results = super().node(node, environment)
        if self.log is not None:
            self.log.append(Execution(node, tuple([self.value(x, environment) for x in node.operands]), tuple(results)))
        return results

    def cell(self, node: Node, rule: str, environment: Environment) -> Sequence[Any]:
        """Compute the region of a cell with a bprop; of one whose region is not recorded, call the user's function.

        rule  the symbol of the bprop
        """
        operands = [self.value(x, environment) for x in node.operands]
        log, self.log = self.log, None  # the gradient does not go through the nodes inside
        results = self.called(node, rule, operands) if is_opaque(node) else super().node(node, environment)
        self.log = log
        if log is not None:
            log.append(Execution(node, tuple(operands), tuple(results)))
        return results

    def called(self, node: Node, rule: str, operands: Sequence[Any]) -> list[Array]:
        """Call the user's function of a cell whose region is not recorded, on float64 tensors.

        rule  the symbol of the bprop
        """
        (region,) = node.regions
        given = [wrap(tensor_type(p), memory_of(np.ascontiguousarray(x))) for p, x in zip(region.params, operands, strict=True)]
        with not_recording():
            return [_widened(numbers(x)) for x in self.rules[rule].forward(given)]

    def execute(self, node: Node, op: Op, operands: Sequence[Any]) -> Sequence[Any]:
        return self.kept[node] if node in self.kept else super().execute(node, op, operands)


class _Widen(Rewriter):
    """Copies nodes with float64 in place of every other floating-point dtype.

    cut   the numbers of the results of operators that let no gradient through
    kept  for the copy of each such operator, these numbers; filled while copying
    """

    def __init__(self, cut: Mapping[Value, Array]):
        self.cut = cut
        self.kept: dict[Node, list[Array]] = {}

    def op(self, op: Op) -> Op:
        changed = {f.name: new for f in dataclasses.fields(op) if (new := _attribute(old := getattr(op, f.name))) is not old}
        return dataclasses.replace(op, **changed) if changed else op

    def type(self, type_: Type) -> Type:
        return wide(type_)

    def copy(self, b: Builder, node: Node, known: Known) -> Sequence[Atom]:
        operands = [_atom(x, known) for x in node.operands]
        made = b.emit_node(self.op(node.op), operands, regions=self.regions(b, node.regions, known))
        for new, old in zip(made.results, node.results, strict=True):
            new.hint = old.hint
        if node.op.cuts:
            self.kept[made] = [_widened(self.cut[x]) for x in node.results]
        return made.results

    def region(self, inner: Builder, region: Region, params: Sequence[Value], known: Known) -> Region:
        self.nodes(inner, region.nodes, known)
        return inner.finish([_atom(x, known) for x in region.results], params, region.loc)


def _atom(atom: Atom, known: Known) -> Atom:
    if isinstance(atom, Literal):
        return Literal(atom.value, atom.type.with_dtype(F64)) if atom.type.dtype.is_float else atom
    return became(atom, known)


def _attribute(value: Any) -> Any:
    """Return an attribute of an op with float64 in place of another floating-point dtype; the same object if it has none."""
    match value:
        case DType():
            return F64 if value.is_float else value
        case Type():
            return wide(value)
        case tuple():
            new = tuple(map(_attribute, value))
            return value if all(a is b for a, b in zip(new, value, strict=True)) else new
        case _:
            return value
