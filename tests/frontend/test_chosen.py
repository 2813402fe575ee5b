"""Cells and functions that a tensor chooses from a list: the same results, gradients, hooks and errors as in eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.core import walk
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.host import Apply

X = [0.5, -1.0, 2.0]


class Routed(nn.Cell):
    """Layers in every kind of sequence."""

    def __init__(self) -> None:
        super().__init__()
        first, last = nn.Dense(3, 3, weight_init="ones"), nn.Dense(3, 3, weight_init="zeros")
        self.layers = nn.CellList([first, nn.Tanh(), nn.Sigmoid(), nn.ReLU(), last])
        self.block = nn.SequentialCell([nn.ReLU(), nn.Tanh()])
        self.pair = (nn.Tanh(), nn.Sigmoid())
        self.functions = [ops.relu, ops.tanh, lambda x: x * 3]

    def of_list(self, x: Tensor, i: Any) -> Tensor:
        return self.layers[i](x)

    def of_block(self, x: Tensor, i: Any) -> Tensor:
        layer = self.block[i]
        return layer(x) if layer is not None else x

    def of_tuple(self, x: Tensor, i: Any) -> Tensor:
        return _applied(self.pair[i], x=x)

    def of_functions(self, x: Tensor, i: Any) -> Tensor:
        return self.functions[i](x)

    def in_turn(self, x: Tensor, n: Tensor) -> Tensor:
        for k in range(int(n)):
            x = self.layers[k](x)
        return x


def _applied(layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return layer(x)


def _outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments).asnumpy().tobytes()
    except (IndexError, TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", ["of_list", "of_block", "of_tuple", "of_functions"])
@pytest.mark.parametrize("index", [0, 1, -1, -2, 5, -6, True, 1.0, [1], [0, 1]])
def test_an_index_does_what_it_does_in_eager_mode(name: str, index: Any) -> None:
    net, x, method = Routed(), Tensor(X), getattr(Routed, name)
    assert _outcome(ms.jit(method), net, x, Tensor(index)) == _outcome(method, net, x, Tensor(index))


@pytest.mark.parametrize("rounds", [0, 3, 5, 6])
def test_the_index_of_a_loop_chooses(rounds: int) -> None:
    net, x = Routed(), Tensor(X)
    assert _outcome(ms.jit(Routed.in_turn), net, x, Tensor(rounds)) == _outcome(Routed.in_turn, net, x, Tensor(rounds))


@pytest.mark.parametrize("index", [0, 1, 4])
def test_gradients_of_both_orders(index: int) -> None:
    net, x, i = Routed(), Tensor(X), Tensor(index)
    weights = net.trainable_params()
    found = []
    for method in (Routed.of_list, ms.jit(Routed.of_list)):
        first = ms.grad(method, 1, weights)(net, x, i)
        second = ms.grad(lambda z, method=method: ms.grad(method, 1)(net, z, i).sum())(x)
        found.append([g.asnumpy().tobytes() for g in (first[0], *first[1], second)])
    assert found[0] == found[1]


def test_hooks_of_the_chosen_cell_alone_fire() -> None:
    net, x, fired = Routed(), Tensor(X), list[str]()
    for k, layer in enumerate(net.layers):
        layer.register_forward_hook(lambda cell, inputs, output, k=k: fired.append(f"forward {k}"))
        layer.register_backward_hook(lambda cell, outer, inner, k=k: fired.append(f"backward {k}"))
    gradient = ms.grad(ms.jit(Routed.of_list), 1)
    for i in (4, 1):
        gradient(net, x, Tensor(i))
    assert fired == ["forward 4", "backward 4", "forward 1", "backward 1"]


def test_what_the_chosen_cell_writes_is_written() -> None:
    class Counter(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.calls = Parameter(Tensor(0), name="calls", requires_grad=False)

        def construct(self, x: Tensor) -> Tensor:
            self.calls += 1
            return x * self.calls

    cells = nn.CellList([Counter(), Counter()])

    @ms.jit
    def called(x: Tensor, i: Tensor) -> Tensor:
        return cells[i](x)

    results = [called(Tensor([1.0]), Tensor(i)).item() for i in (0, 1, 1, 1)]
    assert (results, [int(cell.calls) for cell in cells]) == ([1, 1, 2, 3], [1, 3])


def test_a_list_that_changes_is_seen() -> None:
    net, x = Routed(), Tensor(X)
    called = ms.jit(Routed.of_list)
    called(net, x, Tensor(1))
    net.layers.append(nn.ReLU())
    assert np.array_equal(called(net, x, Tensor(5)).asnumpy(), [0.5, 0.0, 2.0])


def test_an_error_shows_the_line_of_the_index() -> None:
    with pytest.raises(IndexError) as caught:
        ms.jit(Routed.of_block)(Routed(), Tensor(X), Tensor(2))
    assert "self.block[i]" in "".join(caught.value.__notes__)


def test_the_choice_calls_no_python() -> None:
    lowered = ms.jit(Routed.of_list).graph_of(Routed(), Tensor(X), Tensor(0))
    kinds = [type(node.op) for node in walk(lowered.graph.function.body)]
    assert Check in kinds
    assert Apply not in kinds


REFUSED: list[Callable[[Routed, Tensor, Tensor], Any]] = [
    lambda net, x, i: net.layers[i],
    lambda net, x, i: isinstance(net.layers[i], nn.ReLU),
    lambda net, x, i: net.layers[i].training,
    lambda net, x, i: net.layers[i] is net.layers[0],
    lambda net, x, i: net.layers[i] == net.layers[0],
    lambda net, x, i: [1 for _ in net.layers[i]],
    lambda net, x, i: x if net.layers[i] else -x,
    lambda net, x, i: ms.grad(net.layers[i])(x),
    lambda net, x, i: list(map(net.layers[i], [x])),
]


@pytest.mark.parametrize("asked", REFUSED)
def test_nothing_else_is_known_of_the_item(asked: Callable[..., Any]) -> None:
    with pytest.raises(CompileError, match=r"known only when the graph runs, so it can only be called") as caught:
        ms.jit(asked)(Routed(), Tensor(X), Tensor(1))
    assert caught.value.diagnostic.code == "E203"


def test_results_of_two_types_are_refused() -> None:
    functions = [lambda x: x, lambda x: x.sum()]
    with pytest.raises(CompileError, match=r"f32\[3\] on one path and f32 on the other"):
        ms.jit(lambda x, i: functions[i](x))(Tensor(X), Tensor(1))


PICKS: list[Callable[[Tensor, Tensor], Any]] = [
    lambda x, i: [x, x * 2, x * x][i],
    lambda x, i: ([x, x + 1], [x * 2, x * 3], [x, x])[i][1] * x,
    lambda x, i: x * (1.0, 2.5, 4.0)[i],
    lambda x, i: [x, x * 2, x * x][int(i) - 1],
]


@pytest.mark.parametrize("pick", PICKS)
def test_a_tensor_picks_tensors_and_numbers_from_lists(pick: Callable[..., Any]) -> None:
    compiled, x = ms.jit(pick), Tensor(X)
    for i in (0, 1, 2, -1):
        assert compiled(x, Tensor(i)).tolist() == pick(x, Tensor(i)).tolist()
        assert ms.grad(compiled)(x, Tensor(i)).tolist() == ms.grad(pick)(x, Tensor(i)).tolist()
    for i in (4, -4):
        with pytest.raises(IndexError, match="index out of range"):
            compiled(x, Tensor(i))


@pytest.mark.parametrize("pick, code", [
    (lambda x, i: [x, x[:1]][i], "E204"), (lambda x, i: [[x], [x, x]][i], "E203"), (lambda x, i: [x, "text"][i], "E203"),
    (lambda x, i: [x, 1][i], "E203"),
])
def test_items_that_are_not_alike_are_refused(pick: Callable[..., Any], code: str) -> None:
    with pytest.raises(CompileError) as caught:
        ms.jit(pick)(Tensor(X), Tensor(0))
    assert caught.value.diagnostic.code == code


def test_a_mutable_number_of_the_function_may_change_in_a_loop() -> None:
    def doubled(x: Tensor, count: Tensor) -> tuple[Tensor, int]:
        i = ms.mutable(1)
        while i < count:
            x, i = x * 2, i + 1
        return x, i

    for run in (doubled, ms.jit(doubled)):
        assert [part.tolist() if isinstance(part, Tensor) else part for part in run(Tensor(X), Tensor(4))] == [[4.0, -8.0, 16.0], 4]
