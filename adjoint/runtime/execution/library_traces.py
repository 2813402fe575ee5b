"""Traces of library code: call a function once on symbolic tensors, and take the ops that it runs as a function of the IR.

    trace = LibraryTrace()
    x = trace.argument(type)              a tensor without numbers
    with trace:
        result = code(x)                  nothing is computed: each op becomes a node
    trace.function("name", [result])      the nodes as a function

The code is not parsed, as that of users is: it must not depend on the numbers in tensors, and values that it reads from Python objects are
those of the time when it is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from adjoint.foundation.diagnostics import Within, within
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Value
from adjoint.ir.core import Literal as LiteralAtom
from adjoint.ir.op import Effect, Op
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import TensorType
from adjoint.runtime.process.tracer import set_tracer, state
from adjoint.runtime.tensor.run_time_checks import Range, RangeCheck
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["LibraryTrace", "Symbolic", "Untraceable"]


class Untraceable(Exception):
    """Raised if code does more than ops on tensors, or depends on the numbers in them."""


class Symbolic(Tensor):
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


class LibraryTrace:
    """The tracer of the thread while code is being traced, within a `with` statement: it makes a node of each op that the code calls.

    It has only those methods of an Emitter (the graph that is being made) that ops on tensors use.

    closed   True: the code reads no tensors but its arguments and those that it makes of known numbers.  Then it may make such tensors and
        read them, and checks of the arguments' numbers become nodes `check!` without a host; False: all this is Untraceable
    tensors  the tensors from outside that the code reads and writes, by their symbols
    """

    emits: Literal[True] = True

    def __init__(self, *, closed: bool = False) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._builder, self._closed = Builder(), closed
        self._params: list[Value] = []
        self._symbols: dict[int, str] = {}

    def __enter__(self) -> None:
        self._outer = state.tracer
        state.tracer = self  # pyright: ignore[reportAttributeAccessIssue] - what it lacks of an Emitter raises Untraceable

    def __exit__(self, *_: object) -> None:
        outer = self._outer
        set_tracer(outer)
        state.tracer = outer
        del self._outer

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f"`{name}` of an emitter")

    @contextmanager
    def finite_ok(self) -> Iterator[None]:
        """Within a `with` statement, mark new nodes: their results may be infinite or NaN."""
        before = self._builder.loc
        self._builder.loc = within(before, Within(finite_ok=True))
        try:
            yield
        finally:
            self._builder.loc = before

    def argument(self, type_: TensorType) -> Symbolic:
        """Return a tensor without numbers of this type, which becomes the next parameter of the function."""
        self._params.append(Value(type_, "x"))
        return Symbolic(self._params[-1], type_)

    def function(self, name: str, results: Sequence[Symbolic]) -> Function:
        """Return the traced ops as a function of the arguments.  Call it last: ops that are traced later are not in it."""
        return Function(name, self._builder.finish([x.atom for x in results], self._params))

    # -- of an Emitter ----------------------------------------------------------------------------------------------
    def emit(self, op: Op, operands: Sequence[Tensor]) -> Any:
        if op.effect is not Effect.PURE:
            raise Untraceable(op.name)
        node = self._builder.emit_node(op, [self._atom(x) for x in operands])
        results = tuple(Symbolic(value, value.type) for value in node.results if isinstance(value.type, TensorType))
        return results[0] if len(results) == 1 else results

    def write(self, target: Tensor, value: Tensor) -> None:
        self._builder.emit(Write(self._symbol(target)), self._atom(value))

    def check(self, check: Callable[..., Any], values: Sequence[Any], conditions: Iterable[tuple[Any, Range]] = ()) -> None:
        self._allowed("the numbers of a tensor are checked")
        if isinstance(check, RangeCheck):
            conditions = ((values[0], check.range),)
        conditions = tuple(conditions)
        if not conditions:
            raise Untraceable("Python checks the numbers of a tensor")
        for x, (low, high, ignored) in conditions:
            bounds = [bound if isinstance(bound, tuple) else (bound,) for bound in (low, high)]
            self._builder.emit_node(Check(f"check_{check.__name__}", *bounds, ignored), [self._atom(x)])

    def made(self, x: Tensor) -> None:
        self._allowed("a tensor is made of numbers")

    def read_numbers(self, x: Tensor) -> None:
        self._allowed("the numbers of a tensor are read")

    def _allowed(self, what: str) -> None:
        if not self._closed:
            raise Untraceable(what)

    def _atom(self, x: Tensor) -> Atom:
        """Return the value of the IR for a tensor.  For a tensor from outside that is a literal, or the result of a new node that reads its
        state.
        """
        if isinstance(x, Symbolic):
            return x.atom
        literal = getattr(x, "literal", None)
        return LiteralAtom(literal, x.type) if literal is not None else self._builder.emit(Read(self._symbol(x), (x.type,)))

    def _symbol(self, x: Tensor) -> str:
        if id(x) not in self._symbols:
            self._symbols[id(x)] = f"s{len(self._symbols)}"
            self.tensors[self._symbols[id(x)]] = x
        return self._symbols[id(x)]
