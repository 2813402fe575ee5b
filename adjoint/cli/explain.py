"""`adjoint explain CODE`: what an error code means, and the way out."""

from __future__ import annotations

import argparse
import difflib
import sys

from adjoint.codegen import errors as _codegen  # noqa: F401 - adds its mistakes
from adjoint.frontend import errors as _frontend  # noqa: F401 - adds its mistakes
from adjoint.ir.errors import MISTAKES
from adjoint.passes import errors as _passes  # noqa: F401 - adds the mistakes of passes

__all__ = ["act", "configure"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = "Explain an error code; without one, list them all."
    parser.add_argument("code", nargs="?", help="as in error[E103]")
    parser.set_defaults(act=act)


def act(chosen: argparse.Namespace) -> int:
    """Print one page, or the list."""
    if chosen.code is None:
        for code, mistake in sorted(MISTAKES.items()):
            print(f"{code}  {mistake.title}")
        return 0
    mistake = MISTAKES.get(chosen.code.upper())
    if mistake is None:
        close = difflib.get_close_matches(chosen.code.upper(), MISTAKES, 1)
        print(f"adjoint explain: there is no code {chosen.code!r}{f'; did you mean {close[0]}?' if close else ''}", file=sys.stderr)
        return 2
    print(mistake.page, end="")
    return 0
