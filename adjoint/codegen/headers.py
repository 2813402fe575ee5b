"""The C files that are the same for all kernels: which functions stand where, and their text.

They live in `codegen/c/` as real C, and are pasted as text into each unit that uses a function of theirs, so that a unit
is one file that can be read, compiled and sent on by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

__all__ = ["DIRECTORY", "NAMES", "digest", "needed", "text"]

DIRECTORY: Final = Path(__file__).parent / "c"

INCLUDES: Final[dict[str, tuple[str, ...]]] = {
    "convert.h": (),
    "math_f32.h": (),
    "math_f64.h": (),
    "matmul.h": (),
    "convolution.h": ("matmul.h",),
}
"""Each header, with the headers it builds on; in the order in which they are pasted."""

NAMES: Final = tuple(INCLUDES)

_DEFINITION: Final = re.compile(r"^(?:static\b[^;={]*?|#define )\b(adjoint_\w+)\(", re.MULTILINE)


@cache
def _definitions() -> dict[str, str]:
    """For each function that a header defines, the header."""
    return {function: header for header in NAMES if _exists(header) for function in _DEFINITION.findall(text(header))}


def _exists(header: str) -> bool:
    return (DIRECTORY / header).is_file()


def header_of(function: str) -> str:
    """The header that defines a function of ours; a LookupError when none does."""
    header = _definitions().get(function)
    if header is None:
        raise LookupError(f"no header in {DIRECTORY.name}/ defines {function}")
    return header


def needed(names: Iterable[str]) -> tuple[str, ...]:
    """The headers for a kernel that uses `names`, with those they build on, in order."""
    wanted: set[str] = set()
    for name in names:
        if name.startswith("adjoint_"):
            header = header_of(name)
            wanted.update((header, *INCLUDES[header]))
    return tuple(header for header in NAMES if header in wanted) if wanted else ()


@cache
def text(header: str) -> str:
    """What the header says."""
    return (DIRECTORY / header).read_text(encoding="utf-8")


@cache
def digest(header: str) -> bytes:
    """sha256 of its text."""
    return sha256(text(header).encode()).digest()
