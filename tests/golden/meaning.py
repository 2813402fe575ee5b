"""What a function means, for comparing modules before and after a pass: results, parameters and calls of Python, on random
inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ir.core import Function, Module, Node, Value, walk
from adjoint.ir.interpret import UNDEFINED, Interpreter
from adjoint.ir.ops.host import Apply, Bprop, Callback, CellCallback
from adjoint.ir.storage import from_compute, to_compute
from adjoint.ir.types import Poly, StackType, TensorType, TupleType, Type, substituted
from adjoint.passes.differentiate import Differentiate

ROUNDS = 3
"""Random inputs tried."""
NODE_LIMIT = 50_000
"""Nodes run before a function counts as one that does not end."""
STACK_ITEMS = 16
STEP = 2.0**-10
"""Of finite differences, in the direction of each input."""


class Observed(Interpreter):
    """An interpreter that logs calls of Python; callbacks scale what they see by `factor`."""

    def __init__(self, module: Module, state: dict[str, Any], factor: float):
        super().__init__(module, state=state)
        self.log: list[tuple[Any, ...]] = []
        self._factor = factor
        self._left = NODE_LIMIT

    def node(self, node: Node, environment: dict[Value, Any]) -> Sequence[Any]:
        self._left -= 1
        if self._left < 0:
            raise AssertionError("the function does not end on random inputs: give it a `# DOMAIN: low..high`")
        return super().node(node, environment)

    def host(self, node: Node, operands: Sequence[Any]) -> Sequence[Any]:
        self.log.append((repr(node.op), getattr(node.op, "symbol", ""), [np.copy(x) for x in operands]))
        match node.op:
            case Callback() | CellCallback():
                return [self._scaled(x, value.type) for x, value in zip(operands, node.results, strict=False)]
            case Apply() | Bprop():
                rng = np.random.default_rng(len(self.log))
                return [drawn(rng, substituted(value.type, self._sizes), (0.5, 1.5)) for value in node.results]
            case _:
                return super().host(node, operands)

    def _scaled(self, array: Any, type_: Type) -> Any:
        assert isinstance(type_, TensorType)
        return from_compute(to_compute(array, type_.dtype) * np.asarray(self._factor, type_.dtype.compute.array), type_.dtype)


def drawn(rng: np.random.Generator, type_: Type, domain: tuple[float, float]) -> Any:
    """Return a random value of a type without symbolic dimensions."""
    match type_:
        case TensorType(dtype=dtype):
            if dtype.is_float:
                return from_compute(rng.uniform(*domain, type_.sizes).astype(dtype.compute.array), dtype)
            return np.asarray(rng.integers(0, 2 if dtype.kind == "b" else 5, type_.sizes), dtype.array)
        case TupleType(items=items):
            return tuple(drawn(rng, item, domain) for item in items)
        case StackType(item=item):
            stack = None
            for _ in range(STACK_ITEMS):
                stack = (stack, drawn(rng, item, domain))
            return stack
        case _:
            raise TypeError(f"cannot draw a {type_}")


def named_sizes(types: Sequence[Type]) -> dict[str, int]:
    """Return a number for each named dimension of the types."""
    names: dict[str, int] = {}

    def visit(type_: Type) -> None:
        match type_:
            case TensorType(shape=shape):
                for dim in shape:
                    for name in sorted(dim.names()) if isinstance(dim, Poly) else ():
                        names.setdefault(name, 2 + len(names))
            case TupleType(items=items):
                for item in items:
                    visit(item)
            case StackType(item=item):
                visit(item)
            case _:
                pass

    for type_ in types:
        visit(type_)
    return names


def inputs(function: Function, module: Module, domain: tuple[float, float], seed: int) -> tuple[list[Any], dict[str, Any]]:
    """Return random arguments of a function and a random state of its module."""
    rng = np.random.default_rng(seed)
    types = [param.type for param in function.params]
    sizes = named_sizes([*types, *module.params.values()])
    arguments = [drawn(rng, substituted(type_, sizes), domain) for type_ in types]
    return arguments, {symbol: drawn(rng, substituted(type_, sizes), domain) for symbol, type_ in module.params.items()}


def run(module: Module, function: Function, given: tuple[list[Any], dict[str, Any]], factor: float) -> tuple[Any, Any, Any]:
    """Return the results, the state afterwards, and the log of a function."""
    arguments, state = given
    interpreter = Observed(module, dict(state), factor)
    results = interpreter.call(function, arguments)
    return results, interpreter.state, interpreter.log


def same(one: Any, two: Any) -> bool:
    """Return whether two values are equal to the bit, with all NaN equal."""
    if one is UNDEFINED or two is UNDEFINED or one is None or two is None:
        return one is two or (one is UNDEFINED) != (two is UNDEFINED)  # what was undefined may become anything
    if isinstance(one, (tuple, list)):
        return isinstance(two, (tuple, list)) and len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, str):
        return one == two
    a, b = np.asarray(one), np.asarray(two)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        equal = (a == b) & (np.signbit(a) == np.signbit(b))
        return bool(np.all(equal | (np.isnan(a) & np.isnan(b))))
    return bool(np.array_equal(a, b))


def compare(before: Module, after: Module, domain: tuple[float, float]) -> None:
    """Check that every function of both modules with the same parameters returns the same, and makes the same calls of Python.

    Gradients inside of functions mean what `differentiate` makes of them; another test compares that with differences.
    """
    before, after = Differentiate().on_module(before), Differentiate().on_module(after)
    for symbol, function in before.functions.items():
        other = after.functions.get(symbol)
        if other is None or [p.type for p in other.params] != [p.type for p in function.params]:
            continue
        for seed in range(ROUNDS):
            given = inputs(function, before, domain, seed)
            expected, got = run(before, function, given, 1.5), run(after, other, given, 1.5)
            for what, one, two in zip(("results", "parameters", "calls of Python"), expected, got, strict=True):
                if isinstance(one, dict):
                    one, two = list(one.values()), list(two.values())
                assert same(one, two), f"the {what} of @{symbol} changed on {given[0]}: from {one} to {two}"


def compare_gradient(before: Module, after: Module, step: Any, domain: tuple[float, float]) -> None:
    """Check that the result of `grad` agrees with finite differences along a random direction, with callbacks that change nothing."""
    before = Differentiate().on_module(before)
    symbol = step.of.removeprefix("@") or next(iter(before.functions))
    function, gradient = before.functions[symbol], after.functions[f"{symbol}.grad"]
    for part in before.functions.values():
        if any(isinstance(node.op, (Apply, Bprop)) or getattr(node.op, "rule", "") for node in walk(part.body)) or part.vjp:
            return  # Python decides about the gradient
    types = [atom.type for atom in function.body.results]
    if any(isinstance(type_, (StackType, TupleType)) for type_ in types):
        return
    wanted = step.wrt or [p.hint for p in function.params if isinstance(p.type, TensorType) and p.type.dtype.is_float]
    for seed in range(ROUNDS):
        given = inputs(function, before, domain, seed)
        rng = np.random.default_rng(seed)
        first = _floats(run(before, function, given, 1.0)[0], types)
        seeds = [rng.uniform(0.5, 1.5, np.shape(x)).astype(x.dtype) for x in first]
        ways = {name: rng.choice([-1.0, 1.0], np.shape(_named(given, function, name))) for name in wanted}

        high, low = (
            _floats(run(before, function, _moved(given, function, ways, side * STEP), 1.0)[0], types) for side in (1, -1)
        )
        slope = float(sum(np.sum(c.astype(float) * (a - b)) for c, a, b in zip(seeds, high, low, strict=True))) / (2 * STEP)
        cotangents = run(after, gradient, ([*given[0], *seeds], given[1]), 1.0)[0]
        cotangents = cotangents[len(cotangents) - len(wanted) :]
        got = float(sum(np.sum(ways[name] * ct) for name, ct in zip(wanted, cotangents, strict=True)))
        assert abs(got - slope) <= 2e-2 * (1 + abs(slope)), f"the gradient of @{symbol} along a direction is {got}, not {slope}"


def _floats(results: Sequence[Any], types: Sequence[Type]) -> list[Any]:
    return [x for x, t in zip(results, types, strict=True) if isinstance(t, TensorType) and t.dtype.is_float]


Given = tuple[list[Any], dict[str, Any]]


def _named(given: Given, function: Function, name: str) -> Any:
    """Return an argument by its parameter's name, or a parameter of the module by its symbol."""
    arguments, state = given
    return state[name[1:]] if name.startswith("@") else arguments[[p.hint for p in function.params].index(name)]


def _moved(given: Given, function: Function, ways: dict[str, Any], step: float) -> Given:
    """Return the inputs after a step in the directions `ways`."""

    def move(name: str, x: Any) -> Any:
        return x + (step * ways[name]).astype(x.dtype) if name in ways else x

    arguments, state = given
    names = [p.hint for p in function.params]
    return [move(n, x) for n, x in zip(names, arguments, strict=True)], {s: move(f"@{s}", x) for s, x in state.items()}
