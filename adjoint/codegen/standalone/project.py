"""The files of an exported program beside its C: header, weights, a test with recorded numbers, and what CMake needs.

    net.h             the context, which holds state and arena; the functions
    net.c             the functions (`standalone`)
    net_weights.c     numbers of the state when it was exported, and of what never changes
    net_test.c        calls the functions and compares their results with those of Python
    CMakeLists.txt    a library and the test

`net` is the name of the files and, unless another is given, the prefix of all symbols.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Any, Final

import numpy as np

from adjoint.codegen.c_print import WIDTH, comment
from adjoint.codegen.standalone.batch import NAME
from adjoint.codegen.standalone.entry import FAILED, NO_STEP, OTHER_LAYOUT, TOO_MANY_ROUNDS, WRONG_BATCH, Context, ExportedFunction
from adjoint.codegen.standalone.file import StandaloneFile, arena_members, standalone_file
from adjoint.codegen.standalone.hooks import HookField
from adjoint.codegen.standalone.stack import arrays_on_stack
from adjoint.codegen.standalone.table import layer_table
from adjoint.foundation.dataclass import dataclass
from adjoint.ir.types import TensorType

__all__ = ["OWN_NAMES", "START", "Project", "RecordedCall", "StateField"]

Array = np.ndarray[Any, Any]

_PER_LINE: Final = 8
OWN_NAMES: Final = frozenset({"context", "init", "start", "state_load", "state_save", "state_size"})
"""Names after the prefix that functions and constants of the user's cannot have."""
START: Final = "start_"
"""What begins, after the prefix, the names of the numbers that the state has first."""
_HEAD_BYTES: Final = 8
"""The bytes before a saved state: the number of its layout and its size."""


@dataclass(frozen=True)
class StateField:
    """A parameter or number that functions of the program read or write.

    name      in C, without the prefix
    title     in Python
    type      its type
    start     its elements when it is exported, as they are stored
    constant  True: no function changes it, so it is a constant, which can stay in flash
    """

    name: str
    title: str
    type: TensorType
    start: Array
    constant: bool

    def place(self, prefix: str) -> str:
        """Return a C expression that points to it."""
        return f"{prefix}_{self.name}" if self.constant else f"context->state.{self.name}"

    @property
    def declared(self) -> str:
        """Return the declaration of a member of the context, without a semicolon."""
        return f"{self.type.dtype.c_name} {self.name}[{max(self.type.count, 1)}]"

    @property
    def nbytes(self) -> int:
        return self.type.dtype.size * max(self.type.count, 1)


@dataclass(frozen=True)
class RecordedCall:
    """A call of an exported function with the results that Python computes, arrays as they are stored.

    function  the number of the function
    batch     the number of rows; 0 if that is fixed
    """

    function: int
    inputs: Sequence[Array]
    results: Sequence[Array]
    batch: int = 0


@dataclass(frozen=True)
class Project:
    """An exported program.

    name       begins the names of its files
    prefix     begins all its symbols
    functions  what it computes
    fields     its state
    recorded   returns calls for the test, in order, beginning with the state as it is exported; it is called once C can have the functions
    hooks      its hooks
    fma        whether products and sums are fused
    libm       whether elementary functions are those of <math.h>
    """

    name: str
    prefix: str
    functions: Sequence[ExportedFunction]
    fields: Sequence[StateField]
    recorded: Callable[[], Sequence[RecordedCall]]
    hooks: Sequence[HookField] = ()
    fma: bool = False
    libm: bool = False

    def texts(self) -> dict[str, str]:
        """Return the text of each file by its name; CompileError for what C cannot contain."""
        context = Context(f"{self.prefix}_context", f"{self.name}.h")
        made = standalone_file(self.functions, plain=True, context=context, fma=self.fma, libm=self.libm, more=[*self._state_functions()])
        files = {f"{self.name}.h": self._header(made), f"{self.name}.c": made.text}
        if weights := [*self._weights()]:
            files[f"{self.name}_weights.c"] = "\n".join([f'#include "{self.name}.h"', "", *weights])
        files[f"{self.name}_test.c"] = self._test(made, self.recorded())
        files["CMakeLists.txt"] = _CMAKE.format(
            name=self.name, prefix=self.prefix, libm=f"target_link_libraries({self.prefix} PUBLIC m)\n" if self.libm else "",
            sources=" ".join(f'"{name}"' for name in files if name.endswith(".c") and name != f"{self.name}_test.c"))
        return files

    # -- state ------------------------------------------------------------------------------------------------------------
    @property
    def _members(self) -> list[StateField]:
        """The state in the context: larger elements first, so that the struct has no gaps: saved are all its bytes up to the last."""
        return sorted((field for field in self.fields if not field.constant), key=lambda field: -field.type.dtype.size)

    @property
    def _constants(self) -> list[StateField]:
        return [field for field in self.fields if field.constant]

    @property
    def _layout(self) -> int:
        """A number that differs for states of other names or types."""
        return zlib.crc32("\n".join(f"{field.name}: {field.type}" for field in self._members).encode())

    def _start(self, field: StateField) -> str:
        """Return a statement that sets a member of the context to its first numbers; "" if these are zeros."""
        place, array = field.place("context"), field.start.reshape(-1)
        if not array.size or not array.view(np.uint8).any():
            return ""
        if array.size == 1:
            return f"{place}[0] = {_texts(array)[0]};"
        return f"memcpy({place}, {self.prefix}_{START}{field.name}, sizeof {place});"

    def _state_functions(self) -> Iterator[str]:
        names = {"prefix": self.prefix, "upper": self.prefix.upper()}
        if self._members or self.hooks:
            lines = [*(["memset(&context->state, 0, sizeof context->state);"] if self._members else []),
                     *filter(None, map(self._start, self._members)), *(["context->user = NULL;"] if self.hooks else []),
                     *(f"context->hooks.{hook.name} = NULL;" for hook in self.hooks)]
            yield _INIT.format(lines="".join(f"    {line}\n" for line in lines), **names)
        if self._members:
            yield _STATE.format(head=_HEAD_BYTES, **names)
        yield _SIZE.format(**names)

    def _weights(self) -> Iterator[str]:
        for field in self._constants:
            yield f"const {_declared(f'{self.prefix}_{field.name}', field.start)} = {_numbers(field.start)};\n"
        for field in self._members:
            if self._start(field).startswith("memcpy"):
                yield f"const {_declared(f'{self.prefix}_{START}{field.name}', field.start)} = {_numbers(field.start)};\n"

    # -- files ------------------------------------------------------------------------------------------------------------
    def _header(self, made: StandaloneFile) -> str:
        prefix, upper = self.prefix, self.prefix.upper()
        most = max(max(entry.batches, default=0) for entry in self.functions)
        state = sum(field.nbytes for field in self._members)
        arena = sum(made.arena.values())
        processor = "avx2" if self.fma else "baseline"
        bits = "are those of the C library's functions" if self.libm else f"equal those of Python with ADJOINT_CPU={processor}"
        about = (f"{', '.join(made.names)}: made by adjoint\n"
                 "Arrays are contiguous, in row-major order; an array of a result overlaps no other one.\n"
                 "A function returns 0, or a status below. Its results mean nothing then, and the state is what it was before\n"
                 "the call, but for what the comment of the function names.\n"
                 f"Nothing is allocated, and nothing is kept outside of the context: several contexts can be used at a time.\n"
                 f"The bits of results {bits}.")
        size = str(max(-(-state // 8) * 8 + arena, 8))
        if self.hooks:  # pointers of a size that is not known here
            size = f"(({size} + {len(self.hooks) + 1} * sizeof(void *) + 7) / 8 * 8)"
        started = [field for field in self._members if self._start(field).startswith("memcpy")]
        table = layer_table({name: entry.function for name, entry in zip(made.names, self.functions, strict=True)},
                            {field.title: field.nbytes for field in (*self._constants, *started)},
                            {field.title: field.nbytes for field in self._members})
        lines = [*comment(about), f"#ifndef {upper}_H", f"#define {upper}_H", "", "#include <stddef.h>",
                 "#include <stdint.h>", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
        lines += [f"#define {upper}_FAILED {FAILED}  /* an index out of range, or a matrix without inverse */",
                  f"#define {upper}_TOO_MANY_ROUNDS ({TOO_MANY_ROUNDS})  /* of a loop that keeps values for its gradient */",
                  f"#define {upper}_NO_STEP ({NO_STEP})  /* a range with step 0 */",
                  *([f"#define {upper}_OTHER_LAYOUT ({OTHER_LAYOUT})  /* a saved state of another network, or another version of it */"]
                    if self._members else []),
                  *([f"#define {upper}_WRONG_BATCH ({WRONG_BATCH})  /* a batch of 0, or of more than {upper}_MAX_BATCH */"]
                    if most else []), ""]
        if most:
            lines += [f"/* The largest number of rows, `{NAME}`, for which there is room. */", f"#define {upper}_MAX_BATCH {most}", ""]
        lines += ["/* Bytes of the context, at most, and of its parts. */", f"#define {upper}_CONTEXT_SIZE {size}",
                  f"#define {upper}_STATE_SIZE {state}", f"#define {upper}_ARENA_SIZE {arena}", ""]
        stack = arrays_on_stack(made.text)
        lines += ["/* Bytes of arrays on the stack in the deepest call. Compilers add hundreds, for registers: -fstack-usage tells. */",
                  *(f"#define {name.upper()}_STACK_ARRAYS {stack[name]}" for name in made.names), ""]
        shown = f"Bytes of numbers in flash and of state in RAM, and multiply-adds of each function{f' with {most} rows' if most else ''}:"
        lines += [*comment("\n".join([shown, *table])), ""]
        if self._members:
            lines += ["/* What a saved state must have, and its bytes. */", f"#define {upper}_LAYOUT UINT32_C(0x{self._layout:08x})",
                      f"#define {upper}_SAVED_SIZE {_HEAD_BYTES + state}", ""]
        lines += [f"typedef struct {prefix}_context {{"]
        if self._members:
            lines += ["    struct {"]
            for field in self._members:
                lines.append(f"        {field.declared};  {_remark(f'{field.title}: {field.type}')}")
            lines += ["    } state;"]
        if arena:
            lines += ["    struct {  /* holds intermediate values during a call */",
                      *(f"        {member};" for member in arena_members(made.arena)), "    } arena;"]
        if not (self._members or arena or self.hooks):
            lines += ["    uint64_t nothing;"]
        if self.hooks:
            lines += ["    void *user;  /* is given to hooks */",
                      "    struct {  /* hooks, in the order in which Python calls them; NULL does nothing */"]
            for hook in self.hooks:
                lines += [f"        {_remark(hook.title)}", f"        {hook.declared};"]
            lines += ["    } hooks;"]
        lines += [f"}} {prefix}_context;", ""]
        if self._members or self.hooks:
            lines += ["/* Sets the state to what it was when the network was exported, and no hooks.  Call it first. */",
                      f"void {prefix}_init({prefix}_context *context);", ""]
        if self._members:
            lines += [f"/* A state as {upper}_SAVED_SIZE bytes that another run, or another device of the same byte order, can load. */",
                      f"size_t {prefix}_state_size(void);",
                      f"void {prefix}_state_save(const {prefix}_context *context, void *bytes);",
                      f"int {prefix}_state_load({prefix}_context *context, const void *bytes, size_t size);", ""]
        for prototype in made.prototypes:
            lines += [prototype, ""]
        if weights := [*self._weights()]:
            lines += [f"/* {self.name}_weights.c */", *(f"extern {text.partition(' = ')[0]};" for text in weights), ""]
        return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])

    def _test(self, made: StandaloneFile, calls: Sequence[RecordedCall]) -> str:
        kinds = {array.dtype.str: _kind(array) for call in calls for array in call.results}
        arrays: list[str] = []
        body: list[str] = []
        seen: set[tuple[int, int]] = set()
        for number, call in enumerate(calls):
            name = made.names[call.function]
            rows = f"_{NAME}_{call.batch}" if call.batch else ""
            given = [f"input_{call.function}_{place}{rows}" for place in range(len(call.inputs))]
            if (call.function, call.batch) not in seen:
                seen.add((call.function, call.batch))
                arrays += [f"static const {_declared(n, x)} = {_numbers(x)};\n" for n, x in zip(given, call.inputs, strict=True)]
            wanted = [f"wanted_{number}_{place}" for place in range(len(call.results))]
            arrays += [f"static const {_declared(n, x)} = {_numbers(x)};\n" for n, x in zip(wanted, call.results, strict=True)]
            results = [f"result_{number}_{place}" for place in range(len(call.results))]
            body += [f"    static {_declared(n, x)};" for n, x in zip(results, call.results, strict=True)]
            batch = [str(call.batch)] if call.batch else []
            text = f"status = {name}({', '.join(['&context', *batch, *given, *results])});"
            body += wrap(text, WIDTH, initial_indent="    ", subsequent_indent="        ")
            body += ["    if (status != 0) {", f'        printf("{name}: status %d\\n", status);', "        return 1;", "    }"]
            for place, x in enumerate(call.results):
                body.append(f'    compare_{_kind(x)}("{name}, result {place}", {results[place]}, {wanted[place]}, {x.size});')
        head = [f"/* Calls the functions of {self.name}.c, and compares their results with those of Python. */", "#include <math.h>",
                "#include <stdio.h>", "#include <string.h>", "", f'#include "{self.name}.h"', "",
                "static int differ = 0, apart = 0;", ""]
        compare = [_COMPARE[kind] for kind in dict.fromkeys(kinds.values())]
        init = [f"    {self.prefix}_init(&context);"] if self._members or self.hooks else []
        body = _declared_first(body)
        return "\n".join([*head, *compare, *arrays, "int main(void) {", f"    static {self.prefix}_context context;", "    int status;",
                          *init, *body,
                          f'    puts(apart ? "{self.prefix}: differs" : differ ? "{self.prefix}: equal but for rounding"',
                          f'                                           : "{self.prefix}: equal");',
                          "    return apart;", "}", ""])


def _declared_first(lines: Sequence[str]) -> list[str]:
    """Return lines with the declarations of static arrays before the statements."""
    first = [line for line in lines if line.startswith("    static ")]
    return [*first, *(line for line in lines if not line.startswith("    static "))]


_INIT: Final = """\
void {prefix}_init({prefix}_context *context) {{
{lines}}}
"""

_STATE: Final = """\
size_t {prefix}_state_size(void) {{
    return {upper}_SAVED_SIZE;
}}

void {prefix}_state_save(const {prefix}_context *context, void *bytes) {{
    const uint32_t head[2] = {{{upper}_LAYOUT, {upper}_STATE_SIZE}};
    memcpy(bytes, head, {head});
    memcpy((unsigned char *)bytes + {head}, &context->state, {upper}_STATE_SIZE);
}}

int {prefix}_state_load({prefix}_context *context, const void *bytes, size_t size) {{
    uint32_t head[2];
    if (size != {upper}_SAVED_SIZE) {{
        return {upper}_OTHER_LAYOUT;
    }}
    memcpy(head, bytes, {head});
    if (head[0] != {upper}_LAYOUT || head[1] != {upper}_STATE_SIZE) {{
        return {upper}_OTHER_LAYOUT;
    }}
    memcpy(&context->state, (const unsigned char *)bytes + {head}, {upper}_STATE_SIZE);
    return 0;
}}
"""

_SIZE: Final = """\
/* The struct is not larger than the header says. */
typedef char {prefix}_context_size[sizeof({prefix}_context) <= {upper}_CONTEXT_SIZE ? 1 : -1];
"""

_CMAKE: Final = """\
cmake_minimum_required(VERSION 3.10)
project({prefix} C)

add_library({prefix} STATIC {sources})
target_include_directories({prefix} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
set_target_properties({prefix} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options({prefix} PRIVATE -fwrapv)
endif()
{libm}
enable_testing()
add_executable({prefix}_test "{name}_test.c")
target_link_libraries({prefix}_test {prefix})
add_test(NAME {prefix} COMMAND {prefix}_test)
"""

_FLOATS: Final = """\
static void compare_{type}(const char *what, const {type} *got, const {type} *wanted, size_t count) {{{{
    {type} largest = 0;
    for (size_t i = 0; i < count; i++) {{{{
        const {type} size = wanted[i] < 0 ? -wanted[i] : wanted[i];
        if (size > largest && size - size == 0) {{{{
            largest = size;
        }}}}
    }}}}
    for (size_t i = 0; i < count; i++) {{{{
        const int numbers = got[i] == got[i] || wanted[i] == wanted[i];
        if (memcmp(got + i, wanted + i, sizeof *got) != 0 && numbers) {{{{
            const {type} difference = got[i] - wanted[i];
            differ++;
            if (got[i] != wanted[i] && !(difference <= {bound} * largest && -difference <= {bound} * largest)) {{{{
                printf("%s: element %lu is %.17g, not %.17g\\n", what, (unsigned long)i, (double)got[i], (double)wanted[i]);
                apart = 1;
                return;
            }}}}
        }}}}
    }}}}
}}}}
"""
_EXACT: Final = """\
static void compare_{type}(const char *what, const {type} *got, const {type} *wanted, size_t count) {{
    for (size_t i = 0; i < count; i++) {{
        if (memcmp(got + i, wanted + i, sizeof *got) != 0) {{
            printf("%s: element %lu differs\\n", what, (unsigned long)i);
            differ = apart = 1;
            return;
        }}
    }}
}}
"""
_TYPES: Final = {"b": "uint8_t", "f4": "float", "f8": "double", **{f"{sign}{size}": f"{'u' if sign == 'u' else ''}int{8 * size}_t"
                                                             for sign in "iu" for size in (1, 2, 4, 8)}}
"""The C type of the elements of an array, by kind and size."""
_COMPARE: Final = {name: _EXACT.format(type=name) for name in _TYPES.values()} | {
    "float": _FLOATS.format(type="float", bound="1e-5f").format(), "double": _FLOATS.format(type="double", bound="1e-12").format()}
"""For each type of elements the C function of the test that compares results: floats may differ by what other roundings explain."""


def _remark(text: str) -> str:
    """Return a comment of one line."""
    return comment(" ".join(text.split()))[0]


def _kind(array: Array) -> str:
    kind = array.dtype.kind
    if kind == "c":
        raise ValueError("For 'export', inputs, results and Parameters must not be complex: the test that comes with the C compares real "
                         "numbers only. `adjoint dump-ir FILE.py:NAME --stage c --standalone` writes C for complex arguments.")
    return _TYPES["b" if kind == "b" else "u2" if kind == "f" and array.itemsize == 2 else f"{kind}{array.itemsize}"]


def _declared(name: str, array: Array) -> str:
    """Return the declaration of an array for these elements, without a semicolon."""
    return f"{_kind(array)} {name}[{max(array.size, 1)}]"


def _numbers(array: Array) -> str:
    """Return elements as an initialiser; reading them gives the same bits."""
    texts = _texts(array)
    lines = [", ".join(texts[i : i + _PER_LINE]) for i in range(0, max(len(texts), 1), _PER_LINE)]
    return "{\n    " + ",\n    ".join(line or "0" for line in lines) + "\n}"


def _texts(array: Array) -> list[str]:
    """Return each element as C."""
    flat = array.reshape(-1)
    if flat.dtype.kind == "f" and flat.itemsize == 2:  # two bytes, which C has no numbers for
        flat = flat.view(np.uint16)
    if flat.dtype.kind == "f":
        return [_float(value, 9 if flat.itemsize == 4 else 17, "f" if flat.itemsize == 4 else "") for value in flat.tolist()]
    suffix = {"i8": "INT64_C({})", "u8": "UINT64_C({})"}.get(f"{flat.dtype.kind}{flat.itemsize}", "{}")
    return ["INT64_MIN" if value == -(2**63) else suffix.format(int(value)) for value in flat.tolist()]


def _float(value: float, digits: int, suffix: str) -> str:
    if math.isnan(value):
        return f"(0.0{suffix} / 0.0{suffix})"
    if math.isinf(value):
        return f"({'-' if value < 0 else ''}1.0{suffix} / 0.0{suffix})"
    text = f"{value:.{digits}g}"
    return (text if any(mark in text for mark in ".e") else text + ".0") + suffix
