"""Gradients of loops inside of graphs: forward and backward loop run in one C call, with the bits of eager mode.

What a round keeps for its gradient is on stacks, which are memory of the run.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn, ops
from adjoint.ir.core import walk
from adjoint.ir.ops.control import Gradient
from adjoint.ir.plan import Plan, Straight
from adjoint.runtime.execution import bound_plan, launches, stacks
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.graphs.running.optimised import quiet_plan
from adjoint.runtime.memory.machine import machine
from tests.runtime.graphs_by_hand import N, T, function, made, same
from tests.seams import plant

RNG = np.random.default_rng(0)
X, W = T(0.3, -1.2, 2.0), T(0.5, 1.5, -0.7)


def n(rounds: int) -> Tensor:
    return Tensor(np.array(rounds, np.int64))


# -- functions whose sums are those of the path ------------------------------------------------------------------------------
def recurrent(x: Any, w: Any, rounds: Any) -> Any:
    h = x * 0.1
    for _ in range(rounds):
        h = ops.tanh(h * w + x)
    return h.sum()


def euler(x: Any, w: Any, rounds: Any) -> Any:
    i = 0
    while i < rounds:
        x = x + 0.01 * (ops.sin(x) - w * x)
        i += 1
    return x.sum()


def adaptive(x: Any, w: Any, rounds: Any) -> Any:
    """Rounds whose number depends on what is differentiated, and steps of two kinds."""
    left = rounds
    while left > 0:
        step = 0.1 * w * x
        if step.sum() > 0.1:
            x = x - step
        else:
            x = x * 1.25 + ops.sin(w)
        left = left - 1
    return (x * w).sum()


def stopped_early(x: Any, w: Any, rounds: Any) -> Any:
    for _ in range(rounds):
        x = ops.exp(-x * w) + 0.5 * x
        if x.sum() > 4:
            break
    return x.sum()


def in_each_other(x: Any, w: Any, rounds: Any) -> Any:
    """A loop in a loop: the stacks of the inner one are items of stacks."""
    for i in range(rounds):
        y = x * 0.5
        for _ in range(i):
            y = ops.sin(y) * w
        x = x + ops.tanh(y)
    return x.sum()


def moved_on(x: Any, w: Any, rounds: Any) -> Any:
    a, b = x * 1.0, x * w
    for _ in range(rounds):
        a, b = b, ops.sin(a + b)
    return (a * b).sum()


def two_after_each_other(x: Any, w: Any, rounds: Any) -> Any:
    for _ in range(rounds):
        x = ops.sin(x) + w
    y = x * x
    for i in range(rounds):
        y = ops.cos(y * w) + i
    return y.sum()


def skipped(x: Any, w: Any, rounds: Any) -> Any:
    """A branch that uses `w` in some rounds, and a loop that may run no round."""
    for i in range(rounds):
        if i % 2 == 1:
            x = x * w
        else:
            x = ops.sin(x)
    return x.sum()


def fixed_point(x: Any, w: Any, rounds: Any) -> Any:
    """It begins with a value that rounds use as well: the first round comes before the loop."""
    y = x
    for _ in range(rounds):
        y = ops.tanh(y) * w + y * x
    return y.sum()


def counted_down(x: Any, w: Any, rounds: Any) -> Any:
    """In each round another loop begins with a value that its rounds use."""
    y, left = x * 1.0, rounds
    while left > 0:
        z = y
        for _ in range(left):
            z = ops.sin(z * w) + 0.1 * y
        y = z * x
        left = left - 1
    return y.sum()


def rows(x: Any, w: Any, rounds: Any) -> Any:
    """Cotangents of rows, some of them -0, are added to their sum in its memory."""
    matrix, y = x.reshape(3, 1) * w, w * 0.0
    for i in range(rounds):
        y = ops.tanh(y * 0.5 + matrix[i % 3] * ops.relu(matrix[-1 - i % 2])) * -0.0 + y * matrix[i % 2] + w
    return y.sum()


def elements(x: Any, w: Any, rounds: Any) -> Any:
    y = w.sum() * 0.5
    for i in range(rounds):
        y = ops.sin(y) * x[i % 3] + w[i % 2] * x[i % 2]
    return y


def rows_in_branches_and_loops(x: Any, w: Any, rounds: Any) -> Any:
    matrix, y = x.reshape(3, 1) * w, w * 0.0
    for i in range(rounds):
        for j in range(i, rounds):
            y = ops.sin(y * 0.5 + matrix[i % 3] * matrix[j % 2])
        for j in range(i):
            if y.sum() > 0.5:
                y = y * matrix[j % 3]
            else:
                y = y + ops.relu(matrix[-1 - j % 2])
    return y.sum()


def loops_on_both_sides(x: Any, w: Any, rounds: Any) -> Any:
    """Each side keeps stacks of the same types, of which the outer loop keeps stacks."""
    matrix, y = x.reshape(3, 1) * w, w * 0.1
    for i in range(rounds):
        if y.sum() > 0.3:
            for j in range(i):
                y = ops.sin(y) * matrix[j % 2]
        else:
            for j in range(i):
                y = ops.tanh(y * 0.5 + ops.relu(matrix[j % 2]))
    return (y * y).sum()


ALIKE = [recurrent, euler, adaptive, stopped_early, in_each_other, moved_on, two_after_each_other, skipped, fixed_point, counted_down, rows,
         elements, rows_in_branches_and_loops, loops_on_both_sides]


# -- functions whose sums are others -----------------------------------------------------------------------------------------
def begins_with_what_rounds_use(x: Any, w: Any, rounds: Any) -> Any:
    y = x
    for _ in range(rounds):
        y = ops.sin(y) * x + y * w
    return (y * x).sum()


def used_afterwards(x: Any, w: Any, rounds: Any) -> Any:
    first = x * w
    y = first
    for _ in range(rounds):
        y = ops.sin(y) * w + y
    return (y * first + first).sum()


def yielded_twice(x: Any, w: Any, rounds: Any) -> Any:
    a, b = x * 1.0, x * 2.0
    for _ in range(rounds):
        c = ops.sin(a) * w + b * a + b
        a, b = c, c
    return (a * b).sum()


OTHERWISE = [begins_with_what_rounds_use, used_afterwards, yielded_twice]


def question(function: Callable[..., Any]) -> Callable[..., Any]:
    def asked(x: Any, w: Any, rounds: Any) -> Any:
        return ms.value_and_grad(function, (0, 1))(x, w, rounds)

    return asked


def plan_of(function: Callable[..., Any], *arguments: Any) -> Plan:
    return quiet_plan(parsed(function, *arguments).graph)


def is_one_call(plan: Plan) -> bool:
    return len(plan.body.pieces) == 1 and isinstance(plan.body.pieces[0], Straight)


def is_expanded(plan: Plan) -> bool:
    return not any(isinstance(node.op, Gradient) for node in walk(plan.function.body))


@pytest.mark.parametrize("function", [*ALIKE, *OTHERWISE])
def test_bits_of_eager_mode(function: Callable[..., Any]) -> None:
    asked = question(function)
    inside, outside = jit(asked), question(jit(function))
    for rounds in (0, 1, 2, 3, 8):
        for scale in (1.0, -1.3):
            expected = asked(X * scale, W, rounds)
            same(inside(X * scale, W, n(rounds)), expected)
            same(outside(X * scale, W, n(rounds)), expected)


@pytest.mark.parametrize("shape", [(3, 2), (1, 2), (2, 1), (1, 1)])
@pytest.mark.parametrize("part", [
    lambda x, i: x[i], lambda x, i: x[..., i],
    lambda x, i: x[i, i], lambda x, i: x[i, -1], lambda x, i: x[0, i], lambda x, i: x[None, i, :1]])
def test_a_part_at_an_index_that_is_known_late_gives_zeros_of_the_same_sign(shape: tuple[int, ...], part: Callable[..., Any]) -> None:
    def function(x: Any, rounds: Any) -> Any:
        total = ops.zeros(())
        for i in range(rounds):
            total = total + (part(x, i) * -0.0).sum()
        return total

    x, gradient = ops.ones(shape), ms.grad(function)
    for rounds in (1, *range(2, min(shape) + 1)):
        expected = gradient(x, rounds)
        same(jit(lambda x, rounds: ms.grad(function)(x, rounds))(x, n(rounds)), expected)
        same(ms.grad(jit(function))(x, n(rounds)), expected)
    for over in (function, jit(function)):
        with pytest.raises(IndexError, match="is out of bounds"):
            over(x, max(shape) + 1 if over is function else n(max(shape) + 1))


@pytest.mark.parametrize("function", ALIKE)
def test_both_loops_are_in_one_call(function: Callable[..., Any]) -> None:
    assert is_one_call(plan_of(question(function), X, W, n(3)))


def two_sums_of_one_row(x: Any, w: Any, rounds: Any) -> Any:
    first, second, y = x.reshape(3, 1) * w, w.reshape(3, 1) * x, w * 0.0
    for i in range(rounds):
        y = ops.tanh(y + (first[i % 3] + second[i % 3]))
    return y.sum()


@pytest.mark.parametrize(("function", "count"), [(rows, 3), (two_sums_of_one_row, 2), (elements, 3), (rows_in_branches_and_loops, 4)])
def test_rows_are_added_to_their_sum(function: Callable[..., Any], count: int) -> None:
    names = [node.op.name for node in walk(plan_of(question(function), X, W, n(3)).function.body)]
    assert names.count("add_row") == count and "gather_gradient" not in names


@pytest.mark.parametrize("function", OTHERWISE)
def test_other_sums_are_not_expanded(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """With the mistake planted that they are, bits are others."""
    asked = question(function)
    assert not is_expanded(plan_of(asked, X, W, n(3)))
    plant(monkeypatch, "condition on sums", lambda condition: condition._replace(holds=lambda flat: True))
    assert is_expanded(plan_of(asked, X, W, n(3)))
    inputs = [T(*RNG.standard_normal(3)) for _ in range(20)]
    compiled = jit(asked)
    with pytest.raises(AssertionError):
        for x in inputs:
            same(compiled(x, W, n(5)), asked(x, W, 5))


@pytest.mark.parametrize("function", [recurrent, in_each_other, skipped])
def test_order_two(function: Callable[..., Any]) -> None:
    """The gradient of a stack adds zeros for what has no cotangent: these graphs follow the path."""

    def asked(x: Any, w: Any, rounds: Any) -> Any:
        def norm(x: Any, w: Any) -> Any:
            first, second = ms.grad(function, (0, 1))(x, w, rounds)
            return (first * first).sum() + (second * x).sum()

        return ms.grad(norm, (0, 1))(x, w)

    assert not is_expanded(plan_of(asked, X, W, n(3)))
    compiled = jit(asked)
    for rounds in (0, 1, 4):
        same(compiled(X, W, n(rounds)), asked(X, W, rounds))


class Fit(nn.Cell):
    """Training in a loop whose loss has a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(T(0.5, 0.5, 0.5), name="w")

    def construct(self, x: Any, rounds: Any) -> Any:
        for _ in range(rounds):
            x = ops.tanh(x * self.w) + x
        return x.sum()


def test_a_parameter_that_rounds_read() -> None:
    net = Fit()

    def asked(x: Any, rounds: Any) -> Any:
        return ms.value_and_grad(net, None, net.trainable_params())(x, rounds)

    assert is_one_call(plan_of(asked, X, n(3)))
    for rounds in (0, 1, 6):
        same(jit(asked)(X, n(rounds)), asked(X, rounds))


@pytest.mark.parametrize("hooked", [False, True])
def test_stacks_between_two_calls(hooked: bool) -> None:
    """A backward hook runs between forward and backward loop: the stacks are values of the run meanwhile."""
    calls: list[Any] = []

    class Outer(nn.Cell):
        def construct(self, x: Any, w: Any, rounds: Any) -> Any:
            return ops.exp(x * w) * 0.5

    outer = Outer()
    if hooked:
        outer.register_backward_hook(lambda cell, grad_input, grad_output: calls.append(grad_output[0].asnumpy().copy()))

    def asked(x: Any, w: Any, rounds: Any) -> Any:
        def loss(x: Any, w: Any) -> Any:
            for _ in range(rounds):
                x = ops.sin(x * w)
            return outer(x, w, rounds).sum()

        return ms.value_and_grad(loss, (0, 1))(x, w)

    plan = plan_of(asked, X, W, n(3))
    assert is_expanded(plan) and is_one_call(plan) != hooked
    compiled = jit(asked)
    for rounds in (0, 1, 5):
        calls.clear()
        expected = asked(X, W, rounds)
        seen = list(calls)
        calls.clear()
        same(compiled(X, W, n(rounds)), expected)
        assert len(calls) == hooked and all(np.array_equal(a, b) for a, b in zip(calls, seen, strict=True))


@pytest.mark.parametrize("function", [in_each_other, adaptive])
@pytest.mark.parametrize("compiler", [True, False])
def test_python_runs_what_has_no_kernel(function: Callable[..., Any], compiler: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stacks are then used node by node, by the run-time library or as lists."""
    expected = [question(function)(X, W, rounds) for rounds in (0, 3, 5)]
    monkeypatch.setattr(launches, "table_step", lambda *_: None)
    monkeypatch.setattr(bound_plan, "written_call", lambda *_: None)
    if not compiler:

        class Without:
            library, allocate, stack_bytes = None, machine().allocate, 0

        monkeypatch.setattr(stacks, "machine", Without)
    compiled = jit(question(function))
    for rounds, result in zip((0, 3, 5), expected):
        same(compiled(X, W, n(rounds)), result)


# -- memory and errors -------------------------------------------------------------------------------------------------------
def allocated() -> int:
    gc.collect()
    return machine().library.adjoint_allocated()


def test_stacks_grow_with_the_rounds_and_are_freed() -> None:
    compiled, library = jit(question(in_each_other)), machine().library
    compiled(X, W, n(3))
    before, peaks = allocated(), list[int]()
    for rounds in (50, 100, 200):
        library.adjoint_reset_peak()
        compiled(X, W, n(rounds))
        peaks.append(library.adjoint_peak() - before)
    assert allocated() == before
    assert 2 < peaks[1] / peaks[0] < 5 and 3 < peaks[2] / peaks[1] < 5, peaks  # towards 4: both loops have twice as many rounds


def test_too_many_rounds_for_the_memory() -> None:
    """The error says what was kept and shows the loop; nothing stays behind, and the next run is right."""

    def long(x: Any, rounds: Any) -> Any:
        def loss(x: Any) -> Any:
            for _ in range(rounds):
                x = ops.sin(x)
            return x.sum()

        return ms.grad(loss)(x)

    x, library = Tensor(np.ones(25_000, np.float32)), machine().library
    compiled = jit(long)
    expected, before = compiled(x, n(3)), allocated()
    library.adjoint_set_memory_limit(before + 20_000_000)
    try:
        with pytest.raises(MemoryError, match="100000 bytes that one round of a loop keeps for its gradient") as raised:
            compiled(x, n(1000))
        assert "for _ in range(rounds):" in "".join(raised.value.__notes__) or "ops.sin(x)" in "".join(raised.value.__notes__)
    finally:
        library.adjoint_set_memory_limit(0)
    del raised
    assert allocated() == before
    same(compiled(x, n(3)), expected)


def test_an_interrupt_frees_the_stacks() -> None:
    def endless(x: Any, step: Any) -> Any:
        def loss(x: Any) -> Any:
            while x.sum() < 10:
                x = x + step * x
            return x.sum()

        return ms.grad(loss)(x)

    compiled = jit(endless)
    expected = compiled(T(1, 1), N(1.0))
    before = allocated()

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled(T(1, 1), N(0.0))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert allocated() == before
    same(compiled(T(1, 1), N(1.0)), expected)


def test_threads_have_stacks_of_their_own() -> None:
    compiled = jit(question(in_each_other))
    inputs = [T(*RNG.standard_normal(3)) for _ in range(4)]
    expected = [compiled(x, W, n(10 + i)) for i, x in enumerate(inputs)]
    found: list[Any] = [None] * 4

    def work(i: int) -> None:
        for _ in range(20):
            found[i] = compiled(inputs[i], W, n(10 + i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same(expected, found)


def test_a_stack_that_is_filled_before_a_host_and_emptied_after_it() -> None:
    f = function(made("""
host @seen = ""
func @f(x: f32[3]) -> (f32[3], f32[3]) {
  s: stack<f32[3]> = stack()
  a: f32[3] = neg(x)
  s.1: stack<f32[3]> = push(s, a)
  s.2: stack<f32[3]> = push(s.1, x)
  b: f32[3] = apply! @seen(a)
  s.3: stack<f32[3]>, y: f32[3] = pop(s.2)
  s.4: stack<f32[3]>, z: f32[3] = pop(s.3)
  c: f32[3] = add(y, b)
  return c, z
}""", hosts={"seen": lambda a: a}))
    for _ in range(2):
        same(f(T(1, 2, 3)), (T(0, 0, 0), T(-1, -2, -3)))
