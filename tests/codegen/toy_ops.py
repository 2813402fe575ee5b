"""Ops for the tests of codegen, so that these depend on no real op.  They are not registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from adjoint.codegen.emit import KernelText, lower
from adjoint.ir.kernel import Buffer, Kernel
from adjoint.ir.kernel.c_ast import less
from adjoint.ir.op import Op, family, sample
from adjoint.ir.types import F32, DType, TensorType, tensor


def toy(name: str, pack: str = "") -> Callable[[type[Op]], type[Op]]:
    """Make a class an op, like `operation`, without registering it."""

    def made(cls: type[Op]) -> type[Op]:
        cls = family(cls)
        cls.name, cls.pack = name, pack
        return cls

    return made


@toy("toy_add", "toy")
class Add(Op):
    """x + y, for equal shapes."""

    samples: ClassVar[Any] = (sample(tensor(F32, (4,)), tensor(F32, (4,))),)

    def infer(self, x: TensorType, y: TensorType) -> TensorType:
        return x

    def lower(self, k: Kernel, x: Buffer, y: Buffer, out: Buffer) -> None:
        with k.stage(k.size(out.count, "n"), 32768) as i:
            k.store(out, i, x[i] + y[i])


@toy("toy_scale", "toy")
class Scale(Op):
    """x * by."""

    by: float = 2.0

    samples: ClassVar[Any] = (sample(tensor(F32, (4,))), sample(tensor(F32, (4,)), by=3.0))

    def infer(self, x: TensorType) -> TensorType:
        return x

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        with k.stage(out.count, 32768) as i:
            k.store(out, i, x[i] * self.by)


@toy("toy_sum", "toy")
class Sum(Op):
    """The sum of all elements, by blocks of 64; status 3 if it is negative."""

    samples: ClassVar[Any] = (sample(tensor(F32, (100,))),)

    def infer(self, x: TensorType) -> TensorType:
        return tensor(x.dtype)

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        blocks = -(-x.count // 64)
        partial = k.scratch(x.dtype.compute, blocks, "partial")
        n = k.size(x.count, "n")
        with k.stage(blocks, 8, "block") as block:
            total = k.local(0, "total", x.dtype)
            stop = k.let((block + 1) * 64, "stop")
            with k.loop(block * 64, stop) as j, k.when(less(j, n)):
                k.increment(total, x[j])
            k.store(partial, block, total)
        with k.stage_range(1, 1):
            total = k.local(0, "total", x.dtype)
            with k.loop(0, k.size(blocks, "blocks"), "block") as block:
                k.increment(total, partial[block])
            with k.when(less(total, 0)):
                k.fail(3)
            k.store(out, 0, total)


@toy("toy_broken")
class Broken(Op):
    """Calls a function that does not exist, so that the compiler rejects it."""

    def infer(self, x: TensorType) -> TensorType:
        return x

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        with k.stage(out.count, 1) as i:
            k.store(out, i, k.call("fabs", x[i], 1.0, 2.0))



def lowered(op: Op, *operands: TensorType) -> KernelText:
    """Return the kernel of `op` for these operands."""
    return lower(op, operands, op.result_types(operands, ()))


def vector(dtype: DType, count: int) -> TensorType:
    return tensor(dtype, (count,))


def alone(kernel: KernelText) -> KernelText:
    """Return the same kernel without its pack."""
    return replace(kernel, pack="")
