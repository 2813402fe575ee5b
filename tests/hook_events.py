"""The log of all calls of hooks and `bprop`s in a process, whatever runs them: kind, and the dtype, shape and bytes of every tensor.

`recorded` is a context in which every hook function that is registered is wrapped, and every firing of a value's hook is seen.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from adjoint import Tensor
from adjoint.runtime.cells.custom_bprop import Rule
from adjoint.runtime.hooks import firing, handles

__all__ = ["Event", "recorded"]

Event = tuple[Any, ...]


@contextlib.contextmanager
def recorded() -> Iterator[list[Event]]:
    """Yield the list to which every call of a hook that is registered in this context, and every `bprop`, is appended."""
    events: list[Event] = []
    cell_hook, register, rule = handles.CellHook, handles.TensorHooks.register, Rule.__call__

    def called(kind: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        events.append((kind, *map(_bits, arguments)))
        return function(*arguments, **options)

    def of_cell(function: Callable[..., Any], **options: Any) -> Any:
        return cell_hook(functools.partial(called, "cell", function), **options)

    def of_tensor(self: Any, function: Callable[..., Any]) -> Any:
        handles.check_hook(function)
        return register(self, functools.partial(called, "tensor", function))

    def of_operator(kind: str, fire: Callable[..., Any]) -> Callable[..., Any]:
        return lambda function, given, *rest: fire(functools.partial(called, kind, function), given, *rest)

    def of_rule(self: Any, op: Any, given: Any, *rest: Any) -> Any:
        events.append(("bprop", op.present, *map(_bits, given)))
        return rule(self, op, given, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handles, "CellHook", of_cell)
        patch.setattr(handles.TensorHooks, "register", of_tensor)
        for kind, fire in firing.OPERATORS.items():
            patch.setitem(firing.OPERATORS, kind, of_operator(kind, fire))
        patch.setattr(Rule, "__call__", of_rule)
        yield events


def _bits(value: Any) -> Any:
    """Return tensors by their dtype, shape and bytes, also inside containers; of other things their type."""
    if isinstance(value, Tensor):
        array = value.asnumpy()
        return str(array.dtype), array.shape, array.tobytes()
    if isinstance(value, (tuple, list)):
        return tuple(map(_bits, value))
    if isinstance(value, dict):
        return tuple((key, _bits(item)) for key, item in value.items())
    return None if value is None else type(value).__name__
