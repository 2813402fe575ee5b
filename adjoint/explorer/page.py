"""The explorer's page: one HTML file with the program in it, which loads nothing else."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from adjoint.explorer.data import escaped

__all__ = ["page"]


def page(program: Mapping[str, Any]) -> str:
    """Return the explorer of a program as the text of one HTML file.

    program  what the page shows, as plain JSON values; numbers are finite
    """
    title = html.escape(f"{program['title']} · adjoint")
    data = f'<script type="application/json" id="program">{escaped(program)}</script>'
    return f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n<body>{data}</body>\n</html>\n'
