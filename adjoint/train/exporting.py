"""`export`: functions and networks as C, with their state, a header and a test."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.codegen.errors import NOT_STANDALONE
from adjoint.codegen.standalone.entry import RANDOM, ExportedFunction, used_state
from adjoint.codegen.standalone.hooks import HOOKS, HookField, hook_declaration, hook_name
from adjoint.codegen.standalone.project import OWN_NAMES, START, Project, RecordedCall, StateField
from adjoint.codegen.user_names import TAKEN, free, is_identifier, local_name
from adjoint.common.dtype import float16
from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.files import write_files
from adjoint.ir.core import Function, Node, Value, walk
from adjoint.ir.ops.random import KEY
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.print import print_module
from adjoint.ir.storage import from_compute
from adjoint.ir.types import F32
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.passes.schedule import STANDALONE, STANDALONE_BATCHES
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.execution.text import Loaded, load_ir
from adjoint.runtime.gradients.grad import value_and_grad
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.lowering.lowering import Lowered
from adjoint.runtime.tensor.description import Description
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.random import RandomStream, drawn_from, of_process
from adjoint.runtime.tensor.structure import leaves
from adjoint.runtime.tensor.tensor import Tensor
from adjoint.train.exported_batch import Batch, batches_of
from adjoint.train.exported_graph import ExportedGraph, check_state, stored_as_halves, without_hooks

__all__ = ["export", "exported"]

_OTHERS = ("MINDIR", "AIR", "ONNX")
Array = np.ndarray[Any, Any]


def export(net: Cell | Callable[..., Any], *inputs: Any, file_name: str, file_format: str = "C", gradient: bool = False,
           also: Mapping[str, Sequence[Any]] | None = None, prefix: str | None = None, max_steps: int | None = None,
           max_batch: int | None = None, fma: bool = False, libm: bool = False, storage: str = "float32", force: bool = False,
           **kwargs: Any) -> None:
    """Write a network, a function of tensors or a training step as C99 that needs neither Python nor this package.

    net          a Cell or a function.  A Cell is taken as it is without training, unless an optimiser is part of it
    inputs       the arguments: tensors of the sizes that the C has, and numbers, which are constants in C
    file_name    where the files go: `folder/net` gives `net.h`, `net.c`, `net_test.c`, `CMakeLists.txt` in the folder, and
        `net_weights.c` if there are parameters.  The folder is made if needed
    file_format  "C"
    gradient     True: there is also a function that returns the result and its gradients, by floating arguments and trained parameters, of
        the network as it is in training
    also         more functions that share the parameters: `{"predict": (net, images)}`, by their names in C, each with its arguments
    prefix       begins the name of every symbol; by default the name of the files
    max_steps    the largest number of rounds of a loop that keeps values for its gradient, if the number is known only when it runs: past
        it C returns a status
    max_batch    the largest number of rows: C functions then take the number, from 1 on, as argument `batch`, and have the bits of calls
        here with so many.  Rows are the first size of the first tensor of a function, and of each other tensor with the same one; or, if
        any tensor is given as `Tensor(shape=[None, 64], dtype=float32)`, the sizes that are None, and no others
    fma          True: products and sums are fused, and the bits are those of ADJOINT_CPU=avx2; else those of ADJOINT_CPU=baseline
    libm         True: elementary functions are those of <math.h>: a smaller program, whose bits depend on the C library
    storage      "float16": float32 Parameters that no function changes are kept as float16, in half the flash, and converted in the arena
        when they are used: the bits are those of a network whose Parameters were rounded so.  Others stay as they are: small updates
        would be lost in them
    force        True: files that exist are overwritten

    The C functions have a pointer to a context as first argument, then one for each tensor and each result: contiguous arrays in row-major
    order.  The context, a struct, has what they change (parameters, optimiser state, numbers in attributes, the stream of random numbers)
    and memory for intermediate values; nothing else is allocated.  Parameters that they only read are constants.  They return 0, or a
    status that the header explains.  The test calls them with `inputs`, and compares their results with those that they have here: it
    prints whether the bits are equal, and fails if a number is further away than rounding explains.

    What Python keeps from call to call is state in C too if it is a Tensor, an int or a float: `self.n += 1`.  What decides which program
    runs, such as a bool, a str or None, must not change: `Tensor(False)` may.  Hooks on gradients are pointers to functions in the context.

    CompileError with the user's line for what C without Python cannot do: other hooks, prints, sizes that are not known, a constant that a
    call changes.  FileExistsError for files that exist.  ValueError for names that C does not allow, and for MindSpore's other formats and
    options; TypeError for other arguments, and for results that are no Tensors.
    """
    if file_format != "C":
        kept = "; `save_checkpoint` keeps parameters" if file_format in _OTHERS else ""
        raise ValueError(f"For 'export', the argument 'file_format' must be 'C', but got {file_format!r}: a network leaves Python as C here"
                         f"{kept}.")
    for name, value in kwargs.items():
        if value is not None:
            raise ValueError(f"For 'export', the argument {name!r} is one of MindSpore's other formats, and has no meaning for C.")
    exported(net, inputs, file_name, gradient=gradient, also=also, prefix=prefix, max_steps=max_steps, max_batch=max_batch, fma=fma,
             libm=libm, storage=storage, force=force)


def exported(net: Any, inputs: Sequence[Any], file_name: str, *, gradient: bool, also: Mapping[str, Sequence[Any]] | None,
             prefix: str | None, max_steps: int | None, max_batch: int | None, fma: bool, libm: bool, storage: str, force: bool,
             seed: int = 0) -> list[str]:
    """Write a program as C, and return the paths of its files: see `export`.

    seed  of the numbers in the test for tensors that are only described
    """
    if not isinstance(net, Cell) and (not callable(net) or isinstance(net, type)):
        raise TypeError(f"For 'export', the argument 'net' must be a Cell or a function, but got {net!r} of type {type(net).__name__}.")
    if not isinstance(file_name, str) or not file_name:
        raise TypeError(f"For 'export', the argument 'file_name' must be a str, but got {file_name!r} of type {type(file_name).__name__}.")
    for name, value in (("gradient", gradient), ("fma", fma), ("libm", libm), ("force", force)):
        if not isinstance(value, bool):
            raise TypeError(f"For 'export', the argument {name!r} must be a bool, but got {value!r} of type {type(value).__name__}.")
    for name, number in (("max_steps", max_steps), ("max_batch", max_batch)):
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 1):
            raise ValueError(f"For 'export', the argument {name!r} must be an int of at least 1, but got {number!r}.")
    if storage not in ("float32", "float16"):
        raise ValueError(f"For 'export', the argument 'storage' must be 'float32' or 'float16', but got {storage!r}.")
    path = Path(file_name.removesuffix(".c"))
    if not path.name or re.search(r'["\\$;<>\n]', path.name):
        raise ValueError(f"For 'export', the last part of 'file_name' is the name of files that C includes, and cannot be {path.name!r}: "
                         "use letters, digits, '_' and '-'.")
    symbols = _prefix(path.name if prefix is None else prefix, of_files=prefix is None)
    own = _own_name(net)
    functions = [_Wanted(own, net, inputs)]
    if gradient:
        functions.append(_Wanted("gradient" if own in ("forward", symbols) else f"{own}_gradient", net, inputs, gradient=True))
    for name, (target, *given) in (also or {}).items():
        _check_name(name, [function.name for function in functions])
        functions.append(_Wanted(name, target, given))
    for function in functions:
        for array in leaves([*function.inputs], np.ndarray):
            raise TypeError(f"For 'export', an argument of {function.name!r} is a NumPy array of shape {array.shape}: what C is given are "
                            "Tensors, so pass `Tensor(array)`; an array that is a constant belongs into the function.")
    if max_batch is None:
        _check_sizes(functions)
    else:
        batches = batches_of([function.inputs for function in functions], max_batch, seed)
        functions = [replace(function, batch=batch) for function, batch in zip(functions, batches, strict=True)]
    texts = _Program(path.name, symbols, functions, max_steps, halves=storage == "float16").project(fma, libm).texts()
    files = {str(path.parent / name): text.encode() for name, text in texts.items()}
    write_files(files, force=force, owner="export")
    return [*files]


def _check_sizes(functions: Sequence[_Wanted]) -> None:
    """ValueError for an argument whose size is not known."""
    for x in leaves([function.inputs for function in functions], Tensor):
        if isinstance(x, Description):
            raise ValueError(f"For 'export', an input of shape {[None if size < 0 else size for size in x.shape]} has sizes that are not "
                             "known, but C has room for a largest number: give it with max_batch=32 (`adjoint export --max-batch 32`).")


def _prefix(name: Any, of_files: bool) -> str:
    """Return the prefix of all symbols; ValueError if it is not allowed in C."""
    if not isinstance(name, str):
        raise TypeError(f"For 'export', the argument 'prefix' must be a str, but got {name!r} of type {type(name).__name__}.")
    if not is_identifier(name) or name in TAKEN:
        given = "the last part of 'file_name', which begins the names of all C functions," if of_files else "'prefix'"
        better = local_name("".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)) or "net"
        kind = "is a keyword of C, or one of its functions" if is_identifier(name) else "is no C identifier"
        raise ValueError(f"For 'export', {given} {kind}: {name!r}. Give another one: prefix={better!r} "
                         f"(`adjoint export --prefix {better}`).")
    return name


def _own_name(target: Any) -> str:
    """Return the name of a function in C, without the prefix."""
    if isinstance(target, Cell):
        return "step" if _trains(target) else "forward"
    name = getattr(target, "__name__", "forward")
    return free(name, OWN_NAMES) if is_identifier(name) else "forward"


def _check_name(name: Any, taken: Sequence[str]) -> None:
    """ValueError if a function of `also` cannot have a name in C."""
    if not isinstance(name, str):
        raise TypeError(f"For 'export', the names in 'also' must be str, but got {name!r} of type {type(name).__name__}.")
    own = name in OWN_NAMES
    if not is_identifier(name) or own or name.lower() in map(str.lower, taken):  # macros have the name in capitals
        kind = "is no C identifier" if not is_identifier(name) else "has another meaning there" if own else "is there twice"
        raise ValueError(f"For 'export', the function {name!r} of 'also' is part of the name of a C function, and {kind}: give it another "
                         "name, such as 'predict'.")


def _trains(cell: Cell) -> bool:
    """Return True if an optimiser is part of a cell."""
    return any(isinstance(part, Optimizer) for _, part in cell.cells_and_names())


@dataclass(frozen=True)
class _Wanted:
    """A function to export.

    name      in C, without the prefix
    target    a Cell or function
    inputs    its arguments
    gradient  whether the C function computes its value and gradients
    batch     the rows of the arguments, if they may have any number of them up to a largest one
    """

    name: str
    target: Any
    inputs: Sequence[Any]
    gradient: bool = False
    batch: Batch | None = None


class _Made:
    """A function that is exported, as a graph: see `_Program`.

    results   the names of its results
    trained   the symbols that C code outside of the functions may change: those of gradients
    module    the IR without cells and gradients in it
    values    the tensors that symbols refer to, as they are stored
    hooks     for each symbol of hooks its key
    versions  the function for each number of rows, of which this one has the most; itself, by 0, if that is fixed
    """

    def __init__(self, wanted: _Wanted, state: ExportedGraph, results: Sequence[str], inputs: Sequence[Tensor],
                 trained: frozenset[str] = frozenset()):
        self.name, self.state, self.results, self.inputs, self.trained = wanted.name, state, results, inputs, trained
        self.module = (STANDALONE if wanted.batch is None else STANDALONE_BATCHES).run(state.module)
        self.values = state.values
        self.hooks: dict[str, Any] = {}
        self.versions: dict[int, _Made] = {0: self}
        self.recorded = [0]

    @property
    def function(self) -> Function:
        """Return the function without cells and gradients in it."""
        return self.module.functions[self.symbol]

    @property
    def used(self) -> dict[str, bool]:
        """Return the symbols of state that any version uses, and for each whether one writes it."""
        found: dict[str, bool] = {}
        for version in self.versions.values():
            for symbol, written in used_state(version.function.body).items():
                found[symbol] = found.get(symbol, False) or written
        return found

    def halve(self, symbols: Sequence[str]) -> None:
        """Store parameters as float16; ValueError for one with a number that is too large."""
        for version in self.versions.values():
            version.module = stored_as_halves(version.module, symbols)
        for symbol in symbols:
            value = self.values[symbol]
            rounded = self.values[symbol] = value.astype(float16)
            if not np.array_equal(np.isfinite(rounded.asnumpy()), np.isfinite(value.asnumpy())):
                raise ValueError(f"For 'export', the Parameter {self.state.titles[symbol]!r} has numbers beyond 65504, the largest "
                                 "float16: leave storage='float16' out, or scale it.")

    def hook(self, node: Node) -> Any:
        """Return a key of the hook that a node calls: equal for the same hook in other functions."""
        key = hook_declaration(node, hook_name(node)), self.module.hosts[node.op.symbol].reference
        return self.hooks.setdefault(node.op.symbol, key)

    @property
    def symbol(self) -> str:
        return self.state.function.symbol


class _Program:
    """Functions that share their state, as one program.

    name       begins the names of files
    prefix     begins all symbols in C
    functions  the functions
    max_steps  the largest number of rounds of a loop that keeps values for its gradient
    halves     whether float32 Parameters that no function changes are stored as float16
    """

    def __init__(self, name: str, prefix: str, functions: Sequence[_Wanted], max_steps: int | None, halves: bool = False):
        self.name, self.prefix, self.max_steps = name, prefix, max_steps
        self.made = [_made(function) if function.batch is None else _made_for_each(function, function.batch) for function in functions]
        check_state([version.state for made in self.made for version in made.versions.values()])
        self.fields: dict[Any, StateField] = {}
        changed = {made.state.keys.get(symbol, symbol) for made in self.made
                   for symbol, written in made.used.items() if written or symbol in made.trained}
        if halves:
            for made in self.made:
                made.halve([symbol for symbol, value in made.state.values.items() if made.state.keys[symbol] not in changed
                            and isinstance(value, Parameter) and value.dtype is F32 and value.size > 1])
        taken = {*TAKEN, *OWN_NAMES, *(made.name for made in self.made), *(f"{made.name}_" for made in self.made)}
        self.hooks: dict[Any, HookField] = {}
        names = set(TAKEN)
        for made in self.made:
            for node in walk(made.function.body):
                if isinstance(node.op, HOOKS) and (key := made.hook(node)) not in self.hooks:
                    name = free(local_name(hook_name(node)), names)
                    names.add(name)
                    self.hooks[key] = HookField(name, hook_declaration(node, name), _short(made.module.hosts[node.op.symbol].reference))
        for made in self.made:
            for symbol in made.used:
                key = made.state.keys.get(symbol, symbol)
                if key not in self.fields:
                    self.fields[key] = self._field(made, symbol, taken, key not in changed)

    def _field(self, made: _Made, symbol: str, taken: set[str], constant: bool) -> StateField:
        name = free(local_name(symbol.rstrip("!").lstrip("_")), taken)
        while START + name in taken:  # the name of what `init` copies
            name = free(f"{name}_", taken)
        taken |= {name, START + name}
        if symbol == RANDOM:
            start = np.array([of_process.seed % 2**64, of_process.draws], np.uint64)
            return StateField(name, "random numbers, the seed and how many were drawn", KEY, start, False)
        value, type_ = made.values[symbol], made.module.params[symbol]
        is_setting = isinstance(value, Parameter) and type_.count == 1  # C code may set it: a learning rate
        return StateField(name, made.state.titles[symbol], type_, _stored(value), constant and not is_setting)

    def project(self, fma: bool, libm: bool) -> Project:
        """Return the program for C."""
        functions = [self._function(made) for made in self.made]
        return Project(self.name, self.prefix, functions, [*self.fields.values()], self._calls, [*self.hooks.values()], fma, libm)

    def _function(self, made: _Made) -> ExportedFunction:
        places = {symbol: self.fields[made.state.keys.get(symbol, symbol)].place(self.prefix) for symbol in made.used}
        hooks = {symbol: f"context->hooks.{self.hooks[key].name}" for symbol, key in made.hooks.items()}
        batches = {rows: version.function for rows, version in made.versions.items() if rows}
        return ExportedFunction(made.function, made.module.params, made.results,
                                self.prefix if made.name == self.prefix else f"{self.prefix}_{made.name}", self.max_steps, places,
                                made.module.hosts, hooks, batches)

    def _calls(self) -> list[RecordedCall]:
        """Return calls of all functions with their results here, with each number of rows that is recorded; all calls twice if they
        change state and there is one such number.  The user's state stays as it is.
        """
        now = {key: Tensor(np.array(value.asnumpy()), value.dtype) for made in self.made for symbol, value in made.values.items()
               for key in [made.state.keys[symbol]] if key in self.fields}
        stream = RandomStream(of_process.seed)
        stream.draws = of_process.draws
        again = not all(one.constant for one in self.fields.values())
        loaded: dict[_Made, Loaded] = {}
        calls: list[RecordedCall] = []
        with drawn_from(stream):
            for turn in range(max(1 + again, *(len(made.recorded) for made in self.made))):
                for number, made in enumerate(self.made):
                    if turn >= len(made.recorded) and not again:
                        continue
                    version = made.versions[made.recorded[turn % len(made.recorded)]]
                    keys = {symbol: key for symbol, key in version.state.keys.items() if key in now and symbol in version.module.params}
                    if version not in loaded:
                        loaded[version] = load_ir(print_module(without_hooks(version.module)), state={
                            symbol: now[key] for symbol, key in keys.items()})
                    program = loaded[version]
                    program.state.update({symbol: now[key] for symbol, key in keys.items()})
                    results = program.run(version.symbol, version.inputs)
                    now.update({key: program.state[symbol] for symbol, key in keys.items()})
                    calls.append(RecordedCall(number, [_stored(x) for x in version.inputs], [_stored(x) for x in results],
                                              made.recorded[turn % len(made.recorded)]))
        return calls


def _made_for_each(function: _Wanted, batch: Batch) -> _Made:
    """Return the graph of a function for the most rows, which has those for all numbers of rows.

    CompileError for state whose size depends on the number.
    """
    versions: dict[int, _Made] = {}
    for rows in range(1, batch.most + 1):
        try:
            versions[rows] = _made(replace(function, inputs=batch.inputs(function.inputs, rows)))
        except Exception as error:
            error.add_note(f"This is the program for a batch of {rows}; max_batch={batch.most} makes it for each from 1 to {batch.most}.")
            raise
    made = versions[batch.most]
    for version in versions.values():
        for node in walk(version.function.body):
            symbol = node.op.symbol if isinstance(node.op, (Read, Write)) else ""
            if not symbol:
                continue
            if version.module.params[symbol] is not made.module.params.get(symbol):
                raise NOT_STANDALONE.at(
                    node.loc, f"{version.state.titles[symbol]!r} has another type for another batch: {version.module.params[symbol]}",
                    help="what a call leaves for the next one has a fixed size: make it an argument, and return the new one")
            if version.state.keys[symbol] != made.state.keys[symbol]:  # a tensor that each version has made
                if _stored(version.values[symbol]).tobytes() != _stored(made.values[symbol]).tobytes():
                    raise NOT_STANDALONE.at(node.loc, f"{version.state.titles[symbol]!r} has other numbers for another batch",
                                            help="compute it with operators from the size: `ops.full((1,), x.shape[0])`")
                version.state.keys[symbol] = made.state.keys[symbol]
    made.versions, made.recorded = versions, batch.recorded()
    return made


def _made(function: _Wanted) -> _Made:
    """Return the graph of a function."""
    target, given = function.target, leaves([*function.inputs], Tensor)
    turned = isinstance(target, Cell) and target.training and not function.gradient and not _trains(target)
    if turned:
        target.set_train(False)
    try:
        lowered: Lowered = parsed(target, *function.inputs)
        for constant in leaves(lowered.outline, (bool, int, float, complex, str)):
            raise TypeError(f"For 'export', a result of {function.name!r} is {constant!r}, a constant of Python, but C gets Tensors: leave "
                            "it out, or return a Tensor.")
        if not function.gradient:
            return _Made(function, ExportedGraph(lowered), _names(lowered.graph), given)
        return _gradient(function, lowered.graph, given)
    finally:
        if turned:
            target.set_train()


def _gradient(function: _Wanted, graph: Graph, given: Sequence[Tensor]) -> _Made:
    """Return the graph of a function's value and gradients.

    graph  that of the function
    """
    trained = [symbol for symbol, x in graph.state.items() if isinstance(x, Parameter) and x.requires_grad and x.dtype.is_float]
    params, positions, names = iter(graph.function.params), list[int](), list[str]()
    for place, x in enumerate(function.inputs):
        own = [param.hint for _, param in zip(leaves(x, Tensor), params, strict=False)]
        if isinstance(x, Tensor) and x.dtype.is_float:
            positions.append(place)
            names += own
    if not positions and not trained:
        raise ValueError(f"For 'export', {function.name!r} has neither a Tensor of floats as argument nor a trained Parameter, so it "
                         "has no gradient: leave gradient=True out.")
    weights = [graph.state[symbol] for symbol in trained]
    of = value_and_grad(function.target, tuple(positions) or None, weights or None)
    state = ExportedGraph(parsed(of, *function.inputs))
    own = {id(graph.state[symbol]) for symbol in trained}
    results = [*_names(graph), *(f"{name.lstrip('_')}'" for name in (*names, *trained))]
    return _Made(function, state, results, given, frozenset(symbol for symbol, key in state.keys.items() if key in own))


def _names(graph: Graph) -> list[str]:
    """Return names for the results of a graph: those of the values; a cell's value has the name of its class."""
    own = graph.symbol.lower()
    return ["result" if not isinstance(x, Value) or x.hint == own else x.hint for x in graph.function.body.results]


def _short(reference: str) -> str:
    """Return the text that describes a hook, with the name of its file only."""
    return re.sub(r"(?<= at ).*[/\\\\]", "", reference)


def _stored(x: Tensor) -> Array:
    """Return the elements of a tensor as they are stored; those of two-byte floats as bits."""
    array = np.ascontiguousarray(x.asnumpy()).reshape(x.shape)
    if x.dtype.is_float and x.dtype.compute is not x.dtype:
        return from_compute(np.asarray(array, x.dtype.compute.array), x.dtype).view(np.uint16)
    return array
