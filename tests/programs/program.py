"""A program of the corpus: typical user code, with inputs."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint import Tensor, nn

__all__ = ["PROGRAMS", "Program", "boolean", "f16", "f32", "f64", "i32", "i64", "program"]


@dataclass(frozen=True)
class Program:
    """A function or Cell, with what it is called with.

    name         the function's or class's name
    make         gives the callable: a plain function itself, a fresh Cell with the same parameters each time
    inputs       positional arguments: NumPy arrays stand for Tensors, also inside tuples, lists and dicts
    keywords     keyword arguments
    wrt          positions of the arguments to differentiate, and all trainable parameters; None: no gradient is taken
    about        what it is about, a sentence
    features     what it shows, besides what can be seen in its syntax
    differences  whether its gradient is what finite differences find, with all floats taken as float64
    raises       the exception it ends in, and a part of its message
    refused      the code of the mistake with which a graph refuses it: it is outside of the language of graphs
    """

    name: str
    make: Callable[[], Callable[..., Any]]
    inputs: tuple[Any, ...]
    keywords: Mapping[str, Any]
    wrt: tuple[int, ...] | None
    about: str
    features: tuple[str, ...]
    differences: bool
    raises: tuple[type[Exception], str] | None
    refused: str | None
    source: Any = field(repr=False)

    @property
    def text(self) -> str:
        """Return the source."""
        return textwrap.dedent(inspect.getsource(self.source))

    def arguments(self, wide: bool = False) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return new positional and keyword arguments; `wide`: their floats as float64."""
        return tensors(self.inputs, wide), tensors(dict(self.keywords), wide)


PROGRAMS: dict[str, Program] = {}
"""Every program by its name, in the order of the files."""


def tensors(value: Any, wide: bool = False) -> Any:
    """Return the value with new Tensors instead of NumPy arrays."""
    if isinstance(value, np.ndarray):
        return Tensor(value.astype(np.float64) if wide and value.dtype.kind == "f" else value)
    if isinstance(value, (tuple, list)):
        items = [tensors(item, wide) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: tensors(item, wide) for key, item in value.items()}
    return value


def program(
    *inputs: Any, wrt: int | tuple[int, ...] | None = None, features: str = "", differences: bool | None = None,
    raises: tuple[type[Exception], str] | None = None, refused: str | None = None, made: bool = False, **keywords: Any,
) -> Callable[[Any], Any]:
    """Registers a function, or a Cell class without arguments; with `made`, a function that makes the callable.

    `features` are separated by commas.  `differences` are taken by default wherever a gradient is.
    """

    def register(source: Any) -> Any:
        name = source.__name__
        assert name not in PROGRAMS, f"there are two programs named {name}"
        assert source.__doc__, f"{name} does not say what it is about"
        is_maker = made or (isinstance(source, type) and issubclass(source, nn.Cell))
        PROGRAMS[name] = Program(
            name, source if is_maker else lambda: source, inputs, keywords, (wrt,) if isinstance(wrt, int) else wrt, source.__doc__,
            tuple(feature.strip() for feature in features.split(",") if feature.strip()),
            wrt is not None if differences is None else differences, raises, refused, source)
        return source

    return register


def f16(*numbers: Any) -> np.ndarray[Any, Any]:
    return _array(numbers, np.float16)


def f32(*numbers: Any) -> np.ndarray[Any, Any]:
    return _array(numbers, np.float32)


def f64(*numbers: Any) -> np.ndarray[Any, Any]:
    return _array(numbers, np.float64)


def i32(*numbers: Any) -> np.ndarray[Any, Any]:
    return _array(numbers, np.int32)


def i64(*numbers: Any) -> np.ndarray[Any, Any]:
    return _array(numbers, np.int64)


def boolean(*numbers: Any) -> np.ndarray[Any, Any]:
    return _array(numbers, np.bool_)


def _array(numbers: tuple[Any, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """f32(1) is 0-d, f32(1, 2) and f32([1, 2]) have one axis, f32([1], [2]) has two."""
    return np.array(numbers[0] if len(numbers) == 1 else numbers, dtype)


def grid(rows: int, columns: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Numbers between -1 and 1 of both signs, none of them near 0 or 1, float32."""
    rng = np.random.default_rng(seed)
    return (rng.uniform(0.1, 0.95, (rows, columns)) * rng.choice([-1.0, 1.0], (rows, columns))).astype(np.float32)
