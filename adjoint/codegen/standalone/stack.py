"""How many bytes of arrays the functions of an exported C file have on the stack, in the deepest chain of calls.

Read from the text: the file calls no function outside of it that has arrays, and no function calls itself.  What a compiler keeps on the
stack besides, such as registers and return addresses, depends on it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from adjoint.codegen.standalone.memory import SIZES

__all__ = ["arrays_on_stack"]

_SIZES: Final = {**SIZES, "bool": 1, "int": 4, "size_t": 8}
_FUNCTION: Final = re.compile(r"^[a-z][\w *]*?\b(\w+)\([^;{}]*?\) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_DECLARATION: Final = re.compile(rf"^ +(?:const )?({'|'.join(_SIZES)}) ([a-z]\w*\[[^;]*);", re.MULTILINE)
_ARRAY: Final = re.compile(r"\w+((?:\[[^\]]+\])+)")
_CONSTANT: Final = re.compile(r"\b(ADJOINT_\w+) = (\d+)(?=[ ,}])")
_FIRST_ITEMS: Final = re.compile(r"=\s*\{+[^{}]*\}+")
_REMARK: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_LANE_BYTES: Final = 64
"""The most that the macro ADJOINT_LANE_BYTES is set to."""


def arrays_on_stack(text: str) -> dict[str, int]:
    """Return for each function of a C file the bytes of its arrays, with those of the deepest chain of calls that it makes.

    text  a file that `portable_text` made
    """
    text = _REMARK.sub("", text)
    known = {"ADJOINT_LANE_BYTES": _LANE_BYTES, **{name: int(number) for name, number in _CONSTANT.findall(text)}}
    bodies: dict[str, str] = dict(_FUNCTION.findall(text))
    calls = {name: {other for other in re.findall(r"\b\w+(?=\()", body) if other in bodies} for name, body in bodies.items()}

    @cache
    def deepest(name: str) -> int:
        return _arrays(bodies[name], known) + max(map(deepest, calls[name]), default=0)

    return {name: deepest(name) for name in bodies}


def _arrays(body: str, known: Mapping[str, int]) -> int:
    """Return the bytes of the arrays that a function declares, as if none took the place of another."""
    total = 0
    for element, names in _DECLARATION.findall(body):
        for sizes in _ARRAY.findall(_FIRST_ITEMS.sub("", names)):
            total += _SIZES[element] * math.prod(_number(size, known) for size in re.findall(r"\[([^\]]+)\]", sizes))
    return total


def _number(size: str, known: Mapping[str, int]) -> int:
    """Return the value of a size: a product or quotient of numbers, named ones and sizes of types."""
    size = re.sub(r"sizeof\((\w+)\)", lambda m: str(_SIZES[m[1]]), size)
    size = re.sub(r"[A-Z]\w+", lambda m: str(known[m[0]]), size)
    number = 1
    for sign, factor in re.findall(r"([*/]?) *(\d+)", size):
        number = number // int(factor) if sign == "/" else number * int(factor)
    return number
