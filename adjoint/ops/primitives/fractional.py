"""Pooling over windows at random places, as objects."""

from __future__ import annotations

from typing import Any, ClassVar

from adjoint.ops import fractional
from adjoint.ops.arguments import choice, flag, integer, wrong
from adjoint.ops.primitive import Primitive
from adjoint.ops.primitives.network import combined_seed
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["FractionalAvgPool", "FractionalMaxPool", "FractionalMaxPool3DWithFixedKsize", "FractionalMaxPoolWithFixedKsize"]


class FractionalMaxPoolWithFixedKsize(Primitive):
    """The largest elements of windows of one size at random places of images [n, c, h, w] or [c, h, w], and their places in the channel.

    It is called on the images, Float16, Float32, Float64, Int32 or Int64, and random numbers [n, c, 2] from 0 to 1.
    """

    def __init__(self, ksize: Any, output_shape: Any, data_format: str = "NCHW"):
        op = "FractionalMaxPoolWithFixedKsize"
        self._sizes = fractional.windows_of_one_size(op, ksize, output_shape, 2)
        super().__init__(ksize=ksize, output_shape=output_shape, data_format=choice(op, "data_format", data_format, ("nchw",)).upper())

    def __call__(self, input_x: Any, random_samples: Any) -> tuple[Tensor, Tensor]:
        return fractional.pooled(self.name, input_x, random_samples, *self._sizes)


class FractionalMaxPool3DWithFixedKsize(Primitive):
    """The largest elements of windows of one size at random places of volumes [n, c, d, h, w] or [c, d, h, w], and their places in the
    channel.

    It is called on the volumes, Float16, Float32, Float64, Int32 or Int64, and random numbers [n, c, 3] from 0 to 1.
    """

    def __init__(self, ksize: Any, output_shape: Any, data_format: str = "NCDHW"):
        op = "FractionalMaxPool3DWithFixedKsize"
        self._sizes = fractional.windows_of_one_size(op, ksize, output_shape, 3)
        super().__init__(ksize=ksize, output_shape=output_shape, data_format=choice(op, "data_format", data_format, ("ncdhw",)).upper())

    def __call__(self, x: Any, random_samples: Any) -> tuple[Tensor, Tensor]:
        return fractional.pooled(self.name, x, random_samples, *self._sizes)


class _Between(Primitive):
    """Windows between random places of images [n, h, w, c], of Float32, Float64, Int32 or Int64; and the places of rows and of columns.

    pooling_ratio    four numbers: 1, how many rows for one of the result, how many columns, 1
    pseudo_random    True for places a fraction apart from a random one; else the sizes of the windows are in random order
    overlapping      True to have in a window the element with which the next one begins
    deterministic    has no effect: `seed` and `seed2`, unless both are 0, take the global seed's place
    """

    average: ClassVar[bool]

    def __init__(
        self, pooling_ratio: Any, pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False, seed: int = 0,
        seed2: int = 0,
    ):
        name = type(self).__name__
        flags = {"pseudo_random": pseudo_random, "overlapping": overlapping, "deterministic": deterministic}
        seeds = {key: integer(name, key, value) for key, value in (("seed", seed), ("seed2", seed2))}
        super().__init__(None, pooling_ratio=fractional.ratio_argument(name, pooling_ratio),
                         **{key: flag(name, key, value) for key, value in flags.items()}, **seeds)
        if min(seeds.values()) < 0:
            raise wrong(name, "seed", "at least 0, as 'seed2'", (seed, seed2))

    def __call__(self, x: Any) -> tuple[Tensor, Tensor, Tensor]:
        return fractional.pooled_between(self.name, x, self.pooling_ratio, self.pseudo_random, self.overlapping,
                                         combined_seed(self.seed, self.seed2), self.average)


class FractionalMaxPool(_Between):
    __doc__ = "The largest element of each window.  " + (_Between.__doc__ or "")
    average = False


class FractionalAvgPool(_Between):
    __doc__ = "The mean of each window, of integers truncated.  " + (_Between.__doc__ or "")
    average = True
