"""New tensors: filled, ranges, random.

A shape is an int, or a tuple or list of ints.  Raise TypeError or ValueError for anything else.
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.indexing import Iota
from adjoint.ir.types import F32, F64, I64, DType, tensor
from adjoint.ops import creation, parts, random_numbers
from adjoint.ops.arguments import dtype_or, integer, operand, real, sizes_argument, wrong
from adjoint.ops.arithmetic import less, where
from adjoint.ops.creation import arange, full, full_like, ones_like, zeros, zeros_like
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.generator import stream_of
from adjoint.runtime.tensor.random import drawn_from
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "arange", "bernoulli", "empty", "empty_like", "eye", "full", "full_like", "linspace", "meshgrid", "multinomial", "normal", "ones",
    "ones_like", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "zeros", "zeros_like",
]


def _sizes(op: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the sizes, given one by one or as one tuple or list."""
    return sizes_argument(op, "size", size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size)


@fusible
def empty(*size: Any, dtype: DType | None = None, device: str | None = None, pin_memory: bool = False) -> Tensor:
    """Return zeros: uninitialised memory would make results depend on chance."""
    return creation.zeros(_sizes("Empty", size), dtype)


@fusible
def empty_like(input: Any, *, dtype: DType | None = None, device: str | None = None, pin_memory: bool = False) -> Tensor:
    """Return zeros with the shape and dtype of a tensor."""
    return creation.zeros_like(operand("EmptyLike", input), dtype=dtype)


@fusible
def ones(size: Any, *, dtype: DType | None = None) -> Tensor:
    """Return ones of a shape; Float32 by default."""
    return creation.ones(size, dtype)


@fusible
def eye(n: Any, m: Any = None, dtype: DType | None = None) -> Tensor:
    """Return a matrix of `n` rows and `m` (default `n`) columns with ones on the diagonal and zeros elsewhere."""
    return creation.eye(n, m, dtype)


@fusible
def linspace(start: Any, end: Any, steps: Any, *, dtype: DType | None = None) -> Tensor:
    """Return `steps` numbers from `start` to `end`, both included; Float32 by default.

    The numbers of the first half are counted from `start`, the others from `end`, in Float64, whatever the dtype.
    """
    count, to = integer("LinSpace", "steps", steps), dtype_or("LinSpace", dtype, F32)
    if count < 1:
        raise wrong("LinSpace", "steps", "at least 1", count)
    first, last = real("LinSpace", "start", start), real("LinSpace", "end", end)
    apart = (last - first) / max(1, count - 1)
    places = apply(made(Iota, tensor(F64, (count,))))
    values = where(places < max(1, count // 2), places * apart + first, last - (count - 1 - places) * apart)
    return apply(made(Cast, to), values)


@fusible
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return the coordinates of a grid: each vector along its own axis, in order ("ij"), or with the first two axes exchanged ("xy")."""
    return parts.meshgrid(*tensors, indexing="ij" if indexing is None else indexing)


# Random numbers ------------------------------------------------------------------------------------------------------


@fusible
def rand(*size: Any, generator: Any = None, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return uniformly distributed random numbers in [0, 1)."""
    with drawn_from(stream_of("Rand", generator)):
        return random_numbers.rand(_sizes("Rand", size), dtype=dtype)


@fusible
def rand_like(input: Any, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return uniformly distributed random numbers in [0, 1) with the shape and dtype of a tensor."""
    return random_numbers.rand_like(input, dtype=dtype)


@fusible
def randn(*size: Any, generator: Any = None, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return normally distributed random numbers with mean 0 and standard deviation 1."""
    with drawn_from(stream_of("RandN", generator)):
        return random_numbers.randn(_sizes("RandN", size), dtype=dtype)


@fusible
def randn_like(input: Any, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return normally distributed random numbers with mean 0 and standard deviation 1, with the shape and dtype of a tensor."""
    return random_numbers.randn_like(input, dtype=dtype)


@fusible
def randint(*args: Any, generator: Any = None, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return Int64 random integers, at least `low` and less than `high`: randint(low, high, size), or randint(high, size) with low 0."""
    if len(args) not in (2, 3):
        raise TypeError(f"For 'RandInt', the arguments must be (high, size) or (low, high, size), but got {len(args)}.")
    low, high, size = (0, *args) if len(args) == 2 else args
    with drawn_from(stream_of("RandInt", generator)):
        return random_numbers.randint(low, high, size, dtype=I64 if dtype is None else dtype)


@fusible
def randint_like(input: Any, *args: Any, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return random integers with the shape and dtype of a tensor: randint_like(input, low, high), or (input, high) with low 0."""
    if len(args) not in (1, 2):
        raise TypeError(f"For 'RandIntLike', the arguments must be (input, high) or (input, low, high), but got {1 + len(args)}.")
    low, high = (0, *args) if len(args) == 1 else args
    return random_numbers.randint_like(input, low, high, dtype=dtype)


@fusible
def randperm(n: Any, *, generator: Any = None, dtype: DType = I64) -> Tensor:
    """Return the numbers 0 to n - 1 in random order."""
    with drawn_from(stream_of("RandPerm", generator)):
        return random_numbers.randperm(n, dtype=dtype)


@fusible
def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, generator: Any = None) -> Tensor:
    """Return normally distributed random numbers, of shape `size`; if `mean` and `std` are Tensors, of the shape that they broadcast to."""
    if size is None:
        if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
            raise wrong("Normal", "size", "a shape, where 'mean' and 'std' are numbers", size, TypeError)
        size = (mean * 1.0 + std).shape
    with drawn_from(stream_of("Normal", generator)):
        drawn = random_numbers.randn(sizes_argument("Normal", "size", size))
    return drawn * std + mean


@fusible
def bernoulli(input: Any, *, generator: Any = None) -> Tensor:
    """Return 1 with the probability given by each element, else 0, in the dtype of the probabilities."""
    p = operand("Bernoulli", input)
    if not p.dtype.is_float:
        raise wrong("Bernoulli", "input", "a Tensor of a floating point type", p, TypeError)
    with drawn_from(stream_of("Bernoulli", generator)):
        drawn = random_numbers.rand(p.shape)
    return less(drawn.astype(p.dtype, copy=False), p).astype(p.dtype)


@fusible
def multinomial(input: Any, num_samples: Any, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Return Int64 indices drawn with the weights along the last axis, with or without replacement."""
    with drawn_from(stream_of("Multinomial", generator)):
        return random_numbers.multinomial(input, num_samples, replacement).astype(I64, copy=False)
