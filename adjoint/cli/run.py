"""`adjoint run SCRIPT [ARGS]`: a script written for mindspore, unchanged."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from adjoint import compat

__all__ = ["act", "configure"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = "Run a script written for mindspore, unchanged: `import mindspore` gives adjoint. Its exit code is the script's."
    parser.add_argument("script", help="the script")
    arguments = parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    arguments.required = False  # otherwise argparse would list them among the missing arguments
    parser.set_defaults(act=act)


def act(chosen: argparse.Namespace) -> int:
    """Run the script; exceptions propagate, and Python shows only the script's frames."""
    if not Path(chosen.script).is_file():
        print(f"adjoint run: there is no file {chosen.script!r}", file=sys.stderr)
        return 2
    compat.run(chosen.script, chosen.arguments)
    return 0
