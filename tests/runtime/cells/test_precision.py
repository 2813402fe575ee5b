"""`Cell.to_float`: inputs and parameters are cast inside construct, and nowhere else."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, context, nn, ops
from tests.hooks.events import T, plain


class Scaled(nn.Cell):
    """x * w, after `before(self, x)`"""

    def __init__(self, before: Callable[[nn.Cell, Tensor], None] | None = None):
        super().__init__()
        self.w = Parameter(T(1, 2), name="w")
        self.before = before

    def construct(self, x):
        if self.before is not None:
            self.before(self, x)
        return x * self.w


@pytest.fixture(params=["eager", "jit", "graph"])
def run(request: pytest.FixtureRequest) -> Iterator[Callable[[Any], Any]]:
    if request.param == "graph":
        context.set_context(mode=context.GRAPH_MODE)
    yield ms.jit if request.param == "jit" else lambda function: function
    context.set_context(mode=context.PYNATIVE_MODE)


def typed(value: Any) -> Any:
    """Return a tensor's dtype and numbers, also inside containers."""
    if isinstance(value, tuple):
        return tuple(map(typed, value))
    return str(value.dtype), value.tolist()


def test_hooks_see_what_is_outside(run: Callable[[Any], Any]):
    """Hooks get the caller's arguments, and gradients in their dtype; the result is in the cell's."""
    cell, log = Scaled().to_float(ms.float16), []
    cell.register_forward_pre_hook(lambda cell, args: log.append(("fpre", typed(args))))
    cell.register_forward_hook(lambda cell, args, output: log.append(("fwd", typed(args), typed(output))))
    cell.register_backward_pre_hook(lambda cell, go: log.append(("bpre", typed(go))))
    cell.register_backward_hook(lambda cell, gi, go: log.append(("bwd", typed(gi), typed(go))))
    gradient = run(ms.grad(lambda x: cell(x), 0, [cell.w]))(T(1.5, 2.5))
    assert typed(gradient) == (("Float32", [1, 2]), (("Float32", [1.5, 2.5]),))
    x, ones = ("Float32", [1.5, 2.5]), ("Float16", [1, 1])
    assert log == [("fpre", (x,)), ("fwd", (x,), ("Float16", [1.5, 5])), ("bpre", (ones,)), ("bwd", (("Float32", [1, 2]),), (ones,))]


def assigned(cell: nn.Cell, x: Tensor) -> None:
    ops.assign(cell.w, cell.w * 2)


def added(cell: nn.Cell, x: Tensor) -> None:
    ops.assign_add(cell.w, cell.w)


def by_attribute(cell: nn.Cell, x: Tensor) -> None:
    cell.w = cell.w * 2


def by_item(cell: nn.Cell, x: Tensor) -> None:
    cell.w[:] = cell.w * 2


def by_method(cell: nn.Cell, x: Tensor) -> None:
    cell.w.assign_value(cell.w + cell.w)


@pytest.mark.parametrize("write", [assigned, added, by_attribute, by_item, by_method])
def test_construct_writes_to_the_parameter(write: Callable[[nn.Cell, Tensor], None], run: Callable[[Any], Any]):
    """w = (1, 2) becomes (2, 4) before it is used, and is a Float32 Parameter afterwards; its gradient is that of the old numbers."""
    cell = Scaled(write).to_float(ms.float16)
    assert typed(run(cell)(T(1.5, 2.5))) == ("Float16", [3, 10])
    assert isinstance(cell.w, Parameter) and typed(cell.w) == ("Float32", [2, 4])
    value, (by_x, (by_w,)) = run(ms.value_and_grad(cell, 0, [cell.w]))(T(1.5, 2.5))
    assert typed(value) == ("Float16", [6, 20])
    assert typed(by_x) == ("Float32", [4, 8]) and typed(by_w) == ("Float32", [3, 5])
    assert typed(cell.w) == ("Float32", [4, 8])


def norm(training: bool) -> tuple[nn.Cell, Tensor]:
    x = Tensor(np.arange(24).reshape(2, 3, 2, 2).astype(np.float32) / 10)
    return nn.SequentialCell(nn.Conv2d(3, 3, 1, weight_init="ones"), nn.BatchNorm2d(3)).to_float(ms.float16).set_train(training), x


@pytest.mark.parametrize(("training", "first", "mean", "variance"), [
    (True, [-1.2285, -1.0645, -0.9009], 0.345032, 1.283435), (False, [1.2, 1.5, 1.8], 0.0, 1.0)])
def test_batch_normalisation(training: bool, first: list[float], mean: float, variance: float, run: Callable[[Any], Any]):
    """Activations are in half precision; the statistics stay Float32 and move.  The numbers are MindSpore's."""
    for differentiated in (False, True):
        net, x = norm(training)
        if differentiated:
            y, (by_x, by_w) = run(ms.value_and_grad(net, 0, net.trainable_params()))(x)
            assert by_x.dtype is ms.float32 and all(g.dtype is ms.float32 for g in by_w)
        else:
            y = run(net)(x)
        assert y.dtype is ms.float16
        np.testing.assert_allclose(y.asnumpy().reshape(-1)[:3], first, atol=1e-3)
        statistics = {p.name.rpartition(".")[2]: p for p in net.get_parameters() if "m" in p.name and not p.requires_grad}
        assert len(statistics) == 2 and all(p.dtype is ms.float32 for p in statistics.values())
        found = [p.asnumpy()[0] for p in statistics.values()]
        np.testing.assert_allclose(found, [mean, variance], rtol=1e-5)


def test_other_threads_see_the_parameter():
    """While one thread runs construct, eagerly or to make a graph, the attribute is the Parameter to another, and a call is its own."""
    seen: list[Any] = []

    def look(cell: nn.Cell, x: Tensor) -> None:
        assert cell.w.dtype is ms.float16
        if threading.current_thread() is threading.main_thread():
            other = threading.Thread(target=lambda: seen.extend((cell.w, cell(T(1, 1)))))
            other.start()
            other.join()
        assert cell.w.dtype is ms.float16

    for make in (lambda cell: cell, ms.grad):
        cell = Scaled(look).to_float(ms.float16)
        parameter = cell.w
        make(cell)(T(3, 4))
        assert seen[0] is parameter and typed(seen[1]) == ("Float16", [1, 2])
        seen.clear()

    class Library(nn.Dense):
        """Runs as it is when a graph is made of it."""

        @property
        def has_bias(self):
            if threading.current_thread() is threading.main_thread():
                other = threading.Thread(target=lambda: seen.append(self.weight))
                other.start()
                other.join()
            return False

        @has_bias.setter
        def has_bias(self, value):
            pass

    dense = Library(2, 2).to_float(ms.float16)
    weight = dense.weight
    assert ms.jit(lambda x: dense(x))(Tensor([[1.0, 2.0]])).dtype is ms.float16
    assert all(x is weight for x in seen)


def test_a_construct_that_raises_leaves_nothing_behind():
    def raising(cell, x):
        raise ValueError("boom")

    cell = Scaled(raising).to_float(ms.float16)
    for function in (cell, ms.grad(cell), ms.jit(cell)):
        with pytest.raises(ValueError, match="boom"):
            function(T(1, 2))
        assert isinstance(cell.w, Parameter)
    cell.before = None
    assert typed(cell(T(1, 2))) == ("Float16", [1, 4])


def test_attributes_are_as_without():
    cell = Scaled().to_float(ms.float16)
    graph = ms.jit(lambda x: cell(x))
    assert plain(graph(T(1, 1))) == [1, 2] and hasattr(cell, "w")
    cell.w = Parameter(T(5, 6), name="other")
    assert plain(cell(T(1, 1))) == plain(graph(T(1, 1))) == [5, 6] and cell.w is next(cell.get_parameters())
    for copied in (copy.deepcopy(cell), pickle.loads(pickle.dumps(cell))):
        ops.assign(copied.w, T(7, 8))
        assert typed(copied(T(1, 1))) == ("Float16", [7, 8]) and plain(cell.w) == [5, 6]
    del cell.w
    assert not hasattr(cell, "w") and list(cell.get_parameters()) == []
    with pytest.raises(AttributeError, match="has no attribute 'w'"):
        del cell.w


def test_a_cell_that_calls_itself():
    class Deep(Scaled):
        def construct(self, x, depth=2):
            return x * self.w if not depth else self(x * self.w, depth - 1)

    cell = Deep().to_float(ms.float16)
    assert typed(cell(T(1, 1))) == ("Float16", [1, 8])
    assert typed(ms.grad(cell)(T(1, 1))) == ("Float32", [1, 8])
    assert cell.w.dtype is ms.float32
