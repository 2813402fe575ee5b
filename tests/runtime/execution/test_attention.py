"""Attention as programs write it, in jitted functions: eager mode's bits, hooks, no memory for the scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, grad, jit, nn, ops, value_and_grad
from adjoint.codegen.emit import lower
from adjoint.ir.core import Node, walk
from adjoint.ir.ops.attention import Attention
from adjoint.ir.ops.fused import kernel_op
from adjoint.ir.plan import Control, Plan, Straight
from adjoint.ir.types import TensorType
from adjoint.passes import attention
from adjoint.runtime.graphs.running import optimised
from adjoint.runtime.graphs.running.optimised import quiet_plan
from adjoint.runtime.inspection.stages import plan_of
from adjoint.runtime.memory.machine import machine

pytestmark = pytest.mark.skipif(machine().kernels is None, reason="there is no C compiler")

BATCH, HEADS, LENGTH, SIZE = 2, 3, 7, 12


@pytest.fixture(autouse=True)
def quickly_compiled(without_fusion: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """All scores count as large; kernels are plain, which have the same bits."""
    monkeypatch.setattr(attention, "LARGE", 0)
    ms.set_context(background_compile="plain")


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[Node]:
    """The `attention` nodes of all plans that are made."""
    found: list[Node] = []
    make = optimised._planned

    def noted(function: Any) -> Any:
        plan = make(function)
        found.extend(node for node in walk(plan.function.body) if isinstance(node.op, Attention))
        return plan

    monkeypatch.setattr(optimised, "_planned", noted)
    return found


def numbers(seed: int, *shape: int) -> Tensor:
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def bits(x: Any) -> Any:
    return tuple(map(bits, x)) if isinstance(x, tuple) else (x.shape, x.asnumpy().tobytes())


class Block(nn.Cell):
    """Self-attention with a residual; `between` computes the weights from the products, and `after` what they are multiplied by."""

    def __init__(self, between: Callable[[Tensor], Tensor], after: Callable[[Tensor], Tensor] = lambda p: p):
        super().__init__()
        self.qkv = Parameter(numbers(1, 3 * SIZE, SIZE), name="qkv")
        self.out = Parameter(numbers(2, SIZE, SIZE), name="out")
        self.between, self.after = between, after

    def construct(self, x: Tensor) -> Tensor:
        q = ops.matmul(x, self.qkv.T).reshape((BATCH, LENGTH, 3, HEADS, SIZE // HEADS)).transpose((2, 0, 3, 1, 4))
        p = ops.softmax(self.between(ops.matmul(q[0], q[1].transpose((0, 1, 3, 2)))), -1)
        y = ops.matmul(self.after(p), q[2]).transpose((0, 2, 1, 3)).reshape((BATCH, LENGTH, SIZE))
        return x + ops.matmul(y, self.out)


HIDDEN = Tensor(np.triu(np.ones((LENGTH, LENGTH), bool), 1))
BIAS = numbers(3, HEADS, LENGTH, LENGTH)

BETWEEN: dict[str, Callable[[Tensor], Tensor]] = {
    "scaled": lambda s: s * 0.5,
    "divided": lambda s: s / math.sqrt(SIZE),
    "causal": lambda s: ops.masked_fill(s * 0.5, HIDDEN, -1e9),
    "causal by where": lambda s: ops.where(HIDDEN, Tensor(-np.inf, ms.float32), s),
    "causal by sum": lambda s: s * 0.5 + HIDDEN.astype(ms.float32) * -1e9,
    "biased": lambda s: ops.tanh(s) + BIAS,
}


@pytest.mark.parametrize("name", BETWEEN)
def test_bits_of_eager_mode(name: str, planned: list[Node]) -> None:
    """Values, and gradients by the input and the parameters."""
    net, x = Block(BETWEEN[name]), numbers(4, BATCH, LENGTH, SIZE)
    assert bits(jit(net)(x)) == bits(net(x))
    assert len(planned) == 1

    def loss(x: Tensor) -> Tensor:
        return (net(x) ** 2).sum()

    both = value_and_grad(loss, 0, net.trainable_params())
    assert bits(jit(both)(x)) == bits(both(x))
    assert [len(node.results) for node in planned[1:]] == [1, 3]


def test_order_two(planned: list[Node]) -> None:
    """The second gradient needs the scores themselves: they are stored where something other than a product uses them."""
    net, x = Block(BETWEEN["causal"]), numbers(5, BATCH, LENGTH, SIZE)

    def second(x: Tensor) -> Tensor:
        return grad(lambda x: (grad(lambda x: (net(x) ** 2).sum())(x) ** 2).sum())(x)

    assert bits(jit(second)(x)) == bits(second(x))


def test_dropout(planned: list[Node]) -> None:
    """The gradient finds out again which weights were dropped."""
    net, x = Block(BETWEEN["scaled"], lambda p: ops.dropout(p, 0.4)), numbers(6, BATCH, LENGTH, SIZE)
    step = value_and_grad(lambda x: (net(x) ** 2).sum(), 0, net.trainable_params())
    found = []
    for form in (step, jit(step)):
        ms.set_seed(3)
        found.append(bits(form(x)))
    assert found[0] == found[1]
    assert [len(node.results) for node in planned] == [1, 3]


def test_multihead_attention(planned: list[Node]) -> None:
    net = nn.MultiheadAttention(SIZE, HEADS, batch_first=True)
    x, padding = numbers(7, BATCH, LENGTH, SIZE), Tensor(np.arange(LENGTH) > [[4], [6]])

    def loss(x: Tensor, shown: bool) -> Any:
        return (net(x, x, x, padding, shown, HIDDEN)[0] ** 2).sum()

    for shown in (False, True):
        both = value_and_grad(lambda x, shown=shown: loss(x, shown), 0, net.trainable_params())
        assert bits(jit(both)(x)) == bits(both(x))
    assert len(planned) == 4  # nobody reads the weights that `loss` does not return
    planned.clear()
    weights = jit(lambda x: net(x, x, x, padding, True, HIDDEN))
    assert bits(weights(x)) == bits(net(x, x, x, padding, True, HIDDEN))
    assert not planned


def test_hooks_see_the_scores(planned: list[Node]) -> None:
    """Where a hook is given scores, or their gradient, these are stored."""
    seen: list[Any] = []

    class Shown(nn.Cell):
        def construct(self, s: Tensor) -> Tensor:
            return s * 0.5

    for register in (
        lambda cell: cell.register_forward_hook(lambda cell, given, result: seen.append(bits(result))),
        lambda cell: cell.register_backward_hook(lambda cell, given, result: seen.append(bits(given))),
    ):
        shown = Shown()
        register(shown)
        net, x = Block(shown), numbers(8, BATCH, LENGTH, SIZE)
        both = value_and_grad(lambda x, net=net: (net(x) ** 2).sum(), 0, net.trainable_params())
        expected = bits(both(x)), list(seen)
        seen.clear()
        assert (bits(jit(both)(x)), seen) == expected and seen
        seen.clear()
    assert not planned


def test_a_mask_that_is_written_later() -> None:
    """The gradient's kernel would compute the scores again from a mask that has changed: then they are stored."""

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.mask = Parameter(numbers(9, LENGTH, LENGTH), name="mask", requires_grad=False)

        def construct(self, x: Tensor) -> Tensor:
            p = ops.softmax(ops.matmul(x, x.transpose((0, 2, 1))) + self.mask, -1)
            y = ops.matmul(p, x)
            ops.assign(self.mask, self.mask * 2.0)
            return y

    found = []
    for wrap in (lambda f: f, jit):
        net = Net()
        step = wrap(grad(lambda x, net=net: (net(x) ** 2).sum()))
        found.append([bits(step(numbers(10, BATCH, LENGTH, SIZE))) for _ in range(2)] + [bits(net.mask)])
    assert found[0] == found[1]


def bytes_of(plan: Plan) -> int:
    """All memory of a run: arenas, values that are in none, and what kernels need for themselves."""
    outside = sum(slot.type.nbytes for slot in plan.slots if slot.offset is None and isinstance(slot.type, TensorType))
    own = (sum(lower(kernel_op(node), [x.type for x in node.operands], [x.type for x in node.results]).scratch)
           for node in (launch.node for launch in plan.certain_launches()) if kernel_op(node).can_lower)
    return outside + sum(own) + sum(piece.arena for piece in plan.body.pieces if isinstance(piece, Straight))


def test_memory_grows_with_the_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a loss and its gradient, at twice the length: twice as much, not four times; and far less than the scores."""
    monkeypatch.undo()

    def loss(x: Tensor) -> Tensor:
        return (ops.matmul(ops.softmax(ops.matmul(x, x.transpose((0, 2, 1))), -1), x) ** 2).sum()

    found = [bytes_of(quiet_plan(jit(value_and_grad(loss)).graph_of(ops.zeros((8, length, 16))).graph)) for length in (4096, 8192)]
    assert found[1] < 2.1 * found[0]
    assert found[0] < 8 * 4096**2 * 4 / 8


def test_the_plan_shows_it() -> None:
    """With the nodes inside, and the memory that the kernel needs for itself."""
    net = Block(BETWEEN["causal"])
    text = plan_of(jit(lambda x: net(x)).graph_of(numbers(4, BATCH, LENGTH, SIZE)))
    assert "= attention carry (" in text and "softmax(" in text
    rows = HEADS * BATCH * LENGTH * LENGTH * 4
    assert f"bytes that kernels need for themselves while they run: attention {rows}\n" in text


def test_a_branch_that_may_never_be_taken() -> None:
    """Its kernel is compiled when it is: Python runs the branch."""

    def function(x: Tensor, asked: Tensor) -> Tensor:
        if asked:
            x = ops.matmul(ops.softmax(ops.matmul(x, x.T), -1), x)
        return x

    given = numbers(11, 5, 3), Tensor(True)
    graph = jit(function).graph_of(*given).graph
    assert any(isinstance(piece, Control) for piece in quiet_plan(graph).body.pieces)
    assert bits(jit(function)(*given)) == bits(function(*given))


def test_lengths_that_change(planned: list[Node]) -> None:
    """A graph for any size holds the nodes; what runs for a size is made of them."""

    def loss(x: Tensor) -> Tensor:
        return (ops.matmul(ops.softmax(ops.matmul(x, x.transpose((0, 2, 1))) * 0.5, -1), x) ** 2).sum()

    step, jitted = value_and_grad(loss), jit(value_and_grad(loss))
    for length in (5, 8, 9, 9, 70, 70):  # the first call with 9 and 70 makes no plan
        x = numbers(length, 2, length, 4)
        assert bits(jitted(x)) == bits(step(x))
    assert [len(node.results) for node in planned] == [1, 3] * 4


def test_a_gradient_of_a_jitted_function(planned: list[Node]) -> None:
    net, x = Block(BETWEEN["causal"]), numbers(4, BATCH, LENGTH, SIZE)

    def loss(x: Tensor) -> Tensor:
        return (net(x) ** 2).sum()

    assert bits(grad(jit(loss))(x)) == bits(grad(loss)(x))
    assert [len(node.results) for node in planned] == [1, 3]
