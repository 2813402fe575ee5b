"""Calls of fusible functions: a function of the library, traced for certain arguments, as one sequence of kernels (`tensor/fusible.py`).

The function is called once on symbolic tensors.  Under a tape its ops are launched as they are, and recorded together.  Otherwise they are
optimised and fused as those of a graph are.  If one kernel is left, a Python function launches it:

    def call(args, kwargs):
        v1 = c0(args[0].memory, c1)
        r0 = new(Tensor)
        r0.type, r0.memory = c2, v1
        return r0

Several are launched by one C call, as the kernels of a graph are (`written_calls.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from adjoint.foundation.diagnostics import warn
from adjoint.ir.core import Atom, Function, Literal, Module, Node, Region, Value, tensor_type
from adjoint.ir.ops.conversion import StopGradient
from adjoint.ir.ops.fused import kernel_op
from adjoint.ir.ops.state import Read
from adjoint.ir.plan import Plan
from adjoint.ir.types import TensorType
from adjoint.runtime.execution.bound_plan import BoundPlan
from adjoint.runtime.execution.call_functions import ALWAYS, CallText
from adjoint.runtime.execution.library_traces import LibraryTrace, Symbolic
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.recording import RecordedOp, Recording
from adjoint.runtime.execution.run import Run
from adjoint.runtime.execution.tiers import fused_plan
from adjoint.runtime.memory.machine import Memory, machine
from adjoint.runtime.memory.op_plans import plan_for, plans
from adjoint.runtime.memory.tuning import tuning
from adjoint.runtime.process.context import background_compile
from adjoint.runtime.process.function_text import PythonText, function_of
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.fusible import FusedCall, itself
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["make_fused", "make_recorded"]


def make_fused(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], put: Callable[[FusedCall], None]) -> None:
    """Trace a function for arguments like these, and call `put` with what computes it, as soon as that is compiled.

    `put` gets the function itself if it cannot be a sequence of kernels.
    """
    traced = _traced(function, args, kwargs)
    if traced is None:
        put(itself(function))
        return

    def finish(waited_for: bool) -> None:
        try:
            put(_call(function, traced, waited_for=waited_for))
        except Exception as fault:
            put(itself(function))
            warn(f"The operators of `{function.__name__}` could not be fused ({type(fault).__name__}: {fault}). They run one by one, with "
                 "the same results; please report this fault.")

    kernels = machine().kernels
    if background_compile() == "wait" or kernels is None:
        finish(waited_for=True)
    else:
        kernels.later(functools.partial(tuning.afterwards, functools.partial(finish, waited_for=False)))


def _tracer() -> Any:
    """Return the thread's tracer.

    The functions below call this, and do not hold `state`: what a jitted function is found to refer to would lead to the graph being made.
    """
    return state.tracer


def make_recorded(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], put: Callable[[FusedCall], None]) -> None:
    """Trace a function for arguments like these, and call `put` with what computes it and records its ops on the tape of the thread.

    `put` gets the function itself if it cannot be a sequence of kernels.
    """
    traced = _traced(function, args, kwargs)
    if traced is None:
        put(itself(function))
        return
    nodes = [node for node in traced.function.body.nodes if not isinstance(node.op, Read)]
    if len(nodes) == 1 and nodes[0].operands == traced.function.params and traced.kind is None and len(nodes[0].results) == 1:
        put(_recorded_op(function, traced, nodes[0]))
    elif len(nodes) <= _FEW:
        try:
            put(_RecordedOps(function, traced, put).call())
        except Exception:  # a kernel cannot be made: the function itself says it
            put(itself(function))
    else:
        put(_recorded_plan(function, traced))


_FEW = 8
"""Up to how many ops are launched one by one and recorded by one call, which is quicker than to go through a plan."""


def _recorded_op(function: Callable[..., Any], traced: TracedFunction, node: Node) -> FusedCall:
    """Return a function that runs and records the only op of a traced function, as `apply` does."""
    given, types = traced.texts(PythonText("c", {})), tuple([x.type for x in node.operands])
    objects = {"function": function, "plans": plans, "plan_for": plan_for, "op": node.op, "types": types, "key": (node.op, *types),
               "new": object.__new__, "Tensor": Tensor, "type": node.results[0].type, "tracer": _tracer}
    return _call_of(["plan = plans.get(key) or plan_for(op, types)",  # looked up each time: tuned kernels take the place of plain ones
                     f"memory = plan.run({', '.join(f'{x}.memory' for x in given)})"],
                    ["result = new(Tensor)", "result.type, result.memory = type, memory",
                     f"tracer().record(op, ({''.join(f'{x}, ' for x in given)}), (result,))", "return result"], objects)


class _RecordedOps:
    """Makes a function that launches the ops of a traced function one after the other, and records all by one call.

    Only what adjoints have read is kept.  Where these read more, or kernels have been replaced, the function calls `again`, which puts
    another one in its place.

        def call(args, kwargs):
            if recording.kept is not kept or tuning.round != round:
                return again(args, kwargs)
            try:
                v1 = c0(args[0].memory, args[1].memory)
                v2 = c1(v1, args[2].memory)
            except Exception:
                return function(*args, **kwargs)
            r1 = new(Tensor)
            r1.type, r1.memory = c2, v2
            tracer().extend(recording, (args[0], args[1], args[2]), (None, r1))
            return r1
    """

    def __init__(self, function: Callable[..., Any], traced: TracedFunction, put: Callable[[FusedCall], None]):
        self.function, self.traced, self.put = function, traced, put
        body = traced.function.body
        self.nodes = [node for node in body.nodes if not isinstance(node.op, Read)]
        results = [value for node in self.nodes for value in node.results]
        read = {node.results[0]: traced.tensors[node.op.symbol] for node in body.nodes if isinstance(node.op, Read)}
        outside = [x for x in dict.fromkeys(x for node in self.nodes for x in node.operands) if x not in {*results}]
        self.constants = {x: read[x] if isinstance(x, Value) else constant(x.value, x.type.dtype)
                          for x in outside if x in read or isinstance(x, Literal)}
        self.outside, self.results = outside, results
        number = {x: i for i, x in enumerate([*outside, *results])}
        self.recording = Recording(
            [tensor_type(x) for x in outside],
            [RecordedOp(node.op, tuple(number[x] for x in node.operands), tuple(map(tensor_type, node.results)), None)
             for node in self.nodes if node.results])
        self.number = number

    def again(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make the function once more, and call it."""
        made = self.call()
        self.put(made)
        return made(args, kwargs)

    def call(self) -> FusedCall:
        """Return the function, for what adjoints have read up to now."""
        kept = self.recording.kept
        objects: dict[str, Any] = {"function": self.function, "again": self.again, "recording": self.recording, "kept": kept,
                                   "tuning": tuning, "round": tuning.round, "tracer": _tracer, "new": object.__new__, "Tensor": Tensor}
        text = PythonText("c", objects)
        tensors: dict[Atom, str] = dict(zip(self.traced.function.params, self.traced.texts(text), strict=True))
        tensors.update({x: text.object(tensor) for x, tensor in self.constants.items()})
        memories = {x: f"{tensor}.memory" for x, tensor in tensors.items()}
        memories.update({value: f"v{i}" for i, value in enumerate(self.results)})
        launches, after = list[str](), list[str]()
        for node in self.nodes:
            run = text.object(plan_for(kernel_op(node), [tensor_type(x) for x in node.operands]).run)
            results = ", ".join(memories[value] for value in node.results)
            launches.append(f"{results + ' = ' if results else ''}{run}({', '.join(memories[x] for x in node.operands)})")
        returned = self.traced.function.body.results
        for i, value in enumerate(self.results):
            if value in returned or self.number[value] in kept:
                tensors[value] = f"r{i}"
                after += [f"r{i} = new(Tensor)", f"r{i}.type, r{i}.memory = {text.object(value.type)}, v{i}"]
        given, made = (", ".join([tensors.get(x, "None") for x in values] + [""]) for values in (self.outside, self.results))
        after += [f"tracer().extend(recording, ({given}), ({made}))",
                  "return " + _FORMS[self.traced.kind].format(", ".join(tensors[value] for value in returned))]
        return _call_of(launches, after, objects, ["if recording.kept is not kept or tuning.round != round:",
                                                   "    return again(args, kwargs)"])


def _recorded_plan(function: Callable[..., Any], traced: TracedFunction) -> FusedCall:
    """Return a function that runs the ops of a traced function by a plan, which records them."""
    plan = BoundPlan(planned(traced.function, identities=True, accesses=True), {}, traced.tensors, sited=False)
    objects = {"function": function, "plan": plan.run_fitting, "Run": Run, "tracer": _tracer}
    results = {None: "results[0]", tuple: "tuple(results)", list: "results"}[traced.kind]
    return _call_of([f"results = plan([{', '.join(traced.texts(PythonText('c', objects)))}], Run(tracer()))"], [f"return {results}"],
                    objects)


_FORMS: dict[type | None, str] = {None: "{}", tuple: "({},)", list: "[{}]"}
"""For each class of results, the expression that makes it of the single ones."""


def _call_of(launches: list[str], after: list[str], objects: dict[str, Any], before: Sequence[str] = ()) -> FusedCall:
    """Return a function of these statements, which runs the function of the library if one of the launches fails."""
    return function_of("call(args, kwargs)", [*before, "try:", *(f"    {line}" for line in launches),
                                              "except Exception:", "    return function(*args, **kwargs)", *after], objects, __file__,
                       closed=True)


class TracedFunction(NamedTuple):
    """A function of the library, traced for certain arguments.

    function  its ops
    tensors   the tensors that the library has made for it, by the symbols by which the ops read them
    paths     for each parameter of `function` where it is found: "args" or "kwargs", and the keys after that
    kind      the class of its results, tuple or list; None for one tensor
    """

    function: Function
    tensors: dict[str, Tensor]
    paths: list[tuple[str, ...]]
    kind: type | None

    def texts(self, text: PythonText) -> list[str]:
        """Return for each parameter of the IR's function the Python expression of the tensor that is given for it."""
        return [path[0] + "".join(f"[{text.object(key)}]" if isinstance(key, str) else f"[{key}]" for key in path[1:])
                for path in self.paths]


def _traced(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> TracedFunction | None:
    """Call a function on symbolic tensors in place of the tensors in its arguments.  Return None if it cannot be traced."""
    trace, paths = LibraryTrace(closed=True), list[Any]()
    given = _symbolic(args, ("args",), trace, paths), {name: _symbolic(x, ("kwargs", name), trace, paths) for name, x in kwargs.items()}
    try:
        with trace:
            result = function(*given[0], **given[1])
    except Exception:  # if something is wrong with the call, the function itself says it
        return None
    kind = None if isinstance(result, Tensor) else type(result)
    results: list[Any] = [result] if kind is None else list(result) if kind in (tuple, list) else []
    if not results or not all(isinstance(x, Symbolic) for x in results):
        return None
    traced = trace.function(function.__name__, results)
    return TracedFunction(traced, trace.tensors, paths, kind) if _is_a_sequence(traced) else None


def _symbolic(x: Any, path: tuple[Any, ...], trace: LibraryTrace, paths: list[Any]) -> Any:
    """Return an argument with symbolic tensors in place of its tensors, and append where each of these is found to `paths`.

    path  where `x` is found
    """
    if isinstance(x, Tensor):
        paths.append(path)
        return trace.argument(x.type)
    if isinstance(x, (tuple, list)):
        return type(x)([_symbolic(item, (*path, i), trace, paths) for i, item in enumerate(x)])
    return x


def _is_a_sequence(function: Function) -> bool:
    """Return True if each result is computed by a node of its own and takes gradients, and all values are tensors."""
    nodes, yields = function.body.nodes, function.body.results
    computed = {value for node in nodes for value in node.results if not isinstance(node.op, (Read, StopGradient))}
    return (all(isinstance(x.type, TensorType) for node in nodes for x in (*node.operands, *node.results))
            and not any(node.regions for node in nodes) and computed.issuperset(yields) and len(set(yields)) == len(yields))


def _call(function: Callable[..., Any], traced: TracedFunction, *, waited_for: bool) -> FusedCall:
    """Return a function that launches the kernels of a traced function, and calls the function itself if one fails.

    waited_for  True: all processors compile, since somebody waits; False: one compiles at a low priority
    """
    traced = _optimised(traced)
    plain = planned(traced.function, identities=True, accesses=True)
    plan = fused_plan(plain, waited_for=waited_for, library=True) or plain
    if sum(not isinstance(node.op, Read) and not _aliases(node) for node in plan.function.body.nodes) > 1:
        made = _one_call(traced, plan)
        if made is not None:
            return _or_itself(made, function)
    body = plan.function.body
    objects: dict[str, Any] = {"new": object.__new__, "Tensor": Tensor, "function": function}
    text = PythonText("c", objects)
    names: dict[Atom, str] = {}
    names.update({param: f"{given}.memory" for param, given in zip(body.params, traced.texts(text), strict=True)})
    lines, last = list[str](), _last_uses(body)
    for index, node in enumerate(body.nodes):
        if isinstance(node.op, Read):
            names[node.results[0]] = text.object(traced.tensors[node.op.symbol].memory)
            continue
        operands = [names[x] if isinstance(x, Value) else text.object(_literal(x)) for x in node.operands]
        if _aliases(node):
            names[node.results[0]] = operands[0]
        else:
            names.update({value: f"v{len(names) + i}" for i, value in enumerate(node.results)})
            types = [x.type for x in node.operands if isinstance(x.type, TensorType)]
            run = text.object(plan_for(kernel_op(node), types).run)
            results = ", ".join(names[value] for value in node.results)
            lines.append(f"{results + ' = ' if results else ''}{run}({', '.join(operands)})")
        if dead := [names[value] for value in last.get(index, ())]:
            lines.append(f"del {', '.join(dead)}")
    returned = [f"r{i}" for i in range(len(body.results))]
    for result, value in zip(returned, body.results, strict=True):
        lines += [f"{result} = new(Tensor)", f"{result}.type, {result}.memory = {text.object(value.type)}, {names[value]}"]
    body_ = ["try:", *(f"    {line}" for line in lines), "    return " + _FORMS[traced.kind].format(", ".join(returned)),
             "except Exception:", "    pass", "return function(*args, **kwargs)"]
    return function_of("call(args, kwargs)", body_, objects, __file__, closed=True)


def _optimised(traced: TracedFunction) -> TracedFunction:
    """Return a traced function after the passes of a graph that nothing records, or as it is where these would not give the same."""
    # Imported with the first function that is called often.
    from adjoint.passes.optimising import optimised_alike

    made = optimised_alike(traced.function, Module({}, {}, {}))
    return traced._replace(function=made) if made is not None and _is_a_sequence(made) else traced


def _one_call(traced: TracedFunction, plan: Plan) -> FusedCall | None:
    """Return a function that launches all kernels by one C call, as a graph does; None if it cannot be written.

    plan  the plan of the function, with fused nodes
    """
    text = PythonText("c", {})
    tensors = traced.texts(text)
    result = _FORMS[traced.kind].format(", ".join(f"leaf{i}" for i in range(len(plan.function.body.results))))
    call = CallText("call(args, kwargs)", "(args, kwargs)", (), tensors, result, text.objects, ALWAYS)
    return BoundPlan(plan, {}, traced.tensors, sited=False).bound(plan).function_of_calls(call, None, None)


def _or_itself(made: FusedCall, function: Callable[..., Any]) -> FusedCall:
    """Return a function that calls `made`, or the function of the library if that raises."""
    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return made(args, kwargs)
        except Exception:
            pass  # the exception of the function should not show this one as its context
        return function(*args, **kwargs)

    return call


def _aliases(node: Node) -> bool:
    """Return True if the result of a node is its operand's memory, as for `reshape`."""
    return getattr(node.op, "aliases", False)


def _literal(x: Literal) -> Memory:
    return constant(x.value, x.type.dtype).memory


def _last_uses(body: Region) -> dict[int, list[Value]]:
    """Return for the index of a node the values that it or a node before computes, and that no node behind it uses."""
    last: dict[Value, int] = {}
    computed: dict[Atom, Atom] = {}
    """For a value that is another one's memory, that one."""
    for index, node in enumerate(body.nodes):
        last.update({x: index for x in (computed.get(x, x) for x in node.operands) if x in last})
        if _aliases(node):
            computed[node.results[0]] = computed.get(node.operands[0], node.operands[0])
        elif not isinstance(node.op, Read):
            last.update(dict.fromkeys(node.results, index))
    returned = {computed.get(x, x) for x in body.results}
    found: dict[int, list[Value]] = {}
    for value, index in last.items():
        if value not in returned:
            found.setdefault(index, []).append(value)
    return found
