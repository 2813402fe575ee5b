"""Which names a list of statements assigns and reads, and by which statements it leaves."""

from __future__ import annotations

import ast

import pytest

from adjoint.frontend.tree.scope import assigned_names, changed_at, declared, jumps, names_of, reads_name


def body(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


@pytest.mark.parametrize(("text", "names"), [
    ("a = b", "a"),
    ("a, (b, *c) = d", "a b c"),
    ("a: int = 1\nb += 1", "a b"),
    ("x[i] = y.z = w", ""),
    ("for i, j in k:\n    l = m\nelse:\n    n = 1", "i j l n"),
    ("while (a := f()) > 1:\n    b = 1", "a b"),
    ("if c:\n    a = 1\nelse:\n    b = 2", "a b"),
    ("with f() as a, g() as (b, c):\n    pass", "a b c"),
    ("try:\n    a = 1\nexcept E as b:\n    c = 1\nfinally:\n    d = 1", "a b c d"),
    ("import a.b, c as d\nfrom e import f, g as h", "a d f h"),
    ("def f(x):\n    y = 1\nclass C:\n    z = 1", "f C"),
    ("async def f(x):\n    y = 1", "f"),
    ("a = [b for b in c if (d := b)]", "a d"),
    ("a = lambda b: (c := b)", "a"),
    ("del a", "a"),
    ("match s:\n    case [a, *b] | {'k': a, **b}:\n        c = 1\n    case P(x=d) as e if (f := 1):\n        pass", "a b c d e f"),
    ("match s:\n    case _:\n        pass", ""),
])
def test_assigned_names(text: str, names: str) -> None:
    assert sorted(assigned_names(body(text))) == sorted(names.split())


def test_local_names_of_a_function() -> None:
    (function,) = body("def f(a, /, b, *c, d=e, **g):\n    global h\n    nonlocal i\n    h = i = j = k\n    def l(m):\n        n = 1\n")
    assert isinstance(function, ast.FunctionDef)
    assert names_of(function).own == set("abcdgjl")
    assert declared(function.body, ast.Global) == {"h"}
    assert declared(function.body, ast.Nonlocal) == {"i"}


def test_declarations_of_functions_inside_are_their_own() -> None:
    assert declared(body("if a:\n    global b\ndef f():\n    global c"), ast.Global) == {"b"}


@pytest.mark.parametrize(("text", "leaves"), [
    ("a = 1", False),
    ("return 1", True),
    ("break", True),
    ("continue", True),
    ("if a:\n    if b:\n        return", True),
    ("for i in a:\n    break", False),
    ("for i in a:\n    continue\nelse:\n    break", True),
    ("while a:\n    return", True),
    ("while a:\n    for i in b:\n        break\n    continue", False),
    ("def f():\n    return 1\nlambda: 1", False),
    ("match a:\n    case 1:\n        return", True),
])
def test_jumps(text: str, leaves: bool) -> None:
    assert jumps(body(text)) is leaves


def test_reads_name() -> None:
    statements = body("a = b\nif c:\n    d(e)\ndef f():\n    return g")
    assert {name for name in "abcdefgh" if reads_name(statements, name)} == set("abcdeg")


@pytest.mark.parametrize(("name", "line"), [
    ("a", 2), ("b", 3), ("c", 4), ("d", 5), ("e", 6), ("f", 7), ("self.g", 8), ("h", 9), ("i", 1), ("j", None), ("x", None),
])
def test_changed_at(name: str, line: int | None) -> None:
    statements = body("""\
for i in x:
    a = j
    b += 1
    c.append(j)
    d[0] = 1
    e, (z, y) = j
    f.g = 1
    self.g = 1
    h: int = 1
    def k():
        j = 1
""")
    found = changed_at(statements, name)
    assert (found and found.lineno) == line  # type: ignore[attr-defined]
