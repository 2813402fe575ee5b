"""Loops as objects: their bodies are functions of the program.  A graph parses them, so that a loop may depend on tensors."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from adjoint.ops.arguments import wrong
from adjoint.ops.primitive import Plain
from adjoint.runtime.process.jitted import parsed
from adjoint.runtime.tensor.run_time_checks import called
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["ForiLoop", "Scan", "WhileLoop"]


class WhileLoop(Plain):
    """Call `loop_func(value)`, whose result is the next value, while `cond_func(value)` is true; return the last value.

    TypeError for a function that is none.
    """

    def __call__(self, cond_func: Callable[[Any], Any], loop_func: Callable[[Any], Any], init_val: Any) -> Any:
        _check_function("WhileLoop", "cond_func", cond_func)
        _check_function("WhileLoop", "loop_func", loop_func)
        return called(repeated_while, cond_func, loop_func, init_val)


class ForiLoop(Plain):
    """Call `loop_func(i, value)`, whose result is the next value, for i from `lower` to `upper - 1`; return the last value.

    lower, upper  ints, or tensors of one integer
    unroll        has no effect: a graph unrolls a loop whose bounds it knows

    TypeError for a function that is none and for other bounds.
    """

    def __call__(self, lower: Any, upper: Any, loop_func: Callable[[Any, Any], Any], init_val: Any, unroll: bool = True) -> Any:
        _check_function("ForiLoop", "loop_func", loop_func)
        bounds = []
        for name, value in (("lower", lower), ("upper", upper)):
            if isinstance(value, bool) or not isinstance(value, (int, Tensor)):
                raise wrong("ForiLoop", name, "an int or a Tensor of one integer", value, TypeError)
            bounds.append(value.item() if isinstance(value, Tensor) else value)
        return called(repeated_for, bounds[0], bounds[1], loop_func, init_val)


class Scan(Plain):
    """Call `loop_func(value, x)`, which returns the next value and a result, for each `x` of a sequence; return the last value and the
    list of results.

    xs      a tuple or list
    length  how many of its items are taken; None or more than there are: all
    unroll  has no effect: a graph unrolls the loop

    TypeError for a function that is none and another sequence.
    """

    def __call__(self, loop_func: Callable[[Any, Any], Any], init: Any, xs: Any, length: int | None = None, unroll: bool = True) -> Any:
        _check_function("Scan", "loop_func", loop_func)
        if not isinstance(xs, (tuple, list)):
            raise wrong("Scan", "xs", "a tuple or list", xs, TypeError)
        return called(scanned, loop_func, init, xs if length is None else xs[:length])


def _check_function(op: str, argument: str, function: Any) -> None:
    if not isinstance(function, (types.FunctionType, types.MethodType)):
        raise wrong(op, argument, "a function or method", function, TypeError)


@parsed
def repeated_while(cond_func: Any, loop_func: Any, init_val: Any) -> Any:
    """Run the loop of WhileLoop."""
    value = init_val
    while cond_func(value):
        value = loop_func(value)
    return value


@parsed
def repeated_for(lower: int, upper: int, loop_func: Any, init_val: Any) -> Any:
    """Run the loop of ForiLoop."""
    value = init_val
    for i in range(lower, upper):
        value = loop_func(i, value)
    return value


@parsed
def scanned(loop_func: Any, init: Any, xs: Any) -> Any:
    """Run the loop of Scan."""
    value, results = init, []
    for x in xs:
        value, result = loop_func(value, x)
        results.append(result)
    return value, results
