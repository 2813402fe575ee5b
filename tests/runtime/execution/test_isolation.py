"""What Python is given is its own: no later run, on this thread or another, in this process or a child, writes to it or reads from it."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.foundation.budget import budget
from adjoint.runtime.execution import tables
from adjoint.runtime.gradients.trie import trie
from adjoint.runtime.tensor.structure import leaves
from tests.runtime.threads import at_once

SHAPE = (6, 40)


def numbers(seed: int) -> Tensor:
    return Tensor(np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32))


class Inner(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(Tensor(np.linspace(-1, 1, SHAPE[1], dtype=np.float32)), name="w")

    def construct(self, x: Tensor) -> Tensor:
        return ops.tanh(x * self.w - 0.5) - x


class Net(nn.Cell):
    """Two cells with hooks of all kinds that keep what they are given; `kept` is a list of each thread's own."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Inner(), Inner()
        local = self.local = threading.local()

        def keep(*given: Any) -> None:
            for x in leaves(given, Tensor):
                local.kept.append((x, x.asnumpy().tobytes()))

        for cell in (self.first, self.second):
            cell.register_forward_pre_hook(lambda cell, args: keep(args))
            cell.register_forward_hook(lambda cell, args, output: keep(args, output))
            cell.register_backward_pre_hook(lambda cell, grad_output: keep(grad_output))
            cell.register_backward_hook(lambda cell, grad_input, grad_output: keep(grad_input, grad_output))

    def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.first(ops.sin(x) * 2.0)
        z = self.second(y * x - ops.exp(y))
        return z * x, (z * z - y).sum()


def jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    return ms.jit(lambda *given: function(*given))


def gradient(net: nn.Cell, called: Any = None) -> Callable[..., Any]:
    return ms.value_and_grad(called or net, 0, net.trainable_params())


FORMS: dict[str, Callable[[nn.Cell], Callable[..., Any]]] = {
    "eager": gradient,
    "jit of all": lambda net: jitted(gradient(net)),
    "jit inside": lambda net: gradient(net, jitted(net)),
}


@pytest.fixture(params=["tables", "fused"], autouse=True)
def tier(request: pytest.FixtureRequest, without_fusion: None) -> None:
    if request.param == "fused":
        ms.set_context(background_compile="wait")


def seen(net: Net, step: Callable[..., Any], seeds: range) -> list[tuple[Any, bytes]]:
    """Return what hooks and the caller are given, and views of that, each with the bytes that it holds then."""
    net.local.kept = []
    for seed in seeds:
        results = leaves([step(numbers(seed))], Tensor)
        views = [view(x) for x in results for view in (lambda x: x, Tensor.asnumpy, np.from_dlpack, lambda x: x.reshape(-1))]
        net.local.kept += [(view, held_by(view)) for view in views]
    return net.local.kept


def held_by(view: Any) -> bytes:
    return (view.asnumpy() if isinstance(view, Tensor) else view).tobytes()


def overwritten(given: list[tuple[Any, bytes]]) -> int:
    """Return how many of them hold something else by now."""
    return sum(held_by(view) != held for view, held in given)


@pytest.mark.parametrize("form", FORMS)
def test_two_threads_in_one_function(form: str) -> None:
    """Each is given what it would be given alone, and keeps it while both go on."""
    net = Net()
    step = FORMS[form](net)
    expected = {begin: [held for _, held in seen(net, gradient(net), range(begin, begin + 6))] for begin in (0, 6)}
    begins = list(expected)
    found = at_once(2, lambda i: seen(net, step, range(begins[i], begins[i] + 6)))
    seen(net, step, range(20, 23))
    for begin, given in zip(begins, found, strict=True):
        assert [held for _, held in given] == expected[begin]
        assert not overwritten(given)


@pytest.mark.parametrize("form", ["eager", "jit of all"])
def test_memory_that_is_handed_out_twice_is_found(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail."""
    machine = tables.machine()
    given: dict[Any, Any] = {}

    class Reusing:
        def allocator(self, nbytes: int) -> Any:
            allocate, size = machine.allocator(nbytes)
            return lambda size: given.setdefault((nbytes, threading.get_ident()), allocate(size)), size

        def __getattr__(self, name: str) -> Any:
            return getattr(machine, name)

    net = Net()
    trie.evict(budget.period)
    monkeypatch.setattr(tables, "machine", Reusing)
    try:
        given_out = seen(net, FORMS[form](net), range(3))
    finally:
        trie.evict(budget.period)  # no other test takes the gradients that were made now
    assert overwritten(given_out)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("compiling", [False, True], ids=["", "while kernels are compiled"])
@pytest.mark.parametrize("form", FORMS)
def test_a_child_trains_on(form: str, compiling: bool) -> None:
    """A process that is forked between two steps, also while fused kernels are compiled, takes the steps that its parent takes."""
    if compiling:
        ms.set_context(background_compile=True)
    net = Net()
    net.local.kept = []
    step = FORMS[form](net)
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)

    def trained(seeds: range) -> str:
        for seed in seeds:
            _, (_, gradients) = step(numbers(seed))
            optimizer(gradients)
        return hashlib.sha256(b"".join(x.asnumpy().tobytes() for x in net.trainable_params())).hexdigest()

    trained(range(5))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, trained(range(5, 8)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    assert found == trained(range(5, 8))
