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

What such a file cannot contain raises a CompileError: Python, symbolic dimensions, loops of unknown length whose gradient is taken.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, count
from textwrap import wrap
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.codegen.c_print import WIDTH, Printer, comment
from adjoint.codegen.emit import INCLUDES, KernelText, integer_text, lower, unit_text
from adjoint.codegen.errors import NOT_STANDALONE
from adjoint.codegen.headers import in_order
from adjoint.codegen.portable import portable_text
from adjoint.codegen.standalone_hooks import HOOKS
from adjoint.codegen.standalone_memory import SIZES, aligned, element_of, loop_parts, memory_of
from adjoint.codegen.user_names import TAKEN, free, function_name
from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.diagnostics import Derived, source_line, user_place
from adjoint.ir.core import Atom, Function, Host, Literal, Node, Region, Value, tensor_type, walk
from adjoint.ir.kernel.c_ast import literal
from adjoint.ir.kernel.names import identifier
from adjoint.ir.ops.control import For, If, While
from adjoint.ir.ops.host import Apply, Bprop, Callback, CellCallback, Observe
from adjoint.ir.ops.random import KEY, Draw
from adjoint.ir.ops.stack import Pop, Push, Stack, Undef
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.print import Listing, listing
from adjoint.ir.storage import from_compute
from adjoint.ir.types import StackType, TensorType, Type

__all__ = ["NO_STEP", "OTHER_LAYOUT", "RANDOM", "TOO_MANY_ROUNDS", "Context", "ExportedFunction", "StandaloneFile", "arena_members",
           "standalone_file", "used_state"]

RANDOM: Final = "random!"
"""The symbol of the state from which random numbers are drawn: u64[2], the seed and the number of draws."""

TOO_MANY_ROUNDS: Final = -1
NO_STEP: Final = -2
OTHER_LAYOUT: Final = -3
"""What functions of a file return besides the status of a kernel: see the header (`standalone_project`)."""


@dataclass(frozen=True)
class Context:
    """A struct of the caller's that holds state and intermediate values.

    type    its name; its member `arena` holds intermediate values, see `arena_members`
    header  the file that declares it
    """

    type: str
    header: str


@dataclass(frozen=True)
class ExportedFunction:
    """A function that becomes part of a standalone C file.

    function    its IR, without gradients and cells in it
    state       the parameters of its module
    results     the names of its results
    name        its name in C
    max_rounds  the largest number of rounds of a loop that keeps values for its gradient, if the rounds are not known
    places      with a context: for each symbol of state a C expression that points to it
    hosts       the Python functions that its module calls, for messages
    hooks       with a context: for each symbol of hooks a C expression of the pointer to the function
    """

    function: Function
    state: Mapping[str, TensorType]
    results: Sequence[str]
    name: str = ""
    max_rounds: int | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, Host] = field(default_factory=dict)
    hooks: Mapping[str, str] = field(default_factory=dict)

    @property
    def c_name(self) -> str:
        """Return the name of the function in C."""
        return self.name or function_name(self.function.symbol)


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


_MEMBERS: Final = {"double": "f64", "int64_t": "i64", "uint64_t": "u64", "float": "f32", "int32_t": "i32", "uint32_t": "u32",
                   "int16_t": "i16", "uint16_t": "u16", "int8_t": "i8", "uint8_t": "u8"}
"""For each C type of elements its array in the arena; the largest elements first, so that a struct has no gaps."""


def arena_members(arena: Mapping[str, int]) -> list[str]:
    """Return the declarations of the arrays that the member `arena` of a context has, without semicolons."""
    return [f"{element} {member}[{arena[element] // SIZES[element]}]" for element, member in _MEMBERS.items() if element in arena]


def standalone_file(entries: Sequence[ExportedFunction], *, plain: bool = False, context: Context | None = None, fma: bool = False,
                    libm: bool = False, more: Sequence[str] = ()) -> StandaloneFile:
    """Return a C file with these functions; CompileError for what it cannot contain.

    plain    True: the kernels are simple loops; False: those that are tuned for speed
    context  where state and intermediate values are, with plain kernels; None: state is arguments, the values are static
    fma      whether plain kernels fuse a product and a sum, if no macro says otherwise
    libm     True: plain kernels call the functions of <math.h>
    more     the text of functions that are at the end of the file
    """
    kernels = _Kernels([entry.c_name for entry in entries], math.inf if plain else 0)
    writers = [_FunctionText(entry, kernels, context) for entry in entries]
    functions = [writer.text() for writer in writers]
    about = (f"{', '.join(entry.c_name for entry in entries)}: made by adjoint\n"
             "Arrays are contiguous, in row-major order. A function gives 0, or what a kernel that failed gives.\n"
             f"Compile it as C{99 if plain else 11}; with -fwrapv where integers overflow."
             f"{'' if plain else ' -ffp-contract=off gives the same bits with every compiler.'}")
    parts = [*([f'#include "{context.header}"\n'] if context is not None else []), *kernels.texts,
             *([_STACKS] if any(writer.stacks for writer in writers) else []), *functions, *more]
    text = portable_text(about, parts, fma=fma, libm=libm) if plain else unit_text(about, kernels.headers(), parts, _HEAD)
    return StandaloneFile(text, [writer.prototype for writer in writers], [entry.c_name for entry in entries],
                          [writer.reads for writer in writers], _largest([writer.memory.arenas for writer in writers]))


def _largest(arenas: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return the bytes for each C type that are enough for each of several functions."""
    return {element: max(arena.get(element, 0) for arena in arenas) for element in dict.fromkeys(chain.from_iterable(arenas))}


def used_state(function: Function) -> dict[str, bool]:
    """Return the symbols of state that a function uses, in the order of the program, and for each whether the function writes it."""
    found: dict[str, bool] = {}
    for node in walk(function.body):
        match node.op:
            case Read(symbol=symbol):
                found.setdefault(symbol, False)
            case Write(symbol=symbol):
                found[symbol] = True
            case Draw():
                found[RANDOM] = True
            case _:
                pass
    return found


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


@dataclass
class _Kernels:
    """The kernels of a standalone C file: each text occurs once, under a name that no other has."""

    functions: Sequence[str]
    """The names of the file's functions."""
    plain_work: float
    """The number of multiply-adds up to which kernels are plain, as for `emit.lower`; 0 for tuned kernels."""
    names: dict[tuple[str, tuple[bool, ...]], str] = field(default_factory=dict)
    """For each kernel, given by its text and by which of its stages are needed: its name in this file."""
    texts: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def lowered(self, node: Node) -> KernelText:
        """Return the kernel of a node, with a name that no other kernel of the file has."""
        operands, results = [x.type for x in node.operands], [x.type for x in node.results]
        plain = self.plain_work > 0
        own = lower(node.op, operands, results, direct=plain, plain_work=self.plain_work)
        key = own.text, tuple(stage.units > 0 for stage in own.stages)
        name = self.names.get(key)
        if name is None:
            name = self.names[key] = self._free(own.name)
            text = lower(node.op, operands, results, name=name, private=True, direct=plain, plain_work=self.plain_work).text
            self.texts.append(text)
            self.used.update(own.headers)
        return own if name == own.name else lower(node.op, operands, results, name=name, direct=plain, plain_work=self.plain_work)

    def _free(self, own: str) -> str:
        """Return a name for a kernel that is not used in the file, similar to `own`; the names of the kernel's functions begin with it."""
        for name in chain([own], (f"{own}_v{variant}" for variant in count(2))):
            if name not in self.names.values() and not any(f"{function}_".startswith(f"{name}_") for function in self.functions):
                return name
        raise AssertionError("numbers do not end")

    def headers(self) -> tuple[str, ...]:
        return in_order(self.used)


class _FunctionText:
    """Writes one C function of a standalone file.

    names   for each value a C expression that points to it
    """

    def __init__(self, entry: ExportedFunction, kernels: _Kernels, context: Context | None):
        self.entry, self.function, self.state, self.wished, self.name = entry, entry.function, entry.state, entry.results, entry.c_name
        self.kernels, self.context, self.places = kernels, context, dict(entry.places)
        for node in walk(self.function.body):
            _check(node, entry)
        self.memory = memory_of(self.function, self._scratch, entry.max_rounds)
        self.used = used_state(self.function)
        self.listing = listing(self.function, locations=False)
        self.names: dict[Value, str] = {}
        constants = (place for place in self.places.values() if "->" not in place)
        self.taken = {*TAKEN, *constants, self.name, "context", "push", "pop"}
        self.lines: list[str] = []
        self.indent = 4
        self.line_shown: tuple[str, str, int] | None = None
        self.bytes = 0
        self.fails = self.stacks = False
        self.prototype = ""
        self.reads: list[str] = []

    def text(self) -> str:
        """Return the C function, with the Python line and the IR of each node as a comment."""
        body = self.function.body
        for node in walk(body):
            if _has_kernel(node):
                self.taken.update(stage.function for stage in self.kernels.lowered(node).stages)
        for p in body.params:
            self._name(p)
        types = {symbol: KEY if symbol == RANDOM else self.state[symbol] for symbol in [*self.state, RANDOM] if symbol in self.used}
        if self.context is None:
            self.places = {symbol: self._free(identifier(symbol.rstrip("!"))) for symbol in types}
            self.reads = list(types)
        results = [self._free(identifier(name)) for name in self.wished]
        self._block(body, results)
        for place, atom in zip(results, body.results, strict=True):
            if self._pointer(atom) != place:
                self._line(self._copied(place, self._pointer(atom), tensor_type(atom)))
        states = [] if self.context is not None else [
            f"{'' if self.used[symbol] else 'const '}{element_of(type_)} *restrict {self.places[symbol]}"
            for symbol, type_ in types.items()]
        # With a context kernels are inlined, and there gcc 12 and clang 14 take `restrict` for more than it says: see `direct_text`.
        alone = "*restrict " if self.context is None else "*"
        parameters = [
            *([f"{self.context.type} *context"] if self.context is not None else []),
            *(f"const {element_of(p.type)} {alone}{self.names[p]}" for p in body.params),
            *states,
            *(f"{element_of(atom.type)} {alone}{place}" for place, atom in zip(results, body.results, strict=True)),
        ]
        title, heading = self._title(types, results), self._heading(parameters)
        self.prototype = "\n".join([*title, heading.replace(" {", ";")])
        self.lines, used = _without_unused(self.lines)
        context = ["context"] if self.context is not None else []
        given = [*context, *(self.names[p] for p in body.params), *([] if self.context is not None else self.places.values()), *results]
        first = [*(f"    (void){name};" for name in given if name not in used), *(["    int status;"] if self.fails else [])]
        return "\n".join([*title, heading, *first, *self.lines, "    return 0;", "}\n"])

    def _title(self, state: Mapping[str, Type], results: Sequence[str]) -> list[str]:
        """Return the lines of a comment with the types of the C function's arguments.

        state    the module's parameters that it uses, with their types
        results  the names of its results
        """
        operands = [f"{self.names[p]}: {p.type}" for p in self.function.params]
        if self.context is None:
            operands += [f"{self.places[symbol]}: {type_}" for symbol, type_ in state.items()]
        given = [f"{place}: {atom.type}" for place, atom in zip(results, self.function.body.results, strict=True)]
        signature = f"{self.name}({', '.join(operands)}) -> {', '.join(given)}"
        lines = wrap(signature, WIDTH - 3, break_long_words=False, break_on_hyphens=False)
        if self.context is not None:
            lines.append(f"uses {self.memory.nbytes} bytes of the arena")
            if changed := [symbol.rstrip("!") for symbol, written in self.used.items() if written]:
                lines += wrap(f"changes {', '.join(changed)}", WIDTH - 3, break_long_words=False)
        else:
            lines.append(f"{self.bytes} bytes of static memory")
        return comment("\n".join(lines))

    def _heading(self, parameters: Sequence[str]) -> str:
        return f"int {self.name}(" + ",\n    ".join(["", *parameters])[1:] + ") {"

    def _scratch(self, node: Node) -> list[tuple[str, int]]:
        """Return the C type of the elements and the bytes of each scratch buffer of a node's kernel."""
        if not _has_kernel(node):
            return []
        lowered = self.kernels.lowered(node)
        return [(dtype.c_name, nbytes) for dtype, nbytes in zip(lowered.scratch_dtypes, lowered.scratch, strict=True)]

    # -- names and places -------------------------------------------------------------------------------------------------
    def _name(self, value: Value) -> str:
        """Give a value a name of its own, as it has in the text of the IR, and return it."""
        name = self.names[value] = self._free(identifier(self.listing.names[value]))
        return name

    def _free(self, name: str) -> str:
        name = free(name, self.taken)
        self.taken.add(name)
        return name

    def _define(self, value: Value, results: Sequence[str]) -> None:
        """Say where a value is, in a declaration if it has memory of its own.

        results  for each result of the region a C expression that points to it
        """
        root = self.memory.root(value)
        if root is not value:
            self.names[value] = self.names[root]
        elif value in self.memory.shared:
            self.names[value] = results[self.memory.shared[value]]
        elif value in self.memory.states:
            self.names[value] = self.places[self.memory.states[value]]
        else:
            self._declare(element_of(value.type), self._name(value), self.memory.offsets[value], self.memory.size(value))

    def _declare(self, element: str, name: str, offset: int, nbytes: int, alignment: str = "") -> None:
        if self.context is not None:
            first = f" + {offset // SIZES[element]}" if offset else ""
            self._line(f"{element} *const {name} = context->arena.{_MEMBERS[element]}{first};")
        else:
            self.bytes += nbytes
            self._line(f"static {alignment}{element} {name}[{max(nbytes // SIZES[element], 1)}];")

    def _pointer(self, atom: Atom) -> str:
        return self.names[atom] if isinstance(atom, Value) else f"&(const {element_of(atom.type)}){{{_constant(atom)}}}"

    def _number(self, atom: Atom) -> str:
        """Return a C expression for the number that a 0-d tensor holds."""
        return _first(self.names[atom]) if isinstance(atom, Value) else _constant(atom)

    # -- statements -------------------------------------------------------------------------------------------------------
    def _line(self, text: str) -> None:
        self.lines.append(" " * self.indent + text)

    def _block(self, region: Region, results: Sequence[str]) -> None:
        for node in region.nodes:
            self._node(node, results)

    def _node(self, node: Node, results: Sequence[str]) -> None:
        op: Any = node.op
        match op:
            case Read():
                (value,) = node.results
                if value in self.memory.states:
                    self._define(value, results)
                    return
                self._about(node)
                self._define(value, results)
                self._line(self._copied(self.names[value], self.places[op.symbol], tensor_type(value)))
            case Write():
                (value,) = node.operands
                if isinstance(value, Value) and self.memory.states.get(self.memory.root(value)) == op.symbol:
                    return
                self._about(node)
                self._line(self._copied(self.places[op.symbol], self._pointer(value), tensor_type(value)))
            case Stack():
                self.stacks = True
                self._define(node.results[0], results)
                self._line(f"{self.names[node.results[0]]}[0] = 0;")
            case Undef():
                self._define(node.results[0], results)
            case Push() | Pop():
                self._transfer(node, results)
            case Draw():
                self._about(node)
                self._define(node.results[0], results)
                key, random = self.names[node.results[0]], self.places[RANDOM]
                self._line(f"{key}[0] = {f'UINT64_C({op.seed})' if op.seed else f'{random}[0]'};")
                self._line(f"{key}[1] = {random}[1]++;")
            case Callback() | CellCallback() | Observe():
                self._hook(node, results)
            case If():
                self._branch(node, results)
            case For() | While():
                self._loop(node, results)
            case _ if getattr(op, "aliases", False) and self.memory.root(node.results[0]) is not node.results[0]:
                self._define(node.results[0], results)
            case _:
                self._launch(node, results)

    def _about(self, node: Node) -> None:
        """Write a comment with the Python line of a node, if it is another than that of the node before, and with the node's IR."""
        place = user_place(node.loc)
        kind = "gradient of " if isinstance(node.loc, Derived) and node.loc.kind == "grad" else ""
        if place is not None and (kind, place.file, place.line) != self.line_shown:
            self.line_shown = kind, place.file, place.line
            source = " ".join(source_line(place).split())
            text = f"{kind}{os.path.basename(place.file)}:{place.line}{f': {source}' if source else ''}"
            limit = WIDTH - self.indent - 6
            if self.lines and not self.lines[-1].endswith("{"):
                self.lines.append("")
            self._remark(text if len(text) <= limit else f"{text[: limit - 4]} ...")
        if not node.regions:  # branches and loops are C that says the same
            self._remark("\n".join(wrap(_plain(self.listing, node), WIDTH - self.indent - 6, break_on_hyphens=False)))

    def _remark(self, text: str) -> None:
        for line in comment(text):
            self._line(line)

    def _copied(self, to: str, of: str, type_: TensorType) -> str:
        """Return a statement that copies a tensor."""
        if type_.count == 1:
            return f"{_first(to)} = {_first(of)};"
        return f"memcpy({to}, {of}, {type_.count} * sizeof({element_of(type_)}));" if type_.count else ";"

    def _hook(self, node: Node, results: Sequence[str]) -> None:
        self._about(node)
        for value, given in zip(node.results, node.operands, strict=False):
            self._define(value, results)
            if not self._is_in(given, self.names[value]):
                self._line(self._copied(self.names[value], self._pointer(given), tensor_type(value)))
        place = self.entry.hooks[node.op.symbol]
        shown = [self.names[value] for value in node.results] + [self._pointer(atom) for atom in node.operands[len(node.results) :]]
        arguments = [text for pointer, atom in zip(shown, node.operands, strict=True) for text in (pointer, str(tensor_type(atom).count))]
        self._line(f"if ({place} != NULL) {{")
        self._line(f"    {place}({', '.join(['context->user', *arguments])});")
        self._line("}")

    def _transfer(self, node: Node, results: Sequence[str]) -> None:
        self._about(node)
        stack = node.results[0]
        room = self.memory.rooms[stack].found
        if isinstance(node.op, Push):
            self._define(stack, results)
            item = node.operands[1]
            size = f"{room.item_bytes}, {aligned(room.item_bytes)}"
            self._line(f"status = push({self.names[stack]}, {room.capacity}, {self._pointer(item)}, {size});")
            self._check_status()
        else:
            self._define(stack, results)
            self._define(node.results[1], results)
            self._line(f"pop({self.names[stack]}, {self.names[node.results[1]]}, {room.item_bytes}, {aligned(room.item_bytes)});")

    def _check_status(self) -> None:
        self.fails = True
        self._line("if (status != 0) {")
        self._line("    return status;")
        self._line("}")

    def _branch(self, node: Node, results: Sequence[str]) -> None:
        self._about(node)
        stacks = [value for value in node.results if self.memory.root(value) is not value]
        for value in node.results:
            if value not in stacks:
                self._define(value, results)
        for region, head in zip(node.regions, (f"if ({self._number(node.operands[0])}) {{", "} else {"), strict=True):
            mark = len(self.lines)
            self._line(head)
            self.indent += 4
            self.line_shown = None
            # The result of a stack is known by the stack that it is, after the branch.
            places = [self.names.get(value, "") for value in node.results]
            self._block(region, places)
            for value, place, atom in zip(node.results, places, region.results, strict=True):
                if place and not self._is_in(atom, place):
                    self._line(self._moved(place, atom, value))
            self.indent -= 4
            if region is node.regions[1] and len(self.lines) == mark + 1:
                del self.lines[mark]
        self._line("}")
        for value in stacks:
            self._define(value, results)
        self.line_shown = None

    def _is_in(self, atom: Atom, place: str) -> bool:
        return isinstance(atom, Value) and self.names[atom] == place

    def _moved(self, place: str, atom: Atom, value: Value) -> str:
        """Return a statement that copies a value, a tensor or a stack, to a place for `value`."""
        if isinstance(value.type, StackType):
            return f"memcpy({place}, {self._pointer(atom)}, {self.memory.size(value)});"
        return self._copied(place, self._pointer(atom), tensor_type(value))

    def _loop(self, node: Node, results: Sequence[str]) -> None:
        self._about(node)
        initial, params = loop_parts(node)
        body = node.regions[-1]
        for value, param, result in zip(initial, params, node.results, strict=True):
            self._define(result, results)
            self.names[param] = self.names[result]
            if not self._is_in(value, self.names[param]) and not _is_undefined(value, node, self.function):
                self._line(self._moved(self.names[param], value, param))
        places = [self.names[param] for param in params]
        spares = {i: self._spare(params[i], offset) for i, offset in self.memory.spares[node].items()}
        if isinstance(node.op, For):
            self._line(self._for(node))
            self.indent += 4
        else:
            self._line("for (;;) {")
            self.indent += 4
            self.line_shown = None
            self._block(node.regions[0], ())
            self._line(f"if (!{self._number(node.regions[0].results[0])}) {{")
            self._line("    break;")
            self._line("}")
        self.line_shown = None
        self._block(body, places)
        for i, spare in spares.items():
            self._line(self._moved(spare, body.results[i], params[i]))
        for i, (place, atom) in enumerate(zip(places, body.results, strict=True)):
            if i not in spares and not self._is_in(atom, place):
                self._line(self._moved(place, atom, params[i]))
        for i, spare in spares.items():
            self._line(self._moved_from(spare, places[i], params[i]))
        self.indent -= 4
        self._line("}")
        self.line_shown = None

    def _spare(self, param: Value, offset: int) -> str:
        name = self._free(f"next_{identifier(self.listing.names[param])}")
        self._declare(element_of(param.type), name, offset, self.memory.size(param))
        return name

    def _moved_from(self, spare: str, place: str, param: Value) -> str:
        return self._copied(place, spare, tensor_type(param))

    def _for(self, node: Node) -> str:
        """Return the head of a `for`, after a check of its step if that is not known."""
        start, stop, step = node.operands[:3]
        index = node.regions[0].params[0]
        name = self._name(index)
        self.names[index] = f"&{name}"
        begin, end, by = map(self._number, (start, stop, step))
        if isinstance(step, Literal):
            number = int(step.value)
            more = f"{name}++" if number == 1 else f"{name}--" if number == -1 else f"{name} += {by}"
            goes_on = f"{name} < {end}" if number > 0 else f"{name} > {end}"
        else:
            self._line(f"if ({by} == 0) {{")
            self._line(f"    return {NO_STEP};")
            self._line("}")
            more, goes_on = f"{name} += {by}", f"{by} > 0 ? {name} < {end} : {name} > {end}"
        return f"for (int64_t {name} = {begin}; {goes_on}; {more}) {{"

    def _launch(self, node: Node, results: Sequence[str]) -> None:
        lowered = self.kernels.lowered(node)
        plain = self.kernels.plain_work > 0
        self._about(node)
        for value in node.results:
            self._define(value, results)
        scratch: list[str] = []
        for (element, size), offset in zip(self._scratch(node), self.memory.scratch.get(node, ()), strict=True):
            scratch.append(self._free("scratch"))
            self._declare(element, scratch[-1], offset, size, "" if plain else "_Alignas(64) ")
        cast = "" if plain else "(void *)"
        operands = [f"{cast}{self._pointer(atom)}" for atom in node.operands] + [self.names[value] for value in node.results] + scratch
        for stage in (stage for stage in lowered.stages if stage.units):
            if stage.direct is not None:
                call = f"{'status = ' if stage.direct.fails else ''}{stage.function}({', '.join(stage.arguments(operands))});"
                for i, line in enumerate(wrap(call, WIDTH - self.indent - 4, break_long_words=False, break_on_hyphens=False)):
                    self._line(f"    {line}" if i else line)
                if stage.direct.fails:
                    self._check_status()
                continue
            sizes = ", ".join(map(integer_text, stage.sizes))
            arguments = f"(void *const[]){{{', '.join(operands)}}}, (const int64_t[]){{{sizes}}}, 0, {stage.units}"
            call = f"status = {stage.function}({arguments});"
            if len(call) + self.indent <= WIDTH:
                self._line(call)
            else:
                self._line(f"status = {stage.function}(")
                self._line(f"    {arguments});")
            self._check_status()


def _check(node: Node, entry: ExportedFunction) -> None:
    """Raise a CompileError for a node of a function that a C file cannot contain, such as a call of Python."""
    own = isinstance(node.op, (Read, Write, Stack, Push, Pop, Undef, If, For, While, Draw))
    is_hook = isinstance(node.op, HOOKS) and node.op.symbol in entry.hooks
    if not (own or is_hook or node.op.can_lower or getattr(node.op, "aliases", False)):
        host = entry.hosts.get(getattr(node.op, "symbol", ""))
        called = f": {host.reference}" if host is not None else ""
        raise NOT_STANDALONE.at(node.loc, f"`{node.op.name}` is Python{called}", help=_INSTEAD.get(type(node.op), _INSTEAD[Apply]))
    for type_ in (x.type for x in (*node.operands, *node.results)):
        while isinstance(type_, StackType):
            type_ = type_.item
        if not isinstance(type_, TensorType):
            raise NOT_STANDALONE.at(node.loc, f"`{node.op.name}` is not on tensors, but on {type_}")
        if not type_.is_static:
            raise NOT_STANDALONE.at(node.loc, f"`{node.op.name}` has sizes that are not known: {type_}",
                                    help="keep the size: `ops.where(mask, x, 0)` in the place of a selection")


_INSTEAD: Final = {
    Apply: "leave it out of what is exported, or write it with operators; what C shall show can be a result",
    **dict.fromkeys(HOOKS, "`adjoint export` makes a hook a function pointer"),
    Bprop: "use operators whose own gradient is the wanted one: `x + ops.stop_gradient(y - x)` is y, with the gradient of x",
}
"""For ops that call Python, what to write instead."""


def _has_kernel(node: Node) -> bool:
    """Return True for a node that a kernel computes; False for a reshape too, whose result is the memory of its operand."""
    return node.op.can_lower and not (getattr(node.op, "aliases", False) and isinstance(node.operands[0], Value))


def _is_undefined(atom: Atom, node: Node, function: Function) -> bool:
    """Return True for an initial value that is never read."""
    return isinstance(atom, Value) and any(isinstance(each.op, Undef) and atom in each.results for each in walk(function.body))


def _plain(shown: Listing, node: Node) -> str:
    """Return the line of the IR's text that shows a node, without the spaces that align it."""
    return " ".join("".join(token.text for token in shown.lines[shown.line_of[node]]).split())


def _first(pointer: str) -> str:
    """Return a C expression for the first item behind a pointer."""
    if pointer.startswith("&(const "):
        return pointer[pointer.index("{") + 1 : -1]
    return pointer[1:] if pointer.startswith("&") else f"{pointer}[0]"


_DECLARATION: Final = re.compile(r"\s*(?:static .*?(\w+)\[\d+\];|\w+ \*const (\w+) = .*;)")


def _without_unused(lines: Sequence[str]) -> tuple[list[str], set[str]]:
    """Return the lines of a function without declarations of what no other line uses, and the names that are used in them."""
    used = Counter(re.findall(r"\w+", _without_comments("\n".join(lines))))
    kept = [line for line in lines if not ((found := _DECLARATION.fullmatch(line)) and used[found[1] or found[2]] == 1)]
    return kept, {*re.findall(r"\w+", _without_comments("\n".join(kept)))}


def _without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def _constant(x: Literal) -> str:
    dtype = x.type.dtype
    if dtype.is_float and dtype.compute is not dtype:
        return str(int(from_compute(np.asarray(x.value, dtype.compute.array), dtype).view(np.uint16)))
    return Printer().expression(literal(x.value, dtype))[0]
