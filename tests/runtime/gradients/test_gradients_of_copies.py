"""Gradients through tensors that are made of tensors: one in all modes, MindSpore's with few exceptions (tests/oracle/copying.py)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import adjoint as ms
from adjoint import Tensor, jit, ops
from adjoint.foundation.diagnostics import CompileError

FOLDERS = [str(Path(__file__).parents[2] / name) for name in ("ops", "oracle")]
sys.path[:0] = FOLDERS
asked, copying = importlib.import_module("asked"), importlib.import_module("copying")
del sys.path[: len(FOLDERS)]

ANSWERS = asked.recorded("copying")["answers"]
OURS = {
    ("t.copy()", "parameter"): [5.0, 7.0], ("ms.numpy.array(t)", "parameter"): [5.0, 7.0], ("ms.numpy.copy(t)", "parameter"): [5.0, 7.0],
    ("t.data", "parameter"): [5.0, 7.0],
    ("ms.numpy.array([t, t])", "parameter"): [10.0, 14.0], ("ms.numpy.array([t, t])", "computed"): [20.0, 28.0],
    ("ms.numpy.array([t, t])", "argument"): [10.0, 14.0],
}
"""Where eager mode differs from MindSpore's (docs/autodiff.md)."""
REFUSED = {"Parameter(t)": "E202", "pickle.loads(pickle.dumps(t))": "E208", "Tensor(t.asnumpy())": "E203"}
"""What a graph cannot do."""


@pytest.fixture(autouse=True)
def eager() -> Iterator[None]:
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def given(module: Any, form: str, wrap: Callable[[Any], Any] = lambda function: function) -> Any:
    """Return the gradient, or the exception."""
    try:
        return copying.gradient(module, form, wrap)
    except Exception as problem:
        return problem


def inside(module: Any, form: str) -> Any:
    """Return the gradient that a graph takes inside of itself, or the exception."""
    x, t = Tensor([5.0, 7.0]), Tensor([2.0, 3.0])
    try:
        if form == "argument":
            return jit(lambda t, x: ms.grad(module.given)(t, x))(t, x).asnumpy().tolist()
        net = (module.Kept if form == "parameter" else module.Computed)()
        weights = net.trainable_params()
        return jit(lambda x: ms.grad(net, None, weights)(x)[0])(x).asnumpy().tolist()
    except Exception as problem:
        return problem


@pytest.mark.parametrize("form", copying.FORMS)
@pytest.mark.parametrize("maker", copying.MAKERS)
def test_gradients_are_one_in_all_modes(maker: str, form: str, tmp_path: Path) -> None:
    module = copying.program(maker, tmp_path)
    eager = given(module, form)
    wanted = ANSWERS[maker]["pynative"][form]
    if isinstance(wanted, str):  # MindSpore lacks the kernel, or has no such method
        wanted = ANSWERS[maker]["graph"][form]
    if isinstance(wanted, list):
        assert eager == OURS.get((maker, form), wanted)
        assert (maker, form) not in OURS or eager != wanted
    graphs = [given(module, form, jit), inside(module, form)]
    ms.set_context(mode=ms.GRAPH_MODE)
    graphs.append(given(module, form))
    for found in graphs:
        if isinstance(found, CompileError):
            assert REFUSED[maker] in str(found)
        elif isinstance(eager, Exception):
            assert type(found) is type(eager)
        else:
            assert found == eager


def test_every_program_has_been_asked() -> None:
    assert [*ANSWERS] == [*copying.MAKERS]


class Net(ms.nn.Cell):
    """Uses a copy of its Parameter, made by a function."""

    def __init__(self, maker: Callable[[Tensor], Tensor]):
        super().__init__()
        self.p, self.inner, self.maker = ms.Parameter(Tensor([2.0, 3.0]), name="p"), ms.nn.ReLU(), maker

    def construct(self, x: Tensor) -> Tensor:
        x = self.inner(x)
        y = self.maker(self.p)
        y.register_hook(on_copy)
        return (y * x).sum() + (y * y).sum()


LOG: list[Any] = []


def on_copy(gradient: Tensor) -> Tensor:
    LOG.append(("copy", gradient.asnumpy().tolist()))
    return gradient * 2


def on_parameter(gradient: Tensor) -> Tensor:
    LOG.append(("parameter", gradient.asnumpy().tolist()))
    return gradient + 1


MAKERS: dict[str, Callable[[Any], Any]] = {
    "value": lambda p: p.value(), "clone": lambda p: p.clone(), "copy": lambda p: p.copy(), "tensor": lambda p: ms.tensor(p),
    "twice": lambda p: p.value().copy(), "half": lambda p: ms.tensor(p, ms.float16),
}


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("maker", MAKERS)
def test_hooks_of_copies_and_of_what_is_copied_run_as_in_eager_mode(maker: str, written: bool) -> None:
    """Also where a forward hook writes the Parameter before it is copied."""
    found: list[Any] = []
    for mode, wrap in ((ms.PYNATIVE_MODE, None), (ms.PYNATIVE_MODE, jit), (ms.GRAPH_MODE, None)):
        ms.set_context(mode=mode)
        LOG.clear()
        net = Net(MAKERS[maker])
        net.p.register_hook(on_parameter)
        if written:
            net.inner.register_forward_pre_hook(lambda cell, args, net=net: ops.assign(net.p, net.p + 1)[:0].tolist() or None)
        function = ms.value_and_grad(net if wrap is None else jit(lambda x, net=net: net(x)), 0, net.trainable_params())
        for step in range(3):
            value, (by_x, (by_p,)) = function(Tensor([step + 1.0, 2.0]))
            LOG.append((float(value), by_x.tolist(), by_p.tolist(), net.p.tolist()))
            ops.assign(net.p, by_p)
        found.append([*LOG])
    assert found[0] == found[1] == found[2]
    assert any(name == "copy" for name, *_ in found[0]) == (maker in ("value", "copy", "twice", "half"))


@pytest.mark.parametrize("make", [lambda p, x: ops.stop_gradient(x), lambda p, x: p.clone()], ids=["stop_gradient", "clone"])
def test_a_hook_on_what_takes_no_gradient_is_an_error_in_graphs_too(make: Callable[[Any, Any], Any]) -> None:
    p = ms.Parameter(Tensor([2.0, 3.0]), name="p", requires_grad=False)

    def hooked(x: Tensor) -> Tensor:
        y = make(p, x)
        y.register_hook(on_copy)
        return y + x

    for function in (hooked, jit(hooked)):
        with pytest.raises(RuntimeError, match="requires grad is false"):
            function(Tensor([1.0, 2.0]))
