"""The source text of a call: statements that take arguments apart as `templates.flatten` does, but for one template only.

A template is the structure of a call's arguments with the tensors taken out.

    f(x, (y, 2))    if kwargs or len(args) != 2: return NOT_RUN
                    a0, a1, = args
                    if type(a0) is not Tensor or a0.type is not type0: return NOT_RUN
                    if type(a1) is not tuple or len(a1) != 2: return NOT_RUN
                    a2, a3, = a1
                    ...

An object that is compared by identity, such as the `self` of a method, is held weakly.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from adjoint.ir.types import F64, I64, DType, TensorType, scalar
from adjoint.runtime.execution.call_functions import CallText, RunConditions
from adjoint.runtime.graphs.guards.references import reference
from adjoint.runtime.graphs.inputs.templates import BOUND, Template, input_number, is_taken_apart
from adjoint.runtime.memory.machine import ffi, machine
from adjoint.runtime.process.function_text import PythonText, function_of
from adjoint.runtime.tensor.structure import is_named
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["ArgumentText", "argument_text", "filling"]

_BY_VALUE = (int, str, bytes)
_ITERATED = (tuple, list)


class ArgumentText(PythonText):
    """Writes the Python statements that check the arguments of a call against a template (the structure of the arguments), and take their
    tensors out.

    They become the beginning of the compiled function that does a whole call of a graph.

    leaves      yields the leaves of the template in order: the values that are not tensors, and for each dict its keys
    header      the name and the parameters of that function
    given       an expression for the arguments as `(args, kwargs)`
    statements  the statements; they return NOT_RUN if the arguments do not fit the template
    tensors     the variables that hold the tensors afterwards, in order
    """

    def __init__(self, leaves: Iterator[Any]) -> None:
        super().__init__("known", {"Tensor": Tensor})
        self._leaves = leaves
        self.header, self.given = "function(args, kwargs)", "(args, kwargs)"
        self.statements: list[str] = []
        self.tensors: list[str] = []
        self._count = 0

    def call(self, result: str, objects: Mapping[str, Any], conditions: RunConditions) -> CallText:
        """Return the source text of a function that does a whole call with these arguments.

        result      the expression for the result
        objects     the values of other names in the text
        conditions  further conditions for running the function
        """
        return CallText(self.header, self.given, self.statements, self.tensors, result, {**self.objects, **objects}, conditions)

    def variables(self, count: int) -> list[str]:
        """Return `count` names of variables that are not used yet in the statements."""
        first, self._count = self._count, self._count + count
        return [f"a{i}" for i in range(first, self._count)]

    def unless(self, condition: str) -> None:
        """Append a check: the function returns NOT_RUN unless the expression `condition` is true."""
        self.statements.append(f"if not ({condition}): return NOT_RUN")

    def parts(self, value: str, nodes: Sequence[Any]) -> bool:
        """Append statements that take a tuple or list of known length apart and check its items.

        Return False if an item cannot be compared by a statement.

        value  the expression for the container
        nodes  what the template says of its items
        """
        names = self.variables(len(nodes))
        if names:
            self.statements.append(f"{', '.join(names)}, = {value}")
        return all(self.part(name, node) for name, node in zip(names, nodes, strict=True))

    def named_parts(self, value: str, keys: Sequence[Any], nodes: Sequence[Any]) -> bool:
        """Append statements that take a dict apart, whose keys must be in this order, and check its values.

        Return False if a key is not text or a value cannot be compared by a statement.

        value  the expression for the dict
        keys   the keys in the template (the structure of the arguments), as (class, key)
        nodes  what the template says of its values
        """
        next(self._leaves)
        if not all(kind is str for kind, _ in keys):
            return False
        self.unless(f"tuple({value}) == {self.object(tuple([name for _, name in keys]))}")
        names = self.variables(len(nodes))
        if names:
            self.statements.append(f"{', '.join(names)}, = {value}.values()")
        return all(self.part(name, node) for name, node in zip(names, nodes, strict=True))

    def part(self, value: str, node: Any) -> bool:
        """Append the statements that check one part of the arguments; return False if it cannot be compared by a statement.

        value  the expression for the part
        node   what the template says of it
        """
        if isinstance(node, TensorType):
            self.unless(f"type({value}) is Tensor and {value}.type is {self.object(node)}")
            self.tensors.append(value)
            return True
        kind = node[0]
        if kind in _ITERATED:
            self.unless(f"type({value}) is {kind.__name__} and len({value}) == {len(node) - 1}")
            return self.parts(value, node[1:])
        if kind is dict:
            self.unless(f"type({value}) is dict")
            return self.named_parts(value, node[1], node[2:])
        if (number := input_number(node)) is not None:
            self.unless(f"type({value}) is {number.__name__}" + (f" and -{BOUND} <= {value} <= {BOUND}" if number is int else ""))
            (name,) = self.variables(1)
            self.objects[f"{number.__name__}_input"] = _INPUTS[number]
            self.statements.append(f"{name} = {number.__name__}_input({value})")
            self.tensors.append(name)
            return True
        if is_named(kind):  # a class may have an `__iter__` of its own
            self.unless(f"type({value}) is {self.object(kind)} and tuple.__len__({value}) == {len(node) - 1}")
            return self.parts(f"tuple.__iter__({value})", node[1:])
        if is_taken_apart(kind):
            return False
        return self.constant(value, kind, node[1:], next(self._leaves))

    def constant(self, value: str, kind: type, of: Sequence[Any], leaf: Any) -> bool:
        """Append the comparison of an argument with a constant of the template (the structure of the arguments); return False if that is
        not possible.

        kind, of  the key of the constant (`guards.constants`): its class, and the rest
        leaf      the constant itself
        """
        if kind is type(None) or kind is bool:
            self.unless(f"{value} is {of[0]}")
        elif kind in _BY_VALUE or (kind is float and type(of[0]) is float):  # neither a zero, which has a sign, nor NaN
            self.unless(f"type({value}) is {kind.__name__} and {value} == {self.object(of[0])}")
        elif kind is float and leaf == 0:
            self.unless(f"type({value}) is float and {value}.hex() == {self.object(of[0])}")
        elif kind is np.ndarray and type(of[-1]) is bytes:  # not one of objects
            dtype, shape, numbers = map(self.object, of)
            self.objects["ndarray"] = kind
            self.unless(f"type({value}) is ndarray and {value}.dtype == {dtype} and {value}.shape == {shape} "
                        f"and {value}.tobytes() == {numbers}")
        elif issubclass(kind, np.generic) and type(of[-1]) is bytes:
            self.unless(f"type({value}) is {self.object(kind)} and {value}.dtype == {self.object(of[0])} "
                        f"and {value}.tobytes() == {self.object(of[1])}")
        elif kind is object:
            self.unless(f"{value} is {self.object(reference(leaf))}()")
        else:
            return False
        return True


def _input(dtype: DType, number: Any, packed: struct.Struct) -> Tensor:
    """Return a number as the 0-d tensor that a graph takes as input; quicker than through NumPy.

    packed  the binary format of the number
    """
    memory = machine().allocate(packed.size)
    ffi.memmove(memory, packed.pack(number), packed.size)
    return wrap(scalar(dtype), memory)


_DOUBLE, _INT = struct.Struct("=d"), struct.Struct("=q")
_INPUTS: dict[type, Callable[[Any], Tensor]] = {
    float: lambda number: _input(F64, number, _DOUBLE), int: lambda number: _input(I64, number, _INT)}


def argument_text(template: Template, count: int | None = None) -> ArgumentText | None:
    """Return the statements that check and take apart the arguments of a call, for one template (the structure of the arguments).

    Return None if it has constants that are compared neither by value nor by identity.

    count  None if the function takes `args` and `kwargs`; otherwise the number of arguments that it takes one by one.  Return None, too, if
           the template does not have exactly these
    """
    found = ArgumentText(iter(template.leaves))
    node: Any = template.node
    _, (_, *args), (_, keys, *named) = node
    if count is not None:
        if named or len(args) != count:
            return None
        names = found.variables(count)
        found.header, found.given = f"function({', '.join(names)})", f"(({''.join(f'{name}, ' for name in names)}), {{}})"
        return found if all(found.part(name, node) for name, node in zip(names, args, strict=True)) else None
    found.unless(f"len(args) == {len(args)}" + ("" if named else " and not kwargs"))
    known = found.parts("args", args) and (not named or found.named_parts("kwargs", keys, named))
    return found if known else None


def filling(result: str, count: int, objects: Mapping[str, Any] = MappingProxyType({})) -> Callable[..., Any]:
    """Return a function that makes the result of a call from tensors, by evaluating an expression.

    result   the expression, in which the tensors are named `leaf0`, `leaf1`, ...
    count    the number of the tensors
    objects  the values of the other names in the expression
    """
    return function_of(f"fill({', '.join(f'leaf{i}' for i in range(count))})", [f"return {result}"], dict(objects), __file__)
