"""Write Python functions as text: for one graph, a function of a few statements is quicker than code that looks at each graph.

    conditions = PythonText("x")
    body = [f"return a is {conditions.object(weight)}"]
    function_of("holds(a)", body, conditions.objects, __file__)         def holds(a): return a is x0

The text contains numbered variables.  What the user wrote, such as names of attributes, keys and constants, is passed as objects:
none of it is compiled, and functions of one text share their code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from adjoint.foundation.made import count

__all__ = ["PythonText", "function_of"]


class PythonText:
    """The objects of a text while it is written.

    objects  what its variables stand for, those that it assigns left out; each is kept alive
    """

    def __init__(self, prefix: str, objects: dict[str, Any] | None = None):
        self.objects: dict[str, Any] = {} if objects is None else objects
        self._prefix = prefix
        self._variables: dict[int, str] = {}

    def object(self, value: Any) -> str:
        """Return the variable that stands for an object: the prefix and a number."""
        name = self._variables.get(id(value))
        if name is None:
            name = self._variables[id(value)] = f"{self._prefix}{len(self._variables)}"
            self.objects[name] = value
        return name


def function_of(
    header: str, body: Sequence[str], objects: dict[str, Any], file: str, *, closed: bool = False
) -> Callable[..., Any]:
    """Return the function of a header such as `f(x)` and the statements of its body.

    objects  what its variables stand for that are not assigned; they become its global names
    file     the file of this package that it counts as part of (`process.location` tells the user's functions by their files)
    closed   True: they become variables of an enclosing function, which are read faster if functions of the same text take turns
    """
    name, lines = header.partition("(")[0], [f"def {header}:", *(f"    {line}" for line in body or ["pass"])]
    if closed:
        maker = [f"def closed({', '.join(objects)}):", *(f"    {line}" for line in lines), f"    return {name}"]
        space: dict[str, Any] = {}
        exec(_code("\n".join(maker), file), space)
        return space.pop("closed")(*objects.values())
    exec(_code("\n".join(lines), file), objects)
    return objects.pop(name)  # a function that its own names contain would be freed only by the garbage collector


@functools.lru_cache(maxsize=256)
def _code(text: str, file: str) -> CodeType:
    """Return the code of a text."""
    count("texts")
    return compile(text, file, "exec")
