"""`compare` runs a function in each mode, and names the first operator of a mode with other numbers than eager mode."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import Function, Module
from adjoint.ir.op import Op, registry
from adjoint.ir.ops.arithmetic import Add, Sub
from adjoint.ir.ops.fused import FusedKernel
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import Rewriter
from adjoint.runtime.memory.machine import machine
from adjoint.testing import mode_comparison
from tests.seams import plant

pytestmark = pytest.mark.skipif(machine().kernels is None, reason="there is no C compiler")


def numbers(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(0).normal(size=shape).astype(np.float32))


def chain(x: Tensor) -> Tensor:
    return ops.tanh(x + 1) * x


CHAIN_LINE = chain.__code__.co_firstlineno + 1

AGREE: dict[str, tuple[Any, Callable[[], list[Any]]]] = {
    "zeros of both signs": (lambda x: (x * 0).sum((0, 2)), lambda: [-ops.abs(numbers(2, 3, 4))]),
    "several results": (lambda x, w: (ops.tanh(x @ w).sum(-1), {"n": 3, "x": x * 2}), lambda: [numbers(3, 4), numbers(4, 5)]),
    "many results": (lambda x: [x * i for i in range(17)], lambda: [numbers(2)]),
    "jit": (ms.jit(chain), lambda: [numbers(3)]),
    "cell": (nn.SequentialCell(nn.Dense(4, 3), nn.ReLU(), nn.LayerNorm((3,))), lambda: [numbers(2, 4)]),
    "gradient": (ms.grad(lambda x: (chain(x) * x).sum()), lambda: [numbers(5)]),
    "draws": (nn.Dropout(p=0.5).set_train(), lambda: [numbers(20)]),
    "bfloat16": (lambda x: ops.softmax(x * 2, -1).sum(), lambda: [numbers(3, 5).astype(ms.bfloat16)]),
    "branch": (lambda x: x * 2 if x.sum() > 0 else x - 1, lambda: [numbers(3)]),
    "empty": (lambda x: x * 2 + x, lambda: [numbers(0, 3)]),
}


@pytest.mark.parametrize(("fn", "inputs"), AGREE.values(), ids=AGREE)
def test_modes_agree(fn: Any, inputs: Callable[[], list[Any]]) -> None:
    report = ms.compare(fn, *inputs())
    report.raise_if_different()
    assert not report.left_out and [line.partition(":")[0] for line in report.modes] == [
        "eager", "plain kernels", "interpreter", "graph", "fused kernels"]


def test_names_the_operator_of_a_fused_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def subtracting(of: Callable[[Any], FusedKernel]) -> Callable[[Any], FusedKernel]:
        def changed(region: Any) -> FusedKernel:
            made = of(region)
            steps = tuple((Sub() if isinstance(op, Add) else op, given) for op, given in made.steps)
            return FusedKernel(made.operands, steps, made.results)

        return changed

    plant(monkeypatch, "fused kernel", subtracting)
    report = ms.compare(lambda x: (x + 1) * 3, numbers(4))
    (wrong,) = report.differences
    assert not report and wrong.mode == "fused kernels" and "in the fused kernel of (add, mul)" in wrong.text
    assert wrong.operator == "mul" and wrong.place is not None and wrong.place.file == __file__
    x = numbers(4).asnumpy()
    assert (wrong.element, wrong.eager, wrong.other) == ((0,), ((x + 1) * 3)[0].item(), ((x - 1) * 3)[0].item())
    with pytest.raises(AssertionError, match="fused kernels: other numbers than in eager mode"):
        report.raise_if_different()


@dataclass(frozen=True)
class AddsBecomeSubs(Pass):
    """A mistake for this test."""

    name: ClassVar[str] = "adds-become-subs"

    def on_function(self, function: Function, module: Module) -> Function:
        class Changing(Rewriter):
            def op(self, op: Op) -> Op:
                return Sub() if isinstance(op, Add) else op

        return replace(function, body=Changing().body(function.body))


def test_names_the_line_where_a_graph_computes_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "passes of a graph", lambda attempts: [replace(x, passes=f"{x.passes},adds-become-subs") for x in attempts])
    report = ms.compare(chain, numbers(3))
    first = report.differences[0]
    assert (first.mode, first.operator) == ("graph", "tanh") and "from other operands in the graph" in first.text
    assert first.place is not None and (first.place.file, first.place.line) == (__file__, CHAIN_LINE)
    assert f"{CHAIN_LINE} |     return ops.tanh(x + 1) * x" in str(report)


def test_names_the_operator_whose_definition_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry()["tanh"], "reference", lambda self, x: np.sin(x))
    (wrong,) = ms.compare(chain, numbers(3)).differences
    assert (wrong.mode, wrong.operator) == ("interpreter", "tanh") and "its definition in NumPy gives" in wrong.text


def test_names_the_operator_whose_plain_kernel_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    right = mode_comparison.kernel_text
    monkeypatch.setattr(mode_comparison, "kernel_text",
                        lambda op, types, results, plain: right(Sub() if plain and isinstance(op, Add) else op, types, results, plain))
    right_run = mode_comparison.Kernels.run
    monkeypatch.setattr(mode_comparison.Kernels, "run", lambda self, case, arrays, plain: right_run(
        self, replace(case, op=Sub()) if plain and isinstance(case.op, Add) else case, arrays, plain=plain))
    (wrong,) = ms.compare(chain, numbers(3)).differences
    assert (wrong.mode, wrong.operator) == ("plain kernels", "add") and "its plain kernel gives" in wrong.text


def test_another_structure_is_a_difference() -> None:
    class Counting(nn.Cell):
        """Returns something else in a graph, since a hook runs between."""

        def construct(self, x: Tensor) -> Any:
            return x

    cell, calls = Counting(), list[int]()
    cell.register_forward_hook(lambda cell, args, output: calls.append(1) or (output if len(calls) < 3 else (output, output)))
    report = ms.compare(cell, numbers(2))
    assert report.differences[0].mode == "graph" and "It returns f32[2], f32[2], eager mode f32[2]" in str(report)


def test_parameters_are_restored() -> None:
    norm = nn.BatchNorm1d(3).set_train()
    before = norm.moving_mean.asnumpy()
    assert ms.compare(norm, numbers(4, 3)).ok
    np.testing.assert_array_equal(norm.moving_mean.asnumpy(), before)


def test_what_cannot_be_a_graph_is_said() -> None:
    report = ms.compare(lambda x: Tensor(x.asnumpy() + 1), numbers(2))
    assert report.ok and report.left_out[0].startswith("graph: error[E203]")


def test_an_exception_in_eager_mode_is_passed_on() -> None:
    with pytest.raises(ValueError, match="For 'MatMul'"):
        ms.compare(lambda x: x @ x, numbers(3, 2))


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "no function": (3, TypeError, "'fn' must be a function or a Cell, but got 3 of type int"),
    "draws": (lambda x: x * random.random(), ValueError, "two runs in eager mode differ"),
    "inside of a gradient": (ms.grad(lambda x: x * ms.compare(ops.relu, x).ok), RuntimeError, "outside of gradients"),
}


@pytest.mark.parametrize(("fn", "kind", "text"), BAD.values(), ids=BAD)
def test_bad_input_has_a_clear_answer(fn: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        ms.compare(fn, numbers(2)) if text != "outside of gradients" else fn(numbers(2))


class Counter(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.count = Parameter(Tensor([0.0]), requires_grad=False)

    def construct(self, x: Tensor) -> Tensor:
        self.count += 1
        return x


def test_what_is_written_to_parameters_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter()
    assert ms.compare(counter, numbers(2)).ok and float(counter.count[0]) == 0
    plant(monkeypatch, "passes of a graph", lambda attempts: [replace(x, passes=f"{x.passes},adds-become-subs") for x in attempts])
    counter = Counter()
    (first, _) = ms.compare(counter, numbers(2)).differences
    assert "Parameter 'count' after the call is -1 at [0], but 1 in eager mode" in first.text
