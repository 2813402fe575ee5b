"""Marks of MindSpore's scripts on functions and cells: `no_inline`, `lazy_inline`, `recompute`, with which graphs are the same as without
them; `register_saved_tensors_hooks`; and `run_check`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.hooks.saved_tensors import saved_tensors_hooks
from adjoint.runtime.tensor.run_time_checks import called
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["lazy_inline", "no_inline", "recompute", "register_saved_tensors_hooks", "run_check"]


def no_inline(fn: Any = None) -> Any:
    """Return a function or cell unchanged: passes choose what is inlined.  Without an argument, return a decorator that does so."""
    if fn is None:
        return no_inline
    if not callable(fn):
        raise TypeError(f"For 'no_inline', the argument 'fn' must be a function or a Cell, but got {fn!r} of type {type(fn).__name__}.")
    return fn


def lazy_inline(fn: Any = None, attrs: Any = None, policy: str | None = None) -> Any:
    """Decorate the `__init__` of a cell, and return it unchanged: passes choose what is inlined, and when.

    ValueError for a function of another name and for a policy that is neither None nor "front".
    """
    if policy not in (None, "front"):
        raise ValueError(f"For 'lazy_inline', the argument 'policy' must be None or 'front', but got {policy!r}.")
    if fn is None:
        return lambda function: lazy_inline(function, attrs, policy)
    if getattr(fn, "__name__", "") != "__init__":
        raise ValueError(f"For 'lazy_inline', the decorated function must be the '__init__' of a Cell, but got {fn!r}.")
    return fn


def recompute(block: Any, *args: Any, use_reentrant: bool = True, output_recompute: bool = False, early_stop: bool = True,
              context_fn: Any = None, **kwargs: Any) -> Any:
    """Call a cell, and return its result.  Nothing is recomputed: the forward values that a gradient needs are kept.

    use_reentrant  False: `block` may also be a function

    MindSpore's other options are taken, without effect.  TypeError for another block, ValueError for `context_fn` with `use_reentrant`.
    """
    if not isinstance(block, Cell) and (use_reentrant or not callable(block)):
        wanted = "a Cell" if use_reentrant else "a Cell or a function"
        raise TypeError(f"For 'recompute', the argument 'block' must be {wanted}, but got {block!r} of type {type(block).__name__}.")
    if context_fn is not None and use_reentrant:
        raise ValueError("For 'recompute', the argument 'context_fn' needs 'use_reentrant=False'.")
    return block(*args, **kwargs) if isinstance(block, Cell) else called(block, *args, **kwargs)


def register_saved_tensors_hooks(pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a decorator: the decorated function runs inside of `saved_tensors_hooks(pack_hook, unpack_hook)`, in every mode.

    TypeError if one of them is not callable.
    """
    hooks = saved_tensors_hooks(pack_hook, unpack_hook)

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def packing(*args: Any, **kwargs: Any) -> Any:
            with hooks:
                return called(function, *args, **kwargs)

        return packing

    return decorated


def run_check() -> None:
    """Compile and run a multiplication, and print whether its result is right."""
    right = (Tensor([1.0, 2.0]) * Tensor([3.0, 4.0])).tolist() == [3.0, 8.0]
    module = sys.modules["adjoint"]
    print("adjoint version: ", module.__version__)
    print(f"The result of multiplication calculation is {'correct' if right else 'wrong'}, on platform [CPU].")
