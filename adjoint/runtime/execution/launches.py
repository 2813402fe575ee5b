"""Steps that run kernels.

A value that no Python code sees is held as bare memory, and a launch reads and writes memory.  While events are recorded or logged
every value is a tensor, and a launch is recorded like an op in eager mode.

The kernel of an op is looked up when its launch is first reached: a branch that is never taken compiles nothing.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ir.core import Node, tensor_type
from adjoint.ir.op import Op
from adjoint.ir.ops.conversion import NoGrad, StopGradient
from adjoint.runtime.execution.run import Block, Run, Step
from adjoint.runtime.memory.op_plans import plan_for
from adjoint.runtime.tensor.tensor import Tensor, apply, wrap

__all__ = ["add_launch", "emitted", "launch", "recorded_launch"]

_new = object.__new__


def add_launch(block: Block, node: Node, results: range, make: Callable[[], Step]) -> None:
    """Append a step that is made when it is first reached, and then replaces itself in the block."""
    index, reference = len(block.steps), weakref.ref(block)  # weak: the block holds the step

    def first(values: list[Any], run: Run) -> None:
        step = make()
        step(values, run)
        running = reference()
        if running is not None:
            # Two threads may both get here: they make equal steps.
            running.steps[index] = step

    block.add(first, node, results)


# -- on memory -------------------------------------------------------------------------------------------------------------
def launch(node: Node, operands: Sequence[int], results: range, given: tuple[bool, ...], shown: tuple[bool, ...]) -> Step:
    """Return a step that runs the kernels of a node and records nothing.

    given  for each operand, True if it is held as a tensor
    shown  the same for each result
    """
    kernel = plan_for(node.op, [tensor_type(x) for x in node.operands]).run
    types = [tensor_type(v) for v in node.results]
    if len(results) == 1:
        make = _single(given, shown[0], shown[0] and isinstance(node.op, StopGradient))
        return make(kernel, types[0], results.start, *operands)
    pairs = tuple(zip(operands, given, strict=True))

    def several(values: list[Any], run: Run) -> None:
        made = kernel(*[values[i].memory if is_tensor else values[i] for i, is_tensor in pairs])
        values[results.start : results.stop] = [
            wrap(t, memory) if is_shown else memory for t, memory, is_shown in zip(types, made, shown, strict=True)]

    return several


@functools.cache
def _single(tensors: tuple[bool, ...], shown: bool, stopped: bool) -> Callable[..., Step]:
    """Return the factory of steps for launches with one result: it takes the kernel, the result's type and the positions of all values.

    The function is compiled from text: one specialised for how its operands are held is faster than one that tests each.

    tensors  for each operand, True if it is held as a tensor
    shown    True if the result is held as a tensor
    stopped  True if no hook can be registered on the result
    """
    names = [f"i{n}" for n in range(len(tensors))]
    given = ", ".join(f"values[{name}].memory" if is_tensor else f"values[{name}]" for name, is_tensor in zip(names, tensors, strict=True))
    body = [f"values[out] = kernel({given})"]
    if shown:
        body = ["result = new(Tensor)", "result.type = type_", f"result.memory = kernel({given})", "values[out] = result"]
    if stopped:
        body.append("result._takes_gradient = False")
    heading = f"def make({', '.join(['kernel', 'type_', 'out', *names])}):"
    lines = [heading, "    def step(values, run):", *(f"        {line}" for line in body), "    return step"]
    made: dict[str, Any] = {"new": object.__new__, "Tensor": Tensor}
    exec(compile("\n".join(lines), __file__, "exec"), made)
    return made["make"]


# -- on tensors, recorded --------------------------------------------------------------------------------------------------
def recorded_launch(node: Node, operands: Sequence[int], results: range, site: Node | None) -> Step:
    """Return a step that runs the kernels of a node and records it on the tape of the run, if there is one.

    site  the node whose location is recorded; None: the line of the program that runs it
    """
    op = node.op
    types = [tensor_type(v) for v in node.results]
    kernel = plan_for(op, [tensor_type(x) for x in node.operands]).run
    if len(results) != 1:

        def several(values: list[Any], run: Run) -> None:
            given = [values[i] for i in operands]
            outs = [wrap(t, m) for t, m in zip(types, kernel(*[x.memory for x in given]), strict=True)]
            values[results.start : results.stop] = outs
            if run.tape is not None:
                _record(run.tape, site, op, given, outs)

        return several
    (type_,), out = types, results.start
    if isinstance(op, StopGradient):
        return _stopped(op, site, type_, operands[0], out)
    if isinstance(op, NoGrad):
        return _unrecorded(type_, operands[0], out)
    match operands:
        case (a,):

            def unary(values: list[Any], run: Run) -> None:
                x = values[a]
                result = _new(Tensor)
                result.type = type_
                result.memory = kernel(x.memory)
                values[out] = result
                if run.tape is not None:
                    _record(run.tape, site, op, (x,), (result,))

            return unary
        case (a, b):

            def binary(values: list[Any], run: Run) -> None:
                x, y = values[a], values[b]
                result = _new(Tensor)
                result.type = type_
                result.memory = kernel(x.memory, y.memory)
                values[out] = result
                if run.tape is not None:
                    _record(run.tape, site, op, (x, y), (result,))

            return binary
        case _:

            def general(values: list[Any], run: Run) -> None:
                given = [values[i] for i in operands]
                result = wrap(type_, kernel(*[x.memory for x in given]))
                values[out] = result
                if run.tape is not None:
                    _record(run.tape, site, op, given, (result,))

            return general


def emitted(node: Node, operands: Sequence[int], results: range) -> Step:
    """Return a step that adds a node to the graph that is being made."""

    def emit(values: list[Any], run: Run) -> None:
        made = apply(node.op, *[values[i] for i in operands])
        values[results.start : results.stop] = made if isinstance(made, tuple) else (made,)

    return emit


def _stopped(op: Op, site: Node | None, type_: Any, a: int, out: int) -> Step:
    """Return the step of `stop_gradient`: hooks cannot be registered on its result, as in eager mode."""

    def stopped(values: list[Any], run: Run) -> None:
        x = values[a]
        values[out] = result = wrap(type_, x.memory)
        result._takes_gradient = False
        if run.tape is not None:
            _record(run.tape, site, op, (x,), (result,))

    return stopped


def _unrecorded(type_: Any, a: int, out: int) -> Step:
    """Return the step of `no_grad`: its result is unknown to every tape, so that nothing computed from it is recorded."""

    def unrecorded(values: list[Any], run: Run) -> None:
        values[out] = wrap(type_, values[a].memory)

    return unrecorded


def _record(tape: Any, site: Node | None, op: Op, operands: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    tape.site = site
    tape.record(op, operands, results)
    tape.site = None
