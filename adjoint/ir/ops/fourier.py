"""Discrete Fourier transforms along one axis: X[k] = sum over j of x[j] exp(-2 pi i j k / n).

    Y = F x         complex to complex, F[k, j] = exp(-2 pi i j k / n)       x' = F^H Y', the inverse times n
    Y = H x         real to the half spectrum: the first n / 2 + 1 rows       x' = Re(H^H Y')
    y = Re(H^H X)   half spectrum to real                                     X' = H y'

The three are linear, and their adjoints (conjugate transposes) are among them, so gradients of any order exist.  Everything else, such as
transforms of several axes, is composed of them in `ops/fourier.py`.  The C is in `codegen/c/fourier.h`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.op import Op, family, mistake, operation, sample
from adjoint.ir.ops.complex import complex_dtype
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.types import C64, C128, COMPLEX, F32, F64, Dim, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Kernel

__all__ = ["FourierTransform", "HalfSpectrum", "HalfSpectrumInverse"]

Array = np.ndarray[Any, Any]

NORMS: Final = {"none": 0, "root": 1, "length": 2}
"""By which power of 1 / sqrt(n) each kind of normalisation multiplies."""

LARGEST_PRIME = 47
"""The largest prime factor of a length that is transformed without a convolution; ADJOINT_PRIME in `fourier.h`."""
SHORT = 128
"""Lengths up to this are transformed by one sum, for several lines together; longer ones by two sums."""
LINES = 16
"""The most lines that are transformed together; ADJOINT_LINES in `fourier.h`."""
FEW_LINES = 4
LONG = 32768
"""From this length on only so few lines are transformed together: more do not fit into a cache."""
BLOCK = 2048
"""Numbers of a matrix that are transformed together; ADJOINT_BLOCK in `fourier.h`."""
UNITS = 64
"""The most units of work: each has memory of its own."""
FEW_UNITS = 8
ROOM = 2**24
"""Numbers of memory of all units, if they are more than so few."""


def _factors(n: int) -> list[int]:
    """Return the prime factors of a number, in ascending order."""
    found, prime = [], 2
    while prime * prime <= n:
        while n % prime == 0:
            found.append(prime)
            n //= prime
        prime += 1
    return [*found, n] if n > 1 else found


def computed_length(n: int) -> int:
    """Return the length of the transforms that compute one of length n: n itself if its primes are small, otherwise the least length of
    the form 2^a 3^b 5^c for a convolution, 2 n - 1 or more, of which a is at least 2: the cheapest passes are those of radix 4.
    """
    if n <= 1 or _factors(n)[-1] <= LARGEST_PRIME:
        return n
    least, best = 2 * n - 1, 2 ** (2 * n - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            best = min(best, three * 2 ** max(2, (-(-least // three) - 1).bit_length()))
            three *= 3
        five *= 5
    return best


def rows_of(n: int) -> int:
    """Return the rows of the matrix that a length is split into: its largest divisor up to the root; all of it if it is short."""
    if n <= SHORT:
        return n
    divisors = {1}
    for prime in _factors(n):
        divisors |= {divisor * prime for divisor in divisors}
    return max(divisor for divisor in divisors if divisor * divisor <= n)


@dataclass(frozen=True)
class FourierLayout:
    """How a batch of lines is computed; all numbers are those of `adjoint_fourier_batch`.

    table, base, room  numbers of memory for the tables, for what the twiddles are made of, and for each unit
    """

    n: int
    size: int
    m: int
    rows: int
    together: int
    table: int
    base: int
    room: int


def layout_of(n: int, *, real: bool, inner: bool) -> FourierLayout:
    """Return how lines of n numbers are computed.

    real   True for real numbers
    inner  True if lines lie side by side
    """
    size = n // 2 if real and n % 2 == 0 else n
    m = computed_length(size)
    rows = rows_of(m)
    columns = m // rows
    together = LINES if m <= LONG else FEW_LINES
    if columns > 1 and not inner:
        together = 1
    blocks = 4 * min(m * together, max(BLOCK, max(rows, columns) * (LINES + together - 1)))
    room = blocks if columns == 1 else 2 * m * together + blocks
    if m != size:
        room += 2 * m * together
    if real:
        room += 2 * size * together
    table = 2 * (rows + columns + m + n // 4 + 1) + (2 * (size + m) if m != size else 0)
    return FourierLayout(n, size, m, rows, together, table, 2 * (rows + columns), room)


@family
class Fourier(Op):
    """A transform along `axis`."""

    axis: int = -1
    norm: str = "none"

    def check(self, x: Any, dtypes: tuple[DType, ...], expected: str) -> Dim:
        """Check an operand and the attributes; return the size along the axis."""
        if not isinstance(x, TensorType) or x.dtype not in dtypes:
            raise mistake(self, "x", expected, x, TypeError)
        if not -x.rank <= self.axis < x.rank:
            raise mistake(self, "axis", f"in {-x.rank}..{x.rank - 1}", self.axis)
        if self.norm not in NORMS:
            raise mistake(self, "norm", f"one of {', '.join(map(repr, NORMS))}", repr(self.norm))
        if x.shape[self.axis] == 0:
            raise mistake(self, "x", "of at least 1 element along the axis", x)
        return x.shape[self.axis]

    def along(self, x: TensorType, size: Dim, dtype: DType) -> TensorType:
        """Return a type with another size along the axis, and another dtype."""
        shape = list(x.shape)
        shape[self.axis] = size
        return tensor(dtype, tuple(shape))

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom]:
        """The same transform of the axis, which is one further behind."""
        if self.axis < 0:
            return b.emit_node(self, operands).results
        return b.emit_node(self.moved(self.axis + 1), operands).results

    def moved(self, axis: int) -> Fourier:
        """Return the same transform along another axis."""
        raise NotImplementedError

    def scaled(self, x: Array, n: int) -> Array:
        """Return the result of the reference, normalised part by part."""
        return (x.view(np.float64) / np.float64(n) ** (NORMS[self.norm] / 2)).view(x.dtype)

    def transform(self, k: Kernel, x: Buffer, out: Buffer, length: int, *, kind: int, doubled: bool = False) -> None:
        """Describe the stages of a kernel: tables, then the lines."""
        axis = self.axis % x.rank
        part = x.dtype.part
        outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
        side_by_side = inner > 1
        plan = layout_of(int(length), real=kind > 1, inner=side_by_side)
        groups = outer * -(-inner // plan.together) if side_by_side else -(-outer // plan.together)
        units = min(groups, max(FEW_UNITS, min(UNITS, ROOM // max(1, plan.room))))
        table, base = k.scratch(part, plan.table, "table"), k.scratch(F64, plan.base, "base")
        work = k.scratch(part, max(1, units) * plan.room, "work")
        n, size, m, rows = (k.size(value, name) for value, name in (
            (plan.n, "n"), (plan.size, "size_of_transform"), (plan.m, "computed_size"), (plan.rows, "rows")))
        sizes = [k.size(value, name) for value, name in (
            (outer, "outer"), (inner, "inner"), (plan.together, "together"), (units, "units"), (plan.room, "room"))]
        is_split, is_convolution = plan.rows < plan.m, plan.m != plan.size
        k.describe(x, "outer, n, inner" if kind != 3 else "outer, n / 2 + 1, inner")
        k.describe(out, "outer, n, inner" if kind != 2 else "outer, n / 2 + 1, inner")
        with k.stage_range(min(units, 1), 1) as (begin, end), k.when(k.less(begin, end)):
            k.run(f"adjoint_fourier_tables_{part.name}", table, base, n, size, m, rows)
        with k.stage_range(plan.rows * min(units, 1) if is_split else 0, grain_of(4 * plan.m // plan.rows)) as (begin, end):
            k.run(f"adjoint_fourier_twiddles_{part.name}", table, base, m, rows, begin, end)
        with k.stage_range(min(units, 1) if is_convolution else 0, 1) as (begin, end), k.when(k.less(begin, end)):
            k.run(f"adjoint_fourier_spectrum_{part.name}", table, work, n, size, m, rows)
        with k.stage_range(units, grain_of(8 * plan.m * plan.together * max(1, groups // max(1, units)))) as (begin, end):
            k.run(f"adjoint_fourier_batch_{part.name}", x, out, table, work, k.size(kind, "kind"), k.size(int(doubled), "doubled"),
                  k.size(NORMS[self.norm], "root"), n, size, m, rows, *sizes, begin, end)


@operation
class FourierTransform(Fourier):
    """The discrete Fourier transform of complex numbers along `axis`, n of them: sum over j of x[j] exp(-2 pi i j k / n), or with
    `inverse` exp(2 pi i j k / n); divided by nothing ("none"), sqrt(n) ("root") or n ("length").

    Lengths with prime factors up to 47 take O(n log n) operations, by passes of those radices; other lengths as well, by a convolution
    (L. I. Bluestein, "A linear filtering approach to the computation of discrete Fourier transform", 1970).  The relative error grows
    like log n.

    x         T[s], T a complex type; at least 1 element along the axis
    result    T[s]
    gradient  the transform of ct in the other direction
    errors    TypeError: not complex; ValueError: axis out of range, nothing along it, or another `norm`
    """

    inverse: bool = False
    samples = (
        sample(tensor(C64, (2, 8))),
        sample(tensor(C64, (3, 12)), inverse=True, norm="length"),
        sample(tensor(C64, (2, 5, 3)), axis=1, norm="root"),
        sample(tensor(C64, (7,)), inverse=True),
        sample(tensor(C64, (1,))),
        sample(tensor(C128, (2, 30)), axis=0),
        sample(tensor(C64, (0, 4))),
        sample(tensor(C64, (2, 53)), norm="length", note="a large prime: by a convolution"),
        sample(tensor(C64, (144, 2)), axis=0, note="two sums"),
        sample(tensor(C64, (150,)), inverse=True, note="two sums"),
    )

    def infer(self, x: Any) -> TensorType:
        self.check(x, COMPLEX, "a tensor of complex numbers")
        return x

    def reference(self, x: Array) -> Array:
        given, n = x.astype(np.complex128), x.shape[self.axis]
        found = np.fft.ifft(given, axis=self.axis, norm="forward") if self.inverse else np.fft.fft(given, axis=self.axis)
        return self.scaled(np.ascontiguousarray(found), n).astype(np.result_type(x.dtype, np.complex64))

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        self.transform(k, x, out, x.shape[self.axis], kind=int(self.inverse))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        return (b.fourier_transform(ct, axis=self.axis, norm=self.norm, inverse=not self.inverse),)

    def moved(self, axis: int) -> Fourier:
        return FourierTransform(axis, self.norm, self.inverse)


@operation
class HalfSpectrum(Fourier):
    """The first n / 2 + 1 numbers of the discrete Fourier transform of n real ones along `axis`; the others are their conjugates.

    With `doubled` those count twice which have a conjugate among the others: all but the first, and the last if n is even.

    x         T[s], T float32 or float64; at least 1 element along the axis, whose number is known
    result    the complex type with such parts, n // 2 + 1 along the axis; divided as by `FourierTransform`
    gradient  `HalfSpectrumInverse` of ct, doubled if this is
    errors    TypeError: not float32 or float64; ValueError: axis out of range, nothing along it or an unknown number, or another `norm`
    """

    doubled: bool = False
    samples = (
        sample(tensor(F32, (2, 8))),
        sample(tensor(F32, (2, 9)), norm="root", doubled=True),
        sample(tensor(F32, (2, 6, 3)), axis=1, doubled=True),
        sample(tensor(F32, (5, 3)), axis=0, norm="length"),
        sample(tensor(F32, (1,)), doubled=True),
        sample(tensor(F32, (2,))),
        sample(tensor(F64, (3, 4))),
        sample(tensor(F32, (0, 4))),
        sample(tensor(F32, (106,)), note="a large prime: by a convolution"),
        sample(tensor(F32, (53,)), note="a large prime: by a convolution"),
        sample(tensor(F32, (300,)), note="two sums"),
    )

    def infer(self, x: Any) -> TensorType:
        n = self.check(x, (F32, F64), "a tensor of float32 or float64")
        if not isinstance(n, int):
            raise mistake(self, "x", "of a known number of elements along the axis", x)
        return self.along(x, n // 2 + 1, complex_dtype(x.dtype))

    def reference(self, x: Array) -> Array:
        n = x.shape[self.axis]
        found = self.scaled(np.ascontiguousarray(np.fft.rfft(x.astype(np.float64), axis=self.axis)), n)
        if self.doubled:
            _inner(found, self.axis, n)[...] *= 2
        return found.astype(np.complex128 if x.dtype == np.float64 else np.complex64)

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        self.transform(k, x, out, x.shape[self.axis], kind=2, doubled=self.doubled)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        (x,) = node.operands
        assert isinstance(x.type, TensorType)
        return (b.half_spectrum_inverse(ct, axis=self.axis, norm=self.norm, length=x.type.shape[self.axis], doubled=self.doubled),)

    def moved(self, axis: int) -> Fourier:
        return HalfSpectrum(axis, self.norm, self.doubled)


@operation
class HalfSpectrumInverse(Fourier):
    """`length` real numbers along `axis` from a half spectrum: the real part of the sum over its elements of x[k] exp(2 pi i j k /
    length).

    With `doubled` those count twice which have a conjugate in a whole spectrum: all but the first, and the last if `length` is even;
    then, with the norm "length", it is the inverse of `HalfSpectrum`.  The imaginary parts of those that have none make no difference.

    x         T[s], T a complex type, with length // 2 + 1 elements along the axis
    result    the type of the parts of T, `length` along the axis; divided as by `FourierTransform`
    gradient  `HalfSpectrum` of ct, doubled if this is
    errors    TypeError: not complex; ValueError: axis out of range, another number of elements along it, or another `norm`
    """

    length: int = 1
    doubled: bool = True
    samples = (
        sample(tensor(C64, (2, 5)), length=8),
        sample(tensor(C64, (2, 5)), length=9, norm="length"),
        sample(tensor(C64, (2, 4, 3)), axis=1, length=6, doubled=False),
        sample(tensor(C64, (3, 3)), axis=0, length=5, doubled=False, norm="root"),
        sample(tensor(C64, (1,)), length=1),
        sample(tensor(C64, (2,)), length=2),
        sample(tensor(C128, (3, 3)), length=4),
        sample(tensor(C64, (0, 3)), length=4),
        sample(tensor(C64, (54,)), length=106, note="a large prime: by a convolution"),
        sample(tensor(C64, (27,)), length=53, note="a large prime: by a convolution"),
        sample(tensor(C64, (151,)), length=300, note="two sums"),
    )

    def infer(self, x: Any) -> TensorType:
        count = self.check(x, COMPLEX, "a tensor of complex numbers")
        if not self.length >= 1:
            raise mistake(self, "length", "at least 1", self.length)
        if count != self.length // 2 + 1:
            raise mistake(self, "x", f"of {self.length // 2 + 1} elements along the axis, half a spectrum of {self.length}", x)
        return self.along(x, self.length, x.dtype.part)

    def reference(self, x: Array) -> Array:
        half = x.astype(np.complex128)
        if not self.doubled:
            _inner(half, self.axis, self.length)[...] /= 2
        found = np.fft.irfft(half, self.length, axis=self.axis, norm="forward")
        return self.scaled(found, self.length).astype(x.real.dtype)

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        self.transform(k, x, out, self.length, kind=3, doubled=self.doubled)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
        return (b.half_spectrum(ct, axis=self.axis, norm=self.norm, doubled=self.doubled),)

    def moved(self, axis: int) -> Fourier:
        return HalfSpectrumInverse(axis, self.norm, self.length, self.doubled)


def _inner(spectrum: Array, axis: int, n: int) -> Array:
    """Return the part of half a spectrum whose elements have a conjugate in the other half."""
    return np.moveaxis(spectrum, axis, 0)[1 : (n + 1) // 2]
