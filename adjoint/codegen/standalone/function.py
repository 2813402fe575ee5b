"""The text of one C function of a standalone file: the values and nodes of a function of the IR as declarations and statements.

A function for batches of several sizes has a parameter `batch`: sizes and numbers that depend on it are computed from it, or looked up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, Final

import numpy as np

from adjoint.codegen.c_print import WIDTH, Printer, comment
from adjoint.codegen.emit import KernelStage, integer_text
from adjoint.codegen.standalone.arithmetic import IN_PLACE, BodyWriter, operations, signature_lines
from adjoint.codegen.standalone.batch import NAME, NumberOfBatch, Versions, condition, formula, text_of_all
from adjoint.codegen.standalone.entry import (
    FAILED,
    NO_STEP,
    RANDOM,
    TOO_MANY_ROUNDS,
    Context,
    ExportedFunction,
    changed_lines,
    used_state,
)
from adjoint.codegen.standalone.kernels import KernelChoice, Kernels, choices, has_kernel, launched, shared_scratch
from adjoint.codegen.standalone.memory import SIZES, aligned, element_of, loop_parts, memory_of
from adjoint.ir.core import Atom, Function, Literal, Node, Region, Value, walk
from adjoint.ir.kernel.c_ast import literal
from adjoint.ir.kernel.names import identifier
from adjoint.ir.ops.control import For, If, While
from adjoint.ir.ops.host import Callback, CellCallback, Observe
from adjoint.ir.ops.random import KEY, Draw
from adjoint.ir.ops.stack import Pop, Push, Stack, Undef
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.ops.unrolled import Unrolled
from adjoint.ir.print import Listing, listing
from adjoint.ir.storage import from_compute
from adjoint.ir.types import DType, StackType, TensorType, Type

__all__ = ["ARENAS", "FunctionWriter", "function_heading"]

ARENAS: Final = {"double _Complex": "c128", "float _Complex": "c64", "double": "f64", "int64_t": "i64", "uint64_t": "u64", "float": "f32",
                 "int32_t": "i32", "uint32_t": "u32", "int16_t": "i16", "uint16_t": "u16", "int8_t": "i8", "uint8_t": "u8"}
"""For each C type of elements its array in the arena; the largest elements first, so that a struct has no gaps."""


class FunctionWriter(BodyWriter):
    """Writes one C function of a standalone file.

    entry     what is exported
    versions  its function, for one batch or for several
    name      in C
    kernels   the kernels of the file
    context   where state and intermediate values are; None: state is arguments, values are static

    After `text`:

    names       for each value a C expression that points to it
    memory      where the values are
    prototype   the declaration with a comment that says the types of the arguments
    parameters  those of C, `context` and `batch` included
    reads       the symbols of the state that it takes as arguments, in order
    statuses    what it may return but 0, and for each the symbols of the state that may be changed by then
    stacks      whether it uses stacks
    """

    def __init__(self, entry: ExportedFunction, versions: Versions, name: str, kernels: Kernels, context: Context | None):
        self.entry, self.versions, self.function, self.name = entry, versions, versions.function, name
        self.kernels, self.context, self.places = kernels, context, dict(entry.places)
        self.memory = memory_of(versions, self._scratch, entry.max_rounds)
        self.used = used_state(self.function.body)
        self._in_place = sum(operations(node) for node in walk(self.function.body) if kernels.is_single(node)) <= IN_PLACE
        self.listings = [listing(function, locations=False) for function in versions.functions or (self.function,)]
        self.listing = self.listings[-1]
        self.names: dict[Value, str] = {}
        constants = (place for place in self.places.values() if "->" not in place)
        super().__init__([*constants, name, "context", "push", "pop", *([NAME] if versions.batches else [])])
        self.tables: dict[tuple[str, int, str], str] = {}
        self.bytes = 0
        self.fails = self.stacks = False
        self.changed: set[str] = set()
        self.statuses: dict[int, set[str]] = {}
        self.prototype = ""
        self.parameters: list[str] = []
        self.results: list[str] = []
        self.reads: list[str] = []

    def text(self) -> str:
        """Return the C function, with the Python line and the IR of each node as a comment."""
        body = self.function.body
        for node in launched(body):
            if has_kernel(node):
                self.taken.update(stage.function for each in self.versions.nodes_of(node) for stage in self.kernels.lowered(each).stages)
            elif isinstance(node.op, Unrolled) and not self._is_in_place(node):
                self.taken.add(self.kernels.arithmetic(node).name)
        for p in body.params:
            self._name(p)
        state = self.entry.state
        types = {symbol: KEY if symbol == RANDOM else state[symbol] for symbol in [*state, RANDOM] if symbol in self.used}
        if self.context is None:
            self.places = {symbol: self.free(identifier(symbol.rstrip("!"))) for symbol in types}
            self.reads = list(types)
        results = self.results = [self.free(identifier(name)) for name in self.entry.results]
        self._block(body, results)
        for place, atom in zip(results, body.results, strict=True):
            if self._pointer(atom) != place:
                self.line(self._copied(place, self._pointer(atom), atom))
        states = [] if self.context is not None else [
            f"{'' if self.used[symbol] else 'const '}{element_of(type_)} *restrict {self.places[symbol]}"
            for symbol, type_ in types.items()]
        # With a context kernels are inlined, and there gcc 12 and clang 14 take `restrict` for more than it says: see `direct_text`.
        alone = "*restrict " if self.context is None else "*"
        several = len(self.versions.batches) > 1
        self.parameters = [
            *([f"{self.context.type} *context"] if self.context is not None else []),
            *([f"int64_t {NAME}"] if several else []),
            *(f"const {element_of(p.type)} {alone}{self.names[p]}" for p in body.params),
            *states,
            *(f"{element_of(atom.type)} {alone}{place}" for place, atom in zip(results, body.results, strict=True)),
        ]
        title, heading = self._title(types), function_heading(self.name, self.parameters)
        self.prototype = "\n".join([*title, heading.replace(" {", ";")])
        self.lines, used = _without_unused([*self._tables(), *self.lines])
        given = [*(["context"] if self.context is not None else []), *([NAME] if several else []), *(self.names[p] for p in body.params),
                 *([] if self.context is not None else self.places.values()), *results]
        first = [*(f"    (void){name};" for name in given if name not in used), *(["    int status;"] if self.fails else [])]
        inner = "static " if self.versions.batches else ""
        return "\n".join([*title, f"{inner}{heading}", *first, *self.lines, "    return 0;", "}\n"])

    def _title(self, state: Mapping[str, Type]) -> list[str]:
        """Return the lines of a comment with the types of the C function's arguments.

        state  the module's parameters that it uses, with their types
        """
        operands = [f"{self.names[p]}: {self._shown(p)}" for p in self.function.params]
        if self.context is None:
            operands += [f"{self.places[symbol]}: {type_}" for symbol, type_ in state.items()]
        given = [f"{place}: {self._shown(atom)}" for place, atom in zip(self.results, self.function.body.results, strict=True)]
        lines = signature_lines(self.name, operands, given)
        if batches := self.versions.batches:
            rows = str(batches[0]) if len(batches) == 1 else f"{batches[0]} to {batches[-1]}"
            lines.append(f"for a batch of {rows}")
        if self.context is not None:
            lines.append(f"uses {self.memory.nbytes} bytes of the arena")
            lines += changed_lines(self.used, self.statuses, self.context)
        else:
            lines.append(f"{self.bytes} bytes of static memory")
        return comment("\n".join(lines))

    def _shown(self, atom: Atom) -> str:
        """Return the text of a type."""
        return text_of_all([str(type_) for type_ in self.versions.types_of(atom)], self.versions.batches)

    def _scratch(self, node: Node) -> list[tuple[str, int]]:
        """Return the C type of the elements and the bytes of each scratch buffer of a node's kernel."""
        return shared_scratch(self._choices(node))[0] if has_kernel(node) else []

    def _choices(self, node: Node) -> list[KernelChoice]:
        """Return which kernel computes a node for which batch."""
        return choices([self.kernels.lowered(each) for each in self.versions.nodes_of(node)])

    # -- numbers that depend on the batch ---------------------------------------------------------------------------------
    def _number_of(self, numbers: Sequence[int], places: Sequence[int] | None = None, kind: str = "int64_t") -> str:
        """Return C for a size.

        numbers  for each batch
        places   the batches, by index; None for all
        kind     its C type
        """
        if len({*numbers}) == 1:
            return integer_text(numbers[0])
        batches = self.versions.batches
        chosen = [batches[place] for place in places] if places is not None else batches
        cast = "" if kind == "int64_t" else f"({kind})"
        found = formula(dict(zip(chosen, numbers, strict=True)))
        if found is not None:
            return found if not cast else f"{cast}{NAME}" if found == NAME else f"{cast}({found})"
        element = "int32_t" if all(-(2**31) < number < 2**31 for number in numbers) else "int64_t"
        return f"{cast}{self._looked_up(element, dict(zip(chosen, map(str, numbers), strict=True)))}"

    def _count(self, atom: Atom) -> str:
        """Return C of type size_t for the number of a tensor's items."""
        return self._number_of(self.versions.counts(atom), kind="size_t")

    def _looked_up(self, element: str, texts: Mapping[int, str]) -> str:
        """Return C that finds a constant in a table.

        element  its C type
        texts    the constant by number of rows
        """
        first, last = min(texts), max(texts)
        numbers = ", ".join(texts.get(rows, "0") for rows in range(first, last + 1))
        name = self.tables.get((element, first, numbers))
        if name is None:
            name = self.tables[element, first, numbers] = self.free(f"of_{NAME}")
        return f"{name}[{NAME} - {first}]"

    def _tables(self) -> Iterator[str]:
        """Yield the lines that declare the tables of constants."""
        for (element, _, numbers), name in self.tables.items():
            yield f"    static const {element} {name}[] = {{"
            yield from (f"        {line}" for line in wrap(numbers, WIDTH - 8))
            yield "    };"

    def _constant(self, x: Literal) -> str:
        dtype = x.type.dtype
        if not isinstance(x, NumberOfBatch):
            return _constant(x.value, dtype)
        if not dtype.is_inexact:
            return self._number_of([int(value) for value in x.each if not isinstance(value, complex)], kind=dtype.c_name)
        texts = [_constant(value, dtype) for value in x.each]
        return self._looked_up(dtype.c_name, dict(zip(self.versions.batches, texts, strict=True)))

    # -- names and places -------------------------------------------------------------------------------------------------
    def _name(self, value: Value) -> str:
        """Give a value a name of its own, as it has in the text of the IR, and return it."""
        name = self.names[value] = self.free(identifier(self.listing.names[value]))
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
            self.line(f"{element} *const {name} = context->arena.{ARENAS[element]}{first};")
        else:
            self.bytes += nbytes
            self.line(f"static {alignment}{element} {name}[{max(nbytes // SIZES[element], 1)}];")

    def _pointer(self, atom: Atom) -> str:
        return self.names[atom] if isinstance(atom, Value) else f"&(const {element_of(atom.type)}){{{self._constant(atom)}}}"

    def _number(self, atom: Atom) -> str:
        """Return a C expression for the number that a 0-d tensor holds."""
        return _first(self.names[atom]) if isinstance(atom, Value) else self._constant(atom)

    # -- statements -------------------------------------------------------------------------------------------------------
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
                self.line(self._copied(self.names[value], self.places[op.symbol], value))
            case Write():
                (value,) = node.operands
                if isinstance(value, Value) and self.memory.states.get(self.memory.root(value)) == op.symbol:
                    return
                self._about(node)
                self.changed.add(op.symbol)
                self.line(self._copied(self.places[op.symbol], self._pointer(value), value))
            case Stack():
                self.stacks = True
                self._define(node.results[0], results)
                self.line(f"{self.names[node.results[0]]}[0] = 0;")
            case Undef():
                self._define(node.results[0], results)
            case Push() | Pop():
                self._transfer(node, results)
            case Draw():
                self._about(node)
                self._define(node.results[0], results)
                key, random = self.names[node.results[0]], self.places[RANDOM]
                self.line(f"{key}[0] = {f'UINT64_C({op.seed})' if op.seed else f'{random}[0]'};")
                self.changed.add(RANDOM)
                self.line(f"{key}[1] = {random}[1]++;")
            case Callback() | CellCallback() | Observe():
                self._hook(node, results)
            case If():
                self._branch(node, results)
            case Unrolled():
                self._unrolled(node, results)
            case For() | While():
                self._loop(node, results)
            case _ if getattr(op, "aliases", False) and self.memory.root(node.results[0]) is not node.results[0]:
                self._define(node.results[0], results)
            case _:
                self._launch(node, results)

    def _about(self, node: Node) -> None:
        """Write comments with the Python line of a node, if it is another than that of the node before, and with the node's IR."""
        self.place(node.loc)
        if not node.regions:  # branches and loops are C that says the same
            shown = [_plain(shown, each) for shown, each in zip(self.listings, self.versions.nodes_of(node), strict=True)]
            text = text_of_all(shown, self.versions.batches)
            self.remark("\n".join(wrap(text, WIDTH - self.indent - 6, break_on_hyphens=False)))

    def _copied(self, to: str, of: str, atom: Atom) -> str:
        """Return a statement that copies a tensor."""
        counts = {*self.versions.counts(atom)}
        if counts == {1}:
            return f"{_first(to)} = {_first(of)};"
        size = self._count(atom)
        return ";" if counts == {0} else f"memcpy({to}, {of}, {size} * sizeof({element_of(atom.type)}));"

    def _hook(self, node: Node, results: Sequence[str]) -> None:
        self._about(node)
        self._changes(node)
        for value, given in zip(node.results, node.operands, strict=False):
            self._define(value, results)
            if not self._is_in(given, self.names[value]):
                self.line(self._copied(self.names[value], self._pointer(given), value))
        place = self.entry.hooks[node.op.symbol]
        shown = [self.names[value] for value in node.results] + [self._pointer(atom) for atom in node.operands[len(node.results) :]]
        arguments = [text for pointer, atom in zip(shown, node.operands, strict=True) for text in (pointer, self._count(atom))]
        self.line(f"if ({place} != NULL) {{")
        self.line(f"    {place}({', '.join(['context->user', *arguments])});")
        self.line("}")

    def _transfer(self, node: Node, results: Sequence[str]) -> None:
        self._about(node)
        stack = node.results[0]
        room = self.memory.rooms[stack].found
        self._define(stack, results)
        pushed = isinstance(node.op, Push)
        item = node.operands[1] if pushed else node.results[1]
        nested = isinstance(item.type, StackType)
        sizes = f"{room.item_bytes if nested else self._bytes(item)}, {aligned(room.item_bytes)}"
        if pushed:
            call = f"push({self.names[stack]}, {room.capacity}, {self._pointer(item)}, {sizes});"
            self.line(f"status = {call}" if room.bounded else f"(void){call}")
            if room.bounded:
                self._check_status(TOO_MANY_ROUNDS)
        else:
            self._define(node.results[1], results)
            self.line(f"pop({self.names[stack]}, {self.names[node.results[1]]}, {sizes});")

    def _bytes(self, atom: Atom) -> str:
        """Return C of type size_t for the bytes of a tensor."""
        return self._number_of([type_.nbytes for type_ in self.versions.types_of(atom) if isinstance(type_, TensorType)], kind="size_t")

    def _changes(self, node: Node) -> None:
        """Note the state in whose memory a node computes its results."""
        roots = [self.memory.root(value) for value in node.results]
        self.changed.update(self.memory.states[root] for root in roots if root in self.memory.states)

    def _may_return(self, status: int) -> None:
        """Note that the function may return a status here."""
        self.statuses.setdefault(status, set()).update(self.changed)

    def _check_status(self, status: int = FAILED) -> None:
        self._may_return(status)
        self.fails = True
        self.line("if (status != 0) {")
        self.line("    return status;")
        self.line("}")

    def _branch(self, node: Node, results: Sequence[str]) -> None:
        self._about(node)
        stacks = [value for value in node.results if self.memory.root(value) is not value]
        for value in node.results:
            if value not in stacks:
                self._define(value, results)
        before, changed = self.changed, set[str]()
        for region, head in zip(node.regions, (f"if ({self._number(node.operands[0])}) {{", "} else {"), strict=True):
            mark = len(self.lines)
            self.changed = {*before}
            self.line(head)
            self.indent += 4
            self.forget_place()
            # The result of a stack is known by the stack that it is, after the branch.
            places = [self.names.get(value, "") for value in node.results]
            self._block(region, places)
            for value, place, atom in zip(node.results, places, region.results, strict=True):
                if place and not self._is_in(atom, place):
                    self.line(self._moved(place, atom, value))
            self.indent -= 4
            changed |= self.changed
            if region is node.regions[1] and len(self.lines) == mark + 1:
                del self.lines[mark]
        self.line("}")
        self.changed = changed
        for value in stacks:
            self._define(value, results)
        self.forget_place()

    def _is_in(self, atom: Atom, place: str) -> bool:
        return isinstance(atom, Value) and self.names[atom] == place

    def _moved(self, place: str, atom: Atom, value: Value) -> str:
        """Return a statement that copies a value, a tensor or a stack, to a place for `value`."""
        if isinstance(value.type, StackType):
            return f"memcpy({place}, {self._pointer(atom)}, {self.memory.size(value)});"
        return self._copied(place, self._pointer(atom), value)

    def _loop(self, node: Node, results: Sequence[str]) -> None:
        self._about(node)
        initial, params = loop_parts(node)
        body = node.regions[-1]
        for value, param, result in zip(initial, params, node.results, strict=True):
            self._define(result, results)
            self.names[param] = self.names[result]
            if not self._is_in(value, self.names[param]) and not _is_undefined(value, node, self.function):
                self.line(self._moved(self.names[param], value, param))
        for region in node.regions:  # a round comes after the rounds before it
            self.changed.update(symbol for symbol, written in used_state(region).items() if written)
        places = [self.names[param] for param in params]
        spares = {i: self._spare(params[i], offset) for i, offset in self.memory.spares[node].items()}
        if isinstance(node.op, For):
            self.line(self._for(node))
            self.indent += 4
        else:
            self.line("for (;;) {")
            self.indent += 4
            self.forget_place()
            self._block(node.regions[0], ())
            self.line(f"if (!{self._number(node.regions[0].results[0])}) {{")
            self.line("    break;")
            self.line("}")
        self.forget_place()
        self._block(body, places)
        for i, spare in spares.items():
            self.line(self._moved(spare, body.results[i], params[i]))
        for i, (place, atom) in enumerate(zip(places, body.results, strict=True)):
            if i not in spares and not self._is_in(atom, place):
                self.line(self._moved(place, atom, params[i]))
        for i, spare in spares.items():
            self.line(self._copied(places[i], spare, params[i]))
        self.indent -= 4
        self.line("}")
        self.forget_place()

    def _spare(self, param: Value, offset: int) -> str:
        name = self.free(f"next_{identifier(self.listing.names[param])}")
        self._declare(element_of(param.type), name, offset, self.memory.size(param))
        return name

    def _for(self, node: Node) -> str:
        """Return the head of a `for`, after a check of its step if that is not known."""
        start, stop, step = node.operands[:3]
        index = node.regions[0].params[0]
        name = self._name(index)
        self.names[index] = f"&{name}"
        begin, end, by = map(self._number, (start, stop, step))
        if isinstance(step, Literal):
            assert isinstance(step.value, int)
            more = {"1": f"{name}++", "-1": f"{name}--"}.get(by, f"{name} += {by}")
            goes_on = f"{name} < {end}" if step.value > 0 else f"{name} > {end}"
        else:
            self.line(f"if ({by} == 0) {{")
            self.line(f"    return {NO_STEP if self.context is None else self.context.status(NO_STEP)};")
            self._may_return(NO_STEP)
            self.line("}")
            more, goes_on = f"{name} += {by}", f"{by} > 0 ? {name} < {end} : {name} > {end}"
        return f"for (int64_t {name} = {begin}; {goes_on}; {more}) {{"

    def _is_in_place(self, node: Node) -> bool:
        """Return True for an unrolled node whose statements are in this function."""
        return self._in_place and self.kernels.is_single(node)

    def _unrolled(self, node: Node, results: Sequence[str]) -> None:
        """Write what computes a node on a few numbers: statements, or a call of the function that several nodes have."""
        for value in node.results:
            self._define(value, results)
        made = [self.names[value] for value in node.results]
        if self._is_in_place(node):
            self.arithmetic(node, [x if isinstance(x, Literal) else self.names[x] for x in node.operands], made)
            self.kernels.use(self.read)
            return
        self.place(node.loc)
        function = self.kernels.arithmetic(node)
        self.call(f"{function.name}({', '.join([*(self._pointer(node.operands[at]) for at in function.operands), *made])});")

    def _launch(self, node: Node, results: Sequence[str]) -> None:
        plain = self.kernels.plain_work > 0
        self._about(node)
        self._changes(node)
        for value in node.results:
            self._define(value, results)
        scratch: list[str] = []
        chosen = self._choices(node)
        shared, taken = shared_scratch(chosen)
        for (element, size), offset in zip(shared, self.memory.scratch.get(node, ()), strict=True):
            scratch.append(self.free("scratch"))
            self._declare(element, scratch[-1], offset, size, "" if plain else "_Alignas(64) ")
        cast = "" if plain else "(void *)"
        operands = [f"{cast}{self._pointer(atom)}" for atom in node.operands] + [self.names[value] for value in node.results]
        if len(chosen) == 1:
            self._calls(chosen[0], operands + scratch)
            return
        batches = self.versions.batches
        for place, (choice, own) in enumerate(zip(chosen, taken, strict=True)):
            test = f"if ({condition([batches[i] for i in choice.batches], batches)}) {{"
            self.line("} else {" if place == len(chosen) - 1 else f"}} else {test}" if place else test)
            self.indent += 4
            self._calls(choice, operands + [scratch[i] for i in own])
            self.indent -= 4
        self.line("}")

    def _calls(self, choice: KernelChoice, operands: Sequence[str]) -> None:
        """Write the calls of a kernel.

        operands  C for each of its operands: inputs, outputs, scratch
        """
        for stages in zip(*(kernel.stages for kernel in choice.kernels), strict=True):
            stage = stages[-1]
            if not stage.units:
                continue

            def size(place: int, stages: Sequence[KernelStage] = stages) -> str:
                return self._number_of([each.sizes[place] for each in stages], choice.batches)

            if stage.direct is not None:
                self.call(f"{'status = ' if stage.direct.fails else ''}{stage.function}({', '.join(stage.arguments(operands, size))});")
                if stage.direct.fails:
                    self._check_status()
                continue
            sizes = ", ".join(map(size, range(len(stage.sizes))))
            arguments = f"(void *const[]){{{', '.join(operands)}}}, (const int64_t[]){{{sizes}}}, 0, {size(0)}"
            call = f"status = {stage.function}({arguments});"
            if len(call) + self.indent <= WIDTH:
                self.line(call)
            else:
                self.line(f"status = {stage.function}(")
                self.line(f"    {arguments});")
            self._check_status()


def function_heading(name: str, parameters: Sequence[str]) -> str:
    """Return the first lines of a C function, up to its brace."""
    return f"int {name}(" + ",\n    ".join(["", *parameters])[1:] + ") {"


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


_DECLARATION: Final = re.compile(r"\s*(?:static .*?(\w+)\[\d+\];|\w+(?: _Complex)? \*const (\w+) = .*;)")


def _without_unused(lines: Sequence[str]) -> tuple[list[str], set[str]]:
    """Return the lines of a function without declarations of what no other line uses, and the names that are used in them."""
    used = Counter(re.findall(r"\w+", _without_comments("\n".join(lines))))
    kept = [line for line in lines if not ((found := _DECLARATION.fullmatch(line)) and used[found[1] or found[2]] == 1)]
    return kept, {*re.findall(r"\w+", _without_comments("\n".join(kept)))}


def _without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def _constant(value: bool | int | float | complex, dtype: DType) -> str:
    """Return a number as C."""
    if dtype.is_float and dtype.compute is not dtype:
        return str(int(from_compute(np.asarray(value, dtype.compute.array), dtype).view(np.uint16)))
    return Printer().expression(literal(value, dtype))[0]
