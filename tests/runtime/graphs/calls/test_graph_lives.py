"""The lifetime of graphs: cells are freed with their graphs, caches are bounded, threads and forks do no harm."""

from __future__ import annotations

import contextlib
import copy
import gc
import itertools
import os
import pickle
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn, ops
from adjoint.foundation.diagnostics import CompileError
from adjoint.runtime.graphs import jit as graphs
from adjoint.runtime.process.jitted import graphs_of
from tests.runtime.threads import at_once

X = Tensor(np.ones((2, 3), np.float32))


@pytest.fixture(autouse=True, scope="module")
def by_reference_counting() -> Iterator[None]:
    """Collect what tests before have left, once, since that takes long after many tests; then nothing, in all tests of this file."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def in_eager_mode() -> Iterator[None]:
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


class Sub(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.rate = 2.0

    def construct(self, x: Any) -> Any:
        return x * self.rate


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(3, 3, weight_init="one")
        self.norm = nn.BatchNorm1d(3)
        self.drop = nn.Dropout(p=0.5)
        self.layers = nn.CellList([nn.ReLU(), Sub()])
        self.chain = nn.SequentialCell(nn.ReLU(), Sub())
        self.rates = [1.0, 2.0]
        self.scale = Parameter(Tensor(np.ones(1, np.float32)), name="scale")
        self.total = ops.ReduceSum(keep_dims=True)
        self.act: Any = nn.get_activation("relu")

    def helper(self, x: Any) -> Any:
        return x * self.scale

    @property
    def last(self) -> Any:
        return self.rates[-1]

    def construct(self, x: Any) -> Any:
        x = self.act(self.drop(self.norm(self.dense(x))))
        for layer in self.layers:
            x = layer(x)
        x = self.chain(x) * self.last * len(self.layers)
        return self.helper(x) + self.total(x, 0) * len(self.trainable_params())


class JittedNet(Net):
    @jit
    def construct(self, x: Any) -> Any:
        return Net.construct(self, x)


class OfSuper(Net):
    def construct(self, x: Any) -> Any:
        return super().construct(x) * 2


class Jumping(nn.Cell):
    """A loop and a branch on tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.sub = Sub()

    def construct(self, x: Any) -> Any:
        while x.sum() < 100:
            x = self.sub(x) if x.sum() > 10 else x + 1
        return x


class OwnBackward(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.rate = 2.0

    def construct(self, x: Any) -> Any:
        return x * self.rate

    def bprop(self, x: Any, out: Any, dout: Any) -> Any:
        return (dout * self.rate,)


def run_in_graph_mode(cell: Any) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    cell(X)
    cell(X)


def run_jitted(cell: Any) -> None:
    cell(X)


def run_jit_of_cell(cell: Any) -> None:
    jit(cell)(X)


def run_in_a_function(cell: Any) -> None:
    @jit
    def function(x: Any) -> Any:
        return cell(x) * 2

    function(X)


def run_in_a_gradient(cell: Any) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.grad(cell)(X)
    ms.value_and_grad(cell, None, list(cell.trainable_params()))(X)


def run_gradient_inside(cell: Any) -> None:
    jit(lambda x: ms.grad(cell)(x))(X)


def run_with_hooks(cell: Any) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    for kind in ("forward_pre", "forward", "backward_pre", "backward"):
        getattr(cell, f"register_{kind}_hook")(lambda *given: None)
    ms.grad(cell)(X)
    cell(X)


def run_with_hooks_later(cell: Any) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    cell(X)
    run_with_hooks(cell)


def run_bound(cell: Any) -> None:
    jit(cell.construct)(X)


def run_changed(cell: Any) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    for mode in (True, False, True):
        cell.set_train(mode)
        cell(X)


def run_refused(cell: Any) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    with contextlib.suppress(TypeError):
        cell(X, X, X, X)
    cell(X)


def run_as_argument(cell: Any) -> None:
    ARGUMENT(X, cell)


@jit
def ARGUMENT(x: Any, cell: Any) -> Any:
    return cell(x) * 2


RUNS = [run_in_graph_mode, run_jitted, run_jit_of_cell, run_in_a_function, run_in_a_gradient, run_gradient_inside, run_with_hooks,
        run_with_hooks_later, run_bound, run_changed, run_refused, run_as_argument]


@pytest.mark.parametrize("kind", [Net, JittedNet, OfSuper, Jumping, OwnBackward])
@pytest.mark.parametrize("run", RUNS)
def test_a_cell_is_freed_when_it_is_let_go(kind: type[nn.Cell], run: Callable[[Any], None]) -> None:
    before = len(graphs._cells)
    cell: Any = kind()
    references = [weakref.ref(below) for _, below in cell.cells_and_names()]
    memory = [weakref.ref(parameter) for parameter in cell.get_parameters()]
    run(cell)
    del cell
    assert [reference() for reference in references if reference() is not None] == []
    assert [reference() for reference in memory if reference() is not None] == []
    assert len(graphs._cells) == before


def test_graphs_of_a_dead_cell_leave_a_jitted_construct() -> None:
    compiled = graphs_of(JittedNet.__dict__["construct"])
    gc.collect()
    before = len(compiled.of_cells)
    cell = JittedNet()
    cell(X)
    assert len(compiled.of_cells) == before + 1
    del cell
    assert len(compiled.of_cells) == before


def test_a_function_of_the_user_s_is_freed_with_its_graphs() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    cell = Sub()

    def function(x: Any) -> Any:
        return cell(x).sum()  # noqa: F821 - it is let go of below

    ms.grad(function)(X)
    reference = weakref.ref(function)
    cell_reference = weakref.ref(cell)
    del function, cell
    assert reference() is None and cell_reference() is None


def test_captured_tensors_are_freed() -> None:
    weight = Tensor(np.ones(3, np.float32))

    @jit
    def function(x: Any) -> Any:
        return x * weight  # noqa: F821 - it is let go of below

    function(X)
    reference = weakref.ref(weight)
    del function, weight
    assert reference() is None


# -- caches are bounded -----------------------------------------------------------------------------------------------------
def size_of(known: Any) -> int:
    return sum(len(entries) for entries in known.values())


def test_a_new_string_each_step() -> None:
    """The budget bounds the graphs that are kept."""
    @jit
    def function(x: Any, rate: str) -> Any:
        return x * float(rate)

    before = ms.get_context("program_cache_bytes")
    try:
        ms.set_context(program_cache_bytes=1_000_000)
        for i in range(600):
            assert function(X, str(i)).asnumpy()[0, 0] == i
        assert size_of(graphs_of(function).graphs) <= 150
    finally:
        ms.set_context(program_cache_bytes=before)


def test_a_new_number_in_a_closure_each_step() -> None:
    rate = 0.0

    @jit
    def function(x: Any) -> Any:
        return x * rate

    for i in range(200):
        rate = i / 8
        assert function(X).asnumpy()[0, 0] == i / 8
    assert size_of(graphs_of(function).graphs) <= 64


def test_what_is_in_use_stays(built: list[Any]) -> None:
    @jit
    def function(x: Any, rate: str) -> Any:
        return x * float(rate)

    for i in range(600):
        function(X, str(i))
        function(X, "-1")
    assert len(built) == 601


def test_a_new_array_and_a_new_object_each_step() -> None:
    class Settings:
        def __init__(self, rate: float):
            self.rate = rate

    @jit
    def function(x: Any, settings: Any, array: Any) -> Any:
        return x * settings.rate + Tensor(array)

    for i in range(300):
        # Each object is gone when the next is made, and that is likely to get its id.
        assert function(X, Settings(i / 8), np.full(3, i, np.float32)).asnumpy()[0, 0] == i / 8 + i
    assert size_of(graphs_of(function).graphs) <= 300


def test_reused_ids() -> None:
    """Cells, functions and tensors made in a loop get each other's ids; graphs do not confuse them."""
    ms.set_context(mode=ms.GRAPH_MODE)
    holder: dict[str, Any] = {}

    @jit
    def function(x: Any) -> Any:
        return holder["cell"](x) * holder["tensor"] + holder["function"](x)

    for i in range(60):
        cell = Sub()
        cell.rate = i / 4
        holder.clear()
        holder.update(cell=cell, tensor=Tensor(np.float32(i)), function=lambda x, i=i: x * i)
        assert function(X).asnumpy()[0, 0] == i / 4 * i + i
        assert cell(X).asnumpy()[0, 0] == i / 4


def test_memory_does_not_grow() -> None:
    """Memory of a lowering is freed at once, also after many."""

    rate = 0.0

    @jit
    def function(x: Any) -> Any:
        for _ in range(3):
            x = x * rate if x.sum() > 0 else x + rate
        return x

    def steps(begin: int) -> int:
        nonlocal rate
        for i in range(begin, begin + 40):
            rate = i / 8
            function(X)
        return len(gc.get_objects())

    steps(0)
    counts = [steps(1000) for _ in range(4)]  # what is left for the collector counts too
    # A cache that is filled again adds something once; a leak adds something for each of 40 graphs in each round.
    assert min(after - before for before, after in itertools.pairwise(counts)) < 10


# -- threads ------------------------------------------------------------------------------------------------------------------
def test_threads_call_a_function_for_the_first_time(built: list[Any]) -> None:
    for _ in range(5):
        del built[:]

        @jit
        def function(x: Any) -> Any:
            return (x * 2).sum() if x.sum() > 0 else x.sum()

        assert [float(r) for r in at_once(8, lambda i: function(X))] == [12.0] * 8
        assert len(built) == 1


def test_threads_with_shapes_of_their_own(built: list[Any]) -> None:
    @jit
    def function(x: Any, rate: float) -> Any:
        for _ in range(3):
            x = x * rate
        return x.sum()

    def run(i: int) -> list[float]:
        return [float(function(Tensor(np.ones((i % 4 + 1, 2), np.float32)), float(i % 2 + 1))) for _ in range(20)]

    for i, found in enumerate(at_once(8, run)):
        assert found == [(i % 4 + 1) * 2 * float(i % 2 + 1) ** 3] * 20
    assert len(built) == 4


def test_threads_with_a_cell_and_gradients() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    net = Net()
    expected = ms.grad(net)(X).asnumpy().tolist()
    other: Any = Net()
    other.dense.weight.set_data(net.dense.weight)
    other.dense.bias.set_data(net.dense.bias)

    def run(i: int) -> Any:
        return ms.grad(other)(X).asnumpy().tolist() if i % 2 else other(X).asnumpy().tolist()

    results = at_once(8, run)
    assert results[1::2] == [expected] * 4 and results[::2] == [net(X).asnumpy().tolist()] * 4


def test_one_thread_lowers_while_another_runs_eagerly() -> None:
    net = Sub()

    @jit
    def function(x: Any, rate: int) -> Any:
        return net(x) * rate

    def run(i: int) -> bool:
        for k in range(40):
            if i % 2:
                assert function(X, 8 * k + i).asnumpy()[0, 0] == 2 * (8 * k + i)
            else:
                assert net(X).asnumpy()[0, 0] == 2 and (X * k).asnumpy()[0, 0] == k
                assert ms.grad(lambda x: (net(x) * x).sum())(X).asnumpy()[0, 0] == 4
        return True

    assert all(at_once(4, run))


def test_a_thread_changes_what_another_reads() -> None:
    """The result belongs to one of the values that were set; that of the last call to the last one."""
    net = Sub()
    ms.set_context(mode=ms.GRAPH_MODE)
    numbers = [1.0, 2.0, 3.0]

    def run(i: int) -> None:
        for k in range(100):
            if i == 0:
                net.rate = numbers[k % 3]
                time.sleep(0.0001)
            else:
                assert net(X).asnumpy()[0, 0] in numbers

    at_once(4, run)
    net.rate = 7.0
    assert net(X).asnumpy()[0, 0] == 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_after_graphs_exist() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    net = Net()
    expected = net(X).asnumpy().tolist()

    @jit
    def function(x: Any, rate: int) -> Any:
        return net(x) * rate

    function(X, 0)
    stop = threading.Event()

    def lower() -> None:
        i = 0
        while not stop.is_set():
            i += 1
            function(X, i)

    thread = threading.Thread(target=lower)
    thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    good = net(X).asnumpy().tolist() == expected and function(X, -1.0).asnumpy()[0, 0] == -np.float32(expected[0][0])
                    code = 0 if good else 2
                finally:
                    os._exit(code)
            deadline = time.monotonic() + 60
            status: tuple[int, int] = (0, 0)
            while status[0] == 0 and time.monotonic() < deadline:
                status = os.waitpid(child, os.WNOHANG)
                time.sleep(0.01)
            if status[0] == 0:
                os.kill(child, 9)
                os.waitpid(child, 0)
            assert status == (child, 0)
    finally:
        stop.set()
        thread.join()


# -- exceptions -----------------------------------------------------------------------------------------------------------------
def test_an_exception_while_a_graph_is_made_leaves_nothing() -> None:
    settings: dict[str, Any] = {"rate": "no number"}
    net = Sub()

    @jit
    def function(x: Any) -> Any:
        return net(x) * settings["rate"]

    for _ in range(3):
        with pytest.raises((TypeError, CompileError)):
            function(X)
    assert size_of(graphs_of(function).graphs) == 0
    assert ms.grad(lambda x: (x * x).sum())(X).asnumpy()[0, 0] == 2
    settings["rate"] = 3.0
    assert function(X).asnumpy()[0, 0] == 6
    settings["rate"] = None
    with pytest.raises((TypeError, CompileError)):
        function(X)
    settings["rate"] = 3.0
    assert function(X).asnumpy()[0, 0] == 6 and size_of(graphs_of(function).graphs) == 1


RAISED = pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, ValueError, RecursionError])


@RAISED
def test_an_exception_of_any_kind(raised: type[BaseException]) -> None:
    """Python's dict calls `__hash__`, which is not parsed: the exception ends the lowering, inside of a branch and of a loop."""
    armed = [False]

    class Breaking:
        def __hash__(self) -> int:
            if armed[0]:
                raise raised("now")
            return 1

    breaking = Breaking()
    rates = {breaking: 2.0}
    net = nn.SequentialCell(Sub()).to_float(ms.float32)

    @jit
    def function(x: Any) -> Any:
        x = net(x)
        for _ in range(2):
            x = x * rates[breaking] if x.sum() > 0 else x
        return x

    armed[0] = True
    with pytest.raises((raised, CompileError)):
        function(X)
    assert size_of(graphs_of(function).graphs) == 0
    armed[0] = False
    assert function(X).asnumpy()[0, 0] == 8


@RAISED
def test_an_exception_that_is_parsed(raised: type[BaseException]) -> None:
    """It is part of the graph: runs that reach it raise it, and the values it depends on are guarded."""
    armed = [True]

    class Breaking:
        def __getitem__(self, index: int) -> float:
            if armed[0]:
                raise raised("now")
            return 2.0

    breaking = Breaking()
    net = nn.SequentialCell(Sub()).to_float(ms.float32)

    @jit
    def function(x: Any) -> Any:
        x = net(x)
        for _ in range(2):
            x = x * breaking[0] if x.sum() > 0 else x
        return x

    below = Tensor(-X.asnumpy())
    for _ in range(2):
        with pytest.raises(raised, match="now"):
            function(X)
        assert function(below).asnumpy().tolist() == net(below).asnumpy().tolist()
    assert size_of(graphs_of(function).graphs) == 1
    armed[0] = False
    assert function(X).asnumpy()[0, 0] == 8


def test_a_cell_after_a_lowering_that_failed_inside_of_it() -> None:
    net = nn.Dense(3, 3, weight_init="one").to_float(ms.float16)
    weight = net.weight
    with pytest.raises(ValueError, match="Dense"):
        jit(lambda x: net(x))(Tensor(np.ones((2, 5), np.float32)))
    assert net.weight is weight and net(X).dtype == ms.float16
    assert jit(lambda x: net(x))(X).asnumpy().tolist() == net(X).asnumpy().tolist()


# -- copies ---------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [Net, JittedNet])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda cell: pickle.loads(pickle.dumps(cell))], ids=["deepcopy", "pickle"])
def test_copies_of_cells_with_graphs(kind: Any, copied: Callable[[Any], Any]) -> None:
    ms.set_context(mode=ms.GRAPH_MODE if kind is Net else ms.PYNATIVE_MODE)
    cell = kind()
    expected = cell(X).asnumpy().tolist()
    other = copied(cell)
    assert other(X).asnumpy().tolist() == expected
    other.rates[-1] = 8.0
    other.layers[1].rate = 5.0
    changed = other(X).asnumpy()
    assert changed.tolist() != expected and cell(X).asnumpy().tolist() == expected
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert Net.construct(other, X).asnumpy().tolist() == changed.tolist()
    reference = weakref.ref(other)
    del other
    assert reference() is None and cell(X).asnumpy().tolist() == expected


def test_hooks_of_a_copy_are_its_own() -> None:
    calls: list[str] = []
    cell = JittedNet()
    cell(X)
    cell.layers[1].register_forward_hook(lambda c, args, output: calls.append("hook"))
    other = copy.deepcopy(cell)
    other(X)
    assert calls == ["hook"]
    cell(X)
    assert calls == ["hook"] * 2


@jit
def module_function(x: Any) -> Any:
    return x * 2


def test_a_jitted_function_is_pickled_by_its_name() -> None:
    other = pickle.loads(pickle.dumps(module_function))
    assert other(X).asnumpy()[0, 0] == 2 and copy.deepcopy(module_function) is module_function
