"""A function that goes on with the same kinds of arguments makes nothing after its first five calls.

Nothing of what `adjoint.foundation.made` counts: files parsed, lowerings, graphs, adjoints, plans, guards, texts, kernels.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest
from programs import PROGRAMS

import adjoint as ms
from adjoint import Tensor, jit, nn, ops
from adjoint.foundation import made
from tests.made_up import networks
from tests.made_up.fuzz import WRITERS, made_up
from tests.made_up.program import loaded
from tests.outcomes import compiled

CALLS = 5
"""After so many calls all is made."""


def made_by(call: Any) -> dict[str, int]:
    """Return what the sixth call makes; a call that raises is made anew each time, to raise the same again."""
    raised = False
    before = made.counted()
    for i in range(CALLS + 1):
        if i == CALLS:
            before = made.counted()
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                call()
            except Exception:  # programs may raise anything
                raised = True
    return {} if raised else dict(made.counted() - before)


@pytest.fixture(autouse=True)
def compile_at_once() -> Any:
    before = ms.get_context("background_compile")
    ms.set_context(background_compile="wait")
    yield
    ms.set_context(background_compile=before)


@pytest.mark.parametrize("begin", range(0, len(PROGRAMS), 40))
@pytest.mark.parametrize("what", ["results", "gradients"])
def test_programs(what: str, begin: int) -> None:
    found: dict[str, dict[str, int]] = {}
    for program in [*PROGRAMS.values()][begin : begin + 40]:
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


@pytest.mark.parametrize("begin", [0, 40])
@pytest.mark.parametrize("what", ["results", "gradients"])
def test_made_up_programs(what: str, begin: int) -> None:
    """The programs of the writers that register no hooks: sessions of the third would add one more each time."""
    found: dict[int, dict[str, int]] = {}
    for seed in [seed for seed in range(begin, begin + 40) if WRITERS[seed % len(WRITERS)] is not networks.written]:
        program = loaded(made_up(seed))
        net = program.Net()
        call = compiled(net) if what == "results" else ms.grad(compiled(net), program.WRT)
        if making := made_by(lambda program=program, net=net, call=call: program.session(net, call)):
            found[seed] = making
    assert not found


def test_a_count_grows() -> None:
    before = made.counted()
    jit(lambda x: x + 1)(Tensor([1.0]))
    found = made.counted() - before
    assert found["lowerings"] and found["graphs"] and found["plans"] and found["guards"]


class OperatorsInABody(nn.Cell):
    def construct(self, x: Any) -> Any:
        concat, cast, mean = ops.Concat(axis=1), ops.Cast(), ops.ReduceMean(True)
        return mean(cast(concat((x, x)), ms.float32), 0)


def test_operators_made_in_a_body() -> None:
    net = OperatorsInABody()
    assert not made_by(lambda: jit(net)(Tensor([[1.0, 2.0]])))
    assert not made_by(lambda: ms.grad(jit(net))(Tensor([[1.0, 2.0]])))
