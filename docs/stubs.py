"""Writes the stubs of what is made from the classes of ops, so that editors and type checkers know it: `make docs`."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator

from adjoint.ir.op import Op, registry
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.public import Public
from adjoint.ops.publish import parameters, published

HEAD = '''\
"""Written by `make docs` from the classes of the ops, and compared with them by a test."""

{imports}

__all__ = [
{names}
]

'''


def described() -> Iterator[tuple[type[Op], Public]]:
    """Yield each `public` in the package with the class of its op."""
    for kind in registry().values():
        if kind.__module__.startswith("adjoint."):
            yield from ((kind, public) for public in kind.publics())


def functions_stub() -> str:
    """Return the text of ops/generated.pyi."""
    names: list[str] = []
    lines = ["def names_of(op: str) -> Names: ..."]
    for kind, public in described():
        function, *others = public.function_names
        names += [function, *others]
        lines += ["", _definition(kind, public), *_documentation(published(kind).functions[function].__doc__ or ""), ""]
        lines += [f"{other} = {function}" for other in others]
    imports = _IMPORTS.replace("primitive import {}", "publish import Names").format(also="")
    return HEAD.format(imports=imports, names=_listed(names)) + "\n".join([*lines, ""])


def primitives_stub() -> str:
    """Return the text of ops/primitives/generated.pyi."""
    names: list[str] = []
    bases: set[str] = set()
    lines: list[str] = []
    for kind, public in described():
        operands, attributes, _ = parameters(kind, public)
        base = "Primitive" if attributes else "Plain"
        made = [f"{_definition(kind, public, '__init__', drop=operands)} ..."] if attributes else []
        methods = [*made, f"{_definition(kind, public, '__call__', drop=tuple(attributes))} ..."]
        for name in public.primitive_names(kind):
            names.append(name)
            bases.add(base)
            lines += [f"class {name}({base}):", f'    """`ops.{public.name}` as an object."""', ""]
            lines += [*(f"    {line}" for line in methods), ""]
    return HEAD.format(imports=_IMPORTS.format(", ".join(sorted(bases)), also=""), names=_listed(names)) + "\n".join(lines)


def methods_stub() -> str:
    """Return the text of runtime/tensor/methods.pyi."""
    lines: list[str] = []
    for kind, public in described():
        own = parameters(kind, public).operands[0]
        for name in public.method_names:
            text = f"`ops.{public.name}` of this tensor{', written into it' if name.endswith('_') else ''}."
            lines += [f"    {_definition(kind, public, name, drop=(own,))}", f'        """{text}"""', ""]
    return METHODS.format("\n".join(lines[:-1]))


METHODS = '''\
"""Written by `make docs` from the classes of the ops, and compared with them by a test."""

from typing import Any

from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Methods"]

class Methods:
    """The methods of Tensor that are one op each, for editors and type checkers; `adjoint.ops` sets them."""

{}
'''

_IMPORTS = """\
{also}from typing import Any

from adjoint.ops.primitive import {}
from adjoint.runtime.tensor.tensor import Tensor"""


def _definition(kind: type[Op], public: Public, name: str = "", drop: tuple[str, ...] = ()) -> str:
    """Return the first line of the function, or of the method `name` without the parameters `drop`, with types."""
    (function,) = ast.parse(f"def {public.signature}: ...").body
    assert isinstance(function, ast.FunctionDef)
    attributes = parameters(kind, public).attributes
    for parameter in (*function.args.args, *function.args.kwonlyargs):
        field = attributes.get(parameter.arg)
        parameter.annotation = ast.Name("Any" if field is None else str(field.type))
    result = "None" if name == "__init__" else "Tensor" if issubclass(kind, Elementwise) else "Any"
    if name:
        function.name = name
        function.args.args = [ast.arg("self"), *(p for p in function.args.args if p.arg not in drop)]
        function.args.kwonlyargs = [p for p in function.args.kwonlyargs if p.arg not in drop]
        if name == "__call__":
            function.args.defaults, function.args.kw_defaults = [], []
    function.returns = ast.Name(result)
    return ast.unparse(function).partition("\n")[0]


def _documentation(text: str) -> list[str]:
    lines: list[str] = []
    for line in inspect.cleandoc(text).splitlines():
        lines += textwrap.wrap(line, 130, subsequent_indent=" " * 10 if line.startswith(("gradient", " ")) else "") or [""]
    written = [f'"""{lines[0]}', *lines[1:]]
    if len(lines) == 1:
        written = [f'{written[0]}"""']
    else:
        written.append('"""')
    return [f"    {line}".rstrip() for line in written]


def _listed(names: list[str]) -> str:
    return textwrap.fill(", ".join(f'"{name}"' for name in sorted(names)) + ",", 136, initial_indent="    ", subsequent_indent="    ")
