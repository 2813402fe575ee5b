"""Of which tensors of a result a gradient is taken: those in tuples, lists and dicts, as MindSpore does, in every mode."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import pytest

import adjoint as ms
from adjoint import Tensor, jit
from adjoint.ops import GradOperation
from adjoint.runtime.tensor.structure import leaves

HEADER = """
import collections, dataclasses
Pair = collections.namedtuple("Pair", "u v")
class OwnList(list): pass
class OwnTuple(tuple): pass
class OwnDict(dict): pass
class Plain:
    def __init__(self, held): self.held = held
@dataclasses.dataclass
class Data:
    held: object
"""
ENTERED = ("({0}, {1})", "[{0}, {1}]", "{{'u': {0}, 'v': {1}}}", "Pair({0}, {1})", "OwnList([{0}, {1}])", "OwnTuple(({0}, {1}))",
           "OwnDict(u={0}, v={1})", "collections.OrderedDict(u={0}, v={1})", "({0}, 3, {1}, None, 'text')")
PASSED_ON = ("slice({0}, None, {1})", "slice({0})", "collections.deque([{0}, {1}])", "Plain({0})", "Data([{0}, {1}])", "{{{2}}}",
             "frozenset([{2}])", "slice(slice({0}), {1})", "[Plain([{0}])]", "collections.deque([slice({0})])")
"""{2} can be an element of a set."""


class Written:
    """A result as text, and the factors of its tensors that are differentiated, in order."""

    def __init__(self, seed: int):
        self.random, self.factors = random.Random(seed), list[int]()
        self.text = f"{self.leaf(True)}, {self.structure(3, True)}, {self.structure(2, True)}"

    def leaf(self, counts: bool) -> str:
        factor = self.random.randrange(1, 100)
        self.factors += [factor] * counts
        return f"x * {factor}.0"

    def structure(self, depth: int, counts: bool) -> str:
        if not depth or self.random.random() < 0.2:
            return self.leaf(counts)
        inside = counts and self.random.random() < 0.6
        pattern = self.random.choice(ENTERED if inside else PASSED_ON)
        parts = [self.structure(depth - 1, inside) if f"{{{i}}}" in pattern else "" for i in (0, 1)]
        return pattern.format(*parts, self.leaf(False) if "{2}" in pattern else "")


WRITTEN = [Written(seed) for seed in range(60)]


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    file = tmp_path_factory.mktemp("results") / "results_for_a_test.py"
    file.write_text(HEADER + "\n".join(f"def f{i}(x):\n    return {made.text}\n" for i, made in enumerate(WRITTEN)))
    spec = importlib.util.spec_from_file_location("results_for_a_test", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, f"f{i}") for i in range(len(WRITTEN))]


def in_graph_mode(f: Any, x: Tensor) -> Any:
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        return ms.grad(f)(x)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


WAYS = {
    "grad": lambda f, x: ms.grad(f)(x),
    "value_and_grad": lambda f, x: ms.value_and_grad(f)(x)[1],
    "GradOperation": lambda f, x: GradOperation()(f)(x),
    "grad of jit": lambda f, x: ms.grad(jit(f))(x),
    "value_and_grad of jit": lambda f, x: ms.value_and_grad(jit(f))(x)[1],
    "grad in jit": lambda f, x: jit(lambda x: ms.grad(f)(x))(x),
    "GRAPH_MODE": in_graph_mode,
    "has_aux": lambda f, x: ms.grad(lambda x: (f(x), x * 7), has_aux=True)(x)[0],
    "has_aux of jit": lambda f, x: ms.grad(jit(lambda x: (f(x), x * 7)), has_aux=True)(x)[0],
    "second order": lambda f, x: ms.grad(lambda x: ms.grad(f)(x) * x)(x),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_gradient_of_a_result(way: str, functions: list[Any]) -> None:
    wrong: list[str] = []
    for made, f in zip(WRITTEN, functions, strict=True):
        x, expected = Tensor(1.0), sum(made.factors)
        for _ in range(2):
            found = WAYS[way](f, x)
            if found.tolist() != expected:
                wrong.append(f"{made.text}: {found}, expected {expected}")
    assert not wrong


def test_cotangents_and_directions(functions: list[Any]) -> None:
    """One cotangent for each tensor that is differentiated; `jvp` gives None for an object that is passed on."""
    for made, f in zip(WRITTEN, functions, strict=True):
        result, pull = ms.vjp(f, Tensor(1.0))
        weights = [Tensor(float(i)) for i in range(len(made.factors))]
        assert pull(tuple(weights))[0].tolist() == sum(i * factor for i, factor in enumerate(made.factors)), made.text
        assert GradOperation(sens_param=True)(f)(Tensor(1.0), result).tolist() == sum(factor**2 for factor in made.factors), made.text
        _, along = ms.jvp(f, Tensor(1.0), Tensor(2.0))
        assert [x.tolist() for x in leaves(along, Tensor)] == [2 * factor for factor in made.factors], made.text


@pytest.mark.parametrize("only", ["slice(x)", "(slice(x, 2),)", "collections.deque([x])", "Plain(x)", "{x}"])
def test_a_result_without_a_tensor_to_differentiate(only: str, tmp_path: Path) -> None:
    file = tmp_path / "result_for_a_test.py"
    file.write_text(f"{HEADER}\ndef f(x):\n    return {only}\n")
    space: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    for gradient in (ms.grad(space["f"]), ms.grad(jit(space["f"]))):
        with pytest.raises(TypeError, match="returns at least one Tensor"):
            gradient(Tensor(1.0))
