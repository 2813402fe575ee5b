"""Statistics of parameters, outputs of cells and gradients, while a network trains.

While a block is open, each cell has another `construct`, which in sampled steps adds the op `statistics` of its output, and a write of the
result to a tensor of its own.  Gradients of parameters are followed where they are taken (`gradient_followers`).  In eager mode the ops
run.  In a function that is made into a graph they are nodes of it, and the C call that runs the graph computes them beside the values.
A graph depends on whether the step is sampled.  It has one form for sampled steps and one for the others, each made once, and the switch
between them leaves the guards valid (`Epoch.switch`).

A step ends when the optimisers of the network have taken theirs, which they announce (`training.stepped`), also from graphs.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from types import MethodType
from typing import Any, ClassVar, NamedTuple, Protocol, Self, cast

import numpy as np

from adjoint.foundation.diagnostics import At, user_place
from adjoint.foundation.locking import Lock
from adjoint.ir.op import made
from adjoint.ir.ops.statistics import Statistics
from adjoint.ir.types import F32, F64, TensorType
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.gradients.grad import gradient_followers
from adjoint.runtime.gradients.no_grad import no_grad
from adjoint.runtime.inspection.training import optimizers_of, step_followers, trains
from adjoint.runtime.memory.finite_results import checked, finite_ok
from adjoint.runtime.memory.machine import ffi, machine
from adjoint.runtime.memory.op_plans import plan_for
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.process.location import user_location
from adjoint.runtime.process.tracer import emitter
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor, apply, wrap

__all__ = ["StatisticsRow", "Sink", "TrainingStatistics"]

_WIDE = (F32, F64)
"""The dtypes that the op takes."""

_NOT_COMPUTED = -1.0
"""The norm in the tensor of statistics that have not been computed in this step."""

class StatisticsRow(NamedTuple):
    """Statistics of one tensor in one training step.

    step       the number of the step, from 1
    kind       "parameter", "output" (of a cell) or "gradient" (of a parameter)
    name       the name of the parameter, or the path of the cell
    norm       the Euclidean norm; as the next three of the numbers that are finite, NaN if there are none
    mean       the mean
    deviation  the standard deviation
    largest    the largest magnitude
    zeros      the share of zeros
    not_finite the share of numbers that are NaN or infinite
    update     of a parameter the norm of its change in this step, divided by its norm before; of others NaN
    place      the line that calls the cell, for a parameter or a gradient the cell that has the parameter
    """

    step: int
    kind: str
    name: str
    norm: float
    mean: float
    deviation: float
    largest: float
    zeros: float
    not_finite: float
    update: float = math.nan
    place: At | None = None


class Sink(Protocol):
    """Where rows go."""

    def add(self, rows: Sequence[StatisticsRow]) -> None:
        """Take the rows of a sampled step."""
        ...

    def close(self) -> None:
        """Finish: the last step was taken."""
        ...


class _Sampling:
    """Whether the step of a network that runs is sampled; graphs have a form for each of both.

    There is one for each network, as long as the network exists, so that its graphs serve later blocks as well.

    on          True in a sampled step
    parameters  the statistics of each Parameter, by id
    """

    _count = 0
    _fractions: ClassVar[set[float]] = {2.0**-k for k in range(1, 17)}
    """Fractions for `Epoch.switch` that no open block has."""

    def __init__(self) -> None:
        _Sampling._count += 1
        self.on = False
        self.parameters: dict[int, _OfParameter] = {}
        self._fraction: float | None = None
        self._setting = f"statistics of network {_Sampling._count}", lambda _: self.on

    @classmethod
    def of(cls, net: Cell) -> _Sampling:
        known = _samplings.get(net)
        if known is None:
            known = _samplings[net] = cls()
        return known

    def is_on(self) -> bool:
        """Return True if the step that runs is sampled; a graph that is being made then depends on it."""
        graph = emitter()
        if graph is not None:
            name, read = self._setting
            graph.read_setting(read, name)
        return self.on

    def begin(self) -> None:
        """Begin a block."""
        with _lock:
            self._fraction = _Sampling._fractions.pop() if _Sampling._fractions else None

    def end(self) -> None:
        self.switch(False)
        with _lock:
            epoch.move()  # its numbers with the fraction do not come again
            if self._fraction is not None:
                _Sampling._fractions.add(self._fraction)

    def switch(self, on: bool) -> None:
        if on is not self.on:
            self.on = on
            if self._fraction is None:
                epoch.move()
            else:
                epoch.switch(on, self._fraction)


_samplings: weakref.WeakKeyDictionary[Cell, _Sampling] = weakref.WeakKeyDictionary()
_lock = Lock()


class _Series:
    """What is computed of one tensor.

    numbers  the tensor that gets the six statistics; its first number is `_NOT_COMPUTED` until then
    place    the line of the program
    """

    def __init__(self, name: str):
        self.numbers = Parameter(Tensor(np.full(6, _NOT_COMPUTED)), name=f"statistics.{name}", requires_grad=False)
        self.place: At | None = None

    def compute(self, x: Any) -> None:
        """Compute the statistics of a tensor of floats, now or in the graph that is being made; do nothing for other objects."""
        if isinstance(x, (tuple, list)):
            x = next((each for each in x if isinstance(each, Tensor)), None)
        if not isinstance(x, Tensor) or not x.dtype.is_float:
            return
        if emitter() is None and x.type.dtype in _WIDE and not checked():
            self.compute_now(x.type, x.memory)
            return
        with no_grad(), finite_ok():
            self.numbers.overwrite(apply(made(Statistics), x if x.dtype in _WIDE else x.astype(F32)))

    def compute_now(self, type_: TensorType, memory: Any) -> None:
        """Compute the statistics of numbers in memory, of a type that the op takes."""
        plan_for(made(Statistics), (type_,)).into([memory], [self.numbers.memory])

    def forget(self) -> None:
        """Mark the statistics as not computed."""
        ffi.cast("double *", self.numbers.memory)[0] = _NOT_COMPUTED

    def taken(self) -> list[float]:
        """Return the statistics; [] if they have not been computed."""
        found = ffi.unpack(ffi.cast("double *", self.numbers.memory), 6)
        return [] if found[0] == _NOT_COMPUTED else found


class _OfCell:
    """The statistics of the output of one cell, and a `construct` that computes them in sampled steps.

    There is one for each cell, as long as the cell exists, so that graphs which depend on the `construct` serve later blocks as well.
    """

    def __init__(self, path: str, cell: Cell, sampling: _Sampling):
        self.series, self._before, self._sampling = _Series(f"output.{path}"), cell.__dict__.get("construct"), sampling
        series, before, reference = self.series, self._before, weakref.ref(cell)

        def watched(*args: Any, **kwargs: Any) -> Any:
            own, graph = reference(), emitter()
            construct = MethodType(cast(Any, type(own)).construct, own) if before is None else before
            output = construct(*args, **kwargs) if graph is None else graph.call(construct, args, kwargs)
            if sampling.is_on():
                series.place = user_place(user_location() if graph is None else graph.loc) or series.place
                series.compute(output)
            return output

        self.construct = watched

    @classmethod
    def of(cls, path: str, cell: Cell, sampling: _Sampling) -> _OfCell:
        """Return that of a cell, for its present `construct`.  RuntimeError if a block that is open watches the cell."""
        known, construct = _of_cells.get(cell), cell.__dict__.get("construct")
        if known is not None and known.construct is construct:
            raise RuntimeError(f"For 'statistics', the cell '{path}' is watched by another block. Give several "
                               "outputs as a list, `to=[...]`, or watch the cell that contains both.")
        if known is None or known._before is not construct or known._sampling is not sampling:
            known = _of_cells[cell] = cls(path, cell, sampling)
        return known

    def begin(self, cell: Cell) -> None:
        cell.construct = self.construct

    def end(self, cell: Cell) -> None:
        """Give the cell its own `construct` back."""
        if self._before is None:
            del cell.construct
        else:
            cell.construct = self._before


_of_cells: weakref.WeakKeyDictionary[Cell, _OfCell] = weakref.WeakKeyDictionary()


class _OfParameter:
    """The statistics of one Parameter, its gradient and its change, and its numbers before the step.

    There is one for each Parameter of a network, as long as it exists, as for cells.
    """

    def __init__(self, parameter: Parameter, known: dict[int, _OfParameter]):
        name, key = parameter.name, id(parameter)
        self.gradient, self.value = _Series(f"gradient.{name}"), _Series(f"value.{name}")
        self.before, self.change = _Series(f"before.{name}"), _Series(f"change.{name}")
        self.copy = wrap(parameter.type, machine().allocate(parameter.type.nbytes))
        self._reference = weakref.ref(parameter, lambda _: known.pop(key, None))

    @classmethod
    def of(cls, parameter: Parameter, sampling: _Sampling) -> _OfParameter:
        """Return that of a Parameter, for its present type."""
        known = sampling.parameters.get(id(parameter))
        if known is None or known.copy.type is not parameter.type:
            known = sampling.parameters[id(parameter)] = cls(parameter, sampling.parameters)
        return known

    def begin(self, parameter: Parameter) -> None:
        self.gradient.forget()
        ffi.memmove(self.copy.memory, parameter.memory, parameter.type.nbytes)

    def compute(self, parameter: Parameter) -> None:
        """Compute the statistics after a step."""
        with no_grad(), finite_ok():
            self.value.compute(parameter)
            self.before.compute(self.copy)
            self.change.compute(parameter - self.copy)


def _row(step: int, kind: str, name: str, numbers: Sequence[float], place: At | None, update: float = math.nan) -> StatisticsRow:
    norm, mean, deviation, largest, zeros, not_finite = numbers
    return StatisticsRow(step, kind, name, norm, mean, deviation, largest, zeros, not_finite, update, place)


class TrainingStatistics:
    """Computes statistics of a network's parameters, outputs and gradients, in every so many steps; a context manager.

    rows    the rows of all sampled steps, oldest first
    latest  those of the last sampled step
    _is_told     True after the first call of `step`: then no step ends by itself
    _has_ended   True once an optimiser has taken a step
    _optimizers  those that are to take a step before the step of the network ends
    _stepped     those of them that have taken it
    """

    def __init__(self, net: Cell, every: int, sinks: Sequence[Sink] = ()):
        self.rows: list[StatisticsRow] = []
        self.latest: list[StatisticsRow] = []
        self._net, self._every, self._sinks, self._taken = net, every, sinks, 0
        self._sampling = _Sampling.of(net)
        self._cells: list[tuple[str, Cell, _OfCell]] = []
        self._parameters: list[tuple[Parameter, _OfParameter]] = []
        self._is_told, self._has_ended = False, False
        self._optimizers, self._stepped = weakref.WeakSet[Any](), weakref.WeakSet[Any]()

    def __enter__(self) -> Self:
        named = [(path or type(cell).__name__, cell) for path, cell in self._net.cells_and_names()]
        self._cells = [(path, cell, _OfCell.of(path, cell, self._sampling)) for path, cell in named]
        self._parameters = [(each, _OfParameter.of(each, self._sampling)) for each in self._net.get_parameters() if each.dtype.is_float]
        self._optimizers.update(optimizers_of(self._sampling.parameters))
        gradient_followers.append(self._follow)
        step_followers.append(self._optimizer_stepped)
        for _, cell, of in self._cells:
            of.begin(cell)  # moves the epoch
        self._sampling.begin()
        self._begin()
        return self

    def __exit__(self, kind: object, raised: object, traceback: object) -> None:
        if kind is None and not self._taken and any(of.series.taken() for _, _, of in self._cells):
            self.step()  # a forward pass alone
        gradient_followers.remove(self._follow)
        step_followers.remove(self._optimizer_stepped)
        for _, cell, of in self._cells:
            of.end(cell)
        self._sampling.end()
        for sink in self._sinks:
            sink.close()

    def step(self) -> None:
        """End a training step: collect its statistics if it was sampled.

        The steps of optimisers that update Parameters of the network end by themselves.  Call it for other ones, such as those of a loop
        that updates the Parameters itself, or of optimisers that take turns; from the first call on, no step ends by itself.
        """
        if not self._is_told:
            self._is_told = True
            if self._has_ended:
                return  # this is the step that has just ended
        self._end()

    def _optimizer_stepped(self, optimizer: Any) -> None:
        """End the step if all optimisers of the network have taken theirs."""
        if self._is_told or not trains(optimizer, self._sampling.parameters):
            return
        self._has_ended = True
        self._optimizers.add(optimizer)
        if optimizer in self._stepped:  # the others take none, or fewer: this one has taken two, and the sample of the first is of no use
            self._optimizers.intersection_update([optimizer])
            self._stepped.clear()
            self._taken += 2
            if self._sampling.on or self._taken % self._every < 2:
                self._begin()
            return
        self._stepped.add(optimizer)
        if self._optimizers <= self._stepped:
            self._stepped.clear()
            self._end()

    def _end(self) -> None:
        self._taken += 1
        if self._sampling.on:
            self._sampling.switch(False)
            self.latest = self._collected()
            self.rows += self.latest
            for sink in self._sinks:
                sink.add(self.latest)
        if self._taken % self._every == 0:
            self._begin()

    def _begin(self) -> None:
        """Begin a sampled step."""
        for _, _, of in self._cells:
            of.series.forget()
        for parameter, of in self._parameters:
            of.begin(parameter)
        self._sampling.switch(True)

    def _follow(self, parameters: Sequence[Any], gradients: Sequence[Tensor]) -> None:
        known = self._sampling.parameters
        followed = [(found, gradient) for parameter, gradient in zip(parameters, gradients, strict=True)
                    if (found := known.get(id(parameter))) is not None]
        if followed and self._sampling.is_on():
            for found, gradient in followed:
                found.gradient.compute(gradient)

    def _collected(self) -> list[StatisticsRow]:
        for parameter, of in self._parameters:
            of.compute(parameter)
        step = self._taken
        rows = [_row(step, "output", path, numbers, of.series.place) for path, _, of in self._cells if (numbers := of.series.taken())]
        places = {id(parameter): of.series.place for _, cell, of in self._cells for parameter in cell.get_parameters(expand=False)}
        for parameter, of in self._parameters:
            before, change = of.before.taken()[0], of.change.taken()[0]
            update = change / before if before else math.nan
            rows.append(_row(step, "parameter", parameter.name, of.value.taken(), places.get(id(parameter)), update))
        rows += [_row(step, "gradient", parameter.name, numbers, places.get(id(parameter)))
                 for parameter, of in self._parameters if (numbers := of.gradient.taken())]
        return rows
