"""IR text as callable functions.

`load_ir` turns the text of a module into functions on tensors, which kernels run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from collections.abc import Sequence as Listed
from pathlib import Path
from typing import Any

from adjoint.ir.core import Module, Node, tensor_type, walk
from adjoint.ir.interpret import Interpreter, sizes_of
from adjoint.ir.op import Op
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.control import Call, Differentiated
from adjoint.ir.ops.fused import Fused
from adjoint.ir.ops.host import Apply, Attach, Bprop, Callback, CellCallback, Hook, Outputs, Pack, Unpack
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.parse import parse_module
from adjoint.ir.types import TensorType
from adjoint.ir.verify import verify_module
from adjoint.runtime.execution.bound_plan import Bound, BoundPlan, Maker, computing
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.run import Run, Step
from adjoint.runtime.process.tracer import state as thread
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.tensor import Tensor, as_tensor, wrap

__all__ = ["Loaded", "load_ir"]


class Loaded:
    """Lets Python call the functions of a module of the IR: `loaded(x, y)` runs the first one, `loaded["f"](x)` the function `f`.

    module  the IR
    state   the Tensors of the module's parameters, by symbol; `write!` sets them
    hosts   the Python functions that the text calls, by symbol
    needed  the symbols in the text for which a call raises ValueError if `hosts` has no function.  Those of checks are not among them: a
        check without one raises its own exception
    """

    def __init__(self, module: Module, state: MutableMapping[str, Tensor], hosts: Mapping[str, Callable[..., Any]]):
        self.module, self.state, self.hosts = module, state, hosts
        named = {node.op.symbol for function in module.functions.values() for node in walk(function.body) if isinstance(node.op, Check)}
        self.needed = [name for name in module.hosts if name not in named]
        self._makers = _makers(self)
        self._bound_plans: dict[tuple[str, tuple[tuple[str, int], ...]], BoundPlan] = {}

    def __getitem__(self, symbol: str) -> Callable[..., Any]:
        if symbol not in self.module.functions:
            raise KeyError(f"the module has no function @{symbol}; it has {', '.join('@' + s for s in self.module.functions)}")

        def run(*arguments: Any) -> Any:
            for name in self.needed:
                if name not in self.hosts:
                    raise ValueError(f"the module names the host @{name}, for which no function was given: hosts={{'{name}': ...}}")
            results = self.run(symbol, arguments)
            return results[0] if len(results) == 1 else tuple(results)

        return run

    def __call__(self, *arguments: Any) -> Any:
        if not self.module.functions:
            raise ValueError("the module has no function")
        return self[next(iter(self.module.functions))](*arguments)

    def run(self, symbol: str, arguments: Listed[Any]) -> list[Tensor]:
        """Run a function of the module and return its results.

        TypeError if the arguments do not have the types of its parameters.
        """
        function = self.module.functions[symbol]
        types = [p.type for p in function.params]
        if len(arguments) != len(types):
            raise TypeError(f"@{symbol} takes {len(types)} arguments, but got {len(arguments)}")
        given = [as_tensor(x, getattr(t, "dtype", None)) if not isinstance(x, Tensor) else x for x, t in zip(arguments, types, strict=True)]
        sizes = sizes_of(types, given)
        bound = self._bound_plan(symbol, sizes)
        for x, param in zip(given, bound.plan.function.params, strict=True):
            if x.type is not param.type:
                raise TypeError(f"an argument of type {x.type} where {param.type} is expected")
        return bound.run_fitting(given, Run(thread.tracer))

    def _bound_plan(self, symbol: str, sizes: Mapping[str, int]) -> BoundPlan:
        key = symbol, tuple(sorted(sizes.items()))
        bound = self._bound_plans.get(key)
        if bound is None:
            function = self.module.functions[symbol]
            if sizes:
                # Imported only for a text with named sizes.
                from adjoint.passes.schedule import SIZED

                function = SIZED.on(function, sizes=[f"{name}:{number}" for name, number in sizes.items()])
            # Two threads may both make it: they make equal bound plans.
            bound = self._bound_plans[key] = BoundPlan(planned(function, identities=True), self._makers, explanations=self.hosts)
        return bound


class _Hosts(Interpreter):
    """Calls the Python functions that a module of the IR names (hooks, prints), with tensors; inherits from the interpreter how they are
    called.
    """

    def zeros(self, type_: TensorType) -> Tensor:
        return zeros(type_)


def _makers(loaded: Loaded) -> dict[type[Op], Maker]:
    """Return, for each class of op in the module that needs Python, the function that makes its step: host calls, state, calls of
    functions.
    """
    hosts = _Hosts(loaded.module, hosts=loaded.hosts)
    call = _each(lambda node, given: _of_types(node, hosts.host(node, given)))
    unchanged = _each(lambda node, given: given)

    def read(bound: Bound) -> Step:
        symbol, out = bound.node.op.symbol, bound.results.start

        def step(values: list[Any], run: Run) -> None:
            values[out] = loaded.state[symbol]

        return step

    def write(bound: Bound) -> Step:
        symbol, (value,) = bound.node.op.symbol, bound.operands

        def step(values: list[Any], run: Run) -> None:
            loaded.state[symbol] = values[value]

        return step

    nothing = _each(lambda node, given: ())
    return {
        Read: read, Write: write, Hook: unchanged, Outputs: unchanged, Attach: nothing, Pack: nothing,
        Callback: call, CellCallback: call, Bprop: call, Apply: call, Unpack: call,
        Call: _each(lambda node, given: loaded.run(node.op.symbol, given)),
    }


def _each(function: Callable[[Node, Listed[Tensor]], Listed[Any]]) -> Maker:
    """Return a maker of steps that compute the results of a node with a Python function.

    function  takes the node and its operands as tensors, and returns its results
    """

    def maker(bound: Bound) -> Step:
        node, held = bound.node, bound.held
        if all(held):
            return computing(lambda *given: function(node, given), bound)
        types, shown = [tensor_type(x) for x in node.operands], held[len(bound.operands) :]

        def called(*given: Any) -> Listed[Any]:
            made = function(node, [x if is_tensor else wrap(t, x) for t, x, is_tensor in zip(types, given, held, strict=False)])
            return [x if is_tensor else x.memory for x, is_tensor in zip(made, shown, strict=True)]

        return computing(called, bound)

    return maker


def _of_types(node: Node, made: Listed[Any]) -> list[Tensor]:
    """Return what a host returned as a list of tensors; TypeError if they do not have the types of the node's results."""
    types = [value.type for value in node.results]
    tensors = [x if isinstance(x, Tensor) else as_tensor(x, getattr(t, "dtype", None)) for x, t in zip(made, types, strict=False)]
    if len(made) != len(types) or any(x.type is not t for x, t in zip(tensors, types, strict=True)):
        got = ", ".join(str(x.type) for x in tensors) if len(made) == len(types) else f"{len(made)} values"
        raise TypeError(f"the host @{node.op.symbol} must return {', '.join(map(str, types)) or 'nothing'}, but returned {got}")
    return tensors


def load_ir(
    source: str | Path, *, hosts: Mapping[str, Callable[..., Any]] | None = None, state: Mapping[str, Any] | None = None
) -> Loaded:
    """Load IR text, and return an object that calls its functions.

    source  the text, or the path of a file that holds it
    hosts   the Python functions that the text calls, by symbol, with the signatures that the interpreter uses
    state   initial values of the module's parameters by symbol; zeros by default

    Gradients inside of the text (`gradient` and `record` nodes) are expanded by the pass `differentiate`.

    CompileError for a text with a mistake; ValueError for state of another type than its parameter.
    """
    is_path = isinstance(source, Path) or (0 < len(source) < 4096 and not any(mark in source for mark in "\n{"))  # a function has a brace
    path = Path(source) if is_path else None
    text = path.read_text(encoding="utf-8") if path is not None else str(source)
    module = parse_module(text, str(path) if path is not None else "<text>")
    verify_module(module)
    if any(isinstance(node.op, Differentiated) for function in module.functions.values() for node in walk(function.body)):
        # Imported only for a text that takes gradients.
        from adjoint.passes.schedule import EXPANDED

        module = EXPANDED.run(module)
    if any(isinstance(node.op, Fused) for function in module.functions.values() for node in walk(function.body)):
        # Imported only for a text with fused nodes, which are fused again where it runs.
        from adjoint.passes.schedule import UNFUSED

        module = UNFUSED.run(module)
    values: dict[str, Tensor] = {}
    given = state or {}
    for symbol, type_ in module.params.items():
        value = as_tensor(given[symbol], type_.dtype) if symbol in given else zeros(type_)
        if value.type is not type_:
            raise ValueError(f"the parameter @{symbol} is {type_}, but its value has the type {value.type}")
        values[symbol] = value
    for symbol in given:
        if symbol not in module.params:
            raise ValueError(f"the module has no parameter @{symbol}; it has {', '.join('@' + s for s in module.params) or 'none'}")
    return Loaded(module, values, dict(hosts or {}))
