"""`adjoint export FILE.py:NAME --args ... -o DIR`: a network, a function or a training step as C."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from adjoint.cli.target import Raised, Wrong, all_named, check_count, check_name, inputs_of, place_of, raising
from adjoint.foundation.diagnostics import CompileError
from adjoint.train.exporting import exported

__all__ = ["act", "configure"]

_ABOUT = """\
Write a Cell, a function of tensors or a training step as C99 that needs neither Python nor this package: net.h, net.c, net_weights.c, a
test with recorded numbers, and a CMakeLists.txt. Parameters have the numbers that they have when the file has been run."""

_MORE = """\
Examples:
  adjoint export net.py:net --args "f32[1, 1, 28, 28]" -o firmware
  adjoint export net.py:loss --args "f32[20], f32[20]" --gradient -o firmware
  adjoint export train.py:step --args "f32[8, 64], i32[8]" --also "predict=net(f32[1, 64])" -o firmware --name digits
  adjoint export train.py:step --args "f32[b, 64], i32[b]" --max-batch 32 -o firmware"""

_OURS = "For 'export', "
"""The beginning of the messages of `export` itself."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description, parser.epilog = _ABOUT, _MORE
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("target", metavar="FILE.py:NAME", help="a function, a Cell class or an instance")
    parser.add_argument("--args", default="", help='types of the inputs, and Python values: "f32[3], 2"; with --max-batch "f32[b, 3]"')
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder of the files; it is made if needed")
    parser.add_argument("--name", help="begins the names of the files; by default NAME")
    parser.add_argument("--prefix", help="begins the name of every symbol; by default the name of the files")
    parser.add_argument("--format", choices=("c",), default="c", help="C is the only format")
    parser.add_argument("--gradient", action="store_true", help="also a function that returns the result and its gradients")
    parser.add_argument("--also", action="append", default=[], metavar="'[AS=]NAME(TYPES)'",
                        help="one more function of the file that shares the parameters; AS is its name in C")
    parser.add_argument("--max-steps", type=int, help="the largest number of rounds of a loop that keeps values for its gradient")
    parser.add_argument("--max-batch", type=int, help="the largest number of rows: the C functions take the number as an argument")
    parser.add_argument("--fma", action="store_true", help="fuse products and sums: the bits of ADJOINT_CPU=avx2")
    parser.add_argument("--libm", action="store_true", help="call the functions of <math.h>, whose bits differ from library to library")
    parser.add_argument("--storage", choices=("float32", "float16"), default="float32",
                        help="float16: Parameters that nothing changes take half the flash")
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")
    parser.add_argument("--seed", type=int, default=0, help="of the numbers in the test")
    parser.set_defaults(act=act)


def act(chosen: argparse.Namespace) -> int:
    """Write the files and return the exit code."""
    try:
        for path in _export(chosen):
            print(path)
    except (CompileError, Raised) as mistake:
        print("\n".join([str(mistake).rstrip(), *getattr(mistake, "__notes__", ())]), file=sys.stderr)
        return 1
    except Wrong as wrong:
        print(f"adjoint export: {wrong}", file=sys.stderr)
        return 2
    except OSError as failed:
        text = f"{failed.strerror}: {failed.filename}" if failed.filename else _own(failed)
        print(f"adjoint export: {text}", file=sys.stderr)
        return 1
    return 0


def _own(mistake: Exception) -> str:
    """Return the message of an exception of `export`."""
    return str(mistake).removeprefix(_OURS)


def _export(chosen: argparse.Namespace) -> list[str]:
    """Write the files; return their paths."""
    path, name = place_of(chosen.target)
    check_name(path, name)
    parsed = [_function(text) for text in chosen.also]
    target, *others = all_named(path, [name, *(one for _, one, _ in parsed)])
    inputs = inputs_of(chosen.args, chosen.seed, described=True)
    check_count(target, name, inputs)
    also: dict[str, Any] = {}
    for (called, one, types), other in zip(parsed, others, strict=True):
        given = inputs_of(types, chosen.seed, described=True)
        check_count(other, one, given)
        also[called] = (other, *given)
    file_name = str(Path(chosen.output) / (chosen.name or name.rpartition(".")[2]))
    try:
        with raising():
            return exported(target, inputs, file_name, gradient=chosen.gradient, also=also, prefix=chosen.prefix,
                            max_steps=chosen.max_steps, max_batch=chosen.max_batch, fma=chosen.fma, libm=chosen.libm,
                            storage=chosen.storage, force=chosen.force, seed=chosen.seed)
    except Raised as raised:
        cause = raised.__cause__
        if isinstance(cause, OSError):
            raise cause from None
        if isinstance(cause, (ValueError, TypeError)) and str(cause).startswith(_OURS):
            raise Wrong(_own(cause)) from None
        raise


def _function(text: str) -> tuple[str, str, str]:
    """Return the name in C, the name in Python and the types of a function of `--also`."""
    found = re.fullmatch(r"\s*(?:(\w+)\s*=)?\s*([\w.]+)\s*\((.*)\)\s*", text)
    if found is None:
        raise Wrong(f"--also takes 'NAME(TYPES)' or 'AS=NAME(TYPES)', such as \"predict=net(f32[1, 64])\", not {text!r}")
    return found[1] or found[2].rpartition(".")[2], found[2], found[3]
