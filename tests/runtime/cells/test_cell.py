"""Cells: attributes, names, trees, modes, copies."""

from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, ParameterTuple, Tensor, nn

REPR = json.loads((Path(__file__).parents[2] / "oracle" / "repr.json").read_text(encoding="utf-8"))


class Block(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(2, 2)
        self.act = nn.ReLU()
        self.w = Parameter(Tensor([1.0]), name="w")

    def construct(self, x: Tensor) -> Tensor:
        return self.act(self.dense(x)) * self.w


class Tree(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.blocks = nn.CellList([Block(), Block()])
        self.head = nn.SequentialCell(nn.Flatten(), nn.Dense(2, 1))

    def construct(self, x: Tensor) -> Tensor:
        return self.head(self.blocks[1](self.blocks[0](x)))


BLOCK = ["w", "dense.weight", "dense.bias"]
TREE = ["conv.weight", *(f"blocks.{i}.{n}" for i in range(2) for n in BLOCK), "head.1.weight", "head.1.bias"]


def names(cell: nn.Cell) -> list[str]:
    return [p.name for p in cell.get_parameters()]


# -- names and trees ----------------------------------------------------------------------------------------------------
def test_names_of_parameters() -> None:
    net = Tree()
    assert names(net) == [path for path, _ in net.parameters_and_names()] == TREE
    assert [path for path, _ in net.parameters_and_names("net")] == [f"net.{n}" for n in TREE]
    assert [path for path, _ in Block().parameters_and_names(expand=False)] == ["w"]
    assert list(net.parameters_dict()) == TREE and net.parameters_dict()["conv.weight"] is net.conv.weight
    assert len(list(net.get_parameters(expand=False))) == 0


def test_names_of_cells() -> None:
    net = Tree()
    assert [path for path, _ in net.cells_and_names()] == [
        "", "conv", "blocks", "blocks.0", "blocks.0.dense", "blocks.0.act", "blocks.1", "blocks.1.dense", "blocks.1.act", "head",
            "head.0", "head.1"]
    assert [path for path, _ in net.cells_and_names(None, "top")][:2] == ["top", "top.conv"]
    assert list(net.name_cells()) == ["conv", "blocks", "head"] and list(net.cells()) == [net.conv, net.blocks, net.head]
    assert net.cls_name == "Tree" and net.conv.cls_name == "Conv2d"
    assert net.param_prefix == "" and net.blocks[0].dense.param_prefix == "blocks.0.dense"


def test_parameters_of_a_tuple_are_the_cells() -> None:
    """With their own names and gradients; one that is also elsewhere is listed once."""
    class Scaled(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scales = ParameterTuple([Parameter(Tensor([2.0]), name="first"), Parameter(Tensor([3.0]), name="second")])
            self.dense = nn.Dense(1, 1, "ones", "zeros")
            self.again = ParameterTuple(self.dense.trainable_params())

        def construct(self, x: Tensor) -> Tensor:
            return self.dense(x * self.scales[0] * self.scales[1])

    net = Scaled()
    assert [name for name, _ in net.parameters_and_names()] == ["first", "second", "dense.weight", "dense.bias"]
    assert [p.name for p in net.trainable_params()] == ["first", "second", "dense.weight", "dense.bias"]
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        try:
            found = ms.grad(net, None, ParameterTuple(net.trainable_params()))(Tensor([[1.0]]))
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
        assert [g.tolist() for g in found] == [[3.0], [2.0], [[6.0]], [1.0]]
    other = copy.deepcopy(net)
    assert [p.name for p in other.get_parameters()] == [p.name for p in net.get_parameters()]
    assert other.scales[0] is next(other.get_parameters()) and other.scales[0] is not net.scales[0]
    nameless = nn.Cell()
    nameless.ones = ParameterTuple([Parameter(Tensor([1.0]))])
    assert [p.name for p in nameless.get_parameters()] == ["Parameter$1"]


def test_without_prefixes() -> None:
    class Plain(nn.Cell):
        def __init__(self, auto_prefix: Any) -> None:
            super().__init__(auto_prefix)
            self.first = nn.Dense(1, 1)

    assert names(Plain(False)) == ["weight", "bias"]
    assert [path for path, _ in Plain(False).parameters_and_names()] == ["first.weight", "first.bias"]
    assert names(Plain({})) == ["weight", "bias"]
    for value in (3, True, "hidden", {"hidden": 3}, object()):  # a program hands on the configuration that its own `__init__` takes
        assert names(Plain(value)) == ["first.weight", "first.bias"]


def test_a_default_name_is_the_attributes() -> None:
    cell = nn.Cell()
    cell.scale = Parameter(Tensor(1.0))
    cell.other = Parameter(Tensor(1.0), name="named")
    assert names(cell) == ["scale", "named"]


def test_update_parameters_name() -> None:
    net = Block()
    net.update_parameters_name("old.")
    assert names(net) == [f"old.{n}" for n in BLOCK]
    net.update_parameters_name("new.", recurse=False)
    assert names(net) == ["new.w", "old.dense.weight", "old.dense.bias"]


def test_a_cell_in_two_places() -> None:
    """It is listed once, at the first place; its parameters have the last name, as in MindSpore."""
    net = nn.Cell()
    net.first = nn.Dense(1, 1)
    net.again = net.first
    assert [path for path, _ in net.cells_and_names()] == ["", "first"]
    assert [path for path, _ in net.parameters_and_names()] == ["first.weight", "first.bias"]
    assert names(net) == ["again.weight", "again.bias"] and len(list(net.cells())) == 1


def test_a_parameter_in_two_cells() -> None:
    a, b = nn.Dense(2, 2), nn.Dense(2, 2)
    b.weight = a.weight
    net = nn.SequentialCell(a, b)
    assert len(list(net.get_parameters())) == 3
    gradient = ms.grad(lambda x: net(x).sum(), None, a.weight)
    assert gradient(Tensor([[1.0, 2.0]])).shape == (2, 2)


def test_a_cell_added_late() -> None:
    """It knows its place; its parameters are named only after its attribute, as in MindSpore."""
    net = Tree()
    net.blocks[0].extra = nn.Dense(1, 1)
    assert net.blocks[0].extra.title == "blocks.0.extra" and net.blocks[0].extra.bias.name == "extra.bias"


def test_trainable_parameters() -> None:
    net = Block()
    net.w.requires_grad = False
    assert [p.name for p in net.trainable_params()] == BLOCK[1:] and [p.name for p in net.untrainable_params()] == ["w"]


# -- attributes ---------------------------------------------------------------------------------------------------------
def test_attributes() -> None:
    net = Block()
    w = net.w
    net.w = Tensor([5.0])
    assert net.w is w and w.tolist() == [5.0]
    net.w = Parameter(Tensor([6.0]), name="w")
    assert net.w is not w and names(net) == BLOCK
    net.act = nn.Tanh()
    assert [type(c).__name__ for c in net.cells()] == ["Dense", "Tanh"]
    net.w = None
    assert names(net) == BLOCK[1:] and net.w is None
    del net.dense
    assert names(net) == [] and not hasattr(net, "dense")
    net.act = None
    assert list(net.cells()) == []
    net.rate = 3
    net.rate = Tensor([1.0])
    assert net.rate.tolist() == [1.0] and names(net) == []


@pytest.mark.parametrize(("name", "value", "kind"), [
    ("w", 3, TypeError), ("w", nn.ReLU(), KeyError), ("dense", 3, TypeError), ("dense", Tensor([1.0]), TypeError),
    ("dense", Parameter(Tensor([1.0]), name="p"), KeyError),
])
def test_what_an_attribute_cannot_become(name: str, value: Any, kind: type[Exception]) -> None:
    net = Block()
    before = getattr(net, name)
    with pytest.raises(kind, match=name):
        setattr(net, name, value)
    assert getattr(net, name) is before and names(net) == BLOCK


def test_before_init() -> None:
    class Early(nn.Cell):
        def __init__(self) -> None:
            self.dense = nn.Dense(1, 1)

    class Bare(nn.Cell):
        def __init__(self) -> None:
            pass

    with pytest.raises(AttributeError, match=r"super\(\).__init__\(\).*Early"):
        Early()
    with pytest.raises(AttributeError, match=r"super\(\).__init__\(\).*Bare"):
        Bare()(Tensor([1.0]))
    with pytest.raises(AttributeError, match="'Block' object has no attribute 'wrong'"):
        Block().wrong  # noqa: B018


def test_insertion() -> None:
    net = Block()
    net.insert_child_to_cell("more", nn.Dense(1, 1))
    net.insert_param_to_cell("scale", Parameter(Tensor([1.0])))
    net.insert_child_to_cell("later", None)
    assert net.later is None and "later" not in net.name_cells()
    assert net.more is net.name_cells()["more"] and names(net) == [*BLOCK[:1], "scale", *BLOCK[1:], "weight", "bias"]
    net.insert_param_to_cell("a.b", Parameter(Tensor([1.0])), check_name_contain_dot=False)
    for call, kind in (
        (lambda: net.insert_child_to_cell("dense", nn.ReLU()), KeyError), (lambda: net.insert_child_to_cell("a.b", nn.ReLU()), KeyError),
        (lambda: net.insert_child_to_cell("x", 3), TypeError), (lambda: net.insert_child_to_cell(3, nn.ReLU()), TypeError),
        (lambda: net.insert_child_to_cell("construct", nn.ReLU()), KeyError), (lambda: net.insert_child_to_cell("", nn.ReLU()), KeyError),
        (lambda: net.insert_param_to_cell("x", 3), TypeError), (lambda: net.insert_param_to_cell("a.c", net.w), KeyError),
        (lambda: net.insert_param_to_cell("dense", net.w), KeyError), (lambda: net.insert_param_to_cell(3, net.w), TypeError),
    ):
        with pytest.raises(kind, match="insert_"):
            call()


# -- modes --------------------------------------------------------------------------------------------------------------
def test_modes() -> None:
    net = Tree()
    assert not net.training and net.set_train() is net
    assert all(cell.training for _, cell in net.cells_and_names())
    net.blocks.set_train(False)
    assert net.training and not net.blocks[0].dense.training and net.head[1].training
    assert net.set_grad(False) is net and net.add_flags(fast=True).fast
    assert nn.Cell(flags={"slow": 1}).slow == 1


def test_apply() -> None:
    """It visits every cell once, inner ones first."""
    net, seen = Tree(), []
    assert net.apply(lambda cell: seen.append(type(cell).__name__)) is net
    assert seen[-1] == "Tree" and seen[0] == "Conv2d" and len(seen) == 12 and seen.index("Dense") < seen.index("Block")


def test_calls() -> None:
    class Swapped(nn.Cell):
        def construct(self, a: Any, *, b: Any = 2) -> Any:
            return {"b": b, "a": a}

    assert Swapped()(1, b=3) == {"b": 3, "a": 1} and Swapped()(1) == {"b": 2, "a": 1}
    with pytest.raises(AttributeError, match="construct"):
        nn.Cell()(1)
    with pytest.raises(TypeError, match="construct"):
        Block()()


# -- texts, copies ------------------------------------------------------------------------------------------------------
def test_the_text_of_a_tree() -> None:
    wanted = re.sub(r"<mindspore\S+ object at 0x>", "None", REPR["tree"]["repr of Tree()"])
    assert repr(Tree()) == wanted


def test_texts_of_ones_own() -> None:
    class Scaled(nn.Cell):
        def extend_repr(self) -> str:
            return "scale=2"

    cell = Scaled()
    assert repr(cell) == "Scaled(scale=2)"
    cell.inner = nn.ReLU()
    assert repr(cell) == "Scaled(\n  scale=2\n  (inner): ReLU()\n)"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda cell: pickle.loads(pickle.dumps(cell))], ids=["deepcopy", "pickle"])
def test_copies(copied: Any) -> None:
    net = Tree()
    other = copied(net)
    assert names(other) == TREE and other.blocks[0].dense is other.blocks[0].name_cells()["dense"]
    assert other.head[1].weight is other.parameters_dict()["head.1.weight"] and other.blocks[0].dense.param_prefix == "blocks.0.dense"
    x = Tensor([[1.0, 2.0]])
    assert other(x).tolist() == net(x).tolist()
    for p in other.get_parameters():
        p.set_data(p * 0)
    assert other(x).tolist() == [[0.0]] and net.head[1].weight.tolist() != [[0.0, 0.0]]


def test_a_copy_keeps_what_is_shared() -> None:
    net = nn.Cell()
    net.first = nn.Dense(1, 1)
    net.again = net.first
    other = copy.deepcopy(net)
    assert other.first is other.again and other.first is not net.first


def test_cells_are_keys() -> None:
    a, b = nn.ReLU(), nn.ReLU()
    assert len({a, b, a}) == 2 and a != b and a == a


# -- names that stand for two -------------------------------------------------------------------------------------------
def test_a_name_used_twice() -> None:
    """The manual's error, from a ParameterTuple and from an optimiser; the same parameter given twice is not an error."""
    a, b = Parameter(Tensor([1.0]), name="w"), Parameter(Tensor([1.0]), name="w")
    for make in (lambda: ParameterTuple([a, b]), lambda: nn.SGD([a, b]), lambda: nn.Adam([{"params": [a]}, {"params": [b]}])):
        with pytest.raises(ValueError, match=r"'w' already exists.*unique name"):
            make()
    assert len(ParameterTuple([a, a])) == 2
    b.name = "other"
    assert [p.name for p in ParameterTuple(iter([a, b]))] == ["w", "other"]
    assert len(nn.SGD([a, b]).parameters) == 2


def test_a_cell_is_found_by_its_path() -> None:
    """As in MindSpore 2.10.0, where all mistakes are an AttributeError."""
    inner = nn.Dense(2, 2)
    net = nn.SequentialCell(nn.SequentialCell(inner, nn.ReLU()))
    assert net.get_sub_cell("0.0") is inner and net.get_sub_cell("0") is net[0] and net.get_sub_cell("") is net
    for path, said in (("1", "'1' of SequentialCell is absent"), ("0.0.weight", "'weight' of Dense is no Cell"), (3, "must be a str")):
        with pytest.raises(AttributeError, match=said):
            net.get_sub_cell(path)  # type: ignore[arg-type]
