"""Emitting: turn ops into nodes while a function is lowered to a graph.

Tensors and numbers of the graph are symbolic and hold no values.  Tensors from outside are state, read and written under symbols.
Python code that runs with the graph becomes host calls.
"""

from __future__ import annotations

import functools
import operator
import typing
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.diagnostics import CompileError, Loc
from adjoint.frontend import errors
from adjoint.frontend.lowerer import Lowerer
from adjoint.frontend.operations.operators import ZeroDivisor
from adjoint.frontend.values.text import RunTimeText
from adjoint.frontend.world import Kind
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Host, Literal, Region, Value, symbol_like, tensor_type
from adjoint.ir.op import Effect, Op
from adjoint.ir.ops.arithmetic import Mod
from adjoint.ir.ops.conversion import Cast, NoGrad, StopGradient, StraightThrough
from adjoint.ir.ops.host import Apply, Attach, Hook
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.shape import Broadcast, Reshape
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import BOOL, F64, I64, U64, DType, TensorType, scalar, tensor
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.gradients.no_grad import no_grad
from adjoint.runtime.graphs.graph import CellSite, Check, Registration
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.lowering.changes import AtomPlace, CellsPlace
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber, GraphTensor
from adjoint.runtime.graphs.outline import OutlineSlot, filled, outlined, slots_of
from adjoint.runtime.hooks.handles import check_hook, described
from adjoint.runtime.process.location import receiver, user_location
from adjoint.runtime.process.tracer import emitter, state
from adjoint.runtime.tensor.parameter import Parameter, has_generated_name
from adjoint.runtime.tensor.promotion import holds, scalar_dtype
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["NUMBERS", "Emitting", "as_python", "tensor_slot", "value_slot"]

NUMBERS: dict[str, tuple[type, TensorType]] = {
    "bool": (bool, scalar(BOOL)), "int": (int, scalar(I64)), "float": (float, scalar(F64)),
}


class Emitting:
    """Nodes, values, regions, state and effects of one function being lowered."""

    emits: typing.Literal[True] = True

    def __init__(self, symbol: str, loc: Loc, decisions: dict[Any, Any], asks: bool = False):
        self.symbol, self.start, self.loc = symbol, loc, loc
        self.builder = Builder(loc)
        self.chain: list[Builder] = [self.builder]
        self.outermost = self.builder
        """The region of the function being lowered, or of the cell."""
        self.guards = Guards()
        self.frontend = Lowerer(self)  # pyright: ignore[reportArgumentType] - a whole `Lowering` is its world
        self.state: dict[str, Tensor] = {}
        self.net: Cell | None = None
        """The outermost cell that is being called."""
        self.parameters: dict[tuple[int, str], Parameter] = {}
        """The Parameters, named by the user, that a net has read, by its id and their name."""
        self.symbols: dict[int, str] = {}
        self.hosts: dict[str, Any] = {}
        self.declared: dict[str, Host] = {}
        self.cell_sites: dict[Value, CellSite] = {}
        self.reads: dict[str, tuple[Builder, Value]] = {}
        self.decisions, self.asks, self.assumes = decisions, asks, False
        self.taken: dict[Any, Any] = {}
        self.hook_sites: dict[str, Any] = {}
        self.cell_homes: set[int] = set()
        self.kept: list[Builder] = []
        self.escaped: set[Value] = set()
        self.own_cells: list[Cell] = []
        self.own_parameters: dict[int, Parameter] = {}
        """The Parameters of cells that parsed code has made, by id."""
        self.made_of_numbers: dict[Value, Tensor] = {}
        """The tensors that parsed code has made from Python numbers, by their value in the graph."""
        self.named: set[Value] = set()
        """Values named after a variable of the user's; a later variable does not rename them."""
        self._looked_into: set[int] = set()
        """Ids of the objects made by parsed code that `read_object` is visiting."""
        self.calls = 0
        self.has_written = False
        self.without_gradient: set[Value] = set()
        """Values made inside of `_no_grad`."""
        self.cuts: dict[Value, tuple[Builder, Value]] = {}
        """For a value from outside of `_no_grad`, the value that replaces it inside, and the region in which that was made."""

    # -- emitting ---------------------------------------------------------------------------------------------------------
    def node(self, op: Op, *atoms: Atom) -> Any:
        """Emit a node in the current region; return its result or results."""
        return self.builder.emit(op, *atoms, loc=self.loc)

    def emit(self, op: Op, operands: Sequence[Tensor]) -> Any:
        """Emit an op; `apply` calls this while a graph is being made."""
        if op.effect is Effect.HOST:
            self.has_written = True
        atoms = [self.atom(x) for x in operands]
        if state.no_grad:
            atoms = [self.cut(atom) for atom in atoms]
        made = self.builder.emit_node(op, atoms, loc=self.loc)
        if state.no_grad:
            self.without_gradient.update(made.results)
        results = self.tensors(made.results)
        return results[0] if len(results) == 1 else tuple(results)

    def cut(self, atom: Atom) -> Atom:
        """Return the value that replaces `atom` inside of `_no_grad`."""
        if not isinstance(atom, Value) or atom in self.without_gradient or not tensor_type(atom).dtype.is_float:
            return atom
        builder, found = self.cuts.get(atom, (None, None))
        if found is None or builder not in self.chain:
            found = self.builder.emit(NoGrad(), atom, hint=atom.hint, loc=self.loc)
            self.cuts[atom] = self.builder, found
            self.without_gradient.add(found)
        return found

    def rewritten(self, atom: Atom, value: Atom) -> Atom:
        """Return the new atom of a tensor that was `atom` and is written in place."""
        if not state.no_grad or not isinstance(atom, Value) or atom in self.without_gradient or atom.type != value.type \
                or not tensor_type(atom).dtype.is_float:
            return value
        return self.node(StraightThrough(), atom, value)

    def unknown(self, what: str) -> CompileError:
        """Return the error of code that needs values while parsing, or keeps a symbolic value beyond it."""
        if state.tracer is not self:
            return errors.NOT_IN_GRAPH.at(self.place_of_use(), "this value belongs to a graph that is made already",
                                          help="return it from the function that computes it")
        return errors.VALUE_NEEDED.at(self.loc, what, help="use operations on the tensor, or pass the number as an argument")

    def place_of_use(self) -> Loc:
        """Return the location at which a value of this graph is used now: in this graph, in another, or in Python."""
        graph = emitter()
        return graph.loc if graph is not None else user_location()

    # -- values -----------------------------------------------------------------------------------------------------------
    def kind(self, x: object) -> Kind | None:
        if isinstance(x, Tensor):
            return Kind("tensor", x.type)
        if isinstance(x, GraphNumber):
            return Kind(x.category, x.type)
        for category, (python, type_) in NUMBERS.items():
            if type(x) is python and (python is not int or -(2**63) <= x < 2**63):
                return Kind(category, type_)
        return None

    def is_dynamic(self, x: object) -> bool:
        return isinstance(x, (Tensor, GraphNumber))

    def is_tensor(self, x: object) -> bool:
        return isinstance(x, Tensor)

    def python_type(self, x: object) -> type:
        return Tensor if isinstance(x, GraphTensor) else type(x)

    def atom(self, x: Any) -> Atom:
        if isinstance(x, (GraphTensor, GraphNumber)):
            if x.owner is not self:
                raise errors.NOT_IN_GRAPH.at(self.loc, "this tensor belongs to another graph", help="pass it as an argument")
            if isinstance(x.atom, Value) and x.home not in self.chain:
                self._outside(x)
            return x.atom
        if isinstance(x, Tensor):
            return self._read(x)
        for python, type_ in NUMBERS.values():
            if type(x) is python:
                if python is int and not -(2**63) <= x < 2**63:
                    raise errors.NUMBER_RANGE.at(self.loc, f"{x} has more than 64 bits", help="compute it outside, or with floats")
                return Literal(x, type_)
        raise TypeError(f"{x!r} of type {type(x).__name__} is no value of a graph")

    def atom_as(self, x: Any, kind: Kind) -> Atom:
        if kind.category != "tensor" or isinstance(x, Tensor):
            return self.atom(x)
        if isinstance(x, GraphNumber):
            number = x
            if not number.always_fits(kind.type.dtype):
                self.check(functools.partial(_check_joins, self.loc, kind.type.dtype), (number.as_tensor(number.type.dtype),))
        else:
            number = GraphNumber(self, type(x).__name__, self.atom(x))
        atom = self.atom(number.as_tensor(kind.type.dtype))
        return self.node(Broadcast(kind.type), atom) if kind.type.rank else atom

    def joins(self, number: Any, type_: TensorType) -> bool:
        if isinstance(number, GraphNumber):
            return scalar_dtype(type_.dtype, number.python_type()) is type_.dtype
        return isinstance(number, (bool, int, float)) and scalar_dtype(type_.dtype, number) is type_.dtype and holds(type_.dtype, number)

    def _outside(self, x: GraphTensor | GraphNumber) -> None:
        """Handle a value of a closed region: it can leave a cell, but neither a branch nor a loop."""
        if id(x.home) not in self.cell_homes:
            raise errors.NOT_IN_GRAPH.at(self.loc, f"this value ({self.kind(x)}) was made inside a branch or loop that has ended",
                                         help="assign it to a name that has a value on every path")
        assert isinstance(x.atom, Value)
        self.escaped.add(x.atom)

    def _read(self, x: Tensor) -> Atom:
        """Return the value of a tensor from outside: a literal, or what its symbol holds at this point of the run."""
        literal = getattr(x, "literal", None)
        if literal is not None:
            return Literal(literal.item() if isinstance(literal, np.generic) else literal, x.type)
        symbol = self.symbol_of(x)
        known = self.reads.get(symbol)
        if known is not None and known[0] in self.chain:
            return known[1]
        value = self.builder.emit(Read(symbol, (x.type,)), hint=symbol.rpartition(".")[2], loc=self.loc)
        self.reads[symbol] = (self.builder, value)
        return value

    def symbol_of(self, x: Tensor) -> str:
        """Return the symbol of a tensor from outside."""
        symbol = self.symbols.get(id(x))
        if symbol is None:
            symbol = self.symbols[id(x)] = self._fresh(self._name_of(x) if isinstance(x, Parameter) else "constant")
            self.state[symbol] = x
            self.guards.of_tensor_type(x)
        return symbol

    def _name_of(self, x: Parameter) -> str:
        """Return a name for the symbol of a Parameter; CompileError if the net that reads it has another Parameter of that name."""
        if has_generated_name(x):
            return "Parameter"
        if self.net is not None and id(x) not in self.own_parameters and self.parameters.setdefault((id(self.net), x.name), x) is not x:
            raise errors.SAME_NAME.at(
                self.loc, f"the value {x!r} , its name '{x.name}' already exists. Please set a unique name for the parameter.",
                help=f"name all by their paths of attributes, with `check_names_and_refresh_name()` of the {self.net.title}")
        return x.name

    def _fresh(self, name: str) -> str:
        """Return an unused symbol like `name`."""
        base = symbol_like(name, "x")
        symbol, version = base, 0
        while symbol in self.state or symbol in self.declared:
            version += 1
            symbol = f"{base}_{version}"
        return symbol

    def wrapped(self, kind: Kind, value: Value) -> Any:
        return GraphTensor(self, value, kind.type) if kind.category == "tensor" else GraphNumber(self, kind.category, value)

    def tensors(self, values: Sequence[Value]) -> list[GraphTensor]:
        """Return values of tensor types as tensors."""
        return [GraphTensor(self, value, tensor_type(value)) for value in values]

    def params_like(self, atoms: Sequence[Atom]) -> list[Value]:
        """Return parameters for a region that is given these atoms, with the same names."""
        params = [Value(atom.type, getattr(atom, "hint", "x")) for atom in atoms]
        self.named.update(params)
        return params

    def renamed(self, x: Any) -> Any:
        if not isinstance(x, GraphTensor):
            return x
        made = GraphTensor(self, x.atom, x.type)
        made.home = x.home
        return made

    def is_here(self, x: Any) -> bool:
        return isinstance(x, GraphTensor) and (not isinstance(x.atom, Value) or x.home in self.chain)

    def truth(self, x: Any) -> bool | Atom:
        if isinstance(x, GraphNumber):
            truth = x.converted("bool").atom
            return bool(truth.value) if isinstance(truth, Literal) else truth
        if isinstance(x, RunTimeText):
            return bool(x.pieces)
        if not isinstance(x, Tensor):
            return bool(x)
        if x.size != 1:
            return bool(x)  # raises what eager mode raises
        return self.number("bool", x).atom

    def number(self, category: str, x: Any) -> Any:
        if isinstance(x, GraphNumber):
            return x.converted(category)
        if not isinstance(x, Tensor):
            kind = self.kind(x)
            assert kind is not None
            return x if kind.category == category else NUMBERS[category][0](x)
        if x.size != 1:
            return NUMBERS[category][0](x)  # raises what eager mode raises
        if x.dtype is U64:
            return self.host_number("int", int, x).converted(category)
        atom = self.atom(x)
        if x.ndim:
            atom = self.node(Reshape(scalar(x.dtype)), atom)
        own = "bool" if x.dtype is BOOL else "float" if x.dtype.is_float else "int"
        dtype = NUMBERS[own][1].dtype
        if x.dtype is not dtype:
            atom = self.node(Cast(dtype), atom)
        if x.dtype.is_float:
            # A Python number is constant for every gradient.
            atom = self.node(StopGradient(), atom)
        return GraphNumber(self, own, atom, 2 ** (8 * x.dtype.size)).converted(category)

    def position(self, container: Any, index: Any) -> Any:
        if isinstance(index, Tensor) and (index.dtype.is_float or index.size != 1):
            operator.index(index)
        # Raises for an empty container, and for a float.
        container[index.python_type() if isinstance(index, GraphNumber) else 0]
        number = self.number("int", index)
        count = len(container)
        if isinstance(container, Cell):
            self.check(functools.partial(_check_position, weakref.ref(container)), (number,))
        else:
            alike = [None] * count if isinstance(container, list) else (None,) * count
            self.check(functools.partial(_check_position, lambda: alike), (number,))
        return GraphNumber(self, "int", self.node(Mod(), self.atom(number), Literal(count, scalar(I64))), count)

    def index(self, key: Any) -> Any:
        if isinstance(key, GraphNumber):
            return key.as_tensor(I64)
        return tuple(self.index(part) for part in key) if isinstance(key, tuple) else key

    def rows(self, x: Any) -> list[Any]:
        if not x.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return [x[i] for i in range(x.shape[0])]

    def place(self, x: object) -> Any:
        return AtomPlace(x) if isinstance(x, GraphTensor) else CellsPlace(x) if isinstance(x, Cell) else None

    def is_outside(self, place: Any) -> bool:
        return isinstance(place, CellsPlace) and not any(place.holder is cell for cell in self.own_cells)

    def either(self, condition: GraphNumber, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
        """Emit an `if` between two functions whose results have one type; return its result."""
        truth = self.truth(condition)
        if isinstance(truth, bool):
            return first() if truth else second()
        branching = self.frontend.branching
        return branching.merged(truth, branching.branch(first), branching.branch(second), lambda branch: False)

    def is_outermost(self) -> bool:
        return self.builder is self.outermost

    # -- regions ----------------------------------------------------------------------------------------------------------
    def open(self) -> Builder:
        self.reopen(Builder(self.loc))
        return self.builder

    def reopen(self, builder: Builder) -> None:
        self.builder = builder
        self.chain.append(builder)

    def close(self) -> Builder:
        closed = self.chain.pop()
        self.builder = self.chain[-1]
        self.kept.append(closed)
        return closed

    def emit_region(self, op: Op, operands: Sequence[Atom], regions: Sequence[Region], hints: Sequence[str]) -> Sequence[Value]:
        node = self.builder.emit_node(op, operands, regions=regions, loc=self.loc)
        for value, hint in zip(node.results, hints, strict=False):
            value.hint = hint if hint.isidentifier() else "y"
            self.named.add(value)
        self.reads.clear()
        return node.results

    # -- state --------------------------------------------------------------------------------------------------------------
    def write(self, target: Tensor, value: Tensor) -> None:
        """Emit the assignment of a tensor from outside."""
        if id(target) in self.own_parameters:
            raise errors.UNSUPPORTED.at(self.loc, "a Parameter is written that the graph makes: each call would need a new one",
                                        help="make its cell outside, once: in `__init__`")
        self.has_written = True
        new = self.atom(value)
        if state.no_grad:
            new = self.rewritten(self._read(target), new)
        self.builder.emit(Write(self.symbol_of(target)), new, loc=self.loc)
        self.reads.clear()

    def draw(self, seed: int | None) -> Tensor:
        """Return the key of the next random draw."""
        self.has_written = True
        return GraphTensor(self, self.node(Draw(seed or 0)), tensor(U64, (2,)))

    def undrawn(self) -> Any:
        """Return a generator for the initial values of a cell made by parsed code: each run counts a draw, but drawing raises."""
        self.draw(None)
        return _Undrawn(self)

    # -- effects ------------------------------------------------------------------------------------------------------------
    def effect(self, name: str, function: Callable[..., Any], values: Sequence[Any]) -> None:
        symbol, _ = self.host_call(name, lambda *given: function(*given), tuple(values), ())
        outline = outlined(tuple(values), tensor_slot)[0]
        self.declared[symbol] = Host(f"{name}{_shown(outline)}", self.loc)

    def check(self, check: Callable[..., Any], tensors: Sequence[Any]) -> None:
        """Emit a check of values by the library, made when the graph runs."""
        name = f"check_{getattr(check, '__name__', 'values')}"
        symbol, _ = self.host_call(name, lambda *given: (check(*given), None)[1], tuple(tensors), ())
        self.hosts[symbol] = Check(self.hosts[symbol])

    @property
    def raises_late(self) -> bool:
        # A run that continues in this graph has already executed everything before the error.
        return not self.decisions and (self.frontend.journal.is_open or bool(self.hosts) or self.has_written)

    def host_call(self, name: str, function: Callable[..., Any], values: Any,
                  results: Sequence[TensorType]) -> tuple[str, tuple[Value, ...]]:
        """Emit a call `function(*values)` that returns None or tensors of the types `results`; return its symbol and results."""
        outline, leaves = outlined(values, tensor_slot)
        categories = [slot.category for slot in slots_of(outline)]
        if state.no_grad:
            function = no_grad()(function)
        symbol = self._host(name, lambda *tensors: function(*filled(outline, as_python(tensors, categories))), name)
        node = self.builder.emit_node(Apply(symbol, tuple(results)), [self.atom(x) for x in leaves], loc=self.loc)
        self.reads.clear()
        return symbol, node.results

    def host_number(self, category: str, function: Callable[..., Any], *numbers: Any) -> GraphNumber:
        """Emit a Python function of numbers, called when the graph runs."""
        python, type_ = NUMBERS[category]
        loc, name = self.loc, getattr(function, "__name__", "number")

        def computed(*given: Any) -> Tensor:
            try:
                found = function(*given)
            except ZeroDivisionError as mistake:
                raise ZeroDivisor.of(function, mistake) from None
            fits = isinstance(found, float) if category == "float" else isinstance(found, int) and -(2**63) <= found < 2**63
            if not fits:
                shown, kind = " and ".join(map(repr, given)), f"{category} of 64 bits" if isinstance(found, int) else category
                raise errors.NUMBER_RANGE.at(loc, f"`{name}` of {shown} is no {kind}",
                                             help="compute it outside and pass it as an argument, or compute with floats")
            return Tensor(np.asarray(python(found), type_.dtype.array))

        _, (value,) = self.host_call(name, computed, tuple(numbers), (type_,))
        return GraphNumber(self, category, value, 2**63 - 1)

    def _host(self, name: str, host: Any, reference: str) -> str:
        symbol = self._fresh(name)
        self.hosts[symbol] = host
        self.declared[symbol] = Host(reference, self.loc)
        return symbol

    # -- hooks --------------------------------------------------------------------------------------------------------------
    def hook(self, kind: str, function: Any, operands: Sequence[Tensor], title: str) -> tuple[Tensor, ...]:
        """Emit a `HookBackward` or `InsertGradientOf`; return new names for its tensors."""
        if state.no_grad:
            return tuple(self.tensors([self.node(NoGrad(), self.atom(x)) for x in operands]))
        function = self.frontend.as_python(function)
        symbol = self._host(getattr(function, "__name__", "hook"), (function, kind, title), described(function))
        node = self.builder.emit_node(Hook(symbol, kind=kind), [self.atom(x) for x in operands], loc=self.loc)
        return tuple(self.tensors(node.results))

    def attach(self, x: Tensor, hook_fn: Callable[..., Any]) -> Any:
        """Emit `x.register_hook(hook_fn)`."""
        check_hook(hook_fn)
        hook_fn = self.frontend.as_python(hook_fn)
        if not isinstance(x, GraphTensor):
            what = (f"the Parameter '{x.name}'. Register hook for Parameter inside graph is not supported." if isinstance(x, Parameter)
                    else "a tensor from outside")
            raise errors.REGISTERED_INSIDE.at(self.loc, f"a hook is registered on {what}", help="register it outside, once")
        registration = Registration(hook_fn)
        name = receiver(self.loc) or getattr(x.atom, "hint", "value")
        symbol = self._host(f"{name}.hook", registration, described(hook_fn))
        self.builder.emit(Attach(symbol), self.atom(x), loc=self.loc)
        return _LateHandle(self, registration)

    def registered_inside(self) -> CompileError:
        """Return the error of registering or removing a hook of an object that outlives the graph."""
        return errors.REGISTERED_INSIDE.at(self.loc, "a hook of a cell, a parameter or a tensor from outside is registered or removed",
                                           help="do it outside; a hook may also do it when it runs")


class _Undrawn:
    """Replaces a generator of random numbers while a graph is made: drawing raises."""

    def __init__(self, owner: Emitting):
        self._owner = owner

    def __getattr__(self, name: str) -> Any:
        raise errors.FROZEN_CALL.at(self._owner.loc, "first values would be drawn once, while the graph is built, and not at each call",
                                    help='make it outside, once: in `__init__`; or give values that are not drawn: `weight_init="ones"`')


def _check_joins(loc: Loc, dtype: DType, number: Tensor) -> None:
    """Raise CompileError for a number on one path if the other path has a tensor whose dtype cannot hold it."""
    if not holds(dtype, number.item()):
        raise errors.NUMBER_RANGE.at(loc, f"{number.item()!r} meets a tensor of {dtype} here, which has no such number",
                                     help="make it a tensor of a wider dtype on both paths")


def _check_position(container: Callable[[], Any], index: int) -> None:
    """Raise the error of a list, tuple or cell for an index that is out of range."""
    held = container()
    if held is None:
        raise RuntimeError("this graph belongs to a cell that is gone")
    held[index]


class _LateHandle:
    """The handle of a hook that is registered when the graph runs."""

    def __init__(self, owner: Emitting, registration: Registration):
        self.owner, self.registration = owner, registration

    def remove(self) -> None:
        """Emit the removal of the hook."""
        self.owner.effect("remove", self.registration.remove, ())


def value_slot(x: Any) -> OutlineSlot | None:
    """Return the slot of a value of a graph in an outline; None for a user's tensor, which is returned as it is."""
    if isinstance(x, GraphTensor):
        return OutlineSlot("tensor", x.type)
    return OutlineSlot(x.category, x.type) if isinstance(x, (GraphNumber, OutlineSlot)) else None


def tensor_slot(x: Any) -> OutlineSlot | None:
    """Return a slot as `value_slot` does, but for every tensor, parameters too: Python sees its value at run time."""
    return OutlineSlot("tensor", x.type) if isinstance(x, Tensor) else value_slot(x)


def _shown(outline: Any) -> str:
    """Return an outline as one line of text: constants, and types for values known only at run time."""
    if isinstance(outline, OutlineSlot):
        return str(outline.type) if outline.category == "tensor" else outline.category
    if isinstance(outline, RunTimeText):
        return repr(outline.with_values(_Shown))
    if isinstance(outline, (tuple, list)):
        inside = ", ".join(map(_shown, outline))
        return f"[{inside}]" if isinstance(outline, list) else f"({inside})"
    text = repr(outline)
    return text if len(text) <= 60 and "\n" not in text else f"<{type(outline).__name__}>"


class _Shown:
    """Shows a run-time value in a text, for any format."""

    def __init__(self, outline: Any):
        self.text = "{" + _shown(outline) + "}"

    def __format__(self, spec: str) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def as_python(tensors: Sequence[Tensor], categories: Sequence[str]) -> list[Any]:
    """Return tensors as Python values: those that represent numbers become numbers."""
    return [x if category == "tensor" else NUMBERS[category][0](x.item()) for x, category in zip(tensors, categories, strict=True)]
