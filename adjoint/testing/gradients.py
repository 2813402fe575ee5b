"""Compare gradients with finite differences in float64, to order two, and with derivatives in forward mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ir.core import Function, Module, Region, Value
from adjoint.ir.interpret import Interpreter
from adjoint.ir.op import NotDifferentiable
from adjoint.ir.ops.complex_arithmetic import complex_number
from adjoint.ir.types import TensorType
from adjoint.ir.verify import verify_module
from adjoint.passes.activity import differentiable_by_default
from adjoint.passes.autodiff import Grad
from adjoint.passes.forward import with_tangents
from adjoint.testing.cases import Array, Case

__all__ = ["check_gradient"]


def check_gradient(module: Module, case: Case, orders: int) -> None:
    """Compare the gradient along a random direction with a finite difference, and with the tangents; then the gradient's own gradient.

    AssertionError if one differs, and if an op that has a gradient has none of order two.

    module  the case as a function, as `cases.module_of` makes it
    orders  1 or 2
    """
    rng = np.random.default_rng(len(case.name))
    arguments: list[Array] = case.arrays()
    for order in range(1, orders + 1):
        (function,) = module.functions.values()
        try:
            after = Grad().on_module(module)
        except NotDifferentiable as reason:
            if order > 1 or case.op.cuts or len(str(reason)) <= 10:
                raise AssertionError(f"{case.name}, order {order}: {reason}") from reason
            return
        verify_module(after)
        (gradient,) = after.functions.values()
        seeds = [drawn(rng, 0.5, 1.5, t.sizes, t) for t in function.result_types
                 if isinstance(t, TensorType) and differentiable_by_default(t)]
        found = Interpreter(after).call(gradient, [*arguments, *seeds])
        ways = [
            drawn(rng, -1.0, 1.0, np.shape(x), p.type) if differentiable_by_default(p.type) else None
            for p, x in zip(function.params, arguments, strict=True)
        ]
        with np.errstate(invalid="ignore"):  # where an op is not smooth, its gradient may be infinite to both sides
            slope_of_adjoint = sum(float(np.sum(product(ct, d))) for ct, d in zip(found, (d for d in ways if d is not None), strict=True))
        if case.sample.smooth and not case.op.cuts:
            slope, noise = difference(module, function, arguments, ways, seeds)
            error = abs(slope - slope_of_adjoint)
            if not error <= 1e-5 * (1 + abs(slope)) + noise:
                raise AssertionError(f"{case.name}: the gradient of order {order} along a random direction is {slope_of_adjoint}, but "
                                     f"finite differences give {slope}")
        if order == 1 and case.sample.smooth:
            pairs = zip(tangents(module, function, arguments, ways), function.result_types, strict=True)
            terms = [product(ct, d) for ct, d in zip(seeds, (d for d, t in pairs if differentiable_by_default(t)), strict=True)]
            slope, size = sum(float(np.sum(x)) for x in terms), sum(float(np.sum(np.abs(x))) for x in terms)
            if not abs(slope - slope_of_adjoint) <= 1e-9 * (1 + size):
                raise AssertionError(f"{case.name}: the gradient along a random direction is {slope_of_adjoint}, but the derivative in "
                                     f"forward mode is {slope}")
        module, arguments = after, [*arguments, *seeds]


def drawn(rng: np.random.Generator, low: float, high: float, shape: Sequence[int], type_: object) -> Array:
    """Return random numbers, both parts of complex ones."""
    real = rng.uniform(low, high, shape)
    is_complex = isinstance(type_, TensorType) and type_.dtype.is_complex
    return complex_number(real, rng.uniform(low, high, shape)) if is_complex else real


def product(one: Array, two: Array) -> Array:
    """Return the products of numbers, for complex ones the sum of those of the parts: how a gradient meets a direction."""
    return np.real(np.conj(one) * two) if np.iscomplexobj(one) else one * two


def tangents(module: Module, function: Function, arguments: Sequence[Array], ways: Sequence[Any]) -> list[Array]:
    """Return the derivatives of the function's results along `ways`, computed in forward mode."""
    moved = [param for param, way in zip(function.params, ways, strict=True) if way is not None]
    directions = {param: Value(param.type, f"{param.hint}'") for param in moved}
    nodes, found = with_tangents(function.body.nodes, function.body.results, directions, module)
    whole = Function("f", Region((*function.params, *directions.values()), tuple(nodes), tuple(found)))
    made = Module(module.params, module.hosts, {"f": whole})
    verify_module(made)
    return list(Interpreter(made).call(whole, [*arguments, *(way for way in ways if way is not None)]))


STEP = 1e-5


def difference(
    module: Module, function: Function, arguments: Sequence[Array], ways: Sequence[Any], seeds: Sequence[Array]
) -> tuple[float, float]:
    """Return the slope of the seeded sum of the function's results along `ways`, and its possible rounding error."""

    def value(step: float) -> tuple[float, float]:
        moved = [x if d is None else x + step * d for x, d in zip(arguments, ways, strict=True)]
        results = Interpreter(module).call(function, moved)
        floats = [x for x, t in zip(results, function.result_types, strict=True) if differentiable_by_default(t)]
        terms = [product(c, x) for c, x in zip(seeds, floats, strict=True)]
        return sum(float(np.sum(x)) for x in terms), sum(float(np.sum(np.abs(x))) for x in terms)

    # Five points: the error is of order step**4.
    (a, size), (b, _), (c, _), (d, _) = value(2 * STEP), value(STEP), value(-STEP), value(-2 * STEP)
    return (8 * (b - c) - (a - d)) / (12 * STEP), 1e-15 * size / STEP
