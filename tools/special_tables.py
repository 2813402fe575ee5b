"""Write `codegen/c/special_tables.h`: the polynomials from which `codegen/c/special.h` computes special functions.

    python tools/special_tables.py

Each polynomial is that through the Chebyshev points of its interval, which is within a small factor of the best one, in a variable between
-1 and 1; its degree is the least that keeps the error below 2^-57 of the function. mpmath is
needed, gmpy2 makes it faster. It takes half a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from mpmath import mp, mpf

mp.dps = 45

FILE: Final = Path(__file__).parent.parent / "adjoint" / "codegen" / "c" / "special_tables.h"
ENOUGH: Final = mpf(2) ** -57
"""The largest error of a polynomial, of the largest value of the function on its interval."""

Function = Callable[[Any], Any]

HEAD = """\
/* Polynomials of special.h, written by tools/special_tables.py: coefficients of the highest power first. */

#ifndef ADJOINT_SPECIAL_TABLES_H
#define ADJOINT_SPECIAL_TABLES_H
"""


def polynomial(f: Function, low: Any, high: Any) -> list[Any]:
    """Return the coefficients, highest first, of f on [low, high] in t = (2 x - low - high) / (high - low)."""
    low, high = mpf(low), mpf(high)
    middle, half = (low + high) / 2, (high - low) / 2
    for count in range(6, 46, 2):
        angles = [mp.pi * (k + mpf(1) / 2) / count for k in range(count)]
        values = [f(middle + half * mp.cos(angle)) for angle in angles]
        chebyshev = [2 * mp.fsum(v * mp.cos(j * angle) for v, angle in zip(values, angles, strict=True)) / count for j in range(count)]
        chebyshev[0] /= 2
        size = min(map(abs, values))
        while len(chebyshev) > 1 and abs(chebyshev[-1]) < ENOUGH * size / 8:
            chebyshev.pop()
        if len(chebyshev) < count:
            return monomials(chebyshev)[::-1]
    raise ValueError(f"no polynomial of degree 45 is good enough on [{low}, {high}]")


def monomials(chebyshev: Sequence[Any]) -> list[Any]:
    """Return the coefficients of the powers of t, lowest first, of a sum of Chebyshev polynomials."""
    total = [mpf(0)] * len(chebyshev)
    before, current = [mpf(1)], [mpf(0), mpf(1)]
    for c in chebyshev:
        for i, a in enumerate(before):
            total[i] += c * a
        following = [mpf(0), *(2 * a for a in current)]
        for i, a in enumerate(before):
            following[i] -= a
        before, current = current, following
    return total


def rows(pieces: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return rows of one length, filled up with zeros at the front."""
    width = max(map(len, pieces))
    return [[mpf(0)] * (width - len(piece)) + list(piece) for piece in pieces]


def written(value: Any) -> str:
    return repr(float(value)) if value else "0"


def table(name: str, comment: str, pieces: Sequence[Sequence[Any]]) -> str:
    """Return the C of a table with one row for each piece."""
    filled = rows(pieces)
    lines = [f"/* {comment} */", f"static const double adjoint_{name}[{len(filled)}][{len(filled[0])}] = {{"]
    for row in filled:
        lines += ["    {"]
        lines += [f"        {', '.join(map(written, row[i : i + 4]))}," for i in range(0, len(row), 4)]
        lines += ["    },"]
    return "\n".join([*lines, "};\n"])


def series(terms: Callable[[int], Any], reach: Any) -> list[Any]:
    """Return the terms of a power series up to `reach` that are not below 2^-60 of the first, highest first."""
    found = []
    for k in range(200):
        if k and abs(terms(k) * mpf(reach) ** k) < mpf(2) ** -60 * abs(terms(0)):
            break
        found.append(terms(k))
    return found[::-1]


# ---- the gamma function ----

GAMMA_PIECES = ((0.5, 1), (1, 2), (2, 3), (3, 5), (5, 9))


def near(f: Function, at: Any) -> Function:
    """Return f, by values next to `at` where f is a quotient of two zeros."""
    step = mpf(10) ** -20
    return lambda x: (f(at + step) + f(at - step)) / 2 if abs(x - at) < step else f(x)


def log_gamma_factor(x: Any) -> Any:
    return mp.loggamma(x) / ((x - 1) * (x - 2))


ROOT = mp.findroot(mp.digamma, mpf("1.4616321449683623"))


def digamma_factor(x: Any) -> Any:
    return mp.digamma(x) / (x - ROOT)


def bernoulli(count: int) -> list[Any]:
    return [mp.bernoulli(2 * k) for k in range(1, count + 1)]


# ---- Bessel functions ----


def pieces(f: Function, intervals: Sequence[tuple[Any, Any]], roots: Sequence[Any] = ()) -> list[list[Any]]:
    """Return a polynomial for each interval, of f divided by the distance to the root that belongs to it, if one does."""
    found = []
    for i, (low, high) in enumerate(intervals):
        root = roots[i] if roots else None
        divided = f if root is None else near(lambda x, root=root: f(x) / (x - root), root)
        found.append(polynomial(divided, low, high))
    return found


def split(root: Any) -> list[Any]:
    """Return a root as a sum of two doubles; none as zeros."""
    if root is None:
        return [mpf(0), mpf(0)]
    return [mpf(float(root)), root - mpf(float(root))]


def phase(order: int, which: int) -> Function:
    """Return P, or Q * x, of sqrt(pi x / 2) (J + i Y) = (P + i Q) e^(i chi), as a function of w = 64 / x^2 (DLMF 10.18)."""

    def value(w: Any) -> Any:
        if w < mpf(10) ** -4:  # the asymptotic series, DLMF 10.17.3, to 10^-30
            x = 8 / mp.sqrt(w) if w else mpf(10) ** 30
            mu, term, p, q = 4 * mpf(order) ** 2, mpf(1), mpf(0), mpf(0)
            for k in range(24):
                if k % 2:
                    q += (-1) ** (k // 2) * term
                else:
                    p += (-1) ** (k // 2) * term
                term *= (mu - (2 * k + 1) ** 2) / ((k + 1) * 8 * x)
            return p if which == 0 else q * x
        x = 8 / mp.sqrt(w)
        chi = x - (2 * order + 1) * mp.pi / 4
        both = mp.sqrt(mp.pi * x / 2) * mp.mpc(mp.besselj(order, x), mp.bessely(order, x)) * mp.expj(-chi)
        return both.real if which == 0 else both.imag * x

    return value


def scaled(kind: str, order: int) -> Function:
    """Return sqrt(x) e^-x I(x), or sqrt(x) e^x K(x), as a function of 1 / x."""

    def value(r: Any) -> Any:
        x = 1 / r if r > mpf(10) ** -3 else None
        if x is None:  # DLMF 10.40.1 and 10.40.2
            mu, term, total = 4 * mpf(order) ** 2, mpf(1), mpf(0)
            for k in range(22):
                total += term
                term *= (1 if kind == "k" else -1) * (mu - (2 * k + 1) ** 2) * r / (8 * (k + 1))
            return total * (mp.sqrt(mp.pi / 2) if kind == "k" else 1 / mp.sqrt(2 * mp.pi))
        if kind == "k":
            return mp.sqrt(x) * mp.exp(x) * mp.besselk(order, x)
        return mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x)

    return value


def harmonic(k: int) -> Any:
    return mp.fsum(1 / mpf(j) for j in range(1, k + 1))


def main() -> None:
    texts = [HEAD]

    def add(name: str, comment: str, found: Sequence[Sequence[Any]]) -> None:
        print(name, [len(row) for row in found])
        texts.append(table(name, comment, found))

    add("log_gamma_factor", "ln gamma(x) / ((x - 1) (x - 2)) on [1/2, 1], [1, 2], [2, 3], [3, 5], [5, 9].",
        pieces(near(near(log_gamma_factor, mpf(1)), mpf(2)), GAMMA_PIECES))
    add("digamma_factor", "digamma(x) / (x - root) on the same intervals.", pieces(near(digamma_factor, ROOT), GAMMA_PIECES))
    add("digamma_root", "Its positive root, as a sum of two doubles.", [split(ROOT)])
    add("reciprocal_gamma", "1 / gamma(x) on [1, 2].", [polynomial(mp.rgamma, 1, 2)])
    add("stirling", "B_2k / (2k (2k - 1)), k from 10 down: DLMF 5.11.1.",
        [[b / (2 * k * (2 * k - 1)) for k, b in enumerate(bernoulli(10), 1)][::-1]])
    add("digamma_tail", "B_2k / 2k, k from 11 down: DLMF 5.11.2.", [[b / (2 * k) for k, b in enumerate(bernoulli(11), 1)][::-1]])
    add("zeta_tail", "B_2k / (2k)!, k from 1 up: DLMF 25.11.43.", [[b / mp.factorial(2 * k) for k, b in enumerate(bernoulli(14), 1)]])

    for order in (0, 1):
        add(f"bessel_i{order}_series", "Of powers of x^2 / 4 up to 16: DLMF 10.25.2.",
            [series(lambda k, n=order: 1 / (mp.factorial(k) * mp.factorial(k + n)), 16)])
        add(f"bessel_i{order}_far", "sqrt(x) e^-x I(x) in 1 / x on [1/16, 1/8], [1/32, 1/16], [0, 1/32].",
            pieces(scaled("i", order), ((mpf(1) / 16, mpf(1) / 8), (mpf(1) / 32, mpf(1) / 16), (0, mpf(1) / 32))))
        add(f"bessel_k{order}_far", "sqrt(x) e^x K(x) in 1 / x on [1/2, 1], [1/4, 1/2], [1/8, 1/4], [1/16, 1/8], [0, 1/16].",
            pieces(scaled("k", order), (*((mpf(2) ** -(i + 1), mpf(2) ** -i) for i in range(4)), (0, mpf(1) / 16))))
    constant = mp.log(2) - mp.euler
    add("bessel_k0_series", "K0(x) + ln x I0(x), of powers of x^2 / 4 up to 1/4: DLMF 10.31.2.",
        [series(lambda k: (constant + harmonic(k)) / mp.factorial(k) ** 2, 0.25)])
    add("bessel_k1_series", "(1 / x + ln x I1(x) - K1(x)) / x, of the same: DLMF 10.31.1.",
        [series(lambda k: (2 * constant + harmonic(k) + harmonic(k + 1)) / (4 * mp.factorial(k) * mp.factorial(k + 1)), 0.25)])

    add("bessel_j0_series", "Of powers of x^2 / 4 up to 1: DLMF 10.2.2.", [series(lambda k: (-1) ** k / mp.factorial(k) ** 2, 1)])
    add("bessel_j1_series", "2 J1(x) / x, of the same.", [series(lambda k: (-1) ** k / (mp.factorial(k) * mp.factorial(k + 1)), 1)])
    zeros = {
        "j0": (mp.besseljzero(0, 1), mp.besseljzero(0, 1), mp.besseljzero(0, 2), None),
        "j1": (None, mp.besseljzero(1, 1), mp.besseljzero(1, 1), mp.besseljzero(1, 2)),
        "y0": (mp.besselyzero(0, 1), mp.besselyzero(0, 2), mp.besselyzero(0, 2), mp.besselyzero(0, 3)),
        "y1": (mp.besselyzero(1, 1), mp.besselyzero(1, 1), mp.besselyzero(1, 2), None),
    }
    intervals = ((1, 2), (2, 4), (4, 6), (6, 8))
    for name, found in zeros.items():
        function = mp.besselj if name[0] == "j" else mp.bessely
        add(f"bessel_{name}_root", "The zeros that are divided out below, as sums of two doubles; 0: none.",
            [split(root) for root in found])
        add(f"bessel_{name}_near", f"{name.upper()}(x) on [1, 2], [2, 4], [4, 6], [6, 8], divided by x less the zero above.",
            pieces(lambda x, n=int(name[1]), f=function: f(n, x), intervals, found))
    root = zeros["y0"][0]
    first = near(lambda z: (mp.bessely(0, mp.sqrt(z)) - 2 / mp.pi * mp.log(mp.sqrt(z) / root) * mp.besselj(0, mp.sqrt(z))) / (z - root**2),
                 root**2)

    def even_part(z: Any) -> Any:
        if z < mpf(10) ** -15:
            return 2 / mp.pi * (mp.euler + mp.log(root / 2)) / -(root**2)
        return first(z)

    add("bessel_y0_even", "(Y0(x) - 2 / pi ln(x / root) J0(x)) / (x^2 - root^2) in x^2 on [0, 1].", [polynomial(even_part, 0, 1)])

    def odd_part(z: Any) -> Any:
        if z < mpf(10) ** -15:
            return (2 * mp.euler - 1 - 2 * mp.log(2)) / (2 * mp.pi)
        x = mp.sqrt(z)
        return (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x

    add("bessel_y1_odd", "(Y1(x) - 2 / pi (ln x J1(x) - 1 / x)) / x in x^2 on [0, 1].", [polynomial(odd_part, 0, 1)])
    for order in (0, 1):
        for which, letter in enumerate("pq"):
            add(f"bessel_{letter}{order}", "In 64 / x^2 on [1/4, 1], [1/16, 1/4], [0, 1/16]: DLMF 10.17.3.",
                pieces(phase(order, which), ((mpf(1) / 4, 1), (mpf(1) / 16, mpf(1) / 4), (0, mpf(1) / 16))))

    add("erfinv_near", "erfinv(x) / x in x^2 on [0, 1/4].",
        [polynomial(lambda z: mp.erfinv(mp.sqrt(z)) / mp.sqrt(z) if z > mpf(10) ** -20 else mp.sqrt(mp.pi) / 2, 0, mpf(1) / 4)])

    def tail(s: Any) -> Any:
        """erfinv(1 - e^(-s^2)) / s, by Newton's method on ln erfc."""
        target, y = -s * s, s
        for _ in range(12):
            value = mp.erfc(y)
            y -= (mp.log(value) - target) * value / (-2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        return y / s

    add("erfinv_far", "erfinv(1 - e^(-s^2)) / s in s on [13/16, 21/16], [21/16, 37/16], [37/16, 69/16], [69/16, 101/16].",
        pieces(tail, [(mpf(low) / 16, mpf(high) / 16) for low, high in ((13, 21), (21, 37), (37, 69), (69, 101))]))

    texts.append("#endif\n")
    FILE.write_text("\n".join(texts), encoding="utf-8")


if __name__ == "__main__":
    main()
