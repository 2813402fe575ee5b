"""Fusible functions: calls with the same types and arguments run as one sequence of kernels, with the bits and errors of the function."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import good_calls
import numpy as np
import pytest
from outcomes import bits
from threads import at_once

import adjoint as ms
from adjoint import Parameter, Tensor, mint, ops, watch
from adjoint.runtime.memory.tuning import tuning
from adjoint.runtime.tensor import fusible


@pytest.fixture(autouse=True)
def _kernels_are_waited_for() -> Iterator[None]:
    before = ms.get_context("background_compile")
    ms.set_context(background_compile="wait")
    yield
    ms.set_context(background_compile=before)


def entered(call: Callable[[], Any]) -> list[str]:
    """Return the names of the Python functions that a call enters."""
    names: list[str] = []
    sys.setprofile(lambda frame, event, argument: names.append(frame.f_code.co_name) if event == "call" else None)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [name for name in names[1:] if name != "<listcomp>"]  # without `call` itself; older versions of Python call comprehensions


def repeated(call: Callable[[], Any]) -> Any:
    """Call until the kernels are fused, and return the last result."""
    for _ in range(fusible.CALLS_BEFORE):
        call()
    return call()


def kept(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value), *map(kept, value)
    return (type(value), value.type, bits(value)) if isinstance(value, Tensor) else type(value)


EFFECTS = {"FILE", "SAVED", "print", "context", "set_context", "hook"}
CALLS = [call for area in ("functions", "methods", "rest") for call in good_calls.CALLS[area]
         if EFFECTS.isdisjoint(re.findall(r"\w+", call))]


def in_turn(run: Callable[[dict[str, Any]], Any], names: Any) -> bool:
    """Run four times with two sets of numbers in turn, and return True if results and operands are the same each time.

    The first two calls run the function itself, the third traces it.
    """
    results: list[Any] = []
    for changed in (False, True) * 2:
        space = {name: make() for name, make in good_calls.MADE.items() if name in names}
        if changed:
            for name, x in space.items():
                if isinstance(x, Tensor) and not isinstance(x, Parameter) and x.dtype.is_float:
                    space[name] = x * 0.75
        ms.set_seed(1)
        try:
            result = kept(run({**good_calls.MODULES, **space}))
        except Exception as raised:
            result = type(raised), str(raised)
        results.append((result, [kept(x) for x in space.values()]))
    return results[:2] == results[2:]


@pytest.mark.parametrize("part", range(4))
def test_calls_keep_their_bits(part: int) -> None:
    wrong: list[str] = []
    for call in CALLS[part::4]:
        code = compile(call, "<call>", "eval")
        if not in_turn(lambda space, code=code: eval(code, space), code.co_names):
            wrong.append(call)
    assert not wrong


@pytest.mark.parametrize("part", range(2))
def test_recorded_calls_keep_their_bits(part: int) -> None:
    wrong: list[str] = []
    for call in [call for call in CALLS if re.search(r"\bx\b", call)][part::2]:
        code = compile(f"lambda x: {call}", "<call>", "eval")

        def run(space: dict[str, Any], code: Any = code) -> Any:
            function = eval(code, space)
            return ms.value_and_grad(lambda x: sum_of(function(x)))(space["x"])

        if not in_turn(run, {"x", *code.co_consts[0].co_names}):
            wrong.append(call)
    assert not wrong


def sum_of(value: Any) -> Tensor:
    """Return the sum of the sums of all tensors, so that each takes part in a gradient."""
    tensors = [x for x in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(x, Tensor)]
    total = Tensor(0.0)
    for x in tensors:
        total = total + x.astype(ms.float32).sum()
    return total


SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 3e38, -1.0, 1.0, 0.5, -0.5, 2.0, 7.0], np.float32)


@pytest.mark.parametrize("call", [
    lambda x: ops.clamp(x, -1.0, 0.0), lambda x: ops.clamp(x, -1.0, -0.0), lambda x: ops.clamp(x, max=1), lambda x: ops.norm(x),
    lambda x: ops.std(x), lambda x: mint.roll(x, 3, 0), lambda x: x[::-2], lambda x: x[1:1], lambda x: ops.logsumexp(x, 0),
    lambda x: mint.cat((x, x[:0], x)), lambda x: ops.tril(x.reshape(13, 1) * x), lambda x: x[Tensor([1, -1, 0])],
    lambda x: ops.sort(x), lambda x: x.max(0), lambda x: ops.split(x, 5), lambda x: ops.pad(x, (1, 2), value=-0.0),
])
def test_special_numbers_keep_their_bits(call: Callable[[Tensor], Any]) -> None:
    x = Tensor(SPECIAL)
    expected = kept(call(x))
    assert kept(repeated(lambda: call(x))) == expected


def test_arguments_that_compare_equal_are_told_apart() -> None:
    x = Tensor([-1.0, 0.0, 2.0])
    for _ in range(2 * fusible.CALLS_BEFORE):
        assert np.signbit(ops.clamp(x, -0.0, 1.0).asnumpy()).tolist() == [True, False, False]
        assert np.signbit(ops.clamp(x, 0.0, 1.0).asnumpy()).tolist() == [False, False, False]
        assert ops.sum(x, 0).shape == () and ops.sum(x, 0, True).shape == (1,) and ops.sum(x, (0,), True).shape == (1,)
        with pytest.raises(TypeError):
            ops.sum(x, True)


def test_a_warm_call_looks_up_and_launches() -> None:
    x = Tensor([-1.0, 0.0, 2.0])
    repeated(lambda: ops.clamp(x, -0.5, 1.0))
    assert entered(lambda: ops.clamp(x, -0.5, 1.0)) == ["call", "<lambda>", "<lambda>", "call", "run"]  # a key for each number
    repeated(lambda: x.sum())
    assert entered(lambda: x.sum()) == ["call", "call", "run"]


def test_several_kernels_are_one_call() -> None:
    """The loss has a dozen kernels, and `tril` has kernels for its indices: each is one C call, as in a graph."""
    x, labels, matrix = Tensor(np.linspace(-4, -1, 12, dtype=np.float32).reshape(4, 3)), Tensor([0, 2, 1, 2]), Tensor(np.ones((3, 3)))
    for call in (lambda: ops.nll_loss(x, labels), lambda: ops.tril(matrix), lambda: ops.norm(x, dim=1)):
        repeated(call)
        assert "run" not in entered(call)
        assert len(entered(call)) <= 5
    with pytest.raises(IndexError, match=r"'target' must be classes in 0\.\.2, but got 3"):
        ops.nll_loss(x, Tensor([0, 3, 1, 2]))


def test_what_is_another_tensors_memory_is_not_launched() -> None:
    x = Tensor(np.arange(4, dtype=np.float32))
    repeated(lambda: mint.dot(x, x))
    assert entered(lambda: mint.dot(x, x)) == ["call", "call", "run"]  # the product alone: its operands and its result are reshaped


def test_errors_are_those_of_the_function() -> None:
    x, places = Tensor([1.0, 2.0]), [Tensor([0, 1]), Tensor([0, 2])]
    repeated(lambda: x[places[0]])
    for _ in range(2):
        with pytest.raises(IndexError, match="index 2 is out of bounds for dimension 0 with size 2"):
            x[places[1]]
    assert x[places[0]].asnumpy().tolist() == [1.0, 2.0]


def test_gradients_graphs_and_observers_meet_each_operator() -> None:
    x = Tensor([-1.0, 0.25, 2.0])
    repeated(lambda: ops.clamp(x, -0.5, 1.0))
    assert ms.grad(lambda x: ops.clamp(x, -0.5, 1.0).sum())(x).asnumpy().tolist() == [0.0, 1.0, 0.0]
    with watch.times() as times:
        ops.clamp(x, -0.5, 1.0)
    assert {"clip"} <= {row.op for row in times.rows}
    assert "clamp" not in entered(lambda: ops.clamp(x, -0.5, 1.0))  # fused again behind it


def test_a_recorded_call_is_one_record() -> None:
    """The gradient is that of the ops, at the user's line; only what it reads is kept."""
    x = Tensor([-1.0, 0.25, 2.0])
    gradient = ms.grad(lambda x: ops.celu(x, 2.0).sum())
    tuning.finish()
    for _ in range(2):  # after the first ones it is known what the gradient reads
        repeated(lambda: gradient(x))
    names = entered(lambda: gradient(x))
    assert {"extend"} <= {*names} and "celu" not in names
    assert "again" not in names
    hessian = ms.grad(lambda x: ms.grad(lambda x: ops.norm(x))(x)[0])
    first = hessian(x).asnumpy()
    np.testing.assert_array_equal(repeated(lambda: hessian(x)).asnumpy(), first)


def test_a_parameter_is_written() -> None:
    weight = Parameter(Tensor([1.0, 2.0, 3.0]), name="weight")
    for _ in range(2 * fusible.CALLS_BEFORE):
        ops.index_add(weight, Tensor([0, 1]), Tensor([1.0, 1.0]), 0)
    assert weight.asnumpy().tolist() == [7.0, 8.0, 3.0]


def test_a_loop_over_many_positions_keeps_few() -> None:
    x = Tensor(np.arange(3000, dtype=np.float32))
    for _ in range(2):
        for i in range(1500):
            assert x[i:].shape == (3000 - i,)
    assert max(len(calls) for calls in fusible._every) <= fusible._MOST


def test_threads_fuse_at_once() -> None:
    x = Tensor(np.linspace(-2, 2, 50, dtype=np.float32))
    expected = ops.clamp(x, -0.25, 0.75).asnumpy().tolist()

    def calls(thread: int) -> None:
        for _ in range(50):
            assert ops.clamp(x, -0.25, 0.75).asnumpy().tolist() == expected

    at_once(4, calls)
