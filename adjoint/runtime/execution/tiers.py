"""Tiers: a plan at first runs the kernels of its single nodes, and later fused kernels, once these are compiled.

    the first runs    the kernels that eager mode has
    after the third   elementwise nodes are fused and their kernels compiled, in another thread and at a low priority
    when ready        the next run uses them; no run is interrupted, and no bit changes

If the compiler refuses a fused kernel, its nodes stay separate.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from adjoint.foundation.diagnostics import InternalError, warn
from adjoint.ir.core import Node
from adjoint.ir.ops.fused import kernel_op
from adjoint.ir.plan import Plan
from adjoint.runtime.execution.call_functions import CallText
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.run import Run
from adjoint.runtime.memory.machine import machine
from adjoint.runtime.process.context import background_compile
from adjoint.runtime.tensor.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.codegen.compile import KernelCache
    from adjoint.codegen.emit import KernelText

__all__ = ["FirstForm", "Runnable"]

_RUNS = 3
"""The number of times that a plan is executed before its elementwise nodes are fused, which costs time for the compiler."""


class Runnable(Protocol):
    """A plan made ready to execute, as a bound plan uses it (a Protocol): a `Form`, or a `FirstForm`, which counts its executions.

    takes  the indices of the arguments that it takes as tensors, the others as memory; None if all are tensors
    """

    @property
    def takes(self) -> frozenset[int] | None: ...

    def run(self, arguments: Sequence[Any], run: Run) -> list[Tensor]: ...

    def function_of_calls(
        self, call: CallText, fits: Callable[[Sequence[Tensor]], bool] | None, hosts: Callable[[], Sequence[Any]] | None
    ) -> Callable[..., Any] | None:
        """Return a function that does a whole call, from the caller's arguments to the caller's result; None if there is none.

        call, fits, hosts  as for `call_functions.call_function`
        """
        ...


class Tiered(Protocol):
    """The methods of a bound plan that a FirstForm uses (a Protocol): prepare another plan, and replace the prepared plan in use."""

    def bound(self, plan: Plan) -> Runnable:
        """Return an object that runs a plan (a form) and records and logs nothing.

        plan  the plan: that of the bound plan, with fused kernels
        """
        ...

    def use(self, name: str, form: Runnable) -> None:
        """Replace the form (the plan made ready to execute): executions that begin from now on use `form`.

        name  the attribute that holds the form
        """
        ...


class FirstForm:
    """Executes a plan until its fused kernels (one kernel for several nodes) are compiled, or are known not to exist.

    It counts the executions and requests the fused kernels after some of them.  The form that uses them then replaces this one.

    After the first executions, one generated function does a whole call (`function_of_calls`).  Callers keep that function; it checks
    whether this form is still in use.

    form  runs the plan with a kernel for each node
    plan  the plan
    of    the bound plan that holds this object; it is referred to weakly
    name  the attribute of the bound plan that holds it
    """

    __slots__ = ("_form", "_name", "_next", "_of", "_plan", "_runs", "_settled", "takes")

    def __init__(self, form: Runnable, plan: Plan, of: Tiered, name: str):
        self._form, self._plan, self._of, self._name, self._runs = form, plan, weakref.ref(of), name, 0
        self._settled: tuple[bool | str, int] | None = None
        """The setting `background_compile` and the process id for which `_settle` has run: a forked child has no thread that fuses."""
        self._next: Runnable | None = None
        """The form that has replaced this one; None while this one is in use."""
        self.takes = form.takes

    def run(self, arguments: Sequence[Any], run: Run) -> list[Tensor]:
        """Run the plan on these arguments, and return its results; count the executions, so that kernels are fused after some of them.

        arguments  tensors or memory, as `takes` says
        run        the state of this execution
        """
        self._runs += 1
        chosen = background_compile()
        if self._next is None and (self._runs > _RUNS or chosen == "wait") and self._settled != (settled := (chosen, os.getpid())):
            self._settled = settled
            if (of := self._of()) is not None:
                form = self._settle(of, chosen)
                given = self._given_to(form, arguments)
                if given is not None:
                    return form.run(given, run)
        return self._form.run(arguments, run)

    def _given_to(self, form: Runnable, arguments: Sequence[Any]) -> Sequence[Any] | None:
        """Return the arguments of this form as another one takes them; None if it takes a tensor of which only the memory is known."""
        if form.takes == self.takes:
            return arguments
        own, takes = (frozenset(range(len(arguments))) if each is None else each for each in (self.takes, form.takes))
        return [x.memory if i in own - takes else x for i, x in enumerate(arguments)] if takes <= own else None

    def function_of_calls(
        self, call: CallText, fits: Callable[[Sequence[Tensor]], bool] | None, hosts: Callable[[], Sequence[Any]] | None
    ) -> Callable[..., Any] | None:
        """Return a function that does a whole call as long as this form is in use; None until the form has been executed some times.

        call, fits, hosts  as for `call_functions.call_function`
        """
        return None if self._settled is None else self._form.function_of_calls(call, partial(self._fits, self._settled[0], fits), hosts)

    def _fits(self, chosen: bool | str, fits: Callable[[Sequence[Tensor]], bool] | None, arguments: Sequence[Tensor]) -> bool:
        return self._next is None and chosen == background_compile() and (fits is None or fits(arguments))

    def _settle(self, of: Tiered, chosen: bool | str) -> Runnable:
        """Request the fused kernels in the way that the setting `background_compile` says, and return the form (the plan made ready) to use
        for the present execution: with fused kernels if the setting is to wait for them.

        of      the bound plan
        chosen  the value of the setting
        """
        kernels = machine().kernels
        if chosen == "wait" or (chosen is True and kernels is None):
            self._end(of, self._form)
            return self._fused(of, waited_for=True) or self._form
        of.use(self._name, self)  # from now on it has a function
        if self._next is not None:  # another thread was quicker
            of.use(self._name, self._next)
        elif chosen is True and kernels is not None:
            kernels.later(self._in_background)
        return self._form

    def _in_background(self) -> None:
        of = self._of()
        if of is None or self._next is not None:
            return
        form = None
        with suppress(UserWarning):  # where warnings are errors: the results of the program do not depend on fusing
            try:
                form = self._fused(of, waited_for=False)
            except Exception as fault:
                said = f"{type(fault).__name__}: {fault}"
                warn(f"The kernels of a graph could not be fused ({said}). It runs as before; please report this fault.")
        if form is None:
            self._end(of, self._form)

    def _fused(self, of: Tiered, *, waited_for: bool) -> Runnable | None:
        """Make the form that runs fused kernels, let it replace this one, and return it; None if there is nothing to fuse.

        of          the bound plan, which holds the form in use
        waited_for  True: the caller waits, so all processors compile; False: one processor compiles at a low priority
        """
        plan = fused_plan(self._plan, waited_for=waited_for)
        if plan is None:
            return None
        form = of.bound(plan)
        self._end(of, form)
        return form

    def _end(self, of: Tiered, form: Runnable) -> None:
        """Let the form `form` replace this one from now on.

        of  the bound plan, which holds the form in use
        """
        self._next = form
        of.use(self._name, form)


def fused_plan(plan: Plan, *, waited_for: bool, library: bool = False) -> Plan | None:
    """Return a plan of the same function with fused nodes, whose kernels are compiled; None if there is nothing to fuse.

    waited_for  True: all processors compile, since somebody waits; False: one compiles at a low priority
    library     True: the function is one of the library, whose kernels shall serve all sizes
    """
    kernels = machine().kernels
    if kernels is None:
        return None

    # Imported with the first plan that ran several times.
    from adjoint.codegen.recipes import kernel_of
    from adjoint.passes.schedule import FUSED, FUSED_LIBRARY

    schedule = FUSED_LIBRARY if library else FUSED
    texts: dict[Any, KernelText] = {}

    def wanted(node: Node) -> bool:
        op, types = kernel_op(node), [x.type for x in node.operands]
        if (op, *types) not in texts:
            texts[op, *types] = kernel_of(op, types, [x.type for x in node.results])
        return True

    function = schedule.on(plan.function, accept=wanted)
    if function is plan.function:
        return None
    kernels.prepare(texts.values(), waited_for=waited_for)
    refused = {key for key, text in texts.items() if not _is_ready(kernels, text)}
    if refused:
        function = schedule.on(plan.function, accept=lambda node: (kernel_op(node), *(x.type for x in node.operands)) not in refused)
    return None if function is plan.function else planned(function, identities=plan.identities, accesses=plan.accesses)


def _is_ready(kernels: KernelCache, text: KernelText) -> bool:
    """Return True if a fused kernel can be used.  Warn if the compiler refuses it."""
    if kernels.ended:
        return kernels.found(text) is not None
    try:
        kernels.get(text)
    except InternalError as fault:
        if not kernels.ended:
            warn(f"{fault} The operators that it fuses run one by one.")
        return False
    return True
