"""Lifting state: parameters become arguments, writes become results.

    func @f(x) -> y                          func @f(x, w) -> (y, w1)
    v = read @w                              v := w
    write! @w(u)                             w1 := u

A parameter that a branch writes is yielded by the `if`, whose other side yields the previous value.  A parameter that a loop writes is
carried, and one that a cell writes is among its last results.  A function that calls another passes the state on.  A parameter that is only
read gets no result.  After this pass a function is pure in its parameters and may be differentiated by them.  Gradients inside of a
function name the parameters that they are taken by, so they are expanded before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, walk
from adjoint.ir.ops.control import Call, Cell, For, If, While
from adjoint.ir.ops.state import Read, Write
from adjoint.passes import errors
from adjoint.passes.differentiate import Differentiate
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import Known, Rewriter, became

__all__ = ["LiftState"]


@dataclass(frozen=True)
class LiftState(Pass):
    """The pass `lift-state{symbols=[@w]}`: turn state into arguments (of the functions that read it) and results (of those that write it).

    symbols  the parameters to turn; empty for all that the functions read or write
    """

    name: ClassVar[str] = "lift-state"
    symbols: tuple[str, ...] = ()

    def on_module(self, module: Module) -> Module:
        module = Differentiate().on_module(module)
        chosen = {symbol.removeprefix("@") for symbol in self.symbols} or set(module.params)
        touched = {symbol: _touched(function, module, chosen) for symbol, function in module.functions.items()}
        functions = {symbol: _lifted(function, module, touched) for symbol, function in module.functions.items()}
        return Module(module.params, module.hosts, functions)


@dataclass(frozen=True)
class _Touched:
    """Tells which parameters a function uses, itself or by calling others, in order of first appearance.

    all      those that it reads or writes
    written  those that it writes
    """

    all: tuple[str, ...]
    written: tuple[str, ...]


def _touched(function: Function, module: Module, chosen: set[str]) -> _Touched:
    found: dict[str, None] = {}
    written: dict[str, None] = {}
    visited: set[str] = set()

    def visit(function: Function) -> None:
        visited.add(function.symbol)
        for node in walk(function.body):
            match node.op:
                case Read(symbol=symbol) if symbol in chosen:
                    found.setdefault(symbol)
                case Write(symbol=symbol) if symbol in chosen:
                    found.setdefault(symbol)
                    written.setdefault(symbol)
                case Call(symbol=symbol) if symbol not in visited and symbol in module.functions:
                    visit(module.functions[symbol])
                case _:
                    pass

    visit(function)
    return _Touched(tuple(found), tuple(written))


def _lifted(function: Function, module: Module, touched: dict[str, _Touched]) -> Function:
    mine = touched[function.symbol]
    if not mine.all:
        return function
    if function.vjp is not None:
        label = f"@{function.symbol} has its own pullback, and reads or writes {', '.join('@' + s for s in mine.all)}"
        raise errors.STATE_UNDER_PULLBACK.at(function.loc, label)
    params = {symbol: Value(module.params[symbol], symbol) for symbol in mine.all}
    lifter = _Lifter(module, touched, params)
    body = Region((*function.params, *params.values()), function.body.nodes, function.body.results, function.body.loc)
    lifter.written_by_function = mine.written
    return replace(function, body=lifter.body(body))


class _Lifter(Rewriter):
    """Copies a function in which parameters are arguments and results.

    module   the module with the functions that it calls
    touched  for each function, the parameters that it reads or writes
    params   the argument of the copy for each parameter
    now      the current value of each parameter
    """

    def __init__(self, module: Module, touched: dict[str, _Touched], params: dict[str, Value]):
        self._module, self._touched = module, touched
        self.now: dict[str, Atom] = dict(params)
        self.written_by_function: Sequence[str] = ()

    def body(self, region: Region) -> Region:
        b = Builder(region.loc)
        known: Known = {}
        params = [Value(p.type, p.hint) for p in region.params]
        known.update(zip(region.params, params, strict=True))
        self.now = {symbol: became(value, known) for symbol, value in self.now.items()}
        self.nodes(b, region.nodes, known)
        results = [became(atom, known) for atom in region.results]
        return b.finish([*results, *(self.now[s] for s in self.written_by_function)], params, region.loc)

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        match node.op:
            case Read(symbol=symbol) if symbol in self.now:
                return [self.now[symbol]]
            case Write(symbol=symbol) if symbol in self.now:
                self.now[symbol] = became(node.operands[0], known)
                return []
            case Call() as op:
                return self._call(b, node, op, known)
            case If():
                written = self._written(node.regions)
                return self._with_results(b, node, known, written) if written else None
            case Cell() as op:
                written = self._written(node.regions)
                lifted = replace(op, residuals=op.residuals + len(written))
                return self._with_results(b, replace(node, op=lifted), known, written) if written else None
            case For() | While():
                written = self._written(node.regions)
                return self._loop(b, node, known, written) if written else None
            case _:
                return None

    def _written(self, regions: Iterable[Region]) -> list[str]:
        written: dict[str, None] = {}
        for region in regions:
            for node in walk(region):
                match node.op:
                    case Write(symbol=symbol) if symbol in self.now:
                        written.setdefault(symbol)
                    case Call(symbol=symbol) if symbol in self._touched:
                        written.update((s, None) for s in self._touched[symbol].written)
                    case _:
                        pass
        return list(written)

    def _call(self, b: Builder, node: Node, op: Call, known: Known) -> Sequence[Atom] | None:
        its = self._touched.get(op.symbol)
        if its is None or not its.all:
            return None
        types = (*op.results, *(self._module.params[s] for s in its.written))
        operands = [*(became(atom, known) for atom in node.operands), *(self.now[s] for s in its.all)]
        results = b.emit_node(Call(op.symbol, types), operands).results
        self._take(results, its.written)
        return results[: len(node.results)]

    def _with_results(self, b: Builder, node: Node, known: Known, written: Sequence[str]) -> Sequence[Atom]:
        """Append an `if` or a cell that also yields the parameters that are written inside.  Return the atoms for its original results.

        known    for each value of the old function, the atom of the new one
        written  the symbols of the parameters that are written inside
        """
        before = dict(self.now)
        regions: list[Region] = []
        for region in node.regions:
            self.now = dict(before)
            inner = b.inner()
            params = [Value(p.type, p.hint) for p in region.params]
            known.update(zip(region.params, params, strict=True))
            self.nodes(inner, region.nodes, known)
            yielded = [*(became(atom, known) for atom in region.results), *(self.now[s] for s in written)]
            regions.append(inner.finish(yielded, params, region.loc))
        self.now = before
        made = b.emit_node(node.op, [became(atom, known) for atom in node.operands], regions=regions)
        return self._named(made, node, written)

    def _loop(self, b: Builder, node: Node, known: Known, written: Sequence[str]) -> Sequence[Atom]:
        """Append a loop that also carries the parameters that are written inside.  Return the atoms for its original results.

        CompileError if the test of the loop writes.
        """
        *tests, body = node.regions
        if self._written(tests):
            raise errors.TEST_WRITES.at(node.loc, "this write is in the test of a loop", help="move the write into the body")
        start = [became(atom, known) for atom in node.operands] + [self.now[s] for s in written]
        before = dict(self.now)
        state = {symbol: Value(self.now[symbol].type, symbol) for symbol in written}
        params = [*(Value(p.type, p.hint) for p in body.params), *state.values()]
        known.update(zip(body.params, params, strict=False))
        regions: list[Region] = []
        for region in (*tests, body):
            self.now = {**before, **state}
            inner = b.inner()
            self.nodes(inner, region.nodes, known)
            yielded = [became(atom, known) for atom in region.results]
            regions.append(inner.finish([*yielded, *(self.now[s] for s in written)] if region is body else yielded, params, region.loc))
        self.now = before
        return self._named(b.emit_node(node.op, start, regions=regions), node, written)

    def _named(self, made: Node, node: Node, written: Sequence[str]) -> Sequence[Atom]:
        for new, old in zip(made.results, node.results, strict=False):
            new.hint = old.hint
        self._take(made.results, written)
        return made.results[: len(node.results)]

    def _take(self, results: Sequence[Value], written: Sequence[str]) -> None:
        for symbol, value in zip(written, results[len(results) - len(written) :], strict=True):
            value.hint = symbol
            self.now[symbol] = value
