"""Tiers: a sequence runs the kernels of its nodes at first, and fused kernels once these are compiled.

    the first runs    the kernels that eager mode has
    after the third   elementwise nodes are fused and their kernels compiled, in another thread and at a low priority
    when ready        the next run uses them; no run is interrupted, and no bit changes

A fused kernel that the compiler refuses leaves its nodes as they were.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from adjoint.diagnostics import InternalError, warn
from adjoint.ir.core import Node
from adjoint.ir.ops.fused import kernel_op
from adjoint.ir.plan import Plan
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.run import Run
from adjoint.runtime.execution.tables import CallResult
from adjoint.runtime.memory.machine import machine
from adjoint.runtime.process.context import background_compile
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["FirstForm", "Runnable"]

_RUNS = 3
"""Runs before anything is fused."""


class Runnable(Protocol):
    """A form that can be run."""

    @property
    def takes(self) -> frozenset[int] | None: ...

    def run(self, arguments: Sequence[Any], run: Run) -> list[Tensor]: ...

    def whole(self, returned: CallResult, fits: Callable[[Sequence[Tensor]], bool] | None) -> Callable[..., Any] | None:
        """Return a function that does a whole run, if there is one; for the arguments see `tables.table_function`."""
        ...


class Tiered(Protocol):
    """What has forms, each in an attribute."""

    def bound(self, plan: Plan) -> Runnable:
        """Return a form of a plan."""
        ...

    def use(self, name: str, form: Runnable) -> None:
        """Take a form for all runs that begin from now on; `name` is the attribute that holds it."""
        ...


class FirstForm:
    """The form that a plan has at first.  It counts its runs, until fused kernels are asked for."""

    __slots__ = ("_form", "_name", "_of", "_plan", "_runs", "takes")

    def __init__(self, form: Runnable, plan: Plan, of: Tiered, name: str):
        self._form, self._plan, self._of, self._name, self._runs = form, plan, weakref.ref(of), name, 0
        self.takes = form.takes

    def run(self, arguments: Sequence[Any], run: Run) -> list[Tensor]:
        """Return the results of the form."""
        form, self._runs = self._form, self._runs + 1
        chosen, of = background_compile(), self._of()
        if of is not None:
            if chosen == "wait":
                of.use(self._name, form)
                form = self._fused(of, waited_for=True) or form
            elif chosen is True and self._runs > _RUNS:
                of.use(self._name, form)
                if (kernels := machine().kernels) is not None:
                    kernels.later(self._in_background)
            elif self._runs == _RUNS + 1:
                of.use(self._name, self)
        return form.run(arguments, run)

    def whole(self, returned: CallResult, fits: Callable[[Sequence[Tensor]], bool] | None) -> Callable[..., Any] | None:
        """Return the function that does a whole run for as long as nothing is to be fused; None before it has run some times."""
        return self._form.whole(returned, partial(_while_off, fits)) if self._runs > _RUNS and not background_compile() else None

    def _in_background(self) -> None:
        of = self._of()
        if of is None:
            return
        with suppress(UserWarning):  # where warnings are errors: nothing that the user computes depends on it
            try:
                self._fused(of, waited_for=False)
            except Exception as fault:
                said = f"{type(fault).__name__}: {fault}"
                warn(f"The kernels of a graph could not be fused ({said}). It runs as before; please report this fault.")

    def _fused(self, of: Tiered, *, waited_for: bool) -> Runnable | None:
        """Return the form with fused kernels, which is used from now on; None if there is nothing to fuse."""
        plan = fused_plan(self._plan, waited_for=waited_for)
        if plan is None:
            return None
        form = of.bound(plan)
        of.use(self._name, form)
        return form


def _while_off(fits: Callable[[Sequence[Tensor]], bool] | None, arguments: Sequence[Tensor]) -> bool:
    return not background_compile() and (fits is None or fits(arguments))


def fused_plan(plan: Plan, *, waited_for: bool) -> Plan | None:
    """Return the plan of a function with fused nodes, whose kernels are compiled; None if there is nothing to fuse.

    waited_for  True: they are compiled by all processors; False: at a low priority
    """
    # Imported with the first sequence that ran several times.
    from adjoint.codegen.emit import lower
    from adjoint.passes.fuse import fused

    kernels = machine().kernels
    if kernels is None:
        return None
    texts: dict[Any, Any] = {}

    def wanted(node: Node) -> bool:
        op = kernel_op(node)
        texts[op] = lower(op, [x.type for x in node.operands], [x.type for x in node.results])
        return True

    def compiled(node: Node) -> bool:
        try:
            kernels.get(texts[kernel_op(node)])
        except InternalError as fault:
            if not kernels.ended:
                warn(f"{fault} The operators that it fuses run one by one.")
            return False
        return True

    function = fused(plan.function, wanted)
    if function is plan.function:
        return None
    kernels.prepare(texts.values(), waited_for=waited_for)
    function = fused(plan.function, compiled)
    return None if function is plan.function else planned(function, identities=plan.identities, accesses=plan.accesses)
