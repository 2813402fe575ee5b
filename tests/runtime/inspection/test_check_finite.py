"""What the error of `check_finite` names besides the operator: the cell, the training step, and what held a number that was not finite.
What is no error: blocks of `finite_ok`, and steps that a loss scaler skips."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, amp, jit, nn, ops, watch
from adjoint.foundation.diagnostics import UNKNOWN
from adjoint.frontend.errors import NOT_IN_GRAPH
from adjoint.runtime.memory import finite_results
from adjoint.runtime.memory.machine import machine
from adjoint.runtime.process import context


class Block(nn.Cell):
    """A cell in a cell."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Dense(2, 2, weight_init="one", bias_init="zeros")

    def construct(self, x: Any) -> Any:
        return ops.log(self.inner(x))


class Net(nn.Cell):
    """Two blocks in a list: both are computed by the same lines."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.CellList([Block(), Block()])

    def construct(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x.sum()


@contextmanager
def graph_mode() -> Iterator[None]:
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        yield
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def ways(net: nn.Cell) -> dict[str, Callable[[Any], Any]]:
    """A training step in each way to run one; the gradients are of the parameters."""
    optimizer = nn.SGD(net.trainable_params(), 0.0)

    def step(x: Any) -> Any:
        loss, grads = ms.value_and_grad(lambda x: net(x), None, optimizer.parameters)(x)
        optimizer(grads)
        return loss

    jitted = jit(step)

    def in_graph_mode(x: Any) -> Any:
        with graph_mode():
            return step(x)

    def eager(x: Any) -> Any:
        return optimizer is not None and net(x)

    return {"eager": eager, "gradient": step, "jit": jitted, "graph mode": in_graph_mode}


def message(call: Callable[[Any], Any], x: Tensor) -> list[str]:
    with pytest.raises(FloatingPointError) as raised, watch.check_finite():
        call(x)
    return str(raised.value).splitlines()


GOOD, BAD = Tensor([[40.0, 60.0]]), Tensor([[1.0, 0.0]])


@pytest.mark.parametrize("way", ["eager", "gradient", "jit", "graph mode"])
def test_the_cell_and_the_step(way: str) -> None:
    """log(1 + 0) is 0 in the first block; the second one computes log(0)."""
    run = ways(Net())[way]
    for taken in range(4):
        lines = message(run, BAD)
        assert lines[0].startswith("For 'Log', the result of type f32[1, 2] has 2 infinities")
        assert lines[1] == f"  in the cell 'blocks.1', in training step {1 if way == 'eager' else taken + 1}"
        with watch.check_finite():
            run(GOOD)


@pytest.mark.parametrize("way", ["eager", "gradient", "jit", "graph mode"])
def test_what_held_a_number_that_was_not_finite(way: str) -> None:
    net = Net()
    run = ways(net)[way]

    def call(given: Tensor) -> Any:
        return run(given)

    for _ in range(4):
        call(GOOD)
    held = [line.partition(", in the ")[2] for line in message(call, Tensor([[1.0, np.nan]])) if "operand 1" in line]
    assert [name[:13] for name in held] == ["argument 'x' " if way != "jit" else "argument 'giv"]
    net.blocks[1].inner.weight.set_data(Tensor([[1.0, np.inf], [1.0, 1.0]]))
    lines = message(call, GOOD)
    assert lines[1].startswith("  in the cell 'blocks.1.inner'")
    assert [line for line in lines if line.endswith("1 infinity in 4 numbers, in the Parameter 'blocks.1.inner.weight'")]


def masked(x: Any) -> Any:
    with watch.finite_ok():
        y = ops.log(x)
    return ops.where(x > 0.0, y, ops.zeros_like(x)).sum()


@pytest.mark.parametrize("function", [masked, jit(masked), lambda x: ms.grad(lambda x: jit(masked)(x + 0.0))(ops.abs(x) + 1.0)])
def test_a_region_that_may_make_infinities(function: Any) -> None:
    for _ in range(4):
        with watch.check_finite():
            function(Tensor([1.0, 0.0]))
        with watch.check_finite(), watch.finite_ok():
            ops.log(Tensor([0.0]))
    with pytest.raises(FloatingPointError), watch.check_finite():
        ops.log(Tensor([0.0]))  # no longer


@pytest.mark.parametrize("gradient", [ms.grad(masked), ms.grad(jit(masked)), jit(lambda x: ms.grad(masked)(x))])
def test_the_gradient_of_such_a_region_is_checked(gradient: Any) -> None:
    """The gradient of log(0) is 0 / 0 here, although `where` does not take log(0)."""
    for _ in range(4):
        with pytest.raises(FloatingPointError, match="1 NaN in 2 numbers"), watch.check_finite():
            gradient(Tensor([1.0, 0.0]))


@pytest.mark.parametrize("wrap", [lambda function: function, jit], ids=["eager", "graph"])
def test_infinities_that_the_library_makes_on_purpose(wrap: Any) -> None:
    """Masks of attention, and the logarithm of the probability of what is impossible."""
    attention, ctc = nn.MultiheadAttention(4, 2), nn.CTCLoss()
    x, scores = ops.ones((3, 2, 4)), ops.ones((3, 1, 3))
    later = Tensor(np.triu(np.ones((3, 3), bool), 1))

    def attend(x: Any, mask: Any) -> Any:
        return attention(x, x, x, attn_mask=mask)[0].sum()

    def spell(scores: Any) -> Any:
        return ctc(ops.log_softmax(scores, 2), Tensor([[1]]), Tensor([2]), Tensor([1]))

    hooked = nn.SequentialCell(nn.Dense(4, 4), nn.TransformerEncoderLayer(4, 2, 4))  # its graph runs operator by operator at first
    hooked[0].register_backward_hook(lambda cell, grad_input, grad_output: None)
    attending, spelling = ms.grad(wrap(attend)), ms.grad(wrap(spell))
    hooking = ms.grad(wrap(lambda x, mask: hooked[1](hooked[0](x), mask).sum()), None, hooked.trainable_params())
    with watch.check_finite():
        for _ in range(4):
            hooking(x, later)
            attending(x, later)
            attending(x, Tensor(np.where(later.asnumpy(), -np.inf, 0).astype(np.float32)))
            spelling(scores)
            ms.numpy.nanmax(x)
    with pytest.raises(FloatingPointError, match="For 'Softmax'"), watch.check_finite():
        wrap(attend)(x, later | True)  # a row without anything


def test_the_operator_in_a_fused_kernel_that_is_at_fault() -> None:
    @jit
    def function(x: Any) -> Any:
        with watch.finite_ok():
            mask = ops.where(x > 1.0, x, -np.inf)
        return ops.exp(mask) * ops.log(x)

    for _ in range(4):
        function(Tensor([1.0, 2.0]))
        with pytest.raises(FloatingPointError, match="For 'Log'"), watch.check_finite():
            function(Tensor([-1.0, 2.0]))


def test_an_infinity_of_the_program_may_be_meant() -> None:
    with pytest.raises(FloatingPointError, match="allow it with `with watch"), watch.check_finite():
        ops.masked_fill(Tensor([1.0, 2.0]), Tensor([True, False]), -np.inf)


def test_the_setting_checks_all_threads() -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            ops.log(Tensor([0.0]))
        except FloatingPointError as raised:
            failed.append(raised)

    assert ms.get_context("check_finite") is False
    ms.set_context(check_finite=True)
    try:
        assert ms.get_context("check_finite") is True
        with pytest.raises(FloatingPointError):
            ops.log(Tensor([0.0]))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert failed
        with watch.check_finite(infinity=False), pytest.raises(FloatingPointError, match="1 NaN"):
            ops.log(Tensor([0.0]))  # what a block says goes first
            ops.log(Tensor([-1.0]))
    finally:
        ms.set_context(check_finite=False)
    assert np.isinf(ops.log(Tensor([0.0])).asnumpy()[0])
    with pytest.raises(TypeError, match="'check_finite' must be a bool"):
        ms.set_context(check_finite=1)


def test_the_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read with the first kernel."""
    monkeypatch.setitem(context._settings, "check_finite", None)
    monkeypatch.setattr(finite_results, "_in_all", None)
    monkeypatch.setenv("ADJOINT_CHECK_FINITE", "2")
    with pytest.raises(ValueError, match="ADJOINT_CHECK_FINITE must be 0 or 1, but got '2'"):
        ops.log(Tensor(np.zeros((3, 1, 2), np.float32)))
    monkeypatch.setenv("ADJOINT_CHECK_FINITE", "1")
    try:
        with pytest.raises(FloatingPointError, match="'Log'"):
            ops.log(Tensor(np.zeros((3, 2, 2), np.float32)))
    finally:
        ms.set_context(check_finite=False)


class Scaled(nn.Cell):
    """A loss whose gradient by `w` is 1e30 * x: with a scale of 1e10 it overflows."""

    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(Tensor([1.0]), name="w")

    def construct(self, x: Any) -> Any:
        return (self.w * x).sum()


def scaled_step(net: Scaled, scale: float, *, takes_all: bool = False) -> tuple[Callable[[Any], Any], nn.Optimizer]:
    scaler, optimizer = amp.DynamicLossScaler(scale, 1000, 100), nn.SGD(net.trainable_params(), 1e-31)
    gradient = ms.value_and_grad(lambda x: scaler.scale(net(x)), None, optimizer.parameters)

    def step(x: Any) -> Any:
        loss, grads = gradient(x)
        grads = scaler.unscale(grads)
        finite = amp.all_finite(grads)
        if takes_all or finite:
            optimizer(grads)
        scaler.adjust(finite)
        return loss

    return step, optimizer


@pytest.mark.parametrize("wrapped", [lambda step: step, jit], ids=["eager", "jit"])
def test_a_step_that_the_loss_scaler_skips(wrapped: Any) -> None:
    net = Scaled()
    step, optimizer = scaled_step(net, 1e10)
    step, x = wrapped(step), Tensor([1e30])
    with watch.check_finite() as found:
        for _ in range(5):
            step(x)
    assert [str(each).splitlines()[0] for each in found.skipped] == ["For 'Mul', the result of type f32[1] has 1 infinity in 1 number, "
                                                                     "the first at [0]."]
    assert optimizer.global_step.asnumpy() == [4]
    with pytest.raises(FloatingPointError, match="'Log'"), watch.check_finite():
        ops.log(net.w * 0.0)  # not of a gradient


@pytest.mark.parametrize("wrapped", [lambda step: step, jit], ids=["eager", "jit"])
def test_a_step_that_no_scaler_saves(wrapped: Any) -> None:
    """The scale is 1, or the step is taken in spite of the overflow."""
    step, x = wrapped(scaled_step(Scaled(), 1.0)[0]), Tensor([np.inf])
    step(Tensor([1.0]))
    with pytest.raises(FloatingPointError, match="in the argument 'x'"), watch.check_finite(infinity=True):
        (lambda x: step(x))(x)
    step = wrapped(scaled_step(Scaled(), 1e10, takes_all=True)[0])
    with pytest.raises(FloatingPointError, match=r"For 'Mul', .*\n  in the cell 'Scaled', in training step 1\n"), \
            watch.check_finite() as found:
        step(Tensor([1e30]))
    assert not found.skipped


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_the_cell_that_scales_the_loss(mode: int) -> None:
    net = Scaled()
    step = nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 1e-31), nn.DynamicLossScaleUpdateCell(1e10, 1000, 100))
    ms.set_context(mode=mode)
    try:
        with watch.check_finite() as found:
            overflows = [bool(step(Tensor([1e30]))[1]) for _ in range(4)]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert overflows == [True, False, False, False] and len(found.skipped) == 1


@pytest.mark.skipif(machine().kernels is None, reason="without a C compiler the plans check their results")
def test_python_is_not_called_for_results_that_are_finite() -> None:
    step = ways(Net())["gradient"]
    with watch.check_finite():
        for _ in range(6):
            step(GOOD)

    def calls() -> int:
        count = 0

        def counting(frame: Any, event: str, argument: Any) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(counting)
        try:
            step(GOOD)
        finally:
            sys.setprofile(None)
        return count

    plain = calls()
    with watch.check_finite():
        assert calls() == plain


def test_a_parameter_of_a_graph_that_is_gone_holds_nothing() -> None:
    """It may be alive still, in the traceback of an exception."""

    class Gone(ms.Parameter):
        @property
        def memory(self) -> Any:
            raise NOT_IN_GRAPH.at(UNKNOWN, "this value belongs to a graph that is made already")

    kept = Gone.__new__(Gone)
    with pytest.raises(FloatingPointError, match="For 'Exp'"), watch.check_finite():
        ops.exp(Tensor([float("nan")]))
    del kept
