"""Checks gradients of functions given as IR text: against finite differences in float64, at any order, and through the text."""

from __future__ import annotations

from functools import cache

import numpy as np
from eager import eager_gradient

from adjoint.ir.core import Module
from adjoint.ir.interpret import Interpreter
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.types import TensorType
from adjoint.ir.verify import verify_module
from adjoint.passes.activity import differentiable_by_default
from adjoint.passes.manager import Pipeline, chosen

STEP = 1e-6


def gradient(module: Module, text: str = "grad") -> Module:
    """The module after passes; it verifies, and its text reads back as itself."""
    after = Pipeline.parse(text).run(module)
    verify_module(after)
    printed = print_module(after)
    assert print_module(parse_module(printed)) == printed
    return after


@cache
def parsed(text: str) -> Module:
    """The module of a text, which is verified."""
    module = parse_module(text)
    verify_module(module)
    return module


@cache
def derived(text: str, passes: str, order: int) -> Module:
    """The module of a text after `passes`, `order` times: the same for all arguments."""
    return gradient(derived(text, passes, order - 1), passes) if order else parsed(text)


def drawn(rng: np.random.Generator, type_: TensorType, shape: tuple[int, ...], low: float, high: float):
    if type_.dtype.is_float:
        return rng.uniform(low, high, shape).astype(type_.dtype.array)
    if type_.dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape), bool)
    return np.asarray(rng.integers(1, 4, shape), type_.dtype.array)


def agree(text: str, orders: int = 3, passes: str = "dce", domain=(0.5, 1.5), state=None, tolerance=1e-6, **given) -> None:
    """Compare the gradient of the text's first function with finite differences along a random direction.

    Then compare the gradient's gradient with finite differences of the gradient, and so on.
    `given` fixes arguments by name; sizes must be numbers.
    """
    module = parsed(text)
    rng = np.random.default_rng(sum(map(ord, text)))
    arguments = []
    for param in chosen(module, "").params:
        if param.hint in given:
            arguments.append(np.asarray(given[param.hint], param.type.dtype.array))
        else:
            arguments.append(drawn(rng, param.type, param.type.sizes, *domain))
    for order in range(1, orders + 1):
        function = chosen(module, "")
        after = derived(text, f"grad,{passes}", order)
        seeds = [rng.uniform(0.5, 1.5, t.sizes) for t in function.result_types if differentiable_by_default(t)]
        ways = [rng.uniform(-1, 1, x.shape) if differentiable_by_default(p.type) else None for p, x in zip(function.params, arguments)]

        def value(step: float, module=module, function=function, arguments=arguments, ways=ways, seeds=seeds) -> float:
            moved = [x if d is None else x + step * d for x, d in zip(arguments, ways)]
            results = Interpreter(module, state=dict(state or {})).call(function, moved)
            floats = [y for y in results if np.asarray(y).dtype.kind == "f"]
            return sum(float(np.sum(y * seed)) for y, seed in zip(floats, seeds))

        expected = (value(STEP) - value(-STEP)) / (2 * STEP)
        found = Interpreter(after, state=dict(state or {})).call(chosen(after, ""), [*arguments, *seeds])
        inward = [d for d in ways if d is not None]
        got = sum(float(np.sum(g * d)) for g, d in zip(found, inward, strict=True))
        assert abs(got - expected) <= tolerance * (1 + abs(expected)), (order, got, expected, print_module(after, False))
        module, arguments = after, [*arguments, *seeds]


class Log(dict):
    """Hosts that write down what they see: every symbol is there."""

    def __init__(self, factor: float = 1.0):
        super().__init__()
        self.seen: list[tuple] = []
        self.factor = factor

    def __missing__(self, symbol: str):
        def called(*arguments):
            self.seen.append((symbol, *map(_plain, arguments)))
            if len(arguments) == 2 and isinstance(arguments[0], tuple):
                return tuple(None if x is None else x * self.factor for x in arguments[0])
            return tuple(x * self.factor for x in arguments)

        return called

    def get(self, symbol, default=None):
        return self[symbol]


def _plain(x):
    return tuple(map(_plain, x)) if isinstance(x, tuple) else None if x is None else np.asarray(x).tolist()


def same_as_eager(
    text: str, passes: str = "dce", domain=(0.5, 1.5), state=None, symbols=(), factor=1.25, tolerance=0.0, **given
) -> list[tuple]:
    """Compare the gradient with the pullback of what eager execution records: the same calls, the same bits; the calls.

    With a tolerance, relative and absolute, numbers may differ by as much: sums may be added up in another order.
    """
    module = parsed(text)
    function = chosen(module, "")
    rng = np.random.default_rng(sum(map(ord, text)))
    arguments = [
        np.asarray(given[p.hint], p.type.dtype.array) if p.hint in given else drawn(rng, p.type, p.type.sizes, *domain)
        for p in function.params
    ]
    seeds = [rng.uniform(0.5, 1.5, t.sizes).astype(t.dtype.array) for t in function.result_types if differentiable_by_default(t)]
    eager_log, log = Log(factor), Log(factor)
    expected = eager_gradient(module, function, arguments, seeds, state=state, hosts=eager_log, symbols=symbols)
    wrt = ", ".join([p.hint for p in function.params if differentiable_by_default(p.type)] + [f"@{s}" for s in symbols])
    after = derived(text, f"grad{{wrt=[{wrt}]}},{passes}", 1)
    found = Interpreter(after, state=dict(state or {}), hosts=log).call(chosen(after, ""), [*arguments, *seeds])
    assert _same(eager_log.seen, log.seen, tolerance), (eager_log.seen, log.seen, print_module(after, False))
    assert _same(list(expected), list(found), tolerance), (expected, found, print_module(after, False))
    return log.seen


def _same(one, two, tolerance: float) -> bool:
    """Whether two things are equal; the numbers in them within a tolerance."""
    if isinstance(one, (tuple, list)):
        return type(one) is type(two) and len(one) == len(two) and all(_same(a, b, tolerance) for a, b in zip(one, two))
    if one is None or two is None or isinstance(one, str):
        return one is two or one == two
    return np.array_equal(one, two) if tolerance == 0 else np.allclose(one, two, rtol=tolerance, atol=tolerance)
