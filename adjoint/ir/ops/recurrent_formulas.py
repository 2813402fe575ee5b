"""The formulas of recurrent steps and of their gradients, each written once and read three ways: as C, in NumPy, and as nodes.

    LSTM   i, f, o = sigmoid, g = tanh of x + y           c' = f * c + i * g        h' = o * tanh(c')
    GRU    r, z = sigmoid(x + y)    n = tanh(x + r * y)                             h' = n + z * (h - n)
    RNN                                                                             h' = tanh or relu of x + y

where x and y are the products of the sequence and of the state.  Sources: see `recurrent.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom
    from adjoint.ir.kernel import Expr, Kernel

__all__ = ["GRU", "LSTM", "RELU", "TANH", "AtomTerm", "Formulas", "InC", "InNodes", "InNumPy"]

Quantity = Any
"""A value that has the operators +, - and *: an `Expr` of C, an array, or a `AtomTerm`."""
Quantities = Sequence[Quantity]


class Reading(Protocol):
    """What formulas need beside the operators."""

    def let(self, x: Quantity, name: str, /) -> Quantity:
        """Return x, which is used several times."""
        ...

    def sigmoid(self, x: Quantity) -> Quantity: ...

    def tanh(self, x: Quantity) -> Quantity: ...

    def relu(self, x: Quantity) -> Quantity: ...

    def where_positive(self, x: Quantity, y: Quantity) -> Quantity:
        """Return y where x > 0, else 0."""
        ...


class InC:
    """Formulas become expressions of a kernel."""

    def __init__(self, k: Kernel):
        self.k = k

    def let(self, x: Expr, name: str) -> Expr:
        return self.k.let(x, name)

    def sigmoid(self, x: Expr) -> Expr:
        return self.k.let(self.k.call("sigmoid", x), "gate")

    def tanh(self, x: Expr) -> Expr:
        return self.k.let(self.k.call("tanh", x), "gate")

    def relu(self, x: Expr) -> Expr:
        held = self.k.let(x, "sum")
        return self.k.select(self.k.less_equal(held, 0), 0, held)

    def where_positive(self, x: Expr, y: Expr) -> Expr:
        return self.k.select(self.k.greater(x, 0), y, 0)


class InNumPy:
    """Formulas are computed on arrays."""

    def let(self, x: Any, name: str) -> Any:
        return x

    def sigmoid(self, x: Any) -> Any:
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-x))

    def tanh(self, x: Any) -> Any:
        return np.tanh(x)

    def relu(self, x: Any) -> Any:
        return np.where(x <= 0, x.dtype.type(0), x)

    def where_positive(self, x: Any, y: Any) -> Any:
        return np.where(x > 0, y, y.dtype.type(0))


class AtomTerm:
    """A value of the IR with operators, which emit nodes."""

    __slots__ = ("atom", "b")

    def __init__(self, b: Builder, atom: Atom):
        self.b, self.atom = b, atom

    def _operand(self, other: Any) -> Atom:
        return other.atom if isinstance(other, AtomTerm) else self.b.constant(other, self.atom.type.dtype)  # pyright: ignore[reportAttributeAccessIssue] - a tensor

    def __add__(self, other: AtomTerm) -> AtomTerm:
        return AtomTerm(self.b, self.b.add(self.atom, other.atom))

    def __mul__(self, other: AtomTerm) -> AtomTerm:
        return AtomTerm(self.b, self.b.mul(self.atom, other.atom))

    def __sub__(self, other: AtomTerm) -> AtomTerm:
        return AtomTerm(self.b, self.b.sub(self.atom, other.atom))

    def __rsub__(self, number: float) -> AtomTerm:
        return AtomTerm(self.b, self.b.sub(self._operand(number), self.atom))


class InNodes:
    """Formulas become nodes."""

    def let(self, x: AtomTerm, name: str) -> AtomTerm:
        return x

    def sigmoid(self, x: AtomTerm) -> AtomTerm:
        return AtomTerm(x.b, x.b.sigmoid(x.atom))

    def tanh(self, x: AtomTerm) -> AtomTerm:
        return AtomTerm(x.b, x.b.tanh(x.atom))

    def relu(self, x: AtomTerm) -> AtomTerm:
        return AtomTerm(x.b, x.b.relu(x.atom))

    def where_positive(self, x: AtomTerm, y: AtomTerm) -> AtomTerm:
        return AtomTerm(x.b, x.b.relu_gradient(x.atom, y.atom))


class Formulas:
    """One kind of step.

    gates    numbers of the products, for each element of the state
    kept     numbers that the gradient gets of a step: what `step` returns as kept
    carries  the parts of the state: h, and of an LSTM c
    before   the part of the state before a step that the gradient reads; "" if it reads none
    after    the part after the step; "" likewise
    biased   "x" or "y": to which of the products the bias is added that the op is given
    """

    gates: ClassVar[int] = 1
    kept: ClassVar[int] = 0
    carries: ClassVar[tuple[str, ...]] = ("h",)
    before: ClassVar[str] = ""
    after: ClassVar[str] = ""
    biased: ClassVar[str] = "x"

    def step(self, by: Reading, x: Quantities, y: Quantities, *state: Quantity) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
        """Return the new state, and what is kept for the gradient."""
        raise NotImplementedError

    def back(
        self, by: Reading, ct: Quantity, ct_c: Quantity, kept: Quantities, before: Quantity, after: Quantity
    ) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...], Quantity, Quantity]:
        """Return the cotangents of x, of y, of h before the step (None: only through y), and of c before it (None: there is none).

        ct, ct_c  the cotangents of the new state
        kept      what `step` kept; `before` and `after` are parts of the state
        """
        raise NotImplementedError


class _Lstm(Formulas):
    gates, kept, carries, before, after = 4, 4, ("h", "c"), "c", "c"

    def step(self, by: Reading, x: Quantities, y: Quantities, *state: Quantity) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
        i, f, g, o = (by.tanh(a + b) if gate == "g" else by.sigmoid(a + b) for gate, a, b in zip("ifgo", x, y, strict=True))
        new = by.let(f * state[1] + i * g, "new")
        return (o * by.tanh(new), new), (i, f, g, o)

    def back(
        self, by: Reading, ct: Quantity, ct_c: Quantity, kept: Quantities, before: Quantity, after: Quantity
    ) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...], Quantity, Quantity]:
        i, f, g, o = kept
        t = by.tanh(after)
        u = by.let(ct_c + ct * o * (1.0 - t * t), "u")
        found = u * g * i * (1.0 - i), u * before * f * (1.0 - f), u * i * (1.0 - g * g), ct * t * o * (1.0 - o)
        return found, found, None, u * f


class _Gru(Formulas):
    gates, kept, before, biased = 3, 4, "h", "y"

    def step(self, by: Reading, x: Quantities, y: Quantities, *state: Quantity) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
        r, z = by.sigmoid(x[0] + y[0]), by.sigmoid(x[1] + y[1])
        last = by.let(y[2], "last")
        n = by.tanh(x[2] + r * last)
        return (n + z * (state[0] - n),), (r, z, n, last)

    def back(
        self, by: Reading, ct: Quantity, ct_c: Quantity, kept: Quantities, before: Quantity, after: Quantity
    ) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...], Quantity, Quantity]:
        r, z, n, last = kept
        p = by.let(ct * (1.0 - z) * (1.0 - n * n), "p")
        by_r = by.let(p * last * r * (1.0 - r), "by_r")
        by_z = by.let(ct * (before - n) * z * (1.0 - z), "by_z")
        return (by_r, by_z, p), (by_r, by_z, p * r), ct * z, None


class _Tanh(Formulas):
    after = "h"

    def step(self, by: Reading, x: Quantities, y: Quantities, *state: Quantity) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
        return (by.tanh(x[0] + y[0]),), ()

    def back(
        self, by: Reading, ct: Quantity, ct_c: Quantity, kept: Quantities, before: Quantity, after: Quantity
    ) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...], Quantity, Quantity]:
        found = (ct * (1.0 - after * after),)
        return found, found, None, None


class _Relu(_Tanh):
    def step(self, by: Reading, x: Quantities, y: Quantities, *state: Quantity) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
        return (by.relu(x[0] + y[0]),), ()

    def back(
        self, by: Reading, ct: Quantity, ct_c: Quantity, kept: Quantities, before: Quantity, after: Quantity
    ) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...], Quantity, Quantity]:
        found = (by.where_positive(after, ct),)
        return found, found, None, None


LSTM, GRU, TANH, RELU = _Lstm(), _Gru(), _Tanh(), _Relu()
