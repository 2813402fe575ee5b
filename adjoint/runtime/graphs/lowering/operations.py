"""Operations on tensors while a graph is being made: each becomes a node of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from adjoint.frontend import errors
from adjoint.frontend.changes.aliases import Aliases
from adjoint.ir.op import Effect, Op, with_sizes
from adjoint.ir.ops.counted import CountedOp, NonZero
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.state import Write
from adjoint.ir.types import symbol
from adjoint.runtime.graphs.lowering.assumptions import UNKNOWN, Assumptions, CountedSize, NumberNeeded
from adjoint.runtime.graphs.lowering.cuts import Cuts
from adjoint.runtime.graphs.lowering.graph_sizes import LEAST, GraphSize
from adjoint.runtime.graphs.lowering.graph_values import GraphTensor
from adjoint.runtime.graphs.lowering.made import Made
from adjoint.runtime.graphs.lowering.regions import Regions
from adjoint.runtime.graphs.lowering.symbols import Symbols
from adjoint.runtime.graphs.lowering.values import Values
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.run_time_checks import ShapeOfValues
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Operations"]


class Operations:
    """Adds nodes for ops, for writes to tensors from outside of the graph, and for random draws to the graph that is being made.

    regions, symbols, values, cuts, made, assumptions  the parts of the `Lowering` that it uses
    aliases  refuses a write to a tensor that another name may refer to
    """

    def __init__(
        self, regions: Regions, symbols: Symbols, values: Values, cuts: Cuts, made: Made, assumptions: Assumptions, aliases: Aliases,
    ):
        self._regions, self._symbols, self._values, self._cuts, self._made = regions, symbols, values, cuts, made
        self._assumptions, self._aliases = assumptions, aliases

    def emit(self, op: Op, operands: Sequence[Tensor]) -> Any:
        """Add a node for an op, and return its result or results as tensors.  While a graph is made, `apply` calls this instead of running
        the op.
        """
        if op.effect is Effect.HOST:
            self._regions.has_effect = True
        if self._assumptions.sizes:
            op = with_sizes(op, {})  # sizes that Python has computed become plain polynomials
        atoms = self._values.atoms(operands)
        if state.no_grad:
            atoms = [self._cuts.operand(atom) for atom in atoms]
        made = self._regions.add(op, atoms)
        if state.no_grad:
            self._cuts.made(made.results)
        results = self._values.tensors(made.results)
        return results[0] if len(results) == 1 else tuple(results)

    def write(self, target: Tensor, value: Tensor) -> None:
        """Add a node that writes to a tensor from outside of the graph, such as a Parameter.

        CompileError for a tensor that unparsed code (code of the library, which runs as it is) has made, and if another name in the graph
        may refer to this tensor and would have to have the new value, too.

        target  the tensor
        value   its new value
        """
        if (other := self._made.lent.get(id(target))) is not None:
            other.overwrite(value)
            return
        self._aliases.write(target)
        if self._made.has_tensor(target):
            kind, way_out = ("Parameter", "make its cell") if isinstance(target, Parameter) else ("tensor", "make it")
            raise errors.UNSUPPORTED.at(self._regions.loc, f"a {kind} is written that the graph makes: each call would need a new one",
                                        help=f"{way_out} outside, once: in `__init__`")
        self._regions.has_effect = True
        symbol = self._symbols.written(target)
        new = self._values.atom(value)
        if state.no_grad:
            new = self._cuts.rewritten(self._symbols.read(target), new)
        self._regions.add(Write(symbol), [new])
        self._symbols.forget_read(symbol)

    @contextmanager
    def lend(self, parameters: Sequence[Tensor], values: Sequence[Tensor]) -> Iterator[Callable[[], list[Tensor]]]:
        """Let Parameters stand for tensors within a `with` statement: reads of a Parameter give its tensor, and writes replace that.

        The function that the statement gets returns the tensors that they stand for at present.
        """
        lent = self._made.lent
        before = {id(p): lent.get(id(p)) for p in parameters}
        atoms = self._values.atoms(values)
        held = [self._values.renamed(x) if isinstance(x, GraphTensor) else self._values.tensor(atom)
                for x, atom in zip(values, atoms, strict=True)]
        lent.update((id(p), x) for p, x in zip(parameters, held, strict=True))
        try:
            yield lambda: [given if x.atom is atom else self._values.renamed(x)
                           for given, atom, x in zip(values, atoms, held, strict=True)]
        finally:
            for key, x in before.items():
                if x is None:
                    del lent[key]
                else:
                    lent[key] = x

    def draw(self, seed: int | None) -> Tensor:
        """Add a node that draws a key from the random stream each time the graph runs, and return the key; other nodes compute the random
        numbers from it.

        seed  the seed of the stream; None or 0 for that of the process
        """
        self._regions.has_effect = True
        return self._values.tensor(self._regions.node(Draw(seed or 0)))

    def size_of_values(self, op: str, why: str, kind: type[CountedOp], x: Tensor) -> tuple[str, Any]:
        """Return the size of what a node of a kind gives, which the values of its operand `x` decide when the graph runs: the name by which
        the node asks for it, and the size itself, a number if the graph is made for one.

        ShapeOfValues if the graph cannot be split here: in a branch or a loop, and where sizes or numbers among the arguments differ.

        op, why  the operator's name, and why its result's shape depends on values, for the message
        """
        known, atom = self._assumptions, self._values.atom(x)
        for size in known.counted:
            if size.op is kind and self._regions.are_alike(size.atom, atom):
                return size.name, _size(size)
        if known.counts is None or self._regions.on_a_path():
            where = "in a branch or a loop that a tensor decides" if self._regions.on_a_path() else "here"
            raise ShapeOfValues(f"For '{op}', the result's shape depends on values: {why}; {where}, call it outside of the graph.")
        place = len(known.counted)
        name, number = f"v{place}", known.counts.known[place] if place < len(known.counts.known) else None
        if number is None and known.counts.exact:
            # Two sizes are often equal, such as those of predictions and of labels.
            most = x.size if kind is NonZero else None
            earlier = [size.number for size in known.counted if size.number is not None and (most is None or size.number <= most)]
            number = UNKNOWN if known.counts.ends else earlier[-1] if earlier else LEAST if most is None else most
        known.counted.append(CountedSize(name, number, kind, atom))
        known.sizes |= number is None
        return name, _size(known.counted[-1])

    def size_is_asked(self) -> None:
        """Go on behind the node that asks for a size; NumberNeeded if the graph ends there."""
        if self._assumptions.counted[-1].number == UNKNOWN:
            raise NumberNeeded(self._regions.open_nodes())

    def undrawn(self) -> Any:
        """Return a stand-in for a generator of random numbers, to compute the initial values of a cell that the user's code creates inside
        of the graph.

        It counts a draw for each execution of the graph, as eager mode does.  Drawing numbers from the stand-in raises CompileError.
        """
        self.draw(None)
        return _Undrawn(self._regions)


def _size(size: CountedSize) -> Any:
    return GraphSize(symbol(size.name).terms) if size.number in (None, UNKNOWN) else size.number


class _Undrawn:
    """Takes the place of a generator of random numbers while a graph is made: any use raises CompileError.

    regions  tells the line of the program for the message
    """

    def __init__(self, regions: Regions):
        self._regions = regions

    def __getattr__(self, name: str) -> Any:
        raise errors.FROZEN_CALL.at(self._regions.loc, "first values would be drawn once, while the graph is built, and not at each call",
                                    help='make it outside, once: in `__init__`; or give values that are not drawn: `weight_init="ones"`')
