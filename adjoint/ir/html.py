"""IR as HTML, for notebooks: static, without scripts, every character of the program escaped."""

from __future__ import annotations

from typing import Final

from adjoint.ir.core import Function, Module
from adjoint.ir.print import Token, listing

__all__ = ["listing_html", "titled"]

_COLOURS: Final = {
    "keyword": "#a626a4", "type": "#0184bc", "symbol": "#b76b01", "literal": "#50a14f", "string": "#50a14f", "location": "#909090",
}
_ESCAPED: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def listing_html(of: Module | Function, title: str = "") -> str:
    """Return a module or function as an HTML element.

    title  a line above it, as text
    """
    return titled(title, "\n".join("".join(map(_token, line)) for line in listing(of).lines))


def titled(title: str, html: str) -> str:
    """Return preformatted HTML as an element, with a title, which is text."""
    heading = f"<div><strong>{title.translate(_ESCAPED)}</strong></div>" if title else ""
    return f'<div>{heading}<pre style="overflow-x: auto; line-height: 1.35">{html}</pre></div>'


def _token(token: Token) -> str:
    text, colour = token.text.translate(_ESCAPED), _COLOURS.get(token.kind)
    return f'<span style="color: {colour}">{text}</span>' if colour else text
