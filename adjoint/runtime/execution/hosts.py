"""Steps of the walker that touch what is outside of the graph: parameters, the random stream, Python of the user's.

Every function makes the step of one node; see `walk_run` for what a step is, and `location.site_of` for its `site`.  What a
symbol stands for is looked up when the step runs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from adjoint.ir.core import Literal, Node
from adjoint.runtime.execution.graph import Deviation, Registration, Unfitting
from adjoint.runtime.execution.run import Run, Step
from adjoint.runtime.process.location import called_at
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["apply", "attach", "draw", "hook", "outputs", "read", "write"]


def read(node: Node, state: Mapping[str, Tensor], results: range) -> Step:
    symbol, type_, out = node.op.symbol, node.result.type, results.start

    def read_(values: list[Any], run: Run) -> None:
        values[out] = x = state[symbol]
        if x.type is not type_:
            run.keep((x,))
            raise Deviation(node, (x,))

    return read_


def write(node: Node, state: Mapping[str, Tensor], operands: tuple[int, ...], dies: bool = False) -> Step:
    """The numbers of a tensor of the state.  `dies`: the value was computed just for this, and is used nowhere else."""
    symbol, type_, (value,) = node.op.symbol, node.operands[0].type, operands

    def write_(values: list[Any], run: Run) -> None:
        target = state[symbol]
        if target.type is not type_:
            raise Deviation(node, ())
        given = values[value]
        if dies and run.tape is None and run.plain:
            values[value] = None
            if sys.getrefcount(given) <= _HELD_ALONE and sys.getrefcount(given.memory) <= _HELD_ALONE:
                target.memory = given.memory
                return
        target.overwrite(given)

    return write_


_HELD_ALONE = 2
"""References of an object that one place holds: that, and getrefcount's argument."""


def draw(seed: int, results: range) -> Step:
    out = results.start

    def draw_(values: list[Any], run: Run) -> None:
        values[out] = next_key(seed or None)

    return draw_


def hook(node: Node, site: Node | None, hosts: Mapping[str, Any], operands: tuple[int, ...], results: range) -> Step:
    symbol = node.op.symbol

    def hook_(values: list[Any], run: Run) -> None:
        given: Sequence[Tensor] = [values[i] for i in operands]
        tape = run.tape
        if tape is None:
            # Tensors of their own: a hook that is registered on one is none of the operand's.
            values[results.start : results.stop] = [wrap(x.type, x.memory) for x in given]
            return
        function, kind, title = hosts[symbol]
        tape.site = site
        values[results.start : results.stop] = tape.hook(kind, function, given, title)
        tape.site = None

    return hook_


def attach(node: Node, site: Node | None, hosts: Mapping[str, Any], operands: tuple[int, ...]) -> Step:
    symbol, (x,) = node.op.symbol, operands

    def attach_(values: list[Any], run: Run) -> None:
        tape = run.tape
        if tape is not None:
            tape.site = site
        host = hosts[symbol]
        if isinstance(host, Registration):
            host.register(values[x])
        else:
            values[x].register_hook(host)
        if tape is not None:
            tape.site = None

    return attach_


def outputs(
    node: Node, site: Node | None, hosts: Mapping[str, Any], operands: tuple[int, ...], results: range
) -> Step:
    symbol = node.op.symbol

    def outputs_(values: list[Any], run: Run) -> None:
        given = [values[i] for i in operands]
        tape = run.tape
        if tape is not None:
            cell = hosts[symbol].cell
            if cell._hooks is not None and cell._hooks.backward_pre:
                tape.site = site
                given = tape.outputs(cell, given)
                tape.site = None
        values[results.start : results.stop] = given

    return outputs_


def apply(node: Node, site: Node | None, hosts: Mapping[str, Any], operands: tuple[int, ...], results: range) -> Step:
    symbol = node.op.symbol
    types = [v.type for v in node.results]
    literal = [isinstance(atom, Literal) for atom in node.operands]

    def apply_(values: list[Any], run: Run) -> None:
        # A constant's tensor is shared: Python is given one of its own.
        given = [wrap(values[i].type, values[i].memory) if is_literal else values[i] for i, is_literal in zip(operands, literal)]
        returned = called_at(site, hosts[symbol], *given)
        if isinstance(returned, Unfitting):
            run.keep(returned)
            raise Deviation(node, returned)
        made = () if returned is None else (returned,) if isinstance(returned, Tensor) else tuple(returned)
        if len(made) != len(types) or any(not isinstance(x, Tensor) or x.type is not t for x, t in zip(made, types)):
            run.keep(made)
            raise Deviation(node, made)
        values[results.start : results.stop] = made

    return apply_
