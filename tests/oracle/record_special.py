"""Record exact values of special functions by mpmath: `python tests/oracle/record_special.py` writes special.json.

For each function rows of arguments, the value to 25 digits, and the size in whose last place the error is counted: that of the value, or of
the amplitude or the largest term where it oscillates or cancels.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

mp.prec = 300


def amplitude(*arguments: Any) -> Any:
    return mp.sqrt(2 / (mp.pi * abs(arguments[-1]))) if abs(arguments[-1]) >= 8 else 0


def terms(x: Any) -> Any:
    """The larger one of the terms of the reflection formulas below 0, at least 1."""
    return 0 if x > 0 else max(1, abs(mp.loggamma(-x).real), abs(mp.pi * mp.cot(mp.pi * x)))


def exact_erfinv(x: Any) -> Any:
    return mp.sign(x) * mp.findroot(lambda y: mp.log(mp.erfc(y)) - mp.log(1 - abs(x)), mp.erfinv(float(abs(x))))


def beta_terms(a: Any, b: Any) -> Any:
    return max(abs(mp.loggamma(a)), abs(mp.loggamma(b))) if b < 9 else 0


POSITIVE = (1e-300, 1e-5, 0.3, 0.5, 0.99, 1.0, 1.5, 2.0, 3.7, 7.99, 8.0, 15.9, 16.1, 31.0, 33.0, 120.0, 700.5)
OSCILLATING = (1e-200, 0.3, 0.89, 0.9, 1.9, 2.2, 2.41, 3.83, 3.96, 5.5, 7.01, 7.09, 8.0, 9.5, 15.7, 40.25, 1000.5, 123456.75)
GAMMA = (1e-300, 0.1, 0.499, 0.75, 0.999, 1.001, 1.4616, 1.9999, 2.5, 4.0, 8.99, 9.0, 30.5, 1e10, 1e300, -0.3, -0.7, -2.25, -10.6, -100.3)
INCOMPLETE = ((0.01, 0.5), (0.5, 0.1), (0.5, 1.4), (1.0, 1.6), (2.5, 9.0), (5.0, 4.9), (9.5, 1.0), (30.0, 20.0), (50.0, 70.0),
              (1000.0, 1010.0))
FUNCTIONS: dict[str, tuple[Any, Any, Any]] = {
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))) if x < 200 else mp.loggamma(x), terms, [(x,) for x in GAMMA]),
    "digamma": (mp.digamma, terms, [(x,) for x in GAMMA]),
    "sinc": (lambda x: mp.sinpi(x) / (mp.pi * x), None, [(x,) for x in (1e-9, 0.2, 0.75, 1.3, -2.6, 1000.3, 1e9 + 0.25)]),
    "erfinv": (exact_erfinv, None, [(x,) for x in (0.01, 0.3, -0.5, 0.501, 0.8, 0.99, -0.999999, 1 - 2.0**-50)]),
    **{f"bessel_{kind}{order}{scaled}": (
        lambda x, f=f, order=order, scaled=scaled, sign=sign: f(order, x) * (mp.exp(sign * x) if scaled else 1), None,
        [(x,) for x in POSITIVE])
       for kind, f, sign in (("i", mp.besseli, -1), ("k", mp.besselk, 1)) for order in (0, 1) for scaled in ("", "e")},
    **{f"bessel_{kind}{order}": (lambda x, f=f, order=order: f(order, x), amplitude, [(x,) for x in OSCILLATING])
       for kind, f in (("j", mp.besselj), ("y", mp.bessely)) for order in (0, 1)},
    "zeta": (mp.zeta, None, [(1.0001, 2.0), (1.5, 0.1), (2.0, 1.0), (3.0, 1000.5), (19.4, 66.7), (150.0, 160.0), (4.0, -11.25)]),
    "polygamma": (lambda n, x: mp.psi(int(n), x), None, [(1, 0.3), (2, 4.5), (3, 446.1), (5, 1e-3), (20, 12.5), (1, -2.25)]),
    "log_beta": (lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), beta_terms,
                 [(0.5, 3.0), (1e-10, 20.0), (5.0, 1e8), (300.0, 12.0)]),
    "igamma": (lambda a, x: mp.gammainc(a, 0, x, regularized=True), None, INCOMPLETE),
    "igammac": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), None, INCOMPLETE),
    "betainc": (lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), None,
                [(0.5, 0.5, 0.25), (3.0, 1e-4, 0.999999), (2.5, 7.0, 0.2), (8.0, 30.0, 0.25), (200.0, 300.0, 0.41), (1e-5, 4.0, 0.5)]),
}


def main() -> None:
    recorded: dict[str, Any] = {}
    for name, (function, scale, arguments) in FUNCTIONS.items():
        rows = recorded[name] = []
        for given in arguments:
            wide = [mpf(x) for x in given]
            value = function(*wide)
            if abs(value) < 1e300:
                size = max(abs(value), mpf(0) if scale is None else abs(mpf(scale(*wide))))
                rows.append([list(given), mp.nstr(value, 25), float(size)])
    lines = ",\n".join(f" {json.dumps(name)}: [\n" + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "]"
                       for name, rows in recorded.items())
    Path(__file__).with_name("special.json").write_text("{\n" + lines + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
