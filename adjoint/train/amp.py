"""Mixed precision: cells that compute in half precision, and training steps for them.

    "O0"  nothing
    "O1"  cells and operators of a white list (convolutions, matrix products) compute in half precision and return Float32
    "O2"  everything except cells of a black list (normalisation) does; the network returns Float32
    "O3"  everything does; the network returns Float32
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from adjoint import nn
from adjoint.ir.types import BF16, F16, F32, DType
from adjoint.nn.checks import boolean, choice
from adjoint.nn.loss_scale import TrainOneStepWithLossScaleCell
from adjoint.nn.wrap import TrainOneStepCell, WithLossCell
from adjoint.ops import operations
from adjoint.ops.primitive import Primitive
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.cells.precision import cast_floats
from adjoint.train.loss_scale_manager import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager

__all__ = [
    "DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager", "auto_mixed_precision", "build_train_network",
    "custom_mixed_precision", "get_black_list", "get_white_list",
]

_LEVELS = ("O0", "O1", "O2", "O3")
_WHITE_CELLS = ("Conv1d", "Conv2d", "Conv3d", "Conv1dTranspose", "Conv2dTranspose", "Conv3dTranspose", "Dense", "LSTMCell", "RNNCell",
                "GRUCell")
_WHITE_PRIMITIVES = ("Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "Conv2DBackpropInput", "MatMul", "BatchMatMul", "PReLU",
                     "ReLU", "Ger")
_BLACK_CELLS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LayerNorm")


def get_white_list() -> list[type]:
    """Return the classes of cells and operators that compute in half precision at level "O1"; a new list."""
    return [*_classes(nn, _WHITE_CELLS), *_classes(operations, _WHITE_PRIMITIVES)]


def get_black_list() -> list[type]:
    """Return the classes of cells that compute in Float32 at level "O2"; a new list."""
    return _classes(nn, _BLACK_CELLS)


def _classes(module: Any, names: Iterable[str]) -> list[type]:
    return [found for name in names if (found := getattr(module, name, None)) is not None]


def auto_mixed_precision(network: Cell, amp_level: str = "O0", dtype: DType = F16) -> Cell:
    """Make cells of a network compute in half precision, and return the network; the module's docstring lists the levels.

    dtype  Float16 or BFloat16

    Parameters stay in Float32 and are cast where they are used.  At "O1" a cell for which `to_float` was called keeps that dtype.
    Raise TypeError for what is not a Cell, ValueError for another level or dtype.
    """
    owner = "auto_mixed_precision"
    _check(owner, network, dtype)
    _level(owner, "amp_level", amp_level)
    if amp_level == "O1":
        _halve_listed(network, tuple(get_white_list()), dtype)
    elif amp_level in ("O2", "O3"):
        _halve_all(network, tuple(get_black_list()) if amp_level == "O2" else (), dtype)
        network._cell_result = F32
    return network


def custom_mixed_precision(
    network: Cell, *, white_list: list[type] | None = None, black_list: list[type] | None = None, dtype: DType = F16,
) -> Cell:
    """Make cells of the given classes compute in half precision, or all except those of the given classes; return the network.

    Raise ValueError unless one of the lists is given; raise TypeError for what is not a list of classes of cells and operators.
    """
    owner = "custom_mixed_precision"
    _check(owner, network, dtype)
    if (white_list is None) == (black_list is None):
        raise ValueError(f"For '{owner}', one of 'white_list' and 'black_list' must be given, but got "
                         f"{'none' if white_list is None else 'both'}.")
    for argument, listed in (("white_list", white_list), ("black_list", black_list)):
        if listed is not None and not (isinstance(listed, list) and all(
                isinstance(item, type) and issubclass(item, (Cell, Primitive)) for item in listed)):
            raise TypeError(f"For '{owner}', the argument '{argument}' must be a list of classes of cells and operators, "
                            f"but got {listed!r}.")
    if white_list is not None:
        _halve_listed(network, tuple(white_list), dtype)
    else:
        _halve_all(network, tuple(black_list or ()), dtype)
        network._cell_result = F32
    return network


class _HalfPrecision(Cell):
    """An operator that computes in half precision and returns Float32."""

    def __init__(self, primitive: Primitive, dtype: DType):
        super().__init__(auto_prefix=False)
        self._primitive = primitive
        self.to_float(dtype)
        self._cell_result = F32

    def construct(self, /, *operands: Any, **named: Any) -> Any:
        return self._primitive(*operands, **named)


def _halve_listed(network: Cell, listed: tuple[type, ...], dtype: DType) -> None:
    """Make cells of these classes, and operators that are attributes of others, compute in `dtype` and return Float32."""
    if network._cell_compute is not None:
        return
    if isinstance(network, listed):
        network.to_float(dtype)
        network._cell_result = F32
        return
    for name, value in list(vars(network).items()):
        if isinstance(value, Primitive) and isinstance(value, listed):
            setattr(network, name, _HalfPrecision(value, dtype))
    for cell in network.cells():
        _halve_listed(cell, listed, dtype)


def _halve_all(network: Cell, spared: tuple[type, ...], dtype: DType) -> None:
    """Make the network compute in `dtype`, except cells of the classes `spared`: they compute in Float32, and their results are cast back.
    """
    network.to_float(dtype)
    for cell in _below(network, spared):
        cell.to_float(F32)
        cell._cell_result = dtype


def _below(network: Cell, classes: tuple[type, ...]) -> Iterator[Cell]:
    """Return the outermost cells of these classes in a network."""
    for cell in network.cells():
        if isinstance(cell, classes):
            yield cell
        else:
            yield from _below(cell, classes)


class _WithLossInSingle(WithLossCell):
    """loss_fn(backbone(data), label) with floating numbers in Float32."""

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(cast_floats(self._backbone(data), F32), cast_floats(label, F32))


def build_train_network(
    network: Cell, optimizer: Any, loss_fn: Any = None, level: str = "O0", boost_level: str = "O0", **kwargs: Any,
) -> Cell:
    """Return a training step of network, loss and optimiser, whose cells compute in half precision according to `level`.

    loss_fn      a Cell or function, called with output and label; default: the network returns the loss
    level        see `auto_mixed_precision`; "O2" scales the loss dynamically
    boost_level  must be "O0"

    By keyword what the level would choose: `cast_model_type`, Float16 or Float32 for the whole network; `keep_batchnorm_fp32`, whether
    normalisation computes in Float32; `loss_scale_manager`.  With a manager that has an update cell the step is a
    `TrainOneStepWithLossScaleCell`, else a `TrainOneStepCell`.
    """
    owner = "build_train_network"
    _check(owner, network, F16)
    _level(owner, "level", level)
    if boost_level != "O0":
        choice(owner, "boost_level", boost_level, ("O0", "O1", "O2"))
        raise ValueError(f"For '{owner}', 'boost_level' must be 'O0', but got {boost_level!r}: leave it out, every step is trained whole.")
    for argument in kwargs:
        if argument not in ("cast_model_type", "keep_batchnorm_fp32", "loss_scale_manager"):
            raise ValueError(f"Unsupported arg '{argument}'")
    half = kwargs.get("cast_model_type", F16 if level in ("O2", "O3") else F32)
    if half not in (F16, F32):
        raise ValueError(f"For '{owner}', 'cast_model_type' must be float16 or float32, but got {half}.")
    spares = boolean(owner, "keep_batchnorm_fp32", kwargs.get("keep_batchnorm_fp32", level == "O2"))
    manager = kwargs.get("loss_scale_manager", DynamicLossScaleManager() if level == "O2" else None)
    if manager is not None and not isinstance(manager, LossScaleManager):
        raise TypeError(f"For '{owner}', 'loss_scale_manager' must be a LossScaleManager or None, but got {manager!r} "
                        f"of type {type(manager).__name__}.")
    if half is F16:
        _halve_all(network, tuple(get_black_list()) if spares else (), F16)
    elif level == "O1":
        auto_mixed_precision(network, level)
    if loss_fn is not None:
        network = (_WithLossInSingle if half is F16 else WithLossCell)(network, loss_fn)
    update = None if manager is None else manager.get_update_cell()
    if update is not None:
        return TrainOneStepWithLossScaleCell(network, optimizer, update).set_train()
    return TrainOneStepCell(network, optimizer, None if manager is None else manager.get_loss_scale()).set_train()


def _check(owner: str, network: Any, dtype: Any) -> None:
    if not isinstance(network, Cell):
        raise TypeError(f"For '{owner}', the argument 'network' must be a Cell, but got {network!r} of type {type(network).__name__}.")
    if dtype not in (F16, BF16):
        raise ValueError(f"For '{owner}', the dtype must be float16 or bfloat16, but got {dtype}.")


def _level(owner: str, argument: str, level: Any) -> None:
    if level == "auto":
        raise ValueError(f"For '{owner}', the level 'auto', which chooses for each operator, is not here: 'O1' computes what gains most in "
                         "half precision, 'O2' everything but normalisation.")
    choice(owner, argument, level, _LEVELS)
