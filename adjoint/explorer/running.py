"""What a run measures: the time of kernels, and for each node the range of its numbers.

The graph of each stage runs as it is, node by node or fused, so that what is measured belongs to the lines of that stage.  Hooks and other
code of the user's run as well.  Parameters and other tensors from outside are copies, so the program around keeps its own.
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.explorer.lines import Line
from adjoint.explorer.stages import Explored, Stage
from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.build import Builder
from adjoint.ir.core import Function, Literal, Module, Node, Value, tensor_type, walk
from adjoint.ir.op import NotDifferentiable, Op
from adjoint.ir.ops.control import For, While
from adjoint.ir.ops.fused import Fused
from adjoint.ir.ops.state import Read
from adjoint.ir.storage import to_compute
from adjoint.ir.types import TensorType, Type
from adjoint.passes.differentiate import forward_and_adjoint
from adjoint.passes.inline import inlined
from adjoint.passes.schedule import EXPANDED
from adjoint.runtime.execution.bound_plan import Bound, BoundPlan, Maker
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.run import Run, Step
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.inputs.templates import flatten
from adjoint.runtime.graphs.running.binding import makers_of
from adjoint.runtime.graphs.running.gradient_hosts import hosts_of_runs
from adjoint.runtime.inspection.origins import is_gradient
from adjoint.runtime.inspection.work import bytes_of, operations_of
from adjoint.runtime.memory.machine import array_of, ffi, machine
from adjoint.runtime.memory.tuning import tuning
from adjoint.runtime.memory.watching import Observation, observed
from adjoint.runtime.process.context import background_compile
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["measure"]

_TIMED = 5
"""How often the fused stages run after the first time; of each kernel the shortest time counts."""
_SHOWN = 16
"""The number of elements up to which the numbers themselves are shown."""
_ROUNDS = 4
"""How many rounds of a loop are shown with their numbers."""


@dataclass(eq=False)
class _Numbers:
    """The numbers of one value, over all rounds of the loops around.

    type      the type of the value
    shown     the arrays themselves, of the first rounds; none if they are large
    """

    type: TensorType
    smallest: float = math.inf
    largest: float = -math.inf
    zeros: int = 0
    not_finite: int = 0
    count: int = 0
    norm: float = 0.0
    rounds: int = 0
    shown: tuple[np.ndarray[Any, Any], ...] = ()

    def add(self, array: np.ndarray[Any, Any]) -> None:
        """Add the numbers of one round."""
        self.rounds += 1
        if array.size <= _SHOWN and len(self.shown) < _ROUNDS:
            self.shown = (*self.shown, np.array(array))
        if array.dtype.kind == "c" or not array.size:
            return
        wide = array.astype(np.float64)
        finite = wide[np.isfinite(wide)]
        self.count += wide.size
        self.not_finite += wide.size - finite.size
        self.zeros += int(np.count_nonzero(wide == 0))
        self.norm = float(np.sqrt(np.sum(finite * finite)))
        if finite.size:
            self.smallest, self.largest = min(self.smallest, float(finite.min())), max(self.largest, float(finite.max()))

    def as_json(self) -> dict[str, Any]:
        if not self.count:
            return {}
        found: dict[str, Any] = {"zeros": _short(self.zeros / self.count), "not_finite": self.not_finite}
        if self.smallest <= self.largest:
            found |= {"smallest": _short(self.smallest), "largest": _short(self.largest)}
        return found

    def text(self, shape: Sequence[int]) -> str:
        """Return the numbers as text, those of the rounds of a loop one after the other; "" if they are too many."""
        rounds = [_text(array.reshape(shape)) for array in self.shown if array.size == math.prod(shape)]
        return " → ".join([*rounds, *(["..."] if rounds and self.rounds > len(rounds) else [])])


def _short(number: float) -> float:
    return float(f"{number:.6g}")


def _text(array: np.ndarray[Any, Any]) -> str:
    text = np.array2string(array, precision=5, separator=", ", max_line_width=10**6, threshold=10**6)
    return re.sub(r"\[ +", "[", " ".join(text.split())).replace(" ,", ",")


@dataclass(eq=False)
class _Time:
    """The time of what one launch or one kernel does in a run."""

    seconds: float = 0.0
    bytes: int = 0
    flops: int = 0
    calls: int = 0

    def add(self, launched: Observation) -> None:
        self.seconds += launched.nanoseconds * 1e-9
        self.calls += launched.last
        if launched.last:
            self.bytes += bytes_of(launched)
            self.flops += operations_of(launched)

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"seconds": _short(self.seconds), "bytes": self.bytes, "calls": self.calls}
        return found | {"flops": self.flops} if self.flops else found


KernelKey = tuple[Op, tuple[Type, ...], tuple[Type, ...]]
"""What a kernel computes: op, and types of operands and results."""


class _Timing:
    """Collects the times of several runs; of each launch and of each kernel the shortest counts."""

    def __init__(self) -> None:
        self.nodes: dict[int, _Time] = {}
        self.kernels: dict[KernelKey, _Time] = {}
        self._now: tuple[dict[int, _Time], dict[KernelKey, _Time]] = {}, {}

    def observe(self, launched: Observation) -> None:
        nodes, kernels = self._now
        if launched.node is not None:
            nodes.setdefault(id(launched.node), _Time()).add(launched)
        if launched.op is not None:
            kernels.setdefault((launched.op, launched.operand_types, launched.result_types), _Time()).add(launched)

    def end(self) -> None:
        """End a run."""
        nodes, kernels = self._now
        _keep(self.nodes, nodes)
        _keep(self.kernels, kernels)
        self._now = {}, {}


def _keep(best: dict[Any, _Time], now: dict[Any, _Time]) -> None:
    for key, time in now.items():
        if key not in best or time.seconds < best[key].seconds:
            best[key] = time


class _Runner:
    """Runs functions that passes have made of a graph, on the same arguments and state each time.

    seen  the numbers of the values of the run that is recorded
    """

    def __init__(self, graph: Graph, inputs: Sequence[Any]):
        self._graph = graph
        self._arguments = flatten((tuple(inputs), {}))[1]
        self.seen: dict[Value, _Numbers] = {}

    def bound(self, function: Function, *, records: bool) -> Callable[[], list[Tensor]]:
        """Return a function that runs a function of the IR on the arguments, and on what else it takes (`_given`).

        records  True to note its arguments and the numbers that Python code computes, in a new `seen`
        """
        known = self._graph
        state = {symbol: _copy(x) for symbol, x in known.state.items()}
        graph = Graph(known.module, known.symbol, state, known.hosts, known.sites, known.cells)
        positions, hosts = hosts_of_runs(graph)
        makers = makers_of(graph, positions)
        arguments = self._given(function.params, state)
        if records:
            self.seen = {}
            for param, x in zip(function.params, arguments, strict=True):
                self._record(param, x)
            makers = {op: functools.partial(self._recorded, maker) for op, maker in makers.items()}
            for node in walk(function.body):
                if isinstance(node.op, Read):
                    self._record(node.result, state[node.op.symbol])
        plan = planned(function, identities=True, accesses=True)
        form: Any = BoundPlan(plan, makers, state, explanations=graph.hosts).bound(plan)
        takes = form.takes
        given = arguments if takes is None else [x if i in takes else x.memory for i, x in enumerate(arguments)]
        return lambda: form.run(given, Run(None, hosts() if hosts is not None else None))

    def _given(self, params: Sequence[Value], state: Mapping[str, Tensor]) -> list[Tensor]:
        """Return what a function is run on: the arguments; the state that became an argument since the function writes it; cotangents, ones
        for the results of the graph, zeros for the state that was written.
        """
        rest = params[len(self._arguments) :]
        lifted = [param for param in rest if param.hint in state]
        results = sum(_is_float(y.type) for y in self._graph.function.body.results)
        cotangents = [_full(param, int(i < results)) for i, param in enumerate(rest[len(lifted) :])]
        return [*map(_copy, self._arguments), *(_copy(state[param.hint]) for param in lifted), *cotangents]

    def observe(self, launched: Observation) -> None:
        """Note the numbers that a launch has computed."""
        if launched.node is not None and launched.last:
            for value, array in zip(launched.node.results, launched.results, strict=False):
                self._numbers(value).add(array)

    def _recorded(self, maker: Maker, bound: Bound) -> Step | None:
        step, results = maker(bound), bound.node.results
        if step is None:
            return None

        def recorded(values: list[Any], run: Run) -> None:
            step(values, run)
            for value, i in zip(results, bound.results, strict=True):
                self._record(value, values[i])

        return recorded

    def _record(self, value: Value, x: Any) -> None:
        type_ = value.type
        if isinstance(type_, TensorType) and type_.is_static:
            self._numbers(value).add(_array(x.memory if isinstance(x, Tensor) else x, type_))

    def _numbers(self, value: Value) -> _Numbers:
        known = self.seen.get(value)
        if known is None:
            assert isinstance(value.type, TensorType)
            known = self.seen[value] = _Numbers(value.type)
        return known

    def complete(self, function: Function) -> None:
        """Note the numbers of values that no launch computes: a view has those of its operand, control flow those of its regions."""
        self._complete(function.body.nodes)

    def _complete(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if not isinstance(node.op, (For, While)):
                for region in node.regions:
                    for param, operand in zip(region.params, node.operands, strict=False):
                        self._follow(param, operand)
            for region in node.regions:
                self._complete(region.nodes)
            for i, value in enumerate(node.results):
                for region in node.regions[-2:]:
                    if i < len(region.results):
                        self._follow(value, region.results[i])
                if len(node.operands) == 1 and not node.regions:
                    self._follow(value, node.operands[0])

    def _follow(self, value: Value, of: Any) -> None:
        known = self.seen.get(of) if isinstance(of, Value) else None
        if value in self.seen or not isinstance(value.type, TensorType):
            return
        if isinstance(of, Literal):
            self._numbers(value).add(np.asarray(of.value, of.type.dtype.compute.array))
        elif known is not None and known.type.dtype is value.type.dtype and known.type.count == value.type.count:
            self.seen[value] = known


def _array(memory: Any, type_: TensorType) -> np.ndarray[Any, Any]:
    """Return the numbers in memory, in the dtype in which ops compute."""
    return to_compute(array_of(memory, type_), type_.dtype)


def _copy(x: Tensor) -> Tensor:
    memory = machine().allocate(x.type.nbytes)
    ffi.memmove(memory, x.memory, x.type.nbytes)
    return wrap(x.type, memory)


def _is_float(type_: Type) -> bool:
    return isinstance(type_, TensorType) and type_.dtype.is_float


def _full(param: Value, number: int) -> Tensor:
    type_ = tensor_type(param)
    return Tensor(np.full(type_.sizes, number, np.float32), type_.dtype)


def measure(program: Explored, inputs: Sequence[Any]) -> None:
    """Run a program at its stages, and add to their lines and to its cells what is measured.

    Exceptions of the program's own code are passed on.
    """
    lowered = program.lowered
    assert lowered is not None
    if lowered.counted:
        program.notes.append("It was not run: values decide sizes in it.")
        return
    _Measured(program, lowered.graph, inputs).all()


class _Measured:
    """Measures a program: see `measure`.  Nodes that are not the same object in two stages are found by what they come from and compute."""

    def __init__(self, program: Explored, graph: Graph, inputs: Sequence[Any]):
        self._program, self._graph = program, graph
        self._runner = _Runner(self._graph, inputs)
        self._by_value: dict[Value, _Numbers] = {}
        self._numbers: dict[Any, _Numbers] = {}
        self._gradients: dict[Any, _Numbers] = {}
        self._of_arguments: dict[int, _Numbers] = {}
        self._times: dict[Any, _Time] = {}
        self._kernels: dict[KernelKey, _Time] = {}

    def all(self) -> None:
        try:
            module = EXPANDED.run(self._graph.module)
        except CompileError as mistake:
            self._program.notes.append(f"It was not run: {mistake}")
            return
        parsed = inlined(module.functions[self._graph.symbol], module)
        self._run(parsed)
        with contextlib.redirect_stdout(io.StringIO()):  # what the code prints is the same in each run
            self._run_gradients(parsed, module)
            for name in ("optimised", "adjoint"):
                if (function := self._function(name)) is not None:
                    self._run(function)
            for name in ("fused", "adjoint-fused", "optimised", "adjoint"):
                if (function := self._function(name)) is not None:
                    self._time(function)
            self._add_to_cells()
        for stage in self._program.stages:
            self._describe(stage)

    def _function(self, name: str) -> Function | None:
        """Return the function of a stage that is run: the graph's own, or its gradient; None if there is no such stage."""
        stage = self._program.stage(name)
        if stage is None or stage.module is None or stage.of_run:
            return None
        functions = stage.module.functions
        own = self._graph.symbol
        return next((functions[symbol] for symbol in (f"{own}.grad", own) if symbol in functions), None)

    def _run(self, function: Function) -> None:
        """Run a function once, and note the numbers of its values."""
        runner = self._runner
        run = runner.bound(function, records=True)
        with observed(runner.observe):
            run()
        runner.complete(function)
        for node, key in self._keyed(walk(function.body)):
            if node.results and node.results[0] in runner.seen:
                self._numbers.setdefault(key, runner.seen[node.results[0]])
        self._by_value |= runner.seen

    def _run_gradients(self, function: Function, module: Module) -> None:
        """Run the gradient by all values outside of loops and branches, and note its numbers."""
        function = inlined(function, module, plain=True)
        body = function.body
        keys = {node.results[0]: key for node, key in self._keyed(walk(body)) if node.results}
        made = [value for node in body.nodes for value in node.results[:1]]
        wanted: dict[Any, Type] = {value: value.type for value in (*function.params, *made) if _is_float(value.type)}
        seeds = [Value(y.type, "seed") if _is_float(y.type) else None for y in body.results]
        b, whole = Builder(), Builder(body.loc)
        try:
            forward, gradients = forward_and_adjoint(b, body.nodes, body.results, seeds, wanted, module)
        except (NotDifferentiable, CompileError):
            return  # a note says why there is no adjoint
        whole.nodes = forward + b.nodes
        params = [*body.params, *(seed for seed in seeds if seed is not None)]
        found = self._runner.bound(Function("gradients", whole.finish(gradients, params)), records=False)()
        for value, gradient in zip(wanted, found, strict=True):
            numbers = _Numbers(gradient.type)
            numbers.add(_array(gradient.memory, gradient.type))
            if value in keys:
                self._gradients[keys[value]] = numbers
            else:
                self._of_arguments[function.params.index(value)] = numbers

    def _time(self, function: Function) -> None:
        """Run a function some times, and note the times of its launches and kernels."""
        run = self._runner.bound(function, records=False)
        run()
        tuning.finish()
        timing = _Timing()
        with observed(timing.observe):
            for _ in range(_TIMED):
                run()
                timing.end()
        for node, key in self._keyed(walk(function.body)):
            time = timing.nodes.get(id(node))
            if time is not None:
                self._times[id(node)] = time
                self._times.setdefault(key, time)
        for key, time in timing.kernels.items():
            self._kernels.setdefault(key, time)

    def _add_to_cells(self) -> None:
        """Add the times of the graph to its cells, forward and backward apart; if it takes no gradient itself, the backward ones of its
        adjoint, which runs the forward nodes again.
        """
        fused = background_compile()
        own, adjoint = (self._function(name) for name in (("fused", "adjoint-fused") if fused else ("optimised", "adjoint")))
        nodes = [] if own is None else [*walk(own.body)]
        if adjoint is not None and not any(is_gradient(node.loc) for node in nodes):
            nodes += [node for node in walk(adjoint.body) if is_gradient(node.loc)]
        cells = self._program.cells
        for node in nodes:
            if id(node) in self._times:
                cells.add("backward" if is_gradient(node.loc) else "seconds", cells.of(node.loc), self._times[id(node)].seconds)

    def _keyed(self, nodes: Iterable[Node]) -> Iterator[tuple[Node, Any]]:
        """Yield each node with a key by which the same node is found in another stage: what it comes from and what it computes, and its
        number among those for which these are equal.
        """
        counts: dict[Any, int] = {}
        for node in nodes:
            chains = self._program.identities.chains(node.loc)
            key = chains, node.op.name, tuple([value.type for value in node.results]), is_gradient(node.loc)
            counts[key] = number = counts.get(key, 0) + 1
            yield node, (*key, number)

    # -- lines --------------------------------------------------------------------------------------------------------------
    def _describe(self, stage: Stage) -> None:
        """Add what was measured to the lines of a stage."""
        if stage.kind == "c":
            self._describe_kernels(stage)
            return
        # A plan has the time of its launches, but not where another one takes its place after some runs: each launch counts once.
        part: list[Line] = []
        for line in stage.lines:
            heading = line.text[0][1] if line.text and line.text[0][0] == "heading" else ""
            if heading == "after some runs" or "plan @" in heading:
                self._describe_nodes(part, stage, timed=heading != "after some runs")
                part = []
            part.append(line)
        self._describe_nodes(part, stage)

    def _describe_nodes(self, lines: Sequence[Line], stage: Stage, *, timed: bool = True) -> None:
        by_node = {id(line.node): line for line in reversed(lines) if line.node is not None}  # of several lines the first
        inside = {id(inner) for line in lines if line.node is not None and isinstance(line.node.op, Fused)
                  for region in line.node.regions for inner in region.nodes}
        for node, key in self._keyed(line.node for line in lines if line.node is not None and by_node[id(line.node)] is line):
            line = by_node[id(node)]
            time = self._times.get(id(node)) or (self._times.get(key) if stage.kind == "plan" and id(node) not in inside else None)
            if timed and time is not None and time.calls:
                line.more["runs"] = time.as_json()
            if not node.results:
                continue
            numbers = self._by_value.get(node.results[0]) or self._numbers.get(key)
            backward = is_gradient(node.loc)
            gradient = numbers if backward else self._gradients.get(key)
            self._describe_numbers(line, node.results[0], numbers, gradient, backward=backward)
        for line in lines:
            if line.function is not None:
                self._describe_arguments(line, line.function)

    def _describe_numbers(self, line: Line, value: Value, numbers: _Numbers | None, gradient: _Numbers | None, *, backward: bool) -> None:
        seen = numbers.as_json() if numbers is not None else {}
        if gradient is not None and gradient.count:
            seen["norm"] = _short(gradient.norm)
        if seen:
            line.more["seen"] = seen
        sizes = value.type.sizes if isinstance(value.type, TensorType) and value.type.is_static else ()
        if numbers is not None and (text := numbers.text(sizes)):
            line.more["numbers"] = text
        if gradient is not None and not backward and (text := gradient.text(sizes)):
            line.more["gradient"] = text

    def _describe_arguments(self, line: Line, function: Function) -> None:
        """Add the numbers of a function's arguments to its first line."""
        for what, of in (("numbers", [self._by_value.get(param) for param in function.params]),
                         ("gradient", [self._of_arguments.get(i) for i in range(len(function.params))])):
            if what == "gradient" and function.symbol != self._graph.symbol:
                continue
            texts = [f"{param.hint} = {text}" for param, numbers in zip(function.params, of, strict=True)
                     if numbers is not None and (text := numbers.text(numbers.type.sizes))]
            if texts:
                line.more[what] = "; ".join(texts)

    def _describe_kernels(self, stage: Stage) -> None:
        for line in stage.lines:
            if line.kernel is not None:
                times = [time for key in line.kernel.keys if (time := self._kernels.get(key)) is not None]
                if times:
                    whole = _Time(sum(t.seconds for t in times), sum(t.bytes for t in times), sum(t.flops for t in times),
                                  sum(t.calls for t in times))
                    line.more["runs"] = whole.as_json()
