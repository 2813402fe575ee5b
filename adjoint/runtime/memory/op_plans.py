"""Op plans: for an op and its operand types, the result types and the function that computes the op.  Each is made once.

A plan is found by one dictionary look-up on `(op, type, ...)`.  There is one object for equal types and equal ops, so this only hashes a
few pointers.  A plan's `run` takes and returns memory; it looks up and decides nothing.

The table of all plans counts towards the budget (the limit for all caches together).  A look-up first tries the plans that were used in
this period of the budget, since these need not be marked as used again.
"""

from __future__ import annotations

import functools
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from adjoint.foundation.budget import Table
from adjoint.foundation.diagnostics import InternalError
from adjoint.ir.core import Node
from adjoint.ir.op import Op
from adjoint.ir.ops.collective import Collective
from adjoint.ir.storage import from_compute, to_compute
from adjoint.ir.types import TensorType, Type
from adjoint.runtime.memory import finite_results
from adjoint.runtime.memory.machine import Machine, Memory, array_of, ffi, forbids_interpreter, machine
from adjoint.runtime.memory.tuning import tuning
from adjoint.runtime.memory.watching import Observation, describe_kernel, failure, observing, report
from adjoint.runtime.process.context import background_compile
from adjoint.runtime.process.function_text import function_of

if TYPE_CHECKING:
    from adjoint.codegen.compile import KernelCache
    from adjoint.codegen.emit import KernelText

__all__ = ["OpPlan", "pairs", "pairs_of", "plan_for", "plans", "prepare"]


class OpPlan:
    """Computes an op on operands of certain types; eager mode calls its `run` for each operator.

    types   the result types
    type    the only result type; None if there are several
    run     takes the operands' memory, and returns the result's memory, or a tuple for several results
    into    takes a list with the operands' memory and one with the results' memory: does the same, but writes into given memory
    stages  the bound kernels, each launched on the operands, the results and the scratch buffers; None if the op has no kernels
    scratch the number of bytes of each scratch buffer
    again   makes an equal plan for one node of a graph; None if nothing is computed
    used    the value of `budget.period` at its last look-up, by which the budget (the limit in bytes for all caches) finds the oldest plans
    """

    __slots__ = ("again", "into", "nbytes", "run", "scratch", "stages", "type", "types", "used")

    def __init__(self, types: tuple[TensorType, ...], run: Callable[..., Any], into: Callable[..., None],
                 stages: tuple[Any, ...] | None = None, scratch: tuple[int, ...] = (), again: Callable[[Node], OpPlan] | None = None):
        self.types, self.run, self.into, self.stages, self.scratch, self.again = types, run, into, stages, scratch, again
        self.type: TensorType = types[0] if len(types) == 1 else None  # pyright: ignore[reportAttributeAccessIssue] - asked for where there is one
        self.used, self.nbytes = 0, _PLAN + (1 if stages is None else len(stages)) * _STAGE

    def for_node(self, node: Node) -> OpPlan:
        """Return an equal plan for use by one node of a graph.  Observers of kernel launches see its launches as those of this node."""
        return self if self.again is None else self.again(node)


_PLAN = 1000
"""Estimated bytes of a plan (what is needed to compute one op on operands of given types) without its kernels."""
_STAGE = 300
"""Estimated bytes of a bound kernel."""

plans: dict[tuple[Any, ...], OpPlan] = {}
"""The plans that were used in the present period of the memory budget, a fast path to the table of all plans."""

pairs: dict[Op, dict[Type, dict[Type, OpPlan]]] = {}
"""Fast path for two operands: plans by op, first type and second type, in nested dictionaries that need no tuple as key."""

_read_outside: set[Op] = set()
"""Ops whose dictionaries in `pairs` are kept forever, since other modules hold references to them."""


class _OpPlans(Table[tuple[Any, ...], OpPlan]):
    """The table of all plans; at the beginning of a period of the memory budget, it clears the fast paths `plans` and `pairs`."""

    def begin_period(self) -> None:
        plans.clear()
        _prepared.clear()
        for op, table in pairs.copy().items():
            table.clear()
            if op not in _read_outside:
                pairs.pop(op, None)


_every = _OpPlans("plans")

_prepared: dict[tuple[Any, ...], tuple[tuple[Type, ...], tuple[KernelText, KernelText]]] = {}
"""For plans that `prepare` expects to be made next, by their keys: the result types, and the kernels to use now and later."""

_better: dict[tuple[Any, ...], tuple[KernelText, Callable[[], None]]] = {}
"""For plans just made from plain kernels: the tuned kernel, and the function that replaces the plan once that kernel is compiled."""


def pairs_of(op: Op) -> dict[Type, dict[Type, OpPlan]]:
    """Return a dictionary of plans of an op with two operands, by the type of the first operand, then of the second.

    It holds the plans used in this period of the budget; a caller looks there first, and asks `plan_for` for a plan that is missing, which
    adds it.
    """
    _read_outside.add(op)
    return pairs.setdefault(op, {})


def plan_for(op: Op, types: Sequence[TensorType]) -> OpPlan:
    """Return the plan that computes an op on operands of these types; make it at the first request.

    TypeError or ValueError if the operands do not fit the op.
    """
    key = (op, *types)
    plan = plans.get(key)
    if plan is None:
        plan = _every.find(key)
        if plan is None:
            plan = _made(op, types)
            _every.keep(key, plan)
        plans[key] = plan
        if len(types) == 2:
            pairs.setdefault(op, {}).setdefault(types[0], {})[types[1]] = plan
        if key in _better:
            tuning.add(key, *_better.pop(key))
    return plan


def check_fits(name: str, type_: TensorType) -> None:
    """Raise an exception if a result is too large to be made.

    ValueError for more dimensions than tensors may have, MemoryError for more bytes than the memory of the machine.

    name   the name of the operator, for the message
    type_  the type of the result
    """
    if type_.rank > 8:
        raise ValueError(f"For '{name}', tensors have at most 8 dimensions, but the result would have {type_.rank}.")
    if type_.nbytes > physical_memory():
        raise MemoryError(f"For '{name}', a result of shape {type_.shape} and dtype {type_.dtype} would take {type_.nbytes} bytes, "
                          f"but this machine has {physical_memory()}.")


def _made(op: Op, types: Sequence[TensorType]) -> OpPlan:
    inferred, prepared = _prepared.pop((op, *types), None) or (op.result_types(types, ()), None)
    result_types: tuple[TensorType, ...] = inferred  # pyright: ignore[reportAssignmentType] - ops on tensors give tensors
    for type_ in result_types:
        check_fits(type(op).__name__, type_)
    if getattr(op, "aliases", False):
        return OpPlan(result_types, lambda memory: memory, _copied_into(result_types[0].nbytes), ())
    here = machine()
    if isinstance(op, Collective) or op.in_python:
        return _by_reference(op, tuple(types), result_types, here)  # processes communicate, or the user has given no C
    if here.kernels is None or not op.can_lower:
        return _interpreted(op, tuple(types), result_types, here)
    try:
        return _compiled(op, types, result_types, here, prepared)
    except InternalError as fault:
        if forbids_interpreter():
            raise
        here.warn_of(fault)
        return _interpreted(op, tuple(types), result_types, here)


@functools.cache
def physical_memory() -> float:
    """Return the number of bytes of memory of this machine; infinity if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return math.inf


def _copied_into(nbytes: int) -> Callable[..., None]:
    def into(operands: Sequence[Memory], results: Sequence[Memory]) -> None:
        ffi.memmove(results[0], operands[0], nbytes)

    return into


def _interpreted(op: Op, types: tuple[TensorType, ...], result_types: tuple[TensorType, ...], here: Machine) -> OpPlan:
    """Return a plan that computes by the op's NumPy reference, since there is no compiler, or no C code for this op.

    InternalError if the environment forbids that.
    """
    if forbids_interpreter():
        raise InternalError(f"{op.name} would fall back to NumPy, which ADJOINT_FORBID_INTERPRETER=1 forbids.")
    return _by_reference(op, types, result_types, here)


def _by_reference(op: Op, types: tuple[TensorType, ...], result_types: tuple[TensorType, ...], here: Machine,
                  node: Node | None = None) -> OpPlan:
    """Return a plan that computes by calling the op's NumPy reference.

    node  the node of a graph that the plan is for; None for a plan that serves any
    types, result_types  the types of the operands and of the results
    here  the machine, which allocates the results
    """

    def compute(operands: Sequence[Memory], results: Sequence[Memory]) -> None:
        arrays = [to_compute(array_of(m, t), t.dtype) for m, t in zip(operands, types, strict=True)]
        computed = op.reference(*arrays)
        for memory, type_, array in zip(results, result_types, computed if len(result_types) != 1 else (computed,), strict=True):
            if type_.count:
                array_of(memory, type_)[...] = from_compute(array, type_.dtype)

    def into(operands: Sequence[Memory], results: Sequence[Memory]) -> None:
        if not (observing() or finite_results.checked()):
            compute(operands, results)
            return
        begin = time.perf_counter_ns()
        compute(operands, results)
        made = Observation(op, node, types, result_types, True, time.perf_counter_ns() - begin, [*operands, *results])
        report(made)
        finite_results.check(made)

    allocate, sizes = here.allocate, [t.nbytes for t in result_types]

    def run(*operands: Memory) -> Any:
        results = [allocate(n) for n in sizes]
        into(operands, results)
        return results[0] if len(results) == 1 else tuple(results)

    return OpPlan(result_types, run, into, again=functools.partial(_by_reference, op, types, result_types, here))


def prepare(wanted: Iterable[tuple[Op, Sequence[TensorType]]]) -> None:
    """Compile the missing kernels of several ops at once, so that `plan_for` finds them.  Errors are left to `plan_for`.

    wanted  the ops, each with the types of its operands
    """
    kernels = machine().first_kernels
    if kernels is None:
        return
    missing: list[KernelText] = []
    for op, types in wanted:
        key = (op, *types)
        if key not in plans and key not in _every and key not in _prepared and op.can_lower and not getattr(op, "aliases", False):
            with suppress(Exception):
                result_types = op.result_types(types, ())
                pair = _kernels(kernels, op, types, result_types)
                _prepared[key] = result_types, pair
                missing.append(pair[0])
    if missing:
        kernels.prepare(missing, waited_for=True)


def _kernels(
    kernels: KernelCache, op: Op, types: Sequence[TensorType], result_types: Sequence[Type]
) -> tuple[KernelText, KernelText]:
    """Return the text of the kernel to use now, and that of the better one to use as soon as it is compiled.

    Both are the same if the better one is compiled already, or if its compilation is waited for.
    """
    # Imported with the first kernel, not with the package.
    from adjoint.codegen.recipes import kernel_of, plain_kernel_of

    tuned, chosen = kernel_of(op, types, result_types), background_compile()
    if chosen == "plain" or (chosen is True and kernels.found(tuned) is None):
        return plain_kernel_of(tuned, op, types, result_types), tuned
    return tuned, tuned


def _compiled(op: Op, types: Sequence[TensorType], result_types: tuple[TensorType, ...], here: Machine,
              prepared: tuple[KernelText, KernelText] | None) -> OpPlan:
    """Return a plan that launches kernels.

    prepared  the texts of the kernel to use now and of the later one, if `prepare` has found them; None otherwise
    here  the machine, which compiles the kernels and allocates the results
    """
    assert here.kernels is not None
    kernel, tuned = prepared or _kernels(here.kernels, op, types, result_types)
    plan = _launching(op, types, result_types, here, kernel)
    if kernel.plain and background_compile() is True:
        _better[op, *types] = tuned, functools.partial(_tuned, op, tuple(types), result_types, here, tuned)
    return plan


def _tuned(op: Op, types: tuple[TensorType, ...], result_types: tuple[TensorType, ...], here: Machine, tuned: KernelText) -> None:
    """Replace a plan by one that launches the tuned kernel, which has been compiled.  Do nothing if the plan was evicted meanwhile.

    tuned  the text of the tuned kernel
    here   the machine, which allocates the results
    """
    key = (op, *types)
    if key not in _every:
        return
    plan = _launching(op, types, result_types, here, tuned)
    _every.keep(key, plan)
    if key in plans:
        plans[key] = plan
    table = pairs.get(op, {}).get(types[0], {}) if len(types) == 2 else {}
    if len(types) == 2 and types[1] in table:
        table[types[1]] = plan


def _launching(op: Op, types: Sequence[TensorType], result_types: tuple[TensorType, ...], here: Machine, lowered: KernelText,
               node: Node | None = None) -> OpPlan:
    """Return a plan that launches the kernels of `lowered`.

    node  the node of a graph that the plan is for; None for a plan that serves any
    lowered  the text of the kernels
    here     the machine, which compiles the kernels and allocates the results
    """
    assert here.kernels is not None
    functions = here.kernels.get(lowered)
    launched = [(function, stage) for function, stage in zip(functions, lowered.stages, strict=True) if stage.units]
    stages = tuple([here.bind(function, stage.sizes) for function, stage in launched])
    for stage in stages:
        describe_kernel(stage, op, types, result_types, last=stage is stages[-1], node=node)
    finite_results.checked()  # with the first kernel the environment variable takes effect
    launch = here.library.adjoint_launch
    allocate, sizes = here.allocate, [t.nbytes for t in result_types]
    scratch = lowered.scratch

    def into(operands: Sequence[Memory], results: Sequence[Memory]) -> None:
        extra = [allocate(n) for n in scratch]
        pointers = ffi.new("void *[]", [*operands, *results, *extra])
        for kernel in stages:
            status = launch(kernel, pointers)
            if status:
                raise failure(op.failure, status)

    buffers = len(types) + len(sizes) + len(scratch)
    if not stages or buffers > _MOST_BUFFERS:
        def run(*operands: Memory) -> Any:
            results = [allocate(n) for n in sizes]
            into(operands, results)
            return results[0] if len(results) == 1 else tuple(results)
    else:
        run = _direct(op, stages, len(types), sizes, scratch, here)
    return OpPlan(result_types, run, into, stages, scratch, functools.partial(_launching, op, types, result_types, here, lowered))


_MOST_BUFFERS = 6
"""The number of buffers up to which the run-time library takes each by an argument of its own."""


def _direct(op: Op, kernels: Sequence[Any], arity: int, results: Sequence[int], scratch: Sequence[int], here: Machine
            ) -> Callable[..., Any]:
    """Return the function `OpPlan.run` for an op with few buffers, the common case.  For two operands and one kernel it is

        def run(a0, a1):
            r0 = n0(t0)
            if status := launch(k0, a0, a1, r0):
                raise failure(of_status, status)
            return r0

    kernels  the bound kernels, launched one after the other on the same buffers
    arity    the number of operands
    results, scratch  the bytes of each result, and of each scratch buffer
    """
    operands, made, extra = [f"a{i}" for i in range(arity)], [f"r{i}" for i in range(len(results))], [f"s{i}" for i in range(len(scratch))]
    buffers = [*operands, *made, *extra]
    objects = {"launch": getattr(here.library, f"adjoint_launch{len(buffers)}"), "failure": failure, "of_status": op.failure}
    body: list[str] = []
    for i, (name, nbytes) in enumerate(zip([*made, *extra], [*results, *scratch], strict=True)):
        objects[f"n{i}"], objects[f"t{i}"] = here.allocator(nbytes)
        body.append(f"{name} = n{i}(t{i})")
    for i, kernel in enumerate(kernels):
        objects[f"k{i}"] = kernel
        body += [f"if status := launch(k{i}, {', '.join(buffers)}):", "    raise failure(of_status, status)"]
    body.append(f"return {made[0] if len(made) == 1 else '(' + ''.join(f'{name}, ' for name in made) + ')'}")
    return function_of(f"run({', '.join(operands)})", body, objects, __file__, closed=True)
