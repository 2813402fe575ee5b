"""From function objects to their syntax trees: the right one, with correct locations, or an error that says why not."""

from __future__ import annotations

import ast
import functools
import importlib.util
import linecache
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from adjoint.foundation.budget import budget
from adjoint.foundation.diagnostics import At, CompileError, Diagnostic
from adjoint.frontend.tree.source import definition_of


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], ModuleType]:
    """Import a text as a module with a file of its own."""

    def loaded(text: str) -> ModuleType:
        name = f"loaded_{len(list(tmp_path.iterdir()))}"
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return loaded


def body_of(function: FunctionType) -> str:
    """Return the expression that a function returns, as text."""
    node, _ = definition_of(function)
    return ast.unparse(node.body if isinstance(node, ast.Lambda) else node.body[-1])


# Which definition -----------------------------------------------------------------------------------------------------


def test_lambdas_on_one_line(load: Callable[[str], ModuleType]) -> None:
    module = load("a, b = lambda x: x + 1, lambda x: x + 1\nc = [lambda x: x * i for i in range(2)]\nd = (lambda f: lambda y: f(y))(a)\n")
    first, second = (definition_of(f)[0] for f in (module.a, module.b))
    assert (first.col_offset, second.col_offset) == (7, 24)
    assert body_of(module.c[0]) == body_of(module.c[1]) == "x * i"
    assert body_of(module.d) == "f(y)"


def test_lambdas_of_constants(load: Callable[[str], ModuleType]) -> None:
    module = load("a, b, c = lambda x: 7.0, lambda x: 8.0, lambda x: lambda y: None\n")
    assert [body_of(f) for f in (module.a, module.b, module.c(0))] == ["7.0", "8.0", "None"]


def test_lambdas_over_several_lines_and_with_defaults(load: Callable[[str], ModuleType]) -> None:
    module = load("f = (\n    lambda x, scale=lambda y: y * 2:\n        scale(x)\n        + 1\n)\ng = f.__defaults__[0]\n")
    assert body_of(module.f) == "scale(x) + 1"
    assert body_of(module.g) == "y * 2"


def test_decorated_functions(load: Callable[[str], ModuleType]) -> None:
    module = load("""\
import functools

def logged(text):
    def around(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args)
        return wrapper
    return around

@logged(
    "f"
)
@logged("again")
def f(x):
    return x * 2
""")
    assert body_of(module.f) == "return function(*args)"
    inner = module.f.__wrapped__.__wrapped__
    assert body_of(inner) == "return x * 2"
    assert definition_of(inner)[0].lineno == 15


def test_functions_in_functions_and_classes(load: Callable[[str], ModuleType]) -> None:
    module = load("""\
def made(n):
    def f(x):
        return x * n
    return f

class A:
    def f(self, x):
        return x + 1

    class B:
        @staticmethod
        def f(x):
            return x - 1

        @property
        def g(self):
            return 3

def f(x):
    return x

if f is not None:
    def f(x):
        return -x
""")
    assert body_of(module.made(2)) == "return x * n"
    assert body_of(module.A.f) == "return x + 1"
    assert body_of(module.A.B.f) == "return x - 1"
    assert body_of(module.A.B.g.fget) == "return 3"
    assert body_of(module.f) == "return -x"
    assert definition_of(module.A.B.f)[1].name == "A.B.f"


def test_definitions_of_one_name_on_one_line(load: Callable[[str], ModuleType]) -> None:
    module = load("f = lambda x: x; g = lambda x: -x\n")
    assert (body_of(module.f), body_of(module.g)) == ("x", "-x")


def test_a_function_with_changed_code_is_found_anew(load: Callable[[str], ModuleType]) -> None:
    module = load("def f(x):\n    return x\n\ndef g(x):\n    return -x\n")
    assert body_of(module.f) == "return x"
    module.f.__code__ = module.g.__code__
    assert body_of(module.f) == "return -x"


def test_future_statements_are_those_of_the_file(load: Callable[[str], ModuleType]) -> None:
    module = load("from __future__ import annotations\n\ndef f(x: not_defined) -> x.y:\n    return x\n")
    assert body_of(module.f) == "return x"


def test_a_text_that_is_run_in_parts() -> None:
    """In a document or a notebook, an import in an earlier part leads to other code for a call than an import in the same text."""
    parts = ["import math\n", "def f(x):\n    return math.sqrt(x)\n"]
    name, space = "<in parts>", {}
    text = "".join(parts)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    for i, part in enumerate(parts):
        exec(compile("\n" * i + part, name, "exec", dont_inherit=True), space)
    assert body_of(space["f"]) == "return math.sqrt(x)"  # type: ignore[arg-type]


# Places ---------------------------------------------------------------------------------------------------------------


def test_columns_count_characters(load: Callable[[str], ModuleType]) -> None:
    module = load('def f(größe):\n    return "äöü" + größe, größe[1]\n')
    node, source = definition_of(module.f)
    returned = node.body[0].value.elts  # type: ignore[union-attr, index]
    first, second = (source.at(item) for item in returned)
    assert (first.line, first.column, first.end) == (2, 12, 25)  # type: ignore[union-attr]
    assert (second.line, second.column, second.end) == (2, 27, 35)  # type: ignore[union-attr]
    assert first.file == module.__file__  # type: ignore[union-attr]


def test_what_goes_on_over_lines_is_shown_by_its_first(load: Callable[[str], ModuleType]) -> None:
    module = load("def f(x):\n    if x:\n        return (x +\n                1)\n    return x\n")
    node, source = definition_of(module.f)
    branch = node.body[0]  # type: ignore[index]
    assert source.at(branch) == At(module.__file__ or "", 2, 5, 10)
    assert source.at(branch.body[0].value) == At(module.__file__ or "", 3, 17, 20)  # type: ignore[union-attr]


# What is refused -----------------------------------------------------------------------------------------------------------


def mistake(function: FunctionType) -> str:
    with pytest.raises(CompileError) as caught:
        definition_of(function)
    return caught.value.diagnostic.code


@pytest.mark.parametrize("after", [
    "def f(x):\n    return x * 3\n",  # another constant
    "def f(x):\n    return x + 2\n",  # another operator
    "def f(x):\n    return y * 2\n",  # another name
    "\ndef f(x):\n    return x * 2\n",  # another line
    "def f(x):\n    return  x * 2\n",  # another column
    "def f(x):\n    return x * 2.0\n",  # another type of a constant
    "def g(x):\n    return x * 2\n",
    "",
], ids=repr)
def test_a_file_edited_since(load: Callable[[str], ModuleType], after: str) -> None:
    module = load("def f(x):\n    return x * 2\n")
    assert module.__file__ is not None
    linecache.cache.pop(module.__file__, None)
    Path(module.__file__).write_text(after, encoding="utf-8")
    assert mistake(module.f) == ("E201" if after else "E200")


def test_a_constant_of_a_function_inside_that_was_edited(load: Callable[[str], ModuleType]) -> None:
    text = "def f(x):\n    def g(y):\n        return y + 0.0\n    return g(x)\n"
    module = load(text)
    assert module.__file__ is not None
    linecache.cache.pop(module.__file__, None)
    Path(module.__file__).write_text(text.replace("+ 0.0", "+-0.0"), encoding="utf-8")
    assert mistake(module.f) == "E201"


def test_edits_elsewhere_in_the_file_do_not_matter(load: Callable[[str], ModuleType]) -> None:
    module = load("def f(x):\n    return x * 2\n\n\ndef g(x):\n    return x\n")
    assert module.__file__ is not None
    linecache.cache.pop(module.__file__, None)
    Path(module.__file__).write_text("def f(x):\n    return x * 2\n\n\ndef g(x):\n    return x + 1\n", encoding="utf-8")
    assert body_of(module.f) == "return x * 2"
    assert mistake(module.g) == "E201"


def test_a_function_without_a_text() -> None:
    space: dict[str, FunctionType] = {}
    exec("def f(x):\n    return x\n", space)
    assert mistake(space["f"]) == "E200"
    assert mistake(eval("lambda x: x")) == "E200"


def test_another_text_of_the_same_name_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -c` of Python 3.13 keeps its text as `<string>`, the file name of every text run by `exec`."""
    monkeypatch.setitem(linecache.cache, "<string>", (1, None, ["print(1)\n"], "<string>"))
    assert mistake(eval("lambda x: x")) == "E200"


def test_a_plain_prompt_says_what_would_do() -> None:
    """Up to Python 3.12 the prompt keeps no source text."""
    typed = "import adjoint as ms\nms.jit(lambda x: x + 1)(ms.Tensor(1.0))\nprint('on')\n"
    done = subprocess.run([sys.executable, "-i"], input=typed, capture_output=True, text=True, check=False)
    assert "on" in done.stdout
    assert sys.version_info >= (3, 13) or ("error[E200]" in done.stderr and "in a file, or type it in a notebook" in done.stderr)


# Texts that are not files ---------------------------------------------------------------------------------------------

CELL = """\
def f(x):
    y = x + 1
    return y * 2
g = lambda x: x - 1
"""


@pytest.mark.parametrize("name", ["<ipython-input-3-0f1e>", "/tmp/ipykernel_17/2938.py"])
def test_a_cell_of_a_notebook(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """IPython keeps a cell's text in `linecache` and compiles its statements one by one."""
    monkeypatch.setitem(linecache.cache, name, (len(CELL), None, CELL.splitlines(keepends=True), name))
    space: dict[str, FunctionType] = {}
    for statement in ast.parse(CELL, name).body:
        exec(compile(ast.Module([statement], []), name, "exec", dont_inherit=True), space)
    assert (body_of(space["f"]), body_of(space["g"])) == ("return y * 2", "x - 1")
    node, source = definition_of(space["f"])
    assert "1  | def f(x):" in Diagnostic("E200", "", "", source.at(node)).render()


@pytest.mark.parametrize("name", ["<python-input-7>", "<string>"])
def test_what_was_typed_at_the_prompt_of_python_3_13(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It keeps source texts by code object."""
    space: dict[str, FunctionType] = {}
    exec(compile(CELL, name, "exec", dont_inherit=True), space)
    kept = {space["f"].__code__: CELL.splitlines(keepends=True)}
    monkeypatch.setattr(linecache, "_getlines_from_code", lambda code: kept.get(code, []), raising=False)
    monkeypatch.setattr(linecache, "cache", {})
    assert body_of(space["f"]) == "return y * 2"


def test_a_module_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "nets.zip", "w") as archive:
        archive.writestr("zipped_net.py", CELL)
    monkeypatch.syspath_prepend(str(tmp_path / "nets.zip"))
    assert body_of(importlib.import_module("zipped_net").f) == "return y * 2"


# Files whose asserts pytest rewrites ------------------------------------------------------------------------------------

NET = """\
from adjoint import Tensor, nn


class Net(nn.Cell):
    def __init__(self, size=1):
        super().__init__()
        self.size = size

    def construct(self, x, scale=2):
        assert x.shape == (self.size,), f"{x.shape}"
        for i in range(2):
            assert i < scale and [k for k in range(i)] is not None
            x = x * scale if i else x + 1

        def inner(z):
            assert z.ndim == 1
            return z

        return inner(x)
"""

TESTS = """\
import adjoint as ms
import conftest, edited_plugin, net_plugin
import linecache
import pathlib
import pytest


@pytest.mark.parametrize("module", [conftest, net_plugin])
def test_graph(module):
    assert any(name.startswith("@") for name in module.Net.construct.__code__.co_varnames), "pytest has rewritten it"
    compiled = ms.jit(module.Net())
    assert compiled(ms.Tensor([1.0])).asnumpy() == [4]
    with pytest.raises(AssertionError, match="2,"):
        compiled(ms.Tensor([1.0, 2.0]))


def test_an_edit():
    path = pathlib.Path(edited_plugin.__file__)
    linecache.cache.pop(str(path), None)
    path.write_text(path.read_text().replace("x + 1", "x + 2"))
    with pytest.raises(ms.CompileError, match="E201"):
        ms.jit(edited_plugin.Net(2))(ms.Tensor([1.0, 2.0]))
"""


def test_what_pytest_has_rewritten(tmp_path: Path) -> None:
    """The asserts of tests, conftest and plugins differ from those of the file; their functions are still parsed."""
    for name, text in {"conftest.py": NET, "net_plugin.py": NET, "edited_plugin.py": NET, "test_net.py": TESTS}.items():
        (tmp_path / name).write_text(text)
    words = ["-m", "pytest", "-q", "-p", "net_plugin", "-p", "edited_plugin", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])})
    assert done.returncode == 0, done.stdout


def test_an_async_function(load: Callable[[str], ModuleType]) -> None:
    assert mistake(load("async def f(x):\n    return x\n").f) == "E202"


def test_only_the_statement_of_a_function_is_compiled(load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement once; the whole file only where that does not give the code of the function, as of the second one in a line."""
    module = load("import math\n\nclass A:\n    def f(x):\n        return x + 1\n\n    def g(x):\n        return x + 2\n\n"
                  "h = lambda x: x + 3\n\none = 1; late = lambda x: x + 4\n")
    compiled: list[list[type]] = []

    def seen(tree: ast.Module, *rest: object, **named: object) -> object:
        compiled.append([type(statement) for statement in tree.body])
        return compile(tree, *rest, **named)  # type: ignore[call-overload]

    monkeypatch.setitem(definition_of.__globals__, "compile", seen)
    for function in (module.A.f, module.A.g, module.h):
        definition_of(function)
    assert compiled == [[ast.ClassDef], [ast.Assign]]
    definition_of(module.late)
    assert compiled[2:] == [[ast.Assign], [ast.Import, ast.ClassDef, ast.Assign, ast.Assign, ast.Assign]]


def test_functions_of_this_file() -> None:
    def local(x):
        return x * 5

    assert body_of(local) == "return x * 5"  # type: ignore[arg-type]
    assert body_of(functools.partial(local).func) == "return x * 5"  # type: ignore[arg-type]
    assert definition_of(local)[1].file == sys.modules[__name__].__file__  # type: ignore[arg-type]


def test_sources_are_part_of_the_budget() -> None:
    """An evicted source is parsed again, with the same result."""
    definition, source = definition_of(definition_of)
    assert {"parsed files", "parsed functions"} <= {name for name, nbytes in budget.usage().items() if nbytes}
    for cache in budget.caches:
        if cache.name.startswith("parsed"):
            cache.evict(budget.period)
    again, same = definition_of(definition_of)
    assert again is not definition and ast.dump(again) == ast.dump(definition) and same.at(again) == source.at(definition)
