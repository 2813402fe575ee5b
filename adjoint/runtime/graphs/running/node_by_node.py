"""One run of a graph for any size on new sizes: its nodes run in order, by the kernels of eager mode.

    n0 = 24                        the sizes of this call
    mul: f32[24, 10], f32[10]      looked up for each node, before anything runs
    add: f32[24, 10], f32[24, 10]
    ...                            then launched, one after the other

A size that comes once gets no graph, plan or table of its own: making these would take longer than running a small function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from adjoint.foundation.diagnostics import CompileError
from adjoint.foundation.ownership import OF_VARIABLE
from adjoint.ir.core import Function, Literal, Node, Value
from adjoint.ir.op import Effect
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.conversion import StopGradient
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import TensorType
from adjoint.passes.specialize import Inference, Inferences, Numbered
from adjoint.runtime.execution.checks import explained
from adjoint.runtime.execution.run import Run
from adjoint.runtime.memory import finite_results, watching
from adjoint.runtime.memory.op_plans import plan_for
from adjoint.runtime.tensor.tensor import Tensor, constant, wrap

__all__ = ["InOrder"]

_MOST_BYTES = 2**24
"""Limit of the bytes of all results together: a larger graph gets a plan, which costs time to make but shares memory between values."""


class _Step(NamedTuple):
    """One node of an `InOrder`, with the positions of its values in the list that is filled while the nodes run.

    operands, results  the positions of its operands and results
    freed  positions of values that no later node reads: they are dropped after this node
    """

    node: Node
    operands: tuple[int, ...]
    results: tuple[int, ...]
    freed: tuple[int, ...]


class InOrder:
    """Runs a function with named sizes on sizes that occur for the first time, one node after the other.

    Graphs for any size use it (`calls.any_size.AnySize.once`).  The function may only have kernels, checks, and reads and writes of state.

    function      the function
    inferences    puts numbers in place of its named sizes
    state         the tensors from outside, by symbol (the name in the IR)
    explanations  the functions that raise the exceptions of checks, by symbol
    """

    def __init__(self, function: Function, inferences: Inferences, state: Mapping[str, Tensor], explanations: Mapping[str, Any]):
        self._function, self._inferences, self._state, self._explanations = function, inferences, state, explanations
        self._template: list[Any] = []
        self._steps: list[_Step] = []
        self._results: list[int] = []
        self._others: tuple[Inference, ...] = ()

    @classmethod
    def of(cls, function: Function, inferences: Inferences, state: Mapping[str, Tensor], explanations: Mapping[str, Any]) -> InOrder | None:
        """Return the object that runs a function in order; None if that is not possible.

        It is not possible if the function has other nodes than kernels, checks, reads and writes, or returns an argument or a tensor of the
        state.

        function      the optimised function, with named sizes
        inferences    infer its types when the sizes are known
        state         the tensors that it reads and writes, by symbol (the name in the IR)
        explanations  what its checks call to raise an exception, by symbol
        """
        made = cls(function, inferences, state, explanations)
        return made if made._laid_out() else None

    def _laid_out(self) -> bool:
        positions: dict[Any, int] = {}
        made = {value for node in self._function.body.nodes if not isinstance(node.op, Read) for value in node.results}
        template = self._template

        def position(atom: Any) -> int:
            key = atom if isinstance(atom, Value) else id(atom)
            if key not in positions:
                positions[key] = len(template)
                template.append(constant(atom.value, atom.type.dtype).memory if isinstance(atom, Literal) else None)
            return positions[key]

        for param in self._function.body.params:
            position(param)
        aliases: dict[Value, Any] = {}
        launched: list[Node] = []
        for node in self._function.body.nodes:
            op = node.op
            if node.regions or isinstance(op, StopGradient):
                return False
            if not all(isinstance(x.type, TensorType) for x in (*node.operands, *node.results)):
                return False
            if not isinstance(op, (Read, Write, Check)):
                if op.effect is not Effect.PURE:
                    return False
                launched.append(node)
                if getattr(op, "aliases", False):
                    aliases[node.results[0]] = node.operands[0]
            self._steps.append(_Step(node, tuple(map(position, node.operands)), tuple(map(position, node.results)), ()))
        for atom in self._function.body.results:
            root = atom
            while root in aliases:
                root = aliases[root]
            if root not in made:
                return False
        self._results = [positions[atom] for atom in self._function.body.results]
        self._others = self._inferences.besides(launched)
        self._note_freed(len(self._function.body.params))
        return True

    def _note_freed(self, params: int) -> None:
        needed = {*self._results}
        for index in reversed(range(len(self._steps))):
            step = self._steps[index]
            freed = tuple({i for i in (*step.operands, *step.results) if i >= params and i not in needed and self._template[i] is None})
            self._steps[index] = step._replace(freed=freed)
            needed.update(freed)

    def ready(self, sizes: Mapping[str, int]) -> Callable[[Sequence[Tensor]], list[Tensor]] | None:
        """Return a function that takes the argument tensors and returns the results, for these sizes.

        Return None if an op does not accept the sizes, if an observer watches kernels, or if the results are so large that a plan is
        worth making, since it saves memory.

        sizes  the numbers for the named sizes
        """
        if watching.observing() or finite_results.checked():
            return None  # an observer needs the node of each launch
        try:
            numbers = self._inferences.checked(sizes, self._others)
            types: list[Any] = [None] * len(self._template)
            launches: list[Any] = []
            nbytes = 0
            for param, i in zip(self._function.body.params, range(len(types))):
                types[i] = numbers.type(param.type)
            for node, operands, results, _ in self._steps:
                given = [numbers.type(x.type) for x in node.operands]
                for x, i in zip(node.results, results, strict=True):
                    types[i] = numbers.type(x.type)
                if isinstance(node.op, (Read, Write)):
                    launches.append(None)
                    if self._state[node.op.symbol].type is not types[(*operands, *results)[0]]:
                        return None
                    continue
                plan = plan_for(numbers.op(node.op), given)  # pyright: ignore[reportArgumentType] - only tensors
                if plan.stages is None or any(a is not types[i] for a, i in zip(plan.types, results, strict=True)):
                    return None
                launches.append(plan.run)
                nbytes += sum([type_.nbytes for type_ in plan.types])
        except (ValueError, TypeError, CompileError):
            return None  # parsing reports where
        if nbytes > _MOST_BYTES:
            return None
        return lambda tensors: self._run(tensors, launches, types, numbers)

    def fits(self, arguments: Iterable[Tensor]) -> bool:
        """Return True if neither an argument nor a tensor of the state has a hook that waits for its gradient."""
        return not any(x._hooks for x in (*arguments, *self._state.values()))

    def _run(self, tensors: Sequence[Tensor], launches: Sequence[Any], types: Sequence[TensorType], numbers: Numbered) -> list[Tensor]:
        values, state = self._template.copy(), self._state
        values[: len(tensors)] = [x.memory for x in tensors]
        node: Any = None
        try:
            for (node, operands, results, freed), launch in zip(self._steps, launches, strict=True):
                if launch is not None:
                    made = launch(*[values[i] for i in operands])
                    if len(results) == 1:
                        values[results[0]] = made
                    elif results:
                        values[results[0] : results[0] + len(results)] = made
                    made = None  # from here on only `values` holds the memory, so that an op or a write may take it over
                elif results:
                    values[results[0]] = state[node.op.symbol].memory
                else:
                    given, values[operands[0]] = values[operands[0]], None
                    _write(state[node.op.symbol], given, alone=operands[0] in freed and sys.getrefcount(given) <= OF_VARIABLE)
                    values[operands[0]] = given
                for i in freed:
                    values[i] = None
        except BaseException as raised:
            if isinstance(node.op, Check):
                given = [wrap(types[i], values[i]) for i in self._operands_of(node)]
                raised = explained(raised, numbers.op(node.op), given, self._explanations)
            Run(None).note(raised, node)
            raise raised from None
        return [wrap(types[i], values[i]) for i in self._results]

    def _operands_of(self, node: Node) -> tuple[int, ...]:
        return next(step.operands for step in self._steps if step.node is node)


def _write(tensor: Tensor, memory: Any, *, alone: bool) -> None:
    """Write the memory of a computed value to a tensor of the state.

    alone  True if nothing else holds the memory: the tensor then takes it over instead of copying
    """
    if alone:
        tensor.memory = memory
    else:
        tensor.overwrite(wrap(tensor.type, memory))
