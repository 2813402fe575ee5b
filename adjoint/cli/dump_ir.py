"""`adjoint dump-ir FILE.py:NAME` or `FILE.ir`: a function at every stage.

A Python function, Cell class or instance is traced on example inputs of the types in `--args`; a `.ir` text is read as
it is.  Stages: forward, adjoint (the forward copy and the reverse pass, hooks standing in it), c (one kernel for each
different computation of both, with the lines it comes from).  For the latter two, gradients inside of the function are expanded.
"""

from __future__ import annotations

import argparse
import inspect
import json
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from adjoint import compat
from adjoint.codegen.emit import lower, unit_text
from adjoint.diagnostics import CompileError, user_place
from adjoint.ir.core import Function, Module, Node, walk
from adjoint.ir.parse import parse_module, parse_types
from adjoint.ir.print import listing
from adjoint.ir.types import BF16, BOOL, TensorType
from adjoint.ir.verify import verify_module
from adjoint.passes.autodiff import Grad
from adjoint.passes.differentiate import Differentiate
from adjoint.passes.manager import Changes, Pipeline
from adjoint.runtime.cell import Cell
from adjoint.runtime.executor import load_ir
from adjoint.runtime.tensor import Tensor
from adjoint.runtime.trace import trace

__all__ = ["act", "configure"]

_STYLES = {
    "keyword": "bold magenta", "op": "bold", "type": "cyan", "symbol": "yellow", "literal": "green", "string": "green", "location": "dim",
}


class Wrong(Exception):
    """What the user asked for cannot be done; the message says why and what would work."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = ("Show a function as IR, its adjoint with the hooks in it, and the C. "
                          "Exit codes: 0 shown, 1 a mistake in what is shown, 2 a wrong command line.")
    parser.add_argument("target", help="FILE.py:NAME (a function, Cell class or instance) or FILE.ir[:NAME]")
    parser.add_argument("--args", default="", help='types of the example inputs: "f32[32, 1, 32, 32], i32[32]"')
    parser.add_argument("--stage", choices=["forward", "adjoint", "c", "all"], default="all")
    parser.add_argument("--passes", default="", help='passes to run on the forward IR first: "simplify,cse,dce"')
    parser.add_argument("--diff", action="store_true", help="show what each pass changed")
    parser.add_argument("--wrt", default="",
                        help="what to differentiate by: x,@conv1.weight; default: all floating arguments and parameters")
    parser.add_argument("--no-locations", action="store_true", help="leave the right margin out")
    parser.add_argument("--run", action="store_true", help="also run the function on the example inputs and print the results")
    parser.add_argument("--hosts", default="", help="for --run of a .ir text: NAME=FILE.py:FUNCTION,...")
    parser.add_argument("--seed", type=int, default=0, help="seed of the example inputs")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.set_defaults(act=act)


def act(chosen: argparse.Namespace) -> int:
    """Print the stages."""
    try:
        shown = dict(_stages(chosen))
    except CompileError as mistake:
        print(mistake, file=sys.stderr)
        return 1
    except Wrong as wrong:
        print(f"adjoint dump-ir: {wrong}", file=sys.stderr)
        return 2
    if chosen.json:
        print(json.dumps({name: _plain(part, not chosen.no_locations) for name, part in shown.items()}, indent=2))
        return 0
    console = Console(highlight=False, soft_wrap=True)
    for i, (name, part) in enumerate(shown.items()):
        if len(shown) > 1:
            console.print(Text(("\n" if i else "") + f"# {name}", style="bold blue"))
        _show(console, part, not chosen.no_locations)
    return 0


def _plain(part: Any, locations: bool) -> Any:
    return listing(part, locations).text if isinstance(part, (Module, Function)) else part


def _show(console: Console, part: Any, locations: bool) -> None:
    if isinstance(part, (Module, Function)):
        for line in listing(part, locations).lines:
            console.print(Text.assemble(*((token.text, _STYLES.get(token.kind, "")) for token in line)))
    elif isinstance(part, list):
        for kernel in part:
            console.print(Text(kernel["text"].rstrip() + "\n"))
    else:
        console.print(Text(str(part).rstrip()))


def _stages(chosen: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    module, symbol, inputs = _module(chosen)
    if chosen.passes:
        changes = Changes(locations=not chosen.no_locations)
        pipeline = Pipeline.parse(chosen.passes)
        yield "before", module
        module = pipeline.run(module, [changes])
        if chosen.diff:
            for name, text in changes.texts:
                yield f"after {name}", text or "no change\n"
        else:
            yield f"after {chosen.passes}", module
        if symbol not in module.functions:
            symbol = next(iter(module.functions))
    elif chosen.stage in ("forward", "all"):
        yield "forward", module
    if chosen.run:
        yield "results", _results(chosen, module, symbol, inputs)
    if chosen.stage in ("adjoint", "c", "all"):
        module = Differentiate().on_module(module)
        adjoint = _adjoint(module, symbol, chosen.wrt)
        if chosen.stage != "c":
            if chosen.diff and not chosen.passes:
                changes = Changes(locations=not chosen.no_locations)
                changes(1, Grad(wrt=_wrt(module, symbol, chosen.wrt), of=symbol), module, adjoint)
                yield "adjoint", changes.texts[0][1]
            else:
                yield "adjoint", adjoint
        if chosen.stage != "adjoint":
            yield "c", _kernels(module, adjoint)


def _wrt(module: Module, symbol: str, text: str) -> tuple[str, ...]:
    if text:
        return tuple(name.strip() for name in text.split(",") if name.strip())
    function = module.functions[symbol]
    arguments = [p.hint for p in function.params if isinstance(p.type, TensorType) and p.type.dtype.is_float]
    return (*arguments, *(f"@{name}" for name, type_ in module.params.items() if type_.dtype.is_float))


def _adjoint(module: Module, symbol: str, wrt: str) -> Module:
    """The gradient of the function, dead code removed."""
    names = _wrt(module, symbol, wrt)
    if not names:
        raise Wrong(f"@{symbol} has no floating argument or parameter to differentiate by; name one with --wrt")
    return Pipeline((Grad(wrt=names, of=symbol), *Pipeline.parse("dce").passes)).run(module)


def _kernels(*modules: Module) -> list[dict[str, Any]]:
    """Each different kernel of the modules' nodes: its name, its C, a whole file that compiles, and the nodes that it serves."""
    found: dict[str, dict[str, Any]] = {}
    for module in modules:
        for function in module.functions.values():
            for node in walk(function.body):
                atoms = (*node.operands, *node.results)
                if not node.op.can_lower or not all(isinstance(x.type, TensorType) and x.type.is_static for x in atoms):
                    continue
                lowered = lower(node.op, tuple(x.type for x in node.operands), tuple(x.type for x in node.results))
                fresh = {"name": lowered.name, "headers": list(lowered.headers), "serves": [], "c": lowered.text}
                entry = found.setdefault(lowered.text, fresh)
                served = _served(node)
                if served not in entry["serves"]:
                    entry["serves"].append(served)
    for entry in found.values():
        lines = entry["serves"][:4] + ([f"and {len(entry['serves']) - 4} more"] if len(entry["serves"]) > 4 else [])
        entry["text"] = "".join(f"// {line}\n" for line in lines) + entry["c"]
        entry["unit"] = unit_text(entry["name"], entry["headers"], [entry["c"]])
    return list(found.values())


def _served(node: Node) -> str:
    place = user_place(node.loc)
    types = ", ".join(str(x.type) for x in node.operands)
    results = ", ".join(str(x.type) for x in node.results)
    return f"{node.op.name}({types}) -> {results}" + (f" at {place.file}:{place.line}" if place else "")


# what is dumped


def _module(chosen: argparse.Namespace) -> tuple[Module, str, list[Any]]:
    path, _, name = chosen.target.rpartition(":") if ":" in Path(chosen.target).name else (chosen.target, "", "")
    if not Path(path).is_file():
        raise Wrong(f"there is no file {path!r}; the form is FILE.py:NAME or FILE.ir")
    if Path(path).suffix == ".ir":
        module = parse_module(Path(path).read_text(encoding="utf-8"), path)
        verify_module(module)
        if not module.functions:
            raise Wrong(f"{path} has no function")
        symbol = name.lstrip("@") or next(iter(module.functions))
        if symbol not in module.functions:
            raise Wrong(f"{path} has no function @{symbol}; it has {', '.join('@' + s for s in module.functions)}")
        types = [p.type for p in module.functions[symbol].params]
        return module, symbol, _inputs(parse_types(chosen.args, "--args") if chosen.args else types, chosen.seed) if chosen.run else []
    if not name:
        raise Wrong(f"which function or Cell of {path}? The form is {path}:NAME")
    target = _named(path, name)
    inputs = _inputs(parse_types(chosen.args, "--args") if chosen.args else (), chosen.seed)
    _check_count(target, name, inputs)
    traced = trace(target, inputs)
    return traced.module, traced.symbol, inputs


def _named(path: str, name: str) -> Any:
    """The object called `name` in a Python file; a Cell class is made into an instance."""
    compat.install()
    sys.path.insert(0, str(Path(path).resolve().parent))
    space = runpy.run_path(path, run_name="__adjoint__")
    found: Any = space
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else getattr(found, part, None)
        if found is None:
            public = [k for k, v in space.items() if not k.startswith("_") and callable(v)]
            raise Wrong(f"{path} has no {name!r}; it has {', '.join(public)}")
    if inspect.isclass(found) and issubclass(found, Cell):
        try:
            return found()
        except TypeError as needs:
            raise Wrong(f"the Cell {name} cannot be made without arguments ({needs}); "
                        "make an instance in the file and name that") from needs
    if not callable(found):
        raise Wrong(f"{name!r} in {path} is {type(found).__name__}: neither a function nor a Cell")
    return found


def _check_count(target: Any, name: str, inputs: list[Any]) -> None:
    function = target.construct if isinstance(target, Cell) else target
    try:
        inspect.signature(function).bind(*inputs)
    except TypeError as wrong:
        raise Wrong(f'{name} cannot be called with {len(inputs)} inputs ({wrong}); give their types: --args "f32[2, 3], i32[2]"') from wrong


def _inputs(types: Any, seed: int) -> list[Tensor]:
    """Example inputs: standard normal numbers, integers 0, bools true; from a seed."""
    generator = np.random.default_rng(seed)
    inputs: list[Tensor] = []
    for type_ in types:
        if not isinstance(type_, TensorType) or not type_.is_static:
            raise Wrong(f"an example input needs a tensor type with numbers as dimensions, not {type_}; give them with --args")
        if type_.dtype.is_float:
            values = generator.standard_normal(type_.sizes).astype(np.float32 if type_.dtype is BF16 else type_.dtype.compute.array)
            inputs.append(Tensor(values, type_.dtype))
        else:
            inputs.append(Tensor(np.full(type_.sizes, type_.dtype is BOOL, type_.dtype.array)))
    return inputs


def _results(chosen: argparse.Namespace, module: Module, symbol: str, inputs: list[Any]) -> str:
    path = chosen.target.rpartition(":")[0] if ":" in Path(chosen.target).name else chosen.target
    if Path(path).suffix != ".ir":
        return _repr(_named(*chosen.target.rsplit(":", 1))(*inputs))
    hosts: dict[str, Any] = {}
    for item in filter(None, chosen.hosts.split(",")):
        name, _, place = item.partition("=")
        if ":" not in place:
            raise Wrong(f"--hosts takes NAME=FILE.py:FUNCTION, not {item!r}")
        hosts[name.lstrip("@")] = _named(*place.rsplit(":", 1))
    missing = [name for name in module.hosts if name not in hosts]
    if missing:
        raise Wrong(f"the module names the hosts {', '.join('@' + m for m in missing)}: "
                    "say what they are with --hosts NAME=FILE.py:FUNCTION")
    return _repr(load_ir(Path(path), hosts=hosts)[symbol](*inputs))


def _repr(result: Any) -> str:
    return "\n".join(repr(x) for x in result) if isinstance(result, tuple) else repr(result)


