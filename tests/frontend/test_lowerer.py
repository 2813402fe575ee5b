"""The map of the frontend's parts is true."""

from __future__ import annotations

import ast
import inspect

from adjoint.frontend import lowerer


def test_the_map_names_the_parts_in_the_order_in_which_they_are_made() -> None:
    # A part is given parts that are made before it, so the order shows which way the arrows run.
    imported = {name for name, x in vars(lowerer).items() if inspect.isclass(x) and x.__module__.startswith("adjoint.frontend")}
    (init,) = [node for node in ast.walk(ast.parse(inspect.getsource(lowerer))) if getattr(node, "name", "") == "__init__"]
    calls = [node for node in ast.walk(init) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    made = [call.func.id for call in sorted(calls, key=lambda call: call.lineno) if call.func.id in imported - {"Runner"}]
    rows = [line.split() for line in (lowerer.__doc__ or "").splitlines() if line.startswith("    ")]
    assert [row[0] for row in rows[1:]] == made
