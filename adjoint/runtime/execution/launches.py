"""Steps that run kernels.

When nothing is recorded or logged, a value that no Python code sees is held as bare memory, and a straight piece (kernels with no Python
between them) runs by one C call.  When events are recorded on a tape or logged, every value is a tensor, and each launch is recorded like
an op in eager mode.

Kernels are looked up when their step is first reached, so that a branch that is never taken compiles nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from adjoint.ir.core import Node, tensor_type
from adjoint.ir.op import Op
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.conversion import NoGrad, StopGradient
from adjoint.ir.ops.fused import kernel_op
from adjoint.ir.ops.state import Read
from adjoint.ir.plan import Access, Launch, Nested, PythonAccess, Slot, Straight, Transfer
from adjoint.runtime.execution.checks import Explanations, check_step
from adjoint.runtime.execution.run import Block, Deviation, Run, Step
from adjoint.runtime.execution.stacks import transfer_step
from adjoint.runtime.execution.tables import table_step
from adjoint.runtime.memory.op_plans import plan_for
from adjoint.runtime.memory.tuning import tuning
from adjoint.runtime.tensor.tensor import Tensor, apply, wrap

__all__ = ["add_when_reached", "emitted", "recorded_launch", "straight"]

_new = object.__new__


def add_when_reached(block: Block, node: Node | None, results: range | None, make: Callable[[Run], Step]) -> None:
    """Append a step to a block; the real step is made when it is first reached, and then replaces this one.

    In a LoggingBlock it is appended only to the block's own list, which replays use, not to `joined`.  As long as kernels may still be
    replaced by better ones, the step is made again whenever some have been.

    node     the node that the step runs, for the note on an exception; None if there is none
    results  the positions (indices in the list of values) of the node's results; None if the step writes the log itself
    make     makes the real step
    """
    index, reference = len(block.steps), weakref.ref(block)  # weak: the block holds the step
    made: tuple[int, Step] | None = None

    def first(values: list[Any], run: Run) -> None:
        nonlocal made
        # Two threads may both get here: they make equal steps.
        round_, current = tuning.round, made
        if current is None or current[0] != round_:
            made = current = round_, make(run)
        step = current[1]
        step(values, run)
        running = reference()
        if running is not None and not tuning.waits and round_ == tuning.round:
            running.steps[index] = step

    Block.add(block, first, node, results)


# -- on memory -------------------------------------------------------------------------------------------------------------
def straight(
    piece: Straight, operands: Sequence[tuple[int, ...]], slots: Sequence[Slot], tensors: Collection[int], state: Mapping[str, Tensor],
    nested: Mapping[Nested, Step], explanations: Explanations, run: Run,
) -> Step:
    """Return a step that runs a straight piece and records nothing.

    It is one C call if all ops have kernels; otherwise Python runs the entries one by one.

    nested  for each nested branch or loop, the step with which Python runs it in that case

    The other arguments are those of `table_step`.
    """
    whole = table_step(piece, operands, slots, tensors, state, explanations, run)
    return whole or _one_by_one(piece, operands, tensors, state, nested, explanations)


def _one_by_one(
    piece: Straight, operands: Sequence[tuple[int, ...]], tensors: Collection[int], state: Mapping[str, Tensor],
    nested: Mapping[Nested, Step], explanations: Explanations,
) -> Step:
    """Return a step that runs the entries of a piece (ops that one C call runs) one by one, each result in memory of its own; used if some
    launch has no kernel.

    state         the tensors that the piece reads and writes, by symbol
    nested        for each nested branch or loop, the step with which Python runs it
    explanations  the functions that raise the exceptions of checks, by symbol
    """
    block = Block()
    for each, given in zip(piece.entries, operands, strict=True):
        match each:
            case Launch() if isinstance(each.node.op, Check):
                step = check_step(each.node, given, [i in tensors for i in given], explanations)
            case Launch():
                step = _launch(each, given, tensors)
            case Access():
                step = _access(each, given, tensors, state)
            case PythonAccess():
                step = _python_access(each, given, tensors, explanations[each.node.op.symbol])
            case Transfer():
                step = transfer_step(each, given, tensors)
            case Nested():
                step = nested[each]
        block.add(step, each.node, None)
    return block.run


def _python_access(each: PythonAccess, operands: Sequence[int], tensors: Collection[int], access: Callable[..., Any]) -> Step:
    given = [(i, tensor_type(x), i in tensors) for i, x in zip(operands, each.node.operands, strict=True)]

    def accessed(values: list[Any], run: Run) -> None:
        made = access(*[values[i] if is_tensor else wrap(type_, values[i]) for i, type_, is_tensor in given])
        for i, x in zip(each.results, made or (), strict=True):
            values[i] = x if i in tensors else x.memory
        for i in each.freed:
            values[i] = None

    return accessed


def _access(each: Access, operands: Sequence[int], tensors: Collection[int], state: Mapping[str, Tensor]) -> Step:
    node, symbol, freed = each.node, each.node.op.symbol, each.freed
    if isinstance(node.op, Read):
        ((out,), type_), is_tensor = (each.results, node.result.type), each.results[0] in tensors

        def read(values: list[Any], run: Run) -> None:
            target = state[symbol]
            if target.type is not type_:
                raise Deviation(node, (target,))
            values[out] = target if is_tensor else target.memory
            for i in freed:
                values[i] = None

        return read
    (value,), type_ = operands, tensor_type(node.operands[0])
    is_tensor = value in tensors

    def write(values: list[Any], run: Run) -> None:
        target = state[symbol]
        if target.type is not type_:
            raise Deviation(node, ())
        target.overwrite(values[value] if is_tensor else wrap(type_, values[value]))
        for i in freed:
            values[i] = None

    return write


def _launch(each: Launch, operands: Sequence[int], tensors: Collection[int]) -> Step:
    node = each.node
    kernel = plan_for(kernel_op(node), [tensor_type(x) for x in node.operands]).for_node(node).run
    given = tuple((i, i in tensors) for i in operands)
    made = tuple((i, tensor_type(v), i in tensors) for i, v in zip(each.results, node.results, strict=True))
    several, stopped, freed = len(made) != 1, isinstance(node.op, StopGradient), each.freed

    def launch(values: list[Any], run: Run) -> None:
        computed = kernel(*[values[i].memory if is_tensor else values[i] for i, is_tensor in given])
        for (i, type_, shown), memory in zip(made, computed if several else (computed,), strict=True):
            values[i] = memory
            if shown:
                values[i] = result = wrap(type_, memory)
                if stopped:
                    result._takes_gradient = False
        for i in freed:
            values[i] = None

    return launch


# -- on tensors, recorded --------------------------------------------------------------------------------------------------
def recorded_launch(node: Node, operands: Sequence[int], results: range, site: Node | None) -> Step:
    """Return a step (a function that does the work of a node) that runs the kernels of one node on tensors, and records the op if there is
    a tape.

    operands  the positions of its operands (indices in the list of values)
    results   the positions of its results
    site      the node whose location is recorded; None for the line of the program that runs the step
    """
    op = node.op
    types = [tensor_type(v) for v in node.results]
    kernel = plan_for(op, [tensor_type(x) for x in node.operands]).for_node(node).run
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
    """Return a step (a function that does the work of a node) that computes nothing, but adds a node with the same op to the graph that is
    being made.
    """

    def emit(values: list[Any], run: Run) -> None:
        made = apply(node.op, *[values[i] for i in operands])
        values[results.start : results.stop] = made if isinstance(made, tuple) else (made,)

    return emit


def _stopped(op: Op, site: Node | None, type_: Any, a: int, out: int) -> Step:
    """Return the step of `stop_gradient`: its result has the memory of its operand, and hooks cannot be registered on it, as in eager mode.

    site   the node whose location is recorded; None for the line of the program that runs the step
    a, out  the positions of its operand and of its result
    """

    def stopped(values: list[Any], run: Run) -> None:
        x = values[a]
        values[out] = result = wrap(type_, x.memory)
        result._takes_gradient = False
        if run.tape is not None:
            _record(run.tape, site, op, (x,), (result,))

    return stopped


def _unrecorded(type_: Any, a: int, out: int) -> Step:
    """Return the step of `no_grad`: its result is a new tensor that no tape (recording for a gradient) knows, so nothing computed from it
    is recorded.

    a, out  the positions of its operand and of its result
    """

    def unrecorded(values: list[Any], run: Run) -> None:
        values[out] = wrap(type_, values[a].memory)

    return unrecorded


def _record(tape: Any, site: Node | None, op: Op, operands: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    tape.site = site
    tape.record(op, operands, results)
    tape.site = None
