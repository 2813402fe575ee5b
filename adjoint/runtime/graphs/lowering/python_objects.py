"""Python objects in a function being lowered: cells, library functions, parameters; and the guards for what is read of them."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.changes.journal import AttributePlace, ObjectPlace
from adjoint.ir.core import Atom, Literal
from adjoint.ir.ops.conversion import Cast, Identity
from adjoint.ir.ops.shape import Concat, Reshape
from adjoint.ir.types import tensor
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.precision import stored
from adjoint.runtime.checkpoints import checkpoint
from adjoint.runtime.gradients.no_grad import no_grad
from adjoint.runtime.graphs.lowering.emitting import Emitting
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber, GraphTensor
from adjoint.runtime.process import context
from adjoint.runtime.tensor import random
from adjoint.runtime.tensor.conversion import dtype_argument
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.promotion import common_dtype
from adjoint.runtime.tensor.structure import leaves
from adjoint.runtime.tensor.tensor import Tensor, as_tensor

__all__ = ["PythonObjects"]

_OF_ALL_BELOW = frozenset({
    "cells_and_names", "get_parameters", "parameters_and_names", "parameters_dict", "trainable_params", "untrainable_params",
})
"""Methods of a cell that read all cells below it."""
_WITHOUT_PARTS = frozenset({int, float, bool, str, bytes, complex, type(None), GraphTensor, GraphNumber})
_WITHOUT_STATE = frozenset({"builtins", "functools", "types", "numpy", "adjoint.frontend.values.frame", "adjoint.frontend.values.text",
                            "adjoint.frontend.values.numbers", "adjoint.runtime.graphs.jit"})
"""Modules of classes whose objects have no state beyond what `values.key` sees."""


class PythonObjects(Emitting):
    """The part of the frontend's `World` that knows the objects of the runtime."""

    # -- Python objects -----------------------------------------------------------------------------------------------------
    def is_cell(self, x: object) -> bool:
        return isinstance(x, Cell)

    def is_cell_class(self, cls: type) -> bool:
        return issubclass(cls, Cell)

    def is_cells(self, x: object) -> bool:
        return isinstance(x, Cell) and self.is_library(getattr(type(x), "__getitem__", None)) and hasattr(type(x), "__iter__")

    def is_library(self, function: object) -> bool:
        if isinstance(function, ModuleType):
            return _of_package(function.__name__)
        if isinstance(function, FunctionType):
            # Not `__module__`: a wrapper has that of the wrapped function.
            return _of_package(function.__globals__.get("__name__", ""))
        module = getattr(function, "__module__", None)
        if isinstance(module, str) and not isinstance(function, type) and not hasattr(function, "__qualname__"):
            module = type(function).__module__
        return isinstance(module, str) and _of_package(module)

    def parsed_function(self, function: Any) -> Any:
        # A bound method forwards the attributes of its function: its object would be lost.
        while getattr(function, "__adjoint_jit__", False) and not isinstance(function, MethodType):
            function = function.__wrapped__
        return function

    def check_call(self, function: object) -> None:
        if function in _ONCE:
            name = getattr(function, "__name__", "function")
            raise errors.FROZEN_CALL.at(self.loc, f"`{name}` would be called once, while the graph is built", help="call it outside")

    def convert(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if issubclass(cls, Cell):
            made = self.new_cell(cls)
            self.initialise(made, cls.__init__, args, kwargs)
            return made
        if issubclass(cls, Parameter):
            if not self.frontend.initialising:
                raise errors.UNSUPPORTED.at(self.loc, f"a {cls.__name__} is made inside of the graph",
                                            help="make it outside, once: in `__init__`")
            self._check_first_values(args, kwargs)
            parameter = cls(*args, **kwargs)
            self.own_parameters[id(parameter)] = parameter
            return parameter
        if cls is Tensor and args:
            data, *rest = args
            given = dict(zip(("dtype", "shape", "init"), rest, strict=False)) | kwargs
            if leaves(data, (Tensor, GraphNumber)):
                dtype = given.get("dtype")
                if isinstance(data, GraphNumber) and dtype is not None:
                    return data.as_tensor(dtype_argument(dtype))
                made = self._stacked(data)
                return made.astype(dtype_argument(dtype)) if dtype is not None else made.copy()
        made = cls(*args, **kwargs)
        if type(made) is not Tensor:
            return made
        # Each run gets a new one, which it may write in place, register hooks on and return.
        atom = self.atom(made)
        if not isinstance(atom, Literal):
            atom = self.node(Identity(), atom)
            self.made_of_numbers[atom] = made
        return GraphTensor(self, atom, made.type)

    def is_region(self, x: object) -> bool:
        return isinstance(x, no_grad)

    def new_object(self, x: object) -> None:
        """Record that the parsed code has made the object `x`."""
        self.frontend.journal.born(ObjectPlace(x))

    def keep_attribute(self, holder: object, name: str, value: Any) -> None:
        """Perform `holder.name = value` on the path that is being parsed."""
        self.frontend.journal.write(AttributePlace(holder, name), value)

    def new_cell(self, cls: type[Cell]) -> Cell:
        cell = cls.__new__(cls)
        self.frontend.journal.born(ObjectPlace(cell))
        self.own_cells.append(cell)
        return cell

    def initialise(self, cell: Cell, init: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._check_first_values(args, kwargs)
        self.check_parts(args, kwargs)
        init(cell, *args, **kwargs)
        self.own_parameters |= {id(parameter): parameter for parameter in cell.get_parameters()}

    def check_parts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for part in leaves((args, kwargs), (Cell, Parameter)):
            self._check_own(part)

    def _check_first_values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Read the initial values of Parameters made while parsing: the graph then depends on those of outside tensors."""
        for x in leaves((args, kwargs), (Tensor, GraphNumber)):
            if isinstance(x, GraphNumber):
                raise self.unknown("first values are needed while parsing")
            if isinstance(x, GraphTensor):
                x.asnumpy()  # raises if the values are not known
            elif self.frontend.outside.holds(x):
                self.read_numbers(x)

    def _check_own(self, held: Cell | Parameter) -> None:
        """Raise CompileError if a cell made by parsed code would hold, and so name, existing Parameters."""
        parameters = held.get_parameters() if isinstance(held, Cell) else [held]
        if any(id(parameter) not in self.own_parameters for parameter in parameters):
            kind = errors.with_article(type(held).__name__)
            raise errors.UNSUPPORTED.at(self.loc, f"a cell that is made inside of the graph is to hold {kind} from outside",
                                        help="make it outside, once: in `__init__`")

    def _stacked(self, data: Any) -> Tensor:
        """Return nested lists with run-time values as one tensor."""
        if isinstance(data, GraphNumber):
            return data.tensor()
        if isinstance(data, (list, tuple)):
            return self._rows_together([self._stacked(item) for item in data])
        return as_tensor(data)

    def _rows_together(self, parts: Sequence[Tensor]) -> Tensor:
        """Return tensors of one shape as the rows of one tensor."""
        dtype = functools.reduce(common_dtype, [x.dtype for x in parts])
        rows: list[Atom] = []
        for x in parts:
            if x.shape != parts[0].shape:
                raise ValueError("For 'Tensor', the nested lists must have equal lengths, "
                                 f"but got tensors of shape {parts[0].shape} and {x.shape}.")
            atom = self.atom(x)
            atom = atom if x.dtype is dtype else self.node(Cast(dtype), atom)
            rows.append(self.node(Reshape(tensor(dtype, (1, *x.shape))), atom))
        return GraphTensor(self, self.node(Concat(0), *rows), tensor(dtype, (len(rows), *parts[0].shape)))

    def store_attribute(self, holder: Any, name: str, value: Any) -> bool:
        if not isinstance(holder, Cell):
            return False
        if self.frontend.journal.has_made(holder) and isinstance(value, (Cell, Parameter)):
            self._check_own(value)
            if isinstance(value, Parameter):
                self.frontend.journal.write(AttributePlace(holder, name), value)
                return True
        target = holder.__dict__.get("_params", {}).get(name)
        if target is None:
            return False
        if not isinstance(value, (Tensor, GraphNumber)):
            return False
        if isinstance(value, Parameter) and value is not target:
            raise errors.UNSUPPORTED.at(self.loc, f"another Parameter is put in the place of '{name}'",
                                        help=f"write its numbers: `ops.assign(self.{name}, value)`, or replace it outside")
        given = value if isinstance(value, Tensor) else value.as_tensor(target.dtype)
        if stored(holder, name, given):
            return True
        if given.type is not target.type:
            raise ValueError(f"For 'Cell', the Parameter '{name}' is {target.dtype} of shape {target.shape}: it cannot become "
                             f"{given.dtype} of shape {given.shape} in a graph.")
        self.write(target, given)
        return True

    # -- guards -------------------------------------------------------------------------------------------------------------
    def read_name(self, namespace: dict[str, Any], name: str) -> None:
        self.guards.of_name(namespace, name)

    def read_closure(self, cell: CellType) -> None:
        self.guards.of_closure(cell)

    def read_attribute(self, holder: object, name: str) -> None:
        if self.frontend.journal.has_made(holder):
            # Nobody else can change its own attributes; the others are its class's.
            if name not in getattr(holder, "__dict__", ()):
                self.guards.of_attribute(type(holder), name)
            return
        if type(holder) is super:
            # The attribute belongs to a class; the bound object would be kept alive.
            found: Any = holder  # to pyright, super has no attributes of its own
            classes = found.__self_class__.__mro__
            for above in classes[classes.index(found.__thisclass__) + 1 :]:
                self.guards.of_attribute(above, name)
                if name in above.__dict__:
                    break
            return
        self.guards.of_attribute(holder, name)

    def read_object(self, x: object) -> None:
        if isinstance(x, GraphTensor) or id(x) in self._looked_into:
            return
        if isinstance(x, Tensor):
            self.guards.of_tensor_type(x)
        elif isinstance(x, Cell):
            self.guards.of_cell(x)
        elif isinstance(x, MethodType):
            self.read_object(x.__self__)
            if isinstance(x.__self__, Cell) and x.__name__ in _OF_ALL_BELOW:
                for _, cell in x.__self__.cells_and_names():
                    self.guards.of_cell(cell)
                    for parameter in cell._params.values():
                        self.guards.of_attribute(parameter, "requires_grad")
                        self.guards.of_attribute(parameter, "name")
        elif isinstance(x, (list, tuple, set, frozenset)):
            for item in x:
                if type(item) not in _WITHOUT_PARTS:
                    self.read_object(item)
        elif not isinstance(x, (type, ModuleType, FunctionType, BaseException, enum.Enum, GraphNumber)) \
                and type(x).__module__ not in _WITHOUT_STATE and getattr(x, "__dict__", None):
            if not self.frontend.journal.has_made(x):
                self.guards.of_object(x)
                return
            self._looked_into.add(id(x))  # its attributes may lead to it
            for item in vars(x).values():
                if type(item) not in _WITHOUT_PARTS:
                    self.read_object(item)
            self._looked_into.discard(id(x))

    def read_identity(self, x: object) -> None:
        self.guards.of_identity(x)

    def read_numbers(self, x: Tensor) -> None:
        """Record that Python reads the values of a tensor while parsing: the graph depends on those of an outside tensor."""
        if not isinstance(x, GraphTensor):
            self.guards.of_numbers(x)

    def read_setting(self, read: Callable[[str], Any], name: str) -> None:
        """Record that the library reads a setting of the context for the user's code."""
        self.guards.of_setting(read, name)

    def read_count(self) -> int:
        return self.guards.count()

    def unread(self, since: int, until: int) -> None:
        self.guards.forget(since, until)

    def call_depth(self) -> int:
        return context.call_depth()


def _of_package(module: str) -> bool:
    return module == _PACKAGE or module.startswith(_PACKAGE + ".")


_ONCE = (context.set_context, checkpoint.load_param_into_net, checkpoint.save_checkpoint, checkpoint.load_checkpoint, random.set_seed)
"""Library functions that are called for their side effects on the program."""

_PACKAGE = __name__.partition(".")[0]
