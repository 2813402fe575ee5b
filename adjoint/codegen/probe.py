"""Test whether a compiler can be trusted: compile a few lines, and check that their results are right to the bit."""

from __future__ import annotations

import math
import struct
from typing import Final

from adjoint.codegen.compiler_process import CompilerError
from adjoint.codegen.declarations import ffi
from adjoint.codegen.loading import Library

__all__ = ["check_arithmetic"]

ARGUMENTS: Final = (1.0, 3.0, 1e-20, 1 + 2.0**-30, 1 - 2.0**-30, math.inf, 2.0**-1022)


def check_arithmetic(library: Library, command: list[str]) -> None:
    """Check the compiler that has made `library` from probe.c: CompilerError unless its functions compute, to the bit, what Python
    computes.

    command  the compiler, for the message
    """
    out = ffi.new("double[]", len(EXPECTED))
    ffi.cast("void (*)(double *, double *)", library.address("adjoint_probe"))(ffi.new("double[]", ARGUMENTS), out)
    computed = list(out)
    if _bits(_computed(*ARGUMENTS)) != _bits(EXPECTED):  # loading it has changed the floating-point mode of this thread
        ffi.cast("void (*)(void)", library.address("adjoint_probe_restore"))()
    if _bits(computed) != _bits(EXPECTED):
        raise CompilerError(command, f"it does not follow IEEE 754: it computes {computed}, not {EXPECTED}")


def _bits(values: list[float]) -> bytes:
    """Return the numbers as bytes, for comparison: compared as numbers, subnormal ones would count as 0 in some modes of the processor."""
    return struct.pack(f"{len(values)}d", *values)


def _computed(one: float, three: float, tiny: float, more: float, less: float, infinity: float, smallest: float) -> list[float]:
    """Return, computed by Python, the values of the expressions in probe.c for these arguments."""
    nan = infinity - infinity
    return [
        float(nan != nan),
        (one + tiny) - one,
        more * less - one,
        one / three + more / three + less / three,
        -(one - one) + 0.0,
        three * 0.1,
        smallest / three,
        math.sqrt(three),
        _single(_single(one / three) * _single(0.7)),
    ]


def _single(value: float) -> float:
    """Return the nearest single-precision number.

    It is right for a quotient or product of two such numbers, too, since doubles are twice as precise.
    """
    return struct.unpack("f", struct.pack("f", value))[0]


EXPECTED: Final = _computed(*ARGUMENTS)
