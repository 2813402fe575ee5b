"""Which kernels are compiled together.

A program that needs one tuned kernel of a family mostly needs its neighbours too, and compiling twelve kernels takes little longer
than compiling one.  So an op may name a *pack*, and a missing tuned kernel is compiled together with its pack: the kernels of every
op of that pack, for the operand types of `Op.pack_samples`.

While the run-time library is compiled, which a program with an empty cache waits for, the plain kernels of a few packs are compiled
beside it (`STARTERS`).  `adjoint cache fill` compiles the packs of `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from adjoint.codegen.emit import PLAIN_WORK, KernelText, lower
from adjoint.ir.op import Op, registry
from adjoint.ir.types import DType, TensorType

__all__ = ["FAMILIES", "pack_sources", "starters"]

FAMILIES: Final = (
    "matmul", "convolution", "arithmetic", "activation", "pool", "loss", "reduce", "shape", "optimizer", "softmax", "norm", "compare",
    "exponential", "roots", "cast",
)
"""The packs (groups of kernels that are compiled together) that most programs need, beginning with those that take longest to compile."""

STARTERS: Final = ("shape", "arithmetic", "matmul")
"""The packs whose plain kernels almost every program needs, and which take a quarter of a second to compile together."""


def starters(dtype: DType) -> list[KernelText]:
    """Return the plain kernels of `STARTERS` for `dtype`, each once; none of a pack that `FAMILIES` leaves out."""
    return [kernel for pack in STARTERS if pack in FAMILIES for kernel in pack_sources(pack, dtype, plain_work=PLAIN_WORK) if kernel.plain]


def pack_sources(pack: str, dtype: DType, *, plain_work: float = 0, strict: bool = False) -> list[KernelText]:
    """Return the kernels of a pack (a group that is compiled together) for `dtype`, each once.

    plain_work  0 for tuned kernels, otherwise as for `emit.lower`
    strict      True: raise if a sample of operand types cannot be turned into a kernel; False: skip it, so that the others are compiled
    """
    kernels: dict[str, KernelText] = {}
    for op, operands in _samples(pack, dtype):
        try:
            kernel = lower(op, operands, op.result_types(operands, ()), plain_work=plain_work)
        except Exception:
            if strict:
                raise
            continue
        kernels.setdefault(kernel.text, kernel)
    return list(kernels.values())


def _samples(pack: str, dtype: DType) -> Iterator[tuple[Op, tuple[TensorType, ...]]]:
    for cls in registry().of_pack(pack):
        if cls.lower is Op.lower:
            continue
        for op, operands in cls.pack_samples(dtype):
            types = tuple(type_ for type_ in operands if isinstance(type_, TensorType) and type_.is_static)
            if len(types) == len(operands):
                yield op, types
