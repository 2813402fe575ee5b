"""Python numbers in the text of a straight piece: Python itself reads, counts up and writes a counter, as in eager mode.

    n1 = read1()            an access by Python
    n2 = n1 + 1             `add` of 0-d numbers that Python knows: no kernel
    m1 = int64(n1)          only for a kernel that reads it
    ...
    write2(n2)

An int is computed this way only if it cannot need more than 64 bits, so that it equals the number that a kernel would compute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from adjoint.ir.core import Literal, tensor_type
from adjoint.ir.ops.arithmetic import Add, Mul, Sub
from adjoint.ir.plan import Launch, PythonAccess
from adjoint.ir.types import F64, I64, DType
from adjoint.runtime.memory.machine import ffi

__all__ = ["PythonNumbers"]

_SIGNS = {Add: "+", Sub: "-", Mul: "*"}
_LARGEST = 2**63 - 1


class PythonNumbers:
    """Writes Python statements that read, compute and write numbers before and after the C call of one straight piece (see the module).

    made    the values of the variables in the statements, by name; this class adds to them
    names   the variable of each number, by its position (index in the list of values)
    """

    def __init__(self, made: dict[str, Any]):
        self._made = made
        self.names: dict[int, str] = {}
        self._bounds: dict[int, float] = {}
        self._dtypes: dict[int, DType] = {}

    def read(self, entry: PythonAccess, access: Any) -> list[str]:
        """Return the statements that read a number which Python holds.

        access  the StateAccess of the entry: the object that reads the number
        """
        (slot,) = entry.results
        self._made[f"read{slot}"] = access.number
        return [self._define(slot, f"read{slot}()", tensor_type(entry.node.results[0]).dtype, access.bound)]

    def write(self, position: int, access: Any) -> str:
        """Return the statement that writes the number at a position to where Python holds it.

        access  the StateAccess that writes the number
        """
        name = f"write{len(self._made)}"
        self._made[name] = access.number
        return f"{name}({self.names[position]})"

    def computed(self, launch: Launch, operands: Sequence[int]) -> list[str] | None:
        """Return the statements that compute the result of a node from numbers that Python holds; None if a kernel must compute it.

        launch    the node, as it is in the plan
        operands  the positions of its operands (indices in the list of values)
        """
        sign = _SIGNS.get(type(launch.node.op))
        if sign is None or not self.names:
            return None
        type_ = tensor_type(launch.node.results[0])
        if type_.dtype not in (I64, F64) or type_.shape != ():
            return None
        first, second = [self._known(*each, type_.dtype) for each in zip(launch.node.operands, operands, strict=True)]
        if first is None or second is None:
            return None
        (a, of_a), (b, of_b) = first, second
        bound = of_a * of_b if sign == "*" else of_a + of_b
        if type_.dtype is I64 and bound > _LARGEST:
            return None
        return [self._define(launch.results[0], f"{a} {sign} {b}", type_.dtype, bound)]

    def packed(self, position: int) -> str:
        """Return an expression for new memory that holds the number at a position, for a kernel that reads it."""
        kind = "int64" if self._dtypes[position] is I64 else "float64"
        self._made[kind] = _PACKING[kind]
        return f"{kind}({self.names[position]})"

    def _define(self, slot: int, value: str, dtype: DType, bound: float) -> str:
        self.names[slot], self._bounds[slot], self._dtypes[slot] = f"n{slot}", bound, dtype
        return f"n{slot} = {value}"

    def _known(self, atom: Any, position: int, dtype: DType) -> tuple[str, float] | None:
        if isinstance(atom, Literal):
            value = atom.value
            if isinstance(value, complex) or atom.type.dtype is not dtype or type(value) is not (int if dtype is I64 else float) \
                    or not math.isfinite(value):
                return None
            return f"({value!r})" if value < 0 else repr(value), abs(value)
        return (self.names[position], self._bounds[position]) if position in self.names and self._dtypes[position] is dtype else None


_PACKING: Mapping[str, Any] = {"int64": partial(ffi.new, ffi.typeof("int64_t *")), "float64": partial(ffi.new, ffi.typeof("double *"))}
