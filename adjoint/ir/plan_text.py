"""A plan as text: the lines of the IR, sorted into pieces, each with the slots that it reads, fills and frees.

A slot in an arena is followed by its offset in bytes.

    plan @f: 5 slots, 1 of them shown to Python
    launches, an arena of 64 bytes
      a: f32[2] = mul(x, 2.0_f32)          #2 at 0 <- #0, #1
      c: f32[2] = tanh(a)                  #3 <- #2; frees #2
    host
      d: f32[2] = apply! @seen(c)          #4 <- #3
    results #4
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from adjoint.ir.core import Node
from adjoint.ir.plan import Access, Block, Control, HostCall, Launch, Nested, PieceEntry, Plan, PythonAccess, Straight, Transfer
from adjoint.ir.print import Token, listing

__all__ = ["PlanLine", "plan_listing", "plan_text"]


class PlanLine(NamedTuple):
    """A line of a printed plan.

    tokens  the line in pieces
    node    the node that it is about; None for one about slots or pieces
    """

    tokens: list[Token]
    node: Node | None = None


def plan_text(plan: Plan) -> str:
    """Return the text of a plan, for reading; there is no parser for it."""
    return "".join("".join(token.text for token in line.tokens) + "\n" for line in plan_listing(plan))


def plan_listing(plan: Plan) -> list[PlanLine]:
    """Return the lines of a plan's text, each with the node that it is about."""
    return _Text(plan).listed()


class _Text:
    def __init__(self, plan: Plan):
        self.plan = plan
        self.listing = listing(plan.function, locations=False)
        self.lines: list[tuple[list[Token], str, Node | None]] = []
        self.offsets = {i: slot.offset for i, slot in enumerate(plan.slots) if slot.offset is not None}

    def listed(self) -> list[PlanLine]:
        plan = self.plan
        shown = sum(slot.shown for slot in plan.slots)
        heading = f"plan @{plan.function.symbol}: {len(plan.slots)} slots, {shown} of them shown to Python"
        params = [f"{slot.name}: {slot.type} in #{i}" for i, slot in zip(plan.params, plan.slots)]
        constants = [f"{slot.name}: {slot.type} in #{i}" for i, slot in enumerate(plan.slots) if slot.literal is not None]
        for what, places in (("arguments", params), ("constants", constants)):
            if places:
                self.say(f"{what} {', '.join(places)}")
        self.block(plan.body, "")
        self.say(f"results {_slots(plan.body.yields)}".rstrip())
        lengths = [sum(len(token.text) for token in line) for line, _, _ in self.lines]
        width = max((length for length, (_, slots, _) in zip(lengths, self.lines, strict=True) if slots), default=0)
        made = [PlanLine([Token("heading", heading)])]
        for (line, slots, node), length in zip(self.lines, lengths, strict=True):
            margin = [Token("space", " " * (width + 2 - length)), Token("slot", slots)] if slots else []
            made.append(PlanLine([*line, *margin], node))
        return made

    def say(self, text: str) -> None:
        """Append a line that is about no node."""
        self.lines.append(([Token("heading", text)], "", None))

    def block(self, block: Block, indent: str) -> None:
        for piece in block.pieces:
            match piece:
                case Straight(entries=entries, arena=arena):
                    self.say(f"{indent}launches" + (f", an arena of {arena} bytes" if arena else ""))
                    for entry in entries:
                        self.entry(entry, f"{indent}  ")
                case HostCall():
                    self.say(f"{indent}host")
                    self.node(piece, f"{indent}  ")
                case Control():
                    self.control(piece, indent)

    def control(self, piece: Control, indent: str) -> None:
        self.node(piece, indent)
        for inner in piece.blocks:
            self.say(f"{indent}  region over {_slots(piece.params)}" if piece.params else f"{indent}  region")
            self.block(inner, f"{indent}    ")
            self.say(f"{indent}    yields {_slots(inner.yields)}".rstrip())

    def entry(self, entry: PieceEntry, indent: str) -> None:
        if isinstance(entry, Nested):
            self.nested(entry.control, entry.offsets, indent)
        else:
            self.node(entry, indent)

    def nested(self, piece: Control, offsets: Mapping[int, int], indent: str) -> None:
        """Append nested control flow: what is in its regions belongs to the piece around it, and so do the buffers."""
        self.node(piece, indent)
        around, self.offsets = self.offsets, {**self.offsets, **offsets}
        for block in piece.blocks:
            self.say(f"{indent}  region over {self.results(piece.params)}" if piece.params else f"{indent}  region")
            for inner in block.pieces:
                if isinstance(inner, Control):
                    self.nested(inner, offsets, f"{indent}    ")
                for each in inner.entries if isinstance(inner, Straight) else ():
                    self.entry(each, f"{indent}    ")
            self.say(f"{indent}    yields {_slots(block.yields)}".rstrip())
        self.offsets = around

    def node(self, piece: Launch | Access | PythonAccess | Transfer | HostCall | Control, indent: str) -> None:
        """Append the line of a node in the IR, with its slots."""
        moved = " <- ".join(slots for slots in (self.results(piece.results), _slots(piece.operands)) if slots)
        slots = "; ".join(filter(None, (moved, f"frees {_slots(piece.freed)}" if piece.freed else "")))
        self.lines.append((self.line(piece.node, indent), slots, piece.node))
        if isinstance(piece, Launch):
            # The nodes of a fused node are in one kernel, and their values in no slot.
            self.lines += [(self.line(node, f"{indent}  "), "", node) for region in piece.node.regions for node in region.nodes]

    def line(self, node: Node, indent: str) -> list[Token]:
        """Return the line of a node in the IR, with another indentation and without the brace that opens a region."""
        *tokens, last = self.listing.lines[self.listing.line_of[node]]
        if tokens[0].kind == "space":
            tokens.pop(0)
        if rest := last.text.removesuffix("{").rstrip():
            tokens.append(Token(last.kind, rest))
        return [Token("space", indent), *tokens] if indent else tokens

    def results(self, slots: tuple[int, ...]) -> str:
        offsets = [self.offsets.get(slot) for slot in slots]
        return ", ".join(f"#{slot}" + ("" if offset is None else f" at {offset}") for slot, offset in zip(slots, offsets, strict=True))


def _slots(slots: tuple[int, ...] | range) -> str:
    return ", ".join(f"#{slot}" for slot in slots)
