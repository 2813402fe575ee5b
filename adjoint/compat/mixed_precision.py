"""What programs import from the private part of MindSpore's `train.amp`: the lists of its levels, and the wrappers of cells."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import F32, DType
from adjoint.ops.arithmetic import mixed_precision_cast
from adjoint.runtime.cells.cell import Cell
from adjoint.train.amp import custom_mixed_precision, get_black_list, get_white_list

__all__ = ["BLACK_CELLS", "WHITE_CELLS", "InFloat32", "halved"]

WHITE_CELLS, BLACK_CELLS = get_white_list(), get_black_list()
"""The classes that compute in half precision at level "O1", and those that do not at level "O2"."""


class InFloat32(Cell):
    """A cell whose results are those of another one, tensors of other floating point types cast to Float32.

    backbone  the cell that is called
    """

    def __init__(self, backbone: Cell):
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, /, *args: Any, **kwargs: Any) -> Any:
        return mixed_precision_cast(F32, self._backbone(*args, **kwargs))


def halved(network: Cell, black_list: list[type], dtype: DType) -> Cell:
    """Make the cells of a network compute in half precision, but those of some classes; return the network, whose results stay in it."""
    result = network._cell_result
    custom_mixed_precision(network, black_list=list(black_list), dtype=dtype)
    network._cell_result = result
    return network
