"""Stacks: the values that a loop keeps for its gradient, last in first out, in memory that grows with the rounds.

A stack is one piece of memory, `struct adjoint_stack` of the run-time library.  It changes in place, which is possible since each stack
value of the IR is used once.  When its memory is freed, its items are freed as well, so that a run that ends early leaks nothing.

Without a compiler a stack is a Python list.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from adjoint.foundation.diagnostics import InternalError
from adjoint.ir.core import Node, Value, tensor_type
from adjoint.ir.ops.stack import Pop, Push, Stack
from adjoint.ir.plan import Transfer
from adjoint.ir.types import StackType, TensorType, Type
from adjoint.runtime.execution.run import Run, Step
from adjoint.runtime.execution.stages import BufferPlace, LaunchStage
from adjoint.runtime.memory.machine import machine
from adjoint.runtime.tensor.tensor import wrap

__all__ = ["library_kernel", "nbytes_of", "stack_stage", "transfer_step"]

_WHOLE = 1 << 40
"""A number of units of work per thread, so large that one thread does all the work of a kernel."""


def library_kernel(name: str, sizes: Sequence[int]) -> Any:
    """Return a kernel of the run-time library, bound to its sizes, for a stage (a part of a C call) to launch on one thread.

    name   the C function
    sizes  the sizes with which it works, such as the bytes of an item
    """
    here = machine()
    return here.bind(getattr(here.library, name), (1, _WHOLE, *sizes))


def nbytes_of(type_: Type) -> int:
    """Return how many bytes of memory a value of this type needs.  For a stack that is the stack itself without its items."""
    if isinstance(type_, StackType):
        return machine().stack_bytes
    assert isinstance(type_, TensorType)
    return type_.nbytes


def _depth(stack: StackType) -> int:
    """Return 0 for a stack of tensors; for a stack of stacks, one more than for these."""
    return 1 + _depth(stack.item) if isinstance(stack.item, StackType) else 0


def stack_stage(node: Node, places: Sequence[BufferPlace]) -> LaunchStage | None:
    """Return the stage (the part of a table) that makes a stack, pushes to it or pops from it; None for `undef`, which does nothing.

    places  where the stack is, and the item that is pushed or popped
    """
    op = node.op
    if isinstance(op, Stack):
        kernel, sizes, failure = library_kernel("adjoint_empty", [_depth(_stack(node))]), (machine().stack_bytes,), None
    elif isinstance(op, (Push, Pop)):
        kernel = library_kernel("adjoint_push" if isinstance(op, Push) else "adjoint_pop", [_item_size(node)])
        sizes = machine().stack_bytes, nbytes_of(_stack(node).item)
        failure = _no_memory(sizes[1]) if isinstance(op, Push) else _empty
    else:
        return None
    return LaunchStage(kernel, tuple(places), sizes, 0, node, failure)


def _stack(node: Node) -> StackType:
    type_ = node.results[0].type
    assert isinstance(type_, StackType)
    return type_


def _item_size(node: Node) -> int:
    """Return the size of an item of the stack, as the library's kernels take it: its bytes, or -1 if the item is a stack itself."""
    item = _stack(node).item
    return -1 if isinstance(item, StackType) else nbytes_of(item)


def _no_memory(nbytes: int) -> Callable[[int], Exception]:
    return lambda status: MemoryError(
        f"{nbytes} bytes that one round of a loop keeps for its gradient do not fit into the memory that this process can still have: "
        "use fewer rounds or smaller tensors, or let go of others.")


def _empty(status: int) -> Exception:
    return InternalError("a gradient took more from a stack than its loop had put there")


# -- one at a time ---------------------------------------------------------------------------------------------------------
def transfer_step(each: Transfer, operands: Sequence[int], tensors: Collection[int]) -> Step:
    """Return a step (a function that does the work of a node) for one node on stacks, for Python to run.

    each      the node, with the slots of its results
    operands  the positions of its operands (indices in the list of values)
    tensors   the positions that hold tensors; the others hold memory
    """
    node, results, freed = each.node, each.results, each.freed
    by_library = machine().library is not None
    if isinstance(node.op, Push):
        compute = _pushing(node) if by_library else _appending
    elif isinstance(node.op, Pop):
        compute = _popping(node) if by_library else lambda stack: (stack, stack.pop())
    else:
        compute = _making(node.results[0]) if by_library or not isinstance(node.results[0].type, StackType) else lambda: ([],)
    given = tuple((i, i in tensors) for i in operands)
    made = tuple((i, tensor_type(value) if i in tensors else None) for i, value in zip(results, node.results, strict=True))

    def transfer(values: list[Any], run: Run) -> None:
        found = compute(*[values[i].memory if is_tensor else values[i] for i, is_tensor in given])
        for (i, type_), memory in zip(made, found, strict=True):
            values[i] = memory if type_ is None else wrap(type_, memory)
        for i in freed:
            values[i] = None

    return transfer


def _appending(stack: list[Any], item: Any) -> Sequence[Any]:
    stack.append(item)
    return (stack,)


def _making(result: Value) -> Callable[..., Sequence[Any]]:
    type_, nbytes, here = result.type, nbytes_of(result.type), machine()
    if not isinstance(type_, StackType):
        return lambda: (here.allocate(nbytes),)
    empty, launch = library_kernel("adjoint_empty", [_depth(type_)]), here.library.adjoint_launch1

    def make() -> Sequence[Any]:
        stack = here.allocate_stacks(1)
        launch(empty, stack)
        return (stack,)

    return make


def _pushing(node: Node) -> Callable[..., Sequence[Any]]:
    kernel, launch = library_kernel("adjoint_push", [_item_size(node)]), machine().library.adjoint_launch2
    failure = _no_memory(nbytes_of(_stack(node).item))

    def push(stack: Any, item: Any) -> Sequence[Any]:
        if status := launch(kernel, stack, item):
            raise failure(status)
        return (stack,)

    return push


def _popping(node: Node) -> Callable[..., Sequence[Any]]:
    kernel, launch = library_kernel("adjoint_pop", [_item_size(node)]), machine().library.adjoint_launch2
    make = _making(node.results[1])

    def pop(stack: Any) -> Sequence[Any]:
        (item,) = make()
        if status := launch(kernel, stack, item):
            raise _empty(status)
        return stack, item

    return pop
