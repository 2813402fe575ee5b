"""The base of elementwise ops: operands, types, loops, samples.

The operands of an op have one dtype (promotion is done above, by casts) and shapes that broadcast as in NumPy.  Integers
wrap around.  An op gives `scalar`, the C expression of one element, and `reference`, its meaning in NumPy; the base class
gives inference and the loops.

Where a function has no derivative, the gradient is the one that MindSpore 2.10 gives: 0 for |x|, sign and relu at 0, the
mean of both slopes for leaky_relu, half to each at a tie of maximum or minimum, NaN for x**0 at x = 0.  An integer
cotangent is truncated toward zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from adjoint.ir.op import Op, Sample, mistake, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.loops import broadcast_access, emit_map
from adjoint.ir.types import BOOL, COMPLEX, F32, F64, FLOATS, I32, INTEGERS, DType, TensorType, broadcast_shapes, tensor

if TYPE_CHECKING:
    from adjoint.ir.core import Atom
    from adjoint.ir.kernel import Buffer, Kernel

__all__ = ["Binary", "Elementwise", "Unary"]

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

NUMBERS = (*INTEGERS, *FLOATS)
REAL = (BOOL, *NUMBERS)
ANY = (*REAL, *COMPLEX)
ALL_NUMBERS = (*NUMBERS, *COMPLEX)
INEXACT = (*FLOATS, *COMPLEX)

F32_23 = tensor(F32, (2, 3))
I32_23 = tensor(I32, (2, 3))
BOOL_23 = tensor(BOOL, (2, 3))

FULL, ONE, ROW, COLUMN = (4, 8), (), (8,), (4, 1)
BINARY_FORMS = (
    (FULL, FULL), (FULL, ONE), (ONE, FULL), (FULL, ROW), (FULL, COLUMN), ((2, 3, 4, 4), (1, 3, 1, 1)),
)
"""Shapes of two operands for each form of broadcasting: equal shapes; one operand a single number, a row, a column, or a number for each
channel of images.
"""
PLAIN_FORMS = BINARY_FORMS[:2]


class Elementwise(Op):
    """An op each of whose result elements depends on one element of every operand.

    A subclass defines `scalar` and `reference`; `reference` runs with NumPy's floating-point warnings off.
    """

    takes: ClassVar[tuple[str, ...]] = ("x",)
    """The names of the operands."""
    accepts: ClassVar[tuple[DType, ...]] = FLOATS
    """The dtypes that operands may have."""
    yields: ClassVar[DType | None] = None
    """The dtype of the result; None if it is that of the operands."""
    beyond: ClassVar[Literal["exact", "wrapped", "nearest"]] = "exact"
    """How a Python integer that the dtype of a tensor lacks may be brought to it.  "exact": it may not, the op is computed in
    a wider dtype.  "wrapped": by its low bits, on which alone those of the result depend.  "nearest": as the end of the range
    that is next to it, since the op chooses one of its operands."""
    cost: ClassVar[int] = 1
    """Time for one element, in additions of float32; determines how much work is worth a thread."""
    uniform: ClassVar[bool] = True
    """True if loops may read an operand that is a single number at a fixed index.  False where gcc then would not vectorise the loop, since
    half of the formula does not depend on the element.
    """
    chosen_by: ClassVar[tuple[int, ...]] = ()
    """The indices of operands that choose the formula if they are one number.  In a fused kernel such a number stands in the C text."""
    batch = batching.broadcasting
    forms: ClassVar[tuple[tuple[tuple[int, ...], ...], ...]] = (((4, 8),),)
    """Shapes of the operands for the kernels in the pack: one for each form of text worth having."""

    def __init_subclass__(cls, /, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "reference" in cls.__dict__:
            cls.reference = np.errstate(all="ignore")(cls.reference)

    def infer(self, *operands: Any) -> TensorType:
        if len(operands) != len(self.takes):
            raise mistake(self, "operands", f"{len(self.takes)} tensors", f"{len(operands)}", TypeError)
        for name, type_ in zip(self.takes, operands, strict=True):
            if not isinstance(type_, TensorType) or type_.dtype not in self.accepts:
                raise mistake(self, name, f"a tensor of {listed(self.accepts)}", type_, TypeError)
            if type_.dtype is not operands[0].dtype:
                raise mistake(self, name, f"of the same dtype as {self.takes[0]}, {operands[0].dtype}", type_, TypeError)
        return tensor(self.yields or operands[0].dtype, self.broadcast(operands))

    def broadcast(self, operands: Sequence[TensorType]) -> tuple[Any, ...]:
        """Return the shape that the operands' shapes broadcast to."""
        shape = operands[0].shape
        for name, type_ in zip(self.takes, operands, strict=True):
            try:
                shape = broadcast_shapes(shape, type_.shape)
            except ValueError:
                fitting = f"of a shape that broadcasts with [{', '.join(map(str, shape))}]"
                raise mistake(self, name, fitting, type_) from None
        return shape

    def scalar(self, k: Kernel, *operands: Any) -> Any:
        """Return one element of the result as a C expression, from one element of each operand."""
        raise NotImplementedError(f"{type(self).__name__}.scalar")

    def loops(self, k: Kernel, operands: Sequence[Buffer], out: Buffer) -> None:
        """Emit the kernel: `scalar` for each element."""
        accesses = [broadcast_access(buffer, out.shape) for buffer in operands]
        emit_map(k, out, accesses, lambda elements: self.scalar(k, *elements), self.cost, uniform=self.uniform)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        """Return samples for the forms of broadcasting that programs use."""
        if dtype in cls.accepts:
            for shapes in cls.forms:
                yield cls(), tuple(tensor(dtype, shape) for shape in shapes)


class Unary(Elementwise):
    """An elementwise op of `x`."""

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        self.loops(k, (x,), out)


class Binary(Elementwise):
    """An elementwise op of `x` and `y`."""

    takes = ("x", "y")
    forms = BINARY_FORMS

    def lower(self, k: Kernel, x: Buffer, y: Buffer, out: Buffer) -> None:
        self.loops(k, (x, y), out)


def listed(dtypes: Sequence[DType]) -> str:
    match dtypes:
        case _ if dtypes == ANY:
            return "any dtype"
        case _ if dtypes == REAL:
            return "any dtype but a complex one"
        case _ if dtypes == ALL_NUMBERS:
            return "a number type"
        case _ if dtypes == INEXACT:
            return "a floating point or complex type"
        case _ if dtypes == NUMBERS:
            return "a real number type"
        case _ if dtypes == FLOATS:
            return "a floating point type"
        case _ if dtypes == INTEGERS:
            return "an integer type"
        case _:
            return " or ".join(d.long_name for d in dtypes)


def smooth_unary(*domains: tuple[float, float]) -> tuple[Sample, ...]:
    """Return samples (operands for tests) of a smooth function of one operand, on each of the intervals `domains`."""
    first, *others = domains or ((-2.0, 2.0),)
    return (
        sample(F32_23, domain=first),
        *(sample(F32_23, domain=d) for d in others),
        sample(tensor(F32), domain=first),
        sample(tensor(F32, (0, 3)), domain=first),
        sample(tensor(F64, (5,)), domain=first),
    )


def smooth_binary(*domain: tuple[float, float]) -> tuple[Sample, ...]:
    """Return samples (operands for tests) of a smooth function of two operands, in each form of broadcasting."""
    shapes = (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), ()), ((), (2, 3)), ((2, 1), (1, 3)), ((0, 3), (1, 3)), ((), ()),
              ((2, 3, 2, 2), (1, 3, 1, 1)))
    drawn = domain or ((-2.0, 2.0),)
    return (*(sample(tensor(F32, s), tensor(F32, t), domain=drawn) for s, t in shapes), *square(2, *domain))


def square(count: int, *domain: tuple[float, float]) -> tuple[Sample, ...]:
    """Return samples of matrices [n, n] in which one operand, each in turn, is a row [n]: the shapes alone do not tell along which axis."""
    matrix, row = tensor(F32, (3, 3)), tensor(F32, (3,))
    return tuple(sample(*(row if i == place else matrix for i in range(count)), domain=domain or ((-2.0, 2.0),)) for place in range(count))


def on_integers(count: int, *dtypes: DType, domain: tuple[float, float] = (-5.0, 5.0)) -> tuple[Sample, ...]:
    """Return samples (operands for tests) of integers, for which gradients are not compared with finite differences."""
    types = tuple(tensor(d, (2, 3)) for d in dtypes)
    return tuple(sample(*(t,) * count, domain=domain, smooth=False, note="integers") for t in types)


def dtype_of(atom: Atom) -> DType:
    """Return the dtype of a tensor."""
    assert isinstance(atom.type, TensorType)
    return atom.type.dtype


def literal(value: int, dtype: DType) -> int | float:
    """Return `value` as the Python number that a literal of `dtype` holds."""
    return float(value) if dtype.is_inexact else value
