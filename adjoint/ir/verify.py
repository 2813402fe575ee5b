"""Check that IR is valid: structure, scoping, types by inferring them again, stacks used once, effect marks, symbols.

A pass takes and returns valid IR; this is checked between passes in tests and under a flag.  The error is drawn into the
printed function, under the wrong line, and names the user's line if the node has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from adjoint.foundation.diagnostics import Loc, Note
from adjoint.ir import errors
from adjoint.ir.core import Atom, Function, Literal, Module, Node, Region, Value, free_of, walk
from adjoint.ir.errors import Mistake
from adjoint.ir.op import Effect, Op, registry
from adjoint.ir.ops.control import Call, Differentiated, OfTrace, Record, RegionOp
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.print import Listing, listing
from adjoint.ir.types import StackType, TensorType, Type, holds_trace

__all__ = ["symbol_kind", "verify_function", "verify_module"]

LINES_AROUND = 12
"""The number of lines of the function shown before and after the wrong one."""


def verify_module(module: Module) -> None:
    """Raise CompileError E120 to E128 unless every function of the module is valid and every symbol is declared."""
    for symbol, function in module.functions.items():
        if symbol != function.symbol:
            _Verifier(function, module).fail(
                errors.BROKEN_STRUCTURE, function, f"the module lists it as `@{symbol}`, but its own name is `@{function.symbol}`"
            )
        verify_function(function, module)


def verify_function(function: Function, module: Module | None = None) -> None:
    """Raise CompileError E120 to E128 unless the function is valid; symbols are looked up when there is a module."""
    verifier = _Verifier(function, module)
    verifier.function()
    verifier.linear(function.body, set())


def symbol_kind(op: type[Op]) -> str:
    """Return what the symbol of such an op refers to: "param", "function" or "host" (a Python callable)."""
    if issubclass(op, (Read, Write)):
        return "param"
    return "function" if issubclass(op, Call) else "host"


class _Verifier:
    """Checks one function, and raises CompileError for the first error."""

    def __init__(self, function: Function, module: Module | None):
        self._function = function
        self._module = module
        self._visible: set[Value] = set()
        self._defined: set[Value] = set()

    def fail(self, mistake: Mistake, at: Node | Region | Function, label: str) -> NoReturn:
        """Raise CompileError with the function printed and the error under the line of `at`."""
        loc: Loc = at.loc
        note = Note("in this function\n\n" + _drawn(listing(self._function), at, label))
        raise mistake.at(loc, label, notes=(note,))

    def function(self) -> None:
        function = self._function
        if function.vjp is not None and self._module is not None and function.vjp not in self._module.functions:
            self.fail(errors.SYMBOL_MISSING, function, f"its pullback `@{function.vjp}` is not a function of the module")
        self._define(function.params, function)
        self._region(function.body)

    def _region(self, region: Region) -> None:
        """Check a region; its parameters are already known as defined.  Values that it defines are not visible afterwards."""
        before = set(self._visible)
        for node in region.nodes:
            self._node(node)
        for atom in region.results:
            self._use(atom, region)
        self._visible = before

    def _node(self, node: Node) -> None:
        op = node.op
        if registry().get(op.name) is not type(op):
            again = f": an operator of this name was defined again, or is none any more; make the graph of `{op.name}` again"
            self.fail(errors.BROKEN_STRUCTURE, node, f"`{op.name}` is not a registered op{again if op.by_program else ''}")
        ordered = op.effect in (Effect.WRITES, Effect.HOST)
        if ordered != op.name.endswith("!"):
            label = f"the effect of `{op.name}` is {op.effect.value}: it must {'' if ordered else 'not '}be marked by `!`"
            self.fail(errors.BROKEN_STRUCTURE, node, label)
        for operand in node.operands:
            self._use(operand, node)
        shared = len(node.regions) == 2 and node.regions[0].params == node.regions[1].params
        for position, region in enumerate(node.regions):
            before = set(self._visible)
            if position and shared:
                self._visible.update(region.params)
            else:
                self._define(region.params, node)
            self._region(region)
            self._visible = before
        self._check_types(node)
        self._check_symbol(node)
        self._define(node.results, node)

    def _use(self, atom: Atom, at: Node | Region) -> None:
        match atom:
            case Literal():
                self._check_literal(atom, at)
            case Value():
                if atom not in self._visible:
                    where = "outside its region" if atom in self._defined else "before it is defined, or nothing defines it"
                    self.fail(errors.NOT_VISIBLE, at, f"`{atom.hint}` is used {where}")
                if holds_trace(atom.type) and not (isinstance(at, Node) and isinstance(at.op, OfTrace) and atom is at.operands[0]):
                    self.fail(errors.TRACE_MISUSED, at, f"`{atom.hint}` is {atom.type}: only `pull!` and `along!` use it")
            case _:
                self.fail(errors.BROKEN_STRUCTURE, at, f"the operand {atom!r} is neither a value nor a literal")

    def _define(self, values: Sequence[Value], at: Node | Function) -> None:
        for value in values:
            if value in self._defined:
                self.fail(errors.DEFINED_TWICE, at, f"`{value.hint}` is defined by another node too")
            if holds_trace(value.type) and not (isinstance(at, Node) and isinstance(at.op, Record) and value is at.results[-1]):
                self.fail(errors.TRACE_MISUSED, at, f"`{value.hint}` is {value.type}: only `record` gives one")
            self._defined.add(value)
            self._visible.add(value)

    def _check_literal(self, literal: Literal, at: Node | Region) -> None:
        type_: Type = literal.type
        if not isinstance(type_, TensorType) or type_.rank:
            self.fail(errors.BAD_CONSTANT, at, f"a literal is a scalar, not {type_}")
        dtype, value = type_.dtype, literal.value
        if dtype.is_complex or (dtype.is_float and not isinstance(value, complex)):
            return
        if isinstance(value, complex):
            self.fail(errors.BAD_CONSTANT, at, f"{value} is not a number of {dtype.name}")
        bits = 8 * dtype.size
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if dtype.kind == "i" else (0, 2**bits)
        if dtype.kind == "b":
            low, high = 0, 2
        if value != value or not low <= value < high or value != int(value):
            self.fail(errors.BAD_CONSTANT, at, f"{value} is not a number of {dtype.name}")

    def _check_types(self, node: Node) -> None:
        try:
            inferred = tuple(node.op.result_types([operand.type for operand in node.operands], node.regions))
        except RecursionError:
            raise
        except Exception as error:  # inference may raise anything for an unexpected operand
            mistake = errors.REGION_RESULTS if isinstance(node.op, RegionOp) else errors.TYPE_DIFFERS
            self.fail(mistake, node, str(error))
        if len(inferred) != len(node.results):
            label = f"`{node.op.name}` gives {len(inferred)} results, the node has {len(node.results)}"
            self.fail(errors.BROKEN_STRUCTURE, node, label)
        for value, type_ in zip(node.results, inferred, strict=True):
            if value.type is not type_:
                self.fail(errors.TYPE_DIFFERS, node, f"`{value.hint}` is {value.type}, inference gives {type_}")

    def _check_symbol(self, node: Node) -> None:
        if self._module is None:
            return
        op, module = node.op, self._module
        named = {name: getattr(op, name, "") for name in ("symbol", "rule")}
        kind = symbol_kind(type(op))
        declared = {"param": module.params, "function": module.functions, "host": module.hosts}[kind]
        for symbol in filter(None, named.values()):
            if symbol not in declared:
                self.fail(errors.SYMBOL_MISSING, node, f"`@{symbol}` is not a {kind} of the module")
        if isinstance(op, Differentiated):
            for symbol, type_ in zip(op.by, op.weights, strict=True):
                if symbol not in module.params:
                    self.fail(errors.SYMBOL_MISSING, node, f"`@{symbol}` is not a param of the module")
                if module.params[symbol] is not type_:
                    self.fail(errors.TYPE_DIFFERS, node, f"`@{symbol}` is {module.params[symbol]}, not {type_}")
        elif isinstance(op, Call):
            self._check_call(node, module.functions[op.symbol])
        elif kind == "param":
            expected = module.params[op.symbol]
            (have,) = [value.type for value in node.results] or [node.operands[0].type]
            if have is not expected:
                self.fail(errors.TYPE_DIFFERS, node, f"`@{op.symbol}` is {expected}, not {have}")

    def _check_call(self, node: Node, callee: Function) -> None:
        given = tuple(operand.type for operand in node.operands)
        taken = tuple(param.type for param in callee.params)
        if given != taken:
            self.fail(errors.TYPE_DIFFERS, node, f"`@{callee.symbol}` takes ({_listed(taken)}), not ({_listed(given)})")
        results = tuple(value.type for value in node.results)
        if results != callee.result_types:
            label = f"`@{callee.symbol}` gives ({_listed(callee.result_types)}), not ({_listed(results)})"
            self.fail(errors.TYPE_DIFFERS, node, label)

    # Stacks: every value of a stack type is used at most once on any path.

    def linear(self, region: Region, used: set[Value]) -> None:
        """Check that the region uses each stack at most once on any path.

        used  the stacks that were used before it; those used inside are added
        """
        for node in region.nodes:
            self._use_stacks(node.operands, node, used)
            match node.op.name:
                case "if":
                    branches = [set(used) for _ in node.regions]
                    for branch, within in zip(node.regions, branches, strict=True):
                        self.linear(branch, within)
                    used.update(*branches)
                case "for" | "while":
                    self._check_loop(node)
                    self.linear(node.regions[-1], used)
                case _:
                    for inner in node.regions:
                        self.linear(inner, used)
        self._use_stacks(region.results, region, used)

    def _use_stacks(self, atoms: Sequence[Atom], at: Node | Region, used: set[Value]) -> None:
        for atom in atoms:
            if isinstance(atom, Value) and isinstance(atom.type, StackType):
                if atom in used:
                    self.fail(errors.STACK_REUSED, at, f"`{atom.hint}` was used before; use the stack that `push` or `pop` returned")
                used.add(atom)

    def _check_loop(self, node: Node) -> None:
        for region in node.regions:
            for value in free_of(region):
                if isinstance(value.type, StackType):
                    self.fail(errors.STACK_REUSED, node, f"each iteration uses `{value.hint}` again; carry it")
        if node.op.name == "while":
            test = node.regions[0]
            used = [atom for inner in walk(test) for atom in inner.operands] + list(test.results)
            for atom in used:
                if isinstance(atom, Value) and atom in test.params and isinstance(atom.type, StackType):
                    self.fail(errors.STACK_REUSED, node, f"the test uses `{atom.hint}`, and the body would use it again")


def _listed(types: Sequence[Type]) -> str:
    return ", ".join(str(t) for t in types)


def _drawn(printed: Listing, at: Node | Region | Function, label: str) -> str:
    """Return the text of a function around an error, with carets and `label` below the line of `at`."""
    lines = printed.line_texts()
    guilty = printed.line_of.get(at, 0)
    if isinstance(at, Region):  # an error in a region is in what it yields: its last line
        guilty = _last_line(lines, guilty)
    first, last = max(0, guilty - LINES_AROUND), min(len(lines), guilty + LINES_AROUND + 1)
    code = "".join(token.text for token in printed.lines[guilty] if token.kind != "location").rstrip()
    indent = len(code) - len(code.lstrip())
    drawn = [f"  {line}".rstrip() for line in lines[first : guilty + 1]]
    drawn.append(f"  {' ' * indent}{'^' * (len(code) - indent)} {label}")
    drawn += [f"  {line}".rstrip() for line in lines[guilty + 1 : last]]
    return "\n".join((["  ..."] if first else []) + drawn + (["  ..."] if last < len(lines) else []))


def _last_line(lines: Sequence[str], opened: int) -> int:
    """Return the line of the `yield` or `return` of the region that begins on line `opened`."""
    depth = len(lines[opened]) - len(lines[opened].lstrip()) + 2
    prefixes = " " * depth + "yield", " " * depth + "return"
    return next((n for n in range(opened + 1, len(lines)) if lines[n].startswith(prefixes)), opened)
