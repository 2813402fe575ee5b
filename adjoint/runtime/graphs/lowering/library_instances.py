"""Tensors, Parameters, cells and other objects of the library that parsed code (the user's code of a graph) makes, and attributes it
stores.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.frontend import errors
from adjoint.frontend.changes.journal import AttributePlace, ObjectPlace
from adjoint.frontend.lowerer import Lowerer
from adjoint.ir.core import Atom, Literal
from adjoint.ir.ops.conversion import Cast, Identity
from adjoint.ir.ops.shape import Concat, Reshape
from adjoint.ir.types import DType, tensor
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.substitutes import stored
from adjoint.runtime.graphs.graph import LibraryCall
from adjoint.runtime.graphs.lowering.categories import DYNAMIC
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber, GraphParameter, GraphTensor, Owner
from adjoint.runtime.graphs.lowering.hosts import Hosts
from adjoint.runtime.graphs.lowering.made import Made
from adjoint.runtime.graphs.lowering.operations import Operations
from adjoint.runtime.graphs.lowering.reads import Reads
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.values import Values
from adjoint.runtime.tensor.conversion import dtype_argument, dtype_of_lists
from adjoint.runtime.tensor.initializer import Initializer
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.promotion import common_dtype
from adjoint.runtime.tensor.structure import leaves, mapped
from adjoint.runtime.tensor.tensor import Tensor, as_tensor, initializer

__all__ = ["LibraryInstances"]


class LibraryInstances:
    """Makes tensors, Parameters, cells and other objects of the library for parsed code, and stores attributes of cells.

    The user's parsed code calls their classes while its source is run on symbolic values.

    owner, regions, values, hosts, operations, made, reads  the parts of the `Lowering` that it uses
    frontend  runs the user's code
    """

    def __init__(self, owner: Owner, regions: Regions, values: Values, hosts: Hosts, operations: Operations, made: Made, reads: Reads,
                 frontend: Lowerer):
        self._owner, self._regions, self._values, self._hosts, self._operations = owner, regions, values, hosts, operations
        self._made, self._reads, self._frontend = made, reads, frontend

    def convert(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a class of the library, such as `Tensor([x, y])` of run-time values, and return the new object."""
        if issubclass(cls, Cell):
            made = self.new_cell(cls)
            self.initialise(made, cls.__init__, args, kwargs)
            return made
        if issubclass(cls, Parameter):
            return self._parameter(cls, args, kwargs)
        if cls is Tensor:
            given = dict(zip(("input_data", "dtype", "shape", "init"), args, strict=False)) | kwargs
            data, dtype = given.get("input_data"), given.get("dtype")
            if leaves(data, DYNAMIC) and given.get("init") is None:
                return self._tensor(data, None if dtype is None else dtype_argument(dtype), given.get("shape"))
            init, shape = given.get("init"), given.get("shape")
            if data is None and init is not None and shape is not None and dtype is not None:
                made = initializer(init, shape, dtype)
                return made if isinstance(made, GraphTensor) else self._constant(made)
        made = cls(*args, **kwargs)
        if type(made) is Tensor:
            return self._constant(made)
        self._frontend.journal.born(ObjectPlace(made))
        return made

    def _tensor(self, data: Any, dtype: DType | None, shape: Any) -> Tensor:
        """Return what `Tensor(data, dtype, shape)` makes of data that contain values of the graph."""
        if isinstance(data, Tensor):
            source = data if dtype is None else data.astype(dtype, copy=False)
            if isinstance(source, GraphTensor):
                source.checked_kind()
            return Tensor.__copy__(source) if isinstance(source, Parameter) else source.copy()
        if isinstance(data, GraphNumber):
            return data.tensor() if dtype is None else data.as_tensor(dtype)
        made = Tensor.__copy__(self._stacked(data))
        if shape is not None and made.shape != ((shape,) if isinstance(shape, int) else tuple(shape)):
            raise ValueError(f"For 'Tensor', the data has shape {made.shape}, but 'shape' is {shape}.")
        return made.astype(dtype_of_lists(made.dtype) if dtype is None else dtype, copy=False)

    def new_parameter(
        self, data: Tensor, name: str, requires_grad: bool, layerwise_parallel: bool, parallel_optimizer: bool,
    ) -> Parameter:
        """Return the object that represents a new Parameter in the graph.  Each time the graph runs, it creates a Parameter that begins
        with the values that `data` has at this point.

        name, requires_grad, layerwise_parallel, parallel_optimizer  attributes of the Parameter, as for `Parameter`
        """
        atom = self._values.atom(Tensor.__copy__(data))
        made = GraphParameter(self._owner, atom, data.type, name, requires_grad, layerwise_parallel, parallel_optimizer)
        self.new_object(made)
        return made

    def drawn(self, init: Initializer, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Return the random initial values of a tensor that parsed code (the user's code of the graph) makes: they are drawn each time the
        graph runs, as eager mode draws them in each call.

        init  the initialiser
        """
        def first_values(key: Tensor) -> Tensor:
            return Tensor(init.array(shape, dtype, np.random.default_rng(key.tolist())), dtype)

        key, types = self._operations.draw(None), (tensor(dtype, shape),)
        if type(init).__module__.partition(".")[0] == __name__.partition(".")[0]:
            (value,) = self._hosts.library_call(LibraryCall, "first_values", first_values, [key], types)
        else:
            _, (value,) = self._hosts.call("first_values", first_values, (key,), types)
        made = self._values.tensor(value)
        self._made.add_drawn(made)
        return made

    def first_value(self, parameter: Parameter, source: Tensor) -> Tensor:
        """Return the tensor from which a new Parameter takes its memory: `source` itself, or zeros if the values of `source` are drawn each
        time the graph runs.

        In the second case the Parameter represents `source` in the graph.

        parameter  the Parameter
        source     its initial values
        """
        if not self._made.is_drawn(source):
            return source
        self._made.drawn[id(parameter)] = source
        return Tensor(np.zeros(source.shape, source.dtype.compute.array), source.dtype)

    def of_each_run(self, found: Any) -> Any:
        """Return the result of unparsed code (code of the library, which runs as it is) with new values of the graph in place of tensors
        that the code has made from numbers.

        Without this, all executions of the graph would share these tensors.
        """
        made = self._made.unparsed
        if not made or not any(id(x) in made for x in leaves(found, Tensor)):
            return found
        return mapped(found, lambda x: self._constant(x) if type(x) is Tensor and id(x) in made else x)

    def _parameter(self, cls: type[Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Parameter:
        if not self._frontend.initialising:
            raise errors.UNSUPPORTED.at(self._regions.loc, f"a {cls.__name__} is made inside of the graph",
                                        help="make it outside, once: in `__init__`")
        self._check_first_values(args, kwargs)
        parameter = cls(*args, **kwargs)
        self._made.parameters[id(parameter)] = parameter
        return parameter

    def _constant(self, made: Tensor) -> Tensor:
        """Return a value of the graph for a tensor of known numbers: each time the graph runs there is a new tensor, which may be written
        in place, hooked and returned.
        """
        atom = self._values.atom(made)
        if not isinstance(atom, Literal):
            atom = self._regions.node(Identity(), atom)
            self._made.tensors[atom] = made
        return self._values.tensor(atom)

    # -- objects and cells ------------------------------------------------------------------------------------------------
    def new_object(self, x: object) -> None:
        """Record that parsed code (the user's code of the graph) has made the object `x`.  It belongs to the graph, so a change of it need
        not be refused or repeated as a change of the user's program.
        """
        self._frontend.journal.born(ObjectPlace(x))

    def keep_attribute(self, holder: object, name: str, value: Any) -> None:
        """Do `holder.name = value` such that the change is undone at the end of the branch that is being parsed."""
        self._frontend.journal.write(AttributePlace(holder, name), value)

    def new_cell(self, cls: type[Cell]) -> Cell:
        """Return a new cell of a class, on which `__init__` has not been called."""
        cell = cls.__new__(cls)
        self.add_cell(cell)
        return cell

    def add_cell(self, cell: Cell) -> None:
        """Record that parsed code (the user's code of the graph) has made a cell; the graph keeps it alive."""
        self.new_object(cell)
        self._made.cells.append(cell)

    def part_of_cells(self, cells: Any, part: slice) -> Cell:
        """Return a slice of a cell that is a sequence of cells: a new cell that holds some of the same cells.

        cells  the sequence
        part   the slice
        """
        made = cells[part]
        self.add_cell(made)
        return made

    def initialise(self, cell: Cell, init: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Call an `__init__` of the library on a new cell, after checking that the graph can make the cell.

        init          the `__init__`
        args, kwargs  its arguments
        """
        self._check_first_values(args, kwargs)
        self.check_parts(args, kwargs)
        init(cell, *args, **kwargs)
        self._made.add_parameters(cell)

    def check_parts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise CompileError if a new cell would hold a cell or a Parameter from outside: adding these to the new cell would rename them.

        args, kwargs  the arguments of the cell's `__init__`
        """
        for part in leaves((args, kwargs), (Cell, Parameter)):
            self._check_made(part)

    def _check_first_values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Check the initial values of Parameters that a new cell makes, given by the arguments of its `__init__`.

        Those from outside become guards (conditions for running a graph again).  CompileError if they are known only at run time.
        """
        for x in leaves((args, kwargs), DYNAMIC):
            if self._made.is_drawn(x):
                continue
            if isinstance(x, GraphNumber):
                raise self._owner.unknown("first values are needed while parsing")
            if isinstance(x, GraphTensor):
                x.asnumpy()  # raises if the values are not known
            elif self._frontend.outside.holds(x):
                self._reads.read_numbers(x)

    def _check_made(self, held: Cell | Parameter) -> None:
        """Raise CompileError unless parsed code (the user's code of the graph) has made all Parameters of `held`: a cell of the graph is to
        hold and rename them.
        """
        parameters = held.get_parameters() if isinstance(held, Cell) else [held]
        if not all(map(self._made.has_parameter, parameters)):
            kind = errors.with_article(type(held).__name__)
            raise errors.UNSUPPORTED.at(self._regions.loc, f"a cell that is made inside of the graph is to hold {kind} from outside",
                                        help="make it outside, once: in `__init__`")

    def store_attribute(self, holder: Any, name: str, value: Any) -> bool:
        """Do `holder.name = value` if Python cannot do it: if the attribute of a cell is a Parameter.  Return True if it was done.

        The Parameter is written when the graph runs, and keeps its dtype.  Numbers are written, too, known while parsing or not.
        """
        if not isinstance(holder, Cell):
            return False
        if self._frontend.journal.has_made(holder) and isinstance(value, (Cell, Parameter)):
            self._check_made(value)
            if isinstance(value, Parameter):
                self.keep_attribute(holder, name, value)
                return True
        target = holder.__dict__.get("_params", {}).get(name)
        if target is None or not isinstance(value, (*DYNAMIC, bool, int, float)):
            return False
        if isinstance(value, Parameter) and value is not target:
            raise errors.UNSUPPORTED.at(self._regions.loc, f"another Parameter is put in the place of '{name}'",
                                        help=f"write its numbers: `ops.assign(self.{name}, value)`, or replace it outside")
        given = value if isinstance(value, Tensor) \
            else value.as_tensor(target.dtype) if isinstance(value, GraphNumber) else as_tensor(value, target.dtype)
        if stored(holder, name, given):
            return True
        given = given.astype(target.dtype, copy=False)
        if given.type is not target.type:
            raise ValueError(f"For 'Cell', the Parameter '{name}' is {target.dtype} of shape {target.shape}: it cannot become "
                             f"{given.dtype} of shape {given.shape} in a graph.")
        self._operations.write(target, given)
        return True

    # -- tensors of dynamic values ----------------------------------------------------------------------------------------
    def _stacked(self, data: Any) -> Tensor:
        """Return nested lists of numbers, some of which are run-time numbers (known only when the graph runs), as one tensor."""
        if isinstance(data, GraphNumber):
            return data.tensor()
        if isinstance(data, (list, tuple)):
            return self._rows_together([self._stacked(item) for item in data])
        return as_tensor(data)

    def _rows_together(self, parts: Sequence[Tensor]) -> Tensor:
        """Return tensors of one shape as the rows of one tensor; ValueError if their shapes differ."""
        dtype = functools.reduce(common_dtype, [x.dtype for x in parts])
        rows: list[Atom] = []
        for x in parts:
            if x.shape != parts[0].shape:
                raise ValueError("For 'Tensor', the nested lists must have equal lengths, "
                                 f"but got tensors of shape {parts[0].shape} and {x.shape}.")
            atom = self._values.atom(x)
            atom = atom if x.dtype is dtype else self._regions.node(Cast(dtype), atom)
            rows.append(self._regions.node(Reshape(tensor(dtype, (1, *x.shape))), atom))
        return self._values.tensor(self._regions.node(Concat(0), *rows))
