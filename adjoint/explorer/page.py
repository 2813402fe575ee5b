"""The explorer's page: one HTML file with style, scripts and the program in it, which loads nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

__all__ = ["page"]

SCRIPTS: Final = (
    "dagre.min.js", "elements.js", "format.js", "tokens.js", "program.js", "links.js", "rows.js", "ruler.js", "sheets.js", "details.js",
    "column.js", "widths.js", "tree.js", "drawing.js", "search.js", "stages.js", "explorer.js",
)
"""In the order in which the browser runs them: a script uses those before it."""

_PLACE = re.compile(r"/\*(policy|title|style|program|script)\*/")
_SPECIAL = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def page(program: Mapping[str, Any]) -> str:
    """Return the explorer of a program as the text of one HTML file.

    program  what the page shows, as `data.as_json` makes it: plain JSON values, numbers finite

    The page holds its program as data between script tags, in which no `<`, `>` or `&` is left, and shows it as text only.  Its policy
    allows its own scripts and style, and no request.

    ValueError for a number that is not finite, which JSON lacks.
    """
    style, script = _source()
    parts = {
        "policy": f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; "
        "form-action 'none'",
        "title": html.escape(f"{program['title']} · adjoint"),
        "style": style,
        # With ASCII alone: a lone surrogate in a user's string has no UTF-8.
        "program": json.dumps(program, separators=(",", ":"), allow_nan=False).translate(_SPECIAL),
        "script": script,
    }
    return _PLACE.sub(lambda place: parts[place[1]], _text("template.html"))


@cache
def _source() -> tuple[str, str]:
    """Return the style and the script of every page."""
    libraries = [_text(name) for name in SCRIPTS if name.endswith(".min.js")]
    own = [_text(name) for name in SCRIPTS if not name.endswith(".min.js")]
    licence = "/*\n@dagrejs/dagre, which lays the drawing out:\n\n" + _text("dagre.LICENSE.txt") + "*/\n"
    script = "\n".join([licence, *libraries, "(() => {", '"use strict";', *own, "})();", ""])
    return _text("style.css"), script


def _text(name: str) -> str:
    return (files("adjoint.explorer") / "web" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return what a Content-Security-Policy calls a script or style with this text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
