"""The bases of operators that users define by `adjoint.operator`: `adjoint/ops/own_operators.py` makes a class of one of these for each.

    DefinedElementwise   an element of the result from an element of each operand, by one expression; it fuses with its neighbours
    DefinedRows          a row of the result from a row of each operand, by statements
    DefinedInNumPy       anything, by the definition in NumPy alone

`definition` is the meaning in NumPy, `formula` the C; `pull` gives the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.kernel import Kernel
from adjoint.ir.kernel.formula import Formula, Part, Sentence
from adjoint.ir.kernel.formula_writer import ONE, FormulaWriter, Row, fills
from adjoint.ir.op import NotDifferentiable, Op, mistake, registry
from adjoint.ir.ops.elementwise import NUMBERS, Elementwise, listed
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.types import BOOL, F32, FLOATS, DType, TensorType, broadcast_shapes, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Node
    from adjoint.ir.kernel import Buffer, Expr
    from adjoint.ir.ops.elementwise import Array, Cotangents

__all__ = ["Defined", "DefinedElementwise", "DefinedInNumPy", "DefinedRows"]


class Defined(Op):
    """What operators of the user's own have in common.

    The fields of a subclass are the attributes of the operator.
    """

    by_program = True
    takes: ClassVar[tuple[str, ...]]
    """The names of the operands."""
    accepts: ClassVar[tuple[DType, ...]] = NUMBERS
    """The dtypes that the operands may have, all the same."""
    definition: ClassVar[Callable[..., Any]]
    """The user's function: it takes an array for each operand, and the attributes by name."""
    inference: ClassVar[Callable[..., Any] | None] = None
    """The user's `infer`: it takes the shape of each operand, and the attributes by name."""
    pull: ClassVar[Callable[..., Sequence[Any]] | None] = None
    """Emits the gradient; None if the user has given no `bprop`."""
    place: ClassVar[str] = ""
    """The file and line of the definition, in parentheses; "" if they are not known."""

    @property
    def given(self) -> dict[str, Any]:
        """Return the attributes by name."""
        return {name: getattr(self, name) for name in type(self).fields}

    def infer(self, *operands: Any) -> TensorType:
        if len(operands) != len(self.takes):
            raise mistake(self, "operands", f"{len(self.takes)} tensors", f"{len(operands)}", TypeError)
        for name, type_ in zip(self.takes, operands, strict=True):
            if not isinstance(type_, TensorType) or type_.dtype not in self.accepts:
                raise mistake(self, name, f"a tensor of {listed(self.accepts)}", type_, TypeError)
            if type_.dtype is not operands[0].dtype:
                raise mistake(self, name, f"of the same dtype as {self.takes[0]}, {operands[0].dtype}", type_, TypeError)
        return self.inferred(operands) if type(self).inference is not None else self.inferred_by_default(operands)

    def inferred(self, operands: Sequence[TensorType]) -> TensorType:
        """Return the type of the result that the user's `infer` gives."""
        inference = type(self).inference
        assert inference is not None
        found = inference(*[type_.sizes for type_ in operands], **self.given)
        dtype, shape = operands[0].dtype, found
        if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], DType):
            shape, dtype = found
        if not isinstance(shape, (tuple, list)) or not all(isinstance(n, (int, np.integer)) and n >= 0 for n in shape):
            raise TypeError(f"For '{self.name}', the function 'infer' must return a shape, a tuple of ints, or a pair (shape, dtype), "
                            f"but it returned {found!r}.")
        return tensor(dtype, tuple(int(n) for n in shape))

    def inferred_by_default(self, operands: Sequence[TensorType]) -> TensorType:
        """Return the type of the result where the user has given no `infer`: of the operands' dtype, and the shape that they broadcast to.
        """
        shape = operands[0].shape
        for name, type_ in zip(self.takes, operands, strict=True):
            try:
                shape = broadcast_shapes(shape, type_.shape)
            except ValueError:
                raise mistake(self, name, f"of a shape that broadcasts with [{', '.join(map(str, shape))}]", type_) from None
        return tensor(operands[0].dtype, shape)

    def reference(self, *operands: Array) -> Array:
        definition: Callable[..., Any] = type(self).definition
        with np.errstate(all="ignore"):
            found = definition(*operands, **self.given)
        if isinstance(found, (tuple, list)):
            raise TypeError(f"For '{self.name}', the definition must return one array, but it returned a {type(found).__name__} of "
                            f"{len(found)}: write an operator for each result.")
        found = np.asarray(found)
        if found.dtype.kind not in "biuf":
            raise TypeError(f"For '{self.name}', the definition must return an array of numbers, but it returned one of {found.dtype}.")
        if found.dtype.kind == "b" or getattr(self, "yields", None) is BOOL:
            return found.astype(bool, copy=False)
        return found.astype(np.result_type(*operands), copy=False)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        pull = type(self).pull
        if pull is None:
            raise NotDifferentiable(f"`{self.name}` has no gradient, since it was defined without `bprop`{self.place}: give "
                                    f"`operator` the argument `bprop=`, a function of {', '.join(self.takes)}, the result and its "
                                    "gradient that returns a gradient for each operand")
        return pull(self, b, node, ct)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.name, self.given)


def _again(name: str, attributes: Mapping[str, Any]) -> Op:
    """Return an op of the operator that has this name now."""
    return registry()[name](**attributes)


class DefinedElementwise(Defined, Elementwise):
    """An operator given by one expression.

    tree  the expression
    """

    formula: ClassVar[Formula]
    tree: ClassVar[Part]
    about: ClassVar[str]
    infer = Defined.infer

    def inferred_by_default(self, operands: Sequence[TensorType]) -> TensorType:
        if not operands[0].dtype.is_float:
            self.tried(operands[0].dtype)  # its numbers must be in the range of the dtype
        return tensor(self.yields or operands[0].dtype, self.broadcast(operands))

    def tried(self, dtype: DType) -> Expr:
        """Write the formula into a kernel that is thrown away, for elements of this dtype, and return the result.

        CompileError for a mistake in the formula; NeedsFloats if it cannot be computed in an integer dtype.
        """
        k = Kernel()
        buffers = [k.operand(tensor(dtype, (1,)), name, written=False) for name in self.takes]
        with k.stage(1, 1):
            return self.scalar(k, *[buffer[0] for buffer in buffers])

    def scalar(self, k: Kernel, *operands: Any) -> Any:
        names = {**dict(zip(self.takes, operands, strict=True)), **self.given}
        return FormulaWriter(k, self.formula, operands[0].dtype, names, self.about).element(self.tree)

    def lower(self, k: Kernel, *buffers: Buffer) -> None:
        self.loops(k, buffers[:-1], buffers[-1])


class DefinedRows(Defined):
    """An operator given by statements over a row: the last axis of its operands.

    The axes before the last are the same in all operands but those of one axis, which each row is given whole.
    """

    formula: ClassVar[Formula]
    tree: ClassVar[tuple[Sentence, ...]]
    about: ClassVar[str]
    accepts = FLOATS
    checks: ClassVar[bool] = True
    """True if an index is checked when the kernel runs."""

    def infer(self, *operands: Any) -> TensorType:
        result = super().infer(*operands)
        lead: tuple[Any, ...] = operands[0].shape[:-1]
        for name, type_ in zip(self.takes, operands, strict=True):
            if type_.rank == 0:
                raise mistake(self, name, "a tensor of rows, of at least one axis", type_)
            if type_.rank > 1 and type_.shape[:-1] != lead:
                if operands[0].rank > 1:
                    raise mistake(self, name, f"of as many rows as '{self.takes[0]}', [{', '.join(map(str, lead))}]", type_)
                raise mistake(self, self.takes[0], f"of as many axes as '{name}', which has rows", operands[0])
        if result.shape[: len(lead)] != lead or result.rank > len(lead) + 1:
            raise ValueError(f"For '{self.name}', the function 'infer' must return a shape that begins with that of the rows, "
                             f"[{', '.join(map(str, lead))}], and has at most one axis more, but it returned {list(result.shape)}.")
        if result.dtype is not operands[0].dtype:
            raise TypeError(f"For '{self.name}', the result of statements over a row has the dtype of the operands, "
                            f"{operands[0].dtype.long_name}, but 'infer' returned {result.dtype.long_name}.")
        return result

    def inferred_by_default(self, operands: Sequence[TensorType]) -> TensorType:
        first = operands[0]
        for name, type_ in zip(self.takes, operands, strict=True):
            if type_.shape[-1:] != first.shape[-1:]:
                raise mistake(self, name, f"of rows as long as those of '{self.takes[0]}', {first.shape[-1:]}", type_)
        return first

    @property
    def may_fail(self) -> bool:
        return type(self).checks

    def failure(self, status: int) -> Exception:
        return IndexError(f"For '{self.name}', the argument 'c' reads or writes outside of a row: an index is below 0, or not below the "
                          "length of the row.")

    def lower(self, k: Kernel, *buffers: Buffer) -> None:
        first, out = buffers[0], buffers[-1]
        narrow = out.rank == first.rank - 1
        alike = type(self).inference is None
        n = k.size(first.shape[-1], "n")
        lengths = {"n": n}
        if not alike:
            lengths |= {f"n_{name}": k.size(buffer.shape[-1], f"n_{name}") for name, buffer in zip(self.takes, buffers, strict=False)}
            lengths["n_out"] = k.literal(1, n.dtype) if narrow else k.size(out.shape[-1], "n_out")
        with k.stage(k.size(_product(first.shape[:-1]), "rows"), grain_of(8 * first.shape[-1]), "row") as row:
            names: dict[str, Any] = {**lengths, **self.given}
            for name, buffer in zip((*self.takes, "out"), buffers, strict=True):
                size = "n" if alike or (name == self.takes[0]) else f"n_{name}"
                length = lengths[size]
                base = k.literal(0, n.dtype) if buffer.rank == 1 and first.rank > 1 and buffer is not out else row * length
                names[name] = Row(buffer, base, length, ONE if buffer is out and narrow else size, buffer is out)
            self.write(k, names)

    def tried(self) -> bool:
        """Write the formula into a kernel that is thrown away; return whether it checks an index.  CompileError for a mistake in it."""
        k = Kernel()
        inference = type(self).inference
        narrow = inference is not None and _gives_one(inference, len(self.takes), self.given)
        names = (*self.takes, "out")
        sizes = ["n" if inference is None or name == self.takes[0] else f"n_{name}" for name in names]
        with k.stage(1, 1, "row") as row:
            lengths = {size: k.let(row, size) for size in ("n", *[f"n_{name}" for name in names if inference is not None])}
            rows = {name: Row(k.operand(tensor(F32, (2, 4)), name, written=name == "out"), row, lengths[size],
                              ONE if narrow and name == "out" else size, name == "out") for name, size in zip(names, sizes, strict=True)}
            return self.write(k, {**lengths, **self.given, **rows}).checks

    def write(self, k: Kernel, names: Mapping[str, Any]) -> FormulaWriter:
        """Write the statements for one row; return what has written them."""
        out: Row = names["out"]
        if not fills(self.tree, "out", out.size):
            with k.loop(0, out.length, "j") as j:
                k.store(out.buffer, out.base + j, 0)
        writer = FormulaWriter(k, self.formula, out.buffer.dtype.compute, names, self.about)
        writer.statements(self.tree)
        return writer


def _gives_one(inference: Callable[..., Any], operands: int, attributes: Mapping[str, Any]) -> bool:
    """Return True if a user's `infer` seems to give one element for each row."""
    try:
        found = inference(*[(3, 4)] * operands, **attributes)
        return tuple(found) == (3,)
    except Exception:  # it may want other shapes
        return False


def _product(sizes: Sequence[int]) -> int:
    found = 1
    for size in sizes:
        found = found * size
    return found


class DefinedInNumPy(Defined):
    """An operator without C: its definition in NumPy computes it."""

    accepts = (BOOL, *NUMBERS)
    in_python = True

    def reference(self, *operands: Array) -> Array:
        found = super().reference(*[_read_only(x) for x in operands])
        if type(self).inference is None:
            shape = np.broadcast_shapes(*[x.shape for x in operands])
            if found.shape != shape:
                raise ValueError(f"For '{self.name}', the definition must return an array of the shape that the operands broadcast to, "
                                 f"{list(shape)}, but it returned {list(found.shape)}: give `infer=`, a function of the operands' shapes "
                                 "that returns the shape of the result.")
        return found


def _read_only(x: Array) -> Array:
    view = x.view()
    view.flags.writeable = False
    return view
