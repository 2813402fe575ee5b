"""Algebra that changes no bit, as a table of rules; and control flow of which it is known how it runs.

Each rule of the table is exact for -0, infinities and NaN (all NaNs count as the same).  So there is no rule for `x + 0`, which is not x if
x is -0.  The only operations computed here are those that IEEE 754 defines to the last bit, and those on integers and bools; never a
transcendental function, whose bits are those of the kernels.  `simplify_regions` handles regions.

The pass runs after gradients only: before them it would change how often values are read, and so the order of sums and the calls of hooks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Module, Node, use_counts, walk
from adjoint.ir.op import Effect, Op
from adjoint.ir.ops.control import RegionOp
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.ops.linalg import MatMul
from adjoint.ir.ops.reduce import Reduction
from adjoint.ir.ops.shape import Broadcast, Reshape, Transpose
from adjoint.ir.storage import from_compute, to_compute
from adjoint.ir.types import BF16, F16, F32, F64, DType, TensorType, broadcast_shapes, scalar
from adjoint.passes.manager import Pass
from adjoint.passes.patterns import Bindings, Rewrite, Rules
from adjoint.passes.rebuild import Known, became, is_like
from adjoint.passes.simplify_regions import RegionSimplifier

__all__ = ["RULES", "Simplify"]


_DIGITS = {F16: 11, BF16: 8, F32: 24, F64: 53}
"""Binary digits of the floating-point dtypes, including the hidden one."""
_HELD: dict[DType, tuple[DType, ...]] = {F16: (F16, F32, F64), BF16: (BF16, F32, F64), F32: (F32, F64), F64: (F64,)}


def _holds(wide: DType, narrow: DType) -> bool:
    """Return True if `wide` can represent each number of `narrow`."""
    if wide is narrow or narrow.kind == "b":
        return True
    if narrow.is_float:
        return wide in _HELD[narrow]
    digits = 8 * narrow.size - (narrow.kind == "i")
    if wide.is_float:
        return digits <= _DIGITS[wide]
    return wide.is_integer and digits <= 8 * wide.size - (wide.kind == "i") and (narrow.kind == "u" or wide.kind == "i")


def _lossless(bindings: Bindings) -> bool:
    return _holds(bindings["m"], bindings["x"].type.dtype)


def _one_term(bindings: Bindings) -> bool:
    """Return True if the matched matrix product adds up one term only, since its inner size is 1: it is a column times a row.

    bindings  the matches of the rule's letters; on True, letter `c` is added for the type of the column, and `r` for that of the row

    A product of complex matrices has other bits than the products of elements: its parts are sums that begin with 0.
    """
    x, y = bindings["x"].type, bindings["y"].type
    if x.dtype.is_complex:
        return False
    *left, m, inner = x.shape
    *right, again, n = y.shape
    if bindings["a"]:
        m, inner = inner, m
    if bindings["b"]:
        again, n = n, again
    bindings["c"], bindings["r"] = x.with_shape((*left, m, 1)), y.with_shape((*right, 1, n))
    return inner == again == 1


RULES = (
    # A factor, a divisor, a summand that changes nothing.
    Rewrite("mul(x, 1.0)", "x"),
    Rewrite("mul(1.0, x)", "x"),
    Rewrite("div(x, 1.0)", "x"),
    Rewrite("sub(x, 0.0)", "x", why="-0 - 0 is -0; but -0 + 0 is 0, so add(x, 0.0) is not x"),
    Rewrite("add(x, -0.0)", "x"),
    Rewrite("add(-0.0, x)", "x"),
    Rewrite("mul(x, 1)", "x"),
    Rewrite("mul(1, x)", "x"),
    Rewrite("add(x, 0)", "x"),
    Rewrite("add(0, x)", "x"),
    Rewrite("sub(x, 0)", "x"),
    # Powers whose kernel computes just this.
    Rewrite("pow(x, 2.0)", "mul(x, x)"),
    Rewrite("pow(x, 1.0)", "x"),
    # Signs: a sign is turned exactly, also that of a zero.
    Rewrite("neg(neg(x))", "x"),
    Rewrite("conjugate(conjugate(x))", "x"),
    Rewrite("abs(neg(x))", "abs(x)"),
    Rewrite("abs(abs(x))", "abs(x)"),
    Rewrite("mul(x, -1.0)", "neg(x)"),
    Rewrite("mul(-1.0, x)", "neg(x)"),
    Rewrite("mul(neg(x), neg(y))", "mul(x, y)"),
    Rewrite("div(neg(x), neg(y))", "div(x, y)", lambda m: not m["x"].type.dtype.is_complex,
            "a sum that is 0 in a complex quotient has another sign"),
    Rewrite("add(x, neg(y))", "sub(x, y)"),
    Rewrite("sub(x, neg(y))", "add(x, y)"),
    # Parts of a complex number that is made of them.
    Rewrite("real_part(complex_number(x, y))", "x", lambda m: m["x"].type is m["y"].type, "neither is broadcast"),
    Rewrite("imaginary_part(complex_number(x, y))", "y", lambda m: m["x"].type is m["y"].type, "neither is broadcast"),
    # Choices.
    Rewrite("select(true, x, y)", "x"),
    Rewrite("select(false, x, y)", "y"),
    Rewrite("select(c, x, x)", "x"),
    Rewrite("maximum(x, x)", "x"),
    Rewrite("minimum(x, x)", "x"),
    # Bools.
    Rewrite("logical_not(logical_not(x))", "x"),
    Rewrite("logical_and(x, true)", "x"),
    Rewrite("logical_and(true, x)", "x"),
    Rewrite("logical_and(x, x)", "x"),
    Rewrite("logical_or(x, false)", "x"),
    Rewrite("logical_or(false, x)", "x"),
    Rewrite("logical_or(x, x)", "x"),
    # Shapes: only the place of elements changes.
    Rewrite("identity(x)", "x"),
    Rewrite("reshape(x, to=t)", "x", lambda m: m["t"] is m["x"].type, "to the shape it has"),
    Rewrite("reshape(reshape(x), to=t)", "reshape(x, to=t)"),
    Rewrite("reshape(x, to=t)", "broadcast(x, to=t)", lambda m: m["x"].type.rank == 0, "ops that broadcast take the number itself"),
    Rewrite("broadcast(x, to=t)", "x", lambda m: m["t"] is m["x"].type, "to the shape it has"),
    Rewrite("broadcast(broadcast(x), to=t)", "broadcast(x, to=t)"),
    Rewrite("transpose(x, permutation=p)", "x", lambda m: m["p"] == tuple(range(len(m["p"]))), "axes that stay"),
    # Casts there and back.
    Rewrite("cast(x, to=t)", "x", lambda m: m["t"] is m["x"].type.dtype, "to the dtype it has"),
    Rewrite("cast(cast(x, to=m), to=t)", "cast(x, to=t)", _lossless, "the dtype in between has every number of the first"),
    # A matrix product of one term for each element is elementwise.
    Rewrite("matmul(x, y, ta=a, tb=b)", "outer_product(reshape(x, to=c), reshape(y, to=r))", _one_term),
    # Tuples and stacks.
    Rewrite("item(group(x), index=i)", "x"),
)


FOLDED = frozenset(
    {
        "abs",
        "add",
        "cast",
        "ceil",
        "div",
        "equal",
        "floor",
        "floor_div",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "logical_and",
        "logical_not",
        "logical_or",
        "logical_xor",
        "maximum",
        "minimum",
        "mod",
        "mul",
        "neg",
        "not_equal",
        "select",
        "sqrt",
        "square",
        "sub",
    }
)
"""The names of the ops that are computed during compilation if all operands are literals."""


class _Simplifier(RegionSimplifier):
    """Copies a function; each new node is first matched against the table of rules, and replaced if one fits.

    uses  how often each value of the function is used
    """

    def __init__(self, uses: Mapping[Atom, int]):
        super().__init__()
        self.uses = uses

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        if isinstance(node.op, RegionOp):
            return self.change_regions(b, node, known)
        operands = [became(atom, known) for atom in node.operands]
        if node.op.name == "pop" and (pushed := self.made_by(operands[0])) is not None and pushed.op.name == "push":
            return pushed.operands
        if len(node.results) != 1 or node.op.effect is not Effect.PURE:
            return None
        product = self._product_to_transpose(b, node, operands)
        if product is not None:
            op, (left, right) = product
            return [self.emit(b, MatMul(not op.tb, not op.ta), (right, left), node.result.hint)]
        reduction = self._reduction_to_reshape(b, node, operands)
        if reduction is not None:
            op, (x,) = reduction
            return [self.emit(b, op, (x,), node.result.hint)]
        return [self.emit(b, node.op, operands, node.result.hint, node)]

    def emit(self, b: Builder, op: Op, operands: Sequence[Atom], hint: str = "", old: Node | None = None) -> Atom:
        """Append the node `op(operands)` or, if a rule of algebra matches it, its replacement; return the result.

        hint  a name for the result
        old   the node of the old function that is copied; if the operands have the same types, those of the results are taken from it
        """
        operands = self._unbroadcast(op, operands)
        if isinstance(op, MatMul):
            op, operands = self._untransposed(b, op, operands)
        if old is None or not is_like(old, op, operands):
            old, (type_,) = None, op.result_types([atom.type for atom in operands], ())
        else:
            type_ = old.result.type
        folded = _folded(op, operands, type_) if isinstance(type_, TensorType) else None
        if folded is not None:
            return folded
        for rule in _RULES.for_node(op, operands, self.made):
            found = rule.apply(lambda op, operands: self.emit(b, op, operands, hint), op, operands, type_, self.made)
            if found is not None:
                return found
        made = b.emit_node(op, operands, hint=hint) if old is None else b.emit_again(old, operands)
        self.remember(made)
        return made.results[0]

    def _unbroadcast(self, op: Op, operands: Sequence[Atom]) -> Sequence[Atom]:
        """Return the operands of an elementwise op without `broadcast` nodes that are not needed, since the op broadcasts by itself."""
        if not isinstance(op, Elementwise):
            return operands
        sources = [self.made_by(atom) for atom in operands]
        if not any(source is not None and isinstance(source.op, Broadcast) for source in sources):
            return operands
        result = op.result_types([atom.type for atom in operands], ())
        narrowed = list(operands)
        for i, source in enumerate(sources):
            if source is None or not isinstance(source.op, Broadcast) or i in op.chosen_by:
                continue
            before, narrowed[i] = narrowed[i], source.operands[0]
            if not _broadcasts_to(narrowed, result[0]):
                narrowed[i] = before
        return narrowed

    # A product of floats is the same sum in the same order however its matrices lie.  Of integers it would read them in strides.

    def _untransposed(self, b: Builder, product: MatMul, operands: Sequence[Atom]) -> tuple[MatMul, Sequence[Atom]]:
        """Return a matrix product without transposes of its operands: it reads the original tensors, with its options for transposed
        operands set.

        The result is the new op with its operands.
        """
        left, right = (self._exchanged(b, atom) for atom in operands)
        if left is None and right is None:
            return product, operands
        transposed = MatMul(product.ta != (left is not None), product.tb != (right is not None))
        return transposed, [before or atom for before, atom in zip((left, right), operands, strict=True)]

    def _exchanged(self, b: Builder, atom: Atom) -> Atom | None:
        """Return the tensor of which `atom` is the transpose (last two axes exchanged); None if it is not the result of such a node."""
        made = self.made_by(atom)
        return made.operands[0] if made is not None and _exchanges(made.op) and _made_here(b, made) else None

    def _product_to_transpose(self, b: Builder, node: Node, operands: Sequence[Atom]) -> tuple[MatMul, Sequence[Atom]] | None:
        """Return an op and operands that compute a transposed matrix product directly, since (A B)^T is B^T A^T.

        None if `node` is not the transpose of a product, or if something else uses the product.
        """
        if not _exchanges(node.op) or self.uses[node.operands[0]] != 1:
            return None
        made = self.made_by(operands[0])
        return (made.op, made.operands) if made is not None and isinstance(made.op, MatMul) and _made_here(b, made) else None

    def _reduction_to_reshape(self, b: Builder, node: Node, operands: Sequence[Atom]) -> tuple[Reduction, Sequence[Atom]] | None:
        """Return an op and an operand for `node`, a reshape that restores the axes of a reduction: the reduction with its axes kept.

        None if `node` is not such a reshape, or something else uses the reduction.  `fuse` continues with the elements of the rows only
        after reductions that keep their axes.
        """
        if not isinstance(node.op, Reshape) or self.uses[node.operands[0]] != 1:
            return None
        made = self.made_by(operands[0])
        if made is None or not isinstance(made.op, Reduction) or made.op.keepdims or not _in_region(b, made):
            return None
        kept = replace(made.op, keepdims=True)
        (type_,) = kept.result_types([atom.type for atom in made.operands], ())
        return (kept, made.operands) if type_ is node.result.type else None


def _made_here(b: Builder, node: Node) -> bool:
    """Return True if `node` computes floats in the region that is being built, and not outside of it: then the caller may replace it.

    A node outside of a loop runs once; a replacement that repeats its work in the loop would run in each round.  For integers the
    replacement would be slower.
    """
    type_ = node.result.type
    return isinstance(type_, TensorType) and type_.dtype.is_float and _in_region(b, node)


def _in_region(b: Builder, node: Node) -> bool:
    return any(node is made for made in reversed(b.nodes))


def _exchanges(op: Op) -> bool:
    """Return True if `op` exchanges the last two axes and changes no others."""
    if not isinstance(op, Transpose):
        return False
    rank = len(op.permutation)
    return rank > 1 and op.permutation == (*range(rank - 2), rank - 1, rank - 2)


def _broadcasts_to(operands: Sequence[Atom], type_: object) -> bool:
    shapes = [atom.type.shape for atom in operands if isinstance(atom.type, TensorType)]
    return isinstance(type_, TensorType) and broadcast_shapes(*shapes) == type_.shape


def _folded(op: Op, operands: Sequence[Atom], type_: TensorType) -> Literal | None:
    """Compute an op on literals: return its value as a literal if that is exact, otherwise None."""
    if type_.rank or op.name not in FOLDED:
        return None
    literals = [atom for atom in operands if isinstance(atom, Literal)]
    if len(literals) < len(operands):
        return None
    dtypes = [literal.type.dtype for literal in literals]
    values = [np.asarray(literal.value, d.compute.array) for literal, d in zip(literals, dtypes, strict=True)]
    if op.name in ("floor_div", "mod") and not (dtypes[1].is_integer and values[1] != 0):
        return None
    stored = [to_compute(from_compute(value, d), d) for value, d in zip(values, dtypes, strict=True)]
    with np.errstate(all="ignore"):
        result = to_compute(from_compute(op.reference(*stored), type_.dtype), type_.dtype)
    value = result.item()
    if isinstance(value, float) and math.isnan(value):
        return Literal(math.nan, scalar(type_.dtype))
    if isinstance(value, complex):
        value = complex(*(math.nan if math.isnan(part) else part for part in (value.real, value.imag)))
    return Literal(value, scalar(type_.dtype))


_RULES = Rules(RULES)


@dataclass(frozen=True)
class Simplify(Pass):
    """The pass `simplify`: apply exact rules of algebra, and remove control flow whose way is known, until nothing changes."""

    name: ClassVar[str] = "simplify"

    ROUNDS: ClassVar[int] = 4
    """The number of times that a function is rewritten at most, each time starting from the last result; later rounds seldom find anything.
    """

    def on_function(self, function: Function, module: Module) -> Function:
        after = _shape(function)
        for _ in range(self.ROUNDS):
            before = after
            function = replace(function, body=_Simplifier(use_counts(function.body)).body(function.body))
            after = _shape(function)
            if after == before:
                break
        return function


def _shape(function: Function) -> list[tuple[Op, int]]:
    return [(node.op, len(node.results)) for node in walk(function.body)]
