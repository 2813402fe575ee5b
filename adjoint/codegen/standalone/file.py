"""A self-contained C file: kernels, and for each function of the IR a C function that runs them, with its branches and loops.

    int loss(const float *restrict x, float *restrict s);

Arguments are the function's parameters in order, then the module's parameters that it reads or writes, named after their symbols, then
a buffer for each result; each is a contiguous array in row-major order.  Intermediate values are static: nothing is
allocated, and a function must not be entered twice at a time.  It returns 0, or the code of a kernel that failed (an index
out of range).  A name that C uses otherwise gets a `_`.  Kernels are those of eager mode, run on one thread: the same bits.
Plain kernels have these too, in C99 for any compiler, in simple loops that need little of the stack: for small machines, and for people
who read them.

    int net_step(net_context *context, const float *x, float *loss);

In the other form (`Context`) state and intermediate values are in a struct that the caller owns, so the function is reentrant.

    int net_step(net_context *context, size_t batch, const float *x, float *loss);

There the arguments may have any number of rows up to a largest one: the function calls one of those that `standalone.batch` finds.

What such a file cannot contain raises a CompileError: Python, symbolic dimensions, loops of unknown length whose gradient is taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from adjoint.codegen.c_print import comment
from adjoint.codegen.emit import INCLUDES, unit_text
from adjoint.codegen.portable import portable_text
from adjoint.codegen.standalone.arithmetic import signature_lines
from adjoint.codegen.standalone.batch import NAME, Versions, condition, text_of_all, together
from adjoint.codegen.standalone.entry import TOO_MANY_ROUNDS, WRONG_BATCH, Context, ExportedFunction, changed_lines, check_function
from adjoint.codegen.standalone.function import ARENAS, FunctionWriter, function_heading
from adjoint.codegen.standalone.kernels import Kernels, unrolled_in
from adjoint.codegen.standalone.memory import SIZES
from adjoint.codegen.standalone.order import numbers_written_last
from adjoint.codegen.user_names import free
from adjoint.ir.core import Atom

__all__ = ["StandaloneFile", "arena_members", "standalone_file"]


class StandaloneFile(NamedTuple):
    """The text of a C file, and what a header and a caller need to know of its functions.

    prototypes  for each function its declaration, with the comment that says the types of its arguments
    names       for each function its name
    reads       for each function the symbols of state that it takes, in the order of its arguments; none with a context
    arena       for each C type of elements, the bytes of memory for intermediate values that the functions need, one at a time
    """

    text: str
    prototypes: list[str]
    names: list[str]
    reads: list[list[str]]
    arena: dict[str, int]


def arena_members(arena: Mapping[str, int]) -> list[str]:
    """Return the declarations of the arrays that the member `arena` of a context has, without semicolons."""
    return [f"{element} {member}[{arena[element] // SIZES[element]}]" for element, member in ARENAS.items() if element in arena]


def standalone_file(entries: Sequence[ExportedFunction], *, plain: bool = False, context: Context | None = None, fma: bool = False,
                    libm: bool = False, more: Sequence[str] = ()) -> StandaloneFile:
    """Return a C file with these functions; CompileError for what it cannot contain.

    plain    True: the kernels are simple loops; False: those that are tuned for speed
    context  where state and intermediate values are, with plain kernels; None: state is arguments, the values are static
    fma      whether plain kernels fuse a product and a sum, if no macro says otherwise
    libm     True: plain kernels call the functions of <math.h>
    more     the text of functions that are at the end of the file
    """
    functions = [function for entry in entries for function in (*entry.batches.values(), *([] if entry.batches else [entry.function]))]
    kernels = Kernels([entry.c_name for entry in entries], math.inf if plain else 0, unrolled_in(functions))
    exported = [_Exported(entry, kernels, context) for entry in entries]
    about = (f"{', '.join(entry.c_name for entry in entries)}: made by adjoint\n"
             "Arrays are contiguous, in row-major order. A function gives 0, or what a kernel that failed gives.\n"
             f"Compile it as C{99 if plain else 11}; with -fwrapv where integers overflow."
             f"{'' if plain else ' -ffp-contract=off gives the same bits with every compiler.'}")
    parts = [*([f'#include "{context.header}"\n'] if context is not None else []), *kernels.texts,
             *([_STACKS] if any(each.stacks for each in exported) else []), *(each.text for each in exported), *more]
    text = portable_text(about, parts, fma=fma, libm=libm) if plain else unit_text(about, kernels.headers(), parts, _HEAD)
    return StandaloneFile(text, [each.prototype for each in exported], [entry.c_name for entry in entries],
                          [each.reads for each in exported], _largest([each.arena for each in exported]))


class _Exported:
    """A function of a file: its text, and what `StandaloneFile` says of it; `stacks` says whether it uses stacks."""

    def __init__(self, entry: ExportedFunction, kernels: Kernels, context: Context | None):
        self.entry = entry
        functions = dict(entry.batches or {0: entry.function})
        for function in functions.values():
            check_function(function, entry)
        if context is not None:
            functions = {rows: numbers_written_last(function, kernels.may_fail) for rows, function in functions.items()}
        if not entry.batches:
            writers = [FunctionWriter(entry, Versions(functions[0]), entry.c_name, kernels, context)]
            self.text = writers[0].text()
            self.prototype, self.reads = writers[0].prototype, writers[0].reads
        else:
            assert context is not None, "only a function with a context has a batch"
            taken = {*kernels.functions, *entry.places.values()}
            writers = [FunctionWriter(entry, each, free(f"{entry.c_name}_{NAME}_{each.batches[0]}", taken), kernels, context)
                       for each in together(functions)]
            parts = [writer.text() for writer in writers]
            self.prototype, self.reads = self._prototype(writers, context), list[str]()
            self.text = "\n".join([*parts, self.prototype.removesuffix(";") + self._choice(writers, context)])
        self.arena = _largest([writer.memory.arenas for writer in writers])
        self.stacks = any(writer.stacks for writer in writers)

    def _prototype(self, writers: Sequence[FunctionWriter], context: Context) -> str:
        """Return the declaration of a function that has any number of rows, with the comment that says the types of its arguments."""
        largest, batches = writers[-1], self.entry.batches
        columns = zip(*([*function.params, *function.body.results] for function in batches.values()), strict=True)
        shown = [_shown(column, [*batches]) for column in columns]
        names = [*(largest.names[p] for p in largest.function.params), *largest.results]
        typed = [f"{name}: {type_}" for name, type_ in zip(names, shown, strict=True)]
        given = len(largest.function.params)
        used = {symbol: any(writer.used.get(symbol, False) for writer in writers) for writer in writers for symbol in writer.used}
        statuses = {WRONG_BATCH: set[str]()}
        for writer in writers:
            for status, changed in writer.statuses.items():
                statuses.setdefault(status, set()).update(changed)
        title = comment("\n".join([
            *signature_lines(self.entry.c_name, [NAME, *typed[:given]], typed[given:]), f"{NAME}: 1 to {max(batches)}",
            f"uses {max(writer.memory.nbytes for writer in writers)} bytes of the arena at most", *changed_lines(used, statuses, context)]))
        heading = function_heading(self.entry.c_name, self._parameters(largest))
        return "\n".join([*title, heading.replace(" {", ";")])

    def _parameters(self, writer: FunctionWriter) -> list[str]:
        context, *others = [each for each in writer.parameters if each != f"int64_t {NAME}"]
        return [context, f"size_t {NAME}", *others]

    def _choice(self, writers: Sequence[FunctionWriter], context: Context) -> str:
        """Return the body of a function that calls the one for its number of rows."""
        lines = [" {", f"    if ({NAME} < 1 || {NAME} > {max(self.entry.batches)}) {{", f"        return {context.status(WRONG_BATCH)};",
                 "    }"]
        for writer in writers:
            own = [parameter.split()[-1].lstrip("*") for parameter in self._parameters(writers[-1])]
            given = [f"(int64_t){NAME}"] if len(writer.versions.batches) > 1 else []
            call = f"return {writer.name}({', '.join([own[0], *given, *own[2:]])});"
            if writer is writers[-1]:
                lines.append(f"    {call}")
            else:
                lines += [f"    if ({condition(writer.versions.batches, [*self.entry.batches])}) {{", f"        {call}", "    }"]
        return "\n".join([*lines, "}\n"])


def _shown(atoms: Sequence[Atom], batches: Sequence[int]) -> str:
    """Return the text of a type that differs for each number of rows."""
    return text_of_all([str(atom.type) for atom in atoms], batches)


def _largest(arenas: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return the bytes for each C type that are enough for each of several functions."""
    return {element: max(arena.get(element, 0) for arena in arenas) for element in dict.fromkeys(chain.from_iterable(arenas))}


_HEAD: Final = f"""{INCLUDES}#include <string.h>

/* Kernels are called with constant sizes: gcc 14 warns of items that a loop without a round would read. */
#pragma GCC diagnostic ignored "-Warray-bounds"
"""

_STACKS: Final = f"""\
/* A stack keeps values of a loop's rounds for its gradient: the number of items, then the items. */
static int push(int64_t *stack, int64_t room, const void *item, size_t bytes, size_t apart) {{
    if (stack[0] >= room) {{
        return {TOO_MANY_ROUNDS};
    }}
    memcpy((unsigned char *)(stack + 1) + (size_t)stack[0] * apart, item, bytes);
    stack[0]++;
    return 0;
}}

static void pop(int64_t *stack, void *item, size_t bytes, size_t apart) {{
    stack[0]--;
    memcpy(item, (const unsigned char *)(stack + 1) + (size_t)stack[0] * apart, bytes);
}}
"""


