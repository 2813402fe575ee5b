"""Generate Python functions from text.

A function of a few statements made for one graph is faster than general code that looks at each graph.

    conditions = PythonText("x")
    body = [f"return a is {conditions.object(weight)}"]
    function_of("holds(a)", body, conditions.objects, __file__)         def holds(a): return a is x0

The text contains numbered variables.  Everything that the user wrote, such as names of attributes, keys and constants, is passed as
objects: none of it is compiled, and functions with the same text share their code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from adjoint.foundation.made import count

__all__ = ["PythonText", "function_of"]


class PythonText:
    """Gives names to the objects that a generated function uses, while its text is written.

    objects  the values of these names; each is kept alive
    prefix   the beginning of each name
    """

    def __init__(self, prefix: str, objects: dict[str, Any] | None = None):
        self.objects: dict[str, Any] = {} if objects is None else objects
        self._prefix = prefix
        self._variables: dict[int, str] = {}

    def object(self, value: Any) -> str:
        """Return the variable that stands for an object in the text: the prefix and a number.  Each object gets one."""
        name = self._variables.get(id(value))
        if name is None:
            name = self._variables[id(value)] = f"{self._prefix}{len(self._variables)}"
            self.objects[name] = value
        return name


def function_of(
    header: str, body: Sequence[str], objects: dict[str, Any], file: str, *, closed: bool = False
) -> Callable[..., Any]:
    """Compile a function and return it.

    header   its name and parameters, such as `f(x)`
    body     its statements
    objects  the values of variables that the text does not assign; they become its global names
    file     the file of this package to which it is said to belong (`process.location` recognises the user's functions by their files)
    closed   True: the objects become variables of an enclosing function instead, which are faster to read if functions with the same text
        run alternately
    """
    name, lines = header.partition("(")[0], [f"def {header}:", *(f"    {line}" for line in body or ["pass"])]
    if closed:
        maker = [f"def closed({', '.join(objects)}):", *(f"    {line}" for line in lines), f"    return {name}"]
        space: dict[str, Any] = {}
        exec(_code("\n".join(maker), file), space)
        return space.pop("closed")(*objects.values())
    exec(_code("\n".join(lines), file), objects)
    return objects.pop(name)  # a function among its own global names would be a cycle, freed only by the garbage collector


@functools.lru_cache(maxsize=256)
def _code(text: str, file: str) -> CodeType:
    """Compile the text of Python functions, and return the code object.  Equal texts are compiled once.

    file  the file name that tracebacks show
    """
    count("texts")
    return compile(text, file, "exec")
