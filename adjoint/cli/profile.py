"""`adjoint profile [--trace FILE] SCRIPT [ARGS]`: where the time of a script goes."""

from __future__ import annotations

import argparse
import sys

from adjoint import compat, watch
from adjoint.cli.run import add_script, is_there

__all__ = ["act", "configure"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = "Run a script written for mindspore, and show where its time and memory go: by phase, Cell, line and operator."
    parser.add_argument("--trace", metavar="FILE", help="also write each launch of a kernel and the memory held into FILE, for Perfetto or chrome://tracing")
    add_script(parser)
    parser.set_defaults(act=act)


def act(chosen: argparse.Namespace) -> int:
    """Run the script, then print the tables to stderr, also if it has raised; exceptions propagate."""
    if not is_there(chosen):
        return 2
    found = None
    try:
        with watch.profile() as found:
            compat.run(chosen.script, chosen.arguments)
    finally:
        if found is not None:
            print(found, file=sys.stderr)
            if chosen.trace:
                found.save(chosen.trace)
    return 0
