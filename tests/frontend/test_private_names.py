"""Private names of classes: `self.__rate` in a class `Net` is the attribute `_Net__rate`."""

from __future__ import annotations

import ast

import pytest

from adjoint.frontend.tree.private import class_around, with_private_names


@pytest.mark.parametrize(("qualified", "owner"), [
    ("f", ""), ("Net.construct", "Net"), ("make.<locals>.Net.construct", "Net"), ("Outer.Net.construct", "Net"),
    ("Net.construct.<locals>.inner", "Net"), ("Net.construct.<locals>.inner.<locals>.<lambda>", "Net"), ("make.<locals>.inner", ""),
    ("<lambda>", "")])
def test_the_class_around_a_function_is_found_by_its_qualified_name(qualified: str, owner: str) -> None:
    assert class_around(qualified) == owner


TEXT = """
def __construct(self, x, *, __by=1):
    __y = self.__rate * x.__class__
    def __inner(z):
        nonlocal __y
        return __y
    try:
        return f(__inner, __by=__y, _z=_x, __=__)
    except OSError as __error:
        pass
"""


@pytest.mark.parametrize("owner", ["Net", "_Net", "___", ""])
def test_names_are_those_that_python_compiles(owner: str) -> None:
    (definition,) = ast.parse(TEXT).body
    changed = with_private_names(definition, owner)
    code, other = (_code(tree) for tree in (_in_a_class(definition, owner), _in_a_class(changed, owner)))
    assert code.co_names == other.co_names
    assert code.co_varnames == other.co_varnames
    assert code.co_cellvars == other.co_cellvars
    assert ast.dump(definition) == ast.dump(ast.parse(TEXT).body[0])
    assert (changed is definition) == (not owner.strip("_"))


def test_a_class_inside_has_its_own_private_names() -> None:
    (definition,) = ast.parse("def f(self):\n    class Inner(self.__base):\n        def g(self):\n            return self.__x").body
    text = ast.unparse(with_private_names(definition, "Net"))
    assert "class Inner(self._Net__base)" in text
    assert "self._Inner__x" in text


def _in_a_class(definition: ast.stmt, owner: str) -> ast.Module:
    if not owner:
        return ast.Module([definition], [])
    (made,) = ast.parse(f"class {owner}: pass").body
    assert isinstance(made, ast.ClassDef)
    made.body = [definition]
    return ast.Module([made], [])


def _code(module: ast.Module):
    code = compile(ast.fix_missing_locations(module), "private.py", "exec")
    while code.co_name != "__construct":
        code = next(inner for inner in code.co_consts if hasattr(inner, "co_consts"))
    return code
