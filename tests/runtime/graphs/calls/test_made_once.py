"""A function that goes on with the same kinds of arguments makes nothing after its first five calls.

Nothing of what `adjoint.foundation.made` counts: files parsed, lowerings, graphs, adjoints, plans, guards, texts, kernels.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from programs import PROGRAMS

import adjoint as ms
from adjoint import Tensor, jit, nn, ops
from adjoint.codegen import packs
from adjoint.foundation import made
from tests.made_up.fuzz import made_up
from tests.made_up.program import loaded
from tests.outcomes import compiled

CALLS = 5
"""After so many calls all is made."""


def made_by(call: Any) -> dict[made.Kind, int]:
    """Return what the sixth call makes; what raises while it is lowered is lowered anew, to raise the same."""
    with contextlib.redirect_stdout(io.StringIO()):
        for _ in range(CALLS):
            with contextlib.suppress(Exception):  # programs may raise anything
                call()
        before, raised = made.counted(), False
        try:
            call()
        except Exception:
            raised = True
    found = made.counted() - before
    return {} if raised and found.keys() <= {"lowerings"} else {**found}


@pytest.fixture(autouse=True)
def compile_at_once(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let nothing be compiled in the background: it would be counted with the call that is made meanwhile."""
    monkeypatch.setattr(packs, "FAMILIES", ())
    before = ms.get_context("background_compile")
    ms.set_context(background_compile="wait")
    yield
    ms.set_context(background_compile=before)


@pytest.mark.parametrize("begin", range(0, len(PROGRAMS), 80))
@pytest.mark.parametrize("what", ["results", "gradients"])
def test_programs(what: str, begin: int) -> None:
    """Of each two neighbours the result of one and the gradient of the other."""
    found: dict[str, dict[made.Kind, int]] = {}
    for program in [*PROGRAMS.values()][begin + (what == "gradients") : begin + 80 : 2]:
        call = compiled(program.make())
        if what == "gradients":
            if not program.wrt:
                continue
            call = ms.grad(call, program.wrt)

        def called(call: Any = call, program: Any = program) -> None:
            arguments, keywords = program.arguments()
            call(*arguments, **keywords)

        if making := made_by(called):
            found[program.name] = making
    assert not found


@pytest.mark.parametrize("what", ["results", "gradients"])
def test_made_up_programs(what: str) -> None:
    """Each call of a session is repeated, with the hooks that there are then."""
    found: dict[tuple[int, int], dict[made.Kind, int]] = {}
    for seed in range(what == "gradients", 80, 2):
        program = loaded(made_up(seed))
        net = program.Net()
        call, calls = compiled(net) if what == "results" else ms.grad(compiled(net), program.WRT), itertools.count()

        def repeated(*args: Any, call: Any = call, seed: int = seed, calls: Any = calls) -> Any:
            if making := made_by(lambda: call(*args)):
                found[seed, next(calls)] = making
            return call(*args)

        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
            program.session(net, repeated)
    assert not found


MANUAL = Path(__file__).parents[3] / "manual"

REPEATING = """
import contextlib, io, sys
from adjoint import nn
from adjoint.foundation import made
from adjoint.cli import main

whole, found, inside = nn.Cell.__call__, [], [False]


def repeated(cell, *args, **kwargs):
    if inside[0]:
        return whole(cell, *args, **kwargs)
    inside[0] = True
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            for _ in range(5):
                whole(cell, *args, **kwargs)
            before = made.counted()
            whole(cell, *args, **kwargs)
            making = made.counted() - before
        print(type(cell).__name__, dict(making), file=sys.stderr)
        return whole(cell, *args, **kwargs)
    finally:
        inside[0] = False


nn.Cell.__call__ = repeated
for script in sys.argv[1:]:
    main(["run", script, "--graph"])
"""


def test_programs_of_the_manual(tmp_path: Path) -> None:
    """Each call of a Cell that the manual's programs make is repeated, in GRAPH_MODE."""
    scripts = [str(path) for path in sorted(MANUAL.glob("*.py"))]
    environment = {**os.environ, "ADJOINT_BACKGROUND_COMPILE": "wait"}
    ended = subprocess.run([sys.executable, "-c", REPEATING, *scripts], capture_output=True, text=True, cwd=tmp_path, env=environment)
    calls = [line for line in ended.stderr.splitlines() if line.endswith("}")]
    assert len(calls) > len(scripts), ended.stderr
    assert not [line for line in calls if not line.endswith(" {}")]


def test_a_count_grows() -> None:
    before = made.counted()
    jit(lambda x: x + 1)(Tensor([1.0]))
    found = made.counted() - before
    assert found["lowerings"] and found["graphs"] and found["plans"] and found["guards"]


class Options:
    rate = 2.0


class Configured(nn.Cell):
    """Is given another object for each call."""

    def __init__(self) -> None:
        super().__init__()
        self.options = Options()

    def construct(self, x: Any) -> Any:
        return x * self.options.rate


def with_new_options() -> Callable[[], Any]:
    net = Configured()

    def call() -> Any:
        net.options = Options()
        return jit(net)(Tensor([1.0, 2.0]))

    return call


def called_with(function: Callable[..., Any], new: Callable[[int], Any]) -> Callable[[], Any]:
    run, calls = jit(function), itertools.count()
    return lambda: run(Tensor([1.0, 2.0]), new(next(calls)))


EXCEPTIONS = {
    "a number that is a part of a shape": called_with(lambda x, n: ops.zeros((n, 2)) + x, lambda i: i),
    "a number that Python computes with": called_with(lambda x, rate: x * math.sqrt(rate), lambda i: 0.5 + i),
    "other text": called_with(lambda x, name: x * len(name), lambda i: f"step {i}"),
    "an object made for each call": called_with(lambda x, options: x * options.rate, lambda i: Options()),
    "a function made for each call, as an argument": called_with(lambda x, scale: scale(x), lambda i: lambda v: v * 2),
    "an object put into an attribute before each call": with_new_options(),
}
"""What makes a graph in each call all the same, since Python may tell one from the other: docs/language.md lists these."""


@pytest.mark.parametrize("why", EXCEPTIONS)
def test_the_exceptions_make_a_graph_in_each_call(why: str) -> None:
    assert made_by(EXCEPTIONS[why])["lowerings"] == 1


class OperatorsInABody(nn.Cell):
    def construct(self, x: Any) -> Any:
        concat, cast, mean = ops.Concat(axis=1), ops.Cast(), ops.ReduceMean(True)
        return mean(cast(concat((x, x)), ms.float32), 0)


class Logged(nn.Cell):
    """A network that keeps the gradients which its hook is given."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(2, 2)
        self.seen: list[Tensor] = []
        self.dense.register_backward_hook(lambda cell, given, sent: self.seen.append(sent[0]))

    def construct(self, x: Tensor) -> Tensor:
        return self.dense(x).sum()


@pytest.mark.parametrize("listed", [lambda net: net.trainable_params(), lambda net: list(net.get_parameters()),
                                    lambda net: [*net.parameters_dict().values()],
                                    lambda net: [p for cell in net.cells() for p in cell.trainable_params()]])
def test_what_hooks_keep_in_a_network_does_not_make_graphs_of_a_step_that_lists_its_parameters(listed: Callable[[Any], Any]) -> None:
    net, x = Logged(), ops.ones((3, 2))

    @jit
    def step(x: Tensor) -> Any:
        return ms.grad(net, None, listed(net))(x)

    for _ in range(4):
        assert len(step(x)) == 2
    assert len(ms.jit_stats(step).graphs) == 1 and len(net.seen) == 4
    net.dense = nn.SequentialCell(nn.Dense(2, 2), nn.Dense(2, 2))
    assert len(step(x)) == 4


def test_parameters_that_are_listed_in_a_step_may_be_frozen_and_added() -> None:
    net, x = Logged(), ops.ones((3, 2))

    @jit
    def step(x: Tensor) -> Any:
        return ms.grad(lambda x: net(x) * (net.scale if hasattr(net, "scale") else 1.0), None, net.trainable_params())(x)

    assert len(step(x)) == len(step(x)) == 2
    net.scale = ms.Parameter(Tensor(3.0), name="scale")
    assert len(step(x)) == 3
    net.dense.bias.requires_grad = False
    assert len(step(x)) == 2
    net.dense.bias.requires_grad = True
    assert len(step(x)) == 3


def test_operators_made_in_a_body() -> None:
    net = OperatorsInABody()
    assert not made_by(lambda: jit(net)(Tensor([[1.0, 2.0]])))
    assert not made_by(lambda: ms.grad(jit(net))(Tensor([[1.0, 2.0]])))
