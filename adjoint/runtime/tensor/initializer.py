"""Initialisers: initial values of Parameters.

Each draws from a NumPy generator of its own stream (see `random`), so that a seed determines every Parameter whatever the number of
threads.  fan_in and fan_out of a weight of shape (out, in, *receptive) are in * prod(receptive) and out * prod(receptive).
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from adjoint import log
from adjoint.foundation.diagnostics import float_of
from adjoint.ir.storage import from_compute
from adjoint.ir.types import DType
from adjoint.runtime.memory.op_plans import physical_memory
from adjoint.runtime.tensor.random import next_generator

__all__ = [
    "INITIALIZERS", "Constant", "Dirac", "HeNormal", "HeUniform", "Identity", "Initializer", "Normal", "One", "Orthogonal", "Sparse",
    "TruncatedNormal", "Uniform", "VarianceScaling", "XavierNormal", "XavierUniform", "Zero", "checked_initializer",
]

Array = np.ndarray[Any, Any]
_MOST_DIMENSIONS = 8
_DRAWN = 8
"""The bytes that one random number takes while the initial values are drawn."""


class Initializer:
    """The base class of initialisers, which compute the initial values of a Parameter.

    A subclass defines `draw(shape, generator)`, which returns an array of random or other values, or, as in MindSpore, `_initialize(arr)`,
    which fills an array.

    kwargs  kept in `_kwargs`, where subclasses find them
    """

    draws: ClassVar[bool] = True
    """True if the values may differ from call to call; then a graph that makes a tensor with this initialiser calls `array` each time it
    runs.
    """

    def __init__(self, /, **kwargs: Any):
        self._kwargs = kwargs

    def _initialize(self, arr: Array) -> None:
        """Fill `arr`, a NumPy array, with the initial values, in place.  A subclass defines this method or `draw`."""
        arr[...] = self.draw(arr.shape, next_generator())

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Return values of this shape, in any floating dtype.

        generator  the random generator to draw from
        """
        if type(self)._initialize is Initializer._initialize:
            raise TypeError(f"'{type(self).__name__}' does not say how its values are made: it needs a method '_initialize' that "
                            "fills an array.")
        values = np.zeros(shape, np.float32)
        self._initialize(values)
        return values

    def array(self, shape: tuple[int, ...], dtype: DType, generator: np.random.Generator) -> Array:
        """Return values of this shape as an array whose dtype is that of `dtype`'s storage; for bf16 that is float32, which Tensor rounds.
        """
        wanted = math.prod(shape) * _DRAWN
        if wanted > physical_memory():
            raise MemoryError(f"For '{type(self).__name__}', first values of shape {shape} would take {wanted} bytes while they are drawn, "
                              f"but this machine has {physical_memory()}.")
        values = self.draw(shape, generator)
        return from_compute(values.astype(dtype.compute.array), dtype.compute)

    def __call__(self, array: Array) -> None:
        """Fill a NumPy array in place; TypeError if it is not one."""
        if not isinstance(array, np.ndarray):
            raise TypeError(f"For '{type(self).__name__}', what is filled must be a NumPy array, but got {array!r} "
                            f"of type {type(array).__name__}.")
        self._initialize(array)


class _Scaled(Initializer):
    """The base class of the initialisers whose first argument is a number."""

    def __new__(cls, /, *arguments: Any, **named: Any) -> Any:
        # MindSpore checks the number when it draws: programs write `Uniform(parameter)`, which fills nothing, and go on.
        if arguments and hasattr(arguments[0], "asnumpy"):
            return _OfTensor(cls, arguments[0])
        return super().__new__(cls)


class _OfTensor(Initializer):
    """An initialiser that was made with a tensor in the place of a number: TypeError when it draws."""

    def __init__(self, kind: type[Initializer], given: Any):
        self._kind, self._given = kind, given

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        argument = next(iter(inspect.signature(self._kind).parameters))
        raise TypeError(f"For '{self._kind.__name__}', the argument '{argument}' must be a number, but got {self._given!r} "
                        f"of type {type(self._given).__name__}.")


def _number(name: str, argument: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"For '{name}', the argument '{argument}' must be a number, but got {value!r} of type {type(value).__name__}.")
    return float_of(name, argument, value)


def _finite(name: str, argument: str, value: Any) -> float:
    if not math.isfinite(_number(name, argument, value)):
        raise ValueError(f"For '{name}', the argument '{argument}' must be finite, but got {value}.")
    return float(value)


def _spread(name: str, argument: str, value: Any) -> float:
    if not _finite(name, argument, value) >= 0:
        raise ValueError(f"For '{name}', the argument '{argument}' must be at least 0, but got {value}.")
    return float(value)


def _deviation(name: str, value: Any) -> float:
    if not _number(name, "sigma", value) >= 0:
        raise ValueError(f"For '{name}', the argument 'sigma' must be at least 0, but got {value}.")
    return float(value)


def fans(name: str, shape: Sequence[int]) -> tuple[int, int]:
    """Return fan_in and fan_out of a weight: how many inputs an output depends on, and the reverse.  ValueError for fewer than two
    dimensions.

    name  the initialiser, for the message
    """
    if len(shape) < 2:
        raise ValueError(f"For '{name}', the weight must have at least 2 dimensions, but got shape {tuple(shape)}.")
    receptive = math.prod(shape[2:])
    return shape[1] * receptive, shape[0] * receptive


class _Filling(Initializer):
    """The base class of the initialisers that fill with one number."""

    draws = False

    def __call__(self, array: Array) -> None:
        """Fill a NumPy array in place.  A tensor is left as it is, with a warning, as MindSpore leaves it without one."""
        if hasattr(array, "asnumpy"):
            log.warning("'%s' fills NumPy arrays alone and leaves this tensor as it is: `x.set_data(initializer(...))` fills it.",
                        type(self).__name__)
            return
        super().__call__(array)


class Zero(_Filling):
    """Initialise with zeros."""

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        return np.zeros(shape)


class One(_Filling):
    """Initialise with ones."""

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        return np.ones(shape)


class Constant(_Filling):
    """Initialise every element with the same number.

    value  the number
    """

    def __init__(self, value: float):
        self.value = _number("Constant", "value", value)

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        return np.full(shape, self.value)


class Identity(Initializer):
    """Initialise a matrix with ones on the diagonal, zeros elsewhere; ValueError for another rank."""

    draws = False

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        if len(shape) != 2:
            raise ValueError(f"For 'Identity', the tensor must have 2 dimensions, but got shape {shape}.")
        return np.eye(*shape)


class Uniform(_Scaled):
    """Initialise with numbers drawn uniformly from [-scale, scale), by default from [-0.07, 0.07).

    scale  the bound; ValueError or TypeError if it is not a finite number that is at least 0
    """

    def __init__(self, scale: float = 0.07):
        self.scale = _spread("Uniform", "scale", scale)

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        return generator.uniform(-self.scale, self.scale, shape)


class Normal(_Scaled):
    """Initialise with normal numbers.

    sigma  the standard deviation, 0.01 by default; ValueError if it is negative
    mean   the mean, 0 by default
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0):
        self.sigma, self.mean = _deviation("Normal", sigma), _number("Normal", "mean", mean)

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        return generator.normal(self.mean, self.sigma, shape)


class TruncatedNormal(_Scaled):
    """Initialise with normal numbers; a number outside of [a, b] is drawn again.

    sigma  the standard deviation, 0.01 by default; ValueError if it is negative
    mean   the mean, 0 by default
    a, b   the limits, -2 and 2 by default; ValueError if `a` is not less than `b`
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0):
        self.sigma, self.mean = _deviation("TruncatedNormal", sigma), _number("TruncatedNormal", "mean", mean)
        self.a, self.b = _number("TruncatedNormal", "a", a), _number("TruncatedNormal", "b", b)
        if not self.a < self.b:
            raise ValueError(f"For 'TruncatedNormal', 'a' must be less than 'b', but got {a} and {b}.")

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        values = generator.normal(self.mean, self.sigma, shape)
        outside = (values < self.a) | (values > self.b)
        tries = 0
        while outside.any():
            tries += 1
            if tries > 100:
                # The interval is far out or very narrow: the density in it is almost constant.
                values[outside] = generator.uniform(self.a, self.b, int(outside.sum()))
                break
            values[outside] = generator.normal(self.mean, self.sigma, int(outside.sum()))
            outside = (values < self.a) | (values > self.b)
        return values


class XavierUniform(_Scaled):
    """Initialise uniformly in +-gain*sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).

    gain  a factor, 1 by default; ValueError if it is negative
    """

    def __init__(self, gain: float = 1.0):
        self.gain = _spread("XavierUniform", "gain", gain)

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        bound = self.gain * math.sqrt(6.0 / sum(fans("XavierUniform", shape)))
        return generator.uniform(-bound, bound, shape)


class XavierNormal(_Scaled):
    """Initialise with normal numbers of deviation gain*sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010).

    gain  a factor, 1 by default; ValueError if it is negative
    """

    def __init__(self, gain: float = 1.0):
        self.gain = _spread("XavierNormal", "gain", gain)

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        return generator.normal(0.0, self.gain * math.sqrt(2.0 / sum(fans("XavierNormal", shape))), shape)


_GAINS = {"sigmoid": 1.0, "linear": 1.0, "tanh": 5.0 / 3.0, "relu": math.sqrt(2.0)}


class _He(_Scaled):
    def __init__(self, negative_slope: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"):
        name = type(self).__name__
        if not isinstance(mode, str) or mode not in ("fan_in", "fan_out"):
            raise ValueError(f"For '{name}', the argument 'mode' must be 'fan_in' or 'fan_out', but got {mode!r}.")
        if not isinstance(nonlinearity, str) or nonlinearity not in (*_GAINS, "leaky_relu"):
            raise ValueError(f"For '{name}', the argument 'nonlinearity' must be one of {[*_GAINS, 'leaky_relu']}, "
                             f"but got {nonlinearity!r}.")
        slope = _finite(name, "negative_slope", negative_slope)
        self.mode = mode
        self.gain = math.sqrt(2.0 / (1.0 + slope**2)) if nonlinearity == "leaky_relu" else _GAINS[nonlinearity]

    def deviation(self, shape: tuple[int, ...]) -> float:
        return self.gain / math.sqrt(fans(type(self).__name__, shape)[self.mode == "fan_out"])


class HeUniform(_He):
    """Initialise uniformly in +-gain*sqrt(3 / fan) (He et al. 2015); gain sqrt(2 / (1 + slope^2)) for leaky_relu."""

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        bound = math.sqrt(3.0) * self.deviation(shape)
        return generator.uniform(-bound, bound, shape)


class HeNormal(_He):
    """Initialise with normal numbers of deviation gain / sqrt(fan) (He et al. 2015); gain as for HeUniform."""

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        return generator.normal(0.0, self.deviation(shape), shape)


class VarianceScaling(_Scaled):
    """Initialise with random numbers whose variance is scale / n.

    scale         the factor, 1 by default; ValueError if it is not greater than 0
    mode          what n is: "fan_in", "fan_out", or "fan_avg" for their mean
    distribution  "uniform"; "untruncated_normal"; "truncated_normal": cut off at twice the deviation that it would have uncut
    """

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal"):
        if not _finite("VarianceScaling", "scale", scale) > 0:
            raise ValueError(f"For 'VarianceScaling', the argument 'scale' must be greater than 0, but got {scale}.")
        for argument, value, known in (("mode", mode, ("fan_in", "fan_out", "fan_avg")),
                                       ("distribution", distribution, ("uniform", "truncated_normal", "untruncated_normal"))):
            if not isinstance(value, str) or value not in known:
                raise ValueError(f"For 'VarianceScaling', the argument '{argument}' must be one of {list(known)}, but got {value!r}.")
        self.scale, self.mode, self.distribution = float(scale), mode, distribution

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        fan_in, fan_out = fans("VarianceScaling", shape)
        over = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        deviation = math.sqrt(self.scale / max(1.0, over))
        match self.distribution:
            case "uniform":
                bound = math.sqrt(3.0) * deviation
                return generator.uniform(-bound, bound, shape)
            case "untruncated_normal":
                return generator.normal(0.0, deviation, shape)
            case _:
                uncut = deviation / _CUT_DEVIATION
                return TruncatedNormal(uncut, 0.0, -2 * uncut, 2 * uncut).draw(shape, generator)


_CUT_DEVIATION = 0.87962566103423978
"""The standard deviation of a standard normal number that is conditioned to lie in [-2, 2]."""


class Orthogonal(_Scaled):
    """Initialise with `gain` times a matrix (n, rest) with orthonormal rows or columns, whichever are fewer (Saxe et al. 2013).

    gain  a factor, 1 by default
    """

    def __init__(self, gain: float = 1.0):
        self.gain = _finite("Orthogonal", "gain", gain)

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        if len(shape) < 2:
            raise ValueError(f"For 'Orthogonal', the tensor must have at least 2 dimensions, but got shape {shape}.")
        rows, columns = shape[0], math.prod(shape[1:])
        q, r = np.linalg.qr(generator.normal(size=(max(rows, columns), min(rows, columns))))
        # Multiplying by the signs of the diagonal of r makes the distribution uniform.
        q = q * np.sign(np.diag(r))
        return self.gain * (q.T if rows < columns else q).reshape(shape)


class Dirac(Initializer):
    """Initialise the kernels [out, in, ...] of a convolution so that it returns its input channels unchanged, as far as it has outputs for
    them.

    groups  the number of groups of channels, each of which is treated so

    TypeError if `groups` is not an int, ValueError if it is less than 1.
    """

    draws = False

    def __init__(self, groups: int = 1):
        if isinstance(groups, bool) or not isinstance(groups, (int, np.integer)):
            raise TypeError(f"For 'Dirac', the argument 'groups' must be an int, but got {groups!r} of type {type(groups).__name__}.")
        if groups < 1:
            raise ValueError(f"For 'Dirac', the argument 'groups' must be at least 1, but got {groups}.")
        self.groups = int(groups)

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"For 'Dirac', the tensor must have 3, 4 or 5 dimensions, but got shape {shape}.")
        if shape[0] % self.groups:
            raise ValueError(f"For 'Dirac', the first dimension must be a multiple of 'groups', {self.groups}, but got shape {shape}.")
        values = np.zeros(shape)
        in_group = shape[0] // self.groups
        middle = tuple(size // 2 for size in shape[2:])
        for channel in range(min(in_group, shape[1])):
            values[(slice(channel, None, in_group), channel, *middle)] = 1.0
        return values


class Sparse(_Scaled):
    """Initialise a matrix with normal numbers, and set a share of each column to 0 (Martens 2010).

    sparsity  the share, from 0 to 1; otherwise ValueError
    sigma     the standard deviation of the numbers, 0.01 by default; ValueError if it is negative
    """

    def __init__(self, sparsity: float, sigma: float = 0.01):
        if not 0 <= _number("Sparse", "sparsity", sparsity) <= 1:
            raise ValueError(f"For 'Sparse', the argument 'sparsity' must be from 0 to 1, but got {sparsity}.")
        self.sparsity, self.sigma = float(sparsity), _deviation("Sparse", sigma)

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        if len(shape) != 2:
            raise ValueError(f"For 'Sparse', the tensor must have 2 dimensions, but got shape {shape}.")
        values = generator.normal(0.0, self.sigma, shape)
        places = generator.permuted(np.broadcast_to(np.arange(shape[0])[:, None], shape), axis=0)
        values[places < math.ceil(self.sparsity * shape[0])] = 0.0
        return values


INITIALIZERS: dict[str, type[Initializer]] = {
    "normal": Normal, "uniform": Uniform, "zeros": Zero, "zero": Zero, "ones": One, "one": One, "identity": Identity,
    "truncatednormal": TruncatedNormal, "xavier_uniform": XavierUniform, "xavieruniform": XavierUniform,
    "xavier_normal": XavierNormal, "xaviernormal": XavierNormal, "he_normal": HeNormal, "henormal": HeNormal,
    "he_uniform": HeUniform, "heuniform": HeUniform, "dirac": Dirac, "orthogonal": Orthogonal, "variancescaling": VarianceScaling,
}
"""The initialisers by the names that `initializer` takes; programs may add their own."""


def checked_initializer(init: Any, shape: Sequence[int] | int | None) -> tuple[Initializer, tuple[int, ...]]:
    """Check the arguments of `initializer`; return the Initializer that they mean, and the sizes of the tensor.

    init  an Initializer, the name of one, or a number for all elements

    ValueError for a bad shape or an unknown name, TypeError for another `init`.
    """
    if shape is None:
        raise ValueError("For 'initializer', the argument 'shape' must be given unless 'init' is a Tensor.")
    if not isinstance(shape, (int, np.integer, Sequence)) or isinstance(shape, (str, bytes)):
        raise ValueError(f"For 'initializer', the argument 'shape' must be positive integers, but got {shape!r}.")
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or not 0 < size < 2**63:
            raise ValueError(f"For 'initializer', the argument 'shape' must be positive integers, but got {shape!r}.")
    if isinstance(init, str):
        made = INITIALIZERS.get(init.lower())
        if made is None:
            raise ValueError(f"For 'initializer', the class corresponding to '{init}' was not found; there are {', '.join(INITIALIZERS)}.")
        init = made()
    elif isinstance(init, numbers.Real) and not isinstance(init, bool):
        init = Constant(float_of("initializer", "init", init))
    if not isinstance(init, Initializer):
        raise TypeError(f"For 'initializer', the argument 'init' must be a Tensor, a str, a number or an Initializer, but got {init!r} "
                        f"of type {type(init).__name__}.")
    sizes = tuple(int(size) for size in sizes)
    if len(sizes) > _MOST_DIMENSIONS:
        raise ValueError(f"For 'initializer', at most {_MOST_DIMENSIONS} dimensions are supported, but got {len(sizes)}.")
    return init, sizes
