"""Sphinx's settings for the site; `build.py` writes the sources that it reads."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from sphinx.util.inspect import signature as evaluated_signature
from sphinx.util.inspect import stringify_signature

sys.path.insert(0, str(Path(__file__).parent))

from docstrings import as_restructured_text

import adjoint

project, copyright, version = "adjoint", "the authors of adjoint", adjoint.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]

myst_heading_anchors = 3
"""Links to headings, `page.md#heading`, as GitHub makes them."""

default_role = "code"
smartquotes = False
autodoc_typehints = "signature"
autodoc_use_legacy_class_based = False
add_module_names = False
python_maximum_signature_line_length = 100
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*")]
"""Annotations name classes that have no page.  Links that someone has written are checked."""

toc_object_entries = False
"""Thousands of names in the contents of each page would double the time of building."""

html_theme = "furo"
html_title = "adjoint"
html_extra_path = [str(Path(__file__).parents[2] / "out" / "site-sources" / "static")]
html_copy_source = False
html_show_sphinx = False


def _signature(app, kind, name, object_, options, signature, returned) -> tuple[str, str | None] | None:
    """Show the arguments of `__init__`: Cells have a `__new__` that takes anything."""
    if kind != "class" or "__init__" not in {name for each in object_.__mro__[:-1] for name in vars(each)}:
        return None
    with suppress(TypeError, ValueError):
        given = evaluated_signature(object_.__init__, bound_method=True)
        known = [each.replace(annotation=each.empty) if isinstance(each.annotation, str) else each for each in given.parameters.values()]
        return stringify_signature(given.replace(parameters=known, return_annotation=given.empty), unqualified_typehints=True), None
    return None


def _process(app, kind, name, object_, options, lines) -> None:
    as_restructured_text(lines)


def setup(app) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
