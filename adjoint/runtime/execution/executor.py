"""The executor: IR run on tensors, by kernels.

It is the interpreter with what it computes with replaced: values are Tensors, and a node runs by its plan.  `load_ir`
turns IR text into a function that Python can call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from adjoint.ir.core import Literal, Module, Node, walk
from adjoint.ir.interpret import Interpreter
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.parse import parse_module
from adjoint.ir.types import I64, TensorType
from adjoint.ir.verify import verify_module
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.tensor import Tensor, apply, as_tensor, constant

__all__ = ["Executor", "Loaded", "load_ir"]


class Executor(Interpreter):
    """Runs functions of a module on Tensors; state and hosts as for the interpreter, in Tensors."""

    def execute(self, node: Node, op: Op, operands: Sequence[Any]) -> Sequence[Any]:
        made = apply(op, *operands)
        return made if isinstance(made, tuple) else (made,)

    def constant(self, literal: Literal) -> Tensor:
        return constant(literal.value, literal.type.dtype)

    def truth(self, array: Tensor) -> bool:
        return bool(array)

    def integer(self, array: Tensor) -> int:
        return int(array)

    def number(self, value: int) -> Tensor:
        return constant(value, I64)

    def zeros(self, type_: TensorType) -> Tensor:
        return zeros(type_)

    def draw(self, seed: int) -> Tensor:
        return next_key(seed or None)


class Loaded:
    """A module of the IR that can be called: `loaded(x, y)` runs its first function, `loaded["f"](x)` the one of that name.

    module  the IR
    state   parameters by symbol, Tensors; `write!` sets them
    hosts   Python callables by symbol
    """

    def __init__(self, module: Module, state: MutableMapping[str, Tensor], hosts: Mapping[str, Callable[..., Any]]):
        self.module, self.state, self.hosts = module, state, hosts

    def __getitem__(self, symbol: str) -> Callable[..., Any]:
        if symbol not in self.module.functions:
            raise KeyError(f"the module has no function @{symbol}; it has {', '.join('@' + s for s in self.module.functions)}")

        def run(*arguments: Any) -> Any:
            for name in self.module.hosts:
                if name not in self.hosts:
                    raise ValueError(f"the module names the host @{name}, for which no function was given: hosts={{'{name}': ...}}")
            executor = Executor(self.module, state=self.state, hosts=self.hosts)
            results = executor.run(symbol, *(as_tensor(x) for x in arguments))
            return results[0] if len(results) == 1 else results

        return run

    def __call__(self, *arguments: Any) -> Any:
        if not self.module.functions:
            raise ValueError("the module has no function")
        return self[next(iter(self.module.functions))](*arguments)


def load_ir(
    source: str | Path, *, hosts: Mapping[str, Callable[..., Any]] | None = None, state: Mapping[str, Any] | None = None
) -> Loaded:
    """IR text, or the path of a file of it, as something to call.

    hosts  Python callables by symbol, as the interpreter calls them
    state  first values of the module's parameters by symbol; zeros where none is given

    Gradients that the text takes inside of functions, `gradient` and `record` nodes, are expanded by the pass `differentiate`.

    CompileError for a text with a mistake; ValueError for state of another type than its parameter.
    """
    path = Path(source) if isinstance(source, Path) or (len(str(source)) < 4096 and "\n" not in str(source)) else None
    text = path.read_text(encoding="utf-8") if path is not None else str(source)
    module = parse_module(text, str(path) if path is not None else "<text>")
    verify_module(module)
    if any(isinstance(node.op, Differentiated) for function in module.functions.values() for node in walk(function.body)):
        # Loaded for a text that takes gradients, not with the package.
        from adjoint.passes.differentiate import Differentiate

        module = Differentiate().on_module(module)
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
