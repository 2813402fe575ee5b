"""A check of the numbers that a tensor holds, made by a kernel: `check! @check_labels(y, low=[0], high=[9], ignored=[-100])`.

The kernel says whether the check fails; the host says how.  It is called only then, and raises the exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.op import Effect, Op, mistake, operation
from adjoint.ir.ops.loops import ELEMENTS_PER_THREAD
from adjoint.ir.types import BOOL, I64, Dim, NamedSizes, TensorType, Type

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Kernel

__all__ = ["Check"]

Array = np.ndarray[Any, Any]


@operation
class Check(Op):
    """Fails unless every number of a tensor is in `low`..`high`, both included, or is `ignored`.

    operands x, of an integer type or bool, or of rank 1 or more with as many columns along the last axis as there are bounds, if there
             are several; then, if they are not x, the tensors by which the host names the mistake
    low      the bounds of each column, as numbers of 64 bits; sizes that have names are such numbers when it runs
    high     the same
    ignored  at most one number that is allowed in any column
    result   none
    gradient none: nothing depends on it
    errors   ValueError: the bounds do not fit; when run: what the host raises; ValueError without a host
    """

    symbol: str
    low: tuple[Dim, ...]
    high: tuple[Dim, ...]
    ignored: tuple[int, ...] = ()

    name: ClassVar[str] = "check!"
    variadic: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.HOST

    def infer(self, *operands: Type) -> tuple[Type, ...]:
        x, columns = operands[0] if operands else None, len(self.low)
        if not isinstance(x, TensorType) or not (x.dtype.is_integer or x.dtype is BOOL):
            raise mistake(self, "x", "a tensor of integers or bools", x, TypeError)
        if len(self.high) != columns or not columns or (columns > 1 and (not x.rank or x.shape[-1] != columns)):
            raise mistake(self, "high", f"one bound for each column of {x}, as `low`", self.high)
        if len(self.ignored) > 1:
            raise mistake(self, "ignored", "at most one number", self.ignored)
        return ()

    def reference(self, x: Array, *shown: Array) -> tuple[Array, ...]:
        columns = x.reshape(-1, len(self.low))
        for column, low, high in zip(columns.T, *self._numbers(), strict=True):
            outside = (column < low) | (column > high)
            if self.ignored:
                outside &= column != self.ignored[0]
            if outside.any():
                raise mistake(self.symbol, "x", f"in {low}..{high}", int(column[outside][0]))
        return ()

    def lower(self, k: Kernel, x: Buffer, *shown: Buffer) -> None:
        columns = len(self.low)
        ignored = k.size(self.ignored[0], "ignored") if self.ignored else None
        bounds = [(k.size(max(low, 0) if x.dtype.kind == "u" else low, "low"), k.size(high, "high"))
                  for low, high in zip(*self._numbers(), strict=True)]
        with k.stage(x.count // columns, ELEMENTS_PER_THREAD, "row") as row:
            for column, (low, high) in enumerate(bounds):
                number = k.let(k.cast(x[row * columns + column if columns > 1 else row], I64), "number")
                with k.when(k.either(k.less(number, low), k.less(high, number))):
                    if ignored is None:
                        k.fail(1)
                    else:
                        with k.when(k.not_equal(number, ignored)):
                            k.fail(1)

    def _numbers(self) -> tuple[list[int], list[int]]:
        """Return the bounds as numbers; NamedSizes if one is a size that has a name."""
        numbers = [[bound for bound in bounds if isinstance(bound, int)] for bounds in (self.low, self.high)]
        if len(numbers[0]) != len(self.low) or len(numbers[1]) != len(self.high):
            raise NamedSizes(f"{self.name} has bounds that are named sizes")
        return numbers[0], numbers[1]

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        return b.emit_node(self, operands).results

    def failure(self, status: int) -> Exception:
        return mistake(self.symbol, "x", "in its range", "a number out of range")

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        return (None,) * len(node.operands)
