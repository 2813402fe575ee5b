"""Docstrings of this project as reStructuredText, which Sphinx reads.

They are plain text: paragraphs, code in single backticks, indented examples, and lists of names with two spaces before what they mean:

    x      the operand
    axis   the axis; by default all,
           from the last one on
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

__all__ = ["as_restructured_text"]

_ENTRY = re.compile(r"(?P<names>\*{0,2}[\w.\"'`()\[\]-]+(?:, \*{0,2}[\w.\"'`()\[\]-]+)*)(?P<gap> {2,})(?P<text>\S.*)")
"""A line of a list: names, at least two spaces, what they mean."""
_MARKS = re.compile(r"([\\*|]|(?<=\w)_(?!\w)|(?<!\w)_(?=\w))")
"""Characters that reStructuredText would take for markup."""


def as_restructured_text(lines: list[str]) -> None:
    """Replace the lines of a docstring by the same as reStructuredText."""
    blocks = list(_blocks(lines))
    lines[:] = [line for block in blocks for line in (*_written(block), "")]


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the parts of a text between empty lines; an indented example keeps the empty lines inside of it."""
    block: list[str] = []
    for line in [*(line.expandtabs().rstrip() for line in lines), ""]:
        if line:
            if block and not block[-1] and not line.startswith("  "):
                yield block[:-1]
                block = []
            block.append(line)
        elif block and block[0].startswith("  "):
            block.append("")
        elif block:
            yield block
            block = []
    if any(block):
        yield [line for line in block if line or block[-1]]


def _written(block: list[str]) -> Iterator[str]:
    while block and not block[-1]:
        block = block[:-1]
    if not block:
        return
    if block[0].startswith("  "):
        if _is_a_list([line.strip() for line in block if line]):
            yield from _list([line[len(block[0]) - len(block[0].lstrip()) :] for line in block if line])
            return
        yield from ("::", "", *(f"    {line}" for line in block))
        return
    begin = next((i for i, line in enumerate(block) if _ENTRY.fullmatch(line)), len(block))
    example = next((i for i, line in enumerate(block) if line.startswith("    ") and i), len(block))
    if begin < example or (begin < len(block) and begin == 0):
        yield from _paragraph(block[:begin])
        yield ""
        yield from _list(block[begin:])
    else:
        yield from _paragraph(block[:example])
        if example < len(block):
            yield from ("", "::", "", *(f"    {line}" for line in block[example:]))


def _is_a_list(lines: Sequence[str]) -> bool:
    return bool(_ENTRY.fullmatch(lines[0])) and "=" not in lines[0] and "#" not in lines[0]


def _paragraph(lines: Sequence[str]) -> Iterator[str]:
    yield from (_escaped(" ".join(line.strip() for line in lines)),) if lines else ()


def _list(lines: Sequence[str]) -> Iterator[str]:
    """Yield a list of definitions; a line that does not begin with a name goes on with the one before."""
    entries: list[tuple[str, list[str]]] = []
    for line in lines:
        found = _ENTRY.fullmatch(line)
        if found is not None:
            entries.append((found["names"], [found["text"]]))
        elif entries:
            entries[-1][1].append(line.strip())
    for names, text in entries:
        code = names if "`" in names else ", ".join(f"``{name.strip()}``" for name in names.split(", "))
        yield from (code, f"    {_escaped(' '.join(text))}", "")


def _escaped(text: str) -> str:
    """Return a text in which only code in backticks is markup."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return _MARKS.sub(r"\\\1", text.replace("`", "'"))
    return "".join(_MARKS.sub(r"\\\1", part) if i % 2 == 0 else _code(part, parts[i + 1]) for i, part in enumerate(parts))


def _code(part: str, following: str) -> str:
    """Return code, with what reStructuredText needs around it."""
    joined = "\\ " if following[:1].isalnum() or (following[:1] in "_" and following) else ""
    return f"``{part}``{joined}" if part.strip() == part and part else f"'{part}'"
