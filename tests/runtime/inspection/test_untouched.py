"""The search for what keeps memory alive, and for the holder of an operand, runs no code of the program's objects."""

from __future__ import annotations

import importlib.util
import re
import sys
import types
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops, watch

touched: list[str] = []
"""What of the code of the objects below has run."""


def ran(name: str) -> Any:
    def run(*_: Any, **__: Any) -> Any:
        touched.append(name)
        raise RuntimeError(f"{name} ran")

    return run


HOSTILE = {name: ran(name) for name in (
    "__getattribute__", "__getattr__", "__eq__", "__len__", "__bool__", "__iter__", "__repr__", "__str__", "__contains__", "__getitem__",
    "items", "keys", "values", "get")}


class Meta(type):
    """A metaclass whose classes run code when they are asked."""

    __getattribute__ = ran("Meta.__getattribute__")
    __eq__ = ran("Meta.__eq__")
    __hash__ = type.__hash__
    __subclasscheck__ = __instancecheck__ = ran("Meta.__instancecheck__")


def hostile(*parents: type, **more: Any) -> Any:
    made = {**HOSTILE, "__class__": property(ran("__class__")), "__hash__": object.__hash__, **more}
    return Meta("Hostile", parents or (object,), made)


class Net(nn.Cell):
    def __init__(self) -> None:
        raise RuntimeError("before super().__init__()")

    def construct(self, x: Tensor) -> Tensor:
        return x


class Lazy(types.ModuleType):
    """A module that is loaded when an attribute is asked for."""

    __getattribute__ = ran("Lazy.__getattribute__")


class OwnTensor(Tensor):
    memory: Any = property(ran("memory"))
    type: Any = property(ran("type"))


def unfinished_cell(held: Tensor) -> Any:
    cell = nn.Cell.__new__(Net)
    dict.__setitem__(object.__getattribute__(cell, "__dict__"), "held", held)
    return cell


def with_attribute(held: Tensor) -> Any:
    made = object.__new__(hostile())
    names: Any = object.__getattribute__(made, "__dict__")
    names["held"] = held
    return made


def with_slot(held: Tensor) -> Any:
    kind = hostile(__slots__=("held",))
    made = object.__new__(kind)
    type.__dict__["__dict__"].__get__(kind)["held"].__set__(made, held)
    return made


def own_list(held: Tensor) -> Any:
    made = list.__new__(hostile(list))
    list.append(made, held)
    return made


def own_dict(held: Tensor) -> Any:
    made = dict.__new__(hostile(dict))
    dict.__setitem__(made, "held", held)
    return made


def class_of_meta(held: Tensor) -> Any:
    return hostile(held=held)


def lazy_module(held: Tensor) -> Any:
    made: Any = types.ModuleType.__new__(Lazy)
    types.ModuleType.__init__(made, "lazy")
    attribute: Any = types.ModuleType.__dict__["__dict__"]
    names: Any = attribute.__get__(made)
    names["held"] = held
    return made


def proxy(held: Tensor) -> Any:
    class Gone:
        pass

    gone = Gone()
    return [weakref.proxy(gone), held]


def unfinished_parameter(held: Tensor) -> Any:
    made = Parameter.__new__(Parameter)
    made.__dict__["held"] = held
    return made


def unfinished_tensor(held: Tensor) -> Any:
    return [Tensor.__new__(Tensor), OwnTensor.__new__(OwnTensor), held]


def of_function(held: Tensor) -> Any:
    def function(x: Any = held) -> Any:
        return x

    return function


_TEST = "`test_the_memory_of_objects_that_must_not_be_touched`"
WAYS = {
    unfinished_cell: "the variable `held` of the Cell 'Net'",
    with_attribute: f"`holder.held` of {_TEST}",
    with_slot: f"`holder.held` of {_TEST}",
    own_list: f"`holder` of {_TEST}, a list of 1",
    own_dict: f"`holder['held']` of {_TEST}",
    class_of_meta: f"`holder.held` of {_TEST}",
    proxy: f"`holder` of {_TEST}, a list of 2",
    unfinished_parameter: "the variable `held` of the Parameter ''",
    unfinished_tensor: f"`holder` of {_TEST}, a list of 3",
    of_function: f"the variable `x`, in the closure of `of_function.<locals>.function`, in the variable `holder` of {_TEST}",
}
"""What makes each object, and what is said of the tensor that it holds."""


@pytest.mark.parametrize("made", WAYS)
def test_the_memory_of_objects_that_must_not_be_touched(made: Any) -> None:
    ops.ones((64, 64))  # what the operator keeps for later calls is made here
    touched.clear()
    with watch.memory() as found:
        holder = made(ops.ones((64, 64)))
        row, = found.held
    assert touched == []
    assert re.sub(r" \(\w+\.py:\d+\)", "", row.keeper) == WAYS[made]
    del holder


def test_a_module_that_is_loaded_late_stays_unloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loaded_late.py").write_text("raise RuntimeError('loaded')\n")
    spec = importlib.util.spec_from_file_location("loaded_late", tmp_path / "loaded_late.py")
    assert spec is not None and spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "loaded_late", module)
    monkeypatch.setitem(sys.modules, "lazy", lazy_module(ops.zeros((2,))))
    touched.clear()
    with watch.memory() as found:
        x = ops.ones((64, 64))
        assert "`x`" in found.held[0].keeper
    assert touched == [] and x.shape == (64, 64)
    with pytest.raises(RuntimeError, match="loaded"):  # it was not loaded before
        _ = module.anything


def test_a_name_that_is_no_text_and_a_namespace_of_the_programs() -> None:
    class Names(dict[Any, Any]):
        items = ran("items")

    def rows() -> None:
        with watch.memory() as found:
            kept.append(ops.ones((64, 64)))
            keepers.append(found.held[0].keeper)

    kept, keepers = list[Tensor](), list[str]()
    touched.clear()
    names: Any = {"rows": rows, 3: "no name", "__name__": "made"}
    exec("rows()", names, Names())
    assert touched == [] and len(keepers) == 1


@pytest.mark.parametrize("wrap", [lambda function: function, ms.jit], ids=["eager", "graph"])
def test_the_holder_of_an_operand_among_such_objects(wrap: Any) -> None:
    kept = [made(ops.ones((2,))) for made in WAYS]
    x = Tensor(np.array([1.0, np.nan], np.float32))
    touched.clear()
    with pytest.raises(Exception, match=re.escape("nan") + "|NaN|not finite"), watch.check_finite():
        wrap(lambda y: ops.log(y) * 2)(x)
    assert touched == [] and len(kept) == len(WAYS)
