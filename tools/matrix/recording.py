"""Export programs as C, many to a file, beside a program in C that compares their bits with those that Python computes.

    ADJOINT_CPU=baseline python tools/matrix/recording.py FOLDER COLLECTION [--every N]

COLLECTION is `programs` (tests/programs and the functions of examples/), `ops` (the samples of all ops), or `networks` (those of
`networks.py`, with `export`).  ADJOINT_CPU decides what the processor rounds where, so that each choice takes a process of its own.  FOLDER
gets for each bundle `bundle_3.c`, `bundle_3.h` and `bundle_3_test.c`, and `left_out.json`: for each program that C cannot contain, why.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(HERE), str(HERE / "tests")]

from exported_memory import overlaps_of  # noqa: E402  # found on `sys.path`, set above
from networks import NETWORKS  # noqa: E402  # found on `sys.path`, set above
from op_cases import Kernels, cases, lowered_cases  # noqa: E402  # found on `sys.path`, set above
from programs import PROGRAMS  # noqa: E402  # found on `sys.path`, set above

import adjoint as ms  # noqa: E402  # after `sys.path`
from adjoint.codegen.standalone.entry import RANDOM, Context, ExportedFunction, used_state  # noqa: E402  # after `sys.path`
from adjoint.codegen.standalone.file import arena_members, standalone_file  # noqa: E402  # after `sys.path`
from adjoint.foundation.diagnostics import CompileError  # noqa: E402  # after `sys.path`
from adjoint.ir.core import Module, Value  # noqa: E402  # after `sys.path`
from adjoint.ir.ops.statistics import Statistics  # noqa: E402  # after `sys.path`
from adjoint.ir.print import print_module  # noqa: E402  # after `sys.path`
from adjoint.passes.schedule import STANDALONE  # noqa: E402  # after `sys.path`
from adjoint.runtime.execution.text import load_ir  # noqa: E402  # after `sys.path`
from adjoint.runtime.graphs.calls.making import parsed  # noqa: E402  # after `sys.path`
from adjoint.runtime.inspection.stages import adjoint_of, wanted  # noqa: E402  # after `sys.path`
from adjoint.runtime.tensor.random import RandomStream, drawn_from  # noqa: E402  # after `sys.path`
from adjoint.runtime.tensor.structure import leaves  # noqa: E402  # after `sys.path`
from adjoint.testing.cases import module_of  # noqa: E402  # after `sys.path`

Array = np.ndarray[Any, Any]
TOGETHER = 60
"""Functions in one file."""
MAX_ROUNDS = 100
"""The largest number of rounds of a loop that keeps values for its gradient."""


@dataclass(frozen=True)
class Recorded:
    """A function with arguments and the results that Python computes, all as they are stored.

    title    for messages
    entry    the function, as it is exported
    inputs   its arguments
    state    by symbol the parameters of its module
    after    the same after the call, where the function changes them
    """

    title: str
    entry: ExportedFunction
    inputs: Sequence[Array]
    state: Mapping[str, Array]
    results: Sequence[Array]
    after: Mapping[str, Array] = field(default_factory=dict)


# -- collections -----------------------------------------------------------------------------------------------------------
def recorded_programs(left_out: dict[str, str], every: int = 1) -> Iterator[Recorded]:
    """Yield the programs of tests/programs and of examples/, each with its gradient where it has one.

    left_out  gets for each program that C cannot contain its title and why
    every     only each Nth program
    """
    for program in [*PROGRAMS.values()][::every]:
        if program.raises is None and program.refused is None:
            arguments, keywords = program.arguments()
            yield from _recorded(program.name, program.make(), arguments, keywords, program.wrt is not None, left_out)
    for name, function, arguments in _examples() if every == 1 else ():
        yield from _recorded(name, function, arguments, {}, True, left_out)


def _examples() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    rng = np.random.default_rng(0)
    draw = lambda *shape: ms.Tensor(rng.normal(size=shape).astype(np.float32))  # noqa: E731  # one line is enough to say it
    yield "examples/steering.py", runpy.run_path(str(HERE / "examples" / "steering.py"))["cost"], (draw(20), draw(20), draw(20, 20))
    ms.set_seed(1)
    net = runpy.run_path(str(HERE / "examples" / "lenet_digits.py"))["LeNet5"]()
    yield "examples/lenet_digits.py", net, (draw(2, 1, 32, 32),)


def _recorded(title: str, function: Callable[..., Any], arguments: Any, keywords: Any, differentiated: bool,
              left_out: dict[str, str]) -> Iterator[Recorded]:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            graph = parsed(function, *arguments, **keywords).graph
        given = leaves([*arguments, *keywords.values()], ms.Tensor)
        yield _one(title, graph.module, graph.symbol, graph.state, given, [])
    except CompileError as error:
        left_out[title] = _reason(error)
        return
    try:
        names = wanted(graph.module, graph.symbol) if differentiated else ()
        if names:
            gradient = adjoint_of(graph.module, graph.symbol, names).module
            results = [name.removeprefix("@") + "'" for name in names]
            seeds = [x.type for x in gradient.functions[f"{graph.symbol}.grad"].params[len(given):]]
            ones = [ms.ops.ones(type_.sizes, ms.Tensor(np.zeros((), type_.dtype.array)).dtype) for type_ in seeds]
            yield _one(f"{title}, gradient", gradient, f"{graph.symbol}.grad", graph.state, [*given, *ones], results)
    except CompileError as error:
        left_out[f"{title}, gradient"] = _reason(error)


def _reason(error: CompileError) -> str:
    found = re.search(r"\^ (.*)", str(error))
    return found[1] if found else str(error).partition("\n")[0]


def _one(title: str, module: Module, symbol: str, state: Any, inputs: Sequence[Any], names: Sequence[str]) -> Recorded:
    inlined = STANDALONE.run(module)
    function = inlined.functions[symbol]
    results = names or [x.hint if isinstance(x, Value) else "result" for x in module.functions[symbol].body.results]
    entry = ExportedFunction(function, module.params, results, max_rounds=MAX_ROUNDS)
    standalone_file([entry], plain=True)  # an error is that of this function
    if overlaps := overlaps_of(function, MAX_ROUNDS):
        raise AssertionError(f"{title}: {overlaps}")
    whole = inlined if module.hosts else module  # functions with a `bprop` of their own are Python outside of C
    loaded = load_ir(print_module(whole), state={name: ms.Tensor(x.asnumpy().copy(), x.dtype) for name, x in state.items()})
    before = {name: _stored(x).copy() for name, x in loaded.state.items()}
    stream = RandomStream(1)
    before[RANDOM] = np.array([stream.seed, stream.draws], np.uint64)
    with drawn_from(stream):
        found = [_stored(x) for x in loaded.run(symbol, inputs)]
    now = {**{name: _stored(x) for name, x in loaded.state.items()}, RANDOM: np.array([stream.seed, stream.draws], np.uint64)}
    written = [name for name, is_written in used_state(function.body).items() if is_written]
    return Recorded(title, entry, [_stored(x) for x in inputs], before, found, {name: now[name] for name in written})


def recorded_ops(left_out: dict[str, str], every: int = 1) -> Iterator[Recorded]:
    """Yield the samples of all ops that have a kernel; `every` for each Nth only.  Statistics are computed only to watch a program."""
    chosen = [case for case in cases() if case.op.can_lower and not isinstance(case.op, Statistics)][::every]
    kernels = Kernels()
    kernels.compile(lowered_cases(chosen))
    for case in chosen:
        title = f"{type(case.op).__name__}, {case.name}"
        module = module_of(case)
        names = [f"out{place}" for place in range(len(case.results))]
        entry = ExportedFunction(module.functions["f"], {}, names)
        try:
            standalone_file([entry], plain=True)
            arrays = case.arrays()
            yield Recorded(title, entry, arrays, {}, kernels.run(case, arrays))
        except (CompileError, LookupError, AssertionError) as error:
            left_out[title] = str(error).partition("\n")[0]


def _stored(x: Any) -> Array:
    """Return the elements of a tensor as numbers that C knows; those of two-byte floats as bits."""
    array = np.ascontiguousarray(x.astype(ms.float32).asnumpy() if x.dtype == ms.bfloat16 else x.asnumpy()).reshape(x.shape)
    return (array.view(np.uint32) >> 16).astype(np.uint16) if x.dtype == ms.bfloat16 else array


def write_networks(folder: Path, fma: bool) -> int:
    """Export the networks of `networks.py`, each with a test that compares its bits; return their number."""
    for name, network in NETWORKS.items():
        ms.set_seed(1)
        exported = network.make()
        ms.export(exported.target, *exported.inputs, file_name=str(folder / name / name), fma=fma, **exported.options)
    return len(NETWORKS)


# -- bundles ---------------------------------------------------------------------------------------------------------------
def write_bundle(folder: Path, number: int, recorded: Sequence[Recorded], first: int, fma: bool) -> None:
    """Write some functions as one C file with a header, whose context has the state of all, and a program that calls them.

    first  the number of the first one in its collection
    """
    name = f"bundle_{number}"
    entries, members = [], []
    for place, each in enumerate(recorded):
        places: dict[str, str] = {}
        for symbol in used_state(each.entry.function.body):
            member = f"p{first + place}_s{len(places)}"
            places[symbol] = f"context->state.{member}"
            members.append(f"        {_element(each.state[symbol])} {member}[{max(each.state[symbol].size, 1)}];")
        entries.append(replace(each.entry, name=f"p{first + place}_{each.entry.c_name}", places=places))
    made = standalone_file(entries, plain=True, context=Context(f"{name}_context", f"{name}.h"), fma=fma)
    header = _CONTEXT.format(name=name, members="\n".join(members or ["        char none;"]), prototypes="\n".join(made.prototypes),
                             arena="\n".join(f"        {member};" for member in arena_members(made.arena) or ["char none"]))
    tests = [_test(each, entry) for each, entry in zip(recorded, entries, strict=True)]
    calls = [f"    failed += test_{name}();" for name in made.names]
    main = ["int main(void) {", "    int failed = 0;", *calls,
            f'    printf("%d of {len(recorded)} differ\\n", failed);', "    return failed != 0;", "}", ""]
    head = [f'#include "{name}.h"', _HEAD, f"static {name}_context memory, *const context = &memory;", ""]
    (folder / f"{name}.h").write_text(header, encoding="utf-8")
    (folder / f"{name}.c").write_text(made.text, encoding="utf-8")
    (folder / f"{name}_test.c").write_text("\n".join([*head, *tests, *main]), encoding="utf-8")


_CONTEXT = """\
#include <stdint.h>

typedef struct {{
    struct {{
{members}
    }} state;
    struct {{
{arena}
    }} arena;
}} {name}_context;

{prototypes}
"""
_HEAD = """#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Whether numbers have other bits; any NaN equals any other.  `infinity` has the bits of infinity, 0 for integers. */
static int differ(const void *got, const void *wanted, int count, int size, uint64_t infinity) {
    const unsigned char *a = got, *b = wanted;
    for (int i = 0; i < count; i++, a += size, b += size) {
        uint64_t x = 0, y = 0;
        for (int byte = size; byte-- > 0;) {
            x = x << 8 | a[byte];
            y = y << 8 | b[byte];
        }
        const uint64_t sign = infinity ? (uint64_t)1 << (8 * size - 1) : 0;
        if (x != y && !(infinity && (x & ~sign) > infinity && (y & ~sign) > infinity)) return 1;
    }
    return 0;
}
"""


def _test(each: Recorded, entry: ExportedFunction) -> str:
    """Return a C function that calls an exported function and returns 1 if it does not compute what Python did."""
    lines, given, found, checks = [f"static int test_{entry.name}(void) {{"], ["context"], [], []
    for place, array in enumerate(each.inputs):
        lines.append(f"    static const {_union(array)} x{place} = {{{{{_bits(array)}}}}};")
        given.append(f"x{place}.values")
    before = []
    for place, (symbol, member) in enumerate(entry.places.items()):
        array = each.state[symbol]
        lines.append(f"    static const {_union(array)} s{place} = {{{{{_bits(array)}}}}};")
        before.append(f"    memcpy({member}, &s{place}, {array.nbytes});")
        if symbol in each.after:
            checks += _check(lines, member, f"z{place}", each.after[symbol], entry.state.get(symbol))
    for place, (array, atom) in enumerate(zip(each.results, entry.function.body.results, strict=True)):
        lines.append(f"    static {_union(array)} r{place};")
        found.append(f"r{place}.values")
        checks += _check(lines, f"&r{place}", f"y{place}", array, atom.type)
    title = json.dumps(each.title).replace("%", "%%").replace("??", "? ?")
    lines += [*before, f"    const int status = {entry.name}({', '.join([*given, *found])});",
              f"    if (status != 0 || {' || '.join(checks) or '0'}) {{", f'        puts({title});', "        return 1;", "    }",
              "    return 0;", "}", ""]
    return "\n".join(lines)


def _check(lines: list[str], got: str, wanted: str, array: Array, type_: Any) -> Iterator[str]:
    """Add a declaration of the numbers that are wanted, and yield a condition that is true if others are there."""
    lines.append(f"    static const {_union(array)} {wanted} = {{{{{_bits(array)}}}}};")
    dtype = type_.dtype.part.name if type_ else ""
    infinity = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0000000000000}.get(dtype, 0)
    parts = _parts(array)
    yield f"differ({got}, &{wanted}, {parts.size}, {parts.itemsize}, UINT64_C({infinity}))"


def _union(array: Array) -> str:
    parts = _parts(array)
    bits, values = (f"[{max(each.size, 1)}]" for each in (parts, array))
    return f"union {{ uint{8 * parts.itemsize}_t bits{bits}; {_element(array)} values{values}; }}"


def _element(array: Array) -> str:
    """Return the C type of an array's elements."""
    if array.dtype.kind == "c":
        return f"{_element(_parts(array))} _Complex"
    floats = {4: "float", 8: "double"}.get(array.itemsize, "uint16_t") if array.dtype.kind == "f" else None
    return floats or f"{'' if array.dtype.kind == 'i' else 'u'}int{8 * array.itemsize}_t"


def _parts(array: Array) -> Array:
    """Return the elements of an array in a row; of complex numbers, their real and imaginary parts by turns."""
    row = array.reshape(-1)
    return row.view(f"f{row.itemsize // 2}") if row.dtype.kind == "c" else row


def _bits(array: Array) -> str:
    parts = _parts(array)
    suffix = "u" if parts.itemsize < 8 else "ull"
    return ", ".join(f"{x}{suffix}" for x in parts.view(f"u{parts.itemsize}").tolist()) or "0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("collection", choices=("programs", "ops", "networks"))
    parser.add_argument("--every", type=int, default=1, help="only each Nth program")
    chosen = parser.parse_args()
    fma = os.environ.get("ADJOINT_CPU") == "avx2"
    left_out: dict[str, str] = {}
    if chosen.collection == "networks":
        count = write_networks(chosen.folder, fma)
    else:
        recorded = [*{"programs": recorded_programs, "ops": recorded_ops}[chosen.collection](left_out, chosen.every)]
        for number, first in enumerate(range(0, len(recorded), TOGETHER)):
            write_bundle(chosen.folder, number, recorded[first : first + TOGETHER], first, fma)
        count = len(recorded)
    (chosen.folder / "left_out.json").write_text(json.dumps(left_out, indent=1), encoding="utf-8")
    print(f"{count} functions, {len(left_out)} left out")


if __name__ == "__main__":
    main()
