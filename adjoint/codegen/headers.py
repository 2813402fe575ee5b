"""The C files that are the same for all kernels: which functions stand where, and their text.

They live in `codegen/c/` as real C, and are pasted as text into each unit that uses a function of theirs, so that a unit
is one file that can be read, compiled and sent on by itself.
"""

from __future__ import annotations

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

_BY_PREFIX: Final = {
    "adjoint_f16_": "convert.h",
    "adjoint_bf16_": "convert.h",
    "adjoint_f32_to_": "convert.h",
    "adjoint_f64_to_": "convert.h",
    "adjoint_matmul": "matmul.h",
    "adjoint_convolution": "convolution.h",
}
_BY_SUFFIX: Final = {"_f32": "math_f32.h", "_f64": "math_f64.h"}


@cache
def header_of(function: str) -> str:
    """The header that defines a function of ours; a LookupError when none does."""
    for prefix, header in _BY_PREFIX.items():
        if function.startswith(prefix):
            return header
    for suffix, header in _BY_SUFFIX.items():
        if function.endswith(suffix):
            return header
    raise LookupError(f"no header is known to define {function}")


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
