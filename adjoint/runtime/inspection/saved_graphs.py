"""`set_context(save_graphs=...)`: each graph that is made is written to files, stage by stage.

    Net_0000_00_parsed.ir   Net_0000_01_optimised.ir       the first graph that was made of Net
    Net.grad_0000_00_adjoint.ir                            an adjoint, when a gradient is taken for the first time

Level 1 writes these; 2 also the IR after each pass, the recording that an adjoint was built from, and the C; 3 also pictures, `.dot` for
Graphviz.  The numbers continue after those of earlier processes, so that no file is ever overwritten.  A file that cannot be written is
reported once, and the program continues.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from adjoint.foundation.files import put_new, write_file
from adjoint.ir.core import Atom, Function, Host, Module, Node, Region, Value, free_values, walk
from adjoint.ir.print import print_module
from adjoint.passes.schedule import EXPANDED, OPTIMISED
from adjoint.runtime.gradients.assembly import Assembled
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.gradients.trace import host_text
from adjoint.runtime.gradients.trie import TrieStep
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.inspection.stages import kernels
from adjoint.runtime.process import context

__all__ = ["save_adjoint", "save_graph"]

_told: set[str] = set()
_next: dict[tuple[str, str], int] = {}
"""For each (directory, name of a graph): the lowest number that may be free for the next file name."""


def save_graph(level: int, graph: Graph) -> None:
    """Write a new graph, stage by stage, to files.

    level  the setting `save_graphs`, which says how much is written
    """
    _saved(graph.symbol, lambda: _stages_of_graph(graph.module, level))


def save_adjoint(level: int, tape: Tape, start: TrieStep, assembled: Assembled, results: Sequence[Atom], adjoint: Function) -> None:
    """Write a new adjoint (the function that computes a gradient) to files.

    level      the setting `save_graphs`, which says how much is written
    tape       the tape that has recorded the program
    start      the step (recorded event) at which the gradient began
    assembled  what was recorded since, as IR
    results    the values of it that are differentiated
    """
    _saved(f"{_name_of(start.owner)}.grad", lambda: _stages_of_adjoint(tape, assembled, results, adjoint, level))


_Files = list[tuple[str, str, str]]
"""Files to write, in order: (stage, extension, text)."""


def _stages_of_graph(module: Module, level: int) -> _Files:
    parts: list[tuple[str, Module]] = [("parsed", module)]

    def observe(position: int, step: Any, before: Module, after: Module) -> None:
        if step is not None and level > 1:
            parts.append((step.name, after))

    parts.append(("optimised", OPTIMISED.run(module, [observe])))
    return _files(parts, level, lambda: [EXPANDED.run(module)])


def _stages_of_adjoint(tape: Tape, assembled: Assembled, results: Sequence[Atom], adjoint: Function, level: int) -> _Files:
    hosts = {symbol: Host(host_text(tape, position)) for symbol, position in assembled.hosts.items()}

    def module(function: Function) -> Module:
        named = {getattr(node.op, name, "") for node in walk(function.body) for name in ("symbol", "rule")}
        return Module({}, {symbol: host for symbol, host in hosts.items() if symbol in named}, {function.symbol: function})

    parts = [("adjoint", module(adjoint))]
    if level > 1:
        free = [value for value in free_values(assembled.nodes, results) if isinstance(value, Value)]
        path = Region(tuple(free), assembled.nodes, tuple(results))
        parts.insert(0, ("recorded", module(Function("path", path))))
    return _files(parts, level, lambda: [part for _, part in parts])


def _files(parts: Sequence[tuple[str, Module]], level: int, computed: Callable[[], list[Module]]) -> _Files:
    files: _Files = []
    for stage, module in parts:
        files.append((stage, "ir", print_module(module)))
        if level > 2:
            files.append((stage, "dot", _picture(module)))
    if level > 1:
        files.append(("kernels", "c", "\n".join(kernel["text"] for kernel in kernels(*computed()))))
    return files


def _name_of(owner: Any) -> str:
    """Return a name for what a gradient is taken of.

    owner  the function's code, the class of a Cell, or a node of a graph
    """
    if isinstance(owner, CodeType):
        return owner.co_name
    if isinstance(owner, type) and not owner.__module__.startswith("adjoint.runtime"):
        return owner.__name__
    return "graph"


# -- files -----------------------------------------------------------------------------------------------------------------
def _saved(name: str, made: Callable[[], _Files]) -> None:
    """Write files under the next free number.  A failure is reported once for each directory.

    name  the beginning of the files' names
    made  returns the files
    """
    folder = os.path.abspath(context.get_context("save_graphs_path"))
    plain = re.sub(r"[^\w.-]", "_", name)
    try:
        os.makedirs(folder, exist_ok=True)
        files = made()
        number = _claimed(folder, plain, files[0])
        stage = 0
        for i, (title, extension, text) in enumerate(files[1:], 1):
            stage += title != files[i - 1][0]
            write_file(os.path.join(folder, f"{plain}_{number:04}_{stage:02}_{title}.{extension}"), [text.encode()])
    except Exception as failed:  # a graph that cannot be shown still runs
        if folder not in _told:
            _told.add(folder)
            print(f"adjoint: the graphs are not saved in {folder!r}: {failed}", file=sys.stderr)


def _claimed(folder: str, name: str, first: tuple[str, str, str]) -> int:
    """Write the first file under a number that no other process or thread uses, and return the number."""
    number = _next.get((folder, name), 0)
    while True:
        try:
            write_file(os.path.join(folder, f"{name}_{number:04}_00_{first[0]}.{first[1]}"), [first[2].encode()], put_new)
        except FileExistsError:
            number += 1
            continue
        _next[folder, name] = number + 1
        return number


# -- pictures --------------------------------------------------------------------------------------------------------------
def _picture(module: Module) -> str:
    """Return a module as text in the language of Graphviz: arrows are values, boxes around nodes are regions."""
    painter = _Painter()
    for function in module.functions.values():
        painter.box(f"@{function.symbol}", lambda body=function.body: painter.region(body, "return"))
    return "\n".join(["digraph graph_ {", "  node [shape=box]", *painter.lines, *painter.arrows, "}", ""])


class _Painter:
    """Draws the regions of a module for Graphviz: collects a line for each node, and its incoming arrows."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.arrows: list[str] = []
        self.places: dict[Value, str] = {}
        self.count = 0

    def node(self, label: str, operands: Sequence[Atom], shape: str = "") -> str:
        self.count += 1
        name = f"n{self.count}"
        self.lines.append(f'  {name} [label="{_escaped(label)}"{f" shape={shape}" if shape else ""}]')
        self.arrows += [f'  {self.places[x]} -> {name} [label="{x.type}"]' for x in operands if isinstance(x, Value) and x in self.places]
        return name

    def box(self, label: str, inside: Callable[[], None]) -> None:
        self.count += 1
        self.lines.append(f'  subgraph cluster_{self.count} {{ label="{_escaped(label)}"')
        inside()
        self.lines.append("  }")

    def region(self, region: Region, ends: str) -> None:
        for param in region.params:
            self.places[param] = self.node(param.hint, [], "ellipse")
        for node in region.nodes:
            self._painted(node)
        self.node(ends, region.results, "ellipse")

    def _painted(self, node: Node) -> None:
        symbol = getattr(node.op, "symbol", "")
        title = getattr(node.op, "title", "")
        label = " ".join(filter(None, (node.op.name, title, f"@{symbol}" if symbol else "")))
        name = self.node(label, node.operands)
        for inner in node.regions:
            self.box(label, lambda inner=inner: self.region(inner, "yield"))
        self.places.update((value, name) for value in node.results)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
