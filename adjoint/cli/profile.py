"""`adjoint profile [--trace FILE] SCRIPT [ARGS]`: where the time of a script goes."""

from __future__ import annotations

import argparse
import os
import sys

from adjoint import compat, watch
from adjoint.cli.run import add_script, is_there
from adjoint.runtime.process.parallel_context import get_auto_parallel_context

__all__ = ["act", "configure"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = "Run a script written for mindspore, and show where its time and memory go: by phase, Cell, line and operator."
    parser.add_argument("--trace", metavar="FILE", help="also write each launch of a kernel and the memory held into FILE, for Perfetto or "
                        "chrome://tracing; "
                        "of several processes each writes its own, FILE_rank0.json and so on")
    add_script(parser)
    parser.set_defaults(act=act)


def act(chosen: argparse.Namespace) -> int:
    """Run the script, then print the tables to stderr, also if it has raised; exceptions propagate."""
    if not is_there(chosen):
        return 2
    folder = os.path.dirname(chosen.trace or "") or "."
    if chosen.trace and not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
        print(f"adjoint profile: the trace {chosen.trace!r} cannot be written: {folder!r} is no directory that can be written to",
              file=sys.stderr)
        return 2
    found = None
    try:
        with watch.profile() as found:
            compat.run(chosen.script, chosen.arguments)
    finally:
        if found is not None:
            print(found, file=sys.stderr)
            if chosen.trace:
                found.save(_own_file(chosen.trace))
    return 0


def _own_file(path: str) -> str:
    """Return the file of this process: of several processes one that has the rank in its name."""
    if get_auto_parallel_context("device_num") == 1:
        return path
    stem, ending = os.path.splitext(path)
    return f"{stem}_rank{get_auto_parallel_context('global_rank')}{ending}"
