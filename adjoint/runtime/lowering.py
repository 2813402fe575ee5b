"""Lowering: while a function is made into a graph, this stands where a tape would stand, and ops become nodes.

The frontend runs the function's tree; tensors in it are symbolic.  Whatever computes on them, the user's code or the library's, ends
in `apply` or one of its kin, and these ask the thread's tape: a tape records what has been computed, a `Lowering` emits what
is to be computed.
"""

from __future__ import annotations

import enum
import functools
import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from adjoint.diagnostics import CompileError, Loc
from adjoint.frontend import errors
from adjoint.frontend.branches import Unreachable
from adjoint.frontend.calls import Lowerer
from adjoint.frontend.text import RunTimeText
from adjoint.frontend.world import Kind
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Host, Literal, Module, Region, Value
from adjoint.ir.op import Op
from adjoint.ir.ops import elementwise as ew
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.control import Gradient, Pull, Record
from adjoint.ir.ops.host import Apply, Attach, Hook, Outputs
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.shape import Broadcast, Concat, Reshape
from adjoint.ir.ops.stack import Undef
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import BOOL, F32, F64, I64, U64, TensorType, scalar, tensor
from adjoint.runtime import context
from adjoint.runtime.cell import Cell, _replaced, _tensors
from adjoint.runtime.escapes import with_escapes
from adjoint.runtime.grad import checked_sens, differentiated, flat_tensors, mapped_tensors
from adjoint.runtime.graph import CellSite, Check, Graph, Registration, Slots, Unfitting, site_key
from adjoint.runtime.graph_values import GraphNumber, GraphTensor
from adjoint.runtime.guards import Guards
from adjoint.runtime.hooks import check_hook, described
from adjoint.runtime.location import receiver
from adjoint.runtime.outline import Slot, filled, outline_key, outlined, slots_of
from adjoint.runtime.parameter import Parameter
from adjoint.runtime.program import zeros
from adjoint.runtime.promotion import common_dtype, scalar_dtype
from adjoint.runtime.state import state
from adjoint.runtime.templates import Template
from adjoint.runtime.tensor import Tensor, as_tensor, dtype_argument

__all__ = ["Lowered", "Lowering", "lowered"]

_OF_ALL_BELOW = frozenset({
    "cells_and_names", "get_parameters", "parameters_and_names", "parameters_dict", "trainable_params", "untrainable_params",
})
"""Methods of a cell that tell about all cells below."""
_WITHOUT_PARTS = frozenset({int, float, bool, str, bytes, complex, type(None), GraphTensor, GraphNumber})
_WITHOUT_STATE = frozenset({"builtins", "functools", "types", "numpy", "adjoint.frontend.frame", "adjoint.frontend.text",
                            "adjoint.frontend.numbers", "adjoint.runtime.jit"})
"""Modules of classes whose objects have nothing in them that `values.key` does not see."""
_NUMBERS: dict[str, tuple[type, TensorType]] = {
    "bool": (bool, scalar(BOOL)), "int": (int, scalar(I64)), "float": (float, scalar(F64)),
}


class Lowered:
    """A function that has been made into a graph.

    graph      ready to be bound
    guards     what it was made for, beside the types of its arguments
    outline    of its result: what its slots hold are the graph's first results
    written    which arguments the function writes in place: their new numbers are the graph's last results
    decisions  what was assumed of the results of forward hooks, by site
    sites      the site of each `apply!` of such hooks, by its symbol
    """

    def __init__(self, graph: Graph, guards: Guards, outline: Any, written: tuple[int, ...], decisions: dict[Any, Any], sites: dict[str, Any]):
        self.graph, self.guards, self.outline, self.written = graph, guards, outline, written
        self.decisions, self.sites = decisions, sites


def lowered(call: Callable[[Lowering, tuple[Any, ...], dict[str, Any]], Any], arguments: Template, symbol: str, loc: Loc,
            decisions: dict[Any, Any] | None = None, names: Sequence[str] = ()) -> Lowered:
    """Make a graph.

    call       runs the function on the lowering, with the arguments in it
    arguments  (args, kwargs), their tensors taken out
    decisions  what is known of the results of forward hooks, by site
    names      of the tensors among the arguments
    """
    outer, around = state.tape, state.lowering
    try:
        for asks in (False, True):
            state.lowering = lowering = Lowering(symbol, loc, decisions or {}, asks)
            state.tape = lowering  # type: ignore[assignment] - it stands where a tape stands
            try:
                return lowering.run(call, arguments, names)
            except Exception:
                # It may be the assumption that hooks leave structure and types as they are which does not fit.
                if not lowering.assumes:
                    raise
            finally:
                lowering.end()
        raise AssertionError("a lowering that asks assumes nothing")
    finally:
        state.tape, state.lowering = outer, around


class Lowering:
    """One function being made into a graph; the `World` of the frontend, and what ops emit to."""

    emits = True

    def __init__(self, symbol: str, loc: Loc, decisions: dict[Any, Any], asks: bool = False):
        self.symbol, self.start, self.loc = symbol, loc, loc
        self.builder = Builder(loc)
        self.chain: list[Builder] = [self.builder]
        self.guards = Guards()
        self.frontend = Lowerer(self)
        self.state: dict[str, Tensor] = {}
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
        self.named: set[Value] = set()
        """Values that bear a name of the user's: another name that is given to them later does not change it."""
        self.calls = 0

    def run(self, call: Callable[[Lowering, tuple[Any, ...], dict[str, Any]], Any], arguments: Template, names: Sequence[str]) -> Lowered:
        params = [Value(type_, names[i] if i < len(names) else "x") for i, type_ in enumerate(arguments.types)]
        self.named.update(params)
        categories = [arguments.numbers[i].__name__ if i in arguments.numbers else "tensor" for i in range(len(params))]
        leaves = [self.wrapped(Kind(category, param.type), param) for category, param in zip(categories, params, strict=True)]  # type: ignore[arg-type]
        args, kwargs = arguments.build(leaves)
        self.frontend.aliases.given = leaves
        try:
            result = call(self, args, kwargs)
        except Unreachable:
            result = None
        outline, found = outlined(result, self.slot_of)
        written = tuple(i for i, (x, param) in enumerate(zip(leaves, params, strict=True)) if x.atom is not param)
        results = [self.atom(x) for x in (*found, *(leaves[i] for i in written))]
        body = Region(tuple(params), tuple(self.builder.nodes), tuple(results))
        body = with_escapes(body, self.escaped)
        function = Function(self.symbol, body, loc=self.start)
        module = Module({s: x.type for s, x in self.state.items()}, dict(self.declared), {self.symbol: function})
        graph = Graph(module, self.symbol, self.state, self.hosts, self.cell_sites, tuple(self.own_cells))
        self.guards.freeze()
        return Lowered(graph, self.guards, outline, written, self.taken, self.hook_sites)

    def end(self) -> None:
        """Let go of everything: what a lowering refers to is freed at once, cells among it.

        Tensors of the graph that have got out still name this lowering as theirs.
        """
        self.frontend.end()
        del self.frontend
        self.guards = Guards()
        self.state, self.symbols, self.hosts, self.declared, self.cell_sites, self.reads = {}, {}, {}, {}, {}, {}
        self.decisions, self.taken, self.hook_sites, self.kept, self.own_cells = {}, {}, {}, [], []

    # -- emitting ---------------------------------------------------------------------------------------------------------
    def node(self, op: Op, *atoms: Atom) -> Any:
        """Emit a node here; its result, or its results."""
        return self.builder.emit(op, *atoms, loc=self.loc)

    def emit(self, op: Op, operands: Sequence[Tensor]) -> Any:
        """What `apply` does here."""
        made = self.builder.emit_node(op, [self.atom(x) for x in operands], loc=self.loc)
        results = tuple(GraphTensor(self, value, value.type) for value in made.results)  # type: ignore[arg-type]
        return results[0] if len(results) == 1 else results

    def unknown(self, what: str) -> CompileError:
        """The mistake of needing numbers while parsing."""
        return errors.VALUE_NEEDED.at(self.loc, what, help="use operations on the tensor, or pass the number as an argument")

    # -- values -----------------------------------------------------------------------------------------------------------
    def kind(self, x: object) -> Kind | None:
        if isinstance(x, Tensor):
            return Kind("tensor", x.type)
        if isinstance(x, GraphNumber):
            return Kind(x.category, x.type)
        for category, (python, type_) in _NUMBERS.items():
            if type(x) is python and (python is not int or -(2**63) <= x < 2**63):  # type: ignore[operator]
                return Kind(category, type_)
        return None

    def is_dynamic(self, x: object) -> bool:
        return isinstance(x, (Tensor, GraphNumber))

    def is_tensor(self, x: object) -> bool:
        return isinstance(x, Tensor)

    def python_type(self, x: object) -> type:
        return Tensor if isinstance(x, GraphTensor) else type(x)

    def slot_of(self, x: Any) -> Slot | None:
        """The slot that a dynamic value takes in an outline; a tensor of the user's own goes out as it is."""
        if isinstance(x, GraphTensor):
            return Slot("tensor", x.type)
        if isinstance(x, GraphNumber):
            return Slot(x.category, x.type)
        return None

    def atom(self, x: Any) -> Atom:
        if isinstance(x, (GraphTensor, GraphNumber)):
            if x.owner is not self:
                raise errors.NOT_IN_GRAPH.at(self.loc, "this tensor belongs to another graph", help="pass it as an argument")
            if isinstance(x.atom, Value) and x.home not in self.chain:
                self._outside(x)
            return x.atom
        if isinstance(x, Tensor):
            return self._read(x)
        for python, type_ in _NUMBERS.values():
            if type(x) is python:
                if python is int and not -(2**63) <= x < 2**63:
                    raise errors.NUMBER_RANGE.at(self.loc, f"{x} has more than 64 bits", help="compute it outside, or with floats")
                return Literal(x, type_)
        raise TypeError(f"{x!r} of type {type(x).__name__} is no value of a graph")

    def atom_as(self, x: Any, kind: Kind) -> Atom:
        if kind.category != "tensor" or isinstance(x, Tensor):
            return self.atom(x)
        number = x if isinstance(x, GraphNumber) else GraphNumber(self, self.kind(x).category, self.atom(x))  # type: ignore[union-attr]
        atom = self.atom(number.as_tensor(kind.type.dtype))
        return self.node(Broadcast(kind.type), atom) if kind.type.rank else atom

    def joins(self, number: Any, type_: TensorType) -> bool:
        if isinstance(number, GraphNumber):
            number = _NUMBERS[number.category][0]()
        return isinstance(number, (bool, int, float)) and scalar_dtype(type_.dtype, number) is type_.dtype

    def _outside(self, x: GraphTensor | GraphNumber) -> None:
        """A value of a region that has been closed: it can leave a cell, but neither a branch nor a loop."""
        if id(x.home) not in self.cell_homes:
            raise errors.NOT_IN_GRAPH.at(self.loc, f"this value ({self.kind(x)}) was made inside a branch or loop that has ended",
                                         help="assign it to a name that has a value on every path")
        assert isinstance(x.atom, Value)
        self.escaped.add(x.atom)

    def _read(self, x: Tensor) -> Atom:
        """A tensor from outside: a literal, or what its symbol holds at this point of the run."""
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
        """The symbol of a tensor from outside."""
        symbol = self.symbols.get(id(x))
        if symbol is None:
            symbol = self.symbols[id(x)] = self._fresh(x.name if isinstance(x, Parameter) else "constant", self.state)
            self.state[symbol] = x
            self.guards.of_tensor_type(x)
        return symbol

    def _fresh(self, name: str, taken: Any) -> str:
        """A symbol like `name` that is not in use."""
        base = re.sub(r"[^0-9A-Za-z_.]", "_", name) or "x"
        if not (base[0].isalpha() or base[0] == "_"):
            base = "_" + base
        symbol, version = base, 0
        while symbol in taken or symbol in self.state or symbol in self.declared:
            version += 1
            symbol = f"{base}_{version}"
        return symbol

    def wrapped(self, kind: Kind, value: Value) -> Any:
        return GraphTensor(self, value, kind.type) if kind.category == "tensor" else GraphNumber(self, kind.category, value)

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
            return x if kind.category == category else _NUMBERS[category][0](x)
        if x.size != 1:
            return _NUMBERS[category][0](x)  # raises what eager mode raises
        if x.dtype is U64:
            return self.host_number("int", int, x).converted(category)
        atom = self.atom(x)
        if x.ndim:
            atom = self.node(Reshape(scalar(x.dtype)), atom)
        own = "bool" if x.dtype is BOOL else "float" if x.dtype.is_float else "int"
        dtype = _NUMBERS[own][1].dtype
        if x.dtype is not dtype:
            atom = self.node(ew.Cast(dtype), atom)
        if x.dtype.is_float:
            # A Python number is constant for every gradient.
            atom = self.node(ew.StopGradient(), atom)
        return GraphNumber(self, own, atom, 2 ** (8 * x.dtype.size)).converted(category)

    def index(self, key: Any) -> Any:
        if isinstance(key, GraphNumber):
            return key.as_tensor(I64)
        return tuple(self.index(part) for part in key) if isinstance(key, tuple) else key

    def rows(self, x: Any) -> list[Any]:
        if not x.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return [x[i] for i in range(x.shape[0])]

    def place(self, x: object) -> Any:
        return _AtomPlace(x) if isinstance(x, GraphTensor) else None

    def as_tensor(self, number: GraphNumber, beside: Tensor) -> Tensor:
        """A run-time number as the operand of an op beside a tensor."""
        return number.as_tensor(scalar_dtype(beside.dtype, _NUMBERS[number.category][0]()))

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

    # -- Python objects -----------------------------------------------------------------------------------------------------
    def is_cell(self, x: object) -> bool:
        return isinstance(x, Cell)

    def is_library(self, function: object) -> bool:
        if isinstance(function, ModuleType):
            return _of_package(function.__name__)
        if isinstance(function, FunctionType):
            # Not `__module__`: that of a wrapper is what it wraps.
            return _of_package(function.__globals__.get("__name__", ""))
        module = getattr(function, "__module__", None)
        if isinstance(module, str) and not isinstance(function, type) and not hasattr(function, "__qualname__"):
            module = type(function).__module__
        return isinstance(module, str) and _of_package(module)

    def parsed_function(self, function: object) -> Any:
        # A bound method shows the attributes of its function: its object would be lost.
        while getattr(function, "__adjoint_jit__", False) and not isinstance(function, MethodType):
            function = function.__wrapped__  # type: ignore[attr-defined]
        return function

    def convert(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if issubclass(cls, (Cell, Parameter)):
            made = cls(*args, **kwargs)
            if isinstance(made, Cell) and not made.parameters_dict():
                self.own_cells.append(made)
                return made
            raise errors.UNSUPPORTED.at(self.loc, f"a {cls.__name__} is made inside of the graph", help="make it outside, once: in `__init__`")
        if cls is Tensor and args:
            data, *rest = args
            given = dict(zip(("dtype", "shape", "init"), rest, strict=False)) | kwargs
            if isinstance(data, (Tensor, GraphNumber)) or _holds_dynamic(data):
                made = self._stacked(data)
                dtype = given.get("dtype")
                return made.astype(dtype_argument(dtype)) if dtype is not None else made.copy()
        made = cls(*args, **kwargs)
        if type(made) is not Tensor:
            return made
        # Each run has one of its own, which it may write in place, hang hooks on and return.
        atom = self.atom(made)
        return GraphTensor(self, atom if isinstance(atom, Literal) else self.node(ew.StopGradient(), atom), made.type)

    def _stacked(self, data: Any) -> Tensor:
        """Nested lists with dynamic values in them as one tensor."""
        if isinstance(data, GraphNumber):
            return data.as_tensor(F32 if data.category == "float" else data.type.dtype)
        if isinstance(data, (list, tuple)):
            return self._rows_together([self._stacked(item) for item in data])
        return as_tensor(data)

    def _rows_together(self, parts: Sequence[Tensor]) -> Tensor:
        """Tensors of one shape as the rows of one."""
        dtype = functools.reduce(common_dtype, [x.dtype for x in parts])
        rows: list[Atom] = []
        for x in parts:
            if x.shape != parts[0].shape:
                raise ValueError(f"For 'Tensor', the nested lists must have equal lengths, but got tensors of shape {parts[0].shape} and {x.shape}.")
            atom = self.atom(x)
            atom = atom if x.dtype is dtype else self.node(ew.Cast(dtype), atom)
            rows.append(self.node(Reshape(tensor(dtype, (1, *x.shape))), atom))
        return GraphTensor(self, self.node(Concat(0), *rows), tensor(dtype, (len(rows), *parts[0].shape)))

    def store_attribute(self, holder: Any, name: str, value: Any) -> bool:
        if not isinstance(holder, Cell):
            return False
        target = holder._params.get(name)
        if target is None:
            return False
        if not isinstance(value, (Tensor, GraphNumber)):
            return False
        if isinstance(value, Parameter) and value is not target:
            raise errors.UNSUPPORTED.at(self.loc, f"another Parameter is put in the place of '{name}'",
                                        help=f"write its numbers: `ops.assign(self.{name}, value)`, or replace it outside")
        given = value if isinstance(value, Tensor) else value.as_tensor(target.dtype)
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
        if type(holder) is super:
            # What it finds stands in a class; it would keep its object alive.
            classes = holder.__self_class__.__mro__  # type: ignore[attr-defined]
            for above in classes[classes.index(holder.__thisclass__) + 1 :]:  # type: ignore[attr-defined]
                self.guards.of_attribute(above, name)
                if name in above.__dict__:
                    break
            return
        self.guards.of_attribute(holder, name)

    def read_object(self, x: object) -> None:
        if isinstance(x, GraphTensor):
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
            self.guards.of_object(x)

    def read_numbers(self, x: Tensor) -> None:
        """Python reads the numbers of a tensor from outside, now."""
        self.guards.of_numbers(x)

    def read_setting(self, read: Callable[[str], Any], name: str) -> None:
        """The library reads a setting of the context for the user."""
        self.guards.of_setting(read, name)

    def read_count(self) -> int:
        return self.guards.count()

    def unread(self, since: int, until: int) -> None:
        self.guards.forget(since, until)

    def call_depth(self) -> int:
        return context.call_depth()

    # -- state --------------------------------------------------------------------------------------------------------------
    def write(self, target: Tensor, value: Tensor) -> None:
        """A tensor from outside is assigned when the graph runs."""
        self.builder.emit(Write(self.symbol_of(target)), self.atom(value), loc=self.loc)
        self.reads.clear()

    def draw(self, seed: int | None) -> Tensor:
        """The key of the next random draw."""
        return GraphTensor(self, self.node(Draw(seed or 0)), tensor(U64, (2,)))

    # -- effects ------------------------------------------------------------------------------------------------------------
    def effect(self, name: str, function: Callable[..., Any], values: Sequence[Any]) -> None:
        self.host_call(name, lambda *given: function(*given), tuple(values), ())
        outline = outlined(tuple(values), self.effect_slot)[0]
        self.declared[next(reversed(self.hosts))] = Host(f"{name}{_shown(outline)}", self.loc)

    def check(self, check: Callable[..., Any], tensors: Sequence[Any]) -> None:
        """A check of values that the library makes: when the graph runs."""
        self.host_call(f"check_{getattr(check, '__name__', 'values')}", lambda *given: (check(*given), None)[1], tuple(tensors), ())
        symbol = next(reversed(self.hosts))
        self.hosts[symbol] = Check(self.hosts[symbol])

    def host_call(self, name: str, function: Callable[..., Any], values: Any, results: Sequence[TensorType]) -> tuple[Value, ...]:
        """`function(*values)` when the graph runs; it gives None, or tensors of the types `results`."""
        outline, leaves = outlined(values, self.effect_slot)
        categories = [slot.category for slot in slots_of(outline)]
        symbol = self._host(name, lambda *tensors: function(*filled(outline, _real(tensors, categories))), name)
        node = self.builder.emit_node(Apply(symbol, tuple(results)), [self.atom(x) for x in leaves], loc=self.loc)
        self.reads.clear()
        return node.results

    def effect_slot(self, x: Any) -> Slot | None:
        """As `slot_of`; a parameter is one too: Python is to see what it holds then."""
        return Slot("tensor", x.type) if isinstance(x, Tensor) else self.slot_of(x)

    def host_number(self, category: str, function: Callable[..., Any], *numbers: Any) -> GraphNumber:
        """What Python computes of numbers, when the graph runs."""
        python, type_ = _NUMBERS[category]
        loc, name = self.loc, getattr(function, "__name__", "number")

        def computed(*given: Any) -> Tensor:
            found = function(*given)
            fits = isinstance(found, float) if category == "float" else isinstance(found, int) and -(2**63) <= found < 2**63
            if not fits:
                shown, kind = " and ".join(map(repr, given)), f"{category} of 64 bits" if isinstance(found, int) else category
                raise errors.NUMBER_RANGE.at(loc, f"`{name}` of {shown} is no {kind}",
                                             help="compute it outside and pass it as an argument, or compute with floats")
            return Tensor(np.asarray(python(found), type_.dtype.array))

        (value,) = self.host_call(name, computed, tuple(numbers), (type_,))
        return GraphNumber(self, category, value, 2**63 - 1)

    def _host(self, name: str, host: Any, reference: str) -> str:
        symbol = self._fresh(name, self.hosts)
        self.hosts[symbol] = host
        self.declared[symbol] = Host(reference, self.loc)
        return symbol

    # -- hooks --------------------------------------------------------------------------------------------------------------
    def hook(self, kind: str, function: Any, operands: Sequence[Tensor], title: str) -> tuple[Tensor, ...]:
        """New names for tensors behind a `HookBackward` or `InsertGradientOf`."""
        function = self.frontend.as_python(function)
        symbol = self._host(getattr(function, "__name__", "hook"), (function, kind, title), described(function))
        node = self.builder.emit_node(Hook(symbol, kind=kind), [self.atom(x) for x in operands], loc=self.loc)
        return tuple(GraphTensor(self, value, value.type) for value in node.results)  # type: ignore[arg-type]

    def attach(self, x: Tensor, hook_fn: Callable[..., Any]) -> Any:
        """`x.register_hook(hook_fn)` when the graph runs."""
        check_hook(hook_fn)
        hook_fn = self.frontend.as_python(hook_fn)
        if not isinstance(x, GraphTensor):
            what = f"the Parameter '{x.name}'" if isinstance(x, Parameter) else "a tensor from outside"
            raise errors.REGISTERED_INSIDE.at(self.loc, f"a hook is registered on {what}", help="register it outside, once")
        registration = Registration(hook_fn)
        name = receiver(self.loc) or getattr(x.atom, "hint", "value")
        symbol = self._host(f"{name}.hook", registration, described(hook_fn))
        self.builder.emit(Attach(symbol), self.atom(x), loc=self.loc)
        return _LateHandle(self, registration)

    def registered_inside(self) -> CompileError:
        """The mistake of registering or removing a hook of something that outlives the graph."""
        return errors.REGISTERED_INSIDE.at(self.loc, "a hook of a cell, a parameter or a tensor from outside is registered or removed",
                                           help="do it outside; a hook may also do it when it runs")

    # -- cells --------------------------------------------------------------------------------------------------------------
    def call_cell(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.cell(cell, args, kwargs)

    def cell(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a cell: its hooks as nodes around a region of its own."""
        ordinal, self.calls = self.calls, self.calls + 1
        pattern = self.decisions.get((ordinal, "slots")) or Slots.of(cell)
        self.taken[ordinal, "slots"] = pattern
        self.guards.of_slots(cell)
        reference = weakref.ref(cell)
        loc = self.loc
        if pattern.forward_pre:

            def before(given: Any) -> Any:
                here = _live(reference)
                return here._forward_pre(here._hooks, *given) if here._hooks is not None else given

            args, kwargs = self._forward_hooks((ordinal, "forward_pre"), cell, (args, kwargs), (args, kwargs), before)
        called = (args, kwargs)
        output = self._region(cell, args, kwargs, pattern, reference, ordinal)
        self.loc = loc
        if pattern.forward:

            def after(given: Any) -> Any:
                here = _live(reference)
                (args_, kwargs_), output_ = given
                return here._forward(here._hooks, args_, kwargs_, output_) if here._hooks is not None else output_

            output = self._forward_hooks((ordinal, "forward"), cell, (called, output), output, after)
        if pattern.backward_pre:
            tensors = _tensors(output)
            if tensors:
                symbol = self._host(f"{cell.title}.pre", _CellReference(reference), self._hooks_text(cell, "backward_pre"))
                node = self.builder.emit_node(Outputs(symbol), [self.atom(x) for x in tensors], loc=self.loc)
                made = [GraphTensor(self, value, value.type) for value in node.results]  # type: ignore[arg-type]
                output = _replaced(output, made)
        return output

    @staticmethod
    def _hooks_text(cell: Cell, kind: str) -> str:
        assert cell._hooks is not None
        return ", ".join(described(hook.function) for hook in getattr(cell._hooks, kind).values())

    def _forward_hooks(self, site: Any, cell: Cell, given: Any, assumed: Any, run: Callable[[Any], Any]) -> Any:
        """Forward hooks as an `apply!`: `run(given)` when the graph runs, of which the result is assumed to be like `assumed`."""
        if site in self.decisions:
            expected = self.decisions[site]
        elif self.asks:
            self._asked(site, cell, given, run)
        else:
            expected = outlined(assumed, _hooked_slot)[0]
            self.assumes = True
        self.taken[site] = expected
        wanted = outline_key(expected)

        def fire(given_: Any) -> Any:
            outline, found = outlined(run(given_), _hooked_slot)
            categories = [slot.category for slot in slots_of(outline)]
            tensors = [x if c == "tensor" else Tensor(x) for x, c in zip(found, categories, strict=True)]
            return tensors if outline_key(outline) == wanted else Unfitting(tensors, outline)

        slots = slots_of(expected)
        results = self.host_call(f"{cell.title}.{site[1]}", fire, (given,), [slot.type for slot in slots])
        symbol = next(reversed(self.hosts))
        self.declared[symbol] = Host(self._hooks_text(cell, site[1]), self.loc)
        self.hook_sites[symbol] = site
        return filled(expected, [self.wrapped(Kind(slot.category, slot.type), value) for slot, value in zip(slots, results, strict=True)])

    def _asked(self, site: Any, cell: Cell, given: Any, run: Callable[[Any], Any]) -> NoReturn:
        """Forward hooks of which nothing is known: the graph ends here, and what they give decides how it goes on."""

        def fire(given_: Any) -> Any:
            outline, found = outlined(run(given_), _hooked_slot)
            return Unfitting([x if isinstance(x, Tensor) else Tensor(x) for x in found], outline)

        self.host_call(f"{cell.title}.{site[1]}", fire, (given,), ())
        self.hook_sites[next(reversed(self.hosts))] = site
        raise Unreachable

    def _region(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any], pattern: Slots,
                reference: Callable[[], Cell | None], ordinal: int) -> Any:
        """Construct as a region: arguments and results get names of their own."""
        library = self.is_library(type(cell).construct)
        if library:
            self.guards.of_cell(cell)
        self.guards.of_attribute(cell, "construct")
        self.guards.of_attribute(cell, "bprop")
        self.guards.of_attribute(cell, "_compute")
        loc, ends = self.loc, False
        restore: dict[str, Any] | None = None
        if cell._compute is not None:
            args, kwargs, restore = cell._lowered(args, kwargs)
        tensors = [x for x in args if isinstance(x, Tensor)]
        operands = [self.atom(x) for x in tensors]
        params = [Value(a.type, getattr(a, "hint", "x")) for a in operands]
        self.named.update(params)
        self.open()
        try:
            inner = [GraphTensor(self, p, p.type) for p in params]  # type: ignore[arg-type]
            inside = iter(inner)
            own = tuple(next(inside) if isinstance(x, Tensor) else x for x in args)
            output = None
            try:
                output = cell.construct(*own, **kwargs) if library else self.frontend.call(cell.construct, own, kwargs)
            except Unreachable:
                ends = True
            results = _tensors(output)
            yielded = [self.atom(x) for x in results]
        finally:
            builder = self.close()
            self.cell_homes.add(id(builder))
            if restore is not None:
                cell.__dict__.update(restore)
        region = builder.finish(yielded, params)
        symbol = self._host(cell.title, _CellReference(reference), self._hooks_text(cell, "backward")) if pattern.backward else ""
        if cell.bprop is not None and _is_nested((args, kwargs, output)):
            raise errors.UNSUPPORTED.at(loc, f"{type(cell).__name__} has a `bprop`, and tensors stand inside of its arguments or result",
                                        help="give each tensor as an argument of its own, and return a tuple of tensors")
        rule = self._host(f"{cell.title}.bprop", _CellReference(reference), described(cell.bprop)) if cell.bprop is not None else ""
        self.loc = loc
        node = self.builder.emit_node(CellOp(cell.title, symbol, rule), operands, regions=[region],
                                      hint=_last_part(cell.title), loc=loc)
        outside = [GraphTensor(self, value, value.type) for value in node.results]  # type: ignore[arg-type]
        for given, x, param in zip(tensors, inner, params, strict=True):
            if x.atom is not param:
                raise errors.UNSUPPORTED.at(self.loc, f"`{cell.title}` writes its argument in place",
                                            help="let it write into a copy, `x = x.copy()`, and return that")
            for result, made in zip(results, outside, strict=True):
                if result is x:
                    self.frontend.aliases.may_be(made, given)
        key = site_key(node)
        if key is not None:
            self.cell_sites[key] = CellSite(
                reference, _rebuilt(args, kwargs, Tensor), _rebuilt_output(output), pattern, ordinal,
                _is_nested((args, kwargs, output)))
        if ends:
            raise Unreachable
        return _replaced(output, outside)

    # -- gradients ------------------------------------------------------------------------------------------------------------
    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of the user's, parsed."""
        return self.frontend.call(function, args, kwargs)

    def differentiate(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], positions: Sequence[int], weights: Sequence[Parameter],
                      sens: Any = None, has_aux: bool = False,
                      sens_of: Callable[[Any], Any] | None = None) -> tuple[Any, list[Any], list[Tensor]]:
        """A gradient inside of the graph: see `runtime.grad.differentiate`."""
        inner = self._differentiated(fn, args, kwargs, positions, weights, has_aux)
        outputs = inner.outputs
        if inner.ends:
            sens = sens_of = None
        if sens_of is not None:
            # Cotangents like the results: of these only the types are asked for.
            sens = sens_of(inner.result)
        sent = [] if sens is None else [s for x, s in zip(outputs, checked_sens(outputs, sens), strict=True) if x.dtype is not BOOL]
        result, rest = self._ran(Gradient(*inner.attributes), inner, [self.atom(s) for s in sent])
        return result, *self._by_leaf(inner, rest)

    def record(self, fn: Any, args: tuple[Any, ...], positions: Sequence[int], weights: Sequence[Parameter],
               has_aux: bool) -> tuple[Any, list[Tensor], Callable[[Sequence[Tensor]], tuple[list[Any], list[Tensor]]]]:
        """A function that runs here, its adjoint where it is asked for: the result, what of it is differentiated, and the pullback."""
        inner = self._differentiated(fn, args, {}, positions, weights, has_aux)
        result, (trace,) = self._ran(Record(*inner.attributes), inner, ())
        trace.hint, home, outputs = "t", self.builder, differentiated(result, has_aux)

        def pullback(cotangents: Sequence[Tensor]) -> tuple[list[Any], list[Tensor]]:
            if state.lowering is not self:
                raise errors.NOT_IN_GRAPH.at(self.loc, "this pullback belongs to another graph",
                                             help="call it in the function that calls `vjp`")
            if home not in self.chain:
                raise errors.NOT_IN_GRAPH.at(self.loc, "this pullback was made inside a branch, loop or cell that has ended",
                                             help="call it there, and go on with the gradients")
            sent = [self.atom(ct) for x, ct in zip(outputs, cotangents, strict=True) if x.dtype is not BOOL]
            node = self.builder.emit_node(Pull(), [trace, *(sent or [_NOTHING])], loc=self.loc)
            # Hooks run here, and may write.
            self.reads.clear()
            return self._by_leaf(inner, node.results)

        return result, outputs, pullback

    def _differentiated(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], positions: Sequence[int],
                        weights: Sequence[Parameter], has_aux: bool) -> _Differentiated:
        """Call a function in a region of its own, by whose arguments it is to be differentiated."""
        loc, ends = self.loc, False
        leaves = [x for position in positions for x in flat_tensors(args[position])]
        operands = [self.atom(x) for x in leaves]
        params = [Value(a.type, getattr(a, "hint", "x")) for a in operands]
        self.named.update(params)
        for w in weights:
            self.guards.of_attribute(w, "requires_grad")
        trained = list(dict.fromkeys(w for w in weights if w.requires_grad))
        self.open()
        try:
            inside = iter([GraphTensor(self, p, p.type) for p in params])  # type: ignore[arg-type]
            given = list(args)
            for position in positions:
                given[position] = _with_tensors(args[position], inside)
            try:
                result = self.frontend.call(fn, tuple(given), kwargs)
            except Unreachable:
                # Nothing is left to differentiate; the run does not get here.
                outputs, ends = [GraphTensor(self, self.node(Undef((scalar(F32),))), scalar(F32))], True
                result = outputs[0]
            else:
                outputs = differentiated(result, has_aux)
            outline, found = outlined(result, self.effect_slot)
            # Bools have no gradient; a function of nothing else is differentiated by a constant.
            chosen = [x for x in outputs if x.dtype is not BOOL] or [GraphTensor(self, _NOTHING, scalar(F32))]
            order = [*chosen, *(x for x in found if not any(x is c for c in chosen))]
            yielded = [self.atom(x) for x in order]
        finally:
            builder = self.close()
        self.loc = loc
        region = builder.finish(yielded, params)
        return _Differentiated(operands, region, result, outputs, order, outline, found, len(chosen), trained, ends,
                               tuple(self.symbol_of(w) for w in trained), args, positions, weights)

    def _ran(self, op: Op, inner: _Differentiated, more: Sequence[Atom]) -> tuple[Any, Sequence[Value]]:
        """Emit the node of a function that has been called in a region of its own; its result, and the node's further results."""
        node = self.builder.emit_node(op, [*inner.operands, *more], regions=[inner.region], loc=self.loc)
        self.reads.clear()
        if inner.ends:
            raise Unreachable
        made = [self.wrapped(kind, v) if (kind := self.kind(x)) else None for x, v in zip(inner.order, node.results, strict=False)]
        places = {id(x): value for x, value in zip(inner.order, made, strict=True)}
        return filled(inner.outline, [places[id(x)] for x in inner.found]), node.results[len(inner.order):]

    def _by_leaf(self, inner: _Differentiated, values: Sequence[Value]) -> tuple[list[Any], list[Tensor]]:
        """The gradients of the arguments, each in its structure, and those of the weights."""
        gradients = [GraphTensor(self, v, v.type) for v in values]  # type: ignore[arg-type]
        left = iter(gradients[: len(inner.region.params)])
        by_position = [mapped_tensors(inner.args[position], lambda x: next(left)) for position in inner.positions]
        by_weight = dict(zip(map(id, inner.trained), gradients[len(inner.region.params) :], strict=True))
        return by_position, [by_weight[id(w)] if id(w) in by_weight else zeros(w.type) for w in inner.weights]


_NOTHING = Literal(0.0, scalar(F32))
"""What is differentiated where a function returns nothing that has a gradient, and its cotangent."""


class _Differentiated(NamedTuple):
    """A function that has been called in a region of its own, to be differentiated.

    operands  its arguments, and `region` what it became
    result    what it returned, of the values inside; `outputs` are those of its tensors that are differentiated
    order     what the region yields: the `of` first are differentiated
    outline   of the result; `found` are the values in its slots
    trained   the weights that take a gradient, and `symbols` theirs
    ends      it does not return
    args      how it was called, by which of these and by which weights it is differentiated
    """

    operands: list[Atom]
    region: Region
    result: Any
    outputs: list[Any]
    order: list[Any]
    outline: Any
    found: list[Any]
    of: int
    trained: list[Parameter]
    ends: bool
    symbols: tuple[str, ...]
    args: tuple[Any, ...]
    positions: Sequence[int]
    weights: Sequence[Parameter]

    @property
    def attributes(self) -> tuple[int, tuple[str, ...], tuple[TensorType, ...]]:
        """Those of the node."""
        return self.of, self.symbols, tuple(w.type for w in self.trained)


class _AtomPlace:
    """What an assignment into a tensor of the graph replaces."""

    def __init__(self, x: GraphTensor):
        self.tensor = x
        self.key = ("atom", id(x))

    def get(self) -> Any:
        x = self.tensor
        kept = GraphTensor(x.owner, x.atom, x.type)
        kept.home = x.home
        return kept

    def set(self, value: Any) -> None:
        self.tensor.atom, self.tensor.home, self.tensor.type = value.atom, value.home, value.type


class _CellReference:
    """What a host symbol of a cell stands for; the graph does not keep the cell alive."""

    def __init__(self, reference: Callable[[], Cell | None]):
        self._reference = reference

    @property
    def cell(self) -> Cell:
        return _live(self._reference)


class _LateHandle:
    """The handle of a hook that is registered when the graph runs."""

    def __init__(self, owner: Lowering, registration: Registration):
        self.owner, self.registration = owner, registration

    def remove(self) -> None:
        """Take the hook out again, when the graph runs."""
        self.owner.effect("remove", self.registration.remove, ())


def _shown(outline: Any) -> str:
    """An outline for people, on one line: constants as they are, types where a value is known at run time only."""
    if isinstance(outline, Slot):
        return str(outline.type) if outline.category == "tensor" else outline.category
    if isinstance(outline, RunTimeText):
        return repr(outline.with_values(_Shown))
    if isinstance(outline, (tuple, list)):
        inside = ", ".join(map(_shown, outline))
        return f"[{inside}]" if isinstance(outline, list) else f"({inside})"
    text = repr(outline)
    return text if len(text) <= 60 and "\n" not in text else f"<{type(outline).__name__}>"


class _Shown:
    """A value of a text that is made at run time, whatever its format."""

    def __init__(self, outline: Any):
        self.text = "{" + _shown(outline) + "}"

    def __format__(self, spec: str) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def _live(reference: Callable[[], Cell | None]) -> Cell:
    cell = reference()
    if cell is None:
        raise RuntimeError("the graph belongs to a cell that is gone")
    return cell


def _hooked_slot(x: Any) -> Slot | None:
    """What a forward hook may give to the graph: tensors, parameters too, as values."""
    if isinstance(x, Tensor):
        return Slot("tensor", x.type)
    return Slot(x.category, x.type) if isinstance(x, (GraphNumber, Slot)) else None


def _real(tensors: Sequence[Tensor], categories: Sequence[str]) -> list[Any]:
    """Tensors as Python sees them: those that stand for numbers as numbers."""
    return [x if category == "tensor" else _NUMBERS[category][0](x.item()) for x, category in zip(tensors, categories, strict=True)]


def _rebuilt(args: tuple[Any, ...], kwargs: dict[str, Any], kind: type) -> Callable[[Sequence[Tensor]], tuple[tuple[Any, ...], dict[str, Any]]]:
    """How a cell's call is built of its positional tensors."""
    places = [isinstance(x, kind) for x in args]
    rest = [None if is_tensor else x for x, is_tensor in zip(args, places, strict=True)]
    others = dict(kwargs)

    def arguments(tensors: Sequence[Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        left = iter(tensors)
        return tuple(next(left) if is_tensor else x for x, is_tensor in zip(rest, places, strict=True)), others

    return arguments


def _is_nested(call: tuple[tuple[Any, ...], dict[str, Any], Any]) -> bool:
    """Whether a call has tensors that are neither positional arguments nor at the top level of its result."""
    args, kwargs, output = call
    own = sum(isinstance(x, Tensor) for x in args) + len(_tensors(output))
    return len(flat_tensors((args, kwargs, output))) > own


def _rebuilt_output(output: Any) -> Callable[[Sequence[Tensor]], Any]:
    def rebuilt(tensors: Sequence[Tensor]) -> Any:
        return _replaced(output, tensors)

    return rebuilt


def _with_tensors(value: Any, tensors: Iterator[Tensor]) -> Any:
    """An argument with its tensors replaced, in order."""
    if isinstance(value, Tensor):
        return next(tensors)
    if not isinstance(value, (tuple, list)):
        return value
    items = [_with_tensors(item, tensors) for item in value]
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def _holds_dynamic(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return any(_holds_dynamic(item) for item in data)
    return isinstance(data, (Tensor, GraphNumber))


def _of_package(module: str) -> bool:
    return module == _PACKAGE or module.startswith(_PACKAGE + ".")


_PACKAGE = __name__.partition(".")[0]


def _last_part(title: str) -> str:
    """A name for what a cell gives: `relu` for "block.relu", `layers_0` for "layers.0"."""
    around, _, last = title.rpartition(".")
    if last.isdigit():
        last = f"{around.rpartition('.')[2] or 'cell'}_{last}"
    return last.lower() if last.isidentifier() else "y"




def hooked_outline(value: Any) -> Any:
    """The outline of what forward hooks gave."""
    return outlined(value, _hooked_slot)[0]


def observed(tensors: Sequence[Tensor]) -> Any:
    """The outline of what forward hooks gave, when it is plain tensors."""
    outline, _ = outlined(tensors[0] if len(tensors) == 1 else tuple(tensors), _hooked_slot)
    return outline
