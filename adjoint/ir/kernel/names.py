"""Names that C accepts, for variables, buffers and functions of kernels."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["KEYWORDS", "identifier"]

KEYWORDS: Final = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Alignas _Alignof
    _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local asm typeof bool true false
    nullptr constexpr alignas alignof static_assert thread_local""".split()  # noqa: SIM905 - fifty words read better without quotes
)
"""Reserved words of C, up to C23."""


def identifier(name: str) -> str:
    """Return a C identifier that reads like `name`: `h'` is `h_bar`, `h.1` is `h_1`, `default` is `default_`."""
    if not (name.isascii() and name.isidentifier()) or name[0] == "_":
        name = name.replace("'", "_bar")
        name = re.sub(r"[^A-Za-z0-9_]", lambda m: f"u{ord(m[0]):04x}" if ord(m[0]) > 127 else "_", name)
        if not name[:1].isalpha():
            name = "v" + name
    return name + "_" if name in KEYWORDS else name
