"""C99 for other machines: one file, into which those functions of the shared headers are copied that it uses.

Nothing of a C library is called but what <string.h> declares; what kernels take of <math.h> is in `c/portable/`, under names of our own.
There too are functions of other headers as simple loops.  So the same file compiles with any C99 compiler, and gives the same bits.

With `libm` the functions of <math.h> are called instead, elementary ones too: a smaller file, whose bits are the library's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Final

from adjoint.codegen import headers
from adjoint.codegen.c_print import comment
from adjoint.codegen.errors import NOT_STANDALONE
from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import UNKNOWN

__all__ = ["portable_text"]

FILES: Final = (
    "portable/rounding.h", "bits.h", "portable/math.h", "portable/products.h", "lanes.h", "rows.h", "convert.h",
    "neighbours.h", "sorting.h", "assignment.h", "math_f32.h", "math_f64.h", "special_f32.h", "special_tables.h",
    "special.h", "plain_products.h", "complex.h", "complex_math.h", "complex_eigenvalues.h",
    "complex_logarithm.h", "fourier.h",
)
"""The headers, in the order in which their parts are copied.  What several define is taken from the first."""

_LIBRARY: Final = {
    "fabs": "abs", "copysign": "with_sign", "sqrt": "sqrt", "rint": "nearest", "nearbyint": "nearest", "trunc": "truncated",
    "floor": "floor", "ceil": "ceiling", "round": "rounded", "fmin": "lesser", "fmax": "larger",
}
_RENAMED: Final = {
    **{f"{theirs}{end}": f"adjoint_{ours}_{dtype}" for theirs, ours in _LIBRARY.items() for end, dtype in (("", "f64"), ("f", "f32"))},
    "isnan": "adjoint_is_nan", "isinf": "adjoint_is_infinite", "isfinite": "adjoint_is_finite", "signbit": "adjoint_is_negative",
    "NAN": "ADJOINT_NAN", "INFINITY": "ADJOINT_INFINITY", "fma": "ADJOINT_FMA_F64", "fmaf": "ADJOINT_FMA_F32",
}
"""For the names of <math.h> that kernels use, ours."""

_ELEMENTARY: Final = """acos acosh asin asinh atan atan2 atanh cos cosh erf erfc exp exp2 expm1 fmod lgamma log log10 log1p log2 pow
    sin sinh tan tanh""".split()  # noqa: SIM905 - better read without quotes
_OF_LIBRARY: Final = {
    **{f"adjoint_{name}_{dtype}": f"{name}{end}" for name in _ELEMENTARY for end, dtype in (("", "f64"), ("f", "f32"))},
    "adjoint_library_pow_f64": "pow",
}
"""With `libm`: for our elementary functions those of <math.h>."""

_FUSED: Final = re.compile(r"defined\(__FMA__\) \|\| defined\((?:__ARM_FEATURE_FMA|__aarch64__)\)")
"""What headers ask where products and sums are fused by the processor's features; an exported file asks ADJOINT_FMA."""

_PLAIN_HALF: Final = re.compile(r"^#if defined\(__GNUC__\)\n.*?^#else\n(.*?)^#endif\n", re.MULTILINE | re.DOTALL)
"""A choice between vectors of some compilers and loops that all compilers know: an exported file has the loops."""

_WORD: Final = re.compile(r"\b[A-Za-z_]\w*")
_REMARK: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_MISSING: Final = {"adjoint_library_pow_f64": "a power that is computed by the C library"}
"""For functions that need <math.h> what they are, for messages."""


@dataclass(frozen=True)
class _Part:
    """A part of a header that is copied whole: a function, a type, a macro, or a choice between them (`#if ... #endif`).

    text     the part, with the comment above it
    defines  the names that it defines
    uses     the names that it uses
    undoes   the macro that it ends (`#undef`), or ""
    """

    text: str
    defines: frozenset[str]
    uses: frozenset[str]
    undoes: str = ""

    def renamed(self, names: Mapping[str, str]) -> _Part:
        """Return the part with other names where it uses functions."""
        return replace(self, text=_renamed(self.text, names), uses=frozenset(names.get(name, name) for name in self.uses))


def portable_text(title: str, texts: Sequence[str], *, fma: bool = False, libm: bool = False) -> str:
    """Return the text of a C99 file: a title, what its functions need, and the functions.

    title  the first comment
    texts  the functions, kernels first
    fma    whether products and sums are fused where that is the default of the processors that can; a macro of the file changes it
    libm   True: the functions of <math.h> are called, and bits depend on the library

    CompileError for a function that needs <math.h>, without `libm`.
    """
    names = _OF_LIBRARY if libm else _RENAMED
    functions = [_renamed(text, names) for text in texts]
    parts = [part.text for part in _needed(_names("\n".join(functions)), libm)]
    lines = [f"{text}\n" if not (_ONE_MACRO.fullmatch(text) and _ONE_MACRO.fullmatch(below)) else text
             for text, below in pairwise([*parts, ""])]
    includes = "".join(f"#include <{name}.h>\n" for name in (*(["math"] if libm else []), "stdbool", "stddef", "stdint", "string"))
    return "\n".join([*comment(title), "", includes, _MODE.format(fma=int(fma)), *lines, *functions])


_ONE_MACRO: Final = re.compile("#define .*")


_MODE: Final = """\
/* 1: a product and a sum are rounded once where the text says so. */
#ifndef ADJOINT_FMA
#define ADJOINT_FMA {fma}
#endif
"""


def _needed(wanted: set[str], libm: bool) -> Iterator[_Part]:
    """Yield the parts that define the names that are wanted, and those that these need, in order."""
    parts, chosen = _parts(libm), set[int]()
    places: dict[str, list[int]] = {}
    for place, part in enumerate(parts):
        for name in part.defines:
            places.setdefault(name, []).append(place)
    waiting = [*wanted, "__STDC__"]
    seen = set(waiting)
    while waiting:
        name = waiting.pop()
        if name in _MISSING and not libm:
            raise NOT_STANDALONE.at(UNKNOWN, f"{_MISSING[name]} needs <math.h>: `libm=True` (`--libm`) takes it from there")
        for place in places.get(name, ()):
            chosen.add(place)
            waiting += (other for other in parts[place].uses if other not in seen)
            seen |= parts[place].uses
    kept = {name for place in chosen for name in parts[place].defines}
    return (part for place, part in enumerate(parts) if place in chosen or part.undoes in kept)


@cache
def _parts(libm: bool) -> tuple[_Part, ...]:
    """Return the parts of all headers, in order, without those that an earlier header defines."""
    found: list[_Part] = []
    known: set[str] = set()
    for file in FILES:
        text = (headers.DIRECTORY / file).read_text(encoding="utf-8")
        if not file.startswith("portable/"):
            text = _PLAIN_HALF.sub(r"\1", _FUSED.sub("ADJOINT_FMA", text))
        for element, types in headers.elements_of(file).items() if "TYPED(" in text else [("", {})]:
            copy = re.sub(r"\bTYPED\((\w+)\)", rf"\1_{element}", text) if element else text
            for name, c_type in types.items():
                copy = re.sub(rf"\b{name}\b", c_type, copy)
            parts = [part for part in _split(copy) if not (libm and part.defines & _OF_LIBRARY.keys())]
            parts = [part.renamed(_OF_LIBRARY if libm else _RENAMED) for part in parts]
            own = {part.undoes for part in parts}
            for part in parts:
                if part.undoes or part.defines <= own or not part.defines <= known:
                    found.append(part)
            known.update(name for part in parts for name in part.defines - own)
    return tuple(found)


# -- the parts of a header -------------------------------------------------------------------------------------------------
def _split(text: str) -> Iterator[_Part]:
    """Yield the parts of a header.  Guards, includes and comments that stand alone are left out."""
    lines = text.splitlines()
    remark: list[str] = []
    guards = 0
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("/*"):
            end = at
            while "*/" not in lines[end]:
                end += 1
            remark, at = lines[at : end + 1], end + 1
        elif not line.strip():
            remark, at = [], at + 1
        elif line.startswith("#include"):
            at += 1
        elif line.startswith("#ifndef") and lines[at + 1].split() == ["#define", line.split()[1]]:
            guards, at = guards + 1, at + 2
        elif line.startswith("#endif"):
            guards, at = guards - 1, at + 1
        else:
            end = _end(lines, at)
            yield _part("\n".join([*remark, *lines[at:end]]))
            remark, at = [], end
    assert guards == 0, "a guard of a header does not end"


def _end(lines: Sequence[str], at: int) -> int:
    """Return the number of the line after the part that begins in line `at`."""
    if lines[at].startswith("#if"):
        depth = 0
        for number in range(at, len(lines)):
            depth += lines[number].startswith("#if") - lines[number].startswith("#endif")
            if depth == 0:
                return number + 1
    if lines[at].startswith("#"):
        while lines[at].endswith("\\"):
            at += 1
        return at + 1
    depth = 0
    for number in range(at, len(lines)):
        line = _REMARK.sub("", lines[number])
        depth += line.count("{") - line.count("}")
        if depth == 0 and line.rstrip().endswith(("}", ";")):
            return number + 1
    raise AssertionError(f"a part of a header does not end: {lines[at]}")


_DEFINED: Final = re.compile(r"^#define (\w+)", re.MULTILINE)
_FUNCTION: Final = re.compile(r"^[a-z][\w *]*?\b(\w+)\(", re.MULTILINE)
_OBJECT: Final = re.compile(r"^(?:static )?const [\w ]*?\b(\w+)(?:\[[^=]*\])* =", re.MULTILINE)
_STRUCT: Final = re.compile(r"^struct (\w+) \{", re.MULTILINE)
_TYPE: Final = re.compile(r"^typedef .*?(\w+)(?: __attribute__.*)?;", re.MULTILINE)


def _part(text: str) -> _Part:
    bare = _REMARK.sub("", text).strip()
    if bare.startswith("#undef"):
        return _Part(text, frozenset(), frozenset(), bare.split()[1])
    used = frozenset(_WORD.findall(bare))
    if bare.startswith("enum"):
        return _Part(text, frozenset(re.findall(r"(\w+)(?= *[=,}])", bare)), used)
    if re.match(r"#(if|pragma|error)", bare) and not _DEFINED.search(bare) and not _FUNCTION.search(bare):
        return _Part(text, frozenset({"__STDC__"}), frozenset())  # for every file
    patterns = [_DEFINED] if bare.startswith("#define") else [_DEFINED, _OBJECT, _STRUCT, _TYPE, _FUNCTION]
    names = frozenset(name for pattern in patterns for name in pattern.findall(bare))
    if bare.startswith(("struct", "typedef")) or _OBJECT.match(bare):
        names = frozenset(name for pattern in patterns[1:4] for name in pattern.findall(bare))
    elif not bare.startswith("#"):
        names = frozenset(_FUNCTION.findall(bare)[:1])  # macros inside of a function are its own
    assert names, f"a part of a header defines nothing: {bare[:80]}"
    return _Part(text, names, used)


def _names(text: str) -> set[str]:
    return {*_WORD.findall(_REMARK.sub("", text))}


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Return C with other names; its comments stay as they are."""
    return _REMARK_OR_WORD.sub(lambda m: names.get(m[0], m[0]), text)


_REMARK_OR_WORD: Final = re.compile(f"{_REMARK.pattern}|{_WORD.pattern}", re.DOTALL)
