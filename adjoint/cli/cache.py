"""`adjoint cache info|verify|clear|fill`: the compiled kernels that are kept between runs."""

from __future__ import annotations

import argparse
import sys

from adjoint.cli.fill import fill
from adjoint.codegen.cache import Store, existing, size_limit

__all__ = ["act", "configure"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = ("Compiled kernels are kept between runs, in ADJOINT_CACHE_DIR or in the user's cache directory. Exit code 1 of "
                          "`verify`: something was damaged; of `fill`: a program failed.")
    parser.add_argument("task", choices=(*_TASKS, "fill"), metavar="info | verify | clear | fill",
                        help="where they are and how much there is; check all, and remove what is damaged; remove all; compile ahead")
    parser.add_argument("programs", nargs="*", metavar="FILE.py:NAME",
                        help="for fill: functions and Cells that are run, with their gradients, so that their kernels are in the cache; "
                        "without any, the Float32 kernels of the commonest operators are compiled")
    parser.add_argument("--args", default="", help='for fill: the inputs, types of tensors or Python values: "f32[32, 1, 32, 32], i32[32]"')
    parser.set_defaults(act=act)


def act(chosen: argparse.Namespace) -> int:
    """Run the command on the kernel cache directory; return the exit code."""
    refused: list[str] = []
    try:
        limit = size_limit()
    except ValueError as mistake:
        print(f"adjoint cache: {mistake}", file=sys.stderr)
        return 2
    if chosen.task == "fill":
        return fill(chosen)
    if chosen.programs or chosen.args:
        print(f"adjoint cache: {chosen.task} takes no FILE.py:NAME and no --args", file=sys.stderr)
        return 2
    store = existing(refused)
    for reason in refused:
        print(f"not used: {reason}")
    if store is None:
        print("no compiled kernels are kept yet")
        return 0
    return _TASKS[chosen.task](store, limit)


def _info(store: Store, limit: int) -> int:
    usage = store.usage()
    print(f"{store.root}: {usage.kernels} kernels in {usage.libraries} libraries, {usage.bytes / 1e6:.1f} of {limit / 1e6:.1f} MB"
          + ("" if store.executable else "; mounted noexec, so they are loaded from memory"))
    return 0


def _verify(store: Store, limit: int) -> int:
    damaged, earlier = store.damaged(), store.of_earlier_versions()
    for name in damaged:
        store.folder.remove(name)
        print(f"damaged, removed: {name}")
    whole = store.usage().kernels - sum(name.startswith("kernel/") for name in earlier)
    print(f"{store.root}: {whole} kernels are whole, {len(damaged)} files were damaged")
    if earlier:
        print(f"{len(earlier)} files are of an earlier version of adjoint and not used; "
              "`adjoint cache clear` removes them, and so does a full cache")
    return 1 if damaged else 0


def _clear(store: Store, limit: int) -> int:
    before = store.usage().bytes
    store.clear()
    print(f"{store.root}: {before / 1e6:.1f} MB removed")
    return 0


_TASKS = {"info": _info, "verify": _verify, "clear": _clear}
