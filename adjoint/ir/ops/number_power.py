"""Powers of Python's numbers, as Python computes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.types import BOOL, F64, TensorType, scalar

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer, Kernel

__all__ = ["NumberPower"]

Array = np.ndarray[Any, Any]
_FLOAT = scalar(F64)


@operation
class NumberPower(Op):
    """x ** y of two floats of Python's, to the bit: the C library's `pow`, where `pow` of tensors is a function of our own.

    x, y      f64
    result    f64, and a bool: whether Python gives that float; where it raises, or gives a complex number, the float is 0
    gradient  none: a number of Python's is constant
    errors    TypeError: not f64
    """

    cuts = "number_power is of Python's numbers, which are constants"
    samples = (
        sample(_FLOAT, _FLOAT, domain=((0.5, 2.0), (-2.0, 2.0)), smooth=False, note="constant"),
        *(sample(_FLOAT, _FLOAT, values={0: x, 1: y}, smooth=False, note=note) for x, y, note in (
            (0.0, -1.0, "1 / 0"), (-2.0, 0.5, "complex"), (1e300, 2.0, "too large"), (-3.0, 3.0, "odd"), (1e-200, 2.0, "too small"),
            (-math.inf, -3.0, "infinite"), (math.nan, 0.0, "NaN"))),
    )

    def infer(self, x: Any, y: Any) -> tuple[TensorType, TensorType]:
        for name, type_ in (("x", x), ("y", y)):
            if type_ is not _FLOAT:
                raise mistake(self, name, "a 0-d tensor of Float64", type_, TypeError)
        return _FLOAT, scalar(BOOL)

    def reference(self, x: Array, y: Array) -> tuple[Array, Array]:
        try:
            power = float(x) ** float(y)
        except (ZeroDivisionError, OverflowError):
            power = None
        given = isinstance(power, float)
        return np.array(power if given else 0.0), np.array(given)

    def lower(self, k: Kernel, x: Buffer, y: Buffer, out: Buffer, given: Buffer) -> None:
        with k.stage(1, 1) as i:
            power = k.let(k.call("adjoint_library_pow_f64", x[i], y[i]), "power")
            finite = k.both(k.call("isfinite", x[i]), k.call("isfinite", y[i]))
            wrong = k.both(finite, k.negation(k.call("isfinite", power)))
            one = k.either(k.equal(y[i], 0.0), k.equal(x[i], 1.0))  # of signalling NaNs too, unlike in C
            k.store(out, i, k.select(wrong, 0.0, k.select(one, 1.0, power)))
            k.store(given, i, k.negation(wrong))
