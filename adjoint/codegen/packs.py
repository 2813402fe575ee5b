"""Which kernels are compiled together.

A program that needs one kernel of a family mostly needs its neighbours too, and compiling twelve kernels takes little longer
than compiling one.  So an op may name a *pack*, and a missing kernel is compiled together with its pack: the kernels of every
op of that pack, for the operand types of `Op.pack_samples`.  Then, while the program runs on, the other packs of `FAMILIES`
follow for the same dtype.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from adjoint.codegen.emit import KernelText, lower
from adjoint.ir.op import Op, registry
from adjoint.ir.types import DType, TensorType

__all__ = ["FAMILIES", "followers", "pack_sources"]

FAMILIES: Final = (
    "matmul", "convolution", "arithmetic", "activation", "pool", "loss", "reduce", "shape", "optimizer", "softmax", "norm", "compare",
    "exponential", "roots", "cast",
)
"""The packs (groups of kernels that are compiled together) that most programs need: compiled for a dtype as soon as one pack of that dtype
is needed, in this order, which begins with those that take longest to compile.
"""


def followers(pack: str, dtype: DType) -> tuple[str, ...]:
    """Return the packs (groups of kernels) to compile in the background once `pack` was needed.

    None follow for an integer dtype, since programs need few such kernels.
    """
    if not dtype.is_float:
        return ()
    named = {op.pack for op in registry().values()}
    return tuple(other for other in FAMILIES if other != pack and other in named)


def pack_sources(pack: str, dtype: DType, *, strict: bool = False) -> list[KernelText]:
    """Return the kernels of a pack (a group that is compiled together) for `dtype`, each once.

    strict  True: raise if a sample of operand types cannot be turned into a kernel; False: skip it, so that the others are compiled
    """
    kernels: dict[str, KernelText] = {}
    for op, operands in _samples(pack, dtype):
        try:
            kernel = lower(op, operands, op.result_types(operands, ()))
        except Exception:
            if strict:
                raise
            continue
        kernels.setdefault(kernel.text, kernel)
    return list(kernels.values())


def _samples(pack: str, dtype: DType) -> Iterator[tuple[Op, tuple[TensorType, ...]]]:
    for cls in list(registry().values()):
        if cls.pack != pack or cls.lower is Op.lower:
            continue
        for op, operands in cls.pack_samples(dtype):
            types = tuple(type_ for type_ in operands if isinstance(type_, TensorType) and type_.is_static)
            if len(types) == len(operands):
                yield op, types
