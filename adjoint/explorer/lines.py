"""The lines of the explorer's stages: of the IR, of a plan, and of C, each with the nodes that it stands for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from adjoint.explorer.identity import Chain, Stretch
from adjoint.explorer.tables import Cells, Places
from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.diagnostics import Loc
from adjoint.ir.core import Function, Module, Node, walk
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.host import Apply, Attach, Callback, CellCallback, Hook, Observe, Outputs
from adjoint.ir.plan import Plan
from adjoint.ir.plan_text import plan_listing
from adjoint.ir.print import Token, listing
from adjoint.runtime.inspection.stages import PlanPart, ServedKernel, served

__all__ = ["Changes", "Describer", "Line", "changes"]

Text = tuple[tuple[str, str], ...]
"""A line as tokens: kind and text of each."""


@dataclass(eq=False)
class Line:
    """A line of a stage.

    text    its tokens
    chains  the nodes of the parsed graph that it stands for (`identity.Chain`)
    own     those of its own, without those in whose place they are used
    at      the index of its place; -1 if it has none
    cell    the index of its cell; -1 if it has none
    hook    True if a hook stands here
    value   the values that it defines, as the text names them
    type    their types
    node    the node that it is about
    function  the function of the IR that begins here
    kernel  the kernel that begins here
    more    what a run has measured: keys of the page's data
    """

    text: Text
    chains: Sequence[Chain] = ()
    own: Sequence[Chain] = ()
    at: int = -1
    cell: int = -1
    hook: bool = False
    value: str = ""
    type: str = ""
    node: Node | None = None
    function: Function | None = None
    kernel: ServedKernel | None = None
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Changes:
    """How a stage differs from another.

    removed  for each line that went, its number there, and the number of the line here before which it stood
    added    the numbers of the lines that came
    """

    removed: list[tuple[int, int]]
    added: list[int]


def changes(before: Sequence[Line], after: Sequence[Line]) -> Changes:
    """Compare two stages.  Lines are the same if they stand for the same nodes and differ in names of values only."""
    matcher = difflib.SequenceMatcher(None, [_key(line) for line in before], [_key(line) for line in after])
    removed: list[tuple[int, int]] = []
    added: list[int] = []
    for tag, first, last, begin, end in matcher.get_opcodes():
        if tag != "equal":
            removed += [(number, begin) for number in range(first, last)]
            added += range(begin, end)
    return Changes(removed, added)


def _key(line: Line) -> Any:
    return tuple([text.strip() for kind, text in line.text if kind not in ("value", "space")]), tuple(line.own)


class Describer:
    """Makes the lines of stages.

    hooks  the symbols of the Python functions that are hooks
    """

    def __init__(self, places: Places, cells: Cells, hooks: set[str]):
        self._places, self._cells, self._hooks = places, cells, hooks
        self._at: dict[int, tuple[Loc, int, int]] = {}

    def of_module(self, module: Module | Function, stretch: Stretch) -> list[Line]:
        """Return the lines of a module's text."""
        printed = listing(module, locations=False)
        lines = [Line(compact(line)) for line in printed.lines]
        functions = [module] if isinstance(module, Function) else module.functions.values()
        for function in functions:
            head = lines[printed.line_of[function]]
            head.at, head.function = self._places.of(function.loc), function
            for node in walk(function.body):
                first = printed.line_of[node]
                self._describe(lines[first], node, stretch)
                for region in node.regions[1:]:
                    self._describe(lines[printed.line_of[region]], node, stretch, names=False)
        return lines

    def of_plan(self, parts: Iterable[PlanPart], stretch: Stretch) -> list[Line]:
        """Return the lines of a plan, with what is said about it."""
        lines: list[Line] = []
        for part in parts:
            match part:
                case str():
                    lines += [Line(_plain("heading", line)) for line in part.splitlines()]
                case Plan():
                    for each in plan_listing(part):
                        line = Line(compact(each.tokens))
                        if each.node is not None:
                            self._describe(line, each.node, stretch)
                        lines.append(line)
                case Function():
                    lines += self.of_module(part, stretch)
        return lines

    def of_kernels(self, kernels: Iterable[tuple[ServedKernel, Stretch]]) -> list[Line]:
        """Return the lines of kernels; each stands for the nodes that it computes, and a line that computes none alone for those of its
        kernel.

        kernels  each with the series of stages that its nodes are of
        """
        lines: list[Line] = []
        for kernel, stretch in kernels:
            whole = self._joined(kernel.nodes, stretch)
            at, cell = self._place(kernel.nodes[0])
            serves = list(dict.fromkeys(map(served, kernel.nodes)))
            heads = [f"// {line}" for line in [*serves[:4], *([f"and {len(serves) - 4} more"] if len(serves) > 4 else [])]]
            begin = len(lines)
            lines += [Line(_plain("comment", head), whole, whole, at, cell, node=kernel.nodes[0]) for head in heads]
            inside = False
            for number, text in enumerate(kernel.c.rstrip("\n").split("\n"), 1):
                tokens, inside = c_tokens(text, inside)
                steps = kernel.steps.get(number)
                if steps is None:
                    lines.append(Line(tokens, whole, whole, at, cell))
                else:
                    chains = self._joined(steps, stretch)
                    lines.append(Line(tokens, chains, chains, *self._place(steps[0]), node=steps[0]))
            lines[begin].value, lines[begin].kernel = kernel.name, kernel
            lines.append(Line(()))
        return lines

    def _describe(self, line: Line, node: Node, stretch: Stretch, names: bool = True) -> None:
        line.chains, line.own = stretch.chains(node), stretch.identities.chains(node.loc)
        line.at, line.cell = self._place(node)
        line.hook = self._is_hook(node)
        line.node = node
        if names and node.results:
            count = len(node.results)
            line.value = ", ".join([text for kind, text in line.text if kind == "value"][:count])
            line.type = ", ".join([str(value.type) for value in node.results])

    def _place(self, node: Node) -> tuple[int, int]:
        known = self._at.get(id(node.loc))
        if known is None:
            known = self._at[id(node.loc)] = node.loc, self._places.of(node.loc), self._cells.of(node.loc)
        return known[1:]

    def _joined(self, nodes: Iterable[Node], stretch: Stretch) -> list[Chain]:
        return list(dict.fromkeys(chain for node in nodes for chain in stretch.chains(node)))

    def _is_hook(self, node: Node) -> bool:
        op = node.op
        if isinstance(op, (Hook, Outputs, Attach, Callback, CellCallback, Observe)):
            return True
        return bool(op.symbol) and not op.rule if isinstance(op, CellOp) else isinstance(op, Apply) and op.symbol in self._hooks


# -- tokens ----------------------------------------------------------------------------------------------------------------
def compact(tokens: Sequence[Token]) -> Text:
    """Return tokens with punctuation and spaces that follow each other as one."""
    made: list[tuple[str, str]] = []
    for kind, text in tokens:
        if made and kind in ("space", "punctuation") and made[-1][0] in ("space", "punctuation"):
            made[-1] = "punctuation", made[-1][1] + text
        else:
            made.append((kind, text))
    return tuple(made)


def _plain(kind: str, text: str) -> Text:
    return ((kind, text),) if text else ()


_C = re.compile(
    r"""(?P<comment>//.*|/\*.*?(?:\*/|$))|(?P<string>"(?:\\.|[^"\\])*")|(?P<preprocessor>^\#.*)|(?P<word>[A-Za-z_]\w*)"""
    r"""|(?P<literal>(?:0x[0-9a-fA-F.p+-]+|\d[\w.]*(?:(?<=[eE])[+-]\d+f?)?)\w*)|(?P<rest>[^\w"/]+|/)"""
)
_C_KEYWORDS = frozenset({"break", "case", "const", "continue", "do", "else", "for", "goto", "if", "inline", "restrict", "return", "sizeof",
                         "static", "struct", "switch", "typedef", "union", "while"})
_C_TYPES = frozenset({"bool", "char", "double", "float", "int", "int16_t", "int32_t", "int64_t", "int8_t", "long", "size_t", "uint16_t",
                      "uint32_t", "uint64_t", "uint8_t", "unsigned", "void"})


def c_tokens(line: str, inside: bool) -> tuple[Text, bool]:
    """Return a line of C as tokens, and whether it ends inside of a comment.

    inside  True if it begins inside of a comment
    """
    made: list[tuple[str, str]] = []
    begin = 0
    if inside:
        end = line.find("*/")
        if end < 0:
            return _plain("comment", line), True
        begin = end + 2
        made.append(("comment", line[:begin]))
    for kind, text in _c_pieces(line[begin:]):
        if made and made[-1][0] == kind == "plain":
            made[-1] = kind, made[-1][1] + text
        else:
            made.append((kind, text))
    return tuple(made), bool(made) and made[-1][0] == "comment" and made[-1][1].startswith("/*") and not made[-1][1].endswith("*/")


def _c_pieces(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        match = _C.match(text, at)
        if match is None:
            yield "plain", text[at]
            at += 1
            continue
        piece, at = match[0], match.end()
        match match.lastgroup:
            case "word":
                yield "keyword" if piece in _C_KEYWORDS else "type" if piece in _C_TYPES else "plain", piece
            case "rest":
                yield "plain", piece
            case kind:
                yield kind or "plain", piece
