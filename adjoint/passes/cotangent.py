"""A cotangent that is there on some paths only.

Absent is not zero: a value that nothing on the path taken reads has no cotangent, and its hooks are silent.  Where the path
is known when the adjoint is built, an absent cotangent is None.  Where it is not (one branch of an `if` reads the value, a
loop may run no round), it is a value with a bit that says whether it is there:

    None                 never
    Atom                 always
    Sometimes(v, p)      v where p is true; where p is false, v is undefined and nobody reads it
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from adjoint.ir.core import Atom, Literal
from adjoint.ir.types import BOOL, Type, scalar

__all__ = ["FALSE", "TRUE", "Cotangent", "Sometimes", "given", "undecided"]

TRUE = Literal(True, scalar(BOOL))
FALSE = Literal(False, scalar(BOOL))


@dataclass(frozen=True, slots=True)
class Sometimes:
    """`value` where `present` (a bool) is true."""

    value: Atom
    present: Atom

    @property
    def type(self) -> Type:
        return self.value.type


Cotangent = Atom | Sometimes
"""With `| None` where it may be absent altogether."""


def given(cotangent: Cotangent | None, bit: Atom, *, there: bool) -> Cotangent | None:
    """`cotangent` on a path where `bit` is known to be `there`."""
    if isinstance(cotangent, Sometimes) and cotangent.present is bit:
        return cotangent.value if there else None
    return cotangent


def undecided(cotangents: Iterable[Cotangent | None]) -> Atom | None:
    """The presence bit of the first cotangent that has one."""
    return next((ct.present for ct in cotangents if isinstance(ct, Sometimes)), None)
