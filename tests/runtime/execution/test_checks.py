"""Checks of numbers in graphs: made by kernels between the others, with the errors of eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.ir.ops.check import Check
from adjoint.ir.plan import HostCall, Straight
from adjoint.ir.print import print_module
from adjoint.ir.types import BOOL, I32, I64, U8, tensor
from adjoint.runtime.execution.text import load_ir
from adjoint.runtime.graphs.running.optimised import quiet_plan
from adjoint.runtime.memory.op_plans import plan_for


def logits(rows: int = 3) -> Tensor:
    return Tensor(np.linspace(-1, 1, rows * 4, dtype=np.float32).reshape(rows, 4))


def i(*values: int, dtype: Any = ms.int32) -> Tensor:
    return Tensor(np.array(values), dtype)


def of_list(place: Tensor, x: Tensor) -> Tensor:
    return LAYERS[place](x)


LAYERS = nn.CellList([nn.ReLU(), nn.Tanh()])

MISTAKES: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "label": (ops.cross_entropy, (logits(), i(0, 4, -100))),
    "label below": (ops.cross_entropy, (logits(), i(0, -1, -100))),
    "index": (lambda x, places: x[places] * 2, (logits(), i(2, -4))),
    "unsigned index": (lambda x, places: x[places] * 2, (logits(), i(2, 255, dtype=ms.uint8))),
    "coordinates": (ops.gather_nd, (logits(), Tensor(np.array([[0, 3], [2, -5]])))),
    "layer": (of_list, (i(-3, dtype=ms.int64)[0], logits())),
    "mask": (ops.masked_scatter, (logits(), Tensor(np.eye(3, 4) == 0), logits(2))),
    "length": (lambda x: ops.clip_by_norm(x, 1.0, error_if_nonfinite=True), (Tensor(np.array([1, np.inf], np.float32)),)),
}


def raised_by(function: Callable[..., Any], *given: Any) -> Exception:
    with pytest.raises(Exception) as caught:
        function(*given)
    return caught.value


@pytest.mark.parametrize("name", MISTAKES)
def test_the_error_is_that_of_eager_mode(name: str) -> None:
    """Type and text, with the line of the program; at the first run and later, on a tape and off it."""
    function, given = MISTAKES[name]
    expected = raised_by(function, *given)
    graph = ms.jit(lambda *xs: function(*xs))
    recorded = ms.grad(lambda *xs: graph(*xs).sum(), 1 if name == "layer" else 0)
    for run in (graph, graph, recorded, recorded, ms.jit(recorded)):
        found = raised_by(run, *given)
        assert (type(found), str(found)) == (type(expected), str(expected))
        assert any(f"{__file__}:" in note for note in found.__notes__)


@pytest.mark.parametrize("name", ["label", "index"])
def test_state_is_that_of_eager_mode(name: str) -> None:
    """What is written before the mistake stays, and what comes after it is not written."""
    function, given = MISTAKES[name]
    before, after = (Parameter(Tensor(np.zeros(3, np.float32)), name=n) for n in ("before", "after"))

    def step(*xs: Tensor) -> Tensor:
        ops.assign(before, before + 1)
        loss = function(*xs)
        ops.assign(after, after + 1)
        return loss

    for run in (step, ms.jit(step)):
        for w in (before, after):
            w.set_data(Tensor(np.zeros(3, np.float32)))
        for times in (1, 2):
            raised_by(run, *given)
            assert (before.asnumpy() == times).all()
            assert (after.asnumpy() == 0).all()


def pieces_of(function: Callable[..., Any], *given: Tensor) -> list[Any]:
    return list(quiet_plan(ms.jit(function).graph_of(*given).graph).body.pieces)


def test_a_step_with_a_check_is_one_piece() -> None:
    def loss(x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        return ms.value_and_grad(lambda x: ops.cross_entropy(x * 2, labels))(x)

    (piece,) = pieces_of(loss, logits(), i(0, 3, 1))
    assert isinstance(piece, Straight)
    assert any(isinstance(launch.node.op, Check) for launch in piece.launches)


def test_no_check_of_the_library_calls_python() -> None:
    for function, given in MISTAKES.values():
        graph = ms.jit(lambda *xs, function=function: function(*xs)).graph_of(*given).graph
        assert not any(isinstance(piece, HostCall) for piece in quiet_plan(graph).body.pieces)


def test_a_collective_is_a_piece_by_itself() -> None:
    """It has no kernel, and the launches around it still run by one call each."""
    reduce = ops.AllReduce()
    before, collective, after = pieces_of(lambda x: ops.tanh(reduce(ops.tanh(x) * 2)) * 3, logits())
    assert [len(piece.launches) for piece in (before, collective, after)] == [2, 1, 2]


def test_text_runs_without_the_host() -> None:
    graph = ms.jit(lambda x, labels: ops.cross_entropy(x, labels)).graph_of(logits(), i(0, 3, 1)).graph
    run = load_ir(print_module(graph.module))
    assert run(logits(), i(0, 3, 1)).item() == ops.cross_entropy(logits(), i(0, 3, 1)).item()
    with pytest.raises(ValueError, match="For 'check_labels', the argument 'x' must be in its range"):
        run(logits(), i(0, 4, 1))


NUMBERS = [
    (I32, (7,), (0,), (9,), ()), (I32, (7,), (-3,), (2**31,), (-100,)), (I64, (5,), (-(2**63),), (3,), ()), (U8, (6,), (-3,), (7,), ()),
    (BOOL, (3, 2), (1,), (1,), ()), (I64, (4, 2), (-3, 0), (2, 5), ()), (I32, (0,), (0,), (1,), ()), (I64, (), (0,), (1,), ()),
]


@pytest.mark.parametrize(("dtype", "shape", "low", "high", "ignored"), NUMBERS)
def test_the_kernel_fails_where_the_reference_does(dtype: Any, shape: Any, low: Any, high: Any, ignored: Any) -> None:
    op = Check("check", low, high, ignored)
    plan = plan_for(op, [tensor(dtype, shape)])
    rng = np.random.default_rng(5)
    numbers = [0, 1, 2, 3, 5, 7, 8, 9, 10, *ignored, *([] if dtype in (U8, BOOL) else [-1, -3, -4])]
    outcomes = set()
    for _ in range(60):
        array = rng.choice(rng.choice(numbers, 3), shape).astype(dtype.array)
        fails = []
        for check, given in ((op.reference, array), (plan.run, Tensor(array).memory)):
            try:
                check(given)
                fails.append(False)
            except ValueError:
                fails.append(True)
        assert fails[0] == fails[1], array
        outcomes.add(fails[0])
    assert outcomes == ({False} if 0 in shape else {False, True})


def test_bounds_that_do_not_fit() -> None:
    for op, types in ((Check("c", (0, 1), (1,)), (I64, (2,))), (Check("c", (0, 0), (1, 1)), (I64, (3,))), (Check("c", (), ()), (I64, ())),
                      (Check("c", (0,), (1,), (2, 3)), (I64, ()))):
        with pytest.raises(ValueError, match="For 'Check'"):
            op.infer(tensor(*types))
    with pytest.raises(TypeError, match="a tensor of integers or bools"):
        Check("c", (0,), (1,)).infer(tensor(ms.float32, ()))


def test_a_mistake_inside_of_a_loop_that_runs_in_c() -> None:
    """It is found in the round in which eager mode finds it, by its number there."""

    def walked(x: Tensor, place: Tensor) -> Tensor:
        total = x[0] * 0
        while place < 6:
            total = total + x[place]
            place = place + 2
        return total

    graph = ms.jit(walked)
    for start in (i(0)[0], i(1)[0], i(-5)[0]):
        expected = raised_by(walked, logits(), start)
        for _ in range(2):
            found = raised_by(graph, logits(), start)
            assert (type(found), str(found)) == (type(expected), str(expected))
    assert all(isinstance(piece, Straight) for piece in pieces_of(walked, logits(), i(0)[0]))
