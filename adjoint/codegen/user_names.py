"""Names of the user's in C: those to which C, its headers or ours give another meaning are changed a little."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

from adjoint.ir.kernel.names import KEYWORDS, identifier

__all__ = ["TAKEN", "free", "function_name", "is_identifier", "local_name"]

_MATH: Final = """acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb ldexp log log10 log1p log2
    logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma tgamma ceil floor nearbyint rint lrint llrint round lround llround
    trunc fmod remainder remquo copysign nan nextafter nexttoward fdim fmax fmin fma"""
_LIBRARY: Final = "abs calloc div exit free labs ldiv llabs main malloc memcmp memcpy memmove memset printf putchar puts realloc strlen"
TAKEN: Final = frozenset({
    *KEYWORDS, *_LIBRARY.split(), *(name + suffix for name in _MATH.split() for suffix in ("", "f", "l")), "status",
})
"""Names with another meaning in C, or in each of our functions."""
_MACROS: Final = (
    "NAN|INFINITY|NULL|HUGE_VAL[FL]?|unix|linux|(ADJOINT|FP|M|MATH|PTRDIFF|SIG_ATOMIC|SIZE|WCHAR|WINT)_[A-Z0-9_]*[A-Z0-9]|U?INT.*_(C|MAX|MIN)"
    "|is(finite|inf|nan|normal|(greater|less)(equal)?|lessgreater|unordered)|fpclassify|signbit|u?int.*_t|(double|float|size)_t")
"""Names that C's headers define as macros or types; none ends with `_`.  These two patterns are compiled when they are first used."""
_DECLARED: Final = (
    "(drem|finite|gamma|j[01n]|scalb|significand|y[01n])[fl]?|lgamma[fl]?_r|exp10[fl]?|pow10[fl]?|bcmp|bcopy|bzero|ffsl{0,2}|r?index"
    "|mem(ccpy|chr)|stpn?cpy|str(n?(cat|cmp|casecmp|cpy|dup|len)|r?chr|coll|c?spn|error|pbrk|sep|signal|str|tok|xfrm)(_[lr])?|adjoint_.*")
"""Names of functions declared in the headers of many systems, or in our own."""


def free(name: str, taken: Container[str] = TAKEN) -> str:
    """Return a name that is not taken: `name` itself, or `name` followed by `_`s."""
    while name in taken or re.fullmatch(_MACROS, name):
        name += "_"
    return name


def function_name(name: str) -> str:
    """Return a C name for a function of the user's that other files may call: its own name, changed if C gives it another meaning."""
    made = free(identifier(name))
    return made + "_" if re.fullmatch(_DECLARED, made) else made


def local_name(name: str) -> str:
    """Return a C name for a value of the user's within a function: its own name, changed if C gives it another meaning."""
    made = free(identifier(name))
    return f"v{made}" if made.startswith("adjoint_") else made


def is_identifier(name: str) -> bool:
    """Return True if C takes a text as a name, be it a keyword or not."""
    return re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) is not None
