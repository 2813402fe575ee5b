"""The meaning of the IR, in NumPy: the reference that the executor is held to.

    run(nodes, env)    env[y] = op.reference(env[x], ..)         an ordinary node
                       the regions of if, for, while, cell       interpreted
                       hosts[@h](..)                             the user's Python functions
                       state[@w]                                 parameters, read and written

Arrays are stored as `ir.storage` says (bf16 as uint16); an op sees them in the dtype it computes in, and what it returns is
rounded to the result's dtype.  A tuple is a Python tuple.  A stack is a chain of pairs (rest, top), None when empty, so that
`push` never disturbs a stack that someone holds.

If the interpreter and the executor ever disagree beyond an op's stated error, the interpreter is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, Final

import numpy as np

from adjoint.foundation.diagnostics import InternalError
from adjoint.ir.core import Atom, Function, Literal, Module, Node, Region, Value, tensor_type
from adjoint.ir.op import Op, mistake, with_sizes
from adjoint.ir.ops.control import Batch, Call, Cell, Differentiated, For, If, OfTrace, While
from adjoint.ir.ops.fused import Fused
from adjoint.ir.ops.host import Apply, Attach, Bprop, Callback, CellCallback, Hook, Outputs, Pack, Unpack
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.stack import Pop, Push, Stack, Undef
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.ops.tuples import Group, Item
from adjoint.ir.storage import from_compute, to_compute
from adjoint.ir.types import Poly, TensorType, Type

__all__ = ["UNDEFINED", "Interpreter", "interpret", "sizes_of"]

Environment = dict[Value, Any]


class _Undefined:
    """Stands for the result of `undef`; any use of it is an error."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED: Final = _Undefined()


def interpret(
    function: Function,
    arguments: Sequence[Any],
    module: Module | None = None,
    *,
    state: MutableMapping[str, Any] | None = None,
    hosts: Mapping[str, Callable[..., Any]] | None = None,
) -> tuple[Any, ...]:
    """Compute a function of the IR in NumPy, and return its results; for the arguments see `Interpreter`."""
    return Interpreter(module or Module(), state=state, hosts=hosts).call(function, arguments)


class Interpreter:
    """Runs functions of a module.

    state  parameters by symbol: arrays; `write!` sets them
    hosts  Python callables by symbol.  `callback!` calls `h(ct, ..)`, `apply!` calls `h(x, ..)`, `bprop!` calls
           `h(x, .., y, .., y', ..)` with zeros for an absent y', `backward!` calls `h(inputs, outputs)`: two tuples with None
           for what is absent.  Where a callback changes nothing it returns None.
    """

    def __init__(
        self,
        module: Module,
        *,
        state: MutableMapping[str, Any] | None = None,
        hosts: Mapping[str, Callable[..., Any]] | None = None,
    ):
        self.module = module
        self.state: MutableMapping[str, Any] = {} if state is None else state
        self.hosts: Mapping[str, Callable[..., Any]] = {} if hosts is None else hosts
        self._sizes: dict[str, int] = {}
        self._draws = 0

    # on arrays

    def execute(self, node: Node, op: Op, operands: Sequence[Any]) -> Sequence[Any]:
        """Return the results of a pure node, one for each of `node.results`.

        `op` is the node's, with numbers for named sizes.
        """
        arrays = [to_compute(x, tensor_type(atom).dtype) for x, atom in zip(operands, node.operands, strict=True)]
        with np.errstate(all="ignore"):
            computed = op.reference(*arrays)
        results = computed if len(node.results) != 1 else (computed,)
        return [from_compute(x, tensor_type(value).dtype) for x, value in zip(results, node.results, strict=True)]

    def constant(self, literal: Literal) -> Any:
        """Convert a literal of the IR to an array."""
        dtype = literal.type.dtype
        if dtype.is_inexact:
            return from_compute(np.asarray(literal.value, dtype.compute.array), dtype)
        return np.asarray(literal.value, dtype.array)

    def truth(self, array: Any) -> bool:
        """Convert a bool of the IR (an array without dimensions) to a Python bool."""
        return bool(array)

    def integer(self, array: Any) -> int:
        """Convert an i64 of the IR (an array without dimensions) to a Python int."""
        return int(array)

    def number(self, value: int) -> Any:
        """Convert a Python int to an i64 of the IR (an array without dimensions)."""
        return np.asarray(value, np.int64)

    def zeros(self, type_: TensorType) -> Any:
        """Return zeros of a static tensor type."""
        return np.zeros(type_.sizes, type_.dtype.array)

    def draw(self, seed: int) -> Any:
        """Return the key of the next random draw, u64[2]: the seed, and the number of draws before it."""
        self._draws += 1
        return np.array([seed, self._draws - 1], np.uint64)

    # walking

    def run(self, symbol: str, *arguments: Any) -> tuple[Any, ...]:
        """Call a function of the module, and return its results.

        symbol  the function's name
        """
        return self.call(self.module.functions[symbol], arguments)

    def call(self, function: Function, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the results of a function.  TypeError if the arguments do not have its parameters' types."""
        if len(arguments) != len(function.params):
            raise TypeError(f"@{function.symbol} takes {len(function.params)} arguments, but got {len(arguments)}")
        outer = self._sizes
        self._sizes = sizes_of([p.type for p in function.params], arguments)
        try:
            environment = dict(zip(function.params, arguments, strict=True))
            return tuple(self.region(function.body, environment))
        finally:
            self._sizes = outer

    def region(self, region: Region, environment: Environment) -> list[Any]:
        """Run a region whose parameters are in `environment`; return what it yields."""
        self.nodes(region.nodes, environment)
        return [self.value(atom, environment) for atom in region.results]

    def nodes(self, nodes: Sequence[Node], environment: Environment) -> None:
        """Compute nodes in order, and put their results into `environment`."""
        for node in nodes:
            results = self.node(node, environment)
            for value, result in zip(node.results, results, strict=True):
                environment[value] = result

    def value(self, atom: Atom, environment: Environment) -> Any:
        return self.constant(atom) if isinstance(atom, Literal) else environment[atom]

    def node(self, node: Node, environment: Environment) -> Sequence[Any]:
        """Return the results of a node of any kind."""
        operands = [self.value(atom, environment) for atom in node.operands]
        match node.op:
            case If():
                return self.region(node.regions[0 if self.truth(operands[0]) else 1], environment)
            case For():
                return self._for(node, operands, environment)
            case While():
                test, body = node.regions
                carried = operands
                while True:
                    environment.update(zip(body.params, carried, strict=True))
                    if not self.truth(self.region(test, environment)[0]):
                        return carried
                    carried = self.region(body, environment)
            case Cell() | Fused():
                (body,) = node.regions
                environment.update(zip(body.params, operands, strict=True))
                return self.region(body, environment)
            case Call(symbol=symbol):
                return self.call(self.module.functions[symbol], operands)
            case Stack():
                return (None,)
            case Push():
                return ((operands[0], operands[1]),)
            case Pop():
                if operands[0] is None:
                    raise InternalError(f"pop of an empty stack at {node.loc}")
                return operands[0]
            case Undef():
                return (UNDEFINED,)
            case Group():
                return (tuple(operands),)
            case Item(index=index):
                return (operands[0][index],)
            case Read(symbol=symbol):
                return (self.state[symbol],)
            case Draw(seed=seed):
                return (self.draw(seed),)
            case Batch():
                return self._batch(node, operands, environment)
            case Differentiated() | OfTrace():
                raise ValueError(f"`{node.op.name}` at {node.loc} cannot be interpreted: run the pass `differentiate` first, "
                                 "which puts the nodes that compute it in its place")
            case Write(symbol=symbol):
                self.state[symbol] = operands[0]
                return ()
            case Hook() | Outputs():
                return operands
            case Attach() | Pack():
                return ()
            case Callback() | CellCallback() | Bprop() | Apply() | Unpack():
                return self.host(node, operands)
            case op:
                return self.execute(node, with_sizes(op, self._sizes) if self._sizes else op, operands)

    def _for(self, node: Node, operands: Sequence[Any], environment: Environment) -> Sequence[Any]:
        (body,) = node.regions
        start, stop, step = (self.integer(x) for x in operands[:3])
        if step == 0:
            raise mistake(node.op, "step", "a number that is not 0", step)
        index, *params = body.params
        carried = operands[3:]
        for i in range(start, stop, step):
            environment[index] = self.number(i)
            environment.update(zip(params, carried, strict=True))
            carried = self.region(body, environment)
        return carried

    def _batch(self, node: Node, operands: Sequence[Any], environment: Environment) -> Sequence[Any]:
        (body,) = node.regions
        found: list[list[Any]] = []
        for examples in zip(*operands, strict=True):
            environment.update(zip(body.params, examples, strict=True))
            found.append(self.region(body, environment))
        if not found:
            return [self.zeros(self.sized(value.type)) for value in node.results]
        return [np.stack(each) for each in zip(*found, strict=True)]

    def host(self, node: Node, operands: Sequence[Any]) -> Sequence[Any]:
        """Return the results of a node that calls the user's Python code."""
        op = node.op
        function = self.hosts[op.symbol]
        match op:
            case Callback():
                return _unless_unchanged(function(*operands), operands)
            case CellCallback(inputs=inputs, outputs=outputs):
                rest = iter(operands)
                seen = tuple(next(rest) if there else None for there in inputs)
                answer = function(seen, tuple(next(rest) if there else None for there in outputs))
                if isinstance(answer, tuple):
                    answer = tuple(x for x, there in zip(answer, inputs, strict=True) if there)
                return _unless_unchanged(answer, [x for x in seen if x is not None])
            case Bprop(inputs=inputs, outputs=outputs, present=present):
                given = iter(operands[inputs + outputs :])
                types = [atom.type for atom in node.operands[inputs : inputs + outputs]]
                full = [next(given) if there else self.zeros(self.sized(t)) for t, there in zip(types, present, strict=True)]
                return _as_tuple(function(*operands[: inputs + outputs], *full))
            case _:
                return _as_tuple(function(*operands), len(node.results))

    def sized(self, type_: Type) -> TensorType:
        """Return a tensor type with a number in place of each named size."""
        assert isinstance(type_, TensorType)
        return (
            type_
            if type_.is_static
            else type_.with_shape(tuple(d.substituted(self._sizes) if isinstance(d, Poly) else d for d in type_.shape))
        )


def _as_tuple(answer: Any, count: int = 1) -> tuple[Any, ...]:
    if answer is None and count == 0:
        return ()
    return answer if isinstance(answer, tuple) else (answer,)


def _unless_unchanged(answer: Any, before: Sequence[Any]) -> Sequence[Any]:
    """Return what a callback (hook) has made of some values: an item that is None means that it leaves this value unchanged.

    answer  the result of the callback; None if it leaves all values unchanged
    before  the values that it was given
    """
    if answer is None:
        return before
    return [old if new is None else new for new, old in zip(_as_tuple(answer), before, strict=True)]


def sizes_of(types: Sequence[Type], arguments: Sequence[Any]) -> dict[str, int]:
    """Return the named sizes of parameter types, given the shapes of arguments; TypeError if these do not fit.

    A name must stand alone as a dimension somewhere: `b`, not only `2*b`.
    """
    sizes: dict[str, int] = {}
    shapes = [(t, tuple(np.shape(x))) for t, x in zip(types, arguments, strict=True) if isinstance(t, TensorType)]
    for type_, shape in shapes:
        if len(shape) != type_.rank:
            raise TypeError(f"an argument of shape {list(shape)} where {type_} is expected")
        for dim, size in zip(type_.shape, shape, strict=True):
            if isinstance(dim, Poly) and dim.is_name:
                sizes.setdefault(str(dim), size)
    for type_, shape in shapes:
        expected = tuple(d.substituted(sizes) if isinstance(d, Poly) else d for d in type_.shape)
        if expected != shape:
            raise TypeError(f"an argument of shape {list(shape)} where {type_} is expected")
    return sizes
