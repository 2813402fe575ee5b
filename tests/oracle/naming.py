"""Small programs that say what parameters are called: run by MindSpore when they are recorded, by adjoint when they are tested.

Each returns names, or whatever else it is about. `cells.l` of a program is a container that is the attribute `l` of a cell.
"""

# pyright: reportMissingImports=false

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import mindspore as ms
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

PROGRAMS: dict[str, Callable[[], Any]] = {}
GENERATED = "Parameter#"


def program(make: Callable[[], Any]) -> Callable[[], Any]:
    PROGRAMS[make.__name__] = make
    return make


class Linear(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.linear1 = nn.Dense(2, 2, has_bias=False)

    def construct(self, x: Tensor) -> Tensor:
        return self.linear1(x)


class Scale(nn.Cell):
    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]), name=name)

    def construct(self, x: Tensor) -> Tensor:
        return x * self.w


class Twice(nn.Cell):
    """Two parameters called `x`, or one that stands in both places."""

    def __init__(self, shared: bool = False) -> None:
        super().__init__()
        self.a = Parameter(Tensor([1.0, 1.0]), name="x")
        self.b = self.a if shared else Parameter(Tensor([2.0, 2.0]), name="x")

    def construct(self, x: Tensor) -> Tensor:
        return x * self.a + self.b


class Bare(nn.Cell):
    """Its cells name their parameters themselves."""

    def __init__(self) -> None:
        super().__init__(auto_prefix=False)
        self.left, self.right = Scale("w"), Scale("w")

    def construct(self, x: Tensor) -> Tensor:
        return self.left(x) + self.right(x)


class Listed(nn.Cell):
    """Parameters of cells in a list are none of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.scales = [Scale("w"), Scale("w")]

    def construct(self, x: Tensor) -> Tensor:
        return self.scales[0](x) + self.scales[1](x)


class TwoTuples(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first = ParameterTuple(Scale("w").get_parameters())
        self.second = ParameterTuple(Scale("w").get_parameters())

    def construct(self, x: Tensor) -> Tensor:
        return x + self.first[0] + self.second[0]


def names(cell: Any) -> list[str]:
    return [parameter.name for parameter in cell.get_parameters()]


def paths(cell: Any) -> list[str]:
    return [path for path, _ in cell.parameters_and_names()]


def holding(container: Any) -> Any:
    cells = nn.Cell()
    cells.l = container
    return cells


def linears(count: int) -> list[Any]:
    return [Linear() for _ in range(count)]


def ones() -> Tensor:
    return Tensor([1.0, 1.0])


# -- containers ---------------------------------------------------------------------------------------------------------
@program
def appended_to_an_empty_list() -> Any:
    cells = holding(nn.CellList())
    cells.l.append(Linear())
    cells.l.append(Linear())
    return names(cells), paths(cells)


@program
def appended_to_a_list() -> Any:
    cells = holding(nn.CellList(linears(1)))
    cells.l.append(Linear())
    return names(cells), paths(cells)


@program
def appended_before_and_after() -> Any:
    container = nn.CellList()
    container.append(Linear())
    cells = holding(container)
    cells.l.append(Linear())
    return names(cells)


@program
def appended_behind_cells_without_parameters() -> Any:
    cells = holding(nn.CellList([nn.ReLU()]))
    cells.l.append(Linear())
    cells.l.append(nn.ReLU())
    cells.l.append(Linear())
    return names(cells)


@program
def appended_with_a_name() -> Any:
    cells = holding(nn.CellList())
    cells.l.append(Scale("named"))
    return names(cells)


@program
def appended_twice() -> Any:
    one = Linear()
    cells = holding(nn.CellList([one]))
    cells.l.append(one)
    return names(cells), paths(cells)


@program
def appended_without_prefix() -> Any:
    cells = holding(nn.CellList(linears(1), auto_prefix=False))
    cells.l.append(Linear())
    return names(cells)


@program
def appended_to_a_nested_list() -> Any:
    cells = holding(nn.CellList([nn.CellList(linears(1))]))
    cells.l[0].append(Linear())
    cells.l.append(nn.CellList(linears(1)))
    return names(cells), paths(cells)


@program
def inserted() -> Any:
    cells = holding(nn.CellList(linears(2)))
    cells.l.insert(0, Linear())
    cells.l.insert(-1, Linear())
    return names(cells), paths(cells)


@program
def inserted_into_an_empty_list() -> Any:
    cells = holding(nn.CellList())
    for place in (0, 0, 2):
        cells.l.insert(place, Linear())
    return names(cells)


@program
def extended() -> Any:
    cells, more = holding(nn.CellList()), holding(nn.CellList(linears(1)))
    cells.l.extend(linears(2))
    more.l += linears(2)
    return names(cells), names(more)


@program
def replaced() -> Any:
    cells, only = holding(nn.CellList(linears(3))), holding(nn.CellList(linears(1)))
    cells.l[1] = Linear()
    only.l[0] = Linear()
    return names(cells), names(only)


@program
def deleted() -> Any:
    first, several = holding(nn.CellList(linears(3))), holding(nn.CellList(linears(3)))
    del first.l[0]
    del several.l[:2]
    return names(first), paths(first), names(several)


@program
def a_part_of_a_list() -> Any:
    cells = holding(nn.CellList(linears(3)))
    cells.part = cells.l[1:]
    return names(cells), paths(cells)


@program
def a_part_alone_renames() -> Any:
    cells = holding(nn.CellList(linears(3)))
    cells.l[1:]
    return names(cells)


@program
def a_sequence() -> Any:
    given, empty = holding(nn.SequentialCell(*linears(2))), holding(nn.SequentialCell())
    given.l.append(Linear())
    empty.l.append(Linear())
    return names(given), names(empty)


@program
def a_sequence_changed() -> Any:
    cells = holding(nn.SequentialCell(linears(3)))
    cells.l[1] = Linear()
    del cells.l[0]
    cells.part = cells.l[1:]
    return names(cells), paths(cells)


@program
def a_sequence_of_names() -> Any:
    cells = holding(nn.SequentialCell(OrderedDict([("a", Linear()), ("b", Linear()), ("c", Linear())])))
    cells.l.append(Linear())
    before = names(cells)
    del cells.l[0]
    return before, names(cells)[:2]


@program
def empty_containers_are_false() -> Any:
    return bool(nn.SequentialCell()), bool(nn.CellList()), bool(nn.SequentialCell(nn.ReLU())), bool(nn.CellList([nn.ReLU()]))


@program
def set_grad_of_containers() -> Any:
    cells = nn.SequentialCell(Scale(), nn.CellList([Scale()]))
    cells.set_grad()
    return [cell.requires_grad for cell in (cells, cells[0], cells[1], cells[1][0])]


# -- cells --------------------------------------------------------------------------------------------------------------
@program
def a_cell_added_to_a_cell_that_is_one_already() -> Any:
    cells = holding(Linear())
    cells.l.extra = Linear()
    return names(cells), paths(cells)


@program
def an_inserted_cell_keeps_its_names() -> Any:
    cells = nn.Cell()
    cells.insert_child_to_cell("b", Linear())
    return names(cells), paths(cells)


@program
def an_inserted_parameter() -> Any:
    cells = nn.Cell()
    cells.insert_param_to_cell("a", Parameter(ones()))
    cells.insert_param_to_cell("b", Parameter(ones(), name="named"))
    return names(cells)


@program
def state_of_an_optimizer() -> Any:
    cells = holding(nn.CellList())
    cells.l.append(Linear())
    return names(nn.Momentum(cells.trainable_params(), 0.1, 0.9))


# -- names of parameters ------------------------------------------------------------------------------------------------
@program
def nameless_parameters() -> Any:
    """They count up, and no two are called alike."""
    made = [Parameter(ones()), Parameter(ones(), name=""), *ParameterTuple([Parameter(ones()), Parameter(ones())])]
    assert all(parameter.name.startswith(GENERATED) for parameter in made)
    numbers = [int(parameter.name[len(GENERATED) :]) for parameter in made]
    return [number - numbers[0] for number in numbers]


@program
def names_that_are_set() -> Any:
    parameter = Parameter(ones(), name=" a ")
    first = parameter.name
    parameter.name = None
    return first, parameter.name.startswith(GENERATED), len(Parameter(ones(), name="a" * 1024).name)


@program
def nameless_parameters_of_tuples() -> Any:
    cells = nn.Cell()
    cells.w = Parameter(ones())
    cells.first = ParameterTuple([Parameter(ones()), Parameter(ones(), name="named")])
    cells.second = ParameterTuple([Parameter(ones()), Parameter(ones())])
    return names(cells), paths(cells)


@program
def parameters_of_a_list() -> Any:
    cells = nn.Cell()
    cells.some = [Parameter(ones()), Parameter(ones(), name="named")]
    return names(cells), cells.some[0].name.startswith(GENERATED), cells.some[1].name


@program
def a_name_that_is_a_number() -> Any:
    return Parameter(ones(), name=3)


@program
def requires_grad_is_a_bool() -> Any:
    return Parameter(ones(), requires_grad=1)


@program
def requires_grad_is_set_to_a_bool() -> Any:
    Parameter(ones()).requires_grad = None  # pyright: ignore[reportAttributeAccessIssue]


# -- two of one name ----------------------------------------------------------------------------------------------------
@program
def two_of_one_name_in_a_tuple() -> Any:
    return ParameterTuple([Parameter(ones(), name="a"), Parameter(ones(), name="a")])


@program
def one_twice_in_a_tuple() -> Any:
    one = Parameter(ones(), name="a")
    return len(ParameterTuple([one, one]))


def _called(cell: Any, mode: Any) -> Any:
    ms.set_context(mode=mode)
    try:
        return cell(ones()).asnumpy().tolist(), names(cell)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


@program
def two_of_one_name_before_the_call() -> Any:
    return names(Twice()), names(Bare())


@program
def two_of_one_name_called() -> Any:
    return _called(Twice(), ms.PYNATIVE_MODE), _called(Bare(), ms.PYNATIVE_MODE)


@program
def two_of_one_name_called_as_graphs() -> Any:
    return _called(Twice(), ms.GRAPH_MODE), _called(Bare(), ms.GRAPH_MODE)


@program
def two_of_one_name_in_an_optimizer() -> Any:
    return nn.SGD(Twice().trainable_params())


@program
def two_of_one_name_checked() -> Any:
    return Twice().check_names()


@program
def two_of_one_name_refreshed() -> Any:
    cell = Twice()
    cell.check_names_and_refresh_name()
    return names(cell)


@program
def two_of_one_name_in_a_file_after_the_call() -> Any:
    cell = Twice()
    cell(ones())
    ms.save_checkpoint(cell, "two.ckpt")
    return {name: value.asnumpy().tolist() for name, value in ms.load_checkpoint("two.ckpt").items()}


@program
def one_in_two_places() -> Any:
    return _called(Twice(shared=True), ms.PYNATIVE_MODE), _called(Twice(shared=True), ms.GRAPH_MODE)


def _under_jit(cell: Any) -> Any:
    @ms.jit
    def function(x: Tensor) -> Tensor:
        return cell(x)

    return function(ones()).asnumpy().tolist()


@program
def two_of_one_name_under_jit() -> Any:
    return _under_jit(Twice())


@program
def two_of_one_name_under_jit_after_a_call() -> Any:
    cell = Twice()
    cell(ones())
    return _under_jit(cell)


@program
def one_in_two_places_under_jit() -> Any:
    return _under_jit(Twice(shared=True))


@program
def two_of_one_name_in_cells_of_a_list() -> Any:
    return _called(Listed(), ms.PYNATIVE_MODE)


@program
def two_of_one_name_in_cells_of_a_list_as_a_graph() -> Any:
    return _called(Listed(), ms.GRAPH_MODE)


@program
def two_tuples_with_one_name() -> Any:
    return TwoTuples()(ones()).asnumpy().tolist()


@program
def two_tuples_with_one_name_as_a_graph() -> Any:
    return _called(TwoTuples(), ms.GRAPH_MODE)


first, second = Parameter(Tensor([1.0, 1.0]), name="g"), Parameter(Tensor([2.0, 2.0]), name="g")


@program
def two_of_one_name_that_are_global() -> Any:
    @ms.jit
    def function(x: Tensor) -> Tensor:
        return x * first + second

    return function(ones())


@program
def two_nameless_that_are_global() -> Any:
    a, b = Parameter(ones()), Parameter(ones())

    @ms.jit
    def function(x: Tensor) -> Tensor:
        return ops.add(x * a, b)

    return function(ones()).asnumpy().tolist()
