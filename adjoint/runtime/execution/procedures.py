"""Procedures: library code that computes new values of certain tensors, run as one sequence instead of op by op.

    procedure = traced(code, [types of the arguments])      `code` is called once, on symbolic tensors: nothing is computed
    procedure.run(arguments)                                any number of times

`code` (such as the step of an optimiser) takes the arguments, writes tensors from outside, and returns nothing.  It must not depend on the
numbers in tensors.  It is not parsed: values that it reads from Python objects are those of the time when it was traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Value
from adjoint.ir.core import Literal as LiteralAtom
from adjoint.ir.op import Effect, Op
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import TensorType
from adjoint.runtime.execution.bound_plan import BoundPlan
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.run import Run
from adjoint.runtime.process.tracer import set_tracer, state
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Procedure", "Untraceable", "traced"]


class Untraceable(Exception):
    """Raised if code does more than ops on tensors, or depends on the numbers in them."""


class Procedure:
    """Runs library code that has been traced, such as the step of an optimiser, as one bound plan.

    function  the traced code as a function of the IR
    tensors   the tensors from outside that the code reads and writes, with their types at the time of tracing
    """

    def __init__(self, function: Function, tensors: dict[str, Tensor]):
        self.tensors = [(x, x.type) for x in tensors.values()]
        self._plan = BoundPlan(planned(function, identities=True, accesses=True), {}, tensors)

    def fits(self) -> bool:
        """Return True if the procedure may still be run: its tensors have the types that they had when it was traced."""
        return all(x.type is type_ for x, type_ in self.tensors)

    def run(self, arguments: Sequence[Tensor]) -> None:
        """Run the code on these arguments; they must have the types for which it was traced."""
        self._plan.run_fitting(arguments, Run(None))


def traced(code: Callable[[Sequence[Tensor]], None], types: Sequence[TensorType]) -> Procedure:
    """Call code once on symbolic tensors, and return it as a procedure for arguments of these types.

    Raise Untraceable if the code does more than ops on tensors, or depends on the numbers in them.
    """
    outer = state.tracer
    trace = _Trace()
    params = [Value(type_, "x") for type_ in types]
    try:
        state.tracer = trace  # pyright: ignore[reportAttributeAccessIssue] - what it lacks of an Emitter raises Untraceable
        code([_Symbolic(param, type_) for param, type_ in zip(params, types, strict=True)])
    finally:
        set_tracer(outer)
        state.tracer = outer
    return Procedure(Function("procedure", trace.builder.finish([], params)), trace.tensors)


class _Symbolic(Tensor):
    """A tensor without numbers, given to code that is being traced: it has a type, and a value of the IR.

    atom   its value or literal in the IR
    type_  its type
    """

    __slots__ = ("atom",)

    def __init__(self, atom: Atom, type_: TensorType):
        self.atom, self.type = atom, type_

    @property
    def memory(self) -> Any:
        raise Untraceable("the numbers of a tensor are read")

    def overwrite(self, value: Tensor) -> None:
        raise Untraceable("an argument, or a tensor that the code has made, is written")

    set_data = overwrite  # pyright: ignore[reportAssignmentType] - it raises


class _Trace:
    """The tracer of the thread while code is being traced: it makes a node of each op that the code calls.

    It has only those methods of an Emitter (the graph that is being made) that ops on tensors use.
    """

    emits: Literal[True] = True

    def __init__(self) -> None:
        self.builder = Builder()
        self.tensors: dict[str, Tensor] = {}
        self.symbols: dict[int, str] = {}

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f"`{name}` of an emitter")

    def emit(self, op: Op, operands: Sequence[Tensor]) -> Any:
        if op.effect is not Effect.PURE:
            raise Untraceable(op.name)
        node = self.builder.emit_node(op, [self.atom(x) for x in operands])
        results = tuple(_Symbolic(value, value.type) for value in node.results if isinstance(value.type, TensorType))
        return results[0] if len(results) == 1 else results

    def write(self, target: Tensor, value: Tensor) -> None:
        self.builder.emit(Write(self.symbol(target)), self.atom(value))

    def atom(self, x: Tensor) -> Atom:
        """Return the value of the IR for a tensor.  For a tensor from outside that is a literal, or the result of a new node that reads its
        state.
        """
        if isinstance(x, _Symbolic):
            return x.atom
        literal = getattr(x, "literal", None)
        return LiteralAtom(literal, x.type) if literal is not None else self.builder.emit(Read(self.symbol(x), (x.type,)))

    def symbol(self, x: Tensor) -> str:
        if id(x) not in self.symbols:
            self.symbols[id(x)] = f"s{len(self.symbols)}"
            self.tensors[self.symbols[id(x)]] = x
        return self.symbols[id(x)]
