"""`adjoint explore FILE.py:NAME`: one HTML page that shows a program as Python, IR, adjoint and C side by side."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from adjoint.cli.target import Raised, Wrong, check_count, check_name, inputs_of, named, place_of, raising
from adjoint.explorer.explore import program_data, write_page
from adjoint.foundation.diagnostics import CompileError

__all__ = ["act", "configure"]

_ABOUT = """\
Write one HTML page that shows a function, Cell class or instance at all of its stages, side by side: the Python, the graph after each pass,
the adjoint, the plan and the C. Touching a line marks the lines of the other columns that came from it. The page needs no network."""

_MORE = """\
Examples:
  adjoint explore net.py:Net --args "f32[32, 1, 28, 28]"
  adjoint explore net.py:loss --args "f32[3], f32[3]" --run -o loss.html

Exit codes: 0 written, 1 a mistake in what is shown, or the page cannot be written, 2 a wrong command line."""


_OF_THE_COMMAND_LINE = "E141"
"""Checks --wrt."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description, parser.epilog = _ABOUT, _MORE
    parser.add_argument("target", help="FILE.py:NAME (a function, Cell class or instance)")
    parser.add_argument("--args", default="", help='the inputs, types of tensors or Python values: "f32[32, 1, 32, 32], i32[32], 0.5"')
    parser.add_argument("-o", "--output", default="", help="the page to write; default: NAME.html")
    parser.add_argument("--wrt", default="",
                        help="what to differentiate by: x,@conv1.weight; default: floating arguments and the parameters that are trained")
    parser.add_argument("--run", action="store_true", help="also run it on example inputs of these types, some times: shows the time of "
                        "each kernel and the numbers at each node")
    parser.add_argument("--seed", type=int, default=0, help="seed of the example inputs")
    parser.set_defaults(act=act)


def act(chosen: argparse.Namespace) -> int:
    """Write the page."""
    try:
        path, name = place_of(chosen.target)
        check_name(path, name)
        output = chosen.output or f"{name}.html"
        size = write_page(output, _data(chosen, path, name))
    except (CompileError, Raised) as mistake:
        return _failed(str(mistake), 2 if isinstance(mistake, CompileError) and mistake.diagnostic.code == _OF_THE_COMMAND_LINE else 1)
    except Wrong as wrong:
        return _failed(f"adjoint explore: {wrong}", 2)
    except OSError as failed:
        if failed.filename is None:
            raise
        return _failed(f"adjoint explore: the page {failed.filename!r} cannot be written: {failed.strerror}", 1)
    print(f"{output}: {size / 1000:.0f} kB")
    return 0


def _data(chosen: argparse.Namespace, path: str, name: str) -> dict[str, Any]:
    target = named(path, name)
    inputs = inputs_of(chosen.args, chosen.seed)
    check_count(target, name, inputs)
    wrt = tuple(each.strip() for each in chosen.wrt.split(",") if each.strip())
    with raising():
        return program_data(target, inputs, f"{os.path.basename(path)}:{name}", chosen.args, wrt, run=chosen.run)


def _failed(message: str, code: int) -> int:
    sys.stdout.flush()
    print(message.rstrip(), file=sys.stderr)
    return code
