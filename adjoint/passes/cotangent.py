"""Cotangents that exist only if a condition holds when the function runs.

The cotangent of a value is the gradient that belongs to it.  Absent is not zero: if nothing that ran reads a value, the value has no
cotangent, and its hooks do not run.  If it is known when the adjoint is built that a cotangent is absent, it is None.  Otherwise (one
branch of an `if` reads the value, or a loop may run zero times) it is a value with a *bit*, a bool of the IR that tells whether it exists:

    None                             never
    Atom                             always
    Sometimes(v, p)                  v if p is true; if p is false, v is undefined and must not be read
    Sometimes(v, p, when=False)      v if p is false

The same holds for tangents: a value that depends on nothing that is varied, on the path that ran, has none.

What a loop carries from round to round exists "never", "always" or "sometimes", its *status*: it carries nothing, a value, or a value and
its bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Value
from adjoint.ir.ops.control import If
from adjoint.ir.types import BOOL, I64, StackType, Type, scalar
from adjoint.passes.patterns import FALSE, TRUE

__all__ = [
    "NEVER", "ONCE", "Cotangent", "Sometimes", "carried_as", "filled", "given", "joined_status", "merged", "parts_of", "presence",
    "status_of", "undecided", "value_of", "with_default",
]

NEVER, ONCE = Literal(0, scalar(I64)), Literal(1, scalar(I64))
"""The literals 0 and 1, for the number of times that a callback (hook) runs."""


@dataclass(frozen=True, slots=True)
class Sometimes:
    """A cotangent (gradient of a value) that exists only if a condition holds when the function runs.

    value  the cotangent; undefined if it does not exist
    bit    a bool of the IR, and not a literal
    when   the cotangent exists if `bit` has this value
    """

    value: Atom
    bit: Atom
    when: bool = True

    @property
    def type(self) -> Type:
        return self.value.type


Cotangent = Atom | Sometimes
"""The gradient of a value: an atom if it always exists, `Sometimes` if it exists under a condition.  None in its place: it never exists."""


def given(cotangent: Cotangent | None, bit: Atom, *, known: bool) -> Cotangent | None:
    """Return a cotangent (gradient) as it is on the side of an `if` where the condition `bit` has the value `known`.

    A `Sometimes` with this bit becomes its value, or None if it does not exist there; every other cotangent is returned unchanged.
    """
    if isinstance(cotangent, Sometimes) and cotangent.bit is bit:
        return cotangent.value if known is cotangent.when else None
    return cotangent


def undecided(cotangents: Iterable[Cotangent | None]) -> Atom | None:
    """Return the condition (a bool of the IR) on which the first `Sometimes` among these cotangents (gradients) depends; None if each of
    them always or never exists.
    """
    return next((ct.bit for ct in cotangents if isinstance(ct, Sometimes)), None)


def value_of(cotangent: Cotangent) -> Atom:
    """Return the value of a cotangent (gradient), which is defined only where the cotangent is present."""
    return cotangent.value if isinstance(cotangent, Sometimes) else cotangent


def presence(b: Builder, cotangent: Cotangent | None) -> Atom:
    """Return a bool of the IR that tells whether a cotangent (gradient) exists; it is emitted into `b` if necessary."""
    if not isinstance(cotangent, Sometimes):
        return FALSE if cotangent is None else TRUE
    return cotangent.bit if cotangent.when else b.logical_not(cotangent.bit)


def with_default(b: Builder, cotangent: Cotangent, default: Callable[[Builder], Atom], hint: str) -> Atom:
    """Return a cotangent (gradient) as an atom, with another value where it does not exist.

    default  appends the nodes of that value to a Builder, and returns it
    hint     a name for the atom if it is new
    """
    if not isinstance(cotangent, Sometimes):
        return cotangent
    here, elsewhere = b.inner(), b.inner()
    regions = here.finish([cotangent.value]), elsewhere.finish([default(elsewhere)])
    return b.emit(If(), cotangent.bit, regions=regions if cotangent.when else regions[::-1], hint=hint)


def merged(
    sides: tuple[Builder, Builder], condition: Atom, one: Cotangent | None, other: Cotangent | None, type_: Type,
    free: Sequence[bool] = (False, False),
) -> tuple[list[tuple[Atom, Atom]], Callable[[list[Value]], Cotangent]]:
    """Merge the cotangents (gradients) of one value on both sides of an `if`; one of them exists.

    sides       the Builders of the sides, in which placeholders are made
    condition   that of the `if`
    one, other  the cotangent on each side; None if it does not exist there
    type_       its type
    free        for each side, True if it may be anything there

    Return what the sides yield for it, as pairs, and a function that takes the results for these from the front of a list and returns the
    cotangent after the `if`.
    """
    both = tuple(zip(sides, (one, other), strict=True))
    first, second = (b.undef(results=(type_,)) if ct is None else value_of(ct) for b, ct in both)
    always = [anything or (ct is not None and not isinstance(ct, Sometimes)) for anything, ct in zip(free, (one, other), strict=True)]
    if all(always):
        return [(first, second)], lambda results: results.pop(0)
    if isinstance(one, Sometimes) and isinstance(other, Sometimes) and one.bit is other.bit and one.when is other.when:
        return [(first, second)], lambda results, bit=one.bit, when=one.when: Sometimes(results.pop(0), bit, when)
    if isinstance(condition, Value) and ((always[0] and other is None) or (one is None and always[1])):
        return [(first, second)], lambda results, when=always[0]: Sometimes(results.pop(0), condition, when)
    there, there_too = (presence(b, ct) for b, ct in both)
    return [(first, second), (there, there_too)], lambda results: Sometimes(results.pop(0), results.pop(0))


# loops


def status_of(cotangent: Cotangent | None) -> str:
    """Return how often a cotangent (gradient) exists, as "never", "sometimes" or "always"."""
    return "never" if cotangent is None else "sometimes" if isinstance(cotangent, Sometimes) else "always"


def joined_status(before: str, after: str, type_: Type) -> str:
    """Return how often a cotangent (gradient) that a loop carries exists, as "never", "sometimes" or "always".

    before  how often it exists before a round
    after   how often it exists after a round
    type_   its type; the cotangent of a stack is a stack, which begins empty: "never" before and anything else after give "always"
    """
    if before == after:
        return before
    return "always" if before == "never" and isinstance(type_, StackType) else "sometimes"


def carried_as(type_: Type, hint: str, status: str) -> Cotangent | None:
    """Make the new value, of a status, under which the body of a loop receives what is carried; None if it never exists."""
    if status == "never":
        return None
    value = Value(type_, f"{hint}'")
    return value if status == "always" else Sometimes(value, Value(scalar(BOOL), "there"))


def parts_of(cotangent: Cotangent | None) -> list[Value]:
    """Return the values in a cotangent (gradient) that `carried_as` made: none for None, its value, or its value and its bit (a bool that
    tells whether it exists).
    """
    match cotangent:
        case None:
            return []
        case Sometimes(value=value, bit=bit):
            return [value, bit]  # pyright: ignore[reportReturnType] - values, made by carried_as
        case _:
            return [cotangent]  # pyright: ignore[reportReturnType] - as above


def filled(b: Builder, status: str, cotangent: Cotangent | None, type_: Type) -> list[Atom]:
    """Return the atoms that a loop carries for one cotangent (gradient), computed in `b`: none, its value, or its value and its bit (a bool
    that tells whether it exists).

    status     how often it exists in the loop: "never", "always" or "sometimes"; this decides how many atoms
    cotangent  the cotangent here; None if it does not exist here
    type_      its type, for a placeholder where it does not exist
    """
    match status, cotangent:
        case "never", _:
            return []
        case "always", None:
            return [b.stack(results=(type_,)) if isinstance(type_, StackType) else b.undef(results=(type_,))]
        case "always", _:
            return [cotangent]  # pyright: ignore[reportReturnType] - not a Sometimes, which may be absent
        case _, None:
            return [b.undef(results=(type_,)), FALSE]
        case _, Sometimes(value=value):
            return [value, presence(b, cotangent)]
        case _:
            return [cotangent, TRUE]
