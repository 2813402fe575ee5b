"""The C headers that kernels share: which functions each defines, and their text.

They live in `codegen/c/` as real C, and are copied as text into each unit that uses one of their functions, so that a unit is one file that
can be read, compiled and passed on by itself.

A file that uses ELEMENT and TYPED(name) is a template: it is copied for float, `matmul.h(f32)`, and for double, `matmul.h(f64)`, and then
defines name_f32 or name_f64.  One that uses PART too is for complex numbers: it is copied for c64 and for c128, where PART is the C type of
the real part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

__all__ = ["DIRECTORY", "FILES", "INCLUDES", "defined", "digest", "elements_of", "header_of", "in_order", "needed", "text"]

DIRECTORY: Final = Path(__file__).parent / "c"

INCLUDES: Final[dict[str, tuple[str, ...]]] = {
    "fetch.h": (),
    "rows.h": (),
    "bits.h": (),
    "convert.h": ("bits.h",),
    "neighbours.h": (),
    "sorting.h": ("bits.h", "convert.h"),
    "assignment.h": (),
    "math_f32.h": ("bits.h",),
    "math_f64.h": ("bits.h",),
    "special_f32.h": ("bits.h", "math_f32.h"),
    "special_tables.h": (),
    "special.h": ("bits.h", "math_f64.h", "special_tables.h"),
    "lanes.h": (),
    "registers.h": (),
    "vectors.h": ("registers.h",),
    "matmul.h": ("registers.h", "vectors.h"),
    "chains.h": ("registers.h", "vectors.h"),
    "convolution.h": ("registers.h", "vectors.h"),
    "transpose.h": ("registers.h", "vectors.h"),
    "plain_matmul.h": ("registers.h",),
    "plain_products.h": (),
    "statistics.h": (),
    "fourier.h": ("bits.h", "math_f32.h", "math_f64.h"),
    "complex.h": (),
    "complex_math.h": ("bits.h", "math_f64.h", "complex.h"),
    "complex_eigenvalues.h": ("bits.h", "math_f64.h", "complex.h", "complex_math.h"),
    "complex_logarithm.h": ("bits.h", "math_f64.h", "complex.h", "complex_math.h", "complex_eigenvalues.h"),
}
"""For each header of `codegen/c/`, those that it needs; in the order in which they are copied."""

FILES: Final = tuple(INCLUDES)
ELEMENTS: Final = {"f32": "float", "f64": "double"}
PARTS: Final = {"c64": "float", "c128": "double"}
"""For the complex types the C type of their parts."""

_DEFINITION: Final = re.compile(r"^(?:#define )?(?!typedef)[A-Za-z][^;={\n]*?(?:TYPED\((adjoint_\w+)\)|\b(adjoint_\w+))\(", re.MULTILINE)


def header_of(function: str) -> str:
    """Return the header that defines a C function of this package; LookupError if none does."""
    header = _definitions().get(function)
    if header is None:
        raise LookupError(f"no header in {DIRECTORY.name}/ defines {function}")
    return header


def needed(names: Iterable[str]) -> tuple[str, ...]:
    """Return the headers for a kernel that uses `names`, with those they need, in order."""
    wanted: set[str] = set()
    for name in names:
        if name.startswith("adjoint_"):
            header = header_of(name)
            wanted.update((header, *_builds_on(header)))
    return in_order(wanted) if wanted else ()


def in_order(wanted: Iterable[str]) -> tuple[str, ...]:
    """Return headers in the order in which they are copied."""
    return tuple(sorted(wanted, key=lambda header: (FILES.index(header.partition("(")[0]), header)))


@cache
def text(header: str) -> str:
    """Return the text that is copied for a header."""
    file, _, element = header.partition("(")
    said = (DIRECTORY / file).read_text(encoding="utf-8")
    if not element:
        return said
    name = element.removesuffix(")")
    macros = {**elements_of(file)[name], "TYPED(name)": f"name##_{name}"}
    defined, undone = (f"#define {macro} {meaning}" for macro, meaning in macros.items()), (f"#undef {m.partition('(')[0]}" for m in macros)
    return "\n".join([*defined, f"\n{said}", *undone, ""])


def elements_of(file: str) -> dict[str, dict[str, str]]:
    """Return for each type for which a template is copied what its macros mean, without TYPED."""
    if file.startswith("complex"):
        return {name: {"ELEMENT": f"{part} _Complex", "PART": part} for name, part in PARTS.items()}
    return {name: {"ELEMENT": element} for name, element in ELEMENTS.items()}


@cache
def digest(header: str) -> bytes:
    """Return the sha256 of a header's text, for keys of the cache."""
    return sha256(text(header).encode()).digest()


@cache
def defined(file: str) -> dict[str, str]:
    """Return the functions that a file defines, each with the header that defines it."""
    found: dict[str, str] = {}
    # What a template defines independently of the element type is defined in each of its copies.
    kinds = elements_of(file)
    alone = f"{file}({next(iter(kinds))})" if "TYPED(" in text(file) else file
    for typed, plain in _DEFINITION.findall(text(file)):
        if typed:
            found.update({f"{typed}_{element}": f"{file}({element})" for element in kinds})
        else:
            found[plain] = alone
    return found


@cache
def _definitions() -> dict[str, str]:
    """Return, for each C function of this package, the header that defines it: the first, if several files share it under a guard."""
    found: dict[str, str] = {}
    for file in FILES:
        if (DIRECTORY / file).is_file():
            found = {**defined(file), **found}
    return found


def _builds_on(header: str) -> tuple[str, ...]:
    file, bracket, element = header.partition("(")
    return tuple(f"{other}{bracket}{element}" if "TYPED(" in text(other) else other for other in INCLUDES[file])
