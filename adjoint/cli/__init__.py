"""The commands: `adjoint run | profile | dump-ir | export | explore | doctor | cache | explain`.

Each has a file of its own, loaded when it is called.

Exit codes of every command: 0 done; 1 the task failed (a script that raised, a text with a mistake, a failed self test); 2 the command line
is wrong; 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Sequence

import adjoint

__all__ = ["main"]

_COMMANDS = {
    "run": ("adjoint.cli.run", "run a script written for mindspore"),
    "profile": ("adjoint.cli.profile", "show where the time of a script goes"),
    "dump-ir": ("adjoint.cli.dump_ir", "show a function as IR, its adjoint, and the C"),
    "export": ("adjoint.cli.export", "write a network, a function or a training step as C"),
    "explore": ("adjoint.cli.explore", "write a page that shows a function as Python, IR, adjoint and C side by side"),
    "doctor": ("adjoint.cli.doctor", "compiler, flags, cache, settings, and a self test"),
    "cache": ("adjoint.cli.cache", "look at, check or clear the compiled kernels that are kept"),
    "explain": ("adjoint.cli.explain", "explain an error code"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="adjoint", description="An autodiff compiler you can see through.")
    parser.add_argument("--version", action="version", version=f"adjoint {adjoint.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", title="commands")
    given = list(sys.argv[1:] if arguments is None else arguments)
    for name, (module, text) in _COMMANDS.items():
        command = commands.add_parser(name, help=text, add_help=True)
        if given and given[0] == name:
            importlib.import_module(module).configure(command)
    if not given:
        parser.print_help(sys.stderr)
        return 2
    chosen = parser.parse_args(given)
    try:
        code = chosen.act(chosen)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`).  What is left in the buffer cannot be written when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as failed:
        if failed.errno != errno.ENOSPC or failed.filename is not None or chosen.command in ("run", "profile"):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print("adjoint: the output is not complete: no space is left on the device that it is written to", file=sys.stderr)
        return 1
