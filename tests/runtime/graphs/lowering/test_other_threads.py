"""Other threads write, and read, what a function reads and writes while a graph is made of it.

Whatever takes turns with the making of graphs, each call gives one of the values that were set, and the calls after the last write give
that one, however often the value changes back.  No other thread ever sees an object of a lowering, and no write of one is lost.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
import threading
import types
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn, ops
from adjoint.frontend.changes.workspace import Workspace
from adjoint.runtime.process.epoch import epoch

VALUES = (1.0, 2.0, 3.0)
X = Tensor([[1.0]])

RATE: Any = 1.0
LIST: list[Any] = [1.0]


class Times(nn.Cell):
    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate

    def construct(self, x: Any) -> Any:
        return x * self.rate


class Settings:
    rate: Any = 1.0


@dataclasses.dataclass
class Options:
    """Options of a net."""

    rate: Any = 1.0


class Slotted:
    __slots__ = ("rate",)

    def __init__(self) -> None:
        self.rate: Any = 1.0


class Net(nn.Cell):
    """Has a place of every kind; `body` reads one of them."""

    def __init__(self, body: Callable[[Any, Any], Any]):
        super().__init__()
        self.body = body
        self.count = 0
        self.rate: Any = 1.0
        self.pair: Any = (1.0, 5.0)
        self.text = "1"
        self.items: list[Any] = [1.0]
        self.nested: list[Any] = [[1.0]]
        self.table: dict[str, Any] = {"rate": 1.0}
        self.queue: deque[Any] = deque([1.0])
        self.ordered: Any = OrderedDict(rate=1.0)
        self.array: Any = np.array([1.0], np.float32)
        self.arrays: Any = {"all": [np.array([1.0], np.float32)]}
        self.bytes = bytearray([1])
        self.numbers = array("f", [1.0])
        self.seen = memoryview(bytearray([1]))
        self.tensor: Any = Tensor(1.0)
        self.weight = Parameter(Tensor([1.0]), name="weight")
        self.times = Times(1.0)
        self.several = nn.CellList([Times(1.0)])
        self.sequence = nn.SequentialCell(Times(1.0))
        self.options = Options()
        self.slotted = Slotted()
        self.space = types.SimpleNamespace(rate=1.0)
        self.function: Any = _times(1.0)

    def construct(self, x: Any) -> Any:
        return self.body(self, x)


def _times(value: float) -> Callable[[Any], Any]:
    return lambda x: x * value


def _set_rate(net: Net, value: float) -> None:
    global RATE
    RATE = value


def _counted(net: Any, x: Any) -> Any:
    net.count += 1
    return x * net.rate


def _kept(net: Any, x: Any) -> Any:
    net.last = x * net.rate
    return net.last


def _after_a_method(net: Any, x: Any) -> Any:
    return x * net.rate if [*net.trainable_params()] else x


def _in_a_branch(net: Any, x: Any) -> Any:
    return x * net.rate if x.sum() > 0 else x - 1


def _summed(net: Any, x: Any) -> Any:
    for value in net.items:
        x = x * value
    return x


def _set_construct(net: Net, value: float) -> None:
    net.times.construct = types.MethodType(lambda self, x: x * value, net.times)


@pytest.fixture
def put_back() -> Any:
    yield
    global RATE
    RATE, Settings.rate, LIST[:] = 1.0, 1.0, [1.0]


PLACES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Net, float], Any]]] = {
    "number": (lambda net, x: x * net.rate, lambda net, v: setattr(net, "rate", v)),
    "number_that_python_needs": (lambda net, x: x * float(str(net.rate)), lambda net, v: setattr(net, "rate", v)),
    "int": (lambda net, x: x * int(net.rate), lambda net, v: setattr(net, "rate", v)),
    "number_beside_a_counter": (_counted, lambda net, v: setattr(net, "rate", v)),
    "number_beside_a_kept_tensor": (_kept, lambda net, v: setattr(net, "rate", v)),
    "number_after_a_method_of_the_library": (_after_a_method, lambda net, v: setattr(net, "rate", v)),
    "number_in_a_branch": (_in_a_branch, lambda net, v: setattr(net, "rate", v)),
    "number_by_getattr": (lambda net, x: x * getattr(net, "rate", 0.0), lambda net, v: setattr(net, "rate", v)),
    "number_by_the_dict": (lambda net, x: x * net.rate, lambda net, v: net.__dict__.update(rate=v)),
    "tuple": (lambda net, x: x * net.pair[0], lambda net, v: setattr(net, "pair", (v, 5.0))),
    "text": (lambda net, x: x * float(net.text), lambda net, v: setattr(net, "text", str(v))),
    "tensor": (lambda net, x: x * net.tensor, lambda net, v: setattr(net, "tensor", Tensor(v))),
    "tensor_written": (lambda net, x: x * net.tensor, lambda net, v: net.tensor.set_data(Tensor(v))),
    "tensor_that_python_reads": (lambda net, x: x * float(net.tensor.asnumpy()), lambda net, v: setattr(net, "tensor", Tensor(v))),
    "parameter": (lambda net, x: x * net.weight, lambda net, v: net.weight.set_data(Tensor([v]))),
    "array": (lambda net, x: x * Tensor(net.array), lambda net, v: setattr(net, "array", np.array([v], np.float32))),
    "array_written": (lambda net, x: x * Tensor(net.array), lambda net, v: net.array.__setitem__(0, v)),
    "item_of_an_array": (lambda net, x: x * float(net.array[0]), lambda net, v: net.array.__setitem__(0, v)),
    "sum_of_an_array": (lambda net, x: x * float(net.array.sum()), lambda net, v: net.array.__setitem__(0, v)),
    "mean_by_numpy": (lambda net, x: x * float(np.mean(net.array)), lambda net, v: net.array.__setitem__(0, v)),
    "array_in_a_list_in_a_dict": (lambda net, x: x * float(net.arrays["all"][0][0]), lambda net, v: net.arrays["all"][0].__setitem__(0, v)),
    "another_array_in_a_list": (lambda net, x: x * float(net.arrays["all"][0][0]),
                                lambda net, v: net.arrays["all"].__setitem__(0, np.array([v], np.float32))),
    "item_of_a_bytearray": (lambda net, x: x * net.bytes[0], lambda net, v: net.bytes.__setitem__(0, int(v))),
    "item_of_an_array_of_python": (lambda net, x: x * net.numbers[0], lambda net, v: net.numbers.__setitem__(0, v)),
    "item_of_a_memoryview": (lambda net, x: x * net.seen[0], lambda net, v: net.seen.__setitem__(0, int(v))),
    "item_of_a_part_of_an_array": (lambda net, x: x * float(net.array[:1][0]), lambda net, v: net.array.__setitem__(0, v)),
    "item_of_a_part_of_a_bytearray": (lambda net, x: x * net.bytes[:1][0], lambda net, v: net.bytes.__setitem__(0, int(v))),
    "items_of_an_array": (lambda net, x: x * max([float(v) for v in net.array]), lambda net, v: net.array.__setitem__(0, v)),
    "list_of_a_memoryview": (lambda net, x: x * max(list(net.seen)), lambda net, v: net.seen.__setitem__(0, int(v))),
    "item_of_a_list": (lambda net, x: x * net.items[0], lambda net, v: net.items.__setitem__(0, v)),
    "items_of_a_list": (_summed, lambda net, v: net.items.__setitem__(0, v)),
    "sum_of_a_list": (lambda net, x: x * sum(net.items), lambda net, v: net.items.__setitem__(0, v)),
    "unpacked_list": (lambda net, x: x * max(*net.items, 0.0), lambda net, v: net.items.__setitem__(0, v)),
    "spread_list": (lambda net, x: x * [*net.items, 1][0], lambda net, v: net.items.__setitem__(0, v)),
    "length_of_a_list": (lambda net, x: x * len(net.items), lambda net, v: setattr(net, "items", [0] * int(v))),
    "list_in_a_list": (lambda net, x: x * net.nested[0][0], lambda net, v: net.nested[0].__setitem__(0, v)),
    "item_in_a_list": (lambda net, x: x * next(v for v in (*VALUES, 7.0) if v in net.items), lambda net, v: net.items.__setitem__(0, v)),
    "item_of_a_dict": (lambda net, x: x * net.table["rate"], lambda net, v: net.table.update(rate=v)),
    "method_of_a_dict": (lambda net, x: x * net.table.get("rate"), lambda net, v: net.table.update(rate=v)),
    "items_of_a_dict": (lambda net, x: x * next(v for _, v in net.table.items()), lambda net, v: net.table.update(rate=v)),
    "item_of_a_deque": (lambda net, x: x * net.queue[0], lambda net, v: net.queue.__setitem__(0, v)),
    "item_of_a_global_list": (lambda net, x: x * LIST[0], lambda net, v: LIST.__setitem__(0, v)),
    "global_name": (lambda net, x: x * RATE, _set_rate),
    "attribute_of_a_class": (lambda net, x: x * Settings.rate, lambda net, v: setattr(Settings, "rate", v)),
    "attribute_of_an_object": (lambda net, x: x * net.options.rate, lambda net, v: setattr(net.options, "rate", v)),
    "another_object": (lambda net, x: x * net.options.rate, lambda net, v: setattr(net, "options", Options(v))),
    "attribute_in_a_slot": (lambda net, x: x * net.slotted.rate, lambda net, v: setattr(net.slotted, "rate", v)),
    "attribute_of_a_namespace": (lambda net, x: x * net.space.rate, lambda net, v: setattr(net.space, "rate", v)),
    "function": (lambda net, x: net.function(x), lambda net, v: setattr(net, "function", _times(v))),
    "cell": (lambda net, x: net.times(x), lambda net, v: setattr(net, "times", Times(v))),
    "attribute_of_a_cell": (lambda net, x: net.times(x), lambda net, v: setattr(net.times, "rate", v)),
    "construct_of_a_cell": (lambda net, x: net.times(x), _set_construct),
    "cell_of_a_list": (lambda net, x: net.several[0](x), lambda net, v: net.several.__setitem__(0, Times(v))),
    "cells_of_a_list": (lambda net, x: next(iter([cell(x) for cell in net.several])), lambda net, v: net.several.__setitem__(0, Times(v))),
    "cell_of_a_sequence": (lambda net, x: net.sequence(x), lambda net, v: net.sequence.__setitem__(0, Times(v))),
}


def disturbed(call: Callable[[], Any], write: Callable[[float], Any], rounds: int = 8) -> None:
    """Call while another thread writes all the time: each result is one of the values, and the last ones are those that are set last."""
    before, done = sys.getswitchinterval(), threading.Event()
    started, raised, seen = threading.Barrier(4), list[BaseException](), list[Any]()

    def writes() -> None:
        started.wait()
        k = 0
        while not done.is_set():
            k += 1
            write(VALUES[k % 3])

    def calls() -> None:
        try:
            started.wait()
            for _ in range(rounds):
                seen.append(call())
        except BaseException as problem:
            raised.append(problem)

    threads = [threading.Thread(target=writes), *[threading.Thread(target=calls) for _ in range(3)]]
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads[1:]:
            thread.join()
    finally:
        done.set()
        threads[0].join()
        sys.setswitchinterval(before)
    if raised:
        raise raised[0]
    assert set(seen) <= set(VALUES)
    for value in (7.0, *VALUES):
        write(value)
        assert call() == value, "a value that was set before is taken for the one that is set now"


@pytest.mark.parametrize("graph", [True, False], ids=["graph", "eager"])
@pytest.mark.parametrize("name", PLACES)
def test_each_call_gives_a_value_that_was_set(name: str, graph: bool, put_back: None) -> None:
    body, write = PLACES[name]
    ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE)
    net = Net(body)
    write(net, 1.0)
    disturbed(lambda: float(net(X).asnumpy()[0, 0]), lambda value: write(net, value))


@contextlib.contextmanager
def another_thread() -> Iterator[None]:
    """Let another thread exist, which does nothing: a lowering looks for other threads when it begins."""
    ended = threading.Event()
    idle = threading.Thread(target=ended.wait)
    idle.start()
    try:
        yield
    finally:
        ended.set()
        idle.join()


class Interrupted:
    """Runs writes in another thread at given moments of a call: a moment is the n-th time that Python enters or leaves a function."""

    def __init__(self, writes: dict[int, Callable[[], Any]]):
        self.moments, self._writes = 0, writes

    def __enter__(self) -> Interrupted:
        self._outer = sys.getprofile()
        sys.setprofile(self._event)
        return self

    def __exit__(self, *raised: object) -> None:
        sys.setprofile(self._outer)

    def _event(self, *event: object) -> None:
        self.moments += 1
        write = self._writes.get(self.moments)
        if write is not None:
            thread = threading.Thread(target=write)
            thread.start()
            thread.join()


@pytest.mark.parametrize("name", PLACES)
def test_a_write_at_any_moment_of_the_making_of_a_graph(name: str, put_back: None) -> None:
    """Another thread writes 2 at one moment, and at a later one 1 again, or nothing more: the graph is never taken for another value's."""
    body, write = PLACES[name]
    ms.set_context(mode=ms.GRAPH_MODE)
    with another_thread():
        _written_at_moments(body, write)


def _written_at_moments(body: Callable[[Any, Any], Any], write: Callable[[Net, float], Any]) -> None:
    def called(net: Net) -> float:
        return float(net(X).asnumpy()[0, 0])

    def made() -> Net:
        net = Net(body)
        write(net, 1.0)
        return net

    called(made())  # kernels are compiled, and modules loaded
    with Interrupted({}) as whole:
        called(made())
    for i in range(MOMENTS):
        first = 1 + i * whole.moments // MOMENTS + i % 5
        again = first + 1 + (i * i) % 40
        net = made()
        with Interrupted({first: lambda net=net: write(net, 2.0), again: lambda net=net, i=i: write(net, 1.0 if i % 3 else 2.0)}):
            assert called(net) in VALUES
        for value in (1.0, 2.0, 7.0, 1.0):
            write(net, value)
            assert called(net) == value, f"a write at the moments {first} and {again} of {whole.moments}"


@pytest.mark.parametrize("name", PLACES)
def test_writes_all_through_the_making_of_a_graph(name: str, put_back: None) -> None:
    """Each attempt to make the graph meets writes of another thread: the call gives one of the values, and changes nothing itself."""
    body, write = PLACES[name]
    ms.set_context(mode=ms.GRAPH_MODE)
    net = Net(body)
    write(net, 1.0)
    writes: dict[int, Callable[[], Any]] = {STEP * k: functools.partial(write, net, VALUES[k % 3]) for k in range(1, 1000)}
    with another_thread(), Interrupted(writes):
        assert float(net(X).asnumpy()[0, 0]) in VALUES
    for value in (7.0, *VALUES):
        write(net, value)
        assert float(net(X).asnumpy()[0, 0]) == value


STEP = 53
"""How many moments lie between two writes."""


def test_a_hook_that_another_thread_is_just_registering() -> None:
    """The hook stands in its slot already, and the library has not been told yet."""
    ms.set_context(mode=ms.GRAPH_MODE)
    hook: Any = types.SimpleNamespace(function=lambda cell, args, output: output * 3, with_kwargs=False, always_call=False)
    with another_thread():
        Net(_of_times)(X)  # kernels are compiled, and modules loaded
        with Interrupted({}) as whole:
            Net(_of_times)(X)
        for moment in range(1, whole.moments, whole.moments // 40):
            net = Net(_of_times)
            net.times.register_forward_hook(hook.function).remove()
            hooks = net.times._cell_hooks
            assert hooks is not None
            with Interrupted({moment: functools.partial(dict.__setitem__, hooks.forward, 0, hook)}):
                assert float(net(X).asnumpy()[0, 0]) in (1.0, 3.0)
            if not hooks.forward:
                break  # the call has ended before
            epoch.move(hooks.forward)
            assert float(net(X).asnumpy()[0, 0]) == 3.0, f"the hook came at the moment {moment} of {whole.moments}"


def _of_times(net: Any, x: Any) -> Any:
    return net.times(x)


MOMENTS = 16
"""In how many moments another thread writes; a lowering has some thousands."""


def test_a_variable_around() -> None:
    rate: Any = 1.0

    def write(value: float) -> None:
        nonlocal rate
        rate = value

    for _ in range(3):
        run = jit(lambda x: x * rate)
        disturbed(lambda run=run: float(run(X).asnumpy()[0, 0]), write)


def test_hooks_come_and_go() -> None:
    """A hook that doubles is there or not: no third result, and the last call obeys."""
    ms.set_context(mode=ms.GRAPH_MODE)
    for _ in range(3):
        net = Net(lambda net, x: net.times(x))
        handles: list[Any] = []

        def write(value: float, net: Any = net, handles: list[Any] = handles) -> None:
            while handles:
                handles.pop().remove()
            if value != 1.0:
                handles.append(net.times.register_forward_hook(lambda cell, args, output: output * value))

        disturbed(lambda net=net: float(net(X).asnumpy()[0, 0]), write)


def test_gradients_while_another_thread_writes() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    for _ in range(3):
        net = Net(lambda net, x: x * net.rate)
        gradient = ms.grad(net)
        disturbed(lambda gradient=gradient: float(gradient(X).asnumpy()[0, 0]), lambda value, net=net: setattr(net, "rate", value))


# -- what other threads see ---------------------------------------------------------------------------------------------------------
class Writes(nn.Cell):
    """Writes an attribute of every kind that a graph writes."""

    def __init__(self) -> None:
        super().__init__()
        self.number, self.real, self.tensor = 0, 0.0, Tensor(0.0)
        self.several: Any = (0, Tensor(0.0))
        self.options = Settings()

    def construct(self, x: Any) -> Any:
        global RATE
        self.number += 1
        self.real = self.real + 0.5
        if x.sum() > 0:
            self.tensor = self.tensor + x.sum()
        else:
            self.tensor = x.sum()
        self.several = (self.number, self.tensor)
        self.options.rate = self.real
        RATE = self.number
        return x * self.number + len([*self.trainable_params()])


def test_no_other_thread_sees_a_value_of_the_lowering(put_back: None) -> None:
    """Graphs are made all the time; the other threads find numbers and tensors in the attributes and names, never what stands for one."""
    ms.set_context(mode=ms.GRAPH_MODE)
    nets, found, done, before = [Writes()], set[type](), threading.Event(), sys.getswitchinterval()

    def watch() -> None:
        while not done.is_set():
            net = nets[-1]
            found.update(map(type, (net.number, net.real, net.tensor, *net.several, net.options.rate, RATE)))

    threads = [threading.Thread(target=watch) for _ in range(2)]
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for _ in range(12):
            nets.append(Writes())
            for count in range(1, 4):
                assert nets[-1](X).asnumpy()[0, 0] == count
    finally:
        done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
    assert found <= {int, float, Tensor}


class Adds:
    """Its `__float__` is not parsed: Python calls it, and it reads the object itself."""

    def __init__(self) -> None:
        self.number = 1.0

    def __float__(self) -> float:
        return self.number


def test_code_that_is_not_parsed_finds_what_parsed_code_has_written() -> None:
    adds = Adds()

    @jit
    def run(x: Any) -> Any:
        adds.number = 3.0
        return x * float(adds)

    for _ in range(2):
        assert run(X).asnumpy()[0, 0] == 3 and adds.number == 3
        adds.number = 5.0


def test_a_write_of_another_thread_over_an_exposed_value_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Python has to find a value in the object itself, a write of another thread there is not taken back."""
    adds, writes = Adds(), iter([8.0])
    before = Workspace.withdraw

    def withdraw(self: Any) -> None:
        for value in writes:  # as another thread does just now
            adds.number = value
        before(self)

    monkeypatch.setattr(Workspace, "withdraw", withdraw)

    @jit
    def run(x: Any) -> Any:
        adds.number = 3.0
        return x * float(adds)

    with pytest.raises(ZeroDivisionError):
        jit(lambda x: (run(x), 1 / 0))(X)
    assert adds.number == 8


def test_no_write_of_another_thread_is_lost() -> None:
    """The last write of another thread to what parsed code only reads is there in the end, though graphs were made meanwhile."""
    ms.set_context(mode=ms.GRAPH_MODE)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for k in range(20):
            net = Net(lambda net, x: _after_a_method(net, x) * 1)
            thread = threading.Thread(target=lambda net=net, k=k: [setattr(net, "rate", float(i)) for i in range(k * 20 + 1)])
            thread.start()
            while thread.is_alive():
                net(X)
            thread.join()
            assert net.rate == float(k * 20)
    finally:
        sys.setswitchinterval(before)


def test_a_lowering_leaves_objects_as_they_are() -> None:
    """A body that fails has changed nothing, not for a moment: the class that sees each write sees none."""
    writes: list[str] = []

    class Seen(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.number = 1

        def construct(self, x: Any) -> Any:
            self.number = self.number + 1
            if x.sum() > 0:
                self.number = 5
            raise ValueError(self.number)

    net, before = Seen(), nn.Cell.__setattr__

    def __setattr__(self: Any, name: str, value: Any) -> None:
        writes.append(name)
        before(self, name, value)

    nn.Cell.__setattr__ = __setattr__
    try:
        with pytest.raises(ms.CompileError):
            jit(net)(X)
    finally:
        nn.Cell.__setattr__ = before
    assert "number" not in writes and net.number == 1


def test_library_code_finds_what_parsed_code_has_written() -> None:
    """`construct` of the library is not parsed: it reads the cell, where nothing has been written yet."""

    class Sharper(nn.Softmax):
        def construct(self, x: Any) -> Any:
            self.axis = 0
            return super().construct(x)

    x = Tensor(np.arange(4, dtype=np.float32).reshape(2, 2))
    net = Sharper(axis=1)
    expected = ops.softmax(x, 0).asnumpy().tobytes()
    assert jit(net)(x).asnumpy().tobytes() == expected and net.axis == 0
    assert "__getattribute__" not in vars(nn.Cell)
