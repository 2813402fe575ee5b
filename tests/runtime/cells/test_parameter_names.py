"""Names of parameters, and the handling of two with the same name, as in MindSpore (tests/oracle/naming.py); no parameter is ever lost."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import adjoint as ms
from adjoint import Parameter, ParameterTuple, Tensor, nn

FOLDERS = [str(Path(__file__).parents[2] / name) for name in ("ops", "oracle")]
sys.path[:0] = FOLDERS
asked, naming = importlib.import_module("asked"), importlib.import_module("naming")
del sys.path[: len(FOLDERS)]

ANSWERS = asked.recorded("naming")["answers"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


ALLOWED = {"two_of_one_name_that_are_global": [3.0, 3.0]}
"""What MindSpore's graphs refuse and ours compute, as eager mode does: Parameters of one name that are not of one net."""


@pytest.mark.parametrize("name", naming.PROGRAMS)
def test_names_are_mindspores(name: str) -> None:
    """The results; for an exception the type, and its message from `its name` on."""
    wanted = ANSWERS[name]
    if name in ALLOWED:
        assert naming.PROGRAMS[name]().tolist() == ALLOWED[name]
    elif isinstance(wanted, dict) and "error" in wanted:
        with pytest.raises(Exception) as caught:
            naming.PROGRAMS[name]()
        assert wanted["error"] in [kind.__name__ for kind in type(caught.value).__mro__], repr(caught.value)
        _, quoted, text = wanted["text"].partition("its name ")
        assert quoted + text in str(caught.value)
    else:
        assert asked.agree(wanted, asked.answers.encoded(naming.PROGRAMS[name]()))


def test_every_answer_is_asked_for() -> None:
    assert ANSWERS.keys() == naming.PROGRAMS.keys()


# -- no parameter is lost by its name -----------------------------------------------------------------------------------
def two_tuples() -> nn.Cell:
    cell = nn.Cell()
    for name, value in (("first", 1.0), ("second", 2.0)):
        setattr(cell, name, ParameterTuple([Parameter(Tensor([value]), name="w")]))
    return cell


@pytest.mark.parametrize(("make", "places"), [(naming.Twice, "'a' and 'b'"), (naming.Bare, "'left.w' and 'right.w'"),
                                              (two_tuples, r"'w' and 'second\[0\]'")])
def test_names_cannot_stand_for_two(make: Any, places: str) -> None:
    """If a dict or a file would keep only one of the two, an error names both places and a way out."""
    cell = make()
    text = f"two Parameters have one name, {places}.*Please set a unique name"
    with pytest.raises(RuntimeError, match=f"'parameters_dict', {text}"):
        cell.parameters_dict()
    with pytest.raises(RuntimeError, match=f"'save_checkpoint', {text}"):
        ms.save_checkpoint(cell, "lost.ckpt")
    assert not Path("lost.ckpt").exists()
    with pytest.raises(RuntimeError, match=f"'load_param_into_net', {text}"):
        ms.load_param_into_net(cell, {"w": Parameter(Tensor([5.0, 5.0]), name="w")})


def test_the_way_out() -> None:
    cell = naming.Twice()
    cell.check_names_and_refresh_name()
    assert {name: p.tolist() for name, p in cell.parameters_dict().items()} == {"a": [1.0, 1.0], "b": [2.0, 2.0]}


def test_tuples_with_one_name_are_both_the_cells() -> None:
    """They keep their names, which belong to other nets; an optimiser rejects them."""
    cell = two_tuples()
    assert [(path, p.name, p.tolist()) for path, p in cell.parameters_and_names()] == [("w", "w", [1.0]), ("second[0]", "w", [2.0])]
    with pytest.raises(ValueError, match="its name 'w' already exists"):
        cell.check_names_and_refresh_name()
    with pytest.raises(ValueError, match="its name 'w' already exists"):
        nn.SGD(cell.trainable_params())
    assert [p.name for p in nn.SequentialCell(cell).get_parameters()] == ["0.w", "w"]


def test_a_file_holds_a_name_once() -> None:
    """An entry of `append_dict` replaces a Parameter of that name, as in MindSpore."""
    with pytest.raises(ValueError, match=r"'save_checkpoint'.*'a'"):
        ms.save_checkpoint([{"name": "a", "data": Tensor([1.0])}, {"name": "a", "data": Tensor([2.0])}], "twice.ckpt")
    assert not Path("twice.ckpt").exists()
    ms.save_checkpoint({"a": Tensor([1.0]), "b": Tensor([2.0])}, "once.ckpt", append_dict={"a": 3})
    assert [(name, value.tolist()) for name, value in ms.load_checkpoint("once.ckpt").items()] == [("a", 3), ("b", [2.0])]


def test_the_mistake_in_a_graph_names_the_line() -> None:
    cell = naming.Twice()

    @ms.jit
    def function(x: Tensor) -> Tensor:
        return cell(x)

    with pytest.raises(RuntimeError, match=r"E216[\s\S]*naming\.py[\s\S]*x \* self\.a \+ self\.b[\s\S]*its name 'x' already exists"):
        function(Tensor([1.0, 1.0]))
    cell.b.name = "other"
    assert function(Tensor([1.0, 1.0])).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_two_nets_may_have_one_name_for_their_parameters(mode: int) -> None:
    ms.set_context(mode=mode)
    first, second = nn.Dense(2, 2, "ones", "zeros"), nn.Dense(2, 2, "ones", "ones")
    function = ms.jit(lambda x: second(first(x)))
    assert function(Tensor([[1.0, 2.0]])).tolist() == second(first(Tensor([[1.0, 2.0]]))).tolist() == [[7.0, 7.0]]
    weights = [first.weight, second.weight]
    gradients = ms.grad(function, None, weights)(Tensor([[1.0, 2.0]]))
    assert [g.tolist() for g in gradients] == [[[2.0, 4.0], [2.0, 4.0]], [[3.0, 3.0], [3.0, 3.0]]]


# -- moved cells --------------------------------------------------------------------------------------------------------
def test_a_part_of_a_sequence_can_grow() -> None:
    """It keeps its keys; a cell that is added gets a free one."""
    part = nn.SequentialCell([nn.ReLU(), nn.Tanh(), nn.Sigmoid()])[1:]
    assert list(part.name_cells()) == ["1", "2"]
    part.append(nn.ELU())
    assert [type(cell).__name__ for cell in part] == ["Tanh", "Sigmoid", "ELU"] and list(part.name_cells()) == ["1", "2", "3"]


def test_a_graph_sees_cells_go() -> None:
    """Including the last one."""
    net = nn.SequentialCell(nn.Dense(1, 1, "ones", "ones"))
    function = ms.jit(lambda x: net(x))
    assert function(Tensor([[1.0]])).tolist() == [[2.0]]
    del net[0]
    assert function(Tensor([[1.0]])).tolist() == [[1.0]]
    net.append(nn.Dense(1, 1, "ones", "zeros"))
    assert function(Tensor([[3.0]])).tolist() == [[3.0]]
