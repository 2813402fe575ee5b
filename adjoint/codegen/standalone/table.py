"""What an exported program needs, by layer: bytes of flash and RAM, and multiply-adds of each function.

Multiply-adds are those of matrix products and convolutions.  Those in a loop count as often as its rounds, or once if these are not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from adjoint.foundation.diagnostics import innermost
from adjoint.ir.core import Function, Node, Region, tensor_type
from adjoint.ir.ops.control import For, known_rounds
from adjoint.ir.ops.linalg import Convolution, ConvolutionInputGradient, ConvolutionWeightGradient, MatMul, OuterProduct

__all__ = ["layer_table", "multiply_adds"]


def layer_table(functions: Mapping[str, Function], flash: Mapping[str, int], ram: Mapping[str, int]) -> list[str]:
    """Return the lines of a table: a layer in each row, then the sums.

    functions  by their names
    flash      for each parameter, by its name in Python, the bytes of its numbers in the program
    ram        the same for what is in the context
    """
    work = {name: multiply_adds(function) for name, function in functions.items()}
    layers = list(dict.fromkeys(layer for counts in work.values() for layer in counts if layer))
    for name in {**flash, **ram}:
        layer, _, own = name.rpartition(".")
        if layer and own in _OWN and not _layer_of(name, layers):
            layers.append(layer)
    bytes_ = [dict.fromkeys((*layers, ""), 0) for _ in range(2)]
    for counts, sizes in zip(bytes_, (flash, ram), strict=True):
        for name, nbytes in sizes.items():
            counts[_layer_of(name, layers)] += nbytes
    columns = ["flash", "RAM", *functions]
    rows = [(layer or "other", [bytes_[0][layer], bytes_[1][layer], *(counts.get(layer, 0) for counts in work.values())])
            for layer in (*layers, "")]
    rows = [(name, numbers) for name, numbers in rows if any(numbers)]
    rows.append(("together", [sum(numbers[place] for _, numbers in rows) for place in range(len(columns))]))
    widths = [max(len(column), *(len(f"{numbers[place]:,}") for _, numbers in rows)) for place, column in enumerate(columns)]
    first = max(len(name) for name, _ in rows)
    return ["  ".join([" " * first, *(column.rjust(width) for column, width in zip(columns, widths, strict=True))]),
            *("  ".join([name.ljust(first), *(f"{number:,}".rjust(width) for number, width in zip(numbers, widths, strict=True))])
              for name, numbers in rows)]


_OWN: Final = {"weight", "bias", "gamma", "beta", "embedding_table", "moving_mean", "moving_variance"}
"""Names of parameters in layers, which may do no multiply-adds."""


def _layer_of(name: str, layers: Sequence[str]) -> str:
    """Return the layer to which a parameter or the state that an optimiser keeps of it belongs; "" if it is none's."""
    return max((layer for layer in layers if f".{layer}." in f".{name}"), key=len, default="")


def multiply_adds(function: Function) -> dict[str, int]:
    """Return the multiply-adds of a function for each cell, by its path; "" for what is outside of cells."""
    found: dict[str, int] = {}
    for node, times in _nodes(function.body, 1):
        if count := _count(node):
            layer = innermost(node.loc).within.cell
            found[layer] = found.get(layer, 0) + count * times
    return found


def _nodes(region: Region, times: int) -> Iterator[tuple[Node, int]]:
    """Yield all nodes with how often each runs."""
    for node in region.nodes:
        yield node, times
        rounds = known_rounds(node.operands[:3]) if isinstance(node.op, For) else None
        for inner in node.regions:
            yield from _nodes(inner, times * (1 if rounds is None else len(rounds)))


def _count(node: Node) -> int:
    types = [tensor_type(atom) for atom in (*node.operands, *node.results)] if node.op.can_lower and not node.regions else []
    match node.op:
        case MatMul(ta=ta):
            return types[-1].count * types[0].sizes[-2 if ta else -1]
        case OuterProduct():
            return types[-1].count
        case Convolution():
            return types[-1].count * math.prod(types[1].sizes[1:])
        case ConvolutionInputGradient():
            return types[0].count * math.prod(types[1].sizes[1:])
        case ConvolutionWeightGradient():
            return types[1].count * math.prod(types[-1].sizes[1:])
        case _:
            return 0
