"""`adjoint run [--check-finite] [--times] [--memory] SCRIPT [ARGS]`: a script written for mindspore, unchanged."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from adjoint import compat, watch

__all__ = ["act", "add_script", "configure", "is_there"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = "Run a script written for mindspore, unchanged: `import mindspore` gives adjoint. Its exit code is the script's."
    parser.add_argument("--check-finite", action="store_true", help="stop at the first operator whose result has a NaN or an infinity")
    parser.add_argument("--times", action="store_true", help="show at the end how long each operator took, by line")
    parser.add_argument("--memory", action="store_true", help="show at the end which tensors are held, who made them, and what keeps them")
    add_script(parser)
    parser.set_defaults(act=act)


def add_script(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a command that runs a script: the script, and the script's own arguments."""
    parser.add_argument("script", help="the script")
    arguments = parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    arguments.required = False  # otherwise argparse would list them among the missing arguments


def is_there(chosen: argparse.Namespace) -> bool:
    """Return True if the script exists; otherwise say on stderr that it does not."""
    found = Path(chosen.script).is_file()
    if not found:
        print(f"adjoint {chosen.command}: there is no file {chosen.script!r}", file=sys.stderr)
    return found


@contextlib.contextmanager
def _shown_memory() -> Iterator[None]:
    """Print the memory of a block to stderr, also if it has raised."""
    held = None
    try:
        with watch.memory() as held:
            yield
    finally:
        print(held, file=sys.stderr)


def act(chosen: argparse.Namespace) -> int:
    """Run the script; exceptions propagate, and Python shows only the script's frames."""
    if not is_there(chosen):
        return 2
    with contextlib.ExitStack() as watching:
        if chosen.times:
            measured = watching.enter_context(watch.times())
            watching.callback(lambda: print(measured, file=sys.stderr))
        if chosen.memory:
            watching.enter_context(_shown_memory())
        if chosen.check_finite:
            watching.enter_context(watch.check_finite())
        compat.run(chosen.script, chosen.arguments)
    return 0
