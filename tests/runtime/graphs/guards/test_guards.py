"""What a graph depends on: every change of that is noticed, no other is, and guards keep nothing alive."""

from __future__ import annotations

import ast
import copy
import gc
import math
import operator
import pickle
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn
from adjoint.runtime.cells.attributes import EVERY_NAME
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.guards.names import names_read
from adjoint.runtime.process.epoch import epoch
from tests import good_calls


class Net(nn.Cell):
    scale = 2

    def __init__(self) -> None:
        super().__init__()
        self.rate = 0.1
        self.dense = nn.Dense(2, 2)
        self.act: Any = nn.ReLU()
        self.layers = [nn.ReLU(), nn.ReLU()]
        self.shape = (1, (2, 3))
        self.weight = Parameter(Tensor([1.0]), name="weight")
        self.calls = 0

    @property
    def counted(self) -> int:
        self.__dict__["calls"] += 1
        return self.__dict__.get("answer", 1)

    def helper(self, x: Any) -> Any:
        return x

    def construct(self, x: Any) -> Any:
        return self.helper(x)


class Config:
    default = 1

    def __init__(self) -> None:
        self.rate: Any = 0.1

    def method(self) -> int:
        return 1

    @classmethod
    def made(cls) -> Config:
        return cls()


class Slotted:
    __slots__ = ("rate",)

    def __init__(self) -> None:
        self.rate = 0.1


@pytest.fixture
def net() -> Net:
    return Net()


@pytest.fixture(autouse=True)
def by_reference_counting() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def guards_of(record: Callable[[Guards], object]) -> Guards:
    guards = Guards()
    record(guards)
    assert not guards.holds()
    guards.freeze()
    assert guards.holds() and guards.broken() == ""
    return guards


def of_global(value: Any) -> tuple[Guards, dict[str, Any]]:
    namespace = {"value": value}
    return guards_of(lambda guards: guards.of_name(namespace, "value")), namespace


# -- which values are the same --------------------------------------------------------------------------------------------
def function() -> None: ...


SAME = [
    (lambda: 0.1, lambda: float("0.1")), (lambda: math.nan, lambda: float("nan")), (lambda: 10**30, lambda: 10**30),
    (lambda: [1, [2]], lambda: [1, [2]]), (lambda: (1, {"a": {2}}), lambda: (1, {"a": {2}})), (lambda: np.ones(2), lambda: np.ones(2)),
    (lambda: np.float32(1), lambda: np.float32(1)), (lambda: range(3), lambda: range(*(0, 3))), (lambda: slice(1, 2), lambda: slice(1, 2)),
    (lambda: [math.nan] * 20, lambda: [-math.nan] * 20), (lambda: [0.5] * 20, lambda: [float("0.5")] * 20),
    (lambda: dict.fromkeys("abcdefghijklmnopqrst", 1), lambda: dict.fromkeys("abcdefghijklmnopqrst", 1)),
    (lambda: [function], lambda: [function]), (lambda: ms.float32, lambda: ms.float32), (lambda: 1j, lambda: complex(0, 1)),
]


@pytest.mark.parametrize("first, second", SAME)
def test_equal_constants_in_other_objects(first: Callable[[], Any], second: Callable[[], Any]) -> None:
    guards, namespace = of_global(first())
    for _ in range(3):
        namespace["value"] = second()
        assert guards.holds() and guards.broken() == ""


DIFFERENT = [
    (1, True), (1, 1.0), (0.0, -0.0), (0.1, 0.2), ("a", b"a"), (None, False), ([1], (1,)), ([1], [1.0]), ([0.0], [-0.0]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({1}, {2}), ({1}, frozenset({1})), (np.zeros(1), -np.zeros(1)), (np.zeros(1), np.zeros((1, 1))),
    (np.zeros(1), np.zeros(1, np.int64)), (np.float32(1), 1.0), (range(3), range(4)), (slice(1), slice(2)), (Config(), Config()),
    (Tensor([1.0]), Tensor([1.0])), (Parameter(1.0), Parameter(1.0)), (nn.ReLU(), nn.ReLU()), (len, max), (int, float), (math, np),
    ([].append, [].append), (Config().method, Config().method), (lambda: 1, lambda: 1), ((nn.ReLU(),), (nn.ReLU(),)), (1j, -1j),
    (complex(0.0, 0.0), complex(0.0, -0.0)), (ms.float32, ms.float16), (Slotted(), Slotted()),
    ([1] * 20, [True] * 20), ([1] * 20, [*[1] * 19, 2]), ([0.0] * 20, [*[0.0] * 19, -0.0]), ([1.0] * 20, [*[1.0] * 19, math.nan]),
    ([Config()] * 20, [Config()] * 20), ([None] * 20, [None] * 21),
    (dict.fromkeys("abcdefghijklmnopqrst"), dict.fromkeys("abcdefghijklmnopqrts")),
]


@pytest.mark.parametrize("first, second", DIFFERENT)
def test_other_constants(first: Any, second: Any) -> None:
    for a, b in ((first, second), (second, first)):
        guards, namespace = of_global(a)
        namespace["value"] = b
        assert not guards.holds() and " was " in guards.broken()
        namespace["value"] = a
        assert guards.holds() and guards.broken() == ""
        del namespace["value"]
        assert not guards.holds() and guards.broken().endswith("is absent")


CHANGES: list[tuple[Any, Callable[[Any], Any]]] = [
    ([1, 2], lambda x: x.append(3)), ([[1]], lambda x: x[0].clear()), (({},), lambda x: x[0].update(a=1)), ({1}, lambda x: x.add(2)),
    (np.zeros(3), lambda x: x.__setitem__(0, 1e-300)), ({"a": [1]}, lambda x: x["a"].__setitem__(0, True)),
    (bytearray(b"a"), bytearray.clear),
]


@pytest.mark.parametrize("value, change", CHANGES)
def test_containers_that_are_changed(value: Any, change: Callable[[Any], Any]) -> None:
    value = copy.deepcopy(value)
    guards, _ = of_global(value)
    change(value)
    assert not guards.holds() and guards.broken()


def test_a_container_in_itself() -> None:
    endless: list[Any] = [1]
    endless.append(endless)
    guards, namespace = of_global(endless)
    other: list[Any] = [1]
    other.append(other)
    namespace["value"] = other
    assert guards.holds()
    other[1] = [1, other]
    assert not guards.holds()
    endless.pop()
    other.pop()


# -- places ---------------------------------------------------------------------------------------------------------------
def test_builtins_are_found_below_globals() -> None:
    namespace: dict[str, Any] = {"__builtins__": {"len": len, "max": max}}
    guards = guards_of(lambda g: [g.of_name(namespace, name) for name in ("len", "max", "nowhere")])
    namespace["len"] = len
    assert guards.holds() and guards.holds()
    namespace["max"] = min
    assert guards.broken() == "max was function max, is function min" and not guards.holds()
    del namespace["max"], namespace["len"]
    assert guards.holds()
    namespace["nowhere"] = 1
    assert guards.broken() == "nowhere was absent, is 1" and not guards.holds()


def test_closures() -> None:
    cells = [types.CellType(1), types.CellType("a"), types.CellType()]
    guards = guards_of(lambda g: [g.of_closure(cell, name) for cell, name in zip(cells, "abc")])
    cells[1].cell_contents = "b"
    assert not guards.holds() and guards.broken() == "b was 'a', is 'b'"
    cells[1].cell_contents = "a"
    assert guards.holds()
    cells[2].cell_contents = None
    assert not guards.holds() and guards.broken() == "c was absent, is None"
    del cells[2].cell_contents
    assert guards.holds()
    del cells[0].cell_contents
    assert not guards.holds()


MODULE, KIND = types.ModuleType("settings"), type("Local", (Config,), {"width": 3})
MODULE.rate = 1  # type: ignore[attr-defined]
HOLDERS = [(MODULE, "rate"), (KIND, "width"), (KIND, "default"), (Config(), "rate"), (Config(), "default"), (Slotted(), "rate")]


@pytest.mark.parametrize("holder, name", HOLDERS)
def test_attributes(holder: Any, name: str) -> None:
    guards = guards_of(lambda g: g.of_attribute(holder, name))
    before = getattr(holder, name)
    setattr(holder, name, 7)
    assert not guards.holds() and guards.broken().endswith(f".{name} was {before}, is 7")
    setattr(holder, name, before)
    assert guards.holds()


@pytest.mark.parametrize("holder", [MODULE, KIND, Config()])
def test_attributes_that_are_absent(holder: Any) -> None:
    guards = guards_of(lambda g: g.of_attribute(holder, "missing", "x.missing"))
    holder.missing = None
    assert not guards.holds() and guards.broken() == "x.missing was absent, is None"
    del holder.missing
    assert guards.holds()


def test_methods() -> None:
    config = Config()
    guards = guards_of(lambda g: [g.of_attribute(config, "method"), g.of_attribute(config, "made"), g.of_attribute(Config, "made")])
    config.method = function  # type: ignore[method-assign, assignment]
    assert guards.broken() == "Config.method was function Config.method, is function function" and not guards.holds()


def test_a_property_runs_once_at_each_comparison(net: Net) -> None:
    guards = guards_of(lambda g: g.of_attribute(net, "counted", "self.counted"))
    before = net.calls
    assert guards.holds() and net.calls == before + 1
    net.__dict__["answer"] = 2
    assert not guards.holds() and net.calls == before + 2
    assert guards.broken() == "self.counted was 1, is 2"


def test_attributes_computed_by_getattr() -> None:
    class Late:
        def __init__(self) -> None:
            self.table = {"a": 1}

        def __getattr__(self, name: str) -> int:
            try:
                return self.__dict__["table"][name]
            except KeyError:
                raise AttributeError(name) from None

    late = Late()
    guards = guards_of(lambda g: [g.of_attribute(late, "a"), g.of_attribute(late, "b")])
    late.table["a"] = 2
    assert not guards.holds()
    late.table.update(a=1, b=1)
    assert not guards.holds() and guards.broken() == "Late.b was absent, is 1"


def test_a_module_that_computes_what_it_lacks() -> None:
    module: Any = types.ModuleType("lazy")
    module.rate, module.__getattr__ = 1, lambda name: 1 // 0
    guards = guards_of(lambda g: g.of_attribute(module, "rate"))
    del module.rate
    assert not guards.holds() and guards.broken() == "lazy.rate was 1, is absent"


# -- the compiled check ---------------------------------------------------------------------------------------------------
NAMES = ["x0", "self", "None", "a.b", "", "'", '"""', "\n  return True\n", "x0] is x1 or True #", "{0}", "\u00fc", "\ud800"]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_any_kind(name: str) -> None:
    """The user's names and values never become part of the text of the check."""
    namespace: dict[str, Any] = {name: name}
    module, kind = types.ModuleType("module"), type("Kind", (), {name: name})
    setattr(module, name, name)
    guards = guards_of(lambda g: [g.of_name(namespace, name), g.of_attribute(module, name), g.of_attribute(kind, name)])
    for write in (lambda value: namespace.update({name: value}), lambda value: setattr(module, name, value),
                  lambda value: setattr(kind, name, value)):
        write(1)
        assert not guards.holds() and guards.broken()
        write(name)
        assert guards.holds()


def test_a_warm_check_is_one_call() -> None:
    """While the epoch stands still, only the attributes of classes are compared, once for all cells of a class."""
    cells = [kind() for kind in (nn.ReLU, nn.Tanh, nn.Sigmoid) for _ in range(4)]
    guards = guards_of(lambda g: [(g.of_cell(cell), g.of_slots(cell), g.of_attribute(cell, "construct")) for cell in cells])
    passed: list[str] = []
    sys.setprofile(lambda frame, event, argument: passed.append(frame.f_code.co_name if event == "call" else argument.__name__)
                   if event in ("call", "c_call") else None)
    try:
        guards.holds()
    finally:
        sys.setprofile(None)
    assert sorted(passed[:-1]) == [*["getattr"] * 3, "holds"]
    cells[0].training = True
    assert not guards.holds()


def test_graphs_of_one_form_share_code() -> None:
    first, second = ({"a": 1, "b": None}, {"rate": 2, "scale": len})
    one, other = (guards_of(lambda g, read=read: [g.of_name(read, name) for name in read]) for read in (first, second))
    assert one.holds.__code__ is other.holds.__code__
    first["a"] = 3
    assert not one.holds() and other.holds()


# -- cells ----------------------------------------------------------------------------------------------------------------
def read(*names: str) -> Callable[[Net], Guards]:
    return lambda net: guards_of(lambda g: [g.of_attribute(net, name, f"self.{name}") for name in names])


CELL_CHANGES: list[tuple[str, Callable[[Net], Any], str]] = [
    ("rate", lambda net: setattr(net, "rate", 0.2), "self.rate was 0.1, is 0.2"),
    ("rate", lambda net: delattr(net, "rate"), "self.rate was 0.1, is absent"),
    ("extra", lambda net: setattr(net, "extra", 1), "self.extra was absent, is 1"),
    ("training", lambda net: net.set_train(), "self.training was False, is True"),
    ("_cell_compute", lambda net: net.to_float(ms.float16), "self._cell_compute was None, is a DType"),
    ("dense", lambda net: setattr(net, "dense", nn.Dense(2, 2)), "self.dense was cell 'dense' (Dense), is another one"),
    ("act", lambda net: setattr(net, "act", None), "self.act was cell 'act' (ReLU), is None"),
    ("weight", lambda net: setattr(net, "weight", Parameter(Tensor([1.0]), name="weight")),
     "self.weight was Parameter weight f32[1], is another one"),
    ("layers", lambda net: net.layers.append(nn.ReLU()), "self.layers was [cell 'ReLU' (ReLU), cell 'ReLU' (ReLU)], is [cell"),
    ("shape", lambda net: setattr(net, "shape", (1, (2, 4))), "self.shape was (1, (2, 3)), is (1, (2, 4))"),
    ("helper", lambda net: setattr(net, "helper", function), "self.helper was absent, is function function"),
    ("later", lambda net: net.insert_param_to_cell("later", Parameter(Tensor([1.0]))), "self.later was absent, is Parameter later f32[1]"),
]


@pytest.mark.parametrize("name, change, message", CELL_CHANGES)
def test_attributes_of_cells(net: Net, name: str, change: Callable[[Net], Any], message: str) -> None:
    guards, others = read(name)(net), read("calls", "construct", "scale")(net)
    change(net)
    assert not guards.holds() and guards.broken().startswith(message)
    assert others.holds() and others.broken() == ""


def test_classes_of_cells(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    guards = read("helper", "scale", "construct")(net)
    with monkeypatch.context() as patched:
        patched.setattr(Net, "scale", 3)
        assert not guards.holds() and guards.broken() == "self.scale was 2, is 3"
    assert guards.holds()
    with monkeypatch.context() as patched:
        patched.setattr(Net, "helper", function)
        assert not guards.holds()
    assert guards.holds()


def test_values_that_come_back(net: Net) -> None:
    guards = read("rate", "training", "act")(net)
    act = net.act
    net.rate, net.act = 0.2, nn.ReLU()
    net.set_train()
    assert not guards.holds()
    net.rate, net.act = 0.1, act
    net.set_train(False)
    assert guards.holds() and guards.broken() == ""


LIBRARY_CHANGES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda cell: cell.set_train(), "Dense.training was False, is True"),
    (lambda cell: setattr(cell, "weight", Parameter(Tensor([1.0]))), "Dense._params was"),
    (lambda cell: setattr(cell, "bias", None), "Dense._params was"),
    (lambda cell: cell.to_float(ms.float16), "Dense._cell_compute was None, is a DType"),
    (lambda cell: setattr(cell, "sub", nn.ReLU()), "Dense._cells was"),
    (lambda cell: setattr(cell, "__class__", nn.Cell), "Dense was Dense, is Cell"),
]


@pytest.mark.parametrize("change, message", LIBRARY_CHANGES)
def test_cells_of_the_library(change: Callable[[Any], Any], message: str) -> None:
    dense = nn.Dense(2, 2)
    guards = guards_of(lambda g: g.of_cell(dense))
    dense.weight.set_data(dense.weight * 2)
    dense.register_forward_hook(print).remove()
    dense.set_train(False)
    assert guards.holds()
    change(dense)
    assert not guards.holds() and guards.broken().startswith(message)


def test_containers_in_cells_of_the_library() -> None:
    cell: Any = nn.Dense(2, 2)
    cell.has_bias = [1]
    cell.activation = np.zeros(2)
    guards = guards_of(lambda g: g.of_cell(cell))
    cell.activation[0] = 1
    assert not guards.holds() and guards.broken().startswith("Dense.activation was")
    cell.activation[0] = 0
    cell.has_bias.append(2)
    assert not guards.holds() and guards.broken() == "Dense.has_bias was [1], is [1, 2]"
    cell.has_bias = [1]
    assert guards.holds()


def test_sequences_of_cells() -> None:
    cells = nn.CellList([nn.ReLU(), nn.ReLU()])
    guards = guards_of(lambda g: g.of_cell(cells))
    cells.append(nn.ReLU())
    assert not guards.holds()


def test_slots(net: Net) -> None:
    guards = guards_of(lambda g: [g.of_slots(net), g.of_slots(net.act)])
    before = epoch.now
    handle = net.act.register_forward_hook(function)
    assert epoch.now != before and not guards.holds() and guards.broken() == "hooks of act was none, is forward"
    before = epoch.now
    other = net.act.register_forward_hook(function)
    handle.remove()
    assert epoch.now == before, "a slot that stays filled is no change"
    other.remove()
    assert guards.holds()
    first = net.register_backward_hook(function)
    guards.freeze()
    net.register_backward_hook(function)
    first.remove()
    assert guards.holds()
    second = net.register_forward_pre_hook(function, prepend=True)
    assert guards.broken() == "hooks of Net was backward, is forward_pre, backward" and not guards.holds()
    second.remove()
    assert guards.holds()


def test_types_of_tensors(net: Net) -> None:
    captured = Tensor([1, 2])
    guards = guards_of(lambda g: [g.of_tensor_type(net.weight), g.of_tensor_type(captured)])
    before = epoch.now
    net.weight.set_data(Tensor([5.0]))
    ms.ops.assign(net.weight, Tensor([6.0]))
    assert epoch.now == before and guards.holds()
    net.weight.set_data(Tensor([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert not guards.holds() and guards.broken() == "the type of weight was f32[1], is f32[5]"
    net.weight.set_data(Tensor([1.0]))
    assert guards.holds()
    net.weight.set_dtype(ms.float16)
    assert not guards.holds()
    net.weight.set_dtype(ms.float32)
    assert guards.holds()
    captured.set_data(Tensor([1]))
    assert not guards.holds()


# -- when the epoch moves -------------------------------------------------------------------------------------------------
def test_the_epoch_stands_still(net: Net) -> None:
    """A training loop, setting the current mode, and creating or changing cells that no graph depends on cost no comparison."""
    net.set_train(False)  # a new cell is not in training, but its phase is "train"
    guards = guards_of(lambda g: [g.of_cell(net.dense), g.of_slots(net), g.of_attribute(net, "rate")])
    before = epoch.now
    net.set_train(False)
    net.rate = net.rate
    other = Net()
    other.rate = 3
    other.set_train()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    ms.value_and_grad(lambda x: net.dense(x).sum(), None, optimizer.parameters)(Tensor([[1.0, 2.0]]))
    x = Tensor([1.0])
    x.register_hook(lambda gradient: None).remove()
    assert epoch.now == before and guards.holds()


def test_comparisons_while_the_epoch_stands_still(net: Net) -> None:
    """The attributes of a cell are compared only when the epoch moves; `object.__setattr__` does not move it."""
    guards = read("rate")(net)
    object.__setattr__(net, "rate", 0.2)
    assert guards.holds()
    epoch.move()
    assert not guards.holds() and not guards.holds()
    net.rate = 0.1
    assert guards.holds()


@pytest.mark.parametrize("write", [
    lambda own: own.update(rate=0.2), lambda own: own.__setitem__("rate", 0.2), lambda own: own.pop("rate"),
    lambda own: own.__delitem__("rate"), lambda own: own.setdefault("rate_of_all", 1), lambda own: operator.ior(own, {"rate": 0.2}),
    lambda own: vars(own["act"]).update(training=True),
])
def test_writes_through_the_dict_of_a_cell(net: Net, write: Callable[[dict[str, Any]], Any]) -> None:
    guards = guards_of(lambda g: [g.of_cell(net), g.of_cell(net.act)])
    state, before = pickle.dumps(net.act), epoch.now
    write(net.__dict__)
    assert epoch.now != before and not guards.holds() and guards.broken()
    other = pickle.loads(state)
    before = epoch.now
    other.__dict__.update(slope=2)
    copy.deepcopy(net.act)
    assert type(other.__dict__) is type(net.__dict__) and type(other.__getstate__()) is dict
    assert b"Attributes" not in state


def test_no_number_of_the_epoch_comes_twice() -> None:
    seen = [epoch.now]
    for _ in range(3):
        epoch.move()
        seen.append(epoch.now)
    assert len(set(seen)) == 4


# -- what is kept alive ---------------------------------------------------------------------------------------------------
def calling(cell: nn.Cell) -> Callable[[Any], Any]:
    return lambda x: cell(x)


def with_guards(cell: Any) -> Guards:
    config: Any = Config()
    config.cell = cell
    namespace = {"cell": cell, "cells": (cell,), "config": config, "method": cell.helper, "calling": calling(cell)}

    def record(guards: Guards) -> None:
        guards.of_cell(cell)
        guards.of_slots(cell)
        for name in ("rate", "helper", "scale", "layers", "dense", "nowhere"):
            guards.of_attribute(cell, name)
        for name in ("cell", "rate", "method"):
            guards.of_attribute(config, name)
        guards.of_tensor_type(cell.weight)
        for name in namespace:
            guards.of_name(namespace, name)

    guards = guards_of(record)
    namespace.clear()
    return guards


def test_a_cell_with_guards_is_freed_by_reference_counting() -> None:
    """The graph belongs to the cell, and depends on it and on what refers to it."""
    cell = Net()
    gone = weakref.ref(cell)
    guards = cell.__dict__["_graph"] = with_guards(cell)
    del cell
    assert gone() is None
    assert not guards.holds() and guards.broken()


def test_a_new_object_is_not_mistaken_for_a_freed_one(net: Net) -> None:
    """A new object at the address of a freed one is not mistaken for it."""
    namespace: dict[str, Any] = {"cell": nn.ReLU(), "thing": Slotted()}
    guards = guards_of(lambda g: [g.of_name(namespace, name) for name in namespace])
    for _ in range(20):
        del namespace["cell"]
        namespace["cell"] = nn.ReLU()
        assert not guards.holds()


def test_what_was_made_while_lowering() -> None:
    """A holder that is unreachable when the snapshot is taken cannot change."""
    guards = guards_of(lambda g: [g.of_attribute(Config(), "rate"), g.of_cell(nn.ReLU()), g.of_slots(nn.ReLU()),
                                  g.of_tensor_type(Tensor([1.0]))])
    config = Config()
    config.rate = 3
    assert guards.holds()


def test_the_snapshot_is_taken_anew(net: Net) -> None:
    guards = read("rate", "layers")(net)
    net.rate = 0.2
    net.layers.append(nn.ReLU())
    assert not guards.holds()
    guards.freeze()
    assert guards.holds()
    net.rate = 0.1
    assert not guards.holds() and guards.broken() == "self.rate was 0.2, is 0.1"


def test_copies_and_pickles_of_watched_cells(net: Net) -> None:
    guards = read("rate")(net)
    other = copy.deepcopy(net)
    other.rate = 0.5
    assert guards.holds() and not guards_of(lambda g: g.of_cell(other)).broken()


# -- what hooks keep in cells ------------------------------------------------------------------------------------------------
class OwnDense(nn.Dense):
    """A layer whose code the library does not know."""


def test_a_layer_does_not_depend_on_what_is_kept_in_it_under_another_name() -> None:
    dense, own = nn.Dense(2, 2), OwnDense(2, 2)
    dense.out = 1
    guards, all_of_own = guards_of(lambda g: g.of_cell(dense)), guards_of(lambda g: g.of_cell(own))
    before = epoch.now
    for kept in (2, Tensor([1.0]), [nn.ReLU()]):
        dense.out = dense.first_seen = kept
        assert epoch.now == before and guards.holds()
    del dense.first_seen
    assert epoch.now != before and guards.holds()
    own.out = 1
    assert not all_of_own.holds()
    for name, value in (("has_bias", False), ("out", nn.ReLU()), ("late", Parameter(Tensor([1.0]), name="late"))):
        guards = guards_of(lambda g: g.of_cell(dense))
        setattr(dense, name, value)
        assert not guards.holds() and guards.broken(), name


def test_what_is_kept_in_a_layer_and_read_is_compared() -> None:
    dense = nn.Dense(2, 2)
    dense.out = 1
    without = guards_of(lambda g: g.of_cell(dense))
    guards = guards_of(lambda g: (g.of_cell(dense), g.of_attribute(dense, "out"), g.of_attribute(dense, "unheard_of")))
    dense.out = 2
    assert not guards.holds() and "out was 1, is 2" in guards.broken() and without.holds()
    dense.out = 1
    assert guards.holds()
    dense.unheard_of = 1
    assert not guards.holds() and without.holds()


def test_the_names_that_layers_read_are_all_that_they_have() -> None:
    """The code of a class holds the names of all attributes that its cells are made with, and a call adds no others."""
    seen = 0
    for line in good_calls.CALLS["layers"]:
        expression = ast.parse(line, mode="eval").body
        assert isinstance(expression, ast.Call)
        called = isinstance(expression.func, ast.Call)
        made = ast.Expression(expression.func if called else expression)
        values = {**good_calls.MODULES, **good_calls.values()}
        cell = eval(compile(made, line, "eval"), values)
        if not isinstance(cell, nn.Cell):
            continue
        if called:
            expression.func = ast.copy_location(ast.Name("cell", ast.Load()), expression.func)
            eval(compile(ast.Expression(expression), line, "eval"), {**values, "cell": cell})
        for each in (cell, *cell.cells()):
            assert all(name in names_read(type(each)) or name in (*each._cells, *each._params) for name in vars(each)), line
            seen += names_read(type(each)) is not EVERY_NAME
    assert seen > 150


@pytest.mark.parametrize("gradient", [False, True])
def test_hooks_that_keep_what_they_see_in_layers_make_no_graph(gradient: bool, built: list[Any]) -> None:
    """Nor do they when a body reads it at last: then each call sees what the one before has kept, as in eager mode."""
    def session(wrapped: Callable[..., Any]) -> tuple[list[Any], list[int]]:
        net = nn.SequentialCell(nn.Dense(2, 2, "ones", "ones"), nn.ReLU(), nn.Dense(2, 2, "ones", "ones"))
        last, found, graphs = net[2], list[Any](), list[int]()
        last.calls = 0

        def keep(cell: nn.Cell, args: Any, output: Tensor) -> None:
            cell.out, cell.largest, cell.calls = output, float(output.asnumpy().max()), getattr(cell, "calls", 0) + 1

        for cell in net:
            cell.register_forward_hook(keep)
        for function in (lambda x: net(x).sum(), lambda x: net(x).sum() * last.calls):
            run = wrapped(ms.value_and_grad(function) if gradient else function)
            del built[:]
            for i in range(6):
                result = run(Tensor([[1.0, float(i)]]))
                kept = [x for cell in net for x in (cell.out, cell.largest, cell.calls)]
                found.append([x.asnumpy().tobytes() if isinstance(x, Tensor) else x for x in (*kept, *(result if gradient else (result,)))])
            graphs.append(len(built))
        return found, graphs

    expected, (made, _) = session(lambda function: function)[0], session(ms.jit)[1]
    assert made <= 2
    assert session(ms.jit)[0] == expected


def test_an_attribute_in_a_slot_is_read_there() -> None:
    # The cell's dict does not hold it: a guard that looked there found it gone, and the graph was made again after each change of any cell.
    class Scaled(nn.Cell):
        __slots__ = ("_factor", "_twice")

        def __init__(self) -> None:
            super().__init__()
            self._factor, self._twice = 3.0, True

        def construct(self, x: Tensor) -> Tensor:
            y = x * self._factor
            return y * 2 if self._twice else y

    net, x, done = Scaled(), Tensor([1.0]), threading.Event()
    other = threading.Thread(target=done.wait)  # while others run, a graph keeps what it read first
    other.start()
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        for _ in range(4):
            assert net(x).tolist() == [6.0]
            epoch.move(nn.Dense(2, 2), "training")
        assert len(ms.jit_stats(net).graphs) == 1
        net._twice = False
        assert net(x).tolist() == [3.0]
        net._factor = 5.0
        assert net(x).tolist() == [5.0]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
        done.set()
        other.join()
