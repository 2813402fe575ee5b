"""Writes `docs/ops.md` from the docstrings of the ops: `make docs`.  A test holds the page against them."""

from __future__ import annotations

import inspect
from pathlib import Path

from adjoint.ir import ops
from adjoint.ir.op import registry

PAGE = Path(__file__).with_name("ops.md")


def page() -> str:
    """The text of the page."""
    lines = [
        "# The ops",
        "",
        "Generated from the ops' docstrings by `make docs`; `T` is an element type, `T[s]` a tensor of it of shape `s`,",
        "`ct` the cotangent of the result. How they are written in text is said in [ir.md](ir.md), how to add one in",
        "[adding-an-op.md](adding-an-op.md).",
        "",
    ]
    for module in ops.__all__:
        found = [op for op in registry().values() if op.__module__.rpartition(".")[2] == module]
        if not found:
            continue
        title = (inspect.getmodule(found[0]).__doc__ or "").strip().splitlines()[0]
        lines += [f"## {module}", "", title, ""]
        for op in found:
            attributes = ", ".join(op.attributes())
            lines += [f"### {op.name}", "", "```", f"{op.name}{f'  attributes: {attributes}' if attributes else ''}", "",
                      inspect.cleandoc(op.__doc__ or ""), "```", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
