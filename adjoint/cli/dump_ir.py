"""`adjoint dump-ir FILE.py:NAME` or `FILE.ir`: a program at every stage.

A function, Cell class or instance is parsed for inputs of the types in `--args`, as `jit` does it; a `.ir` text is read unchanged.
Stages: parsed, optimised, plan (what runs, in order, and where values are held; shown on request), adjoint (the
forward copy and the reverse pass, with hooks as nodes), c (one kernel for each different computation, with the lines it comes from).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from adjoint.cli.console import Output
from adjoint.cli.target import Raised, Wrong, check_count, check_name, example, inputs_of, named, place_of, raising
from adjoint.explorer.structure import Structure
from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.core import Function, Module
from adjoint.ir.op import NotDifferentiable
from adjoint.ir.parse import parse_module
from adjoint.ir.print import listing, print_module
from adjoint.ir.verify import verify_module
from adjoint.passes.manager import PassDiffs, Pipeline
from adjoint.passes.schedule import EXPANDED, OPTIMISED
from adjoint.runtime.execution.text import load_ir
from adjoint.runtime.gradients.trace import trace
from adjoint.runtime.graphs.calls.making import parsed, run_instead
from adjoint.runtime.graphs.jit import jit
from adjoint.runtime.graphs.lowering.lowering import Lowered
from adjoint.runtime.inspection.stages import adjoint_of, as_dict, plan_parts, plan_text_of, plans, served_kernels, standalone, wanted
from adjoint.runtime.tensor.parameter import Parameter

__all__ = ["act", "configure"]

_STYLES = {
    "keyword": "bold magenta", "op": "bold", "type": "cyan", "symbol": "yellow", "literal": "green", "string": "green", "location": "dim",
}


_ABOUT = f"""\
Show a program at its stages:

  parsed     the graph that `jit` and GRAPH_MODE run: the source is parsed for inputs of the types in --args; control flow that depends
             on tensors is in it, prints and hooks stand where they run
  optimised  the same after {OPTIMISED.passes}: the same values and effects.
             It is what runs while nothing is recorded and none of the user's code runs in it; gradients are taken of the parsed one
  plan       what is run, in order: launches of kernels, calls of Python, control flow, and the slots that each reads, fills and frees;
             of the graph as it runs while no gradient of it is taken, or of what --passes leave; it is for reading, and not among all
  adjoint    the gradient: a forward copy and the reverse pass, by the arguments and parameters in --wrt, hooks standing in it
  c          one kernel for each different computation of both, with the lines that it serves; a fused one has the names of the first
             values that it computes, where what is compiled has general ones
  forward    with --trace, in the place of parsed: what one run on example inputs did, the branch that it took and what its
             forward hooks computed
  all        all of them but the plan (the default)

Texts but the plan parse back: save one, change it, show it again as FILE.ir, --run it."""

_MORE = """\
Examples:
  adjoint dump-ir net.py:Net --args "f32[32, 1, 28, 28]"
  adjoint dump-ir net.py:loss --args "f32[3], f32[3]" --stage adjoint --wrt y
  adjoint dump-ir net.py:Net --args "f32[32, 1, 28, 28]" --stage optimised --diff
  adjoint dump-ir net.py:loss --args "f32[3], f32[3]" --stage c --standalone > loss.c

Exit codes: 0 shown, 1 a mistake in what is shown, 2 a wrong command line."""

_OF_THE_COMMAND_LINE = ("E140", "E141")
"""Check --passes and --wrt."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description, parser.epilog = _ABOUT, _MORE
    parser.add_argument("target", help="FILE.py:NAME (a function, Cell class or instance) or FILE.ir[:NAME]")
    parser.add_argument("--args", default="", help='the inputs, types of tensors or Python values: "f32[32, 1, 32, 32], i32[32], 0.5"')
    parser.add_argument("--stage", choices=["parsed", "optimised", "plan", "adjoint", "c", "all", "forward"], default="all")
    parser.add_argument("--trace", action="store_true", help="run the function once and show what it did, instead of parsing it")
    parser.add_argument("--passes", default="", help='passes to run first, in the place of the optimised stage: "simplify,cse,dce"')
    parser.add_argument("--diff", action="store_true", help="show what each pass changed, and name those that changed nothing")
    parser.add_argument("--wrt", default="",
                        help="what to differentiate by: x,@conv1.weight; default: floating arguments and the parameters that are trained")
    parser.add_argument("--no-locations", action="store_true", help="leave the right margin out")
    parser.add_argument("--run", action="store_true", help="also run the graph on the inputs, the one that --stage optimised or --passes "
                        "shows (with --trace: the function); shows what it prints and returns")
    parser.add_argument("--hosts", default="", help="for --run of a .ir text: NAME=FILE.py:FUNCTION,...")
    parser.add_argument("--seed", type=int, default=0, help="seed of the example inputs")
    parser.add_argument("--standalone", action="store_true", help="with --stage c: one C file that compiles by itself, with a function "
                        "for the program and one for its gradient; of straight code without hooks")
    parser.add_argument("--plain", action="store_true", help="with --standalone: matrix products and convolutions as simple loops, which "
                        "need little of the stack and run slowly, with the same results")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.set_defaults(act=act)


def act(chosen: argparse.Namespace) -> int:
    """Print the stages."""
    shown: dict[str, Any] = {}
    structure = Structure() if chosen.json else None
    notes: dict[str, list[str]] = {}
    console = Output(highlight=False, soft_wrap=True)
    failed = ""
    code = 0
    several = chosen.stage == "all" or bool(chosen.passes) or chosen.run or chosen.diff
    try:
        with structure.followed() if structure is not None else contextlib.nullcontext():
            for name, part, about in _stages(chosen, structure):
                shown[name] = part
                if about:
                    notes[name] = about
                if structure is not None:
                    structure.add(name, part, about)
                    continue
                if several:
                    console.print(Text(("\n" if len(shown) > 1 else "") + f"# {name}", style="bold blue"))
                _show(console, part, not chosen.no_locations, about)
    except (CompileError, Raised) as mistake:
        of_the_command_line = isinstance(mistake, CompileError) and mistake.diagnostic.code in _OF_THE_COMMAND_LINE
        failed, code = str(mistake), 2 if of_the_command_line else 1
        if isinstance(mistake, NotDifferentiable) and not chosen.trace and "apply!" in failed:
            failed = failed.rstrip() + "\nhelp: `--trace` shows the gradient of one run, with what its forward hooks computed in it"
    except Wrong as wrong:
        failed, code = f"adjoint dump-ir: {wrong}", 2
    if failed:
        sys.stdout.flush()
        print(failed.rstrip(), file=sys.stderr)
    if structure is not None and code != 2:
        report = {name: _plain(part, not chosen.no_locations) for name, part in shown.items()}
        report |= {"notes": notes} if notes else {}
        report |= {"structure": found} if (found := structure.as_json(chosen.target, chosen.args)) else {}
        print(json.dumps(report | ({"error": failed} if failed else {})))
    return code


def _plain(part: Any, locations: bool) -> Any:
    match part:
        case Module() | Function():
            return listing(part, locations).text
        case list():
            return plan_text_of(part)
        case tuple():
            return list(map(as_dict, part))
        case _:
            return part


def _show(console: Output, part: Any, locations: bool, notes: list[str]) -> None:
    for note in notes:
        console.print(Text(f"# {note}", style="dim"))
    if isinstance(part, (Module, Function)):
        for line in listing(part, locations).lines:
            console.print(Text.assemble(*((token.text, _STYLES.get(token.kind, "")) for token in line)))
    elif isinstance(part, tuple):
        for kernel in part:
            console.print(Text(as_dict(kernel)["text"].rstrip() + "\n"))
    else:
        console.print(Text(str(_plain(part, locations)).rstrip()))


def _stages(chosen: argparse.Namespace, structure: Structure | None) -> Iterator[tuple[str, Any, list[str]]]:
    """Yield the requested stages, as (name, description, notes); kernels as a tuple, the parts of a plan as a list.

    structure  numbers the nodes of the program, for `--json`
    """
    program = _program(chosen, structure)
    module, symbol = program.module, program.symbol
    first = "forward" if chosen.trace else "parsed"
    if chosen.passes:
        pipeline = Pipeline.parse(chosen.passes)
        yield "before", module, []
        after, changes = _after(pipeline, module, chosen)
        yield from changes or [(f"after {chosen.passes}", after, [])]
        module = after
        if symbol not in module.functions:
            symbol = next(iter(module.functions))
        shown = module
    else:
        shown = module
        if chosen.stage in (first, "all"):
            yield first, module, []
        if chosen.stage in ("optimised", "all"):
            after, changes = _after(OPTIMISED.pipeline(), module, chosen)
            yield from changes or [("optimised", after, [])]
            if chosen.stage == "optimised":
                shown = after
    if chosen.stage == "plan":
        yield "plan", plan_parts(program.lowered) if program.lowered is not None and shown is program.module else plans(shown), []
    if chosen.run:
        yield "results", program.run(shown, symbol), []
    if chosen.stage not in ("adjoint", "c", "all"):
        return
    mistake: CompileError | None = None
    gradient: Module | None = None
    names = tuple(name.strip() for name in chosen.wrt.split(",") if name.strip()) or wanted(module, symbol, program.trained)
    if names:
        changes = PassDiffs(locations=not chosen.no_locations)
        try:
            adjoint = adjoint_of(module, symbol, names, [changes] if chosen.diff else [])
        except CompileError as found:
            mistake = found
        else:
            gradient = adjoint.module
            if chosen.stage != "c":
                if chosen.diff:
                    for i, (name, text, _) in enumerate(_told(changes)):
                        yield f"adjoint, {name}", text, list(adjoint.notes) if not i else []
                else:
                    yield "adjoint", gradient, list(adjoint.notes)
    elif chosen.stage == "adjoint":
        raise Wrong(f"@{symbol} has no floating argument or parameter to differentiate by; name one with --wrt")
    if mistake is not None and chosen.stage == "adjoint":
        raise mistake
    if chosen.standalone:
        yield "c", standalone(module, symbol, gradient, names, plain=chosen.plain).text, []
    elif chosen.stage != "adjoint":
        yield "c", tuple(served_kernels(EXPANDED.run(module), *([gradient] if gradient is not None else []))), []
    if mistake is not None:
        raise mistake


def _after(pipeline: Pipeline, module: Module, chosen: argparse.Namespace) -> tuple[Module, list[tuple[str, Any, list[str]]]]:
    """Return the module after the passes; with --diff also the changes of each pass."""
    changes = PassDiffs(locations=not chosen.no_locations)
    after = pipeline.run(module, [changes] if chosen.diff else [])
    return after, _told(changes)


def _told(changes: PassDiffs) -> list[tuple[str, str, list[str]]]:
    """Return the changes of each pass, as stages; the last one names the passes that changed nothing."""
    idle = [name for name, text in changes.texts if not text]
    told: list[tuple[str, str, list[str]]] = [(f"after {name}", text, []) for name, text in changes.texts if text]
    return [*told, ("no change", f"by {', '.join(idle)}\n", [])] if idle else told


# the program to dump


@dataclass(frozen=True)
class _Program:
    """The program to dump.

    symbol   of its function
    run      runs a module that passes have made of it on the example inputs; returns as text what its function prints and returns
    trained  for each parameter of the module, whether it is trained
    lowered  a parsed function, lowered to a graph
    """

    module: Module
    symbol: str
    run: Callable[[Module, str], str]
    trained: Mapping[str, bool] = field(default_factory=dict)
    lowered: Lowered | None = None


def _program(chosen: argparse.Namespace, structure: Structure | None) -> _Program:
    path, name = place_of(chosen.target, "FILE.py:NAME or FILE.ir")
    if chosen.standalone and chosen.stage != "c":
        raise Wrong("--standalone is a form of the C: it goes with --stage c")
    if chosen.plain and not chosen.standalone:
        raise Wrong("--plain goes with --standalone")
    if chosen.stage == "forward" and not chosen.trace:
        raise Wrong("the stage `forward` is what a run did: it goes with --trace; the graph is the stage `parsed`")
    if chosen.stage == "parsed" and chosen.trace:
        raise Wrong("with --trace nothing is parsed: the stage is called `forward`")
    if Path(path).suffix == ".ir":
        if chosen.trace:
            raise Wrong("--trace runs a Python function; a .ir text is a graph already")
        return _text_program(chosen, path, name, structure)
    check_name(path, name)
    target = named(path, name)
    inputs = inputs_of(chosen.args, chosen.seed)
    check_count(target, name, inputs)
    with raising():
        if chosen.trace:
            traced = trace(target, inputs)
            trained = {symbol: x.requires_grad for symbol, x in traced.parameters.items()}
            of_run = traced.module if structure is None else structure.of_module(traced.module)

            def run_function(module: Module, symbol: str) -> str:
                if module is not of_run:
                    raise Wrong("with --trace the function itself is run: leave --passes and --stage optimised out, or leave --trace out")
                return _printed(target, inputs)

            return _Program(of_run, traced.symbol, run_function, trained)
        made = parsed(target, *inputs)
    if structure is not None:
        made = structure.of_graph(made, target)
    graph = made.graph
    trained = {symbol: isinstance(x, Parameter) and x.requires_grad for symbol, x in graph.state.items()}

    def run_graph(module: Module, symbol: str) -> str:
        if module is graph.module:
            return _printed(jit(target), inputs)
        function = module.functions[symbol]
        if [x.type for x in function.params] != [x.type for x in graph.function.params] or symbol != graph.symbol:
            raise Wrong(f"the passes made another function of it, @{symbol}: save it as FILE.ir and run that, "
                        "`adjoint dump-ir FILE.ir --run`")
        return _printed(lambda *given: run_instead(made, module, given), inputs)

    return _Program(graph.module, graph.symbol, run_graph, trained, made)


def _text_program(chosen: argparse.Namespace, path: str, name: str, structure: Structure | None) -> _Program:
    module = parse_module(Path(path).read_text(encoding="utf-8"), path)
    verify_module(module)
    if not module.functions:
        raise Wrong(f"{path} has no function")
    if structure is not None:
        module = structure.of_module(module)
    symbol = name.lstrip("@") or next(iter(module.functions))
    if symbol not in module.functions:
        raise Wrong(f"{path} has no function @{symbol}; it has {', '.join('@' + s for s in module.functions)}")

    def run(shown: Module, symbol: str) -> str:
        types = [p.type for p in shown.functions[symbol].params]
        inputs = inputs_of(chosen.args, chosen.seed) if chosen.args else [example(t, np.random.default_rng(chosen.seed)) for t in types]
        hosts: dict[str, Any] = {}
        for item in filter(None, chosen.hosts.split(",")):
            host, _, place = item.partition("=")
            if ":" not in place:
                raise Wrong(f"--hosts takes NAME=FILE.py:FUNCTION, not {item!r}")
            hosts[host.lstrip("@")] = named(*place.rsplit(":", 1))
        missing = [host for host in module.hosts if host not in hosts]
        if missing:
            raise Wrong(f"the module names the hosts {', '.join('@' + m for m in missing)}: "
                        "say what they are with --hosts NAME=FILE.py:FUNCTION")
        if len(inputs) != len(types):
            raise Wrong(f"@{symbol} takes {len(types)} inputs, and --args has {len(inputs)}")
        return _printed(load_ir(Path(path) if shown is module else print_module(shown), hosts=hosts)[symbol], inputs)

    return _Program(module, symbol, run)


def _printed(function: Callable[..., Any], inputs: list[Any]) -> str:
    """Return what a call prints and returns, as text."""
    stream = io.StringIO()
    try:
        with contextlib.redirect_stdout(stream), raising():
            result = function(*inputs)
    except Raised as raised:
        raise Raised(stream.getvalue() + str(raised)) from raised
    return stream.getvalue() + ("\n".join(map(repr, result)) if isinstance(result, tuple) else repr(result))
