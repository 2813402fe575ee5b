"""A self-contained C file: the kernels of straight-line functions, and for each function a C function that runs them.

    int loss(const float *restrict x, float *restrict s);

Arguments are the function's parameters in order, then the module's parameters that it reads, named after their symbols, then
a buffer for each result; each is a contiguous array in row-major order.  Intermediate values are static: nothing is
allocated, and a function must not be entered twice at a time.  It returns 0, or the code of a kernel that failed (an index
out of range).  A name that C uses otherwise gets a `_`.  Kernels are those of eager mode, run on one thread: the same bits.
Plain kernels have these too, in C99 for any compiler, in simple loops that need little of the stack: for small machines, and for people
who read them.

What such a file cannot contain raises a CompileError: control flow, Python, state that is written, symbolic dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain, count
from textwrap import wrap
from typing import Final, NamedTuple

import numpy as np

from adjoint.codegen.c_print import WIDTH, Printer, comment
from adjoint.codegen.emit import INCLUDES, KernelText, lower, unit_text
from adjoint.codegen.errors import NOT_STANDALONE
from adjoint.codegen.headers import in_order
from adjoint.codegen.portable import portable_text
from adjoint.codegen.user_names import TAKEN, free, function_name
from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.core import Literal, Node
from adjoint.ir.kernel.c_ast import literal
from adjoint.ir.kernel.names import identifier
from adjoint.ir.ops.state import Read
from adjoint.ir.plan import HostCall, Launch, Plan, Straight
from adjoint.ir.print import Listing, listing
from adjoint.ir.storage import from_compute
from adjoint.ir.types import TensorType, Type

__all__ = ["ExportedFunction", "StandaloneFile", "standalone_file"]

@dataclass(frozen=True)
class ExportedFunction:
    """A function that becomes part of a standalone C file: its plan, the parameters of its module, and the names of its results."""

    plan: Plan
    state: Mapping[str, TensorType]
    results: Sequence[str]

    @property
    def name(self) -> str:
        """Return the name of the function in C."""
        return function_name(self.plan.function.symbol)


class StandaloneFile(NamedTuple):
    """The text of a C file, and what a header and a caller need to know of its functions.

    prototypes  for each function its declaration, with the comment that says the types of its arguments
    names       for each function its name
    reads       for each function the symbols of the module's parameters that it takes, in the order of its arguments
    """

    text: str
    prototypes: list[str]
    names: list[str]
    reads: list[list[str]]


def standalone_file(entries: Sequence[ExportedFunction], *, plain: bool = False) -> StandaloneFile:
    """Return a C file with these functions; CompileError for code that is not straight-line.

    plain  True: the kernels are simple loops; False: those that are tuned for speed
    """
    kernels = _Kernels([entry.name for entry in entries], math.inf if plain else 0)
    writers = [_FunctionText(entry, kernels) for entry in entries]
    functions = [writer.text() for writer in writers]
    about = (f"{', '.join(entry.name for entry in entries)}: made by adjoint\n"
             "Arrays are contiguous, in row-major order. A function gives 0, or what a kernel that failed gives.\n"
             f"Compile it as C{99 if plain else 11}; with -fwrapv where integers overflow."
             f"{'' if plain else ' -ffp-contract=off gives the same bits with every compiler.'}")
    parts = [*kernels.texts, *functions]
    text = portable_text(about, parts) if plain else unit_text(about, kernels.headers(), parts, _HEAD)
    return StandaloneFile(text, [writer.prototype for writer in writers], [entry.name for entry in entries],
                          [writer.reads for writer in writers])


_HEAD: Final = f"""{INCLUDES}#include <string.h>

/* Kernels are called with constant sizes: gcc 14 warns of items that a loop without a round would read. */
#pragma GCC diagnostic ignored "-Warray-bounds"
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
    """Writes one C function of a standalone file, which runs the plan of a function.

    names  the C name of the value in each slot of the plan
    """

    def __init__(self, entry: ExportedFunction, kernels: _Kernels):
        self.plan, self.state, self.wished, self.name = entry.plan, entry.state, entry.results, entry.name
        self.kernels = kernels
        self.listing = listing(self.plan.function)
        self.launches = list(_launches(self.plan))
        self.names: dict[int, str] = {}
        self.taken = {*TAKEN, self.name}
        self.declared: list[str] = []
        self.body: list[str] = []
        self.bytes = 0
        self.fails = False
        self.prototype = ""
        self.reads: list[str] = []

    def text(self) -> str:
        """Return the C function, with the IR of each node as a comment."""
        function, yields = self.plan.function, self.plan.body.yields
        for launch in self.launches:
            if isinstance(launch, Launch):
                self.taken.update(stage.function for stage in self.kernels.lowered(launch.node).stages)
        self._name(self.plan.params, self.listing.line_of[function])
        reads = {call.results[0]: call.node.op.symbol for call in self.launches if isinstance(call, HostCall)}
        state = {symbol: self._free(identifier(symbol)) for symbol in self.state if symbol in reads.values()}
        results = [self._free(identifier(name)) for name in self.wished]
        for launch in self.launches:
            if isinstance(launch, Launch):
                self._name(launch.results, self.listing.line_of[launch.node])
            else:
                self.names[launch.results[0]] = state[launch.node.op.symbol]
        made = {slot for launch in self.launches if isinstance(launch, Launch) for slot in launch.results}
        places = {slot: place for slot, place in zip(yields, results, strict=True) if slot in made}
        self.names.update(places)
        for launch in self.launches:
            if isinstance(launch, Launch):
                self._launch(launch, places)
        for place, slot in zip(results, yields, strict=True):
            if self.names.get(slot) != place:
                self.body.append(f"    memcpy({place}, {self._value(slot)}, {_count(self._type(slot))} * sizeof *{place});")
        types = {p: self.state[symbol] for symbol, p in state.items()}
        parameters = [
            *(f"const {_element(self._type(p))} *restrict {self.names[p]}" for p in self.plan.params),
            *(f"const {_element(type_)} *restrict {name}" for name, type_ in types.items()),
            *(f"{_element(self._type(slot))} *restrict {place}" for place, slot in zip(results, yields, strict=True)),
        ]
        title, heading = self._title(types, results), self._heading(parameters)
        self.prototype = "\n".join([*title, heading.replace(" {", ";")])
        self.reads = list(state)
        return "\n".join([*title, heading, *self._unused(), *self.declared, *(["", "    int status;"] if self.fails else []),
                          *self.body, "    return 0;", "}\n"])

    def _title(self, state: Mapping[str, Type], results: Sequence[str]) -> list[str]:
        """Return the lines of a comment with the types of the C function's arguments.

        state    the module's parameters that it reads, with their types
        results  the names of its results
        """
        operands = [f"{self.names[p]}: {self._type(p)}" for p in self.plan.params] + [f"{name}: {type_}" for name, type_ in state.items()]
        given = [f"{place}: {self._type(slot)}" for place, slot in zip(results, self.plan.body.yields, strict=True)]
        signature = f"{self.name}({', '.join(operands)}) -> {', '.join(given)}"
        lines = wrap(signature, WIDTH - 3, break_long_words=False, break_on_hyphens=False)
        return comment("\n".join([*lines, f"{self.bytes} bytes of static memory"]))

    def _heading(self, parameters: Sequence[str]) -> str:
        return f"int {self.name}(" + ",\n    ".join(["", *parameters])[1:] + ") {"

    def _unused(self) -> list[str]:
        seen = {slot for launch in self.launches for slot in launch.operands} | set(self.plan.body.yields)
        return [f"    (void){self.names[p]};" for p in self.plan.params if p not in seen]

    def _name(self, slots: Sequence[int], line: int) -> None:
        """Give the values in these slots the names that they have in the plan's text, where line number `line` begins with what it defines.
        """
        shown = [token.text for token in self.listing.lines[line] if token.kind == "value"]
        for slot, name in zip(slots, shown):
            self.names[slot] = self._free(identifier(name))

    def _free(self, name: str) -> str:
        name = free(name, self.taken)
        self.taken.add(name)
        return name

    def _launch(self, launch: Launch, places: Container[int]) -> None:
        lowered = self.kernels.lowered(launch.node)
        plain = self.kernels.plain_work > 0
        for slot in launch.results:
            if slot not in places:
                self.declared.append(f"    static {_element(self._type(slot))} {self.names[slot]}[{_room(self._type(slot))}];")
                self.bytes += _bytes(self._type(slot))
        scratch: list[str] = []
        for size in lowered.scratch:
            scratch.append(self._free("scratch"))
            self.bytes += size
            room = f"int64_t {scratch[-1]}[{size // 8 + 1}]" if plain else f"_Alignas(64) unsigned char {scratch[-1]}[{max(size, 1)}]"
            self.declared.append(f"    static {room};")
        cast = "" if plain else "(void *)"
        operands = [f"{cast}{self._value(slot)}" for slot in launch.operands] + [self.names[slot] for slot in launch.results]
        operands += [f"(void *){name}" for name in scratch]
        self.body += ["", *(f"    {line}" for line in comment(_plain(self.listing, launch.node)))]
        for stage in (stage for stage in lowered.stages if stage.units):
            if stage.direct is not None:
                call = f"    {'status = ' if stage.direct.fails else ''}{stage.function}({', '.join(stage.arguments(operands))});"
                self.body += wrap(call, WIDTH, subsequent_indent="        ", break_long_words=False, break_on_hyphens=False)
                if stage.direct.fails:
                    self._check()
                continue
            sizes = ", ".join(map(str, stage.sizes))
            arguments = f"(void *const[]){{{', '.join(operands)}}}, (const int64_t[]){{{sizes}}}, 0, {stage.units}"
            call = f"    status = {stage.function}({arguments});"
            self.body += [call] if len(call) <= WIDTH else [f"    status = {stage.function}(", f"        {arguments});"]
            self._check()

    def _check(self) -> None:
        self.fails = True
        self.body += ["    if (status != 0) {", "        return status;", "    }"]

    def _type(self, slot: int) -> Type:
        return self.plan.slots[slot].type

    def _value(self, slot: int) -> str:
        literal_ = self.plan.slots[slot].literal
        return self.names[slot] if literal_ is None else f"&(const {_element(literal_.type)}){{{_constant(literal_)}}}"


def _launches(plan: Plan) -> Iterator[Launch | HostCall]:
    """Yield the nodes of a plan in the order in which they run: those that kernels compute, and reads of state.

    CompileError for a node that a C file cannot contain, such as a branch or a call of Python.
    """
    for piece in plan.body.pieces:
        for each in piece.entries if isinstance(piece, Straight) else (piece,):
            node = each.node
            if isinstance(each, HostCall) and isinstance(node.op, Read):
                yield each
                continue
            known = all(isinstance(x.type, TensorType) and x.type.is_static for x in (*node.operands, *node.results))
            if not isinstance(each, Launch) or not node.op.can_lower or not known:
                raise NOT_STANDALONE.at(node.loc, f"`{node.op.name}` is not straight-line code on tensors of known size")
            yield each


def _plain(shown: Listing, node: Node) -> str:
    """Return the line of a plan's text that shows a node, without the spaces that align it."""
    return " ".join("".join(token.text for token in shown.lines[shown.line_of[node]]).split())


def _constant(x: Literal) -> str:
    dtype = x.type.dtype
    if dtype.is_float and dtype.compute is not dtype:
        return str(int(from_compute(np.asarray(x.value, dtype.compute.array), dtype).view(np.uint16)))
    return Printer().expression(literal(x.value, dtype))[0]


def _element(type_: Type) -> str:
    assert isinstance(type_, TensorType)
    return type_.dtype.c_name


def _count(type_: Type) -> int:
    assert isinstance(type_, TensorType)
    return math.prod(type_.sizes)


def _bytes(type_: Type) -> int:
    assert isinstance(type_, TensorType)
    return _count(type_) * type_.dtype.size


def _room(type_: Type) -> int:
    """Return the number of elements of an array for the type; C has no empty arrays."""
    return max(_count(type_), 1)
