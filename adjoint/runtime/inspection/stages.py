"""The stages of a program, from the parsed graph to the C: `adjoint dump-ir` shows them and `save_graphs` writes them.

    parsed      the graph from the frontend
    optimised   the graph after the passes of `OPTIMISED`, with the same values and effects
    plan        the form that runs while no gradient is taken: launches of kernels, calls of Python, control flow, and the slots of values
    adjoint     the forward copy and the reverse pass, with its hooks
    c           one kernel for each different computation, with the lines that use it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adjoint.codegen.emit import lower, shown, unit_text
from adjoint.codegen.standalone.entry import ExportedFunction
from adjoint.codegen.standalone.file import StandaloneFile, standalone_file
from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.diagnostics import user_place
from adjoint.ir.core import Function, Module, Node, Value, walk
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Call
from adjoint.ir.ops.fused import held_ops, kernel_op
from adjoint.ir.ops.state import Write
from adjoint.ir.plan import Plan
from adjoint.ir.plan_text import plan_text
from adjoint.ir.print import print_function
from adjoint.ir.types import TensorType, Type
from adjoint.passes.manager import Observer
from adjoint.passes.schedule import FUSED, GRADIENT, LATER_KERNELS, LIFTED_GRADIENT, STANDALONE
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.graphs.calls.entry import AsGraph, ByCount, Eagerly, Looking, way_of, why_parsed
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.lowering.lowering import Lowered
from adjoint.runtime.graphs.reports.ways import COUNTED, COUNTS, EAGERLY, LOOKED, PARSED, PATH, TWO_PARTS, Why
from adjoint.runtime.graphs.running.binding import plan_of as parsed_plan
from adjoint.runtime.graphs.running.observed_functions import observed_form
from adjoint.runtime.graphs.running.optimised import quiet_plan, reason
from adjoint.runtime.process.context import background_compile

__all__ = ["Adjoint", "PlanPart", "ServedKernel", "adjoint_of", "as_dict", "kernels", "kernels_of", "plan_of", "plan_parts",
           "plan_text_of", "plans", "served", "served_kernels", "standalone", "wanted"]


PlanPart = str | Plan | Function
"""A part of what is said about how a function runs: lines of text, a plan, or a function of the IR whose plan depends on numbers."""


def plans(module: Module) -> list[PlanPart]:
    """Return how the functions of a module are run: the plan of each (its order of execution, and the slot of each value)."""
    made: list[PlanPart] = []
    for function in module.functions.values():
        made += [*(["\n"] if made else []), *_parts(planned(function, identities=True, accesses=True))]
    return made


def plan_of(lowered: Lowered) -> str:
    """Return, as text, the plan with which a graph runs while no gradient is taken of it: the parts of `plan_parts`."""
    return plan_text_of(plan_parts(lowered))


def plan_parts(lowered: Lowered) -> list[PlanPart]:
    """Return the plan with which a graph runs while no gradient is taken of it, with what is to be said about it.

    If hooks keep the call from running as one graph, it begins with a line that names the way in which it runs, as
    docs/how-a-call-runs.md lists them, and the reason.  For a graph in two parts both plans are given.  If values decide sizes in a graph,
    it has the functions of its parts: their plans depend on the numbers.  If the function runs eagerly, there is only that line.
    """
    graph = lowered.graph
    way, bound = way_of(lowered)
    if isinstance(way, Looking):
        return _of_part(graph, bound.is_decided)
    if isinstance(way, ByCount):
        functions = way.functions
        if isinstance(functions, str):
            return [f"{EAGERLY.name}: {Why(COUNTS, functions)}\n"]
        return [f"{COUNTED.name}\n\n", functions[0], *(part for function in functions[1:] for part in ("\n", function))]
    if isinstance(way, Eagerly):
        return [f"{EAGERLY.name}: {bound.why_not_observed}\n"]
    if isinstance(way, AsGraph):
        if bound.plan.fits(()):
            return _parts(quiet_plan(graph))
        return [f"{PARSED.name}: {why_parsed(bound)}\n", *_parts(parsed_plan(graph))]
    if (parts := bound.parts) is None:
        return [f"{PATH.name}: {bound.why_not_observed}\n", *_parts(parsed_plan(graph))]
    return [f"{TWO_PARTS.name}: {bound.why_not_observed}\n\nthe first part, ", *_of_part(parts.head, bound.is_decided),
            "\nthe second part, as long as the first changes nothing that it was made for, ", *_of_part(parts.tail, bound.is_decided)]


def _of_part(graph: Graph, decided: bool) -> list[PlanPart]:
    """Return the plan of a graph, or of one of the two parts of a graph.

    decided  True if the whole graph has branches or loops that depend on tensors
    """
    why, observed = reason(graph), observed_form(graph)
    if observed is not None:
        otherwise = PATH.name if decided else EAGERLY.name
        said = f"{LOOKED.name}; if these change something often, {otherwise}{'' if why is None else f': {why}'}\n"
        return [said, *_parts(observed.plan)]
    return [*([] if why is None else [f"{PATH.name}: {why}\n"]), *_parts(quiet_plan(graph))]


def _parts(plan: Plan) -> list[PlanPart]:
    """Return a plan: that of the first runs; then the one with fused nodes, if there are any and fusing is on."""
    first: list[PlanPart] = [plan, _own_memory(plan)]
    together = FUSED.on(plan.function) if background_compile() else plan.function
    if together is plan.function:
        return first
    later = planned(together, identities=plan.identities, accesses=plan.accesses)
    return [*first, "\nafter some runs\n", later, _own_memory(later)]


def plan_text_of(parts: Sequence[PlanPart]) -> str:
    """Return the parts of a plan as text."""
    return "".join(part if isinstance(part, str) else plan_text(part) if isinstance(part, Plan) else print_function(part) for part in parts)


def _own_memory(plan: Plan) -> str:
    """Return a line that says how many bytes of scratch kernels need while they run; "" if none needs any."""
    most: dict[str, int] = {}
    known: set[Any] = set()
    for launch in plan.certain_launches():
        op, operands, results = _computed(launch.node)
        if (op, operands, results) not in known and _has_kernel(op, operands, results):
            known.add((op, operands, results))
            most[op.name] = max(most.get(op.name, 0), sum(lower(op, operands, results).scratch))
    said = ", ".join(f"{name} {needed}" for name, needed in most.items() if needed)
    return f"bytes that kernels need for themselves while they run: {said}\n" if said else ""


def _computed(node: Node) -> tuple[Op, tuple[Type, ...], tuple[Type, ...]]:
    """Return the op whose kernel computes a node, and the types of its operands and results."""
    return kernel_op(node), tuple([x.type for x in node.operands]), tuple([x.type for x in node.results])


def _has_kernel(op: Op, operands: Sequence[Type], results: Sequence[Type]) -> bool:
    return op.can_lower and all(isinstance(type_, TensorType) and type_.is_static for type_ in (*operands, *results))


def wanted(module: Module, symbol: str, trained: Mapping[str, bool] | None = None) -> tuple[str, ...]:
    """Return the names by which a function is differentiated if the user names none: its floating arguments, and the floating parameters
    that it reads.

    trained  for each parameter by symbol, True if it is trained; a symbol that is missing counts as trained
    """
    function = module.functions[symbol]
    arguments = [p.hint for p in function.params if isinstance(p.type, TensorType) and p.type.dtype.is_inexact]
    kept = [name for name, type_ in module.params.items() if type_.dtype.is_inexact and (trained is None or trained.get(name, True))]
    return (*arguments, *(f"@{name}" for name in kept))


@dataclass(frozen=True)
class Adjoint:
    """The gradient of a function as IR, to be shown.

    module  the IR
    notes   remarks for the reader
    """

    module: Module
    notes: tuple[str, ...]


def adjoint_of(module: Module, symbol: str, names: Sequence[str], observers: Sequence[Observer] = ()) -> Adjoint:
    """Return the gradient of a function with respect to `names`, without dead code.

    symbol     the function
    names      arguments by name, parameters as `@name`
    observers  functions that are called after each pass

    A parameter that the function writes, and that is also in `names`, is lifted: it becomes an argument.

    CompileError if there is no such gradient.
    """
    written = _written(module, symbol)
    lifted = tuple(name for name in names if name.startswith("@") and name[1:] in written)
    notes: list[str] = []
    if lifted:
        notes.append(f"{', '.join(lifted)}: written, and differentiated by. lift-state makes it an argument, and what is written a result; "
                     "give that result zeros as its cotangent for the gradient of the other results alone")
    by = tuple(name[1:] if name in lifted else name for name in names)
    made = LIFTED_GRADIENT.run(module, observers, symbols=lifted, wrt=by, of=symbol) if lifted \
        else GRADIENT.run(module, observers, wrt=by, of=symbol)
    return Adjoint(made, tuple(notes))


def _written(module: Module, symbol: str) -> set[str]:
    """Return the symbols of the parameters that a function writes, itself or by calling others."""
    found: set[str] = set()
    pending, seen = [symbol], {symbol}
    while pending:
        for node in walk(module.functions[pending.pop()].body):
            if isinstance(node.op, Write):
                found.add(node.op.symbol)
            elif isinstance(node.op, Call) and node.op.symbol in module.functions and node.op.symbol not in seen:
                seen.add(node.op.symbol)
                pending.append(node.op.symbol)
    return found


@dataclass(eq=False)
class ServedKernel:
    """A kernel, and the nodes that use it.

    name     for messages: op and dtypes
    c        its C: the text of its functions
    headers  the files of `codegen/c/` that it needs
    nodes    the nodes that use it
    steps    for each line of a fused kernel's C that computes something, by number from 1, the nodes inside of fused ones that it computes
    keys     what it computes: op, and types of operands and results
    """

    name: str
    c: str
    headers: tuple[str, ...]
    nodes: list[Node] = field(default_factory=list)
    steps: dict[int, list[Node]] = field(default_factory=dict)
    keys: list[tuple[Op, tuple[Type, ...], tuple[Type, ...]]] = field(default_factory=list)


def served_kernels(*modules: Module) -> list[ServedKernel]:
    """Return the different kernels of all nodes in modules.

    Fused kernels, which a function uses only after it has been executed some times, come after the others; there are none if fusing is off.
    A fused kernel is named after the values that it computes for the first node that uses it.
    """
    together = [LATER_KERNELS.run(module) for module in modules] if background_compile() else []
    return kernels_of(*modules, *together)


def kernels_of(*modules: Module) -> list[ServedKernel]:
    """Return the different kernels of the nodes in modules as they are."""
    by_text: dict[str, tuple[ServedKernel, list[int]]] = {}
    by_types: dict[Any, tuple[ServedKernel, list[tuple[int, int]]]] = {}
    for module in modules:
        for function in module.functions.values():
            for node in walk(function.body):
                op, operands, results = _computed(node)
                found = by_types.get((op, operands, results))
                if found is None:
                    if not _has_kernel(op, operands, results):
                        continue
                    general = lower(op, operands, results)
                    if general.text not in by_text:
                        first = shown(node)
                        by_text[general.text] = ServedKernel(first.name, first.text, first.headers), [line for line, _ in first.places]
                    kernel, lines = by_text[general.text]
                    # Other steps may have the same text: its lines are those of the first, in the same order.
                    found = by_types[op, operands, results] = kernel, [*zip(lines, [step for _, step in general.places], strict=False)]
                    kernel.keys.append((op, operands, results))
                kernel, places = found
                kernel.nodes.append(node)
                for line, step in places if node.regions else ():
                    kernel.steps.setdefault(line, []).append(node.regions[0].nodes[step])
    return [kernel for kernel, _ in by_text.values()]


def kernels(*modules: Module) -> list[dict[str, Any]]:
    """Return the kernels of `served_kernels`, each as a dict: its name, its C as a complete file, and the nodes that use it.

    `lines` says for each line of its C, by number from 1, which nodes that line computes.
    """
    return [as_dict(kernel) for kernel in served_kernels(*modules)]


def as_dict(kernel: ServedKernel) -> dict[str, Any]:
    """Return a kernel as a dict: see `kernels`."""
    serves = list(dict.fromkeys(map(served, kernel.nodes)))
    computed = {line: _few(list(dict.fromkeys(inner.op.name + _place(inner) for inner in nodes))) for line, nodes in kernel.steps.items()}
    lines = kernel.c.split("\n")
    for number, inner in computed.items():
        lines[number - 1] += f"  // {', '.join(inner)}"
    return {
        "name": kernel.name, "headers": list(kernel.headers), "serves": serves, "lines": computed, "c": kernel.c,
        "text": "".join(f"// {line}\n" for line in _few(serves)) + "\n".join(lines),
        "unit": unit_text(kernel.name, kernel.headers, [kernel.c]),
    }


def standalone(module: Module, symbol: str, gradient: Module | None, names: Sequence[str], *, plain: bool = False) -> StandaloneFile:
    """Return one C file with a function and its gradient; CompileError for what it cannot contain.

    symbol    the function
    gradient  the module of the gradient; None: the function only
    names     what the gradient is with respect to; its results are named after these
    plain     True: the kernels are simple loops
    """
    results = module.functions[symbol].body.results
    called = [x.hint if isinstance(x, Value) else "result" for x in results]
    entries = [_entry(STANDALONE.run(module), symbol, called)]
    if gradient is not None:
        entries.append(_entry(STANDALONE.run(gradient), f"{symbol}.grad", [f"{name.removeprefix('@')}'" for name in names]))
    return standalone_file(entries, plain=plain)


def _entry(module: Module, symbol: str, results: Sequence[str]) -> ExportedFunction:
    return ExportedFunction(module.functions[symbol], module.params, results, hosts=module.hosts)


def _few(lines: list[str]) -> list[str]:
    """Return a list of lines, shortened if it is long: the first four, and a line that says how many others there are."""
    return lines if len(lines) <= 4 else [*lines[:4], f"and {len(lines) - 4} more"]


def _place(node: Node) -> str:
    """Return a node's location as the end of a comment line in C; the text has no line break, whatever the file name."""
    place = user_place(node.loc)
    return " at " + " ".join(f"{place.file}:{place.line}".splitlines()) if place else ""


def served(node: Node) -> str:
    """Return the text of a comment in C about a node that uses a kernel: its op, types and location."""
    types = ", ".join(str(x.type) for x in node.operands)
    results = ", ".join(str(x.type) for x in node.results)
    held = held_ops([inner.op.name for region in node.regions for inner in region.nodes], " ")
    what = f"{node.op.name}({types}) -> {results}" + (f" of {held}" if held else "")
    return what + _place(node)
