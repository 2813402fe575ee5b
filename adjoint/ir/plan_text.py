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

from adjoint.ir.core import Node
from adjoint.ir.plan import Access, Block, Control, HostCall, Launch, Nested, PieceEntry, Plan, PythonAccess, Straight, Transfer
from adjoint.ir.print import listing

__all__ = ["plan_text"]


def plan_text(plan: Plan) -> str:
    """Return the text of a plan, for reading; there is no parser for it."""
    return _Text(plan).text()


class _Text:
    def __init__(self, plan: Plan):
        self.plan = plan
        self.listing = listing(plan.function, locations=False)
        self.lines: list[tuple[str, str]] = []
        self.offsets = {i: slot.offset for i, slot in enumerate(plan.slots) if slot.offset is not None}

    def text(self) -> str:
        plan = self.plan
        shown = sum(slot.shown for slot in plan.slots)
        heading = f"plan @{plan.function.symbol}: {len(plan.slots)} slots, {shown} of them shown to Python"
        params = [f"{slot.name}: {slot.type} in #{i}" for i, slot in zip(plan.params, plan.slots)]
        constants = [f"{slot.name}: {slot.type} in #{i}" for i, slot in enumerate(plan.slots) if slot.literal is not None]
        for what, places in (("arguments", params), ("constants", constants)):
            if places:
                self.lines.append((f"{what} {', '.join(places)}", ""))
        self.block(plan.body, "")
        self.lines.append((f"results {_slots(plan.body.yields)}".rstrip(), ""))
        width = max((len(line) for line, slots in self.lines if slots), default=0)
        return "\n".join([heading, *(f"{line:{width}}  {slots}" if slots else line for line, slots in self.lines)]) + "\n"

    def block(self, block: Block, indent: str) -> None:
        for piece in block.pieces:
            match piece:
                case Straight(entries=entries, arena=arena):
                    self.lines.append((f"{indent}launches" + (f", an arena of {arena} bytes" if arena else ""), ""))
                    for entry in entries:
                        self.entry(entry, f"{indent}  ")
                case HostCall():
                    self.lines.append((f"{indent}host", ""))
                    self.node(piece, f"{indent}  ")
                case Control():
                    self.control(piece, indent)

    def control(self, piece: Control, indent: str) -> None:
        self.node(piece, indent)
        for inner in piece.blocks:
            self.lines.append((f"{indent}  region over {_slots(piece.params)}" if piece.params else f"{indent}  region", ""))
            self.block(inner, f"{indent}    ")
            self.lines.append((f"{indent}    yields {_slots(inner.yields)}".rstrip(), ""))

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
            self.lines.append((f"{indent}  region over {self.results(piece.params)}" if piece.params else f"{indent}  region", ""))
            for inner in block.pieces:
                if isinstance(inner, Control):
                    self.nested(inner, offsets, f"{indent}    ")
                for each in inner.entries if isinstance(inner, Straight) else ():
                    self.entry(each, f"{indent}    ")
            self.lines.append((f"{indent}    yields {_slots(block.yields)}".rstrip(), ""))
        self.offsets = around

    def node(self, piece: Launch | Access | PythonAccess | Transfer | HostCall | Control, indent: str) -> None:
        """Return the line of a node in the IR, with its slots."""
        line = self.line(piece.node)
        moved = " <- ".join(slots for slots in (self.results(piece.results), _slots(piece.operands)) if slots)
        self.lines.append((indent + line, "; ".join(filter(None, (moved, f"frees {_slots(piece.freed)}" if piece.freed else "")))))
        if isinstance(piece, Launch):
            # The nodes of a fused node are in one kernel, and their values in no slot.
            inside = [self.line(node) for region in piece.node.regions for node in region.nodes]
            self.lines += [(f"{indent}  {text}", "") for text in inside]

    def line(self, node: Node) -> str:
        """Return the line of a node in the IR."""
        tokens = self.listing.lines[self.listing.line_of[node]]
        return " ".join("".join(token.text for token in tokens).split()).removesuffix("{").rstrip()

    def results(self, slots: tuple[int, ...]) -> str:
        offsets = [self.offsets.get(slot) for slot in slots]
        return ", ".join(f"#{slot}" + ("" if offset is None else f" at {offset}") for slot, offset in zip(slots, offsets, strict=True))


def _slots(slots: tuple[int, ...] | range) -> str:
    return ", ".join(f"#{slot}" for slot in slots)
