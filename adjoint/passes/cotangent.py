"""Cotangents that are present on some paths only.

Absent is not zero: a value that nothing on the path taken reads has no cotangent, and its hooks are silent.  Where the path
is known when the adjoint is built, an absent cotangent is None.  Where it is not (one branch of an `if` reads the value, a
loop may run no round), it is a value with a bit that says whether it is there:

    None                 never
    Atom                 always
    Sometimes(v, p)      v where p is true; where p is false, v is undefined and nobody reads it
    Sometimes(v, p, when=False)      the other way around
"""

from __future__ import annotations

from collections.abc import Iterable

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal
from adjoint.ir.types import I64, Type, scalar
from adjoint.passes.patterns import FALSE, TRUE

__all__ = ["NEVER", "ONCE", "Cotangent", "Sometimes", "given", "presence", "undecided", "value_of"]

NEVER, ONCE = Literal(0, scalar(I64)), Literal(1, scalar(I64))
"""Numbers of times that a callback is to run."""


@dataclass(frozen=True, slots=True)
class Sometimes:
    """`value` where `bit`, a bool that is no literal, is `when`."""

    value: Atom
    bit: Atom
    when: bool = True

    @property
    def type(self) -> Type:
        return self.value.type


Cotangent = Atom | Sometimes
"""With `| None` where it may be absent altogether."""


def given(cotangent: Cotangent | None, bit: Atom, *, known: bool) -> Cotangent | None:
    """Return `cotangent` on a path where `bit` is `known`."""
    if isinstance(cotangent, Sometimes) and cotangent.bit is bit:
        return cotangent.value if known is cotangent.when else None
    return cotangent


def undecided(cotangents: Iterable[Cotangent | None]) -> Atom | None:
    """Return the bit of the first cotangent that is a Sometimes; None if there is none."""
    return next((ct.bit for ct in cotangents if isinstance(ct, Sometimes)), None)


def value_of(cotangent: Cotangent) -> Atom:
    """Return the value of a cotangent, where it is present."""
    return cotangent.value if isinstance(cotangent, Sometimes) else cotangent


def presence(b: Builder, cotangent: Cotangent | None) -> Atom:
    """Return whether a cotangent is present, as a bool of the IR."""
    if not isinstance(cotangent, Sometimes):
        return FALSE if cotangent is None else TRUE
    return cotangent.bit if cotangent.when else b.logical_not(cotangent.bit)
