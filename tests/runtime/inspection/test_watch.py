"""`adjoint.watch`: the first result that is not finite, and the time of each operator, in every mode; nothing changes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn, ops, watch
from adjoint.ir.op import Op
from adjoint.runtime.memory import op_plans
from adjoint.runtime.memory.machine import ffi, machine
from tests.runtime.graphs_by_hand import N, T, function, made, same

with_a_compiler = pytest.mark.skipif(machine().kernels is None, reason="without a compiler nothing is compiled or fused")


def bad(x: Any) -> Any:
    y = x * 2.0
    z = ops.log(y - 2.0)  # the first
    return (z * y).sum()


def backward_only(x: Any) -> Any:
    return ops.sqrt(x - 1.0).sum()  # its gradient divides by 0


def where(raised: BaseException) -> str:
    """The line that the error names: in its notes, or of the user's frame in its traceback."""
    notes = "\n".join(getattr(raised, "__notes__", ()))
    lines = [line.partition("|")[2].strip() for line in notes.splitlines() if "| " in line and "^" not in line]
    frames, at = [], raised.__traceback__
    while at is not None:
        frames.append(at)
        at = at.tb_next
    ours = [frame for frame in frames if frame.tb_frame.f_code.co_filename == __file__]
    with open(__file__, encoding="utf-8") as file:
        text = file.read().splitlines()
    return next((line for line in lines if line), text[ours[-1].tb_lineno - 1].strip())


WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": bad, "gradient": ms.grad(bad), "jit": jit(bad), "gradient of jit": ms.grad(jit(bad)),
    "gradient in jit": jit(lambda x: ms.grad(bad)(x)), "second order": ms.grad(lambda x: ms.grad(bad)(x).sum()),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_first_result_that_is_not_finite(way: str) -> None:
    x = T(1, 2, -3)
    for _ in range(3):
        with pytest.raises(FloatingPointError) as raised, watch.check_finite():
            WAYS[way](x)
        lines = str(raised.value).splitlines()
        assert lines[0] == "For 'Log', the result of type f32[3] has 1 NaN and 1 infinity in 3 numbers, the first at [0]."
        assert lines[-1] == "  operand 1: float32 of shape [3]: -8 to 2, 1 zero"
        assert where(raised.value) == "z = ops.log(y - 2.0)  # the first"
    WAYS[way](x)  # nothing watches any more


@pytest.mark.parametrize("gradient", [ms.grad(backward_only), ms.grad(jit(backward_only)), jit(lambda x: ms.grad(backward_only)(x))])
def test_a_gradient_names_the_line_of_the_forward_operator(gradient: Any) -> None:
    for _ in range(3):
        with pytest.raises(FloatingPointError, match="1 infinity in 2 numbers") as raised, watch.check_finite():
            gradient(T(1, 2))
        assert where(raised.value) == "return ops.sqrt(x - 1.0).sum()  # its gradient divides by 0"


@with_a_compiler
@pytest.mark.usefixtures("without_fusion")
def test_a_node_of_a_fused_kernel() -> None:
    ms.set_context(background_compile="wait")
    f = jit(bad)
    f(T(2, 3, 4))
    with watch.times() as measured:
        f(T(2, 3, 4))
    assert any(row.op.startswith("fused(") and "log" in row.op for row in measured.rows)
    with pytest.raises(FloatingPointError, match="For 'Log', the result of type f32\\[3\\] has 1 NaN") as raised, watch.check_finite():
        f(T(2, 3, -4))
    assert where(raised.value) == "z = ops.log(y - 2.0)  # the first"


@with_a_compiler
@pytest.mark.usefixtures("without_fusion")
def test_a_side_that_was_not_taken() -> None:
    """One kernel computes both sides of a branch on a few numbers; what it does not choose was not computed for the program."""

    def chosen(x: Any) -> Any:
        y = x * 2.0
        if x > 0:
            y = y / (x + 1.0)
        else:
            y = ops.log(y)
        return ops.sqrt(y - 5.0)

    ms.set_context(background_compile="wait")
    f = jit(chosen)
    f(N(9.0))
    with watch.times() as measured:
        f(N(9.0))
    assert [row.op.partition("(")[0] for row in measured.rows] == ["unrolled"]
    with pytest.raises(FloatingPointError, match="For 'Sqrt'") as raised, watch.check_finite():
        f(N(1.0))
    assert where(raised.value) == "return ops.sqrt(y - 5.0)"
    with pytest.raises(FloatingPointError, match="For 'Log'"), watch.check_finite():
        f(N(-1.0))


def test_a_round_of_a_loop() -> None:
    def divided(x: Any, n: Any) -> Any:
        while n > 0:
            x = x / (n - 3.0)
            n = n - 1.0
        return x

    with pytest.raises(FloatingPointError, match="For 'Div'") as raised, watch.check_finite():
        jit(divided)(T(1, 2), N(5.0))
    assert where(raised.value) == "x = x / (n - 3.0)"


def test_infinities_may_be_allowed() -> None:
    with watch.check_finite(infinity=False):
        assert np.isinf(ops.log(T(0, 1)).asnumpy()[0])
        with pytest.raises(FloatingPointError, match="has 1 NaN in 2 numbers, the first at \\[1\\]"):
            ops.log(T(1, -1))
    with pytest.raises(TypeError, match="'infinity' must be a bool"), watch.check_finite(infinity=1):  # pyright: ignore[reportArgumentType]
        pass


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.float64])
def test_all_float_types(dtype: Any) -> None:
    x = Tensor([1.0, 0.0], dtype)
    with watch.check_finite():
        ops.exp(x)
        with pytest.raises(FloatingPointError, match="first at \\[1\\]"):
            ops.log(x)


def test_parameters_are_not_updated_by_what_is_not_finite() -> None:
    w = Parameter(T(0, 1), name="w")
    optimizer = nn.SGD([w], 0.1)
    step = ms.value_and_grad(lambda: ops.log(w).sum(), None, [w])
    with pytest.raises(FloatingPointError), watch.check_finite():
        optimizer(step()[1])
    same(Tensor(w.asnumpy()), T(0, 1))


def test_other_threads_are_not_watched() -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            ops.log(T(0))
        except BaseException as raised:
            failed.append(raised)

    with watch.check_finite():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert not failed


def test_the_time_of_each_operator() -> None:
    def f(x: Any) -> Any:
        y = ops.tanh(x)
        return (y @ y).sum()

    x = Tensor(np.ones((64, 64), np.float32))
    gradient = ms.grad(f)
    expected = gradient(x)
    with watch.times() as measured:
        for _ in range(4):
            found = gradient(x)
    same(expected, found)
    rows = {(row.op, row.place.line if row.place else 0): row for row in measured.rows}
    begin = f.__code__.co_firstlineno
    assert rows["tanh", begin + 1].calls == 4 and rows["matmul", begin + 2].calls == 12
    assert all(row.seconds > 0 for row in measured.rows) and 0 < measured.in_kernels < measured.seconds
    assert [row.seconds for row in measured.rows] == sorted((row.seconds for row in measured.rows), reverse=True)
    table = str(measured)
    assert "matmul" in table and "return (y @ y).sum()" in table and "ms in kernels of" in table


def test_nothing_is_observed_afterwards() -> None:
    with watch.times() as outer:
        with watch.times() as inner:
            ops.sin(T(1))
        ops.sin(T(1))
    ops.sin(T(1))
    assert [row.calls for row in inner.rows] == [1] and sum(row.calls for row in outer.rows) == 2


def test_the_launches_of_a_batch_are_told_apart() -> None:
    f = function(made("func @f(x: f32[9], y: f32[9]) -> (f32[9], f32[9]) {\n a: f32[9] = sin(x)\n b: f32[9] = sin(y)\n return a, b\n}"))
    x = Tensor(np.ones(9, np.float32))
    f(x, x)
    with watch.times() as measured:
        f(x, x)
    assert [row.calls for row in measured.rows if row.op == "sin"] == [2] or len(measured.rows) == 2


@with_a_compiler
def test_an_observer_that_the_library_calls_for_nobody() -> None:
    """A launch on a thread that watches nothing is not looked at; the pointer is cleared when the last one ends."""
    library = machine().library
    with watch.times():
        pass
    library.adjoint_observe(ffi.NULL)
    same(ops.abs(T(-1)), T(1))


@with_a_compiler
def test_all_of_this_holds_without_a_compiler(tmp_path: Path) -> None:
    """The same tests, in a process where ops run by NumPy: nothing there calls the run-time library's observer."""
    (tmp_path / "ziglang.py").write_text("raise ImportError\n")
    environment = {**os.environ, "PATH": str(tmp_path), "ADJOINT_CACHE_DIR": str(tmp_path), "ADJOINT_FORBID_INTERPRETER": "0",
                   "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    environment.pop("CC", None)
    environment.pop("ADJOINT_TEST_CACHE", None)
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-q", __file__,
                           *(str(Path(__file__).with_name(f"test_{name}.py")) for name in ("check_finite", "memory_use", "statistics"))],
                          capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0 and "No C compiler was found" in done.stdout, done.stdout + done.stderr


@with_a_compiler
@pytest.mark.parametrize("lacking", ["log", "mul"])
@pytest.mark.parametrize("way", WAYS)
def test_some_operators_have_no_kernel(way: str, lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others of the same graph have: those that NumPy computes are observed as well, and all with their lines."""
    compiled = op_plans._compiled

    def failing(op: Op, *rest: Any) -> Any:
        return op_plans._by_reference(op, tuple(rest[0]), *rest[1:3]) if op.name == lacking else compiled(op, *rest)

    monkeypatch.setattr(op_plans, "_compiled", failing)
    size = 5 + 2 * [*WAYS].index(way) + (lacking == "log")  # plans are kept: each test has a shape of its own
    x = T(*range(2 - size, 2))
    for _ in range(3):
        with pytest.raises(FloatingPointError, match="For 'Log'") as raised, watch.check_finite():
            WAYS[way](x)
        assert where(raised.value) == "z = ops.log(y - 2.0)  # the first"
    with watch.times() as measured:
        WAYS[way](x)
    assert {"log", "mul", "sub"} <= {row.op for row in measured.rows}
    assert all(row.seconds > 0 for row in measured.rows)
    if way in ("eager", "jit"):
        lines = [row.place.line - bad.__code__.co_firstlineno for row in measured.rows if row.place and row.op in ("log", "sub")]
        assert lines == [2, 2]
