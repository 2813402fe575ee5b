"""Gradients of nested structures: build them, and pair each tensor with its gradient."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from adjoint.runtime.tensor.mutable import MUTABLE
from adjoint.runtime.tensor.structure import CONTAINERS, items, leaves, mapped
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Unlike", "gradients_like", "paired"]


def gradients_like(value: Any, gradients: Iterable[Any], within: tuple[type, ...] = CONTAINERS) -> Any:
    """Return a structure of gradients in the form of `value`: the next of `gradients` for a tensor, 0 for a number, None for any other
    value.

    within  the classes of containers whose items are visited

    The result has the same containers; those marked by `mutable` become plain tuples, lists and dicts.
    """
    left = iter(gradients)
    if isinstance(value, Tensor):
        return next(left)
    return mapped(value, lambda leaf: next(left) if isinstance(leaf, Tensor) else _constant_gradient(leaf), MUTABLE, within)


def _constant_gradient(leaf: Any) -> Any:
    """Return the gradient of a value that is not a tensor: zero, of the same type, for a number; None for anything else."""
    if getattr(leaf, "is_run_time_number", False):
        return _ZEROS[leaf.category]
    for zero in _ZEROS.values():
        if isinstance(leaf, type(zero)):
            return zero
    return type(leaf)(0) if isinstance(leaf, np.number) else None


_ZEROS: dict[str, Any] = {"bool": False, "int": 0, "float": 0.0, "complex": 0j}
"""The gradient of a Python number, by its type.  A bool is an int, so "bool" comes first."""


class Unlike(Exception):
    """Raised if a gradient does not have the structure of its value.

    expected, got  the two parts that do not fit, as text
    """

    def __init__(self, expected: str, got: Any):
        super().__init__(expected, got)
        self.expected, self.got = expected, f"{got!r} of type {type(got).__name__}"


def paired(value: Any, gradient: Any, of: type) -> Iterator[tuple[Any, Any]]:
    """Yield a pair (x, its gradient) for each object x of the class `of` in `value`; its gradient is found at the same place in `gradient`.

    None in `gradient`, at any level, means no gradient below it: then the second of a pair is None.  A tuple matches a list and the
    reverse.  A gradient of a dict must have every key whose value holds such an object.  Gradients of other objects are ignored.

    Raise Unlike if the structures do not match.
    """
    if gradient is None:
        yield from ((leaf, None) for leaf in leaves(value, of))
        return
    parts, entries = items(value), items(gradient)
    if parts is None:
        if isinstance(value, of):
            if entries is not None:
                raise Unlike("a Tensor", gradient)
            yield value, gradient
    elif isinstance(value, dict):
        if not isinstance(gradient, dict):
            raise Unlike(f"a dict with the keys {', '.join(map(repr, value))}", gradient)
        for name, part in value.items():
            if leaves(part, of):
                if name not in gradient:
                    raise Unlike(f"a dict with the key {name!r}", gradient)
                yield from paired(part, gradient[name], of)
    else:
        if entries is None or isinstance(gradient, dict) or len(entries) < len(parts):
            raise Unlike(f"a {'list' if isinstance(value, list) else 'tuple'} of {len(parts)} gradients", gradient)
        for part, entry in zip(parts, entries, strict=False):
            yield from paired(part, entry, of)
