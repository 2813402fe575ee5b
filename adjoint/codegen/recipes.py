"""Recipes: the kernel of an op for all sizes that lead to the same text.

    matmul(f32[32, 784], f32[784, 256])    lowered: the ops of this form have no recipe yet
    matmul(f32[24, 784], f32[784, 256])    lowered with sizes that are recorded (`adjoint.ir.kernel.sizes`): a recipe
    matmul(f32[16, 784], f32[784, 256])    computed by the recipe: its text, with other sizes for its launches

What `lower` decides by a size is a condition of the recipe.  Where none holds, the op is lowered, and there is one more recipe.
A form of op is its class with its attributes, and the dtypes and ranks of its operands and results: all but the sizes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from adjoint.codegen.emit import PLAIN_WORK, KernelText, lower
from adjoint.foundation.budget import Table, budget
from adjoint.ir.kernel.sizes import SizeRecord, Sizing
from adjoint.ir.op import Op
from adjoint.ir.types import TensorType, Type, tensor

__all__ = ["Recipe", "families", "form_of", "kernel_of", "plain_kernel_of", "recorded", "resized"]

MOST: Final = 16
"""How many recipes are kept for a form (an op with all but its sizes), the last used first."""

PATIENCE: Final = 8
"""The number of recipes that are made for one form while none of them is used; after that no more are made for it."""


class Recipe:
    """A kernel for some sizes, and how to compute it for others without emitting C again.

    kernel  the kernel, with the sizes of the launches for which it was made
    sizing  computes, from the sizes of an op and its types, those of the launches, stage by stage, and the bytes of the scratch buffers
    """

    __slots__ = ("kernel", "sizing")

    def __init__(self, kernel: KernelText, sizing: Sizing):
        self.kernel, self.sizing = kernel, sizing

    def for_sizes(self, sizes: Sequence[int]) -> KernelText | None:
        """Return the kernel for other sizes; None if they may lead to another text."""
        numbers = self.sizing.numbers(sizes)
        return None if numbers is None else _with_numbers(self.kernel, iter(numbers))

    @property
    def nbytes(self) -> int:
        """Return an estimate of its bytes."""
        return 1000 + len(self.kernel.text) + 150 * self.sizing.length


def _numbers_of(kernel: KernelText) -> list[Any]:
    return [number for stage in kernel.stages for number in stage.sizes] + [*kernel.scratch]


def _with_numbers(kernel: KernelText, numbers: Iterator[int]) -> KernelText:
    stages = tuple([replace(stage, sizes=tuple(islice(numbers, len(stage.sizes)))) for stage in kernel.stages])
    return replace(kernel, stages=stages, scratch=tuple(numbers))


def recorded(op: Op, operands: Sequence[Type], results: Sequence[Type], plain_work: float = 0) -> Recipe:
    """Emit the kernel of an op, and record how its text and launches depend on the sizes; return both as a recipe.

    op, operands, results  the op, and the types of its operands and results
    plain_work             as for `emit.lower`

    TypeError if `lower` uses a size where only a number can be, such as the key of a dictionary; whatever `lower` raises if it needs more
    of the op than its attributes.
    """
    _, sizes = form_of(op, operands, results)
    record = SizeRecord(sizes)
    given = iter(record.sizes)
    described = resized(op, given)
    types = [resized(type_, given) for type_ in (*operands, *results)]
    kernel = lower(described, types[: len(operands)], types[len(operands) :], plain_work=plain_work)
    sizing = record.end(_numbers_of(kernel))
    numbers = sizing.numbers(sizes)
    assert numbers is not None
    return Recipe(_with_numbers(kernel, iter(numbers)), sizing)


# -- forms -----------------------------------------------------------------------------------------------------------------
def form_of(op: Op, operands: Sequence[Type], results: Sequence[Type]) -> tuple[Hashable, list[int]]:
    """Split an op and its types into the form, which has no sizes and is the same for all of them, and a list of the sizes.

    The sizes are the integers in the op's attributes, and the lengths of the axes of operands and results.
    """
    sizes: list[int] = []
    return (_form(op, sizes), *[_form(type_, sizes) for type_ in operands], None, *[_form(type_, sizes) for type_ in results]), sizes


def _form(value: Any, sizes: list[int]) -> Hashable:
    """Return an attribute or type without its sizes, and append the sizes to the list `sizes`."""
    match value:
        case TensorType():
            sizes += value.sizes
            return value.dtype, value.rank
        case tuple():
            return tuple([_form(item, sizes) for item in value])
        case Op():
            return type(value), *[_form(getattr(value, name), sizes) for name in value.fields]
        case float():
            return value.hex()  # it tells -0.0 from 0.0
        case int() if type(value) is int:
            sizes.append(value)
            return int
        case _:
            return type(value), value


def resized(value: Any, sizes: Iterator[Any]) -> Any:
    """Return an attribute or type with other sizes; these are taken from `sizes` in the order of `_form`."""
    match value:
        case TensorType():
            return tensor(value.dtype, [*islice(sizes, value.rank)])
        case tuple():
            return tuple([resized(item, sizes) for item in value])
        case Op():
            made = object.__new__(type(value))  # not interned: its sizes have no hash
            for name in value.fields:
                object.__setattr__(made, name, resized(getattr(value, name), sizes))
            return made
        case int() if type(value) is int:
            return next(sizes)
        case _:
            return value


# -- the recipes of this process -------------------------------------------------------------------------------------------
class _Family:
    """The recipes of one form (an op with all but its sizes), as an entry of a cache.

    left  how many may still be made before one is used
    used  the period of the budget in which it was last looked up
    """

    __slots__ = ("left", "nbytes", "recipes", "used")

    def __init__(self) -> None:
        self.recipes: tuple[Recipe, ...] = ()
        self.left = PATIENCE
        self.used, self.nbytes = 0, 500

    def add(self, recipe: Recipe) -> None:
        self.recipes = (recipe, *self.recipes)[:MOST]
        self.nbytes = 500 + sum(each.nbytes for each in self.recipes)
        budget.charge(recipe.nbytes)

    def find(self, sizes: Sequence[int]) -> KernelText | None:
        """Return the kernel for these sizes, computed by one of the recipes; None if no recipe covers them."""
        known = self.recipes
        for recipe in known:
            kernel = recipe.for_sizes(sizes)
            if kernel is not None:
                self.left = PATIENCE
                if recipe is not known[0]:
                    self.recipes = (recipe, *[other for other in known if other is not recipe])
                return kernel
        return None


families: Table[Hashable, _Family] = Table("recipes")
"""The recipes of each form of an op."""


def kernel_of(op: Op, operands: Sequence[Type], results: Sequence[Type], plain_work: float = 0) -> KernelText:
    """Return the kernel of an op as `emit.lower` does, without emitting it again if a recipe covers the sizes."""
    if not op.any_size:
        return lower(op, operands, results, plain_work=plain_work)
    form, sizes = form_of(op, operands, results)
    key = form, plain_work
    family = families.find(key)
    if family is None:
        families.keep(key, _Family())
        return lower(op, operands, results, plain_work=plain_work)
    kernel = family.find(sizes)
    if kernel is not None:
        return kernel
    if family.left > 0:
        family.left -= 1
        try:
            recipe = recorded(op, operands, results, plain_work)
        except Exception:  # `lower` uses a size where only a number can be, or the op keeps something besides its attributes
            family.left = 0
        else:
            family.add(recipe)
            return recipe.kernel
    return lower(op, operands, results, plain_work=plain_work)


def plain_kernel_of(tuned: KernelText, op: Op, operands: Sequence[Type], results: Sequence[Type]) -> KernelText:
    """Return the plain kernel as `emit.plain_form` does, without emitting it again if a recipe covers the sizes."""
    return kernel_of(op, operands, results, PLAIN_WORK) if tuned.two_forms else replace(tuned, plain=True)
