"""`adjoint cache fill`: compile kernels ahead, so that the first run of a program finds them in the cache."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from adjoint.cli.target import Raised, Wrong, check_count, inputs_of, named, raising
from adjoint.codegen.compile import KernelCache
from adjoint.codegen.packs import FAMILIES, pack_sources
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.types import F32
from adjoint.runtime.gradients.grad import grad
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.graphs.jit import jit
from adjoint.runtime.memory.machine import machine
from adjoint.runtime.process.context import background_compile, set_context
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["fill"]


def fill(chosen: argparse.Namespace) -> int:
    """Compile the kernels of the programs in `chosen.programs`, or of the commonest operators if there are none; return the exit code."""
    kernels = machine().kernels
    if kernels is None:
        print("adjoint cache: without a C compiler there is nothing to compile", file=sys.stderr)
        return 1
    store = kernels.workshop.store
    before, begun, code = store.usage().kernels, time.perf_counter(), 0
    try:
        for program in chosen.programs:
            _run(program, chosen.args)
        if not chosen.programs:
            _compile_families(kernels)
    except (CompileError, Raised) as mistake:
        print(str(mistake).rstrip(), file=sys.stderr)
        code = 1
    except Wrong as wrong:
        print(f"adjoint cache: {wrong}", file=sys.stderr)
        code = 2
    usage = store.usage()
    print(f"{max(0, usage.kernels - before)} kernels compiled in {time.perf_counter() - begun:.1f} s; "
          f"{store.root} has {usage.kernels} in {usage.libraries} libraries")
    return code


def _compile_families(kernels: KernelCache) -> None:
    """Compile the tuned kernels of all `FAMILIES` for Float32, by all processors."""
    kernels.prepare([kernel for pack in FAMILIES for kernel in pack_sources(pack, F32)], waited_for=True)


def _run(program: str, types: str) -> None:
    """Run a function or Cell on example inputs, and its gradient, in eager mode and as graphs, while tuned kernels are waited for.

    program  FILE.py:NAME
    types    the inputs, as `adjoint dump-ir --args` takes them
    """
    path, _, name = program.rpartition(":")
    if not Path(path).is_file() or not name:
        raise Wrong(f"{program!r} names no function or Cell; the form is FILE.py:NAME")
    with _waiting(False):
        target = named(path, name)
        inputs = inputs_of(types, seed=0)
        check_count(target, name, inputs)
        with contextlib.redirect_stdout(sys.stderr), raising():
            state = parsed(target, *inputs).graph.state.values()
            target(*inputs)
    weights = [x for x in state if isinstance(x, Parameter) and x.requires_grad]
    positions = tuple(place for place, x in enumerate(inputs) if isinstance(x, Tensor) and x.dtype.is_float)
    functions: list[Callable[..., Any]] = [target]
    if weights or positions:
        functions.append(grad(target, positions or None, weights or None))
    for function in functions:
        for setting in (False, "wait"):  # with the kernels of single operators, which run first, and with fused ones
            with _waiting(setting), contextlib.redirect_stdout(sys.stderr):
                try:
                    with raising():
                        if function is not target:
                            function(*inputs)
                        jit(function)(*inputs)
                except (CompileError, Raised) as mistake:
                    if function is target:
                        raise
                    print(f"{program}: without its gradient: {str(mistake).splitlines()[0]}", file=sys.stderr)
                    return


@contextlib.contextmanager
def _waiting(setting: bool | str) -> Iterator[None]:
    """Set `background_compile` for a while."""
    earlier = background_compile()
    set_context(background_compile=setting)
    try:
        yield
    finally:
        set_context(background_compile=earlier)
