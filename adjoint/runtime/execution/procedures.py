"""Procedures: library code that computes new values of certain tensors, run as one sequence instead of op by op.

    procedure = traced(code, [types of the arguments])      `code` is called once, on symbolic tensors: nothing is computed
    procedure.run(arguments)                                any number of times

`code` (such as the step of an optimiser) takes the arguments, writes tensors from outside, and returns nothing.  It must not depend on the
numbers in tensors.  It is not parsed: values that it reads from Python objects are those of the time when it was traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjoint.ir.core import Function
from adjoint.ir.types import TensorType
from adjoint.runtime.execution.bound_plan import BoundPlan
from adjoint.runtime.execution.library_traces import LibraryTrace
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.run import Run
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Procedure", "traced"]


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
    trace = LibraryTrace()
    arguments = [trace.argument(type_) for type_ in types]
    with trace:
        code(arguments)
    return Procedure(trace.function("procedure", []), trace.tensors)
