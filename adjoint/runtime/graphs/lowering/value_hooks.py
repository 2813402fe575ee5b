"""Hooks on tensors of a graph that is being made, by `HookBackward`, `InsertGradientOf` and `Tensor.register_hook`: each becomes a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.foundation.diagnostics import CompileError
from adjoint.frontend import errors
from adjoint.ir.ops.conversion import NoGrad
from adjoint.ir.ops.host import Attach, Hook
from adjoint.runtime.graphs.graph import Registration
from adjoint.runtime.graphs.lowering.graph_values import GraphTensor
from adjoint.runtime.graphs.lowering.hosts import Hosts
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.symbols import Symbols
from adjoint.runtime.graphs.lowering.values import Values
from adjoint.runtime.hooks.handles import check_hook, described
from adjoint.runtime.process.location import receiver
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["ValueHooks"]


class ValueHooks:
    """Adds nodes for hooks on tensors of the graph: for `HookBackward`, `InsertGradientOf` and `Tensor.register_hook`.

    regions, symbols, values, hosts  the parts of the `Lowering` that it uses
    as_python  turns a function of the parsed code (the user's code of the graph) into one that Python can call when the graph runs
    """

    def __init__(self, regions: Regions, symbols: Symbols, values: Values, hosts: Hosts, as_python: Callable[[Any], Any]):
        self._regions, self._symbols, self._values, self._hosts, self._as_python = regions, symbols, values, hosts, as_python

    def hook(self, kind: str, function: Any, operands: Sequence[Tensor], title: str) -> tuple[Tensor, ...]:
        """Add a node for `HookBackward` or `InsertGradientOf`; return new tensors, on whose gradients the hook runs.

        kind      "value" or "gradient", for the two operators (`hooks.firing.OPERATORS`)
        function  the hook
        operands  its tensors
        title     a description of the hook function, from which a tape (the recording for a gradient) makes the hook's name in the IR
        """
        if state.no_grad:
            return tuple(self._values.tensors([self._regions.node(NoGrad(), atom) for atom in self._values.atoms(operands)]))
        function = self._as_python(function)
        symbol = self._symbols.host(getattr(function, "__name__", "hook"), (function, kind, title), described(function))
        return tuple(self._values.tensors(self._regions.add(Hook(symbol, kind=kind), self._values.atoms(operands)).results))

    def attach(self, x: Tensor, hook_fn: Callable[..., Any]) -> Any:
        """Add a node that does `x.register_hook(hook_fn)` when the graph runs.

        Return a handle by which parsed code (the user's code of the graph) can remove the hook.
        """
        check_hook(hook_fn)
        hook_fn = self._as_python(hook_fn)
        loc = self._regions.loc
        if not isinstance(x, GraphTensor):
            what = (f"the Parameter '{x.name}'. Register hook for Parameter inside graph is not supported." if isinstance(x, Parameter)
                    else "a tensor from outside")
            raise errors.REGISTERED_INSIDE.at(loc, f"a hook is registered on {what}", help="register it outside, once")
        registration = Registration(hook_fn)
        name = receiver(loc) or getattr(x.atom, "hint", "value")
        symbol = self._symbols.host(f"{name}.hook", registration, described(hook_fn))
        self._regions.node(Attach(symbol), self._values.atom(x))
        x.hooked = x.atom
        return _LateHandle(self._hosts, registration)

    def registered_inside(self) -> CompileError:
        """Return the error for code of a graph that registers or removes a hook of an object that exists before and after the graph runs.
        """
        return errors.REGISTERED_INSIDE.at(
            self._regions.loc, "a hook of a cell, a parameter or a tensor from outside is registered or removed",
            help="do it outside; a hook may also do it when it runs")


class _LateHandle:
    """The handle that parsed code (the user's code of the graph) gets for a hook, which is registered each time the graph runs; its
    `remove` becomes a node of the graph.

    hosts         adds that node
    registration  registers the hook when the graph runs
    """

    __slots__ = ("_hosts", "_registration")  # no `__dict__`, which would be the program's to the guards

    def __init__(self, hosts: Hosts, registration: Registration):
        self._hosts, self._registration = hosts, registration

    def remove(self) -> None:
        """Add a node that removes the hook when the graph runs."""
        self._hosts.effect("remove", self._registration.remove, ())
