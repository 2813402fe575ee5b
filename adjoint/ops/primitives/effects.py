"""Operators as objects that draw random numbers, write, or print."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import I32
from adjoint.ops import random_numbers, state
from adjoint.ops.arguments import integer, wrong
from adjoint.ops.primitive import Plain, Primitive, plain
from adjoint.ops.primitives.network import combined_seed
from adjoint.runtime.tensor.run_time_checks import effect
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Assign", "AssignAdd", "AssignSub", "Print", "RandomChoiceWithMask", "StandardNormal", "UniformInt", "UniformReal"]

# Random numbers ------------------------------------------------------------------------------------------------------


class _Random(Primitive):
    """A random draw; seed and seed2, unless both are 0, replace the global seed."""

    def __init__(self, seed: int = 0, seed2: int = 0):
        name = type(self).__name__
        super().__init__(seed=integer(name, "seed", seed), seed2=integer(name, "seed2", seed2))
        if self.seed < 0 or self.seed2 < 0:
            raise wrong(name, "seed", "at least 0, as 'seed2'", (seed, seed2))


class StandardNormal(_Random):
    """Normally distributed numbers of mean 0 and deviation 1."""

    def __call__(self, shape: Any) -> Tensor:
        return random_numbers.standard_normal(shape, combined_seed(self.seed, self.seed2))


class UniformReal(_Random):
    """Uniformly random numbers in [0, 1)."""

    def __call__(self, shape: Any) -> Tensor:
        return random_numbers.uniform(shape, 0.0, 1.0, combined_seed(self.seed, self.seed2))


class UniformInt(_Random):
    """Uniformly random Int32 from `minval` up to and without `maxval`."""

    def __call__(self, shape: Any, minval: Any, maxval: Any) -> Tensor:
        return random_numbers.uniform(shape, minval, maxval, combined_seed(self.seed, self.seed2), I32)


class RandomChoiceWithMask(_Random):
    """The indices of `count` elements that are true, drawn without replacement, and which rows are of such elements."""

    def __init__(self, count: int = 256, seed: int = 0, seed2: int = 0):
        super().__init__(seed, seed2)
        seeds = dict(self.attrs)
        Primitive.__init__(self, None, count=integer("RandomChoiceWithMask", "count", count), **seeds)
        if self.count < 1:
            raise wrong("RandomChoiceWithMask", "count", "at least 1", count)

    def __call__(self, input_x: Any) -> tuple[Tensor, Tensor]:
        return random_numbers.chosen_with_mask("RandomChoiceWithMask", input_x, self.count, combined_seed(self.seed, self.seed2))


# State ---------------------------------------------------------------------------------------------------------------


Assign = plain("Assign", state.assign)
AssignAdd = plain("AssignAdd", state.assign_add)
AssignSub = plain("AssignSub", state.assign_sub)


class Print(Plain):
    """Prints its operands, one below the other, and returns the first."""

    def __call__(self, *input_x: Any) -> Any:
        effect("print", _print, input_x)
        return input_x[0] if input_x else None


def _print(*items: Any) -> None:
    print(*items, sep="\n")
